//! Double precision numbers as Redis 7.2 and later print and read them.

/// Room for any double that [`push`] writes, in bytes: sign, 17 digits, point, exponent or zeros.
pub const MAX_LEN: usize = 32;

/// Past this magnitude an integral double is no longer printed as an integer (half of `i64::MAX`).
const INTEGER_LIMIT: f64 = (i64::MAX / 2) as f64;

/// Appends `value` as ZSCORE and the like reply it: (nearly always the shortest) digits that read back as the
/// same double, integral values as integers, `inf`, `-inf`, `nan`, `-0`; an exponent (`1e+21`, `1e-7`)
/// only where the plain form would need many zeros.
pub fn push(out: &mut Vec<u8>, value: f64) {
    if value.is_nan() {
        out.extend_from_slice(b"nan");
    } else if value.is_infinite() {
        out.extend_from_slice(if value > 0.0 { b"inf" } else { b"-inf" });
    } else if value == 0.0 {
        out.extend_from_slice(if value.is_sign_negative() { b"-0" } else { b"0" });
    } else if value.abs() <= INTEGER_LIMIT && value == value.trunc() {
        crate::integer::push_i64(out, value as i64);
    } else {
        push_fraction(out, value);
    }
}

/// Appends `value` with 17 significant digits as C's `%.17g` has it, trailing zeros cut: how `ZSCAN`
/// replies the scores of a large sorted set.
pub fn push_17_digits(out: &mut Vec<u8>, value: f64) {
    const DIGITS: i32 = 17;
    if !value.is_finite() || value == 0.0 {
        return push(out, value);
    }
    let text = format!("{value:.16e}");
    let (mantissa, exponent) = text.split_once('e').expect("the format has an exponent");
    let exponent: i32 = exponent.parse().expect("the exponent is a small number");
    if (-4..DIGITS).contains(&exponent) {
        let plain = format!("{value:.*}", (DIGITS - 1 - exponent) as usize);
        out.extend_from_slice(without_trailing_zeros(&plain).as_bytes());
    } else {
        out.extend_from_slice(without_trailing_zeros(mantissa).as_bytes());
        let sign = if exponent < 0 { '-' } else { '+' };
        out.extend_from_slice(format!("e{sign}{:02}", exponent.unsigned_abs()).as_bytes());
    }
}

/// Cuts zeros behind the point, and the point if nothing is left behind it.
fn without_trailing_zeros(text: &str) -> &str {
    if text.contains('.') { text.trim_end_matches('0').trim_end_matches('.') } else { text }
}

/// [`push`] into a new vector.
pub fn format(value: f64) -> Vec<u8> {
    let mut out = Vec::with_capacity(MAX_LEN);
    push(&mut out, value);
    out
}

/// Reads a double as Redis 8 does for scores and increments: decimal, `inf` and `infinity` in any
/// letter case; all of the text, no leading space. `None` for NaN, and for values that overflow or
/// vanish to zero. Redis 7 read hexadecimal (`0x1p3`) too.
pub fn parse(text: &[u8]) -> Option<f64> {
    let (value, used) = prefix(text)?;
    (used == text.len()).then_some(value)
}

/// Reads one end of a score range (`ZRANGEBYSCORE`, `ZCOUNT`): the value, and whether a leading
/// `(` excludes it. Redis 8 is laxer here than in [`parse`]: the empty text is zero, a NUL byte ends
/// the text, and overflow gives infinity.
pub fn parse_bound(text: &[u8]) -> Option<(f64, bool)> {
    let (exclusive, text) = match text {
        [b'(', rest @ ..] => (true, rest),
        _ => (false, text),
    };
    let end = memchr::memchr(0, text).unwrap_or(text.len());
    let text = &text[..end];
    if text.is_empty() {
        return Some((0.0, exclusive));
    }
    let (value, used) = lax_prefix(text)?;
    (used == text.len()).then_some((value, exclusive))
}

/// Lays the digits out: plain when the point is near them, else with an exponent. The borders are
/// those of the fpconv library that Redis prints with.
fn push_fraction(out: &mut Vec<u8>, value: f64) {
    if value < 0.0 {
        out.push(b'-');
    }
    let found = crate::grisu::digits(value.abs());
    let digits = found.as_bytes();
    let trailing = found.exponent;
    // Where the point stands, counted from the first digit.
    let point = trailing + digits.len() as i32;
    let exponent = point - 1;
    if trailing >= 0 && exponent.abs() < digits.len() as i32 + 7 {
        out.extend_from_slice(digits);
        out.resize(out.len() + trailing as usize, b'0');
    } else if trailing < 0 && (trailing > -7 || exponent.abs() < 4) {
        if point <= 0 {
            out.extend_from_slice(b"0.");
            out.resize(out.len() + point.unsigned_abs() as usize, b'0');
            out.extend_from_slice(digits);
        } else {
            let (whole, fraction) = digits.split_at(point as usize);
            out.extend_from_slice(whole);
            out.push(b'.');
            out.extend_from_slice(fraction);
        }
    } else {
        out.push(digits[0]);
        if digits.len() > 1 {
            out.push(b'.');
            out.extend_from_slice(&digits[1..]);
        }
        out.push(b'e');
        out.push(if exponent < 0 { b'-' } else { b'+' });
        crate::integer::push_u64(out, u64::from(exponent.unsigned_abs()));
    }
}

