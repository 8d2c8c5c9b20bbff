//! One numbered database's part of one shard: keys, values, expiries.
//!
//! Time is an argument ([`Clock`]); an expired key is removed by whoever comes upon it first, a
//! lookup or the sweep, and is never seen.

use std::sync::Arc;

use crate::entry::{CollectionMut, Entry, INLINE_BYTES_MAX, Kind, StringRef, Value, ValueRef};
use crate::hash::Hash;
use crate::hashing::hash_bytes;
use crate::list::List;
use crate::set::Set;
use crate::stream::Stream;
use crate::table::{Occupied, Table};
use crate::zset::Zset;

/// A key with its hash, which is computed once a command.
#[derive(Clone, Copy)]
pub struct Key<'a> {
    /// The key itself.
    pub bytes: &'a [u8],
    /// [`hash_bytes`] of it.
    pub hash: u64,
}

impl<'a> Key<'a> {
    /// Hashes a key.
    pub fn new(bytes: &'a [u8]) -> Key<'a> {
        Key { bytes, hash: hash_bytes(bytes) }
    }
}

/// The time at which a command runs; all that it does happens at this one instant.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct Clock {
    /// Unix time in milliseconds.
    pub now_ms: u64,
}

impl Clock {
    /// The access clock of entries: Unix seconds, cut to what an entry keeps.
    fn access_s(self) -> u32 {
        (self.now_ms / 1000) as u32
    }
}

/// The key holds a value of another type than the command works on.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct WrongType;

/// What becomes of a key's expiry when its value is set.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Expiry {
    /// The key does not expire.
    Clear,
    /// It stays as it was.
    Keep,
    /// Unix time in milliseconds.
    At(u64),
}

