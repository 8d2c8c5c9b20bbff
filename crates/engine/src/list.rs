//! The Redis list: one listpack while small, a row of listpacks beyond.
//!
//! The encoding changes as in Redis 7.2 and later: to `quicklist` when one listpack would pass
//! `list-max-listpack-size`, back to `listpack` when what is left is one node of half that size.

mod limit;
mod quicklist;

use std::ops::Range;

use crate::limits::Limits;
use crate::listpack::{Entry, Listpack};
use limit::NodeLimit;
use quicklist::Quicklist;

/// An end of a list.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Side {
    /// The head, index 0.
    Left,
    /// The tail, index -1.
    Right,
}

/// A side of an element.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Place {
    /// Nearer the head.
    Before,
    /// Nearer the tail.
    After,
}

/// A list of byte strings.
///
/// Takes 16 bytes inline. An element costs its text and 2 bytes (up to 63 bytes; integers 2 to 10
/// whatever their digits), a node of 8 KiB by default costs 24 bytes more. An element longer than
/// a node has an allocation of its own. Finding an index adds up node counts from the nearer end.
#[derive(Clone, Debug)]
pub struct List {
    encoding: Encoding,
}

#[derive(Clone, Debug)]
enum Encoding {
    Listpack(Listpack),
    Quicklist(Box<Quicklist>),
}

impl Default for List {
    fn default() -> Self {
        Self::new()
    }
}

impl List {
    /// An empty list.
    #[must_use]
    pub fn new() -> Self {
        Self { encoding: Encoding::Listpack(Listpack::new()) }
    }

