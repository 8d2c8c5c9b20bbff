//! Counters of one worker: written by its thread alone, read by whoever asks `INFO`; their sums, and
//! the history from which rates are taken.

use std::collections::{BTreeMap, VecDeque};
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Instant;

use engine::Whole;
use parking_lot::Mutex;

use crate::server::Server;

/// Samples from which a rate is averaged; Redis's number.
const SAMPLES: usize = 16;
/// Time between samples in milliseconds; Redis's number.
const SAMPLE_INTERVAL_MS: u128 = 100;
/// Most error codes that a worker tells apart: a script can make up any. Redis stops at 128.
const ERROR_CODES_MAX: usize = 128;
/// What errors count as once there are too many codes.
const OTHER_CODES: &str = "ERRORSTATS_OVERFLOW";

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
    /// Error replies by their first word.
    error_codes: Mutex<BTreeMap<String, u64>>,
}

impl WorkerStats {
    /// Counts an error reply with this text.
    #[cold]
    pub fn count_error(&self, text: &[u8]) {
        self.errors.add(1);
        let code = text.split(|byte| *byte == b' ').next().unwrap_or_default();
        let code = &*String::from_utf8_lossy(code);
        let mut codes = self.error_codes.lock();
        let is_full = codes.len() >= ERROR_CODES_MAX && !codes.contains_key(code);
        *codes.entry(if is_full { OTHER_CODES } else { code }.into()).or_default() += 1;
    }
}

/// Sums over all workers.
#[derive(Clone, Default, PartialEq, Eq, Debug)]
pub struct Totals {
    /// Commands executed.
    pub commands: u64,
    /// Changes to the data set.
    pub changes: u64,
    /// Lookups by read commands that found the key.
    pub hits: u64,
    /// Lookups by read commands that did not.
    pub misses: u64,
    /// Bytes read from connections.
    pub input_bytes: u64,
    /// Bytes written to connections.
    pub output_bytes: u64,
    /// Error replies.
    pub errors: u64,
    /// Connections accepted, the refused ones included.
    pub connections: u64,
    /// Connections refused.
    pub rejected: u64,
    /// Keys removed because their time had come.
    pub expired: u64,
    /// Error replies by their first word.
    pub error_codes: BTreeMap<String, u64>,
}

impl Totals {
    /// Everything since the server started. Looks at every shard.
    pub fn since_start(server: &Server, keyspace: &mut Whole<'_>) -> Totals {
        let mut totals = Totals::default();
        for worker in &server.worker_stats {
            totals.commands += worker.commands.get();
            totals.changes += worker.changes.get();
            totals.hits += worker.hits.get();
            totals.misses += worker.misses.get();
            totals.input_bytes += worker.input_bytes.get();
            totals.output_bytes += worker.output_bytes.get();
            totals.errors += worker.errors.get();
            totals.connections += worker.connections.get();
            for (code, count) in worker.error_codes.lock().iter() {
                *totals.error_codes.entry(code.clone()).or_default() += count;
            }
        }
        totals.rejected = server.clients.rejected();
        totals.connections += totals.rejected;
        for shard in 0..engine::keyspace::SHARDS {
            let mut shard = keyspace.lock(shard);
            totals.expired += shard.dbs().map(|(_, db)| db.expired()).sum::<u64>();
        }
        totals
    }

    /// Everything since `CONFIG RESETSTAT`, but for the changes, which it leaves alone.
    pub fn since_reset(server: &Server, keyspace: &mut Whole<'_>) -> Totals {
        let mut totals = Totals::since_start(server, keyspace);
        let before = server.totals_before.lock();
        totals.commands = totals.commands.saturating_sub(before.commands);
        totals.hits = totals.hits.saturating_sub(before.hits);
        totals.misses = totals.misses.saturating_sub(before.misses);
        totals.input_bytes = totals.input_bytes.saturating_sub(before.input_bytes);
        totals.output_bytes = totals.output_bytes.saturating_sub(before.output_bytes);
        totals.errors = totals.errors.saturating_sub(before.errors);
        totals.connections = totals.connections.saturating_sub(before.connections);
        totals.rejected = totals.rejected.saturating_sub(before.rejected);
        totals.expired = totals.expired.saturating_sub(before.expired);
        for (code, count) in &before.error_codes {
            if let Some(total) = totals.error_codes.get_mut(code) {
                *total = total.saturating_sub(*count);
            }
        }
        totals.error_codes.retain(|_, count| *count > 0);
        totals
    }
}

