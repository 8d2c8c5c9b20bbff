//! Redis's listpack: many small values in one allocation, byte for byte as Redis writes it.
//!
//! Small lists, hashes, sets and sorted sets are one listpack each, and long lists are many; as
//! the bytes are Redis's own, serialising one is a copy. The format is: total bytes (`u32`, little
//! endian), number of entries (`u16`, 65535 meaning "count them"), the entries, and `0xFF`.

mod entry;

use crate::size_class::size_class;
pub use entry::Entry;
use entry::{END, Encoded};

/// Bytes of the header: total size and entry count.
const HEADER: usize = 6;

/// Header count that means the number of entries is not known.
const COUNT_UNKNOWN: u16 = u16::MAX;

/// Largest listpack Redis lets grow, in bytes.
const MAX_BYTES: usize = 1 << 30;

/// Listpacks from this size on keep slack in front too, so that working at the head of a list does
/// not move the whole of it; below, moving is cheaper than the bookkeeping.
const FRONT_SLACK_FROM: usize = 256;

/// Marks the first word of a buffer whose listpack starts further in.
const START_MARK: u32 = 1 << 31;

/// Bytes of the mark that a buffer with slack in front begins with.
const MARK: usize = 4;

/// Where an entry stands: an offset that is valid until the listpack is next changed.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct Position(u32);

impl Position {
    fn offset(self) -> usize {
        self.0 as usize
    }
}

/// Bytes are not a listpack: wrong size or count, an entry out of bounds, or no end.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[error("not a valid listpack")]
pub struct InvalidListpack;

/// A listpack in a buffer of its own.
///
/// Takes 16 bytes inline and one allocation: 7 bytes, and for each entry 2 bytes more than its
/// text up to 63 bytes (an integer takes 2 to 10 whatever its digits), rounded up to an allocator
/// size class. Slack is at most a quarter while growing and half while shrinking.
///
/// Invariant: `buffer[start..start + total]` is a valid listpack with all entries in their
/// shortest form; `start` is 0, or is at least [`MARK`] and stored with a mark in the first word,
/// which no listpack's total size has.
#[derive(Clone)]
pub struct Listpack {
    buffer: Box<[u8]>,
}

impl Default for Listpack {
    fn default() -> Self {
        Self::new()
    }
}

impl std::fmt::Debug for Listpack {
    fn fmt(&self, formatter: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        formatter.debug_list().entries(self.iter()).finish()
    }
}

impl PartialEq for Listpack {
    fn eq(&self, other: &Self) -> bool {
        self.as_bytes() == other.as_bytes()
    }
}

impl Eq for Listpack {}

impl Listpack {
    /// An empty listpack.
    #[must_use]
    pub fn new() -> Self {
        Self::with_capacity(HEADER + 1)
    }

    /// An empty listpack with room for `bytes` in all, header included.
    #[must_use]
    pub fn with_capacity(bytes: usize) -> Self {
        let mut buffer = vec![0; size_class(bytes.max(HEADER + 1))].into_boxed_slice();
        buffer[HEADER] = END;
        let mut listpack = Self { buffer };
        listpack.set_total(0, HEADER + 1);
        listpack
    }

