//! Counters of one worker: written by its thread alone, read by whoever asks `INFO`.

use std::sync::atomic::{AtomicU64, Ordering};

/// A counter with a single writer: adding is a load and a store, without a locked instruction.
#[derive(Default)]
pub struct Counter(AtomicU64);

impl Counter {
    /// Adds, on the owning thread.
    #[inline]
    pub fn add(&self, count: u64) {
        self.0.store(self.0.load(Ordering::Relaxed).wrapping_add(count), Ordering::Relaxed);
    }

    /// The count, from any thread.
    pub fn get(&self) -> u64 {
        self.0.load(Ordering::Relaxed)
    }
}

/// What one worker counts. Its counters share no cache line with another worker's.
#[derive(Default)]
#[repr(align(128))]
pub struct WorkerStats {
    /// Commands executed.
    pub commands: Counter,
    /// Changes to the data set.
    pub changes: Counter,
    /// Lookups by read commands that found the key.
    pub hits: Counter,
    /// Lookups by read commands that did not.
    pub misses: Counter,
    /// Bytes read from connections.
    pub input_bytes: Counter,
    /// Bytes written to connections.
    pub output_bytes: Counter,
    /// Error replies.
    pub errors: Counter,
    /// Connections taken over from the acceptor.
    pub connections: Counter,
}
