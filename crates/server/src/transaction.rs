//! Transactions: what a client has queued since `MULTI`, and the keys it watches.
//!
//! The dispatcher queues and runs; here is what it keeps meanwhile.

use std::sync::Arc;
use std::sync::atomic::Ordering;

use engine::{Clock, Key, ShardSet};
use resp::args::{Args, Span};

use crate::client::Client;
use crate::command::{Command, Flags, Handler};
use crate::observers::{Observers, Watcher};

/// What a client has queued.
pub struct Transaction {
    queued: Vec<Queued>,
    queued_bytes: usize,
    /// A command was refused while queueing, so `EXEC` will be, too.
    pub is_broken: bool,
    /// The flags of all queued commands.
    pub flags: Flags,
}

/// A queued command with arguments of its own.
pub struct Queued {
    /// Its row.
    pub command: &'static Command,
    bytes: Box<[u8]>,
    spans: Box<[Span]>,
}

impl Queued {
    /// The command's arguments.
    pub fn args(&self) -> Args<'_> {
        Args::new(&self.bytes, &self.spans)
    }

    /// The keys that the command names.
    pub fn keys(&self) -> impl Iterator<Item = Key<'_>> {
        let args = self.args();
        self.command.keys.indexes(args).map(move |index| Key::new(args.at(index)))
    }
}

impl Default for Transaction {
    fn default() -> Self {
        Transaction { queued: Vec::new(), queued_bytes: 0, is_broken: false, flags: Flags::empty() }
    }
}

impl Transaction {
    /// Commands queued.
    pub fn len(&self) -> usize {
        self.queued.len()
    }

    /// Whether nothing is queued.
    pub fn is_empty(&self) -> bool {
        self.queued.is_empty()
    }

    /// Bytes of the arguments queued.
    pub fn queued_bytes(&self) -> usize {
        self.queued_bytes
    }

    /// Queues a command; its arguments are copied.
    pub fn push(&mut self, command: &'static Command, args: Args<'_>) {
        let mut bytes = Vec::with_capacity(args.iter().map(<[u8]>::len).sum());
        let spans = args.iter().map(|argument| {
            let start = bytes.len() as u32;
            bytes.extend_from_slice(argument);
            Span { start, end: bytes.len() as u32 }
        });
        let spans = spans.collect();
        self.queued_bytes += bytes.len();
        self.flags |= command.flags;
        self.queued.push(Queued { command, bytes: bytes.into(), spans });
    }

    /// The commands in their order.
    pub fn commands(&self) -> &[Queued] {
        &self.queued
    }

    /// Whether a command works on the whole keyspace.
    pub fn needs_everything(&self) -> bool {
        self.queued.iter().any(|one| matches!(one.command.handler, Handler::Server(_)))
    }
}

/// The keys that a client watches.
#[derive(Default)]
pub struct Watching {
    watcher: Arc<Watcher>,
    keys: Vec<WatchedKey>,
}

struct WatchedKey {
    db_index: usize,
    bytes: Box<[u8]>,
    hash: u64,
    /// Whether the key was there when it was watched; one that is gone since has expired.
    was_there: bool,
}

impl WatchedKey {
    fn key(&self) -> Key<'_> {
        Key { bytes: &self.bytes, hash: self.hash }
    }
}

impl Watching {
    /// Watches a key, whose shard is locked, unless it is watched already.
    pub fn add(&mut self, observers: &Observers, db_index: usize, key: Key<'_>, was_there: bool) {
        let is_same = |one: &WatchedKey| {
            one.hash == key.hash && one.db_index == db_index && *one.bytes == *key.bytes
        };
        if self.keys.iter().any(is_same) {
            return;
        }
        observers.watch(db_index, key, &self.watcher);
        let (bytes, hash) = (key.bytes.into(), key.hash);
        self.keys.push(WatchedKey { db_index, bytes, hash, was_there });
    }

    /// Keys watched.
    pub fn len(&self) -> usize {
        self.keys.len()
    }

    /// Whether no key is watched.
    pub fn is_empty(&self) -> bool {
        self.keys.is_empty()
    }

    /// The hashes of the watched keys.
    pub fn hashes(&self) -> impl Iterator<Item = u64> {
        self.keys.iter().map(|one| one.hash)
    }

    /// Whether a watched key was touched, or has expired. `shards` holds those of the watched keys.
    pub fn is_broken(&self, shards: &mut ShardSet<'_>, clock: Clock) -> bool {
        self.watcher.is_touched()
            || self.keys.iter().any(|one| {
                let shard = shards.shard(engine::Keyspace::shard_of(one.hash));
                one.was_there && !shard.db(one.db_index).contains(clock, one.key())
            })
    }

    /// Whether a watched key was touched, as far as is known without looking for expired ones.
    pub fn is_touched(&self) -> bool {
        self.watcher.is_touched()
    }

    /// Watches nothing any more.
    pub fn end(self, observers: &Observers) {
        for one in &self.keys {
            observers.unwatch(one.db_index, one.key(), &self.watcher);
        }
    }
}

/// Takes the watched keys from a client.
pub fn unwatch(client: &mut Client, observers: &Observers) {
    if let Some(watching) = client.watching.take() {
        watching.end(observers);
        client.shared.watched_keys.store(0, Ordering::Relaxed);
    }
}

/// Ends a client's transaction without running it.
pub fn discard(client: &mut Client, observers: &Observers) {
    if client.transaction.take().is_some() {
        client.shared.queued_commands.store(-1, Ordering::Relaxed);
    }
    unwatch(client, observers);
}
