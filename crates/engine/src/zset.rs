//! Sorted sets: a listpack while small, a hash table and a counted B+tree when large, one type
//! outside.
//!
//! Everything that names several members goes through ranks: a range of indexes, scores or names
//! becomes a range of ranks in O(log n), counting is its length, and walking, popping and removing
//! take it.

mod compact;
mod indexed;
pub mod member;
pub mod range;
pub mod tree;

use std::collections::HashSet;
use std::ops::Range;

use compact::Compact;
use indexed::Indexed;
use rand_core::RngCore;
use range::{LexRange, ScoreRange};

use crate::draw::below;
use crate::limits::Limits;
use crate::listpack::Entry;

/// A draw of distinct members walks the whole set when it wants more than one in this many of them.
const WALK_DRAW_RATIO: usize = 4;

/// A sorted set: members, each with a score, in order of score and then of the member's bytes.
#[derive(Default)]
pub struct Zset {
    encoding: Encoding,
}

enum Encoding {
    Compact(Compact),
    Indexed(Box<Indexed>),
}

impl Default for Encoding {
    fn default() -> Self {
        Self::Compact(Compact::default())
    }
}

/// The conditions and mode of one `ZADD` pair, named after its options.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct AddFlags {
    /// NX: only add, never update.
    pub nx: bool,
    /// XX: only update, never add.
    pub xx: bool,
    /// GT: update only to a greater score.
    pub gt: bool,
    /// LT: update only to a lesser score.
    pub lt: bool,
    /// INCR: the score is an increment.
    pub incr: bool,
}

/// What [`Zset::add`] did; the score is the member's score from then on.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum AddOutcome {
    /// The member is new.
    Added(f64),
    /// The member has another score than before.
    Updated(f64),
    /// The conditions allowed the update, and the score is what it was.
    Unchanged(f64),
    /// The conditions (NX, XX, GT, LT) forbade it: `ZADD … INCR` replies nil.
    Rejected,
    /// The score is not a number, or infinities of opposite sign were added: "resulting score is
    /// not a number (NaN)".
    NotANumber,
}

impl AddFlags {
    /// What becomes of a member that has the score `existing` or is absent, as Redis's `zsetAdd`
    /// decides it.
    fn decide(self, existing: Option<f64>, score: f64) -> AddOutcome {
        if score.is_nan() {
            return AddOutcome::NotANumber;
        }
        let Some(existing) = existing else {
            return if self.xx { AddOutcome::Rejected } else { AddOutcome::Added(score) };
        };
        if self.nx {
            return AddOutcome::Rejected;
        }
        let new = if self.incr { existing + score } else { score };
        if new.is_nan() {
            AddOutcome::NotANumber
        } else if (self.lt && new >= existing) || (self.gt && new <= existing) {
            AddOutcome::Rejected
        } else if new == existing {
            AddOutcome::Unchanged(new)
        } else {
            AddOutcome::Updated(new)
        }
    }
}

impl Zset {
    /// An empty set.
    #[must_use]
    pub fn new() -> Self {
        Self::default()
    }

    /// An empty set for `count` members to come, the first of `name_bytes`: not compact from the
    /// start if these are beyond the limits, whatever becomes of them, as in Redis from 7.2.
    #[must_use]
    pub fn with_expected(count: usize, name_bytes: usize, limits: &Limits) -> Self {
        let mut set = Self::default();
        if name_bytes > limits.zset_max_listpack_value {
            set.index();
        }
        set.expect_members(count, limits);
        set
    }

    /// Says that `count` members are about to be given to [`Zset::add`]: as in Redis from 7.2, the
    /// set leaves the compact encoding if these alone are too many for it.
    pub fn expect_members(&mut self, count: usize, limits: &Limits) {
        if count > limits.zset_max_listpack_entries {
            self.index();
        }
    }

    /// Number of members.
    #[must_use]
    pub fn len(&self) -> usize {
        match &self.encoding {
            Encoding::Compact(set) => set.len(),
            Encoding::Indexed(set) => set.len(),
        }
    }

