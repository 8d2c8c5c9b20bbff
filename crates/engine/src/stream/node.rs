//! One node of a stream: up to some hundred entries in a listpack, in the layout that Redis keeps
//! and serialises.
//!
//! A node is named by the id of its first entry, its base. The listpack starts with a head: number
//! of live entries, number of deleted ones, number of fields and the fields of the first entry, and
//! 0. An entry is: flags, milliseconds and number as differences from the base; if its fields are
//! those of the head its values alone, else the number of fields and fields and values in turn; and
//! the number of elements so far, by which a reader steps back to the flags. Deleting sets a flag.

use super::id::StreamId;
use crate::limits::Limits;
use crate::listpack::{self, Entry, Listpack, Position};

const FLAG_DELETED: i64 = 1;
const FLAG_SAME_FIELDS: i64 = 2;

/// Largest node in bytes, whatever the limits say, as in Redis.
const MAX_NODE_BYTES: usize = 1 << 30;
/// Elements of the head beside the fields.
const HEAD_ELEMENTS: usize = 4;
/// Bytes that an element takes beside its text, at most: encoding and length, and length backwards.
const ELEMENT_OVERHEAD_BYTES: usize = 10;
/// Elements of an entry beside fields and values.
const ENTRY_ELEMENTS: usize = 5;

/// A node. Never without an entry, deleted ones included.
pub(super) struct Node {
    pack: Listpack,
}

/// The fields and values of one entry, in the order they were given.
#[derive(Clone)]
pub struct Fields<'a> {
    /// The fields of the head, for an entry that shares them.
    shared: Option<listpack::Iter<'a>>,
    rest: listpack::Iter<'a>,
    remaining: usize,
}

/// An entry with what comes before its fields read.
struct Head {
    id: StreamId,
    flags: i64,
    field_count: usize,
}

/// What a new entry takes, in bytes.
#[derive(Clone, Copy)]
pub(super) struct EntrySize {
    /// All fields and values.
    pub(super) payload: usize,
    /// All of a node that holds this entry alone, at most.
    pub(super) with_head: usize,
}

impl EntrySize {
    pub(super) fn of<'f>(fields: impl ExactSizeIterator<Item = (&'f [u8], &'f [u8])>) -> Self {
        let elements = ENTRY_ELEMENTS + HEAD_ELEMENTS + 3 * fields.len();
        let (mut payload, mut in_head) = (0, 0);
        for (field, value) in fields {
            payload += field.len() + value.len();
            in_head += field.len();
        }
        Self { payload, with_head: payload + in_head + elements * ELEMENT_OVERHEAD_BYTES }
    }
}

impl Head {
    fn is_deleted(&self) -> bool {
        self.flags & FLAG_DELETED != 0
    }

    fn shares_fields(&self) -> bool {
        self.flags & FLAG_SAME_FIELDS != 0
    }

    /// Elements that hold fields and values.
    fn payload_elements(&self) -> usize {
        if self.shares_fields() { self.field_count } else { 2 * self.field_count }
    }
}

