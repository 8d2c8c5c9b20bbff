//! The 80-bit arithmetic behind INCRBYFLOAT and HINCRBYFLOAT: Redis computes them in the x87
//! `long double` of C, so replies carry digits that a double cannot give.
//!
//! Everything here is exact before the one rounding that the hardware would make (to nearest,
//! ties to even), so sums and their text equal those of a server built for x86-64. Redis built for a
//! machine with another `long double` (AArch64 has 113 bits, macOS there has 53) differs from this in the last digits.

use crate::big::Big;
use crate::number::{self, Format, Rounded};

/// What Redis prints with, `%.17Lf`: digits after the point before trailing zeros are cut.
const FRACTION_DIGITS: usize = 17;
/// Redis copies the text to a buffer of this size, NUL included.
const MAX_TEXT: usize = 5 * 1024;

const EXTENDED: Format = Format { bits: 64, min_exponent: -16445, max_exponent: 16320 };

/// A number in x87 extended precision; never NaN.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct LongDouble {
    negative: bool,
    magnitude: Rounded,
}

impl LongDouble {
    /// Reads all of `text`, as Redis does: decimal or hexadecimal, `inf` and `infinity` in any
    /// letter case, no leading space. `None` for NaN, for values that overflow or vanish, and for
    /// texts of 5 KiB and more.
    pub fn parse(text: &[u8]) -> Option<Self> {
        let starts_with_space = text.first().is_none_or(|byte| is_space(*byte));
        if starts_with_space || text.len() >= MAX_TEXT {
            return None;
        }
        let number = number::scan(text)?;
        if number.len != text.len() {
            return None;
        }
        let magnitude = number.round(&EXTENDED)?;
        let value = Self { negative: number.negative, magnitude };
        let out_of_range = number.is_finite_nonzero() && (value.is_infinite() || value.is_zero());
        (!out_of_range).then_some(value)
    }

    /// Whether the number is an infinity.
    pub fn is_infinite(self) -> bool {
        self.magnitude == Rounded::Infinite
    }

    /// The sum; `None` when it is infinite or not a number, which Redis refuses.
    pub fn checked_add(self, other: Self) -> Option<Self> {
        let (left, right) = (self.finite()?, other.finite()?);
        let base = left.1.min(right.1);
        let mut sum = aligned(left, base);
        let mut addend = aligned(right, base);
        let mut negative = self.negative;
        if self.negative == other.negative {
            sum.add(&addend);
        } else if sum.compare(&addend).is_lt() {
            addend.subtract(&sum);
            (sum, negative) = (addend, other.negative);
        } else {
            sum.subtract(&addend);
            negative &= !sum.is_zero();
        }
        let magnitude = number::round(sum, base, false, &EXTENDED);
        let value = Self { negative, magnitude };
        (!value.is_infinite()).then_some(value)
    }

    /// The text of the reply: up to 17 digits after the point, no trailing zeros, no exponent.
    pub fn to_text(self) -> Vec<u8> {
        let Some((mantissa, exponent)) = self.finite() else {
            return if self.negative { b"-inf".to_vec() } else { b"inf".to_vec() };
        };
        let mut scaled = Big::from_u64(mantissa);
        scaled.multiply_power_of_five(FRACTION_DIGITS as u32);
        scaled.shift_left(FRACTION_DIGITS);
        if exponent >= 0 {
            scaled.shift_left(exponent as usize);
        } else {
            scaled.shift_right_rounded(exponent.unsigned_abs() as usize, false);
        }
        let digits = scaled.into_decimal();
        let mut text = Vec::with_capacity(digits.len() + 3);
        if self.negative && !digits.is_empty() {
            text.push(b'-');
        }
        let whole = digits.len().saturating_sub(FRACTION_DIGITS);
        text.extend_from_slice(if whole == 0 { b"0" } else { &digits[..whole] });
        text.push(b'.');
        text.resize(text.len() + FRACTION_DIGITS.saturating_sub(digits.len()), b'0');
        text.extend_from_slice(&digits[whole..]);
        let kept = text.iter().rposition(|byte| *byte != b'0').expect("there is a point");
        text.truncate(if text[kept] == b'.' { kept } else { kept + 1 });
        text
    }

    fn is_zero(self) -> bool {
        matches!(self.magnitude, Rounded::Finite { mantissa: 0, .. })
    }

    fn finite(self) -> Option<(u64, i64)> {
        match self.magnitude {
            Rounded::Infinite => None,
            Rounded::Finite { mantissa, exponent } => Some((mantissa, exponent)),
        }
    }
}

/// The number as a multiple of `2^base`.
fn aligned((mantissa, exponent): (u64, i64), base: i64) -> Big {
    let mut big = Big::from_u64(mantissa);
    big.shift_left((exponent - base) as usize);
    big
}

/// `isspace` of the C locale.
fn is_space(byte: u8) -> bool {
    matches!(byte, b' ' | b'\t'..=b'\r')
}

#[cfg(test)]
mod tests {
    use super::LongDouble;

    fn sum(left: &str, right: &str) -> Option<String> {
        let left = LongDouble::parse(left.as_bytes())?;
        let sum = left.checked_add(LongDouble::parse(right.as_bytes())?)?;
        Some(String::from_utf8(sum.to_text()).expect("ASCII"))
    }

    #[test]
    fn ordinary_sums() {
        assert_eq!(sum("10.5", "0.1").as_deref(), Some("10.6"));
        assert_eq!(sum("3.0e3", "200").as_deref(), Some("3200"));
        assert_eq!(sum("5.0e3", "0").as_deref(), Some("5000"));
        assert_eq!(sum("1", "-1").as_deref(), Some("0"));
        assert_eq!(sum("-1e-30", "0").as_deref(), Some("0"));
        assert_eq!(sum("0x1p-3", "0").as_deref(), Some("0.125"));
        assert_eq!(sum("1e4900", "1").map(|text| text.len()), Some(4901));
    }

    /// INCRBYFLOAT's answers of Redis 7.0 on x86-64: value, increment, sum.
    #[test]
    fn recorded_sums() {
        for line in include_str!("long_double/vectors.tsv").lines() {
            let mut columns = line.split('\t');
            let mut column = || columns.next().expect("three columns");
            let (left, right, expected) = (column(), column(), column());
            let valid = |text: &str| LongDouble::parse(text.as_bytes()).is_some();
            let ours = match sum(left, right) {
                Some(text) => text,
                None if valid(left) && valid(right) => "overflow".to_owned(),
                None => "refused".to_owned(),
            };
            assert_eq!(ours, expected, "{left} {right}");
        }
    }

    #[test]
    fn refused() {
        for text in ["", " 1", "1 ", "nan", "1e5000", "1e-5000", "1e", "abc", "0x", "1\0"] {
            assert_eq!(LongDouble::parse(text.as_bytes()), None, "{text:?}");
        }
        assert_eq!(LongDouble::parse(&[b'1'; 5120]), None);
        assert_eq!(sum("inf", "1"), None);
        assert_eq!(sum("1e4932", "9e4931"), None);
        assert!(LongDouble::parse(b"-Infinity").is_some_and(LongDouble::is_infinite));
    }
}
