//! All keys of a server: shards, each behind one short lock, and who may hold which.
//!
//! A key's shard comes from the top bits of its hash. Whoever needs several shards takes them in
//! ascending order ([`Keyspace::lock_many`]), which is what keeps two such commands from waiting for
//! each other; nobody may ask for a shard while holding one in any other way.

use parking_lot::{Mutex, MutexGuard};
use smallvec::SmallVec;

use crate::db::{Db, Key};

/// Shards of a keyspace: many more than cores, so that two threads seldom want the same one.
pub const SHARDS: usize = 1 << SHARD_BITS;
const SHARD_BITS: u32 = 10;

/// One shard's part of every numbered database.
#[derive(Default)]
pub struct Shard {
    first: Db,
    /// Databases from 1 on, as far as they were ever used in this shard.
    others: Vec<Db>,
}

impl Shard {
    /// The part of database `index` in this shard, if that was ever used.
    pub fn view(&self, index: usize) -> Option<&Db> {
        if index == 0 { Some(&self.first) } else { self.others.get(index - 1) }
    }

    /// The part of database `index` in this shard.
    #[inline]
    pub fn db(&mut self, index: usize) -> &mut Db {
        if index == 0 {
            return &mut self.first;
        }
        if self.others.len() < index {
            self.others.resize_with(index, Db::default);
        }
        &mut self.others[index - 1]
    }

    /// The databases of this shard that were ever used, with their numbers.
    pub fn dbs(&mut self) -> impl Iterator<Item = (usize, &mut Db)> {
        std::iter::once(&mut self.first).chain(&mut self.others).enumerate()
    }
}

/// A lock and its shard on cache lines of their own.
#[repr(align(128))]
struct Padded(Mutex<Shard>);

/// The keyspace of a server.
pub struct Keyspace {
    shards: Box<[Padded]>,
}

/// A locked shard.
pub type ShardGuard<'a> = MutexGuard<'a, Shard>;

impl Default for Keyspace {
    fn default() -> Self {
        Self::new()
    }
}

impl Keyspace {
    /// An empty keyspace.
    pub fn new() -> Keyspace {
        Keyspace { shards: (0..SHARDS).map(|_| Padded(Mutex::default())).collect() }
    }

    /// The shard of a key with this hash.
    #[inline]
    pub fn shard_of(hash: u64) -> usize {
        (hash >> (u64::BITS - SHARD_BITS)) as usize
    }

    /// Locks one shard. The caller must hold no other.
    #[inline]
    pub fn lock(&self, shard: usize) -> ShardGuard<'_> {
        self.shards[shard].0.lock()
    }

    /// Locks a shard unless somebody holds it.
    #[inline]
    pub fn try_lock(&self, shard: usize) -> Option<ShardGuard<'_>> {
        self.shards[shard].0.try_lock()
    }

    /// Locks the shards of all these hashes, in ascending order.
    pub fn lock_many(&self, hashes: impl Iterator<Item = u64>) -> ShardSet<'_> {
        let mut wanted: SmallVec<[usize; 16]> = hashes.map(Self::shard_of).collect();
        wanted.sort_unstable();
        wanted.dedup();
        ShardSet { guards: wanted.iter().map(|&shard| (shard, self.lock(shard))).collect() }
    }
}

/// Several shards, locked together.
pub struct ShardSet<'a> {
    guards: SmallVec<[(usize, ShardGuard<'a>); 16]>,
}

impl ShardSet<'_> {
    /// The database of `key`, whose shard was among those asked for.
    pub fn db(&mut self, index: usize, key: Key<'_>) -> &mut Db {
        let place = self.place(key);
        self.guards[place].1.db(index)
    }

    /// The database of `key` for looking into several at once; `None` if it was never used.
    pub fn view(&self, index: usize, key: Key<'_>) -> Option<&Db> {
        self.guards[self.place(key)].1.view(index)
    }

    fn place(&self, key: Key<'_>) -> usize {
        let shard = Keyspace::shard_of(key.hash);
        self.guards
            .binary_search_by_key(&shard, |(number, _)| *number)
            .expect("a command locks the shards of all its keys")
    }
}

#[cfg(test)]
mod tests {
    use super::{Keyspace, SHARDS};
    use crate::db::{Clock, Expiry, Key};

    #[test]
    fn keys_spread_over_all_shards_and_are_found_under_many_locks() {
        let keyspace = Keyspace::new();
        let clock = Clock { now_ms: 1 };
        let names: Vec<String> = (0..20_000).map(|number| format!("key:{number}")).collect();
        for name in &names {
            let key = Key::new(name.as_bytes());
            let mut shard = keyspace.lock(Keyspace::shard_of(key.hash));
            shard.db(3).set_string(clock, key, b"value", Expiry::Clear);
        }
        let fewest = (0..SHARDS).map(|shard| keyspace.lock(shard).db(3).len()).min();
        assert!(fewest > Some(2), "{fewest:?}");
        let keys: Vec<Key<'_>> =
            names[..100].iter().map(|name| Key::new(name.as_bytes())).collect();
        let mut set = keyspace.lock_many(keys.iter().map(|key| key.hash));
        for &key in &keys {
            assert!(set.db(3, key).contains(clock, key));
            assert!(!set.db(0, key).contains(clock, key));
        }
    }
}