    /// Takes over the bytes of a listpack from outside, checking every one.
    ///
    /// Entries that are valid but not in their shortest form are encoded again.
    ///
    /// # Errors
    /// [`InvalidListpack`] where Redis's own deep check of a payload would refuse it.
    pub fn from_bytes(bytes: &[u8]) -> Result<Self, InvalidListpack> {
        if bytes.len() <= HEADER || bytes.len() > MAX_BYTES {
            return Err(InvalidListpack);
        }
        let total = u32::from_le_bytes([bytes[0], bytes[1], bytes[2], bytes[3]]) as usize;
        let stated_count = u16::from_le_bytes([bytes[4], bytes[5]]);
        let Some((&END, entries)) = bytes[HEADER..].split_last() else {
            return Err(InvalidListpack);
        };
        if total != bytes.len() {
            return Err(InvalidListpack);
        }
        let (mut offset, mut count, mut all_shortest) = (0, 0, true);
        while offset < entries.len() {
            let (size, shortest) = entry::check(&entries[offset..]).ok_or(InvalidListpack)?;
            offset += size;
            count += 1;
            all_shortest &= shortest;
        }
        if stated_count != COUNT_UNKNOWN && usize::from(stated_count) != count {
            return Err(InvalidListpack);
        }
        let mut buffer = vec![0; size_class(bytes.len())].into_boxed_slice();
        buffer[..bytes.len()].copy_from_slice(bytes);
        let foreign = Self { buffer };
        if all_shortest {
            return Ok(foreign);
        }
        let mut listpack = Self::with_capacity(bytes.len());
        for entry in &foreign {
            match entry {
                Entry::Int(value) => listpack.push_back(value),
                Entry::Bytes(text) => listpack.push_back(text),
            }
        }
        Ok(listpack)
    }

    /// The listpack as Redis serialises it.
    #[must_use]
    pub fn as_bytes(&self) -> &[u8] {
        let start = self.start();
        &self.buffer[start..start + self.total_at(start)]
    }

    /// Number of entries; counted anew when there are 65535 or more.
    #[must_use]
    pub fn len(&self) -> usize {
        match self.stated_count() {
            COUNT_UNKNOWN => self.iter().count(),
            count => usize::from(count),
        }
    }

