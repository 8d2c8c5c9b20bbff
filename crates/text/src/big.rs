//! Natural numbers of any size: just what exact conversion between binary and decimal needs.

/// Powers of five that fit in one limb: 5^27 is the last.
const MAX_POWER_OF_FIVE: u32 = 27;
/// The largest power of ten in one limb, and its exponent.
const DECIMAL_LIMB: (u64, usize) = (10_000_000_000_000_000_000, 19);

/// A natural number: limbs of 64 bits, least significant first, no zero limb at the end.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Big {
    limbs: Vec<u64>,
}

impl Big {
    pub(crate) fn from_u64(value: u64) -> Self {
        let mut big = Self { limbs: vec![value] };
        big.trim();
        big
    }

    /// The number that `digits` (values, not characters) spell in `base`.
    pub(crate) fn from_digits(digits: impl Iterator<Item = u8>, base: u64) -> Self {
        let mut big = Self { limbs: Vec::new() };
        // Several digits go into one multiplication of the whole number.
        let (mut chunk, mut factor) = (0, 1);
        for digit in digits {
            chunk = chunk * base + u64::from(digit);
            factor *= base;
            if factor >= u64::MAX / base / base {
                big.multiply_add(factor, chunk);
                (chunk, factor) = (0, 1);
            }
        }
        big.multiply_add(factor, chunk);
        big
    }

    pub(crate) fn is_zero(&self) -> bool {
        self.limbs.is_empty()
    }

    pub(crate) fn bit_len(&self) -> usize {
        match self.limbs.last() {
            Some(last) => self.limbs.len() * 64 - last.leading_zeros() as usize,
            None => 0,
        }
    }

    /// `self = self * factor + addend`.
    pub(crate) fn multiply_add(&mut self, factor: u64, addend: u64) {
        let mut carry = u128::from(addend);
        for limb in &mut self.limbs {
            let wide = u128::from(*limb) * u128::from(factor) + carry;
            *limb = wide as u64;
            carry = wide >> 64;
        }
        if carry > 0 {
            self.limbs.push(carry as u64);
        }
        self.trim();
    }

    /// `self = self / divisor`; the result is the remainder.
    pub(crate) fn divide(&mut self, divisor: u64) -> u64 {
        let mut remainder = 0;
        for limb in self.limbs.iter_mut().rev() {
            let wide = remainder << 64 | u128::from(*limb);
            *limb = (wide / u128::from(divisor)) as u64;
            remainder = wide % u128::from(divisor);
        }
        self.trim();
        remainder as u64
    }

    /// `self = self * 5^exponent`.
    pub(crate) fn multiply_power_of_five(&mut self, mut exponent: u32) {
        while exponent > 0 {
            let step = exponent.min(MAX_POWER_OF_FIVE);
            self.multiply_add(5u64.pow(step), 0);
            exponent -= step;
        }
    }

    /// `self = self / 5^exponent`; the result says whether anything was left over.
    pub(crate) fn divide_power_of_five(&mut self, mut exponent: u32) -> bool {
        let mut inexact = false;
        while exponent > 0 {
            let step = exponent.min(MAX_POWER_OF_FIVE);
            inexact |= self.divide(5u64.pow(step)) != 0;
            exponent -= step;
        }
        inexact
    }

    pub(crate) fn shift_left(&mut self, bits: usize) {
        if self.is_zero() {
            return;
        }
        let (whole, part) = (bits / 64, bits % 64);
        if part > 0 {
            self.multiply_add(1 << part, 0);
        }
        self.limbs.splice(0..0, std::iter::repeat_n(0, whole));
    }

    /// `self = self / 2^bits`, rounded to nearest, a tie to the even neighbour; `sticky` says
    /// that the true value is a little above `self`.
    pub(crate) fn shift_right_rounded(&mut self, bits: usize, sticky: bool) {
        if bits == 0 {
            return;
        }
        let half = self.bit(bits - 1);
        let above_half = sticky || (0..bits - 1).any(|index| self.bit(index));
        let (whole, part) = (bits / 64, bits % 64);
        self.limbs.drain(..whole.min(self.limbs.len()));
        if part > 0 {
            let mut carry = 0;
            for limb in self.limbs.iter_mut().rev() {
                let shifted = *limb >> part | carry;
                carry = *limb << (64 - part);
                *limb = shifted;
            }
        }
        self.trim();
        if half && (above_half || self.bit(0)) {
            self.multiply_add(1, 1);
        }
    }

