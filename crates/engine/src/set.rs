//! The Redis set: an intset while all members are integers, one listpack while few and short, a
//! table beyond.
//!
//! The encoding changes as in Redis 7.2 and later: an intset that a text joins becomes a listpack
//! if the limits of that allow it, else a table; one that grows past `set-max-intset-entries`
//! becomes a table.

use rand_core::RngCore;
use text::integer::{decimal_len, parse_i64};

use crate::blob::Blob;
use crate::draw::{self, Selection, below};
use crate::hashing::hash_bytes;
use crate::intset::Intset;
use crate::limits::Limits;
use crate::listpack::{Entry, Listpack};
use crate::table::{Hashed, Table};

/// Members that an estimate of a table's memory looks at.
const MEMORY_SAMPLES: usize = 64;

/// Buckets that one scan step visits for each element asked for, as in Redis.
const SCAN_STEPS_PER_COUNT: u64 = 10;

/// Most bytes that a listpack entry adds to its text.
const ENTRY_OVERHEAD: usize = 10;

/// `SPOP` of so many times what it leaves moves what stays rather than what goes, as in Redis.
const POP_REBUILD_RATIO: usize = 5;

/// Most members of an intset whatever the configuration says, as in Redis.
const INTSET_MAX: usize = 1 << 30;

/// A set of byte strings.
///
/// Takes 24 bytes inline. A member costs 2, 4 or 8 bytes in an intset; its text and 2 bytes in a
/// listpack (texts up to 63 bytes); 13 to 14 bytes in a table and one allocation of its text and a
/// byte (texts below 128 bytes), rounded up to a size class.
#[derive(Debug)]
pub struct Set {
    encoding: Encoding,
}

enum Encoding {
    Intset(Intset),
    Listpack(Listpack),
    Table(Box<Table<Member>>),
}

/// One member of a table.
struct Member(Blob);

impl Default for Set {
    fn default() -> Self {
        Self::new()
    }
}

impl Set {
    /// An empty set.
    #[must_use]
    pub fn new() -> Self {
        Self { encoding: Encoding::Intset(Intset::new()) }
    }

    /// An empty set in the encoding that Redis starts with for `count` members, `first` the first.
    #[must_use]
    pub fn for_members(limits: &Limits, first: &[u8], count: usize) -> Self {
        let encoding = if parse_i64(first).is_some() && count <= limits.set_max_intset_entries {
            Encoding::Intset(Intset::new())
        } else if count <= limits.set_max_listpack_entries {
            Encoding::Listpack(Listpack::new())
        } else {
            Encoding::Table(Box::default())
        };
        Self { encoding }
    }

    /// An empty set in the encoding in which Redis begins an intersection that it stores, this
    /// being the smallest of the sets.
    #[must_use]
    pub fn empty_intersection(&self) -> Self {
        let encoding = match self.encoding {
            Encoding::Intset(_) => Encoding::Intset(Intset::new()),
            Encoding::Listpack(_) | Encoding::Table(_) => Encoding::Listpack(Listpack::new()),
        };
        Self { encoding }
    }

    /// Becomes an intset if all members are integers and few enough, as Redis has it with the
    /// intersections that it stores.
    pub fn prefer_intset(&mut self, limits: &Limits) {
        let is_intset = matches!(self.encoding, Encoding::Intset(_));
        if is_intset || self.len() > limits.set_max_intset_entries.min(INTSET_MAX) {
            return;
        }
        let mut intset = Intset::new();
        for member in self.iter() {
            let Some(value) = member.as_int() else { return };
            intset.insert(value);
        }
        self.encoding = Encoding::Intset(intset);
    }

    /// Becomes a table if `count` members to be added are by themselves too many for the present
    /// encoding. Redis does so before it adds the first member of a command; call this first where
    /// the encoding must change exactly where Redis's does.
    pub fn prepare(&mut self, limits: &Limits, count: usize) {
        let most = match self.encoding {
            Encoding::Intset(_) => limits.set_max_intset_entries,
            Encoding::Listpack(_) => limits.set_max_listpack_entries,
            Encoding::Table(_) => return,
        };
        if count > most {
            self.become_table();
        }
    }

