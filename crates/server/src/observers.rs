//! Who is to hear of changes of keys: the clients that `WATCH` them, and those that wait for them.
//!
//! What is kept here belongs to shards of the keyspace and changes only while its shard is locked,
//! so whoever holds the shard sees all that concern it. A shard that nobody observes costs a writer
//! one look at a number that nobody writes.

use std::collections::{HashMap, VecDeque};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU32, Ordering};

use engine::keyspace::{SHARDS, Shard};
use engine::{Clock, Key, Keyspace};
use parking_lot::Mutex;

use crate::waiting::{OwnedKey, Waiter};

/// What of a client's watched keys others see: whether any was touched.
#[derive(Default, Debug)]
pub struct Watcher {
    is_touched: AtomicBool,
}

impl Watcher {
    /// Whether a watched key was changed since it was watched.
    pub fn is_touched(&self) -> bool {
        self.is_touched.load(Ordering::Relaxed)
    }

    fn touch(&self) {
        self.is_touched.store(true, Ordering::Relaxed);
    }
}

/// A key of one database that somebody observes.
struct Watched {
    db_index: usize,
    key: Box<[u8]>,
    watcher: Arc<Watcher>,
}

/// The watched keys of a shard by their hash.
type WatchedKeys = HashMap<u64, Vec<Watched>>;

/// Who waits for the keys of a shard, in the order in which they came, by database and key.
type WaitingFor = HashMap<(usize, Box<[u8]>), VecDeque<Arc<Waiter>>>;

/// The observers of every shard.
pub struct Observers {
    /// How many there are, by shard.
    counts: Box<[AtomicU32]>,
    /// The watched keys by their hash, by shard.
    watched: Box<[Mutex<WatchedKeys>]>,
    /// Those who wait for keys, by shard.
    waiting: Box<[Mutex<WaitingFor>]>,
}

impl Default for Observers {
    fn default() -> Self {
        Observers {
            counts: (0..SHARDS).map(|_| AtomicU32::new(0)).collect(),
            watched: (0..SHARDS).map(|_| Mutex::default()).collect(),
            waiting: (0..SHARDS).map(|_| Mutex::default()).collect(),
        }
    }
}

impl Observers {
    /// Whether anybody observes a key of this shard, which the caller holds locked.
    #[inline]
    pub fn has_any(&self, shard: usize) -> bool {
        self.counts[shard].load(Ordering::Relaxed) != 0
    }

    /// Lets `watcher` hear of changes of `key`, whose shard the caller holds locked.
    pub fn watch(&self, db_index: usize, key: Key<'_>, watcher: &Arc<Watcher>) {
        let shard = Keyspace::shard_of(key.hash);
        let watched = Watched { db_index, key: key.bytes.into(), watcher: Arc::clone(watcher) };
        self.watched[shard].lock().entry(key.hash).or_default().push(watched);
        self.counts[shard].fetch_add(1, Ordering::Relaxed);
    }

    /// Takes `watcher` off `key`. The caller holds the shard locked, or the watcher is of no use
    /// any more.
    pub fn unwatch(&self, db_index: usize, key: Key<'_>, watcher: &Arc<Watcher>) {
        let shard = Keyspace::shard_of(key.hash);
        let mut by_hash = self.watched[shard].lock();
        let Some(list) = by_hash.get_mut(&key.hash) else { return };
        let before = list.len();
        list.retain(|one| {
            one.db_index != db_index
                || *one.key != *key.bytes
                || !Arc::ptr_eq(&one.watcher, watcher)
        });
        let removed = before - list.len();
        if list.is_empty() {
            by_hash.remove(&key.hash);
        }
        self.counts[shard].fetch_sub(removed as u32, Ordering::Relaxed);
    }

    /// Lets `waiter` wait for its keys, whose shards the caller holds locked.
    pub fn wait(&self, waiter: &Arc<Waiter>) {
        for key in waiter.keys.iter().map(OwnedKey::key) {
            let shard = Keyspace::shard_of(key.hash);
            let mut waiting = self.waiting[shard].lock();
            let list = waiting.entry((waiter.db_index, key.bytes.into())).or_default();
            if !list.iter().any(|one| Arc::ptr_eq(one, waiter)) {
                list.push_back(Arc::clone(waiter));
                self.counts[shard].fetch_add(1, Ordering::Relaxed);
            }
        }
    }

    /// Takes `waiter` off its keys; more than once does no harm.
    pub fn end_wait(&self, waiter: &Arc<Waiter>) {
        for key in waiter.keys.iter().map(OwnedKey::key) {
            let shard = Keyspace::shard_of(key.hash);
            let name = (waiter.db_index, Box::from(key.bytes));
            let mut waiting = self.waiting[shard].lock();
            let Some(list) = waiting.get_mut(&name) else { continue };
            let before = list.len();
            list.retain(|one| !Arc::ptr_eq(one, waiter));
            let removed = before - list.len();
            if list.is_empty() {
                waiting.remove(&name);
            }
            self.counts[shard].fetch_sub(removed as u32, Ordering::Relaxed);
        }
    }

    /// Who has waited longest for `key`.
    pub fn first_waiter(&self, db_index: usize, key: Key<'_>) -> Option<Arc<Waiter>> {
        let waiting = self.waiting[Keyspace::shard_of(key.hash)].lock();
        waiting.get(&(db_index, Box::from(key.bytes)))?.front().cloned()
    }

    /// How many keys somebody waits for.
    pub fn awaited_keys(&self) -> usize {
        self.waiting.iter().map(|shard| shard.lock().len()).sum()
    }

    /// Tells those who watch `key` that it changed, and adds it to `ready` if somebody waits for it.
    /// The caller holds its shard locked.
    #[cold]
    pub fn touch(&self, db_index: usize, key: Key<'_>, ready: &mut Vec<(usize, OwnedKey)>) {
        if self.first_waiter(db_index, key).is_some() {
            ready.push((db_index, OwnedKey::of(key)));
        }
        let by_hash = self.watched[Keyspace::shard_of(key.hash)].lock();
        for one in by_hash.get(&key.hash).into_iter().flatten() {
            if one.db_index == db_index && *one.key == *key.bytes {
                one.watcher.touch();
            }
        }
    }

    /// Tells those who watch a key of shard `number`, in a database that `selects` chooses, where
    /// `changes` holds for that database and key. The caller holds the shard locked.
    pub fn touch_where(
        &self,
        number: usize,
        shard: &mut Shard,
        clock: Clock,
        selects: impl Fn(usize) -> bool,
    ) {
        if !self.has_any(number) {
            return;
        }
        for (hash, list) in &*self.watched[number].lock() {
            for one in list.iter().filter(|one| selects(one.db_index)) {
                let key = Key { bytes: &one.key, hash: *hash };
                if shard.db(one.db_index).contains(clock, key) {
                    one.watcher.touch();
                }
            }
        }
    }

    /// Keys watched, each as often as it is, for `INFO`.
    pub fn watched_keys(&self) -> usize {
        self.watched.iter().map(|shard| shard.lock().values().map(Vec::len).sum::<usize>()).sum()
    }
}
