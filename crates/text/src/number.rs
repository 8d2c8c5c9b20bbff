//! The grammar of C's `strtod`, which is what Redis takes for a number with a fraction, and exact
//! rounding of such a text to any binary format.

use crate::big::Big;

/// Beyond this every format here has overflowed or vanished, whatever the digits (which are
/// limited by the length of the text).
const EXPONENT_LIMIT: i64 = 1_000_000;

/// A binary floating point format: `mantissa × 2^exponent`, mantissa below `2^bits`.
pub(crate) struct Format {
    pub(crate) bits: usize,
    pub(crate) min_exponent: i64,
    pub(crate) max_exponent: i64,
}

const DOUBLE: Format = Format { bits: 53, min_exponent: -1074, max_exponent: 971 };

/// A rounded magnitude.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Rounded {
    Infinite,
    /// `mantissa × 2^exponent`, with as many mantissa bits used as the format has, but for
    /// subnormal numbers.
    Finite {
        mantissa: u64,
        exponent: i64,
    },
}

/// A number found at the start of a text.
pub(crate) struct Number<'a> {
    /// How many bytes of the text it takes.
    pub(crate) len: usize,
    pub(crate) negative: bool,
    pub(crate) form: Form<'a>,
}

pub(crate) enum Form<'a> {
    Infinite,
    NotANumber,
    Decimal { text: &'a [u8], parts: Parts<'a> },
    Hexadecimal(Parts<'a>),
}

/// `whole.fraction × base^exponent`, where the base of a hexadecimal exponent is two.
pub(crate) struct Parts<'a> {
    whole: &'a [u8],
    fraction: &'a [u8],
    exponent: i64,
}

/// Finds the number at the start of `text`, which must not begin with a space.
pub(crate) fn scan(text: &[u8]) -> Option<Number<'_>> {
    let negative = text.first() == Some(&b'-');
    let sign = usize::from(negative || text.first() == Some(&b'+'));
    let body = &text[sign..];
    let (form, len) = if let Some(len) = named_len(body, b"infinity").or(named_len(body, b"inf")) {
        (Form::Infinite, len)
    } else if let Some(len) = named_len(body, b"nan") {
        (Form::NotANumber, len + payload_len(&body[len..]))
    } else if let Some((parts, len)) = hexadecimal(body) {
        (Form::Hexadecimal(parts), len)
    } else {
        let (parts, len) = parts(body, u8::is_ascii_digit, b'e')?;
        (Form::Decimal { text: &body[..len], parts }, len)
    };
    Some(Number { len: sign + len, negative, form })
}

impl Number<'_> {
    /// The nearest double.
    pub(crate) fn to_f64(&self) -> f64 {
        let magnitude = match &self.form {
            Form::Infinite => f64::INFINITY,
            Form::NotANumber => f64::NAN,
            Form::Decimal { text, .. } => std::str::from_utf8(text)
                .ok()
                .and_then(|text| text.parse().ok())
                .expect("the C grammar of decimals is part of Rust's"),
            Form::Hexadecimal(_) => match self.round(&DOUBLE) {
                Some(Rounded::Finite { mantissa, exponent }) => scale(mantissa, exponent),
                _ => f64::INFINITY,
            },
        };
        if self.negative { -magnitude } else { magnitude }
    }

    /// Whether the text denotes a number that is neither zero nor infinite, however large or small.
    pub(crate) fn is_finite_nonzero(&self) -> bool {
        match &self.form {
            Form::Infinite | Form::NotANumber => false,
            Form::Decimal { parts, .. } | Form::Hexadecimal(parts) => {
                parts.whole.iter().chain(parts.fraction).any(|digit| *digit != b'0')
            }
        }
    }

    /// The magnitude in `format`, correctly rounded; `None` for NaN.
    pub(crate) fn round(&self, format: &Format) -> Option<Rounded> {
        let (parts, base) = match &self.form {
            Form::Infinite => return Some(Rounded::Infinite),
            Form::NotANumber => return None,
            Form::Decimal { parts, .. } => (parts, 10),
            Form::Hexadecimal(parts) => (parts, 16),
        };
        let zero = Rounded::Finite { mantissa: 0, exponent: format.min_exponent };
        if !self.is_finite_nonzero() {
            return Some(zero);
        }
        if parts.exponent.abs() >= EXPONENT_LIMIT {
            return Some(if parts.exponent > 0 { Rounded::Infinite } else { zero });
        }
        let digits = parts.whole.iter().chain(parts.fraction).map(|digit| digit_value(*digit));
        let mut big = Big::from_digits(digits, base);
        let fraction = parts.fraction.len() as i64;
        if base == 16 {
            return Some(round(big, parts.exponent - 4 * fraction, false, format));
        }
        let exponent = parts.exponent - fraction;
        let magnitude = exponent + (big.bit_len() as i64) * 3 / 10;
        if magnitude > 6000 {
            return Some(Rounded::Infinite);
        }
        if magnitude < -6000 {
            return Some(zero);
        }
        let power = exponent.unsigned_abs() as u32;
        if exponent >= 0 {
            big.multiply_power_of_five(power);
            return Some(round(big, exponent, false, format));
        }
        // Enough bits in front of the division that the quotient has more than the format.
        let shift = power as usize * 7 / 3 + 70;
        big.shift_left(shift);
        let inexact = big.divide_power_of_five(power);
        Some(round(big, exponent - shift as i64, inexact, format))
    }
}

