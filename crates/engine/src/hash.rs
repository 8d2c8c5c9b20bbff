//! The Redis hash: field-value pairs, one listpack while few and short, a table beyond.
//!
//! (The hash *function* is in [`crate::hashing`].) A hash leaves the listpack where Redis does, at
//! `hash-max-listpack-entries` pairs or `hash-max-listpack-value` bytes, and never goes back.

use rand_core::RngCore;

use crate::blob::{Blob, Length};
use crate::draw::{self, Selection, below};
use crate::hashing::hash_bytes;
use crate::limits::Limits;
use crate::listpack::{Entry, Listpack, Position};
use crate::table::{Hashed, Table};

/// Fields that an estimate of a table's memory looks at.
const MEMORY_SAMPLES: usize = 64;

/// Buckets that one scan step visits for each element asked for, as in Redis.
const SCAN_STEPS_PER_COUNT: u64 = 10;

/// Most bytes that two listpack entries add to their texts.
const PAIR_OVERHEAD: usize = 20;

/// A map from byte strings to byte strings.
///
/// Takes 16 bytes inline. As a listpack a pair costs its texts and 4 bytes (texts up to 63 bytes;
/// integers 2 to 10 whatever their digits). As a table it costs 13 to 14 bytes in the table and one
/// allocation of its texts and 2 bytes (pairs below 128 bytes), rounded up to a size class.
#[derive(Debug)]
pub struct Hash {
    encoding: Encoding,
}

enum Encoding {
    Listpack(Listpack),
    Table(Box<Table<Field>>),
}

/// One pair of a table: the field's length, the field, the value.
struct Field(Blob);

impl Default for Hash {
    fn default() -> Self {
        Self::new()
    }
}

impl Hash {
    /// An empty hash.
    #[must_use]
    pub fn new() -> Self {
        Self { encoding: Encoding::Listpack(Listpack::new()) }
    }