    /// Whether there is no member.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// The name `OBJECT ENCODING` gives.
    #[must_use]
    pub fn encoding(&self) -> &'static str {
        match &self.encoding {
            Encoding::Compact(_) => "listpack",
            Encoding::Indexed(_) => "skiplist",
        }
    }

    /// Whether the set is in the compact encoding.
    #[must_use]
    pub fn is_compact(&self) -> bool {
        matches!(self.encoding, Encoding::Compact(_))
    }

    /// Heap bytes, rounded up to the allocator's size classes. Walks the buckets of a large set.
    #[must_use]
    pub fn memory_bytes(&self) -> usize {
        match &self.encoding {
            Encoding::Compact(set) => set.memory_bytes(),
            Encoding::Indexed(set) => set.memory_bytes(),
        }
    }

    /// The score of a member.
    #[must_use]
    pub fn score(&self, name: &[u8]) -> Option<f64> {
        match &self.encoding {
            Encoding::Compact(set) => set.find(name).map(|found| found.score),
            Encoding::Indexed(set) => set.score(name),
        }
    }

    /// Adds a member, or gives it another score, if `flags` allow.
    pub fn add(&mut self, name: &[u8], score: f64, flags: AddFlags, limits: &Limits) -> AddOutcome {
        let set = match &mut self.encoding {
            Encoding::Indexed(set) => set,
            Encoding::Compact(set) => {
                let found = set.find(name);
                let outcome = flags.decide(found.as_ref().map(|found| found.score), score);
                match (outcome, found) {
                    (AddOutcome::Updated(score), Some(found)) => set.update(&found, name, score),
                    (AddOutcome::Added(_), _) if outgrows(set, name, limits) => {
                        self.index().insert(name, score);
                    }
                    (AddOutcome::Added(score), _) => set.insert(name, score),
                    _ => {}
                }
                return outcome;
            }
        };
        let existing = set.score(name);
        let outcome = flags.decide(existing, score);
        match (outcome, existing) {
            (AddOutcome::Updated(score), Some(existing)) => set.update(name, existing, score),
            (AddOutcome::Added(score), _) => set.insert(name, score),
            _ => {}
        }
        outcome
    }

    /// Removes a member; the result is its score.
    pub fn remove(&mut self, name: &[u8]) -> Option<f64> {
        match &mut self.encoding {
            Encoding::Compact(set) => {
                let found = set.find(name)?;
                set.remove(&found);
                Some(found.score)
            }
            Encoding::Indexed(set) => set.remove(name),
        }
    }

    /// Rank (from 0 at the least, or with `reverse` at the greatest) and score of a member.
    #[must_use]
    pub fn rank(&self, name: &[u8], reverse: bool) -> Option<(usize, f64)> {
        let (rank, score) = match &self.encoding {
            Encoding::Compact(set) => set.rank(name)?,
            Encoding::Indexed(set) => set.rank(name)?,
        };
        Some((if reverse { self.len() - 1 - rank } else { rank }, score))
    }

    /// The ranks of the members whose scores are in `range`.
    #[must_use]
    pub fn ranks_of_scores(&self, range: &ScoreRange) -> Range<usize> {
        match &self.encoding {
            Encoding::Compact(set) => set.ranks_of_scores(range),
            Encoding::Indexed(set) => set.ranks_of_scores(range),
        }
    }

    /// The ranks of the members whose names are in `range`. Where scores differ Redis leaves the
    /// result open; there, `reverse` matters too while the set is small, and is what Redis does.
    #[must_use]
    pub fn ranks_of_names(&self, range: &LexRange<'_>, reverse: bool) -> Range<usize> {
        match &self.encoding {
            Encoding::Compact(set) => set.ranks_of_names(range, reverse),
            Encoding::Indexed(set) => set.ranks_of_names(range),
        }
    }

    /// The members of these ranks with their scores, upwards, or downwards from the last of them.
    /// Ranks past the end are passed over.
    #[must_use]
    pub fn iter(&self, ranks: Range<usize>, reverse: bool) -> Iter<'_> {
        let end = ranks.end.min(self.len());
        let ranks = ranks.start.min(end)..end;
        match &self.encoding {
            Encoding::Compact(set) => Iter(Walk::Compact(set.iter(ranks, reverse))),
            Encoding::Indexed(set) => Iter(Walk::Indexed(set.iter(ranks, reverse))),
        }
    }

    /// The member of a rank, and its score.
    #[must_use]
    pub fn by_rank(&self, rank: usize) -> Option<(Entry<'_>, f64)> {
        self.iter(rank..rank.checked_add(1)?, false).next()
    }

    /// Removes the members of these ranks; the result is how many there were.
    pub fn remove_ranks(&mut self, ranks: Range<usize>) -> usize {
        let end = ranks.end.min(self.len());
        let ranks = ranks.start.min(end)..end;
        let removed = ranks.len();
        match &mut self.encoding {
            Encoding::Compact(set) => set.remove_ranks(ranks),
            Encoding::Indexed(set) => set.remove_ranks(ranks),
        }
        removed
    }

    /// Removes up to `count` members, the least first, or with `greatest` the greatest first, after
    /// handing each to `popped`; the result is how many.
    pub fn pop(
        &mut self,
        count: usize,
        greatest: bool,
        mut popped: impl FnMut(Entry<'_>, f64),
    ) -> usize {
        let len = self.len();
        let count = count.min(len);
        let ranks = if greatest { len - count..len } else { 0..count };
        for (name, score) in self.iter(ranks.clone(), greatest) {
            popped(name, score);
        }
        self.remove_ranks(ranks)
    }

    /// One step of `ZSCAN`: visits some members and returns the cursor to go on with, 0 at the end.
    /// A small set is visited whole. A member that is present from first to last step is visited at
    /// least once.
    pub fn scan(&self, cursor: u64, mut visit: impl FnMut(Entry<'_>, f64)) -> u64 {
        match &self.encoding {
            Encoding::Compact(set) => {
                set.iter(0..set.len(), false).for_each(|(name, score)| visit(name, score));
                0
            }
            Encoding::Indexed(set) => set.scan(cursor, visit),
        }
    }

    /// A member drawn at random, each equally likely; `None` from an empty set.
    pub fn random(&self, random: &mut impl RngCore) -> Option<(Entry<'_>, f64)> {
        self.by_rank(below(random, self.len()))
    }

    /// Draws up to `count` different members at random, each set of them equally likely, in no
    /// promised order.
    pub fn random_distinct(
        &self,
        count: usize,
        random: &mut impl RngCore,
        mut drawn: impl FnMut(Entry<'_>, f64),
    ) {
        let len = self.len();
        if self.is_compact() || count.saturating_mul(WALK_DRAW_RATIO) > len {
            let mut wanted = count.min(len);
            for (rank, (name, score)) in self.iter(0..len, false).enumerate() {
                // Knuth's selection sampling: so many wanted of so many left.
                if below(random, len - rank) < wanted {
                    drawn(name, score);
                    wanted -= 1;
                }
            }
            return;
        }
        let mut seen = HashSet::with_capacity(count);
        while seen.len() < count {
            let rank = below(random, len);
            if seen.insert(rank) {
                let (name, score) = self.by_rank(rank).expect("the rank is below the length");
                drawn(name, score);
            }
        }
    }

    /// Leaves the compact encoding.
    fn index(&mut self) -> &mut Indexed {
        if let Encoding::Compact(small) = &self.encoding {
            let mut large = Box::<Indexed>::default();
            let mut buffer = itoa::Buffer::new();
            for (name, score) in small.iter(0..small.len(), false) {
                large.insert(name.text(&mut buffer), score);
            }
            self.encoding = Encoding::Indexed(large);
        }
        match &mut self.encoding {
            Encoding::Indexed(set) => set,
            Encoding::Compact(_) => unreachable!("replaced above"),
        }
    }
}

/// Walks members in one direction; made by [`Zset::iter`].
///
/// Members of a small set come as the listpack holds them, integers apart; those of a large set
/// always as bytes.
pub struct Iter<'a>(Walk<'a>);

enum Walk<'a> {
    Compact(compact::Iter<'a>),
    Indexed(tree::Iter<'a>),
}

impl<'a> Iterator for Iter<'a> {
    type Item = (Entry<'a>, f64);

    fn next(&mut self) -> Option<Self::Item> {
        match &mut self.0 {
            Walk::Compact(iter) => iter.next(),
            Walk::Indexed(iter) => {
                iter.next().map(|member| (Entry::Bytes(member.name()), member.score()))
            }
        }
    }

    fn size_hint(&self) -> (usize, Option<usize>) {
        match &self.0 {
            Walk::Compact(iter) => iter.size_hint(),
            Walk::Indexed(iter) => iter.size_hint(),
        }
    }
}

impl ExactSizeIterator for Iter<'_> {}

/// Whether adding `name` takes the set out of the compact encoding, as in Redis.
fn outgrows(set: &Compact, name: &[u8], limits: &Limits) -> bool {
    set.len() >= limits.zset_max_listpack_entries
        || name.len() > limits.zset_max_listpack_value
        || !set.fits(name.len())
}

#[cfg(test)]
mod tests;
