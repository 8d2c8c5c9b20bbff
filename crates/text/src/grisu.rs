//! The digits of a double by Grisu2 (F. Loitsch, "Printing Floating-Point Numbers Quickly and
//! Accurately with Integers", 2010), with the constants of the fpconv library.
//!
//! Redis prints doubles with that library. Grisu2 always gives digits that read back as the same
//! double, but in about one of 400 cases not the shortest ones (26.835229 becomes
//! `26.835229000000002`); so a printer that always finds the shortest would differ from Redis.

/// The exponent of ten of the first entry of [`POWERS`].
const FIRST_POWER: i32 = -348;
/// The step from one entry of [`POWERS`] to the next, in exponents of ten.
const POWER_STEP: i32 = 8;
/// After scaling, the binary exponent lies between these, so that the integral part has at most 32 bits.
const SCALED_EXPONENTS: (i32, i32) = (-60, -32);
const HIDDEN_BIT: u64 = 1 << 52;

/// `mantissa × 2^exponent`.
#[derive(Clone, Copy)]
struct Binary {
    mantissa: u64,
    exponent: i32,
}

/// Decimal digits: their value is `digits × 10^exponent`.
pub(crate) struct Digits {
    text: [u8; 20],
    len: usize,
    pub(crate) exponent: i32,
}

impl Digits {
    /// The digits as ASCII, without leading zeros.
    pub(crate) fn as_bytes(&self) -> &[u8] {
        &self.text[..self.len]
    }

    fn push(&mut self, digit: u64) {
        if digit > 0 || self.len > 0 {
            self.text[self.len] = b'0' + digit as u8;
            self.len += 1;
        }
    }

    /// Lowers the last digit while that comes closer to the value: `rest` is how far the digits are below
    /// the upper bound, `distance` how far the value is, `unit` what the last digit counts.
    fn round(&mut self, delta: u64, mut rest: u64, unit: u64, distance: u64) {
        while rest < distance
            && delta - rest >= unit
            && (rest + unit < distance || distance - rest > rest + unit - distance)
        {
            self.text[self.len - 1] -= 1;
            rest += unit;
        }
    }
}

/// Digits of `value`, which is positive and finite.
pub(crate) fn digits(value: f64) -> Digits {
    let bits = value.to_bits();
    let (fraction, biased) = (bits & (HIDDEN_BIT - 1), (bits >> 52) as i32);
    let exact = if biased == 0 {
        Binary { mantissa: fraction, exponent: -1074 }
    } else {
        Binary { mantissa: fraction + HIDDEN_BIT, exponent: biased - 1075 }
    };
    let upper =
        normalized(Binary { mantissa: (exact.mantissa << 1) + 1, exponent: exact.exponent - 1 });
    // The gap below a power of two is half of that above.
    let shift = if exact.mantissa == HIDDEN_BIT { 2 } else { 1 };
    let lower = Binary {
        mantissa: ((exact.mantissa << shift) - 1) << (exact.exponent - shift - upper.exponent),
        exponent: upper.exponent,
    };
    let (power, exponent) = scaling_power(upper.exponent);
    let scaled = product(normalized(exact), power);
    let (mut upper, mut lower) = (product(upper, power), product(lower, power));
    // The products are off by less than one unit: stay inside.
    upper.mantissa -= 1;
    lower.mantissa += 1;
    generate(scaled, upper, lower, -exponent)
}

/// Digits of `upper` until what is left is within the interval, then the last one adjusted towards `value`.
fn generate(value: Binary, upper: Binary, lower: Binary, exponent: i32) -> Digits {
    let mut digits = Digits { text: [0; 20], len: 0, exponent };
    let shift = -upper.exponent;
    let one = 1u64 << shift;
    let distance = upper.mantissa - value.mantissa;
    let mut delta = upper.mantissa - lower.mantissa;
    let mut whole = upper.mantissa >> shift;
    let mut part = upper.mantissa & (one - 1);
    for kappa in (0..10).rev() {
        let unit = 10u64.pow(kappa);
        digits.push(whole / unit);
        whole %= unit;
        let rest = (whole << shift) + part;
        if rest <= delta {
            digits.exponent += kappa as i32;
            digits.round(delta, rest, unit << shift, distance);
            return digits;
        }
    }
    let mut scale = 1u64;
    loop {
        part *= 10;
        delta *= 10;
        scale = scale.wrapping_mul(10);
        digits.exponent -= 1;
        digits.push(part >> shift);
        part &= one - 1;
        if part < delta {
            digits.round(delta, part, one, distance.wrapping_mul(scale));
            return digits;
        }
    }
}

fn normalized(number: Binary) -> Binary {
    let shift = number.mantissa.leading_zeros();
    Binary { mantissa: number.mantissa << shift, exponent: number.exponent - shift as i32 }
}

/// The product, rounded to 64 bits (half up).
fn product(left: Binary, right: Binary) -> Binary {
    let wide = u128::from(left.mantissa) * u128::from(right.mantissa) + (1 << 63);
    Binary { mantissa: (wide >> 64) as u64, exponent: left.exponent + right.exponent + 64 }
}

