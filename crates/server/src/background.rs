//! The work that must be done though nobody asks: expiring keys, idle clients, memory, rates. Each
//! worker does its share on its own thread, between batches.

use std::sync::Arc;
use std::time::{Duration, Instant};

use engine::keyspace::SHARDS;

use crate::server::{Server, clock};

/// Buckets that one round of the sweep looks at in one shard under one lock.
const SWEEP_BUCKETS: usize = 64;
/// The part of the time that the sweep may take: one in this many.
const SWEEP_SHARE: u32 = 10;
/// Time between two looks at idle clients.
const IDLE_INTERVAL: Duration = Duration::from_secs(1);

/// Runs until the runtime of worker `index` ends.
pub async fn run(server: Arc<Server>, index: usize) {
    let mut next_shard = index;
    let mut idle_at = Instant::now();
    loop {
        let interval = Duration::from_secs(1) / server.settings().hz.max(1);
        compio::time::sleep(interval).await;
        let settings = server.settings();
        let now = Instant::now();
        if settings.active_expire {
            next_shard = sweep(&server, index, next_shard, now + interval / SWEEP_SHARE);
        }
        if index == 0 {
            if settings.timeout_s > 0 && now >= idle_at {
                idle_at = now + IDLE_INTERVAL;
                server.clients.disconnect_idle(clock(), settings.timeout_s);
            }
            server.history.lock().sample(now, &server.worker_stats);
            server.check_memory();
        }
    }
}

/// Removes keys whose time has come from the shards of worker `index`, a few buckets at a time, from
/// `first` on until all were visited or it is time to stop; where to go on the next time.
fn sweep(server: &Server, index: usize, first: usize, deadline: Instant) -> usize {
    let worker_count = server.worker_stats.len();
    let mut removed = Vec::new();
    let mut shard = first;
    for _ in (index..SHARDS).step_by(worker_count) {
        if let Some(mut guard) = server.keyspace.try_lock(shard) {
            for (_, db) in guard.dbs() {
                db.sweep(clock(), SWEEP_BUCKETS, |entry| removed.push(entry));
            }
        }
        // What was removed is freed without the lock.
        removed.clear();
        shard = if shard + worker_count < SHARDS { shard + worker_count } else { index };
        if Instant::now() > deadline {
            break;
        }
    }
    shard
}
