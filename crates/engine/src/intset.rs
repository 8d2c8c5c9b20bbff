//! Redis's intset: a sorted array of integers, byte for byte as Redis writes it.
//!
//! Small sets of integers take 2, 4 or 8 bytes a member, as wide as the widest ever added. The
//! format is: width in bytes (`u32`, little endian), number of members (`u32`), the members.

use crate::size_class::size_class;

/// Bytes of the header: width and length.
const HEADER: usize = 8;

/// Bytes are not an intset: wrong size, unknown width, empty, or not strictly ascending.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[error("not a valid intset")]
pub struct InvalidIntset;

/// A sorted set of integers in one allocation.
///
/// Takes 16 bytes inline, and 8 bytes and the members' rounded up to an allocator size class.
#[derive(Clone)]
pub struct Intset {
    /// The intset, then slack.
    buffer: Box<[u8]>,
}

impl Default for Intset {
    fn default() -> Self {
        Self::new()
    }
}

impl std::fmt::Debug for Intset {
    fn fmt(&self, formatter: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        formatter.debug_set().entries(self.iter()).finish()
    }
}

impl Intset {
    /// An empty intset, at first two bytes wide.
    #[must_use]
    pub fn new() -> Self {
        let mut buffer = vec![0; HEADER].into_boxed_slice();
        buffer[0] = 2;
        Self { buffer }
    }

    /// Takes over the bytes of an intset from outside, checking every one.
    ///
    /// # Errors
    /// [`InvalidIntset`] where Redis's own deep check of a payload would refuse it.
    pub fn from_bytes(bytes: &[u8]) -> Result<Self, InvalidIntset> {
        if bytes.len() <= HEADER {
            return Err(InvalidIntset);
        }
        let read = Self { buffer: bytes.into() };
        let width = read.word(0);
        let size = read.len().checked_mul(width).and_then(|size| size.checked_add(HEADER));
        if !matches!(width, 2 | 4 | 8) || size != Some(bytes.len()) {
            return Err(InvalidIntset);
        }
        if read.iter().zip(read.iter().skip(1)).any(|(one, next)| one >= next) {
            return Err(InvalidIntset);
        }
        Ok(read)
    }

    /// The intset as Redis serialises it.
    #[must_use]
    pub fn as_bytes(&self) -> &[u8] {
        &self.buffer[..HEADER + self.len() * self.width()]
    }

    /// Number of members.
    #[must_use]
    pub fn len(&self) -> usize {
        self.word(4)
    }

    /// Whether there is no member.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// Heap bytes held, slack included.
    #[must_use]
    pub fn memory_bytes(&self) -> usize {
        self.buffer.len()
    }

    /// The member at `index` in ascending order.
    #[must_use]
    pub fn get(&self, index: usize) -> Option<i64> {
        (index < self.len()).then(|| self.at(index))
    }

    /// Whether `value` is a member.
    #[must_use]
    pub fn contains(&self, value: i64) -> bool {
        self.find(value).is_ok()
    }

    /// Adds `value`; false if it is a member already.
    pub fn insert(&mut self, value: i64) -> bool {
        let Err(index) = self.find(value) else { return false };
        let needed = width_of(value);
        if needed > self.width() {
            self.widen(needed);
        }
        let (len, width) = (self.len(), self.width());
        let end = HEADER + len * width;
        if end + width > self.buffer.len() {
            self.resize(size_class(end + width));
        }
        let offset = HEADER + index * width;
        self.buffer.copy_within(offset..end, offset + width);
        self.put(index, value);
        self.set_len(len + 1);
        true
    }

    /// Removes `value`; false if it is not a member.
    pub fn remove(&mut self, value: i64) -> bool {
        let Ok(index) = self.find(value) else { return false };
        let (len, width) = (self.len(), self.width());
        let offset = HEADER + index * width;
        self.buffer.copy_within(offset + width..HEADER + len * width, offset);
        self.set_len(len - 1);
        self.give_back_slack();
        true
    }

    /// Removes the members that `keep` refuses, in ascending order and one pass.
    pub fn retain(&mut self, mut keep: impl FnMut(i64) -> bool) {
        let mut kept = 0;
        for index in 0..self.len() {
            let value = self.at(index);
            if keep(value) {
                self.put(kept, value);
                kept += 1;
            }
        }
        self.set_len(kept);
        self.give_back_slack();
    }

    /// The members in ascending order.
    pub fn iter(&self) -> impl DoubleEndedIterator<Item = i64> + ExactSizeIterator {
        (0..self.len()).map(|index| self.at(index))
    }

    fn find(&self, value: i64) -> Result<usize, usize> {
        if width_of(value) > self.width() {
            return Err(if value < 0 { 0 } else { self.len() });
        }
        let (mut low, mut high) = (0, self.len());
        while low < high {
            let middle = low.midpoint(high);
            match self.at(middle).cmp(&value) {
                std::cmp::Ordering::Less => low = middle + 1,
                std::cmp::Ordering::Equal => return Ok(middle),
                std::cmp::Ordering::Greater => high = middle,
            }
        }
        Err(low)
    }

    fn word(&self, offset: usize) -> usize {
        let word = self.buffer[offset..offset + 4].try_into().expect("four bytes");
        u32::from_le_bytes(word) as usize
    }

