//! Signals that end a run early: the first asks, so that what was measured is shown; the second ends the process at once.

use std::io;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};

use signal_hook::consts::{SIGHUP, SIGINT, SIGTERM};
use signal_hook::flag;

/// What a shell adds to a signal's number for an exit status.
const STATUS_BASE: i32 = 128;

/// Whether a signal came.
#[derive(Debug, Default)]
pub struct Interrupt {
    is_asked: Arc<AtomicBool>,
    signal: Arc<AtomicUsize>,
}

impl Interrupt {
    /// Listens from now on.
    ///
    /// # Errors
    /// The system refuses a handler.
    pub fn listen() -> io::Result<Self> {
        let interrupt = Self::default();
        for signal in [SIGINT, SIGTERM, SIGHUP] {
            // The first of these looks at what the others set, so it must come first.
            flag::register_conditional_shutdown(
                signal,
                STATUS_BASE + signal,
                Arc::clone(&interrupt.is_asked),
            )?;
            flag::register_usize(signal, Arc::clone(&interrupt.signal), signal as usize)?;
            flag::register(signal, Arc::clone(&interrupt.is_asked))?;
        }
        Ok(interrupt)
    }

    /// Whether the run is to end.
    pub fn is_asked(&self) -> bool {
        self.is_asked.load(Ordering::Relaxed)
    }

    /// The exit status that says so.
    pub fn exit_status(&self) -> u8 {
        let signal = self.signal.load(Ordering::Relaxed) as i32;
        u8::try_from(STATUS_BASE + signal).unwrap_or(u8::MAX)
    }
}
