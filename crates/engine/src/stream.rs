//! Streams: entries in order of id, in nodes of a listpack each, as Redis keeps them.
//!
//! Nodes stand in a B-tree map by the id of their first entry, where Redis has a radix tree; either
//! is looked up once a command. Nodes hold Redis's own bytes, so serialising a stream copies them.

pub mod id;
mod node;

use std::collections::BTreeMap;

pub use self::id::{IdError, IdRange, NewId, StreamId};
pub use self::node::Fields;
use self::node::{EntrySize, Node};

use crate::limits::Limits;

/// Most bytes of one entry, with the names of its fields twice: a listpack holds no more. Redis has
/// this limit for fields and values alone.
const MAX_ENTRY_BYTES: usize = 1 << 30;
/// Bytes that the map spends on a node: 11 slots of 32 bytes in a 384-byte leaf, half of them in
/// use when keys only rise.
const MAP_BYTES_PER_NODE: usize = 64;

/// A stream. Stays, with its last id, when its entries are gone.
#[derive(Default)]
pub struct Stream {
    nodes: BTreeMap<StreamId, Node>,
    len: usize,
    last_id: StreamId,
    max_deleted_id: StreamId,
    entries_added: u64,
}

/// Why an entry was not added; the messages are Redis's, without `ERR `.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub enum AddError {
    /// The id is not greater than the last.
    #[error("The ID specified in XADD is equal or smaller than the target stream top item")]
    NotGreater,
    /// The last id is the greatest there is.
    #[error("The stream has exhausted the last possible ID, unable to add more items")]
    Exhausted,
    /// The entry is about a gibibyte.
    #[error("Elements are too large to be stored")]
    TooLarge,
}

/// Why `XSETID` was refused; the messages are Redis's, without `ERR `.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub enum SetIdError {
    /// An entry with a greater id was deleted.
    #[error("The ID specified in XSETID is smaller than current max_deleted_entry_id")]
    BelowDeleted,
    /// An entry with a greater id is there.
    #[error("The ID specified in XSETID is smaller than the target stream top item")]
    BelowTop,
    /// There are more entries than were ever added.
    #[error("The entries_added specified in XSETID is smaller than the target stream length")]
    BelowLength,
}

/// What `XTRIM` keeps.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Keep {
    /// `MAXLEN`: so many of the last entries.
    MaxLen(usize),
    /// `MINID`: entries from this id on.
    MinId(StreamId),
}

/// How `XTRIM` and `XADD` trim.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Trim {
    /// What to keep.
    pub keep: Keep,
    /// `~`: remove whole nodes only, so keep somewhat more.
    pub approximate: bool,
    /// `LIMIT`: remove at most so many entries, by nodes; `None` is no limit.
    pub limit: Option<usize>,
}

impl Stream {
    /// A stream without entries.
    #[must_use]
    pub fn new() -> Self {
        Self::default()
    }

    /// Number of entries.
    #[must_use]
    pub fn len(&self) -> usize {
        self.len
    }

