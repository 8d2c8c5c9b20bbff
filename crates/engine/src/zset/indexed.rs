//! The encoding that Redis calls "skiplist": a hash table of members by name, and a counted B+tree
//! of them in order.

use super::member::Member;
use super::range::{LexRange, ScoreRange};
use super::tree::{self, Tree};
use crate::hashing::hash_bytes;
use crate::listpack::Entry;
use crate::size_class::size_class;
use crate::table::{Hashed, Table};
use std::ops::Range;

impl Hashed for Member {
    fn hash(&self) -> u64 {
        hash_bytes(self.name())
    }
}

/// A large sorted set.
///
/// Invariant: the tree holds a pointer to each member that the table owns, and no other, except
/// within one call.
#[derive(Default)]
pub(super) struct Indexed {
    table: Table<Member>,
    tree: Tree,
    /// Heap bytes of the members, rounded up to the allocator's classes.
    members_bytes: usize,
}

impl Indexed {
    pub(super) fn len(&self) -> usize {
        self.tree.len()
    }

    pub(super) fn memory_bytes(&self) -> usize {
        size_of::<Self>()
            + self.members_bytes
            + self.table.memory_bytes()
            + self.tree.memory_bytes()
    }

    pub(super) fn score(&self, name: &[u8]) -> Option<f64> {
        self.table.find(hash_bytes(name), |member| member.name() == name).map(Member::score)
    }

    /// Adds a member that is not in the set.
    pub(super) fn insert(&mut self, name: &[u8], score: f64) {
        let member = Member::new(score, name);
        self.members_bytes += size_class(member.allocated_bytes());
        // SAFETY: the table owns the member from here on, and `take`, which alone takes one out,
        // takes it out of the tree first; both are dropped together, and the tree reads no member
        // then. Scores are set through `&mut self` only.
        self.tree.insert(unsafe { member.share() });
        self.table.insert(hash_bytes(name), member, false);
    }

    /// Gives the member a new score; `score` is the one it has.
    pub(super) fn update(&mut self, name: &[u8], score: f64, new_score: f64) {
        let found = self.tree.rescore(score, name, new_score);
        debug_assert!(found, "the caller has just read the score");
    }

    pub(super) fn remove(&mut self, name: &[u8]) -> Option<f64> {
        self.take(name).map(|member| member.score())
    }

    pub(super) fn remove_ranks(&mut self, ranks: Range<usize>) {
        for _ in ranks.clone() {
            let Some(&shared) = self.tree.at(ranks.start) else {
                return;
            };
            self.take(shared.name());
        }
    }

    /// Rank and score of a member.
    pub(super) fn rank(&self, name: &[u8]) -> Option<(usize, f64)> {
        let score = self.score(name)?;
        Some((self.tree.rank(score, name), score))
    }

    pub(super) fn ranks_of_scores(&self, range: &ScoreRange) -> Range<usize> {
        let start = self.tree.count_before(|score, _| range.starts_after(score));
        let end = self.tree.count_before(|score, _| range.ends_after(score));
        start.min(end)..end
    }

    pub(super) fn ranks_of_names(&self, range: &LexRange<'_>) -> Range<usize> {
        let start = self.tree.count_before(|_, member| range.starts_after(member.name()));
        let end = self.tree.count_before(|_, member| range.ends_after(member.name()));
        start.min(end)..end
    }

    pub(super) fn iter(&self, ranks: Range<usize>, reverse: bool) -> tree::Iter<'_> {
        self.tree.iter(ranks, reverse)
    }

    /// One step of a scan of the table; see [`Table::scan`].
    pub(super) fn scan(&self, cursor: u64, mut visit: impl FnMut(Entry<'_>, f64)) -> u64 {
        self.table.scan(cursor, |member| visit(Entry::Bytes(member.name()), member.score()))
    }

    /// Takes a member out, still alive: `name` may be its own.
    fn take(&mut self, name: &[u8]) -> Option<Member> {
        let found = self.table.find_slot(hash_bytes(name), |member| member.name() == name)?;
        let shared = self.tree.remove(found.get().score(), name);
        // A pointer left in the tree would outlive its member.
        assert!(shared.is_some(), "the tree holds every member that the table owns");
        self.members_bytes -= size_class(found.get().allocated_bytes());
        Some(found.remove())
    }
}