    /// The name that `OBJECT ENCODING` answers.
    #[must_use]
    pub fn encoding(&self) -> &'static str {
        match self.encoding {
            Encoding::Listpack(_) => "listpack",
            Encoding::Quicklist(_) => "quicklist",
        }
    }

    /// Number of elements.
    #[must_use]
    pub fn len(&self) -> usize {
        match &self.encoding {
            Encoding::Listpack(listpack) => listpack.len(),
            Encoding::Quicklist(quicklist) => quicklist.len(),
        }
    }

    /// Whether there is no element; the server deletes such a key.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// Heap bytes held.
    #[must_use]
    pub fn memory_bytes(&self) -> usize {
        match &self.encoding {
            Encoding::Listpack(listpack) => listpack.memory_bytes(),
            Encoding::Quicklist(quicklist) => quicklist.memory_bytes(),
        }
    }

    /// Leaves the listpack encoding if `count` elements of `bytes` text bytes in all would pass its
    /// limit. Redis looks at a whole command's values so before it adds the first; call this first
    /// where the encoding must change exactly where Redis's does.
    pub fn prepare(&mut self, limits: &Limits, bytes: usize, count: usize) {
        if let Encoding::Listpack(listpack) = &mut self.encoding {
            let total = listpack.total_bytes().saturating_add(bytes);
            if !NodeLimit::of(limits).allows(total, listpack.len().saturating_add(count)) {
                let quicklist = Quicklist::from_listpack(std::mem::take(listpack));
                self.encoding = Encoding::Quicklist(Box::new(quicklist));
            }
        }
    }

    /// Adds an element at an end.
    pub fn push(&mut self, limits: &Limits, side: Side, value: &[u8]) {
        self.prepare(limits, value.len(), 1);
        self.push_prepared(limits, side, value);
    }

    /// Adds elements at an end, one after the other. The encoding changes for all of them together,
    /// before the first, as Redis has it.
    pub fn push_all<'v>(
        &mut self,
        limits: &Limits,
        side: Side,
        values: impl Iterator<Item = &'v [u8]> + Clone,
    ) {
        let (count, bytes) =
            values.clone().fold((0, 0), |(count, bytes), value| (count + 1, bytes + value.len()));
        self.prepare(limits, bytes, count);
        values.for_each(|value| self.push_prepared(limits, side, value));
    }

    fn push_prepared(&mut self, limits: &Limits, side: Side, value: &[u8]) {
        match (&mut self.encoding, side) {
            (Encoding::Listpack(listpack), Side::Left) => listpack.push_front(value),
            (Encoding::Listpack(listpack), Side::Right) => listpack.push_back(value),
            (Encoding::Quicklist(quicklist), _) => {
                quicklist.push(NodeLimit::of(limits), side, value);
            }
        }
    }

    /// Takes the element at an end off, handing it to `read` in place; `None` if there is none.
    pub fn pop_with<R>(
        &mut self,
        limits: &Limits,
        side: Side,
        read: impl FnOnce(Entry<'_>) -> R,
    ) -> Option<R> {
        let value = self.pop_keeping_encoding(side, read)?;
        self.shrink_encoding(limits);
        Some(value)
    }

    fn pop_keeping_encoding<R>(
        &mut self,
        side: Side,
        read: impl FnOnce(Entry<'_>) -> R,
    ) -> Option<R> {
        match &mut self.encoding {
            Encoding::Listpack(listpack) => {
                let position = match side {
                    Side::Left => listpack.first()?,
                    Side::Right => listpack.last()?,
                };
                let value = read(listpack.get(position));
                listpack.remove(position);
                Some(value)
            }
            Encoding::Quicklist(quicklist) => quicklist.pop(side, read),
        }
    }

    /// Takes the element at one end off and adds it at another, or the same, end; the element.
    ///
    /// As in Redis, the encoding may change back only after both steps.
    pub fn rotate(&mut self, limits: &Limits, from: Side, to: Side) -> Option<Vec<u8>> {
        let value = self.pop_keeping_encoding(from, |entry| entry.to_vec())?;
        self.push(limits, to, &value);
        self.shrink_encoding(limits);
        Some(value)
    }

    /// Takes the element at an end off.
    pub fn pop(&mut self, limits: &Limits, side: Side) -> Option<Vec<u8>> {
        self.pop_with(limits, side, |entry| entry.to_vec())
    }

    /// The element at `index`, counted from the tail when negative (-1 is the last).
    #[must_use]
    pub fn get(&self, index: i64) -> Option<Entry<'_>> {
        let index = self.absolute(index)?;
        match &self.encoding {
            Encoding::Listpack(listpack) => {
                listpack.seek(index.cast_signed()).map(|position| listpack.get(position))
            }
            Encoding::Quicklist(quicklist) => quicklist.get(index),
        }
    }

    /// Changes the element at `index`; false if there is none.
    ///
    /// As in Redis, the encoding may change even then.
    pub fn set(&mut self, limits: &Limits, index: i64, value: &[u8]) -> bool {
        self.prepare(limits, value.len(), 1);
        let Some(index) = self.absolute(index) else { return false };
        match &mut self.encoding {
            Encoding::Listpack(listpack) => {
                let Some(position) = listpack.seek(index.cast_signed()) else { return false };
                listpack.replace(position, value);
                true
            }
            Encoding::Quicklist(quicklist) => {
                let is_set = quicklist.set(NodeLimit::of(limits), index, value);
                if is_set {
                    self.shrink_encoding(limits);
                }
                is_set
            }
        }
    }

    /// The elements from head to tail; can be walked from both ends.
    pub fn iter(&self) -> impl DoubleEndedIterator<Item = Entry<'_>> {
        let (listpack, quicklist) = match &self.encoding {
            Encoding::Listpack(listpack) => (Some(listpack.iter()), None),
            Encoding::Quicklist(quicklist) => (None, Some(quicklist.iter())),
        };
        listpack.into_iter().flatten().chain(quicklist.into_iter().flatten())
    }

    /// The elements that `LRANGE start stop` means: both inclusive, counted from the tail when
    /// negative, cut to what is there.
    #[must_use]
    pub fn clamp(&self, start: i64, stop: i64) -> Range<usize> {
        clamp_range(self.len(), start, stop)
    }

    /// Visits the elements in `range`, as [`List::clamp`] gives it.
    pub fn for_range(&self, range: Range<usize>, visit: impl FnMut(Entry<'_>)) {
        match &self.encoding {
            Encoding::Listpack(listpack) => {
                if let Some(start) = listpack.seek(range.start.cast_signed()) {
                    listpack.iter_from(start).take(range.len()).for_each(visit);
                }
            }
            Encoding::Quicklist(quicklist) => quicklist.for_range(range, visit),
        }
    }

    /// Removes all elements but those in `kept`, as [`List::clamp`] gives it.
    pub fn trim(&mut self, limits: &Limits, kept: Range<usize>) {
        let len = self.len();
        let right = if kept.is_empty() { len } else { len.saturating_sub(kept.end) };
        let left = if kept.is_empty() { 0 } else { kept.start };
        for (side, count) in [(Side::Right, right), (Side::Left, left)] {
            match &mut self.encoding {
                Encoding::Listpack(listpack) => drop_from(listpack, side, count),
                Encoding::Quicklist(quicklist) => quicklist.drop_from(side, count),
            }
        }
        self.shrink_encoding(limits);
    }

    /// Removes elements that are `value`, as `LREM` does: the first `count`, the last `-count` when
    /// negative, all when zero. Returns how many.
    pub fn remove(&mut self, limits: &Limits, count: i64, value: &[u8]) -> usize {
        let side = if count < 0 { Side::Right } else { Side::Left };
        let most = match count {
            0 => usize::MAX,
            _ => usize::try_from(count.unsigned_abs()).unwrap_or(usize::MAX),
        };
        let removed = match &mut self.encoding {
            Encoding::Listpack(listpack) => remove_matching(listpack, side, most, value),
            Encoding::Quicklist(quicklist) => quicklist.remove(side, most, value),
        };
        self.shrink_encoding(limits);
        removed
    }

    /// Inserts `value` beside the first element that is `pivot`; false if there is none.
    ///
    /// As in Redis, the encoding may change even then.
    pub fn insert(&mut self, limits: &Limits, place: Place, pivot: &[u8], value: &[u8]) -> bool {
        self.prepare(limits, value.len(), 1);
        match &mut self.encoding {
            Encoding::Listpack(listpack) => {
                let found = listpack.first().and_then(|first| listpack.find(first, pivot, 0));
                let Some(position) = found else { return false };
                match place {
                    Place::Before => listpack.insert_before(position, value),
                    Place::After => listpack.insert_after(position, value),
                };
                true
            }
            Encoding::Quicklist(quicklist) => {
                quicklist.insert(NodeLimit::of(limits), place, pivot, value)
            }
        }
    }

    /// Indexes of elements that are `value`, as `LPOS` finds them: from the `rank`-th match on (from
    /// the tail when negative, then in falling order), looking at no more than `most_compared`
    /// elements. `rank` is not 0.
    pub fn positions(
        &self,
        value: &[u8],
        rank: i64,
        most_compared: usize,
    ) -> impl Iterator<Item = usize> {
        let wanted = Entry::from(value);
        let last = self.len().wrapping_sub(1);
        let (forward, backward) = if rank < 0 {
            (None, Some(self.iter().rev().enumerate().map(move |(at, entry)| (last - at, entry))))
        } else {
            (Some(self.iter().enumerate()), None)
        };
        let skipped = usize::try_from(rank.unsigned_abs()).unwrap_or(usize::MAX).saturating_sub(1);
        let elements = forward.into_iter().flatten().chain(backward.into_iter().flatten());
        elements
            .take(most_compared)
            .filter(move |(_, entry)| *entry == wanted)
            .map(|(index, _)| index)
            .skip(skipped)
    }

    fn absolute(&self, index: i64) -> Option<usize> {
        let index = if index < 0 { index.checked_add_unsigned(self.len() as u64)? } else { index };
        usize::try_from(index).ok()
    }

    /// Goes back to one listpack where Redis does.
    fn shrink_encoding(&mut self, limits: &Limits) {
        if let Encoding::Quicklist(quicklist) = &mut self.encoding
            && let Some(listpack) = quicklist.take_listpack(NodeLimit::of(limits))
        {
            self.encoding = Encoding::Listpack(listpack);
        }
    }
}

