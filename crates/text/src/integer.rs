//! Whole numbers as Redis reads and prints them: strict decimal, one spelling for each value.

/// The longest text of an `i64`, in bytes: a sign and nineteen digits.
pub const MAX_LEN: usize = 20;

/// Reads an `i64` in the only spelling Redis takes: an optional `-`, no leading zero, no `+`,
/// no space. `-0`, the empty text and values out of range give `None`.
#[inline]
pub fn parse_i64(text: &[u8]) -> Option<i64> {
    match text {
        [digit @ b'0'..=b'9'] => Some(i64::from(digit - b'0')),
        [b'-', digits @ ..] => {
            let magnitude = parse_positive(digits)?;
            // The negative range reaches one further than the positive one.
            if magnitude > i64::MIN.unsigned_abs() {
                return None;
            }
            Some((magnitude as i64).wrapping_neg())
        }
        _ => i64::try_from(parse_positive(text)?).ok(),
    }
}

/// Reads a `u64` in the spelling of [`parse_i64`], without a sign.
#[inline]
pub fn parse_u64(text: &[u8]) -> Option<u64> {
    match text {
        [b'0'] => Some(0),
        _ => parse_positive(text),
    }
}

/// Appends `value` in decimal.
#[inline]
pub fn push_i64(out: &mut Vec<u8>, value: i64) {
    out.extend_from_slice(itoa::Buffer::new().format(value).as_bytes());
}

/// Appends `value` in decimal.
#[inline]
pub fn push_u64(out: &mut Vec<u8>, value: u64) {
    out.extend_from_slice(itoa::Buffer::new().format(value).as_bytes());
}

/// The length in bytes of `value` in decimal, as `STRLEN` of an integer value needs it.
pub fn decimal_len(value: i64) -> usize {
    let digits = value.unsigned_abs().checked_ilog10().unwrap_or(0) as usize + 1;
    digits + usize::from(value < 0)
}

/// Digits without a leading zero, so never zero itself.
#[inline]
fn parse_positive(digits: &[u8]) -> Option<u64> {
    let (&first, rest) = digits.split_first()?;
    if !matches!(first, b'1'..=b'9') || rest.len() > 19 {
        return None;
    }
    let mut value = u64::from(first - b'0');
    // Eighteen digits cannot overflow; only what is longer is checked at every step.
    let (safe, checked) = rest.split_at(rest.len().min(17));
    for &byte in safe {
        let digit = byte.wrapping_sub(b'0');
        if digit > 9 {
            return None;
        }
        value = value * 10 + u64::from(digit);
    }
    for &byte in checked {
        let digit = byte.wrapping_sub(b'0');
        if digit > 9 {
            return None;
        }
        value = value.checked_mul(10)?.checked_add(u64::from(digit))?;
    }
    Some(value)
}

#[cfg(test)]
mod tests {
    use super::{decimal_len, parse_i64, parse_u64, push_i64};
    use proptest::prelude::{ProptestConfig, any, prop_assert_eq, proptest};

    #[test]
    fn one_spelling_only() {
        assert_eq!(parse_i64(b"0"), Some(0));
        assert_eq!(parse_i64(b"-1"), Some(-1));
        assert_eq!(parse_i64(b"9223372036854775807"), Some(i64::MAX));
        assert_eq!(parse_i64(b"-9223372036854775808"), Some(i64::MIN));
        for refused in [
            "",
            "-",
            "-0",
            "00",
            "01",
            "-01",
            "+1",
            " 1",
            "1 ",
            "1.0",
            "0x1",
            "1e3",
            "9223372036854775808",
            "-9223372036854775809",
            "18446744073709551616",
            "100000000000000000000",
        ] {
            assert_eq!(parse_i64(refused.as_bytes()), None, "{refused:?}");
        }
        assert_eq!(parse_u64(b"18446744073709551615"), Some(u64::MAX));
        assert_eq!(parse_u64(b"18446744073709551616"), None);
        assert_eq!(parse_u64(b"-1"), None);
    }

    proptest! {
        #![proptest_config(ProptestConfig::with_cases(256))]
        #[test]
        fn round_trip(value in any::<i64>(), shift in 0u32..64) {
            let value = value >> shift;
            let mut out = Vec::new();
            push_i64(&mut out, value);
            prop_assert_eq!(parse_i64(&out), Some(value));
            prop_assert_eq!(decimal_len(value), out.len());
        }

        #[test]
        fn random_text_agrees_with_the_rule(text in "[-+ 0-9a]{0,22}") {
            let canonical = text.parse::<i64>().ok().filter(|v| v.to_string() == text);
            prop_assert_eq!(parse_i64(text.as_bytes()), canonical);
        }
    }
}