    /// The name that `OBJECT ENCODING` answers.
    #[must_use]
    pub fn encoding(&self) -> &'static str {
        match self.encoding {
            Encoding::Intset(_) => "intset",
            Encoding::Listpack(_) => "listpack",
            Encoding::Table(_) => "hashtable",
        }
    }

    /// Number of members.
    #[must_use]
    pub fn len(&self) -> usize {
        match &self.encoding {
            Encoding::Intset(intset) => intset.len(),
            Encoding::Listpack(listpack) => listpack.len(),
            Encoding::Table(table) => table.len(),
        }
    }

    /// Whether there is no member; the server deletes such a key.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// Heap bytes held; of a table's members some are measured and the rest taken to be like them.
    #[must_use]
    pub fn memory_bytes(&self) -> usize {
        match &self.encoding {
            Encoding::Intset(intset) => intset.memory_bytes(),
            Encoding::Listpack(listpack) => listpack.memory_bytes(),
            Encoding::Table(table) => {
                let samples = table.len().clamp(1, MEMORY_SAMPLES);
                let sampled: usize =
                    table.iter().take(samples).map(|member| member.0.memory_bytes()).sum();
                size_of::<Table<Member>>() + table.memory_bytes() + sampled * table.len() / samples
            }
        }
    }

    /// Whether `member` is one.
    #[must_use]
    pub fn contains(&self, member: &[u8]) -> bool {
        match &self.encoding {
            Encoding::Intset(intset) => {
                parse_i64(member).is_some_and(|value| intset.contains(value))
            }
            Encoding::Listpack(listpack) => {
                listpack.first().and_then(|first| listpack.find(first, member, 0)).is_some()
            }
            Encoding::Table(table) => {
                table.find(hash_bytes(member), |held| held.text() == member).is_some()
            }
        }
    }

    /// Adds a member; false if it is one already.
    pub fn add(&mut self, limits: &Limits, member: &[u8]) -> bool {
        match &mut self.encoding {
            Encoding::Intset(intset) => match parse_i64(member) {
                Some(value) => {
                    let is_new = intset.insert(value);
                    if intset.len() > limits.set_max_intset_entries.min(INTSET_MAX) {
                        self.become_table();
                    }
                    return is_new;
                }
                None => self.leave_intset(limits, member),
            },
            Encoding::Listpack(listpack) => {
                let first = listpack.first();
                if first.and_then(|first| listpack.find(first, member, 0)).is_some() {
                    return false;
                }
                let is_full = listpack.len() >= limits.set_max_listpack_entries
                    || member.len() > limits.set_max_listpack_value
                    || !listpack.fits(member.len() + ENTRY_OVERHEAD);
                if is_full {
                    self.become_table();
                }
            }
            Encoding::Table(_) => {}
        }
        match &mut self.encoding {
            Encoding::Table(table) => add_to_table(table, member),
            Encoding::Listpack(listpack) => {
                listpack.push_back(member);
                true
            }
            Encoding::Intset(_) => false,
        }
    }

    /// Removes a member; false if it is none.
    pub fn remove(&mut self, member: &[u8]) -> bool {
        match &mut self.encoding {
            Encoding::Intset(intset) => parse_i64(member).is_some_and(|value| intset.remove(value)),
            Encoding::Listpack(listpack) => {
                let found = listpack.first().and_then(|first| listpack.find(first, member, 0));
                if let Some(position) = found {
                    listpack.remove(position);
                }
                found.is_some()
            }
            Encoding::Table(table) => {
                table.remove(hash_bytes(member), |held| held.text() == member).is_some()
            }
        }
    }

    /// The members: of an intset in ascending order, of a listpack as they came, else in no order.
    pub fn iter(&self) -> impl Iterator<Item = Entry<'_>> {
        let (intset, listpack, table) = match &self.encoding {
            Encoding::Intset(intset) => (Some(intset.iter().map(Entry::Int)), None, None),
            Encoding::Listpack(listpack) => (None, Some(listpack.iter()), None),
            Encoding::Table(table) => (None, None, Some(table.iter().map(Member::entry))),
        };
        let compact = intset.into_iter().flatten().chain(listpack.into_iter().flatten());
        compact.chain(table.into_iter().flatten())
    }

    /// Visits the members of one `SSCAN` step, about `count` of them, and returns the next cursor,
    /// 0 at the end. An intset and a listpack are visited whole, in one step.
    pub fn scan(&self, cursor: u64, count: usize, mut visit: impl FnMut(Entry<'_>)) -> u64 {
        let Encoding::Table(table) = &self.encoding else {
            self.iter().for_each(visit);
            return 0;
        };
        let (mut next, mut visited, mut steps) = (cursor, 0, 0);
        loop {
            next = table.scan(next, |held| {
                visited += 1;
                visit(held.entry());
            });
            steps += 1;
            let is_over = steps >= SCAN_STEPS_PER_COUNT.saturating_mul(count as u64);
            if next == 0 || visited >= count || is_over {
                return next;
            }
        }
    }

    /// A member drawn at random.
    #[must_use]
    pub fn random(&self, random: &mut impl RngCore) -> Option<Entry<'_>> {
        match &self.encoding {
            Encoding::Intset(intset) => {
                intset.get(below(random, intset.len().max(1))).map(Entry::Int)
            }
            Encoding::Listpack(listpack) => {
                let index = below(random, listpack.len().max(1));
                listpack.seek(index.cast_signed()).map(|position| listpack.get(position))
            }
            Encoding::Table(table) => table.random(random).map(Member::entry),
        }
    }

    /// Visits `count` different members drawn at random, or all if they are fewer.
    pub fn random_distinct(
        &self,
        random: &mut impl RngCore,
        count: usize,
        mut visit: impl FnMut(Entry<'_>),
    ) {
        if let Encoding::Table(table) = &self.encoding {
            return draw::distinct(table, random, count, |held| visit(held.entry()));
        }
        let mut selection = Selection::new(self.len(), count);
        self.iter().filter(|_| selection.takes(random)).for_each(visit);
    }

    /// Visits `count` members drawn at random, each from all of them; none if the set is empty.
    pub fn random_repeating(
        &self,
        random: &mut impl RngCore,
        count: usize,
        mut visit: impl FnMut(Entry<'_>),
    ) {
        if let Encoding::Listpack(listpack) = &self.encoding {
            // One walk, then draws by index.
            let all: Vec<_> = listpack.iter().collect();
            (0..if all.is_empty() { 0 } else { count })
                .for_each(|_| visit(all[below(random, all.len())]));
            return;
        }
        for _ in 0..count {
            let Some(member) = self.random(random) else { return };
            visit(member);
        }
    }

    /// Takes a member drawn at random out, handing it to `read`; `None` if there is none.
    pub fn pop_with<R>(
        &mut self,
        random: &mut impl RngCore,
        read: impl FnOnce(Entry<'_>) -> R,
    ) -> Option<R> {
        match &mut self.encoding {
            Encoding::Intset(intset) => {
                let value = intset.get(below(random, intset.len().max(1)))?;
                intset.remove(value);
                Some(read(Entry::Int(value)))
            }
            Encoding::Listpack(listpack) => {
                let index = below(random, listpack.len().max(1));
                let position = listpack.seek(index.cast_signed())?;
                let value = read(listpack.get(position));
                listpack.remove(position);
                Some(value)
            }
            Encoding::Table(table) => {
                let drawn = table.random(random)?;
                let (hash, address) = (drawn.hash(), drawn.text().as_ptr());
                let member = table.remove(hash, |held| held.text().as_ptr() == address)?;
                Some(read(member.entry()))
            }
        }
    }

    /// Takes a member drawn at random out.
    pub fn pop(&mut self, random: &mut impl RngCore) -> Option<Vec<u8>> {
        self.pop_with(random, |member| member.to_vec())
    }

    /// Takes up to `count` members drawn at random out, handing each to `visit`.
    ///
    /// As in Redis, a table that few members are left of is built anew and may become a listpack.
    pub fn pop_many(
        &mut self,
        limits: &Limits,
        random: &mut impl RngCore,
        count: usize,
        mut visit: impl FnMut(Entry<'_>),
    ) {
        let mut selection = Selection::new(self.len(), count);
        match &mut self.encoding {
            Encoding::Intset(intset) => intset.retain(|value| {
                let is_taken = selection.takes(random);
                if is_taken {
                    visit(Entry::Int(value));
                }
                !is_taken
            }),
            Encoding::Listpack(listpack) => {
                listpack.retain(|member| {
                    let is_taken = selection.takes(random);
                    if is_taken {
                        visit(member);
                    }
                    !is_taken
                });
            }
            Encoding::Table(table) => {
                let left = table.len().saturating_sub(count);
                if left.saturating_mul(POP_REBUILD_RATIO) > count {
                    for _ in 0..count {
                        self.pop_with(random, &mut visit);
                    }
                    return;
                }
                let mut kept = Self { encoding: Encoding::Listpack(Listpack::new()) };
                for member in table.iter() {
                    if selection.takes(random) {
                        visit(member.entry());
                    } else {
                        kept.add(limits, member.text());
                    }
                }
                *self = kept;
            }
        }
    }

    /// Makes an intset that `member`, a text, joins a listpack, or a table where it does not fit.
    fn leave_intset(&mut self, limits: &Limits, member: &[u8]) {
        let Encoding::Intset(intset) = &self.encoding else { return };
        let ends = [intset.get(0), intset.len().checked_sub(1).and_then(|last| intset.get(last))];
        let longest = ends.into_iter().flatten().map(decimal_len).max().unwrap_or(0);
        if intset.len() >= limits.set_max_listpack_entries
            || longest.max(member.len()) > limits.set_max_listpack_value
        {
            return self.become_table();
        }
        let mut listpack = Listpack::new();
        intset.iter().for_each(|value| listpack.push_back(value));
        self.encoding = Encoding::Listpack(listpack);
    }

    fn become_table(&mut self) {
        let mut table = Box::new(Table::new());
        let mut digits = itoa::Buffer::new();
        for member in self.iter() {
            let text = member.text(&mut digits);
            table.insert(hash_bytes(text), Member(Blob::concat(&[text])), false);
        }
        self.encoding = Encoding::Table(table);
    }
}

impl std::fmt::Debug for Encoding {
    fn fmt(&self, formatter: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            Encoding::Intset(intset) => intset.fmt(formatter),
            Encoding::Listpack(listpack) => listpack.fmt(formatter),
            Encoding::Table(table) => {
                formatter.debug_set().entries(table.iter().map(Member::entry)).finish()
            }
        }
    }
}

impl Member {
    #[inline]
    fn text(&self) -> &[u8] {
        self.0.as_bytes()
    }

    fn entry(&self) -> Entry<'_> {
        Entry::Bytes(self.text())
    }
}

impl Hashed for Member {
    fn hash(&self) -> u64 {
        hash_bytes(self.text())
    }
}

fn add_to_table(table: &mut Table<Member>, member: &[u8]) -> bool {
    let hash = hash_bytes(member);
    if table.find(hash, |held| held.text() == member).is_some() {
        return false;
    }
    table.insert(hash, Member(Blob::concat(&[member])), false);
    true
}

#[cfg(test)]
mod tests;