/// [`lax_prefix`] without what C reports as out of range.
fn prefix(text: &[u8]) -> Option<(f64, usize)> {
    let number = scan_decimal(text)?;
    let value = number.to_f64();
    let out_of_range = number.is_finite_nonzero() && (value.is_infinite() || value == 0.0);
    (!value.is_nan() && !out_of_range).then_some((value, number.len))
}

/// The double at the start of `text`, and how many bytes it takes; `None` for no number or NaN.
fn lax_prefix(text: &[u8]) -> Option<(f64, usize)> {
    let number = scan_decimal(text)?;
    let value = number.to_f64();
    (!value.is_nan()).then_some((value, number.len))
}

/// The number at the start of `text` unless it is hexadecimal.
fn scan_decimal(text: &[u8]) -> Option<crate::number::Number<'_>> {
    let unsigned = text.strip_prefix(b"-").or(text.strip_prefix(b"+")).unwrap_or(text);
    let is_hexadecimal = unsigned.starts_with(b"0x") || unsigned.starts_with(b"0X");
    if is_hexadecimal { None } else { crate::number::scan(text) }
}

#[cfg(test)]
mod tests {
    use super::{format, parse, parse_bound};
    use proptest::prelude::{ProptestConfig, any, prop_assert_eq, proptest};

    #[test]
    fn seventeen_digits_are_those_of_c() {
        for (value, text) in [
            (0.1, "0.10000000000000001"),
            (1e-7, "9.9999999999999995e-08"),
            (1e21, "1e+21"),
            (3.0, "3"),
            (-123_456.789, "-123456.789"),
            (1e16, "10000000000000000"),
            (1e17, "1e+17"),
            (0.0001, "0.0001"),
            (1e-5, "1.0000000000000001e-05"),
            (1e300, "1.0000000000000001e+300"),
            (f64::INFINITY, "inf"),
            (f64::NEG_INFINITY, "-inf"),
            (-0.0, "-0"),
        ] {
            let mut out = Vec::new();
            super::push_17_digits(&mut out, value);
            assert_eq!(out, text.as_bytes(), "{text}");
        }
    }

    #[test]
    fn printed_forms() {
        for (value, text) in [
            (0.0, "0"),
            (-0.0, "-0"),
            (3.0, "3"),
            (-17.5, "-17.5"),
            (0.1, "0.1"),
            (1e-5, "0.00001"),
            (1e-7, "1e-7"),
            (1.5e300, "1.5e+300"),
            (f64::INFINITY, "inf"),
            (f64::NEG_INFINITY, "-inf"),
            (f64::NAN, "nan"),
            (4_611_686_018_427_387_904.0, "4611686018427387904"),
            (5e-324, "5e-324"),
        ] {
            assert_eq!(format(value), text.as_bytes(), "{text}");
        }
    }

    /// ZSCORE's answers of Valkey 9.1, which prints like Redis 7.2 and later: the double's bits,
    /// then the text. Among them are those where the digits are not the shortest.
    #[test]
    fn recorded_forms() {
        for line in include_str!("float/vectors.tsv").lines() {
            let (bits, text) = line.split_once('\t').expect("two columns");
            let bits = u64::from_str_radix(bits, 16).expect("hexadecimal");
            assert_eq!(String::from_utf8(format(f64::from_bits(bits))).as_deref(), Ok(text));
        }
    }

    #[test]
    fn read_forms() {
        assert_eq!(parse(b"+INF"), Some(f64::INFINITY));
        assert_eq!(parse(b"-infinity"), Some(f64::NEG_INFINITY));
        assert_eq!(parse(b".5"), Some(0.5));
        assert_eq!(parse(b"5."), Some(5.0));
        for text in [
            "", " 1", "1 ", "nan", "-nan", "1e999", "1e-999", ".", "e5", "1e", "infx", "0x",
            "0x10", "-0X1p3",
        ] {
            assert_eq!(parse(text.as_bytes()), None, "{text:?}");
        }
    }

    #[test]
    fn range_ends() {
        assert_eq!(parse_bound(b"(1.5"), Some((1.5, true)));
        assert_eq!(parse_bound(b"("), Some((0.0, true)));
        assert_eq!(parse_bound(b" 2"), None);
        assert_eq!(parse_bound(b"0x10"), None);
        assert_eq!(parse_bound(b"-inf"), Some((f64::NEG_INFINITY, false)));
        assert_eq!(parse_bound(b"1e999"), Some((f64::INFINITY, false)));
        assert_eq!(parse_bound(b"2 "), None);
        assert_eq!(parse_bound(b"nan"), None);
        assert_eq!(parse_bound(b"a"), None);
    }

    proptest! {
        #![proptest_config(ProptestConfig::with_cases(512))]
        #[test]
        fn round_trip(bits in any::<u64>()) {
            let value = f64::from_bits(bits);
            if !value.is_nan() {
                prop_assert_eq!(parse(&format(value)).map(f64::to_bits), Some(bits));
            }
        }
    }
}
