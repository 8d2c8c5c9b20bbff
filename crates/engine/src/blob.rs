//! Bytes in one allocation behind a thin pointer: what large sets and hashes hold for each element.
//!
//! A `Box<[u8]>` is two words; a slot of [`crate::Table`] is one. Here the length stands in front of
//! the bytes instead: one byte for less than 128 of them, two for less than 16 KiB.

use std::alloc::{Layout, alloc, dealloc, handle_alloc_error};
use std::ptr::NonNull;
use std::slice;

use crate::size_class::size_class;

/// Most bytes of a [`Length`].
const LENGTH_MAX: usize = 10;

/// Owner of one allocation with a length and that many bytes.
pub struct Blob(NonNull<u8>);

// SAFETY: a `Blob` owns its allocation alone and has no thread affinity.
unsafe impl Send for Blob {}
// SAFETY: through `&Blob` the allocation is only read.
unsafe impl Sync for Blob {}

impl Blob {
    /// Allocates the bytes of all `parts`, one after the other.
    #[must_use]
    pub fn concat(parts: &[&[u8]]) -> Self {
        let len = parts.iter().map(|part| part.len()).sum();
        let length = Length::new(len);
        let layout = layout(length.as_bytes().len() + len);
        // SAFETY: the layout's size is not zero, as a length has a byte at least.
        let start = unsafe { alloc(layout) };
        let Some(start) = NonNull::new(start) else { handle_alloc_error(layout) };
        let mut end = start;
        for part in std::iter::once(&length.as_bytes()).chain(parts) {
            // SAFETY: the allocation is as long as the length and all parts together, so each
            // write ends within it; it is new, so no part overlaps it.
            unsafe {
                end.copy_from_nonoverlapping(NonNull::from(*part).cast(), part.len());
                end = end.add(part.len());
            }
        }
        Self(start)
    }

    /// The bytes.
    #[inline]
    #[must_use]
    pub fn as_bytes(&self) -> &[u8] {
        let (head, len) = self.head_and_len();
        // SAFETY: the allocation holds `len` initialised bytes after the head, and lives and stays
        // unchanged for as long as `self` is borrowed.
        unsafe { slice::from_raw_parts(self.0.add(head).as_ptr(), len) }
    }

    /// The bytes, for changes that keep their number.
    #[inline]
    pub fn as_bytes_mut(&mut self) -> &mut [u8] {
        let (head, len) = self.head_and_len();
        // SAFETY: as in `as_bytes`, and `self` is borrowed exclusively.
        unsafe { slice::from_raw_parts_mut(self.0.add(head).as_ptr(), len) }
    }

    /// Heap bytes that the allocator spends on this blob.
    #[must_use]
    pub fn memory_bytes(&self) -> usize {
        let (head, len) = self.head_and_len();
        size_class(head + len)
    }

    #[inline]
    fn head_and_len(&self) -> (usize, usize) {
        // SAFETY: every allocation begins with a length, whose last byte is the first below 128;
        // `read_length` asks for no byte after it.
        read_length(|index| unsafe { self.0.add(index).read() })
    }
}

impl Drop for Blob {
    fn drop(&mut self) {
        let (head, len) = self.head_and_len();
        // SAFETY: the allocation was made in `concat` with this layout, and is not used again.
        unsafe { dealloc(self.0.as_ptr(), layout(head + len)) }
    }
}

/// A number in as many bytes as it needs: seven bits each, the lowest first, all but the last
/// marked by their top bit.
pub(crate) struct Length {
    bytes: [u8; LENGTH_MAX],
    used: usize,
}

impl Length {
    #[inline]
    pub(crate) fn new(value: usize) -> Self {
        let (mut bytes, mut used, mut rest) = ([0; LENGTH_MAX], 0, value);
        while rest >= 0x80 {
            bytes[used] = rest as u8 | 0x80;
            rest >>= 7;
            used += 1;
        }
        bytes[used] = rest as u8;
        Self { bytes, used: used + 1 }
    }

    pub(crate) fn as_bytes(&self) -> &[u8] {
        &self.bytes[..self.used]
    }

    /// The length at the start of `bytes`: how many bytes it takes, and its value.
    #[inline]
    pub(crate) fn read(bytes: &[u8]) -> (usize, usize) {
        read_length(|index| bytes[index])
    }
}

#[inline]
fn read_length(byte_at: impl Fn(usize) -> u8) -> (usize, usize) {
    let first = byte_at(0);
    if first < 0x80 {
        return (1, usize::from(first));
    }
    let (mut value, mut index) = (usize::from(first & 0x7F), 1);
    loop {
        let byte = byte_at(index);
        value |= usize::from(byte & 0x7F) << (7 * index);
        index += 1;
        if byte < 0x80 {
            return (index, value);
        }
    }
}

fn layout(size: usize) -> Layout {
    Layout::from_size_align(size, 1).expect("a blob is smaller than the address space")
}

#[cfg(test)]
mod tests {
    use super::{Blob, Length};

    #[test]
    fn bytes_come_back_whatever_their_number() {
        for len in [0, 1, 127, 128, 16_383, 16_384, 3_000_000] {
            let (one, two) = (vec![b'a'; len], vec![b'b'; len / 3]);
            let mut blob = Blob::concat(&[&one, b"-", &two]);
            assert_eq!(blob.as_bytes(), [&one[..], b"-", &two].concat());
            blob.as_bytes_mut()[len] = b'+';
            assert_eq!(blob.as_bytes(), [&one[..], b"+", &two].concat());
            assert!(blob.memory_bytes() > one.len() + two.len());
        }
        assert_eq!(Blob::concat(&[]).as_bytes(), b"");
    }

    #[test]
    fn lengths_read_as_written() {
        for value in [0, 127, 128, 300, 16_383, 16_384, u32::MAX as usize, usize::MAX] {
            let length = Length::new(value);
            assert_eq!(Length::read(length.as_bytes()), (length.as_bytes().len(), value));
        }
    }

    #[test]
    fn an_option_of_a_blob_is_one_word() {
        assert_eq!(size_of::<Option<Blob>>(), size_of::<usize>());
    }
}