/// Rates a second, averaged over the last samples.
#[derive(Clone, Copy, Default, PartialEq, Debug)]
pub struct Rates {
    /// Commands.
    pub commands: f64,
    /// Bytes read.
    pub input_bytes: f64,
    /// Bytes written.
    pub output_bytes: f64,
}

/// The last samples of what grows, and the peak of the memory in use.
#[derive(Default)]
pub struct History {
    samples: VecDeque<Sample>,
    peak_bytes: u64,
}

struct Sample {
    at: Instant,
    commands: u64,
    input_bytes: u64,
    output_bytes: u64,
}

impl History {
    /// Notes the present counts, unless the last sample is too fresh.
    pub fn sample(&mut self, now: Instant, workers: &[std::sync::Arc<WorkerStats>]) {
        let last = self.samples.back();
        if last.is_some_and(|last| (now - last.at).as_millis() < SAMPLE_INTERVAL_MS) {
            return;
        }
        if self.samples.len() > SAMPLES {
            self.samples.pop_front();
        }
        let sum = |count: fn(&WorkerStats) -> u64| workers.iter().map(|worker| count(worker)).sum();
        self.samples.push_back(Sample {
            at: now,
            commands: sum(|worker| worker.commands.get()),
            input_bytes: sum(|worker| worker.input_bytes.get()),
            output_bytes: sum(|worker| worker.output_bytes.get()),
        });
    }

    /// The rates over the samples kept, some 1.6 seconds.
    pub fn rates(&self) -> Rates {
        let (Some(first), Some(last)) = (self.samples.front(), self.samples.back()) else {
            return Rates::default();
        };
        let seconds = (last.at - first.at).as_secs_f64();
        if seconds == 0.0 {
            return Rates::default();
        }
        let rate = |from: u64, to: u64| to.wrapping_sub(from) as f64 / seconds;
        Rates {
            commands: rate(first.commands, last.commands),
            input_bytes: rate(first.input_bytes, last.input_bytes),
            output_bytes: rate(first.output_bytes, last.output_bytes),
        }
    }

    /// Notes how much memory is in use.
    pub fn note_used(&mut self, used_bytes: u64) {
        self.peak_bytes = self.peak_bytes.max(used_bytes);
    }

    /// The most memory that was ever seen in use.
    pub fn peak_bytes(&self) -> u64 {
        self.peak_bytes
    }

    /// Forgets samples and peak.
    pub fn reset(&mut self) {
        *self = History::default();
    }
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;
    use std::time::{Duration, Instant};

    use engine::Whole;

    use super::{ERROR_CODES_MAX, History, OTHER_CODES, Totals, WorkerStats};
    use crate::server::Server;
    use crate::settings::Settings;

    #[test]
    fn rates_are_differences_over_time() {
        let workers = [Arc::new(WorkerStats::default()), Arc::default()];
        let mut history = History::default();
        let start = Instant::now();
        assert_eq!(history.rates().commands, 0.0);
        for step in 0..40_u64 {
            history.sample(start + Duration::from_millis(step * 100), &workers);
            history.sample(start + Duration::from_millis(step * 100 + 1), &workers);
            workers[0].commands.add(100);
            workers[1].commands.add(50);
        }
        assert!((history.rates().commands - 1500.0).abs() < 1.0);
        assert_eq!(history.samples.len(), 17);
    }

    #[test]
    fn errors_by_code_until_there_are_too_many() {
        let server = Server::new(Settings::default(), 2);
        server.worker_stats[0].count_error(b"ERR one");
        server.worker_stats[1].count_error(b"ERR two");
        server.worker_stats[1].count_error(b"WRONGTYPE x");
        let totals = Totals::since_reset(&server, &mut Whole::Free(&server.keyspace));
        assert_eq!(totals.error_codes["ERR"], 2);
        assert_eq!(totals.errors, 3);
        *server.totals_before.lock() =
            Totals::since_start(&server, &mut Whole::Free(&server.keyspace));
        assert_eq!(
            Totals::since_reset(&server, &mut Whole::Free(&server.keyspace)),
            Totals::default()
        );
        for number in 0..2 * ERROR_CODES_MAX {
            server.worker_stats[0].count_error(format!("CODE{number} text").as_bytes());
        }
        let totals = Totals::since_reset(&server, &mut Whole::Free(&server.keyspace));
        assert!(totals.error_codes.len() <= ERROR_CODES_MAX + 1);
        assert!(totals.error_codes[OTHER_CODES] > ERROR_CODES_MAX as u64 / 2);
    }
}
