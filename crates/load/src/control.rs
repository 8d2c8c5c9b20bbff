//! What a run shows to the outside while it goes on, and the way to end it early.

use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::{Mutex, MutexGuard, PoisonError};
use std::time::Instant;

use report::histogram::Histogram;
use report::model::SeriesPoint;

/// Shared by a run and whoever watches it. One control serves any number of steps, one after the other.
#[derive(Debug, Default)]
pub struct Control {
    stop: AtomicBool,
    requests: AtomicU64,
    errors: AtomicU64,
    latency_ns: AtomicU64,
    bytes_in: AtomicU64,
    bytes_out: AtomicU64,
    connection_errors: AtomicU64,
    watched: Mutex<Watched>,
}

#[derive(Debug, Default, Clone)]
struct Watched {
    phase: Phase,
    measuring_since: Option<Instant>,
    last_second: Option<SeriesPoint>,
    last_latencies: Option<(u32, Histogram)>,
}

/// What happened since a worker last showed it.
#[derive(Debug, Default, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Progress {
    pub(crate) requests: u64,
    pub(crate) errors: u64,
    pub(crate) latency_ns: u64,
    pub(crate) bytes_in: u64,
    pub(crate) bytes_out: u64,
    pub(crate) connection_errors: u64,
}

/// Where a step is.
#[derive(Debug, Default, Clone, Copy, PartialEq, Eq)]
pub enum Phase {
    /// No step is running.
    #[default]
    Idle,
    /// Connections are being made.
    Connecting,
    /// Requests are sent and not recorded.
    WarmUp,
    /// Requests are recorded.
    Measuring,
}

/// The state of the step at one moment; counts are at most some tens of milliseconds old.
#[derive(Debug, Clone, Copy, Default, PartialEq)]
pub struct Snapshot {
    /// Where the step is.
    pub phase: Phase,
    /// Measured time so far.
    pub elapsed_ns: u64,
    /// Replies so far, error replies included.
    pub requests: u64,
    /// Error replies so far.
    pub errors: u64,
    /// Sum of the response times of the replies that were no errors.
    pub latency_sum_ns: u64,
    /// Bytes read from the server so far, in the measured time.
    pub bytes_in: u64,
    /// Bytes written to the server so far, in the measured time.
    pub bytes_out: u64,
    /// Connections lost, or not made, so far.
    pub connection_errors: u64,
    /// The last second that all threads have finished.
    pub last_second: Option<SeriesPoint>,
}

impl Control {
    /// A control that nobody has stopped.
    pub fn new() -> Self {
        Self::default()
    }

    /// Ends the step that runs, and all later ones, early. Only an atomic store: safe in a signal handler.
    pub fn stop(&self) {
        self.stop.store(true, Ordering::Relaxed);
    }

    /// True after [`Control::stop`].
    pub fn is_stopped(&self) -> bool {
        self.stop.load(Ordering::Relaxed)
    }

    /// The state of the step.
    pub fn snapshot(&self) -> Snapshot {
        let (phase, measuring_since, last_second) = {
            let watched = self.lock();
            (watched.phase, watched.measuring_since, watched.last_second)
        };
        let elapsed = measuring_since.map(|since| since.elapsed()).unwrap_or_default();
        Snapshot {
            phase,
            elapsed_ns: elapsed.as_nanos() as u64,
            requests: self.requests.load(Ordering::Relaxed),
            errors: self.errors.load(Ordering::Relaxed),
            latency_sum_ns: self.latency_ns.load(Ordering::Relaxed),
            bytes_in: self.bytes_in.load(Ordering::Relaxed),
            bytes_out: self.bytes_out.load(Ordering::Relaxed),
            connection_errors: self.connection_errors.load(Ordering::Relaxed),
            last_second,
        }
    }

    /// The response times of the last second that all threads have finished, over all commands, and that second's number.
    pub fn last_latencies(&self) -> Option<(u32, Histogram)> {
        self.lock().last_latencies.clone()
    }

    /// Begins a step: counts start at zero.
    pub(crate) fn begin(&self) {
        let counts = [
            &self.requests,
            &self.errors,
            &self.latency_ns,
            &self.bytes_in,
            &self.bytes_out,
            &self.connection_errors,
        ];
        counts.iter().for_each(|count| count.store(0, Ordering::Relaxed));
        *self.lock() = Watched { phase: Phase::Connecting, ..Watched::default() };
    }

    pub(crate) fn enter(&self, phase: Phase, measuring_since: Option<Instant>) {
        let mut watched = self.lock();
        watched.phase = phase;
        watched.measuring_since = measuring_since;
    }

    pub(crate) fn add(&self, progress: Progress) {
        self.requests.fetch_add(progress.requests, Ordering::Relaxed);
        self.errors.fetch_add(progress.errors, Ordering::Relaxed);
        self.latency_ns.fetch_add(progress.latency_ns, Ordering::Relaxed);
        self.bytes_in.fetch_add(progress.bytes_in, Ordering::Relaxed);
        self.bytes_out.fetch_add(progress.bytes_out, Ordering::Relaxed);
        self.connection_errors.fetch_add(progress.connection_errors, Ordering::Relaxed);
    }

    pub(crate) fn show_second(&self, point: SeriesPoint, latencies: Histogram) {
        let mut watched = self.lock();
        watched.last_latencies = Some((point.second, latencies));
        watched.last_second = Some(point);
    }

    /// Each field stands for itself, so a poisoned lock is still good.
    fn lock(&self) -> MutexGuard<'_, Watched> {
        self.watched.lock().unwrap_or_else(PoisonError::into_inner)
    }
}
