//! What a handler may see beside its data: the server, its client, its worker, the time.

use std::sync::Arc;

use engine::{Clock, Entry};
use rand_xoshiro::Xoshiro256PlusPlus;

use crate::client::Client;
use crate::pubsub::KnownPatterns;
use crate::server::Server;
use crate::settings::Settings;
use crate::stats::WorkerStats;
use crate::waiting::OwnedKey;

/// A worker's own state, handed to every command that runs on its thread.
pub struct Worker {
    /// Its number, from 0.
    pub index: usize,
    /// Its source of randomness.
    pub random: Xoshiro256PlusPlus,
    /// Its counters.
    pub stats: Arc<WorkerStats>,
    /// The settings as of the last batch.
    pub settings: Arc<Settings>,
    /// Its copy of the patterns that clients hear.
    pub patterns: KnownPatterns,
    /// Changed keys for which somebody waits, to be served when no lock is held.
    pub ready: Vec<(usize, OwnedKey)>,
    /// Values taken out of the keyspace, freed when no lock is held.
    pub discarded: Vec<Entry>,
}

/// The surroundings of one command.
pub struct Context<'a> {
    /// The server.
    pub server: &'a Server,
    /// The client that sent the command.
    pub client: &'a mut Client,
    /// The worker that runs it.
    pub worker: &'a mut Worker,
    /// When it runs.
    pub clock: Clock,
    /// The command's row, for texts that name it.
    pub command: &'static crate::command::Command,
    /// Whether it was queued and runs within a transaction, where nothing may wait.
    pub is_queued: bool,
}

impl Context<'_> {
    /// The encoding limits of the collections.
    #[inline]
    pub fn limits(&self) -> &engine::Limits {
        &self.worker.settings.limits
    }

    /// Keeps what was taken out of the keyspace until no lock is held.
    #[inline]
    pub fn discard(&mut self, entry: impl Into<Option<Entry>>) {
        self.worker.discarded.extend(entry.into());
    }

    /// Counts a lookup by a read command, for `keyspace_hits` and `keyspace_misses`.
    #[inline]
    pub fn count_lookup(&self, is_hit: bool) {
        if is_hit {
            self.worker.stats.hits.add(1);
        } else {
            self.worker.stats.misses.add(1);
        }
    }
}