    /// Whether there is no entry.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.len == 0
    }

    /// The name `OBJECT ENCODING` gives.
    #[must_use]
    pub fn encoding(&self) -> &'static str {
        "stream"
    }

    /// Heap bytes; the map's share is an estimate. Walks the nodes.
    #[must_use]
    pub fn memory_bytes(&self) -> usize {
        self.nodes.values().map(|node| node.memory_bytes() + MAP_BYTES_PER_NODE).sum()
    }

    /// Number of nodes, `radix-tree-keys` of `XINFO STREAM`.
    #[must_use]
    pub fn node_count(&self) -> usize {
        self.nodes.len()
    }

    /// The greatest id ever given out.
    #[must_use]
    pub fn last_id(&self) -> StreamId {
        self.last_id
    }

    /// The greatest id that [`Stream::delete`] removed; trimming does not count, as in Redis.
    #[must_use]
    pub fn max_deleted_id(&self) -> StreamId {
        self.max_deleted_id
    }

    /// How many entries were ever added.
    #[must_use]
    pub fn entries_added(&self) -> u64 {
        self.entries_added
    }

    /// The id of the first entry.
    #[must_use]
    pub fn first_entry_id(&self) -> Option<StreamId> {
        self.edge_id(false)
    }

    /// The id of the last entry; [`Stream::last_id`] unless that was deleted.
    #[must_use]
    pub fn last_entry_id(&self) -> Option<StreamId> {
        self.edge_id(true)
    }

    /// Adds an entry; `now_ms` is the time that `*` takes. Redis adds no entry without fields, and
    /// leaves that to the command.
    ///
    /// # Errors
    /// [`AddError`]; the stream is then as it was.
    pub fn add<'f, I>(
        &mut self,
        id: NewId,
        now_ms: u64,
        fields: I,
        limits: &Limits,
    ) -> Result<StreamId, AddError>
    where
        I: ExactSizeIterator<Item = (&'f [u8], &'f [u8])> + Clone,
    {
        let id = self.new_id(id, now_ms)?;
        let size = EntrySize::of(fields.clone());
        if size.with_head > MAX_ENTRY_BYTES {
            return Err(AddError::TooLarge);
        }
        match self.nodes.last_entry() {
            Some(mut last) if !last.get().is_full(size, limits) => {
                let base = *last.key();
                last.get_mut().append(base, id, fields);
            }
            last => {
                if let Some(mut full) = last {
                    full.get_mut().close();
                }
                let mut node = Node::new(fields.clone());
                node.append(id, id, fields);
                self.nodes.insert(id, node);
            }
        }
        self.len += 1;
        self.entries_added += 1;
        self.last_id = id;
        Ok(id)
    }

    /// Visits up to `count` entries of `range`, upwards or downwards.
    pub fn range<'a>(
        &'a self,
        range: IdRange,
        reverse: bool,
        count: Option<usize>,
        mut visit: impl FnMut(StreamId, Fields<'a>),
    ) {
        let mut left = count.unwrap_or(usize::MAX);
        if left == 0 || range.start > range.end {
            return;
        }
        let mut take = |id: StreamId, fields: Fields<'a>| {
            let (too_early, past) = if reverse {
                (id > range.end, id < range.start)
            } else {
                (id < range.start, id > range.end)
            };
            if too_early || past {
                return too_early;
            }
            visit(id, fields);
            left -= 1;
            left > 0
        };
        let first_base = self.base_of(range.start).unwrap_or(range.start);
        let mut nodes = self.nodes.range(first_base.min(range.end)..=range.end);
        while let Some((base, node)) = if reverse { nodes.next_back() } else { nodes.next() } {
            if !node.walk(*base, reverse, &mut take) {
                return;
            }
        }
    }

    /// Removes the entry `id`; `false` if there is none.
    pub fn delete(&mut self, id: StreamId) -> bool {
        let Some((&base, node)) = self.nodes.range_mut(..=id).next_back() else {
            return false;
        };
        if !node.delete(base, id) {
            return false;
        }
        if node.live() == 0 {
            self.nodes.remove(&base);
        }
        self.len -= 1;
        self.max_deleted_id = self.max_deleted_id.max(id);
        true
    }

    /// Sets the last id, and the other counters where given (`XSETID`); a `max_deleted_id` of 0-0
    /// is none.
    ///
    /// # Errors
    /// [`SetIdError`]; the stream is then as it was.
    pub fn set_last_id(
        &mut self,
        id: StreamId,
        entries_added: Option<u64>,
        max_deleted_id: Option<StreamId>,
    ) -> Result<(), SetIdError> {
        if id < self.max_deleted_id {
            return Err(SetIdError::BelowDeleted);
        }
        if let Some(top) = self.last_entry_id() {
            if id < top {
                return Err(SetIdError::BelowTop);
            }
            if entries_added.is_some_and(|added| added < self.len as u64) {
                return Err(SetIdError::BelowLength);
            }
        }
        self.last_id = id;
        self.entries_added = entries_added.unwrap_or(self.entries_added);
        if let Some(deleted) = max_deleted_id.filter(|&deleted| deleted != StreamId::MIN) {
            self.max_deleted_id = deleted;
        }
        Ok(())
    }

    /// Removes entries from the front; the result is how many.
    ///
    /// Goes node by node as Redis does: a node that must go whole goes; of the first that must not,
    /// the entries in excess go too unless `approximate`; and a node that would take the number
    /// removed past `limit` ends it.
    pub fn trim(&mut self, trim: Trim) -> usize {
        let mut removed = 0;
        while let Some(mut first) = self.nodes.first_entry() {
            if matches!(trim.keep, Keep::MaxLen(max) if self.len <= max) {
                break;
            }
            let base = *first.key();
            let live = first.get().live();
            if trim.limit.is_some_and(|limit| removed + live > limit) {
                break;
            }
            let goes_whole = match trim.keep {
                Keep::MaxLen(max) => self.len - live >= max,
                Keep::MinId(id) => first.get().last_id(base) < id,
            };
            if goes_whole {
                first.remove();
                self.len -= live;
                removed += live;
                continue;
            }
            if !trim.approximate {
                let mut excess = match trim.keep {
                    Keep::MaxLen(max) => self.len - max,
                    Keep::MinId(_) => usize::MAX,
                };
                let gone = first.get_mut().delete_front(base, |id| {
                    let stop = excess == 0 || matches!(trim.keep, Keep::MinId(min) if id >= min);
                    excess -= usize::from(!stop);
                    stop
                });
                self.len -= gone;
                removed += gone;
            }
            break;
        }
        removed
    }

    /// The id that a new entry gets.
    fn new_id(&self, id: NewId, now_ms: u64) -> Result<StreamId, AddError> {
        let after_last = self.last_id.next().ok_or(AddError::Exhausted)?;
        let id = match id {
            NewId::Auto if now_ms > self.last_id.ms => StreamId::new(now_ms, 0),
            NewId::Auto => after_last,
            NewId::AutoSequence { ms } if ms == self.last_id.ms => {
                let seq = self.last_id.seq.checked_add(1).ok_or(AddError::NotGreater)?;
                StreamId::new(ms, seq)
            }
            NewId::AutoSequence { ms } => StreamId::new(ms, 0),
            NewId::Explicit(id) => id,
        };
        if id > self.last_id { Ok(id) } else { Err(AddError::NotGreater) }
    }

    /// The base of the node that holds `id`, or would.
    fn base_of(&self, id: StreamId) -> Option<StreamId> {
        self.nodes.range(..=id).next_back().map(|(&base, _)| base)
    }

    fn edge_id(&self, reverse: bool) -> Option<StreamId> {
        let mut edge = None;
        self.range(IdRange::ALL, reverse, Some(1), |id, _| edge = Some(id));
        edge
    }
}

#[cfg(test)]
mod tests;
