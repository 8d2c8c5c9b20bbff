//! The "listpack" encoding: member, score, member, score, … in order, byte for byte as Redis keeps
//! it.

use super::range::{LexRange, ScoreRange};
use crate::listpack::{self, Entry, Listpack, Position};
use std::ops::Range;

/// Largest magnitude of a whole score that is kept as an integer: half of `i64::MAX`, Redis's
/// `double2ll`.
const INTEGER_SCORE_LIMIT: f64 = (i64::MAX / 2) as f64;

/// A small sorted set. All operations walk it.
#[derive(Default)]
pub(super) struct Compact {
    pairs: Listpack,
}

/// A member that was found: where it stands, its rank and score.
pub(super) struct Found {
    position: Position,
    pub(super) score: f64,
}

impl Compact {
    pub(super) fn len(&self) -> usize {
        self.pairs.len() / 2
    }

    /// The set as Redis serialises it.
    #[cfg(test)]
    pub(super) fn as_bytes(&self) -> &[u8] {
        self.pairs.as_bytes()
    }

    pub(super) fn memory_bytes(&self) -> usize {
        self.pairs.memory_bytes()
    }

    /// Whether a member of `name_bytes` fits beside the others.
    pub(super) fn fits(&self, name_bytes: usize) -> bool {
        self.pairs.fits(name_bytes.saturating_add(2 * text::float::MAX_LEN))
    }

    pub(super) fn find(&self, name: &[u8]) -> Option<Found> {
        let position = self.pairs.find(self.pairs.first()?, name, 1)?;
        let score_at = self.pairs.next(position).expect("a score follows each member");
        Some(Found { position, score: score_of(self.pairs.get(score_at)) })
    }

    /// Adds a member that is not in the set.
    pub(super) fn insert(&mut self, name: &[u8], score: f64) {
        let mut text = Vec::new();
        let score_entry = entry_of(score, &mut text);
        match self.first_after(name, score) {
            Some(position) => {
                let member = self.pairs.insert_before(position, name);
                self.pairs.insert_after(member, score_entry);
            }
            None => {
                self.pairs.push_back(name);
                self.pairs.push_back(score_entry);
            }
        }
    }

    /// Gives a found member a new score.
    pub(super) fn update(&mut self, found: &Found, name: &[u8], score: f64) {
        self.remove(found);
        self.insert(name, score);
    }

    pub(super) fn remove(&mut self, found: &Found) {
        self.pairs.remove_run(found.position, 2);
    }

    pub(super) fn remove_ranks(&mut self, ranks: Range<usize>) {
        let Some(position) = isize::try_from(2 * ranks.start).ok().and_then(|i| self.pairs.seek(i))
        else {
            return;
        };
        self.pairs.remove_run(position, 2 * ranks.len());
    }

    /// Rank and score of a member.
    pub(super) fn rank(&self, name: &[u8]) -> Option<(usize, f64)> {
        self.iter(0..self.len(), false)
            .enumerate()
            .find_map(|(rank, (member, score))| member.is_text(name).then_some((rank, score)))
    }

    pub(super) fn ranks_of_scores(&self, range: &ScoreRange) -> Range<usize> {
        let scores = || self.iter(0..self.len(), false).map(|(_, score)| score);
        let start = scores().take_while(|&score| range.starts_after(score)).count();
        let end = scores().take_while(|&score| range.ends_after(score)).count();
        start.min(end)..end
    }

    /// As Redis walks it, which also settles what a range of names means where scores differ:
    /// nothing when the last name is below the range or the first above it; else from the first
    /// name (seen from the side that the walk starts at) that is not before the range, for as long
    /// as names are not behind it.
    pub(super) fn ranks_of_names(&self, range: &LexRange<'_>, reverse: bool) -> Range<usize> {
        let len = self.len();
        let (Some((first, _)), Some((last, _))) =
            (self.iter(0..len, false).next(), self.iter(0..len, true).next())
        else {
            return 0..0;
        };
        let starts_after =
            |name: Entry<'_>| range.starts_after(name.text(&mut itoa::Buffer::new()));
        let ends_after = |name: Entry<'_>| range.ends_after(name.text(&mut itoa::Buffer::new()));
        if starts_after(last) || !ends_after(first) {
            return 0..0;
        }
        let names = || self.iter(0..len, reverse).map(|(name, _)| name);
        if reverse {
            let skipped = names().take_while(|&name| !ends_after(name)).count();
            let kept = names().skip(skipped).take_while(|&name| !starts_after(name)).count();
            len - skipped - kept..len - skipped
        } else {
            let skipped = names().take_while(|&name| starts_after(name)).count();
            let kept = names().skip(skipped).take_while(|&name| ends_after(name)).count();
            skipped..skipped + kept
        }
    }

    /// The members of these ranks, which the caller has kept within the set.
    pub(super) fn iter(&self, ranks: Range<usize>, reverse: bool) -> Iter<'_> {
        let mut entries = self.pairs.iter();
        if reverse {
            let behind = 2 * (self.len() - ranks.end.min(self.len()));
            if behind > 0 {
                entries.nth_back(behind - 1);
            }
        } else if ranks.start > 0 {
            entries.nth(2 * ranks.start - 1);
        }
        Iter { entries, remaining: ranks.len(), reverse }
    }

    /// Where the first member behind `(score, name)` stands.
    fn first_after(&self, name: &[u8], score: f64) -> Option<Position> {
        let mut buffer = itoa::Buffer::new();
        let mut next = self.pairs.first();
        while let Some(member_at) = next {
            let score_at = self.pairs.next(member_at).expect("a score follows each member");
            let own = score_of(self.pairs.get(score_at));
            if own > score || (own == score && self.pairs.get(member_at).text(&mut buffer) > name) {
                return Some(member_at);
            }
            next = self.pairs.next(score_at);
        }
        None
    }
}

/// Walks members in one direction; made by [`Compact::iter`].
#[derive(Clone)]
pub(super) struct Iter<'a> {
    entries: listpack::Iter<'a>,
    remaining: usize,
    reverse: bool,
}

impl<'a> Iterator for Iter<'a> {
    type Item = (Entry<'a>, f64);

    fn next(&mut self) -> Option<Self::Item> {
        self.remaining = self.remaining.checked_sub(1)?;
        let (member, score) = if self.reverse {
            let score = self.entries.next_back()?;
            (self.entries.next_back()?, score)
        } else {
            (self.entries.next()?, self.entries.next()?)
        };
        Some((member, score_of(score)))
    }

    fn size_hint(&self) -> (usize, Option<usize>) {
        (self.remaining, Some(self.remaining))
    }
}

/// The score that an entry holds.
fn score_of(entry: Entry<'_>) -> f64 {
    match entry {
        Entry::Int(value) => value as f64,
        Entry::Bytes(text) => text::float::parse(text).expect("scores are written by entry_of"),
    }
}

/// The entry for a score: an integer where it is whole (negative zero becomes zero, as in Redis),
/// else its digits in `text`.
fn entry_of(score: f64, text: &mut Vec<u8>) -> Entry<'_> {
    if score.abs() <= INTEGER_SCORE_LIMIT && score == score.trunc() {
        return Entry::Int(score as i64);
    }
    text::float::push(text, score);
    Entry::from(&text[..])
}