    /// Whether there is no entry.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.total_bytes() == HEADER + 1
    }

    /// Bytes of the listpack itself, header and end included.
    #[must_use]
    pub fn total_bytes(&self) -> usize {
        self.total_at(self.start())
    }

    /// Heap bytes held, slack included.
    #[must_use]
    pub fn memory_bytes(&self) -> usize {
        self.buffer.len()
    }

    /// Whether values of `added` bytes in all may be added: Redis keeps a listpack below 1 GiB.
    #[must_use]
    pub fn fits(&self, added: usize) -> bool {
        self.total_bytes().saturating_add(added) <= MAX_BYTES
    }

    /// Where the first entry stands.
    #[must_use]
    pub fn first(&self) -> Option<Position> {
        self.position_at(HEADER)
    }

    /// Where the last entry stands.
    #[must_use]
    pub fn last(&self) -> Option<Position> {
        let bytes = self.as_bytes();
        Self::before(bytes, bytes.len() - 1)
    }

    /// Where the entry after the one at `position` stands.
    #[must_use]
    pub fn next(&self, position: Position) -> Option<Position> {
        let offset = position.offset();
        self.position_at(offset + entry::size(&self.as_bytes()[offset..]))
    }

    /// Where the entry before the one at `position` stands.
    #[must_use]
    pub fn previous(&self, position: Position) -> Option<Position> {
        Self::before(self.as_bytes(), position.offset())
    }

    /// The value of the entry at `position`.
    #[must_use]
    pub fn get(&self, position: Position) -> Entry<'_> {
        entry::decode(&self.as_bytes()[position.offset()..])
    }

    /// Where the entry at `index` stands, counted from the end when negative (-1 is the last).
    /// Walks from the nearer end.
    #[must_use]
    pub fn seek(&self, index: isize) -> Option<Position> {
        let len = self.len();
        let index = if index < 0 { len.checked_add_signed(index)? } else { index.unsigned_abs() };
        if index >= len {
            return None;
        }
        if index <= len / 2 {
            let mut position = self.first()?;
            for _ in 0..index {
                position = self.next(position)?;
            }
            return Some(position);
        }
        let mut position = self.last()?;
        for _ in index + 1..len {
            position = self.previous(position)?;
        }
        Some(position)
    }

    /// Where the first entry with this text stands, looking at the entry at `from` and then at
    /// every `skip + 1`-th one (1 looks at the fields of field-value pairs only).
    #[must_use]
    pub fn find(&self, from: Position, text: &[u8], skip: usize) -> Option<Position> {
        let wanted = Encoded::new(Entry::from(text));
        let bytes = self.as_bytes();
        let mut offset = from.offset();
        while bytes[offset] != END {
            if wanted.leads(&bytes[offset..]) {
                return Some(Position(offset as u32));
            }
            for _ in 0..=skip {
                if bytes[offset] == END {
                    return None;
                }
                offset += entry::size(&bytes[offset..]);
            }
        }
        None
    }

    /// The entries from first to last; can be walked from both ends.
    #[must_use]
    pub fn iter(&self) -> Iter<'_> {
        let bytes = self.as_bytes();
        Iter { entries: &bytes[HEADER..bytes.len() - 1] }
    }

    /// The entries from the one at `position` to the last.
    #[must_use]
    pub fn iter_from(&self, position: Position) -> Iter<'_> {
        let bytes = self.as_bytes();
        Iter { entries: &bytes[position.offset()..bytes.len() - 1] }
    }

    /// Adds a value after the last.
    ///
    /// # Panics
    /// Like all that add: when the listpack would pass 1 GiB; ask [`Listpack::fits`] first.
    pub fn push_back<'v>(&mut self, value: impl Into<Entry<'v>>) {
        self.insert_at(self.total_bytes() - 1, value.into());
    }

    /// Adds a value before the first.
    pub fn push_front<'v>(&mut self, value: impl Into<Entry<'v>>) {
        self.insert_at(HEADER, value.into());
    }

    /// Adds a value before the entry at `position`, and says where it stands.
    pub fn insert_before<'v>(
        &mut self,
        position: Position,
        value: impl Into<Entry<'v>>,
    ) -> Position {
        self.insert_at(position.offset(), value.into());
        position
    }

    /// Adds a value after the entry at `position`, and says where it stands.
    pub fn insert_after<'v>(
        &mut self,
        position: Position,
        value: impl Into<Entry<'v>>,
    ) -> Position {
        let offset = position.offset();
        let offset = offset + entry::size(&self.as_bytes()[offset..]);
        self.insert_at(offset, value.into());
        Position(offset as u32)
    }

    /// Puts a value in the place of the entry at `position`, which stays where it is.
    pub fn replace<'v>(&mut self, position: Position, value: impl Into<Entry<'v>>) {
        let offset = position.offset();
        let encoded = Encoded::new(value.into());
        let old_size = entry::size(&self.as_bytes()[offset..]);
        encoded.write(self.splice(offset, old_size, encoded.size()));
    }

    /// Removes the entry at `position`; the result is where the entry after it stands now.
    pub fn remove(&mut self, position: Position) -> Option<Position> {
        let offset = position.offset();
        let size = entry::size(&self.as_bytes()[offset..]);
        self.cut(offset, size, 1);
        self.position_at(offset)
    }

    /// Removes up to `count` entries from the one at `position` on; the result is how many.
    pub fn remove_run(&mut self, position: Position, count: usize) -> usize {
        let bytes = self.as_bytes();
        let (mut end, mut removed) = (position.offset(), 0);
        while removed < count && bytes[end] != END {
            end += entry::size(&bytes[end..]);
            removed += 1;
        }
        self.cut(position.offset(), end - position.offset(), removed);
        removed
    }

    /// Removes the entries that `keep` refuses, in one pass; the result is how many.
    pub fn retain(&mut self, mut keep: impl FnMut(Entry<'_>) -> bool) -> usize {
        let start = self.start();
        let end = start + self.total_at(start) - 1;
        let (mut read, mut write, mut removed) = (start + HEADER, start + HEADER, 0);
        while read < end {
            let size = entry::size(&self.buffer[read..]);
            if keep(entry::decode(&self.buffer[read..])) {
                if read != write {
                    self.buffer.copy_within(read..read + size, write);
                }
                write += size;
            } else {
                removed += 1;
            }
            read += size;
        }
        self.cut(write - start, end - write, removed);
        removed
    }

    /// Splits off the entries from the one at `position` on.
    #[must_use]
    pub fn split_off(&mut self, position: Position) -> Self {
        let offset = position.offset();
        let bytes = self.as_bytes();
        let moved = bytes.len() - 1 - offset;
        let mut tail = Self::with_capacity(HEADER + 1 + moved);
        tail.splice(HEADER, 0, moved).copy_from_slice(&bytes[offset..offset + moved]);
        let count = tail.iter().count();
        tail.add_count(count);
        self.cut(offset, moved, count);
        tail
    }

    /// Adds all entries of `other` after the last.
    pub fn append(&mut self, other: &Self) {
        let bytes = other.as_bytes();
        let entries = &bytes[HEADER..bytes.len() - 1];
        let end = self.total_bytes() - 1;
        self.splice(end, 0, entries.len()).copy_from_slice(entries);
        self.add_count(other.len());
    }

    /// Gives back slack beyond the allocator's size class.
    pub fn shrink_to_fit(&mut self) {
        let fitting = size_class(self.total_bytes());
        if fitting < self.buffer.len() {
            self.relocate(HEADER, 0, 0, fitting, 0);
        }
    }

    fn start(&self) -> usize {
        let word = u32::from_le_bytes(self.buffer[..4].try_into().expect("four bytes"));
        if word & START_MARK == 0 { 0 } else { (word & !START_MARK) as usize }
    }

    fn total_at(&self, start: usize) -> usize {
        let word = self.buffer[start..start + 4].try_into().expect("four bytes");
        u32::from_le_bytes(word) as usize
    }

    fn set_total(&mut self, start: usize, total: usize) {
        self.buffer[start..start + 4].copy_from_slice(&(total as u32).to_le_bytes());
        if start > 0 {
            let mark = START_MARK | start as u32;
            self.buffer[..MARK].copy_from_slice(&mark.to_le_bytes());
        }
    }

    fn stated_count(&self) -> u16 {
        let bytes = self.as_bytes();
        u16::from_le_bytes([bytes[4], bytes[5]])
    }

    fn set_count(&mut self, count: u16) {
        let start = self.start();
        self.buffer[start + 4..start + HEADER].copy_from_slice(&count.to_le_bytes());
    }

    fn add_count(&mut self, added: usize) {
        let count = usize::from(self.stated_count()).saturating_add(added);
        self.set_count(u16::try_from(count).unwrap_or(COUNT_UNKNOWN));
    }

    fn position_at(&self, offset: usize) -> Option<Position> {
        (self.as_bytes()[offset] != END).then_some(Position(offset as u32))
    }

    fn before(bytes: &[u8], offset: usize) -> Option<Position> {
        if offset == HEADER {
            return None;
        }
        let size = entry::size_before(&bytes[HEADER..offset]);
        Some(Position((offset - size) as u32))
    }

    fn insert_at(&mut self, offset: usize, value: Entry<'_>) {
        let encoded = Encoded::new(value);
        encoded.write(self.splice(offset, 0, encoded.size()));
        self.add_count(1);
    }

    /// Removes `size` bytes at `offset` that hold `count` entries.
    fn cut(&mut self, offset: usize, size: usize, count: usize) {
        if count == 0 {
            return;
        }
        self.splice(offset, size, 0);
        match self.stated_count() {
            // A full count is made exact again once it can be stated.
            COUNT_UNKNOWN => {
                let left = self.iter().count();
                self.set_count(u16::try_from(left).unwrap_or(COUNT_UNKNOWN));
            }
            stated => self.set_count(stated - count as u16),
        }
    }

    /// Replaces `removed` bytes at `offset` by `inserted` bytes for the caller to write.
    ///
    /// Moves the shorter side where there is slack for it; total size is kept, the count is not.
    fn splice(&mut self, offset: usize, removed: usize, inserted: usize) -> &mut [u8] {
        let start = self.start();
        let total = self.total_at(start);
        let new_total = total - removed + inserted;
        assert!(new_total <= MAX_BYTES, "a listpack stays below 1 GiB");
        let capacity = self.buffer.len();
        let tail = offset + removed;
        let front_is_nearer = total >= FRONT_SLACK_FROM && offset < total - tail;
        let shrunk = size_class(new_total);
        if new_total < total && shrunk * 2 <= capacity {
            return self.relocate(offset, removed, inserted, shrunk, 0);
        }
        if front_is_nearer {
            match (start + removed).checked_sub(inserted) {
                Some(new_start @ (0 | MARK..)) => {
                    self.buffer.copy_within(start..start + offset, new_start);
                    self.set_total(new_start, new_total);
                    let hole = new_start + offset;
                    return &mut self.buffer[hole..hole + inserted];
                }
                // Too little slack to mark: all of it goes to the front.
                Some(_) => {
                    let slack = capacity - new_total;
                    return self.relocate(offset, removed, inserted, capacity, slack);
                }
                None => {}
            }
        } else if start + new_total <= capacity {
            self.buffer.copy_within(start + tail..start + total, start + offset + inserted);
            self.set_total(start, new_total);
            return &mut self.buffer[start + offset..start + offset + inserted];
        }
        self.regrow(offset, removed, inserted, front_is_nearer)
    }

    /// Makes room where the nearer side has none: by sharing out the slack anew where there is
    /// enough of it to make that rare, else in a larger buffer with the slack on the side in use.
    fn regrow(
        &mut self,
        offset: usize,
        removed: usize,
        inserted: usize,
        front_is_nearer: bool,
    ) -> &mut [u8] {
        let new_total = self.total_bytes() - removed + inserted;
        let capacity = self.buffer.len();
        if capacity >= new_total + new_total / 8 {
            let start = (capacity - new_total) / 2;
            return self.relocate(offset, removed, inserted, capacity, start);
        }
        let new_capacity =
            if new_total > capacity { size_class(new_total) } else { size_class(capacity + 1) };
        let start = if front_is_nearer { new_capacity - new_total } else { 0 };
        self.relocate(offset, removed, inserted, new_capacity, start)
    }

    /// [`Listpack::splice`] into a new buffer, in which the listpack begins at `new_start`.
    fn relocate(
        &mut self,
        offset: usize,
        removed: usize,
        inserted: usize,
        new_capacity: usize,
        new_start: usize,
    ) -> &mut [u8] {
        let new_start = if new_start < MARK { 0 } else { new_start };
        let old = self.as_bytes();
        let (head, tail) = (&old[..offset], &old[offset + removed..]);
        let new_total = head.len() + inserted + tail.len();
        let mut buffer = vec![0; new_capacity].into_boxed_slice();
        let hole = new_start + offset;
        buffer[new_start..hole].copy_from_slice(head);
        buffer[hole + inserted..new_start + new_total].copy_from_slice(tail);
        self.buffer = buffer;
        self.set_total(new_start, new_total);
        &mut self.buffer[hole..hole + inserted]
    }
}

/// Iterator over the entries of a listpack, from both ends.
#[derive(Clone, Debug)]
pub struct Iter<'a> {
    entries: &'a [u8],
}

impl<'a> Iterator for Iter<'a> {
    type Item = Entry<'a>;

    #[inline]
    fn next(&mut self) -> Option<Entry<'a>> {
        if self.entries.is_empty() {
            return None;
        }
        let entry = entry::decode(self.entries);
        self.entries = &self.entries[entry::size(self.entries)..];
        Some(entry)
    }
}

impl DoubleEndedIterator for Iter<'_> {
    #[inline]
    fn next_back(&mut self) -> Option<Self::Item> {
        if self.entries.is_empty() {
            return None;
        }
        let (rest, last) =
            self.entries.split_at(self.entries.len() - entry::size_before(self.entries));
        self.entries = rest;
        Some(entry::decode(last))
    }
}

impl<'a> IntoIterator for &'a Listpack {
    type Item = Entry<'a>;
    type IntoIter = Iter<'a>;

    fn into_iter(self) -> Iter<'a> {
        self.iter()
    }
}

#[cfg(test)]
mod tests;