/// A type of value that is not a string: what typed lookups are generic over.
pub trait Collection: Sized {
    /// Its type.
    const KIND: Kind;
    /// The collection in `value`, if it is of this type.
    fn of(value: ValueRef<'_>) -> Option<&Self>;
    /// The collection in `value`, if it is of this type.
    fn of_mut(value: CollectionMut<'_>) -> Option<&mut Self>;
    /// Wraps a collection for insertion.
    fn into_value(self) -> Value;
    /// Whether a key with this value must go; an empty stream stays.
    fn is_spent(&self) -> bool;
}

impl Collection for List {
    const KIND: Kind = Kind::List;

    fn of(value: ValueRef<'_>) -> Option<&Self> {
        if let ValueRef::List(list) = value { Some(list) } else { None }
    }

    fn of_mut(value: CollectionMut<'_>) -> Option<&mut Self> {
        if let CollectionMut::List(list) = value { Some(list) } else { None }
    }

    fn into_value(self) -> Value {
        Value::List(Box::new(self))
    }

    fn is_spent(&self) -> bool {
        self.is_empty()
    }
}

impl Collection for Hash {
    const KIND: Kind = Kind::Hash;

    fn of(value: ValueRef<'_>) -> Option<&Self> {
        if let ValueRef::Hash(hash) = value { Some(hash) } else { None }
    }

    fn of_mut(value: CollectionMut<'_>) -> Option<&mut Self> {
        if let CollectionMut::Hash(hash) = value { Some(hash) } else { None }
    }

    fn into_value(self) -> Value {
        Value::Hash(Box::new(self))
    }

    fn is_spent(&self) -> bool {
        self.is_empty()
    }
}

impl Collection for Set {
    const KIND: Kind = Kind::Set;

    fn of(value: ValueRef<'_>) -> Option<&Self> {
        if let ValueRef::Set(set) = value { Some(set) } else { None }
    }

    fn of_mut(value: CollectionMut<'_>) -> Option<&mut Self> {
        if let CollectionMut::Set(set) = value { Some(set) } else { None }
    }

    fn into_value(self) -> Value {
        Value::Set(Box::new(self))
    }

    fn is_spent(&self) -> bool {
        self.is_empty()
    }
}

impl Collection for Zset {
    const KIND: Kind = Kind::Zset;

    fn of(value: ValueRef<'_>) -> Option<&Self> {
        if let ValueRef::Zset(zset) = value { Some(zset) } else { None }
    }

    fn of_mut(value: CollectionMut<'_>) -> Option<&mut Self> {
        if let CollectionMut::Zset(zset) = value { Some(zset) } else { None }
    }

    fn into_value(self) -> Value {
        Value::Zset(Box::new(self))
    }

    fn is_spent(&self) -> bool {
        self.is_empty()
    }
}

impl Collection for Stream {
    const KIND: Kind = Kind::Stream;

    fn of(value: ValueRef<'_>) -> Option<&Self> {
        if let ValueRef::Stream(stream) = value { Some(stream) } else { None }
    }

    fn of_mut(value: CollectionMut<'_>) -> Option<&mut Self> {
        if let CollectionMut::Stream(stream) = value { Some(stream) } else { None }
    }

    fn into_value(self) -> Value {
        Value::Stream(Box::new(self))
    }

    fn is_spent(&self) -> bool {
        false
    }
}

/// Keys and values of one numbered database within one shard.
#[derive(Default)]
pub struct Db {
    table: Table<Entry>,
    /// Entries with an expiry; they are the marked ones of the table.
    expiring: usize,
    /// Keys removed because their time had come.
    expired: u64,
    /// The bucket at which the next sweep begins.
    sweep_at: usize,
}

impl Db {
    /// Keys, those included whose time has come but whom nobody has met since.
    pub fn len(&self) -> usize {
        self.table.len()
    }

    /// Whether there are no keys.
    pub fn is_empty(&self) -> bool {
        self.table.is_empty()
    }

    /// Keys with an expiry.
    pub fn expiring(&self) -> usize {
        self.expiring
    }

    /// Keys removed so far because their time had come.
    pub fn expired(&self) -> u64 {
        self.expired
    }

    /// The value of `key`, and notes the access.
    #[inline]
    pub fn get(&mut self, clock: Clock, key: Key<'_>) -> Option<ValueRef<'_>> {
        let entry = self.live(clock, key)?;
        entry.touch(clock.access_s());
        Some(entry.value())
    }

    /// The entry of `key` as it is, without noting the access (`OBJECT`, `TTL`, `TYPE`).
    pub fn peek(&mut self, clock: Clock, key: Key<'_>) -> Option<&Entry> {
        self.live(clock, key).map(|entry| &*entry)
    }

    /// Whether `key` is there, without noting the access.
    pub fn contains(&mut self, clock: Clock, key: Key<'_>) -> bool {
        self.live(clock, key).is_some()
    }

    /// The string at `key`.
    ///
    /// # Errors
    /// The value is no string.
    #[inline]
    pub fn string(
        &mut self,
        clock: Clock,
        key: Key<'_>,
    ) -> Result<Option<StringRef<'_>>, WrongType> {
        match self.get(clock, key) {
            None => Ok(None),
            Some(ValueRef::String(string)) => Ok(Some(string)),
            Some(_) => Err(WrongType),
        }
    }

    /// The collection at `key`, for reading.
    ///
    /// # Errors
    /// The value is of another type.
    #[inline]
    pub fn collection<C: Collection>(
        &mut self,
        clock: Clock,
        key: Key<'_>,
    ) -> Result<Option<&C>, WrongType> {
        match self.get(clock, key) {
            None => Ok(None),
            Some(value) => C::of(value).map(Some).ok_or(WrongType),
        }
    }

    /// The collection at `key`, for changing; call [`Self::remove_if_spent`] after taking from it.
    ///
    /// # Errors
    /// The value is of another type.
    #[inline]
    pub fn collection_mut<C: Collection>(
        &mut self,
        clock: Clock,
        key: Key<'_>,
    ) -> Result<Option<&mut C>, WrongType> {
        match self.live(clock, key) {
            None => Ok(None),
            Some(entry) => {
                entry.touch(clock.access_s());
                entry.collection_mut().and_then(C::of_mut).map(Some).ok_or(WrongType)
            }
        }
    }

    /// The collection at `key` for commands that look into several at once: `None` too if it is of
    /// another type. Neither notes the access nor removes a key whose time has come; look each
    /// key up with [`Self::collection`] before.
    pub fn view<C: Collection>(&self, clock: Clock, key: Key<'_>) -> Option<&C> {
        let entry = self.table.find(key.hash, |entry| entry.key() == key.bytes)?;
        if is_due(entry, clock) { None } else { C::of(entry.value()) }
    }

    /// The collection at `key`, made by `create` if there is none. An empty one must not be left
    /// behind: call [`Self::remove_if_spent`] unless something was put into it.
    ///
    /// # Errors
    /// The value is of another type.
    pub fn collection_or_insert<C: Collection>(
        &mut self,
        clock: Clock,
        key: Key<'_>,
        create: impl FnOnce() -> C,
    ) -> Result<&mut C, WrongType> {
        if !self.contains(clock, key) {
            self.insert_new(clock, key, Entry::new(key.bytes, create().into_value(), None));
        }
        self.collection_mut(clock, key).map(|found| found.expect("it was there or put there"))
    }

    /// Removes `key` if its collection has nothing left in it; whether it did.
    pub fn remove_if_spent<C: Collection>(&mut self, key: Key<'_>) -> bool {
        let is_spent = |entry: &Entry| {
            entry.key() == key.bytes && C::of(entry.value()).is_some_and(C::is_spent)
        };
        match self.table.find_slot(key.hash, is_spent) {
            Some(slot) => {
                self.expiring -= usize::from(slot.is_marked());
                drop(slot.remove());
                true
            }
            None => false,
        }
    }

    /// Sets `key` to a string, kept as a number where its text is one in Redis's canonical form.
    /// Gives back what it displaced if freeing that may take long.
    #[inline]
    pub fn set_string(
        &mut self,
        clock: Clock,
        key: Key<'_>,
        bytes: &[u8],
        expiry: Expiry,
    ) -> Option<Entry> {
        if let Some(number) = text::integer::parse_i64(bytes) {
            return self.set(clock, key, Value::Int(number), expiry);
        }
        if bytes.len() > INLINE_BYTES_MAX {
            return self.set(clock, key, Value::Bytes(bytes.to_vec()), expiry);
        }
        if let Some(mut slot) = self.table.find_slot(key.hash, |entry| entry.key() == key.bytes) {
            let has_expiry = slot.is_marked();
            let wants_expiry = match expiry {
                Expiry::Clear => false,
                Expiry::Keep => has_expiry,
                Expiry::At(_) => true,
            };
            let is_due = has_expiry && is_due(slot.get(), clock);
            if has_expiry == wants_expiry && !is_due && slot.get_mut().try_set_inline(bytes) {
                if let Expiry::At(at_ms) = expiry {
                    slot.get_mut().try_set_expiry_ms(at_ms);
                }
                slot.get_mut().touch(clock.access_s());
                return None;
            }
        }
        let expiry_ms = self.expiry_to_be(clock, key, expiry);
        let entry = Entry::inline(key.bytes, bytes, bytes.len(), expiry_ms);
        self.put(clock, key, entry)
    }

    /// Sets `key` to any value. Gives back what it displaced if freeing that may take long.
    pub fn set(
        &mut self,
        clock: Clock,
        key: Key<'_>,
        value: Value,
        expiry: Expiry,
    ) -> Option<Entry> {
        let expiry_ms = self.expiry_to_be(clock, key, expiry);
        self.put(clock, key, Entry::new(key.bytes, value, expiry_ms))
    }

    /// Appends to the string at `key`, or makes it one; the new length in bytes.
    ///
    /// # Errors
    /// The value is no string.
    pub fn append(&mut self, clock: Clock, key: Key<'_>, tail: &[u8]) -> Result<usize, WrongType> {
        let Some(entry) = self.live(clock, key) else {
            self.set_string(clock, key, tail, Expiry::Clear);
            return Ok(tail.len());
        };
        entry.touch(clock.access_s());
        let ValueRef::String(string) = entry.value() else { return Err(WrongType) };
        let len = string.len_bytes() + tail.len();
        if entry.try_append_inline(tail) {
            entry.mark_raw();
            return Ok(len);
        }
        if let Some(bytes) = entry.shared_mut() {
            bytes.extend_from_slice(tail);
            return Ok(len);
        }
        let ValueRef::String(string) = entry.value() else { return Err(WrongType) };
        let mut bytes = string_with_room(string, len);
        bytes.extend_from_slice(tail);
        self.set_changed(clock, key, bytes);
        Ok(len)
    }

    /// Overwrites the string at `key` from `offset` on, padding with zero bytes; the new length.
    ///
    /// # Errors
    /// The value is no string.
    pub fn set_range(
        &mut self,
        clock: Clock,
        key: Key<'_>,
        offset: usize,
        patch: &[u8],
    ) -> Result<usize, WrongType> {
        let end = offset + patch.len();
        let mut bytes = match self.live(clock, key) {
            None => Vec::with_capacity(end),
            Some(entry) => {
                entry.touch(clock.access_s());
                if let Some(shared) = entry.shared_mut() {
                    overwrite(shared, offset, patch);
                    return Ok(shared.len());
                }
                let ValueRef::String(string) = entry.value() else { return Err(WrongType) };
                string_with_room(string, end)
            }
        };
        overwrite(&mut bytes, offset, patch);
        let len = bytes.len();
        self.set_changed(clock, key, bytes);
        Ok(len)
    }

    /// The number at `key`, for changing in place, if the string there is kept as one.
    #[inline]
    pub fn int_mut(&mut self, clock: Clock, key: Key<'_>) -> Option<&mut i64> {
        let entry = self.live(clock, key)?;
        entry.touch(clock.access_s());
        entry.int_mut()
    }

    /// Puts a number in the place of the string at `key`, whose expiry stays.
    pub fn set_int(&mut self, clock: Clock, key: Key<'_>, number: i64) {
        if let Some(entry) = self.live(clock, key)
            && let Some(place) = entry.int_mut()
        {
            *place = number;
            entry.touch(clock.access_s());
            return;
        }
        self.set(clock, key, Value::Int(number), Expiry::Keep);
    }

    /// Takes out `key` with its value, for the caller to drop when no lock is held.
    pub fn remove(&mut self, clock: Clock, key: Key<'_>) -> Option<Entry> {
        let slot = self.table.find_slot(key.hash, |entry| entry.key() == key.bytes)?;
        let is_due = slot.is_marked() && is_due(slot.get(), clock);
        self.expiring -= usize::from(slot.is_marked());
        let entry = slot.remove();
        if is_due {
            self.expired += 1;
            return None;
        }
        Some(entry)
    }

    /// Puts an entry taken from elsewhere under its own key (`RENAME`), in the place of any that
    /// is there, which is given back if freeing it may take long.
    pub fn put(&mut self, clock: Clock, key: Key<'_>, mut entry: Entry) -> Option<Entry> {
        debug_assert_eq!(entry.key(), key.bytes);
        let has_expiry = entry.expiry_ms().is_some();
        match self.table.find_slot(key.hash, |entry| entry.key() == key.bytes) {
            None => {
                self.insert_new(clock, key, entry);
                None
            }
            Some(mut slot) => {
                entry.touch(clock.access_s());
                self.expiring -= usize::from(slot.is_marked());
                self.expiring += usize::from(has_expiry);
                slot.set_mark(has_expiry);
                let old = std::mem::replace(slot.get_mut(), entry);
                old.frees_slowly().then_some(old)
            }
        }
    }

    /// When `key` expires: `None` if it is not there, `Some(None)` if it does not expire.
    pub fn expiry_ms(&mut self, clock: Clock, key: Key<'_>) -> Option<Option<u64>> {
        self.live(clock, key).map(|entry| entry.expiry_ms())
    }

    /// Sets or clears the expiry of `key`; false if it is not there.
    pub fn set_expiry(&mut self, clock: Clock, key: Key<'_>, expiry_ms: Option<u64>) -> bool {
        let Some(mut slot) = self.live_slot(clock, key) else { return false };
        if let Some(at_ms) = expiry_ms
            && slot.get_mut().try_set_expiry_ms(at_ms)
        {
            return true;
        }
        if expiry_ms.is_none() && !slot.is_marked() {
            return true;
        }
        // The entry's shape changes: it is rebuilt in a new allocation.
        let was_expiring = slot.is_marked();
        let rebuilt = slot.remove().rebuilt(key.bytes, expiry_ms);
        self.expiring -= usize::from(was_expiring);
        self.expiring += usize::from(expiry_ms.is_some());
        self.table.insert(key.hash, rebuilt, expiry_ms.is_some());
        true
    }

    /// A key drawn at random that is not due.
    pub fn random_key(&self, clock: Clock, random: &mut impl rand_core::RngCore) -> Option<&[u8]> {
        const DRAWS: usize = 100;
        (0..DRAWS)
            .find_map(|_| {
                let entry = self.table.random(random)?;
                (!is_due(entry, clock)).then(|| entry.key())
            })
            .or_else(|| self.table.iter().find(|entry| !is_due(entry, clock)).map(Entry::key))
    }

    /// Visits the keys of one step of a scan; see [`Table::scan`].
    pub fn scan(&self, clock: Clock, cursor: u64, mut visit: impl FnMut(&Entry)) -> u64 {
        self.table.scan(cursor, |entry| {
            if !is_due(entry, clock) {
                visit(entry);
            }
        })
    }

    /// Visits every key that is not due.
    pub fn for_each(&self, clock: Clock, visit: impl FnMut(&Entry)) {
        self.table.iter().filter(|entry| !is_due(entry, clock)).for_each(visit);
    }

    /// Removes what is due in the next `buckets` buckets; true when the sweep came round.
    pub fn sweep(&mut self, clock: Clock, buckets: usize, mut removed: impl FnMut(Entry)) -> bool {
        if self.expiring == 0 {
            return true;
        }
        let (mut count, at) = (0, self.sweep_at);
        self.sweep_at = self.table.sweep_marked(
            at,
            buckets,
            |entry| is_due(entry, clock),
            |entry| {
                count += 1;
                removed(entry);
            },
        );
        self.expired += count as u64;
        self.expiring -= count;
        self.sweep_at == 0
    }

    /// The time left to keys with an expiry, as a sum in milliseconds and their number, among the
    /// first `entries_max` entries of the table.
    pub fn sample_ttl(&self, clock: Clock, entries_max: usize) -> (u64, u64) {
        if self.expiring == 0 {
            return (0, 0);
        }
        let expiries = self.table.iter().take(entries_max).filter_map(Entry::expiry_ms);
        expiries.fold((0, 0), |(sum_ms, count), expiry_ms| {
            (sum_ms + expiry_ms.saturating_sub(clock.now_ms), count + 1)
        })
    }

    /// Takes everything out; what is returned is dropped by the caller, when no lock is held.
    pub fn take_all(&mut self) -> Db {
        let expired = self.expired;
        std::mem::replace(self, Db { expired, ..Db::default() })
    }

    /// Asks the processor for the bucket of a hash.
    #[inline]
    pub fn prefetch_bucket(&self, hash: u64) {
        self.table.prefetch_bucket(hash);
    }

    /// Asks the processor for the entry of a hash, reading its bucket.
    #[inline]
    pub fn prefetch_entry(&self, hash: u64) {
        self.table.prefetch_entry(hash);
    }

    /// Heap bytes of the table, without entries.
    pub fn table_bytes(&self) -> usize {
        self.table.memory_bytes()
    }

    #[inline]
    fn live(&mut self, clock: Clock, key: Key<'_>) -> Option<&mut Entry> {
        self.live_slot(clock, key).map(Occupied::into_mut)
    }

    /// The slot of `key`, unless its time has come, in which case the key goes.
    #[inline]
    fn live_slot(&mut self, clock: Clock, key: Key<'_>) -> Option<Occupied<'_, Entry>> {
        let slot = self.table.find_slot(key.hash, |entry| entry.key() == key.bytes)?;
        if slot.is_marked() && is_due(slot.get(), clock) {
            drop(slot.remove());
            self.expiring -= 1;
            self.expired += 1;
            return None;
        }
        Some(slot)
    }

    fn expiry_to_be(&mut self, clock: Clock, key: Key<'_>, expiry: Expiry) -> Option<u64> {
        match expiry {
            Expiry::Clear => None,
            Expiry::At(at_ms) => Some(at_ms),
            Expiry::Keep => self.expiry_ms(clock, key).flatten(),
        }
    }

    /// Stores a string that was changed in place: Redis calls it `raw` from then on, and it gets
    /// room to grow.
    fn set_changed(&mut self, clock: Clock, key: Key<'_>, bytes: Vec<u8>) {
        let expiry_ms = self.expiry_to_be(clock, key, Expiry::Keep);
        let mut entry = if bytes.len() > INLINE_BYTES_MAX {
            Entry::new(key.bytes, Value::Shared(Arc::new(bytes)), expiry_ms)
        } else {
            let capacity = (bytes.len() + bytes.len() / 2).min(INLINE_BYTES_MAX);
            Entry::inline(key.bytes, &bytes, capacity, expiry_ms)
        };
        entry.mark_raw();
        self.put(clock, key, entry);
    }

    fn insert_new(&mut self, clock: Clock, key: Key<'_>, mut entry: Entry) {
        entry.touch(clock.access_s());
        let has_expiry = entry.expiry_ms().is_some();
        self.expiring += usize::from(has_expiry);
        self.table.insert(key.hash, entry, has_expiry);
    }
}

#[inline]
fn is_due(entry: &Entry, clock: Clock) -> bool {
    entry.expiry_ms().is_some_and(|expiry_ms| expiry_ms <= clock.now_ms)
}

/// Writes `patch` at `offset`, padding with zero bytes up to there.
fn overwrite(bytes: &mut Vec<u8>, offset: usize, patch: &[u8]) {
    let end = offset + patch.len();
    if bytes.len() < end {
        bytes.resize(end, 0);
    }
    bytes[offset..end].copy_from_slice(patch);
}

/// A string's bytes in a vector with room for `len`.
fn string_with_room(string: StringRef<'_>, len: usize) -> Vec<u8> {
    string.with_bytes(|bytes| {
        let mut copy = Vec::with_capacity(len.max(bytes.len()));
        copy.extend_from_slice(bytes);
        copy
    })
}

#[cfg(test)]
mod tests;