    /// The name that `OBJECT ENCODING` answers.
    #[must_use]
    pub fn encoding(&self) -> &'static str {
        match self.encoding {
            Encoding::Listpack(_) => "listpack",
            Encoding::Table(_) => "hashtable",
        }
    }

    /// Number of fields.
    #[must_use]
    pub fn len(&self) -> usize {
        match &self.encoding {
            Encoding::Listpack(listpack) => listpack.len() / 2,
            Encoding::Table(table) => table.len(),
        }
    }

    /// Whether there is no field; the server deletes such a key.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// Heap bytes held; of a table's pairs some are measured and the rest taken to be like them.
    #[must_use]
    pub fn memory_bytes(&self) -> usize {
        match &self.encoding {
            Encoding::Listpack(listpack) => listpack.memory_bytes(),
            Encoding::Table(table) => {
                let samples = table.len().clamp(1, MEMORY_SAMPLES);
                let sampled: usize =
                    table.iter().take(samples).map(|field| field.0.memory_bytes()).sum();
                size_of::<Table<Field>>() + table.memory_bytes() + sampled * table.len() / samples
            }
        }
    }

    /// Leaves the listpack encoding if `pairs` new pairs, or a text of `longest` bytes, would pass
    /// its limits. Redis looks at a whole command's arguments so before it sets the first; call
    /// this first where the encoding must change exactly where Redis's does.
    pub fn prepare(&mut self, limits: &Limits, pairs: usize, longest: usize) {
        if pairs > limits.hash_max_listpack_entries || longest > limits.hash_max_listpack_value {
            self.leave_listpack();
        }
    }

    /// The value of `field`.
    #[must_use]
    pub fn get(&self, field: &[u8]) -> Option<Entry<'_>> {
        match &self.encoding {
            Encoding::Listpack(listpack) => {
                value_position(listpack, field).map(|position| listpack.get(position))
            }
            Encoding::Table(table) => table
                .find(hash_bytes(field), |held| held.name() == field)
                .map(|held| Entry::Bytes(held.value())),
        }
    }

    /// Whether there is such a field.
    #[must_use]
    pub fn contains(&self, field: &[u8]) -> bool {
        self.get(field).is_some()
    }

    /// Sets a field; true if it is new.
    pub fn set(&mut self, limits: &Limits, field: &[u8], value: &[u8]) -> bool {
        self.prepare(limits, 1, field.len().max(value.len()));
        if let Encoding::Listpack(listpack) = &mut self.encoding {
            if listpack.fits(field.len() + value.len() + PAIR_OVERHEAD) {
                return self.set_in_listpack(limits, field, value);
            }
            self.leave_listpack();
        }
        let Encoding::Table(table) = &mut self.encoding else { return false };
        let hash = hash_bytes(field);
        match table.find_mut(hash, |held| held.name() == field) {
            Some(held) => {
                held.set_value(value);
                false
            }
            None => {
                table.insert(hash, Field::new(field, value), false);
                true
            }
        }
    }

    /// Sets a field that is not there yet; false, and nothing changed, if it is.
    pub fn set_new(&mut self, limits: &Limits, field: &[u8], value: &[u8]) -> bool {
        !self.contains(field) && self.set(limits, field, value)
    }

    /// Removes a field; false if there is none.
    pub fn remove(&mut self, field: &[u8]) -> bool {
        match &mut self.encoding {
            Encoding::Listpack(listpack) => {
                let Some(position) = field_position(listpack, field) else { return false };
                listpack.remove_run(position, 2) == 2
            }
            Encoding::Table(table) => {
                table.remove(hash_bytes(field), |held| held.name() == field).is_some()
            }
        }
    }

    /// The fields with their values: of a listpack in the order they came, else in no order.
    pub fn iter(&self) -> impl Iterator<Item = (Entry<'_>, Entry<'_>)> {
        let (listpack, table) = match &self.encoding {
            Encoding::Listpack(listpack) => (Some(pairs(listpack)), None),
            Encoding::Table(table) => (None, Some(table.iter().map(Field::entries))),
        };
        listpack.into_iter().flatten().chain(table.into_iter().flatten())
    }

    /// Visits the pairs of one `HSCAN` step, about `count` of them, and returns the next cursor, 0
    /// at the end. A listpack is visited whole, in one step.
    pub fn scan(
        &self,
        cursor: u64,
        count: usize,
        mut visit: impl FnMut(Entry<'_>, Entry<'_>),
    ) -> u64 {
        let Encoding::Table(table) = &self.encoding else {
            self.iter().for_each(|(field, value)| visit(field, value));
            return 0;
        };
        let (mut next, mut visited, mut steps) = (cursor, 0, 0);
        loop {
            next = table.scan(next, |held| {
                visited += 1;
                let (field, value) = held.entries();
                visit(field, value);
            });
            steps += 1;
            let is_over = steps >= SCAN_STEPS_PER_COUNT.saturating_mul(count as u64);
            if next == 0 || visited >= count || is_over {
                return next;
            }
        }
    }

    /// A pair drawn at random.
    #[must_use]
    pub fn random(&self, random: &mut impl RngCore) -> Option<(Entry<'_>, Entry<'_>)> {
        match &self.encoding {
            Encoding::Listpack(listpack) if listpack.is_empty() => None,
            Encoding::Listpack(listpack) => {
                let position = listpack.seek((below(random, self.len()) * 2).cast_signed())?;
                let value = listpack.next(position)?;
                Some((listpack.get(position), listpack.get(value)))
            }
            Encoding::Table(table) => table.random(random).map(Field::entries),
        }
    }

    /// Visits `count` different pairs drawn at random, or all if they are fewer.
    pub fn random_distinct(
        &self,
        random: &mut impl RngCore,
        count: usize,
        mut visit: impl FnMut(Entry<'_>, Entry<'_>),
    ) {
        let mut visit_pair = |(field, value): (Entry<'_>, Entry<'_>)| visit(field, value);
        match &self.encoding {
            Encoding::Listpack(listpack) => {
                let mut selection = Selection::new(self.len(), count);
                pairs(listpack).filter(|_| selection.takes(random)).for_each(visit_pair);
            }
            Encoding::Table(table) => {
                draw::distinct(table, random, count, |held| visit_pair(held.entries()));
            }
        }
    }

    /// Visits `count` pairs drawn at random, each from all of them; none if the hash is empty.
    pub fn random_repeating(
        &self,
        random: &mut impl RngCore,
        count: usize,
        mut visit: impl FnMut(Entry<'_>, Entry<'_>),
    ) {
        if let Encoding::Listpack(listpack) = &self.encoding {
            // One walk, then draws by index.
            let all: Vec<_> = pairs(listpack).collect();
            for _ in 0..if all.is_empty() { 0 } else { count } {
                let (field, value) = all[below(random, all.len())];
                visit(field, value);
            }
            return;
        }
        for _ in 0..count {
            let Some((field, value)) = self.random(random) else { return };
            visit(field, value);
        }
    }

    fn set_in_listpack(&mut self, limits: &Limits, field: &[u8], value: &[u8]) -> bool {
        let Encoding::Listpack(listpack) = &mut self.encoding else { return false };
        if let Some(position) = value_position(listpack, field) {
            listpack.replace(position, value);
            return false;
        }
        listpack.push_back(field);
        listpack.push_back(value);
        if listpack.len() / 2 > limits.hash_max_listpack_entries {
            self.leave_listpack();
        }
        true
    }

    fn leave_listpack(&mut self) {
        let Encoding::Listpack(listpack) = &self.encoding else { return };
        let mut table = Box::new(Table::new());
        let (mut field_digits, mut value_digits) = (itoa::Buffer::new(), itoa::Buffer::new());
        for (field, value) in pairs(listpack) {
            let field = field.text(&mut field_digits);
            let pair = Field::new(field, value.text(&mut value_digits));
            table.insert(hash_bytes(field), pair, false);
        }
        self.encoding = Encoding::Table(table);
    }
}

