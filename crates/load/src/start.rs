//! The common start of all threads: they wait until the last of them exists.

use std::sync::{Condvar, Mutex, PoisonError};

/// A time that is set once, and threads that wait for it.
#[derive(Debug, Default)]
pub(crate) struct Start {
    at_ns: Mutex<Option<u64>>,
    changed: Condvar,
}

impl Start {
    /// Sets the start and lets all go that wait for it.
    pub(crate) fn begin(&self, at_ns: u64) {
        *self.at_ns.lock().unwrap_or_else(PoisonError::into_inner) = Some(at_ns);
        self.changed.notify_all();
    }

    /// Waits for the start.
    pub(crate) fn wait(&self) -> u64 {
        let mut at_ns = self.at_ns.lock().unwrap_or_else(PoisonError::into_inner);
        loop {
            if let Some(at_ns) = *at_ns {
                return at_ns;
            }
            at_ns = self.changed.wait(at_ns).unwrap_or_else(PoisonError::into_inner);
        }
    }
}
