//! One member of a large sorted set: score and name in one allocation behind a thin pointer, so
//! that the hash table and the order tree spend eight bytes each on it.
//!
//! Layout: `score: f64`, then the length of the name (one byte below 255, else the byte 255 and
//! eight bytes), then the name. A ten-byte name takes 19 bytes: the allocator's 32-byte class.

use std::alloc::{Layout, alloc, dealloc, handle_alloc_error};
use std::cmp::Ordering;
use std::ptr::NonNull;
use std::slice;

/// Bytes of the score at the head of the allocation.
const SCORE_BYTES: usize = 8;
/// Value of the first length byte that says "eight length bytes follow".
const LONG_NAME: u8 = u8::MAX;

/// Owner of one member's allocation.
pub struct Member(NonNull<u8>);

// SAFETY: a `Member` owns its allocation alone and has no thread affinity.
unsafe impl Send for Member {}
// SAFETY: through `&Member` the allocation is only read.
unsafe impl Sync for Member {}

impl Member {
    /// Allocates a member.
    pub fn new(score: f64, name: &[u8]) -> Self {
        let layout = layout_for(name.len());
        let head = header_bytes(name.len());
        // SAFETY: the layout's size is at least `SCORE_BYTES + 1`, so not zero.
        let start = unsafe { alloc(layout) };
        let Some(start) = NonNull::new(start) else { handle_alloc_error(layout) };
        // SAFETY: the allocation is `head + name.len()` bytes long, 8-aligned, and nobody else
        // knows of it yet; every write below stays inside it.
        unsafe {
            start.cast::<f64>().write(score);
            let length_at = start.add(SCORE_BYTES);
            if head == SCORE_BYTES + 1 {
                length_at.write(name.len() as u8);
            } else {
                length_at.write(LONG_NAME);
                length_at.add(1).cast::<u64>().write_unaligned(name.len() as u64);
            }
            start.add(head).copy_from_nonoverlapping(NonNull::from(name).cast(), name.len());
        }
        Self(start)
    }

    /// The member's score.
    pub fn score(&self) -> f64 {
        // SAFETY: `self` keeps the allocation alive, see `new` for its layout.
        unsafe { score_at(self.0) }
    }

    /// The member's name.
    pub fn name(&self) -> &[u8] {
        // SAFETY: `self` keeps the allocation alive and unchanged for as long as the slice is
        // borrowed.
        unsafe { name_at(self.0) }
    }

    /// Bytes asked of the allocator for this member.
    pub fn allocated_bytes(&self) -> usize {
        layout_for(self.name().len()).size()
    }

    /// Makes a copy of the pointer for the order tree.
    ///
    /// # Safety
    ///
    /// The copy, and every copy of it, must not be read after this member has been dropped, and its
    /// score must not be set while another thread can read the member.
    pub unsafe fn share(&self) -> MemberRef {
        MemberRef(self.0)
    }
}

impl Drop for Member {
    fn drop(&mut self) {
        let layout = layout_for(self.name().len());
        // SAFETY: allocated in `new` with this very layout, which depends on the unchanged name
        // length alone.
        unsafe { dealloc(self.0.as_ptr(), layout) }
    }
}

/// A borrowed pointer to a [`Member`] that the owner has promised to outlive (see
/// [`Member::share`]).
#[derive(Clone, Copy, PartialEq, Eq)]
pub struct MemberRef(NonNull<u8>);

// SAFETY: as for `Member`: reading needs no thread, and writing takes `&mut` of the set that owns
// both.
unsafe impl Send for MemberRef {}
// SAFETY: through `&MemberRef` the allocation is only read.
unsafe impl Sync for MemberRef {}

impl MemberRef {
    /// The member's score.
    pub fn score(self) -> f64 {
        // SAFETY: `Member::share` was told that the member lives.
        unsafe { score_at(self.0) }
    }

    /// The member's name.
    pub fn name(&self) -> &[u8] {
        // SAFETY: `Member::share` was told that the member lives; names never change.
        unsafe { name_at(self.0) }
    }

    /// Overwrites the score. The order tree must be told, or must not hold the member, at that
    /// moment.
    pub fn set_score(&mut self, score: f64) {
        // SAFETY: `Member::share` was told that the member lives. Scores are read and written by
        // value only, so no reference to these eight bytes exists, and the set that owns the member
        // is held by `&mut` by whoever got a `&mut` of this.
        unsafe { self.0.cast::<f64>().write(score) }
    }

    /// Order of this member against `(score, name)`: by score, then by the bytes of the name.
    pub fn order(&self, score: f64, name: &[u8]) -> Ordering {
        let own = self.score();
        if own < score {
            Ordering::Less
        } else if own > score {
            Ordering::Greater
        } else {
            self.name().cmp(name)
        }
    }
}

/// Bytes before the name.
fn header_bytes(name_bytes: usize) -> usize {
    if name_bytes < usize::from(LONG_NAME) { SCORE_BYTES + 1 } else { SCORE_BYTES + 1 + 8 }
}

/// Layout of a member whose name has `name_bytes` bytes.
fn layout_for(name_bytes: usize) -> Layout {
    Layout::from_size_align(header_bytes(name_bytes) + name_bytes, 8)
        .expect("a name is a slice, so its size fits isize")
}

/// # Safety
///
/// `start` is a live allocation made by [`Member::new`].
unsafe fn score_at(start: NonNull<u8>) -> f64 {
    // SAFETY: promised by the caller; the score lies at the 8-aligned start.
    unsafe { start.cast::<f64>().read() }
}

/// # Safety
///
/// `start` is a live allocation made by [`Member::new`], and stays so for `'a`.
unsafe fn name_at<'a>(start: NonNull<u8>) -> &'a [u8] {
    // SAFETY: promised by the caller; `new` wrote the length that it allocated for.
    unsafe {
        let length_at = start.add(SCORE_BYTES);
        let short = length_at.read();
        if short == LONG_NAME {
            let len = length_at.add(1).cast::<u64>().read_unaligned() as usize;
            slice::from_raw_parts(length_at.add(9).as_ptr(), len)
        } else {
            slice::from_raw_parts(length_at.add(1).as_ptr(), usize::from(short))
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn keeps_score_and_name_of_any_length() {
        for len in [0, 1, 10, 254, 255, 256, 70_000] {
            let name = vec![b'x'; len];
            let member = Member::new(-1.5, &name);
            assert_eq!(member.score(), -1.5);
            assert_eq!(member.name(), name);
        }
    }

    #[test]
    fn a_shared_pointer_sees_and_sets_the_score() {
        let member = Member::new(1.0, b"a");
        // SAFETY: `member` lives to the end of the test.
        let mut shared = unsafe { member.share() };
        shared.set_score(2.0);
        assert_eq!(member.score(), 2.0);
        assert_eq!(shared.order(2.0, b"b"), Ordering::Less);
        assert_eq!(shared.order(1.0, b"b"), Ordering::Greater);
    }
}