    /// `self = self + other`.
    pub(crate) fn add(&mut self, other: &Self) {
        let len = self.limbs.len().max(other.limbs.len());
        self.limbs.resize(len, 0);
        let mut carry = false;
        for (index, limb) in self.limbs.iter_mut().enumerate() {
            let (sum, first) = limb.overflowing_add(other.limbs.get(index).copied().unwrap_or(0));
            let (sum, second) = sum.overflowing_add(u64::from(carry));
            *limb = sum;
            carry = first || second;
        }
        if carry {
            self.limbs.push(1);
        }
    }

    /// `self = self - other`, where `other` is not larger.
    pub(crate) fn subtract(&mut self, other: &Self) {
        let mut borrow = false;
        for (index, limb) in self.limbs.iter_mut().enumerate() {
            let (rest, first) = limb.overflowing_sub(other.limbs.get(index).copied().unwrap_or(0));
            let (rest, second) = rest.overflowing_sub(u64::from(borrow));
            *limb = rest;
            borrow = first || second;
        }
        self.trim();
    }

    pub(crate) fn compare(&self, other: &Self) -> std::cmp::Ordering {
        let by_len = self.limbs.len().cmp(&other.limbs.len());
        by_len.then_with(|| self.limbs.iter().rev().cmp(other.limbs.iter().rev()))
    }

    /// The number when it fits in 64 bits.
    pub(crate) fn to_u64(&self) -> Option<u64> {
        match self.limbs[..] {
            [] => Some(0),
            [limb] => Some(limb),
            _ => None,
        }
    }

    /// The decimal digits, as ASCII, without leading zeros (none at all for zero).
    pub(crate) fn into_decimal(mut self) -> Vec<u8> {
        let mut reversed = Vec::new();
        while !self.is_zero() {
            let mut chunk = self.divide(DECIMAL_LIMB.0);
            for _ in 0..DECIMAL_LIMB.1 {
                reversed.push(b'0' + (chunk % 10) as u8);
                chunk /= 10;
            }
        }
        while reversed.last() == Some(&b'0') {
            reversed.pop();
        }
        reversed.reverse();
        reversed
    }

    fn bit(&self, index: usize) -> bool {
        self.limbs.get(index / 64).is_some_and(|limb| limb >> (index % 64) & 1 == 1)
    }

    fn trim(&mut self) {
        while self.limbs.last() == Some(&0) {
            self.limbs.pop();
        }
    }
}

#[cfg(test)]
mod tests {
    use super::Big;
    use proptest::prelude::{any, prop_assert_eq, proptest};

    fn big(value: u128) -> Big {
        let mut big = Big::from_u64((value >> 64) as u64);
        big.shift_left(64);
        big.add(&Big::from_u64(value as u64));
        big
    }

    #[test]
    fn powers() {
        let mut number = Big::from_u64(3);
        number.multiply_power_of_five(100);
        number.shift_left(100);
        assert_eq!(number.clone().into_decimal(), [&b"3"[..], &[b'0'; 100]].concat());
        assert!(!number.divide_power_of_five(100));
        number.shift_right_rounded(100, false);
        assert_eq!(number.to_u64(), Some(3));
        assert!(number.divide_power_of_five(1));
        assert!(number.is_zero());
    }

    proptest! {
        #[test]
        fn agrees_with_machine_numbers(left in any::<u128>(), right in any::<u128>(), shift in 1usize..120) {
            let (left, right) = (left >> 1, right >> 1);
            let decimal = left.to_string();
            prop_assert_eq!(big(left).into_decimal(), decimal.trim_start_matches('0').as_bytes());
            prop_assert_eq!(Big::from_digits(left.to_string().bytes().map(|b| b - b'0'), 10), big(left));
            let mut sum = big(left);
            sum.add(&big(right));
            prop_assert_eq!(&sum, &big(left + right));
            sum.subtract(&big(left));
            prop_assert_eq!(sum, big(right));
            prop_assert_eq!(big(left).compare(&big(right)), left.cmp(&right));
            let (quotient, rest, half) = (left >> shift, left & ((1 << shift) - 1), 1u128 << (shift - 1));
            let up = rest > half || (rest == half && quotient & 1 == 1);
            let mut shifted = big(left);
            shifted.shift_right_rounded(shift, false);
            prop_assert_eq!(shifted, big(quotient + u128::from(up)));
        }
    }
}