/// `big × 2^exponent` (and a little more, if `sticky`) in `format`.
pub(crate) fn round(mut big: Big, exponent: i64, sticky: bool, format: &Format) -> Rounded {
    let excess = big.bit_len() as i64 - format.bits as i64;
    let drop = excess.max(format.min_exponent - exponent);
    if drop > 0 {
        big.shift_right_rounded(drop as usize, sticky);
    } else {
        big.shift_left(drop.unsigned_abs() as usize);
    }
    let mut exponent = exponent + drop;
    if big.bit_len() > format.bits {
        // Rounding went up to the next power of two.
        big.shift_right_rounded(1, false);
        exponent += 1;
    }
    match big.to_u64() {
        Some(mantissa) if exponent <= format.max_exponent => Rounded::Finite { mantissa, exponent },
        _ => Rounded::Infinite,
    }
}

/// `mantissa × 2^exponent`, which is exact.
fn scale(mantissa: u64, exponent: i64) -> f64 {
    let mut value = mantissa as f64;
    let mut rest = exponent;
    while rest != 0 {
        // Steps that a double can hold; a subnormal result is reached from an exact value.
        let step = rest.clamp(-500, 500);
        value *= 2f64.powi(step as i32);
        rest -= step;
    }
    value
}

fn named_len(text: &[u8], name: &[u8]) -> Option<usize> {
    text.get(..name.len())?.eq_ignore_ascii_case(name).then_some(name.len())
}

/// The length of the `(letters)` that may follow `nan`.
fn payload_len(text: &[u8]) -> usize {
    let Some((b'(', inner)) = text.split_first() else { return 0 };
    let letters = inner.iter().take_while(|b| b.is_ascii_alphanumeric() || **b == b'_').count();
    if inner.get(letters) == Some(&b')') { letters + 2 } else { 0 }
}

fn hexadecimal(text: &[u8]) -> Option<(Parts<'_>, usize)> {
    match text {
        [b'0', b'x' | b'X', rest @ ..] => {
            let (parts, len) = parts(rest, u8::is_ascii_hexdigit, b'p')?;
            Some((parts, len + 2))
        }
        _ => None,
    }
}

/// Digits with at most one point among them, at least one digit, then an exponent if there is
/// a whole one.
fn parts(text: &[u8], is_digit: fn(&u8) -> bool, mark: u8) -> Option<(Parts<'_>, usize)> {
    let count = |from: usize| text[from..].iter().take_while(|byte| is_digit(byte)).count();
    let whole = count(0);
    let (fraction, mut len) = match text.get(whole) {
        Some(b'.') => (count(whole + 1), whole + 1 + count(whole + 1)),
        _ => (0, whole),
    };
    if whole + fraction == 0 {
        return None;
    }
    let (mut exponent, digits_end) = (0, len);
    if text.get(len).is_some_and(|byte| byte.eq_ignore_ascii_case(&mark)) {
        let negative = text.get(len + 1) == Some(&b'-');
        let sign = usize::from(negative || text.get(len + 1) == Some(&b'+'));
        let from = len + 1 + sign;
        let tail = text.get(from..).unwrap_or_default();
        let digits = tail.iter().take_while(|byte| byte.is_ascii_digit()).count();
        if digits > 0 {
            for digit in &tail[..digits] {
                exponent = (exponent * 10 + i64::from(digit - b'0')).min(EXPONENT_LIMIT);
            }
            exponent = if negative { -exponent } else { exponent };
            len = from + digits;
        }
    }
    let fraction = &text[digits_end - fraction..digits_end];
    Some((Parts { whole: &text[..whole], fraction, exponent }, len))
}

fn digit_value(digit: u8) -> u8 {
    match digit {
        b'0'..=b'9' => digit - b'0',
        _ => digit.to_ascii_lowercase() - b'a' + 10,
    }
}