/// A power of ten, and its exponent, that brings `exponent` into [`SCALED_EXPONENTS`]. Where two would
/// do, the search starts at the one where fpconv's does, which decides about the digits.
fn scaling_power(exponent: i32) -> (Binary, i32) {
    let guess = -f64::from(exponent + POWERS.len() as i32) * std::f64::consts::LOG10_2;
    let mut index = (guess as i32 - FIRST_POWER) / POWER_STEP;
    loop {
        let ten = FIRST_POWER + index * POWER_STEP;
        // Close enough to log2(10) for every entry of the table, which a test checks.
        let binary = ((ten * 217_706) >> 16) - 63;
        let scaled = exponent + binary + 64;
        if scaled < SCALED_EXPONENTS.0 {
            index += 1;
        } else if scaled > SCALED_EXPONENTS.1 {
            index -= 1;
        } else {
            return (Binary { mantissa: POWERS[index as usize], exponent: binary }, ten);
        }
    }
}

/// The leading 64 bits of 10^-348, 10^-340, … 10^340, rounded to nearest.
const POWERS: [u64; 87] = [
    0xfa8fd5a0081c0288,
    0xbaaee17fa23ebf76,
    0x8b16fb203055ac76,
    0xcf42894a5dce35ea,
    0x9a6bb0aa55653b2d,
    0xe61acf033d1a45df,
    0xab70fe17c79ac6ca,
    0xff77b1fcbebcdc4f,
    0xbe5691ef416bd60c,
    0x8dd01fad907ffc3c,
    0xd3515c2831559a83,
    0x9d71ac8fada6c9b5,
    0xea9c227723ee8bcb,
    0xaecc49914078536d,
    0x823c12795db6ce57,
    0xc21094364dfb5637,
    0x9096ea6f3848984f,
    0xd77485cb25823ac7,
    0xa086cfcd97bf97f4,
    0xef340a98172aace5,
    0xb23867fb2a35b28e,
    0x84c8d4dfd2c63f3b,
    0xc5dd44271ad3cdba,
    0x936b9fcebb25c996,
    0xdbac6c247d62a584,
    0xa3ab66580d5fdaf6,
    0xf3e2f893dec3f126,
    0xb5b5ada8aaff80b8,
    0x87625f056c7c4a8b,
    0xc9bcff6034c13053,
    0x964e858c91ba2655,
    0xdff9772470297ebd,
    0xa6dfbd9fb8e5b88f,
    0xf8a95fcf88747d94,
    0xb94470938fa89bcf,
    0x8a08f0f8bf0f156b,
    0xcdb02555653131b6,
    0x993fe2c6d07b7fac,
    0xe45c10c42a2b3b06,
    0xaa242499697392d3,
    0xfd87b5f28300ca0e,
    0xbce5086492111aeb,
    0x8cbccc096f5088cc,
    0xd1b71758e219652c,
    0x9c40000000000000,
    0xe8d4a51000000000,
    0xad78ebc5ac620000,
    0x813f3978f8940984,
    0xc097ce7bc90715b3,
    0x8f7e32ce7bea5c70,
    0xd5d238a4abe98068,
    0x9f4f2726179a2245,
    0xed63a231d4c4fb27,
    0xb0de65388cc8ada8,
    0x83c7088e1aab65db,
    0xc45d1df942711d9a,
    0x924d692ca61be758,
    0xda01ee641a708dea,
    0xa26da3999aef774a,
    0xf209787bb47d6b85,
    0xb454e4a179dd1877,
    0x865b86925b9bc5c2,
    0xc83553c5c8965d3d,
    0x952ab45cfa97a0b3,
    0xde469fbd99a05fe3,
    0xa59bc234db398c25,
    0xf6c69a72a3989f5c,
    0xb7dcbf5354e9bece,
    0x88fcf317f22241e2,
    0xcc20ce9bd35c78a5,
    0x98165af37b2153df,
    0xe2a0b5dc971f303a,
    0xa8d9d1535ce3b396,
    0xfb9b7cd9a4a7443c,
    0xbb764c4ca7a44410,
    0x8bab8eefb6409c1a,
    0xd01fef10a657842c,
    0x9b10a4e5e9913129,
    0xe7109bfba19c0c9d,
    0xac2820d9623bf429,
    0x80444b5e7aa7cf85,
    0xbf21e44003acdd2d,
    0x8e679c2f5e44ff8f,
    0xd433179d9c8cb841,
    0x9e19db92b4e31ba9,
    0xeb96bf6ebadf77d9,
    0xaf87023b9bf0ee6b,
];

#[cfg(test)]
mod tests {
    use super::{FIRST_POWER, POWER_STEP, POWERS};
    use crate::big::Big;

    /// Every entry, and the exponent that goes with it, from exact arithmetic.
    #[test]
    fn powers_are_exact() {
        for (index, &mantissa) in POWERS.iter().enumerate() {
            let ten = FIRST_POWER + index as i32 * POWER_STEP;
            let mut power = Big::from_u64(1);
            let mut exponent = ten;
            let mut inexact = false;
            if ten >= 0 {
                power.multiply_power_of_five(ten as u32);
            } else {
                power.shift_left(1200);
                exponent -= 1200;
                inexact = power.divide_power_of_five(ten.unsigned_abs());
            }
            let excess = power.bit_len() as i32 - 64;
            if excess > 0 {
                power.shift_right_rounded(excess as usize, inexact);
            } else {
                power.shift_left(excess.unsigned_abs() as usize);
            }
            assert_eq!(power.to_u64(), Some(mantissa), "10^{ten}");
            assert_eq!(exponent + excess, ((ten * 217_706) >> 16) - 63, "10^{ten}");
        }
    }
}
