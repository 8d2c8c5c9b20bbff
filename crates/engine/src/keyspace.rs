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
        let wanted = shards_of(hashes);
        ShardSet { guards: wanted.iter().map(|&shard| (shard, self.lock(shard))).collect() }
    }

    /// Locks every shard, in ascending order.
    pub fn lock_all(&self) -> ShardSet<'_> {
        ShardSet { guards: (0..SHARDS).map(|shard| (shard, self.lock(shard))).collect() }
    }
}

/// The shards of these hashes, ascending, each once.
fn shards_of(hashes: impl Iterator<Item = u64>) -> SmallVec<[usize; 16]> {
    let mut wanted: SmallVec<[usize; 16]> = hashes.map(Keyspace::shard_of).collect();
    wanted.sort_unstable();
    wanted.dedup();
    wanted
}

/// Several shards, locked together.
pub struct ShardSet<'a> {
    guards: SmallVec<[(usize, ShardGuard<'a>); 16]>,
}

impl ShardSet<'_> {
    /// A shard among those asked for.
    pub fn shard(&mut self, number: usize) -> &mut Shard {
        let place = self.guards.binary_search_by_key(&number, |(number, _)| *number);
        &mut self.guards[place.expect("the shard is locked")].1
    }

    /// All of them, for a command that looks into several.
    pub fn shards(&mut self) -> Shards<'_> {
        Shards {
            shards: self.guards.iter_mut().map(|(number, guard)| (*number, &mut **guard)).collect(),
        }
    }

    /// Those of these hashes, for one of several commands under the same locks.
    pub fn shards_of(&mut self, hashes: impl Iterator<Item = u64>) -> Shards<'_> {
        let wanted = shards_of(hashes);
        let mut wanted = wanted.into_iter().peekable();
        let mut shards = SmallVec::new();
        for (number, guard) in &mut self.guards {
            if wanted.peek() == Some(number) {
                wanted.next();
                shards.push((*number, &mut **guard));
            }
        }
        Shards { shards }
    }
}

/// Several shards that somebody holds locked.
pub struct Shards<'a> {
    shards: SmallVec<[(usize, &'a mut Shard); 16]>,
}

impl Shards<'_> {
    /// The database of `key`, whose shard was among those asked for.
    pub fn db(&mut self, index: usize, key: Key<'_>) -> &mut Db {
        let place = self.place(key);
        self.shards[place].1.db(index)
    }

    /// The database of `key` for looking into several at once; `None` if it was never used.
    pub fn view(&self, index: usize, key: Key<'_>) -> Option<&Db> {
        self.shards[self.place(key)].1.view(index)
    }

    fn place(&self, key: Key<'_>) -> usize {
        let shard = Keyspace::shard_of(key.hash);
        self.shards
            .binary_search_by_key(&shard, |(number, _)| *number)
            .expect("a command locks the shards of all its keys")
    }
}

/// The whole keyspace, for a command that goes through it shard by shard: each shard is locked when
/// its turn comes, or all are locked already, as within a transaction.
pub enum Whole<'a> {
    /// Nothing is locked.
    Free(&'a Keyspace),
    /// All shards in their order, locked by the caller.
    Locked(Vec<&'a mut Shard>),
}

impl<'a> Whole<'a> {
    /// The keyspace whose shards, all of them, `set` holds locked.
    pub fn locked(set: &'a mut ShardSet<'_>) -> Whole<'a> {
        let shards: Vec<_> = set.guards.iter_mut().map(|(_, guard)| &mut **guard).collect();
        assert_eq!(shards.len(), SHARDS, "a command on everything has everything locked");
        Whole::Locked(shards)
    }

    /// A shard, locked until what is returned is dropped.
    pub fn lock(&mut self, number: usize) -> ShardAccess<'_> {
        match self {
            Whole::Free(keyspace) => ShardAccess::Guarded(keyspace.lock(number)),
            Whole::Locked(shards) => ShardAccess::Lent(shards[number]),
        }
    }
}

/// A locked shard, whoever locked it.
pub enum ShardAccess<'a> {
    /// Locked by [`Whole::lock`].
    Guarded(ShardGuard<'a>),
    /// Locked by its caller.
    Lent(&'a mut Shard),
}

impl std::ops::Deref for ShardAccess<'_> {
    type Target = Shard;

    fn deref(&self) -> &Shard {
        match self {
            ShardAccess::Guarded(guard) => guard,
            ShardAccess::Lent(shard) => shard,
        }
    }
}

impl std::ops::DerefMut for ShardAccess<'_> {
    fn deref_mut(&mut self) -> &mut Shard {
        match self {
            ShardAccess::Guarded(guard) => guard,
            ShardAccess::Lent(shard) => shard,
        }
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
        let mut set = set.shards();
        for &key in &keys {
            assert!(set.db(3, key).contains(clock, key));
            assert!(!set.db(0, key).contains(clock, key));
        }
    }
}