impl std::fmt::Debug for Encoding {
    fn fmt(&self, formatter: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            Encoding::Listpack(listpack) => listpack.fmt(formatter),
            Encoding::Table(table) => {
                formatter.debug_map().entries(table.iter().map(Field::entries)).finish()
            }
        }
    }
}

impl Field {
    fn new(name: &[u8], value: &[u8]) -> Self {
        Self(Blob::concat(&[Length::new(name.len()).as_bytes(), name, value]))
    }

    #[inline]
    fn parts(&self) -> (&[u8], &[u8]) {
        let bytes = self.0.as_bytes();
        let (head, len) = Length::read(bytes);
        bytes[head..].split_at(len)
    }

    #[inline]
    fn name(&self) -> &[u8] {
        self.parts().0
    }

    #[inline]
    fn value(&self) -> &[u8] {
        self.parts().1
    }

    fn entries(&self) -> (Entry<'_>, Entry<'_>) {
        let (name, value) = self.parts();
        (Entry::Bytes(name), Entry::Bytes(value))
    }

    fn set_value(&mut self, value: &[u8]) {
        let (name, old) = self.parts();
        if old.len() != value.len() {
            *self = Self::new(name, value);
            return;
        }
        let bytes = self.0.as_bytes_mut();
        let start = bytes.len() - value.len();
        bytes[start..].copy_from_slice(value);
    }
}

impl Hashed for Field {
    fn hash(&self) -> u64 {
        hash_bytes(self.name())
    }
}

fn field_position(listpack: &Listpack, field: &[u8]) -> Option<Position> {
    listpack.find(listpack.first()?, field, 1)
}

fn value_position(listpack: &Listpack, field: &[u8]) -> Option<Position> {
    listpack.next(field_position(listpack, field)?)
}

fn pairs(listpack: &Listpack) -> impl Iterator<Item = (Entry<'_>, Entry<'_>)> {
    let mut entries = listpack.iter();
    std::iter::from_fn(move || Some((entries.next()?, entries.next()?)))
}

#[cfg(test)]
mod tests;