impl Node {
    /// A node whose first entry has these fields; the entry itself is still to be appended.
    pub(super) fn new<'f>(fields: impl ExactSizeIterator<Item = (&'f [u8], &'f [u8])>) -> Self {
        let mut pack = Listpack::new();
        pack.push_back(0);
        pack.push_back(0);
        pack.push_back(fields.len() as i64);
        for (field, _) in fields {
            pack.push_back(field);
        }
        pack.push_back(0);
        Self { pack }
    }

    /// The node as Redis serialises it.
    #[cfg(test)]
    pub(super) fn as_bytes(&self) -> &[u8] {
        self.pack.as_bytes()
    }

    /// Heap bytes.
    pub(super) fn memory_bytes(&self) -> usize {
        self.pack.memory_bytes()
    }

    /// Entries that are not deleted.
    pub(super) fn live(&self) -> usize {
        self.count_at(self.first())
    }

    /// Whether a new entry goes to a new node, by Redis's rule: deleted entries count too.
    pub(super) fn is_full(&self, entry: EntrySize, limits: &Limits) -> bool {
        let max_bytes = match limits.stream_node_max_bytes {
            0 => MAX_NODE_BYTES,
            bytes => bytes.min(MAX_NODE_BYTES),
        };
        let max_entries = limits.stream_node_max_entries;
        self.pack.total_bytes() + entry.payload >= max_bytes
            || (max_entries != 0 && self.live() + self.deleted() >= max_entries)
            || !self.pack.fits(entry.with_head)
    }

    /// Adds an entry after the last.
    pub(super) fn append<'f, I>(&mut self, base: StreamId, id: StreamId, fields: I)
    where
        I: ExactSizeIterator<Item = (&'f [u8], &'f [u8])> + Clone,
    {
        let count = fields.len();
        let shares = self.has_shared_fields(fields.clone().map(|(field, _)| field));
        self.pack.push_back(if shares { FLAG_SAME_FIELDS } else { 0 });
        self.pack.push_back(id.ms.wrapping_sub(base.ms) as i64);
        self.pack.push_back(id.seq.wrapping_sub(base.seq) as i64);
        if !shares {
            self.pack.push_back(count as i64);
        }
        for (field, value) in fields {
            if !shares {
                self.pack.push_back(field);
            }
            self.pack.push_back(value);
        }
        let elements = if shares { 3 + count } else { 4 + 2 * count };
        self.pack.push_back(elements as i64);
        self.set_counts(self.live() + 1, self.deleted());
    }

    /// Gives back the slack that growing left, once nothing will be appended any more.
    pub(super) fn close(&mut self) {
        self.pack.shrink_to_fit();
    }

    /// Visits live entries until `visit` says false; the result is whether it never did.
    pub(super) fn walk<'a>(
        &'a self,
        base: StreamId,
        reverse: bool,
        visit: &mut impl FnMut(StreamId, Fields<'a>) -> bool,
    ) -> bool {
        if reverse { self.walk_back(base, visit) } else { self.walk_forward(base, visit) }
    }

    /// Marks the entry `id` as deleted; `false` if there is none that lives.
    pub(super) fn delete(&mut self, base: StreamId, id: StreamId) -> bool {
        let mut deleted = false;
        self.mark(base, |own| match own.cmp(&id) {
            std::cmp::Ordering::Less => Some(false),
            std::cmp::Ordering::Equal => {
                deleted = true;
                Some(true)
            }
            std::cmp::Ordering::Greater => None,
        });
        deleted
    }

    /// Marks live entries from the first on as deleted, until `stop` says so; the result is how
    /// many.
    pub(super) fn delete_front(
        &mut self,
        base: StreamId,
        mut stop: impl FnMut(StreamId) -> bool,
    ) -> usize {
        self.mark(base, |id| if stop(id) { None } else { Some(true) })
    }

    /// The id of the last entry, deleted or not.
    pub(super) fn last_id(&self, base: StreamId) -> StreamId {
        let shared_count = self.shared_count();
        self.step_back(self.pack.last())
            .and_then(|start| read_head(&mut self.pack.iter_from(start), base, shared_count))
            .map_or(base, |head| head.id)
    }

    fn walk_forward<'a>(
        &'a self,
        base: StreamId,
        visit: &mut impl FnMut(StreamId, Fields<'a>) -> bool,
    ) -> bool {
        let shared_count = self.shared_count();
        let mut rest = self.pack.iter();
        rest.nth(HEAD_ELEMENTS + shared_count - 1);
        while let Some(head) = read_head(&mut rest, base, shared_count) {
            if !head.is_deleted() && !visit(head.id, self.fields(&head, rest.clone())) {
                return false;
            }
            // The payload, and the element count after it.
            rest.nth(head.payload_elements());
        }
        true
    }

    fn walk_back<'a>(
        &'a self,
        base: StreamId,
        visit: &mut impl FnMut(StreamId, Fields<'a>) -> bool,
    ) -> bool {
        let shared_count = self.shared_count();
        let mut last = self.pack.last();
        while let Some(start) = self.step_back(last) {
            let mut rest = self.pack.iter_from(start);
            let Some(head) = read_head(&mut rest, base, shared_count) else {
                break;
            };
            if !head.is_deleted() && !visit(head.id, self.fields(&head, rest)) {
                return false;
            }
            last = self.pack.previous(start);
        }
        true
    }

    /// Goes through live entries from the first on and asks `wants` of each: `Some(true)` deletes,
    /// `Some(false)` passes over, `None` ends. The result is how many were deleted.
    fn mark(&mut self, base: StreamId, mut wants: impl FnMut(StreamId) -> Option<bool>) -> usize {
        let shared_count = self.shared_count();
        let mut marked = 0;
        let mut next = self.advance(self.first(), HEAD_ELEMENTS + shared_count);
        while let Some(start) = next {
            let Some(head) = read_head(&mut self.pack.iter_from(start), base, shared_count) else {
                break;
            };
            if !head.is_deleted() {
                match wants(head.id) {
                    None => break,
                    Some(false) => {}
                    Some(true) => {
                        // Flags are one element byte whatever they are, so positions stay.
                        self.pack.replace(start, head.flags | FLAG_DELETED);
                        marked += 1;
                    }
                }
            }
            let own_count = usize::from(!head.shares_fields());
            next = self.advance(start, 3 + own_count + head.payload_elements() + 1);
        }
        if marked > 0 {
            self.set_counts(self.live() - marked, self.deleted() + marked);
        }
        marked
    }

    fn fields<'a>(&'a self, head: &Head, rest: listpack::Iter<'a>) -> Fields<'a> {
        let shared = head.shares_fields().then(|| self.shared_fields());
        Fields { shared, rest, remaining: head.field_count }
    }

    /// The fields of the head, and more elements behind them.
    fn shared_fields(&self) -> listpack::Iter<'_> {
        let mut rest = self.pack.iter();
        rest.nth(2);
        rest
    }

    fn shared_count(&self) -> usize {
        let third = self.advance(self.first(), 2).expect("a node has a head");
        self.count_at(third)
    }

    fn has_shared_fields<'f>(&self, fields: impl ExactSizeIterator<Item = &'f [u8]>) -> bool {
        fields.len() == self.shared_count()
            && fields.zip(self.shared_fields()).all(|(field, shared)| shared.is_text(field))
    }

    fn first(&self) -> Position {
        self.pack.first().expect("a node has a head")
    }

    fn deleted(&self) -> usize {
        let second = self.pack.next(self.first()).expect("a node has a head");
        self.count_at(second)
    }

    fn set_counts(&mut self, live: usize, deleted: usize) {
        self.pack.replace(self.first(), live as i64);
        let second = self.pack.next(self.first()).expect("a node has a head");
        self.pack.replace(second, deleted as i64);
    }

    fn count_at(&self, position: Position) -> usize {
        usize::try_from(integer(self.pack.get(position))).expect("counts are not negative")
    }

    fn advance(&self, from: Position, elements: usize) -> Option<Position> {
        (0..elements).try_fold(from, |position, _| self.pack.next(position))
    }

    /// Where the entry whose element count is at `last` starts; `None` at the head.
    fn step_back(&self, last: Option<Position>) -> Option<Position> {
        let last = last?;
        match self.count_at(last) {
            0 => None,
            elements => (0..elements).try_fold(last, |position, _| self.pack.previous(position)),
        }
    }
}

impl<'a> Iterator for Fields<'a> {
    type Item = (Entry<'a>, Entry<'a>);

    fn next(&mut self) -> Option<Self::Item> {
        self.remaining = self.remaining.checked_sub(1)?;
        let field = self.shared.as_mut().unwrap_or(&mut self.rest).next()?;
        Some((field, self.rest.next()?))
    }

    fn size_hint(&self) -> (usize, Option<usize>) {
        (self.remaining, Some(self.remaining))
    }
}

impl ExactSizeIterator for Fields<'_> {}

/// Reads flags, id and number of fields; `None` at the end.
fn read_head(rest: &mut listpack::Iter<'_>, base: StreamId, shared_count: usize) -> Option<Head> {
    let flags = integer(rest.next()?);
    let ms = base.ms.wrapping_add(integer(rest.next()?) as u64);
    let seq = base.seq.wrapping_add(integer(rest.next()?) as u64);
    let field_count =
        if flags & FLAG_SAME_FIELDS == 0 { integer(rest.next()?) as usize } else { shared_count };
    Some(Head { id: StreamId { ms, seq }, flags, field_count })
}

/// The integer that an element of the layout holds.
fn integer(element: Entry<'_>) -> i64 {
    element.as_int().expect("written as an integer by this file")
}