/// The indexes that an inclusive range means in a sequence of `len`, where negative numbers count
/// from its end; empty when nothing is left.
#[must_use]
pub fn clamp_range(len: usize, start: i64, stop: i64) -> Range<usize> {
    let absolute = |index: i64| {
        if index < 0 { index.saturating_add_unsigned(len as u64) } else { index }
    };
    let start = usize::try_from(absolute(start)).unwrap_or(0);
    let end = usize::try_from(absolute(stop).saturating_add(1)).unwrap_or(0).min(len);
    if start >= end { 0..0 } else { start..end }
}

fn drop_from(listpack: &mut Listpack, side: Side, count: usize) {
    let start = match side {
        Side::Left => listpack.first(),
        Side::Right => listpack.seek(-count.cast_signed()),
    };
    if let Some(start) = start.filter(|_| count > 0) {
        listpack.remove_run(start, count);
    }
}

/// Removes up to `most` entries that are `value`, counted from `side`; returns how many.
fn remove_matching(listpack: &mut Listpack, side: Side, most: usize, value: &[u8]) -> usize {
    let wanted = Entry::from(value);
    let mut spared = match side {
        Side::Left => 0,
        Side::Right => {
            listpack.iter().filter(|entry| *entry == wanted).count().saturating_sub(most)
        }
    };
    let mut left = most;
    listpack.retain(|entry| {
        if left == 0 || entry != wanted {
            return true;
        }
        if spared > 0 {
            spared -= 1;
            return true;
        }
        left -= 1;
        false
    })
}

#[cfg(test)]
mod tests;