    fn width(&self) -> usize {
        usize::from(self.buffer[0])
    }

    fn set_len(&mut self, len: usize) {
        self.buffer[4..HEADER].copy_from_slice(&(len as u32).to_le_bytes());
    }

    fn at(&self, index: usize) -> i64 {
        let width = self.width();
        let bytes = &self.buffer[HEADER + index * width..][..width];
        match *bytes {
            [a, b] => i64::from(i16::from_le_bytes([a, b])),
            [a, b, c, d] => i64::from(i32::from_le_bytes([a, b, c, d])),
            _ => i64::from_le_bytes(bytes.try_into().expect("a member is 2, 4 or 8 bytes")),
        }
    }

    fn put(&mut self, index: usize, value: i64) {
        let width = self.width();
        let offset = HEADER + index * width;
        self.buffer[offset..offset + width].copy_from_slice(&value.to_le_bytes()[..width]);
    }

    fn widen(&mut self, width: usize) {
        let mut wider = vec![0; size_class(HEADER + (self.len() + 1) * width)];
        wider[0] = width as u8;
        wider[4..HEADER].copy_from_slice(&self.buffer[4..HEADER]);
        for (index, value) in self.iter().enumerate() {
            let offset = HEADER + index * width;
            wider[offset..offset + width].copy_from_slice(&value.to_le_bytes()[..width]);
        }
        self.buffer = wider.into_boxed_slice();
    }

    fn resize(&mut self, capacity: usize) {
        let mut buffer = std::mem::take(&mut self.buffer).into_vec();
        buffer.reserve_exact(capacity.saturating_sub(buffer.len()));
        buffer.resize(capacity, 0);
        self.buffer = buffer.into_boxed_slice();
    }

    fn give_back_slack(&mut self) {
        let fitting = size_class(self.as_bytes().len());
        if fitting * 2 <= self.buffer.len() {
            self.resize(fitting);
        }
    }
}

/// Bytes that hold `value`.
fn width_of(value: i64) -> usize {
    if i16::try_from(value).is_ok() {
        2
    } else if i32::try_from(value).is_ok() {
        4
    } else {
        8
    }
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;

    use proptest::prelude::*;

    use super::Intset;

    fn intset(values: &[i64]) -> Intset {
        let mut set = Intset::new();
        values.iter().for_each(|&value| assert!(set.insert(value)));
        set
    }

    #[test]
    fn bytes_are_those_of_redis() {
        // `DUMP` of Redis 7.0.15 after SADD of these, its intset only.
        let recorded: [(&[i64], &[u8]); 3] = [
            (&[1, 2, -3], b"\x02\0\0\0\x03\0\0\0\xfd\xff\x01\0\x02\0"),
            (
                &[1, 2, -3, 70_000],
                b"\x04\0\0\0\x04\0\0\0\xfd\xff\xff\xff\x01\0\0\0\x02\0\0\0\x70\x11\x01\0",
            ),
            (
                &[1, -3, 5_000_000_000],
                b"\x08\0\0\0\x03\0\0\0\xfd\xff\xff\xff\xff\xff\xff\xff\x01\0\0\0\0\0\0\0\
                  \0\xf2\x05\x2a\x01\0\0\0",
            ),
        ];
        for (values, bytes) in recorded {
            assert_eq!(intset(values).as_bytes(), bytes);
            assert!(Intset::from_bytes(bytes).unwrap().iter().eq(intset(values).iter()));
        }
    }

    #[test]
    fn bad_bytes_are_refused() {
        let bad: [&[u8]; 6] = [
            b"",
            b"\x02\0\0\0\0\0\0\0",
            b"\x03\0\0\0\x01\0\0\0\0\0\0",
            b"\x02\0\0\0\x02\0\0\0\x01\0\x01\0",
            b"\x02\0\0\0\x02\0\0\0\x01\0",
            b"\x02\0\0\0\xff\xff\xff\xff\x01\0",
        ];
        for bytes in bad {
            assert!(Intset::from_bytes(bytes).is_err(), "{bytes:?}");
        }
    }

    fn value() -> impl Strategy<Value = i64> {
        prop_oneof![-40i64..40, -40_000i64..40_000, any::<i32>().prop_map(i64::from), any::<i64>()]
    }

    proptest! {
        #[test]
        fn behaves_as_a_sorted_set(
            steps in prop::collection::vec((any::<bool>(), value()), 1..300),
            foreign in prop::collection::vec(any::<u8>(), 0..40),
        ) {
            let (mut set, mut model) = (Intset::new(), BTreeSet::new());
            for (insert, value) in steps {
                if insert {
                    prop_assert_eq!(set.insert(value), model.insert(value));
                } else {
                    prop_assert_eq!(set.remove(value), model.remove(&value));
                }
                prop_assert!(set.iter().eq(model.iter().copied()));
                prop_assert_eq!(set.contains(value), model.contains(&value));
                prop_assert!(set.memory_bytes() <= 16 + set.as_bytes().len() * 5 / 2);
            }
            set.retain(|value| value % 2 == 0);
            model.retain(|value| value % 2 == 0);
            prop_assert!(set.iter().eq(model.iter().copied()));
            let _ = Intset::from_bytes(&foreign);
        }
    }
}
