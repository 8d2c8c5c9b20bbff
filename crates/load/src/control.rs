//! What a run shows to the outside while it goes on, and the way to end it early.

use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::{Mutex, MutexGuard, PoisonError};
use std::time::Instant;

use report::model::SeriesPoint;

/// Shared by a run and whoever watches it. One control serves any number of steps, one after the other.
#[derive(Debug, Default)]
pub struct Control {
    stop: AtomicBool,
    requests: AtomicU64,
    errors: AtomicU64,
    latency_ns: AtomicU64,
    watched: Mutex<Watched>,
}

#[derive(Debug, Default, Clone, Copy)]
struct Watched {
    phase: Phase,
    measuring_since: Option<Instant>,
    last_second: Option<SeriesPoint>,
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
#[derive(Debug, Clone, Copy, PartialEq)]
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
        let watched = *self.lock();
        let elapsed = watched.measuring_since.map(|since| since.elapsed()).unwrap_or_default();
        Snapshot {
            phase: watched.phase,
            elapsed_ns: elapsed.as_nanos() as u64,
            requests: self.requests.load(Ordering::Relaxed),
            errors: self.errors.load(Ordering::Relaxed),
            latency_sum_ns: self.latency_ns.load(Ordering::Relaxed),
            last_second: watched.last_second,
        }
    }

    /// Begins a step: counts start at zero.
    pub(crate) fn begin(&self) {
        self.requests.store(0, Ordering::Relaxed);
        self.errors.store(0, Ordering::Relaxed);
        self.latency_ns.store(0, Ordering::Relaxed);
        *self.lock() = Watched { phase: Phase::Connecting, ..Watched::default() };
    }

    pub(crate) fn enter(&self, phase: Phase, measuring_since: Option<Instant>) {
        let mut watched = self.lock();
        watched.phase = phase;
        watched.measuring_since = measuring_since;
    }

    pub(crate) fn add(&self, requests: u64, errors: u64, latency_ns: u64) {
        self.requests.fetch_add(requests, Ordering::Relaxed);
        self.errors.fetch_add(errors, Ordering::Relaxed);
        self.latency_ns.fetch_add(latency_ns, Ordering::Relaxed);
    }

    pub(crate) fn show_second(&self, point: Option<SeriesPoint>) {
        self.lock().last_second = point;
    }

    /// Each field stands for itself, so a poisoned lock is still good.
    fn lock(&self) -> MutexGuard<'_, Watched> {
        self.watched.lock().unwrap_or_else(PoisonError::into_inner)
    }
}
