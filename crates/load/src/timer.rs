//! Waking up at a due time: a kernel timer for the long part, spinning for the rest.
//!
//! Readiness polling counts in milliseconds, which is too coarse for due times; where there is no kernel timer
//! to poll (only Linux has one), the spin is longer.

use std::io;
use std::time::Duration;

use mio::{Registry, Token};

/// How long before a due time the sleep ends: about what a wake-up takes on a busy machine.
#[cfg(target_os = "linux")]
const SPIN_NS: u64 = 100_000;
/// Polling rounds up to milliseconds.
#[cfg(not(target_os = "linux"))]
const SPIN_NS: u64 = 2_000_000;

/// Wakes one poll.
#[derive(Debug)]
pub(crate) struct Timer {
    #[cfg(target_os = "linux")]
    descriptor: std::os::fd::OwnedFd,
}

impl Timer {
    /// A timer that shows up as `token`.
    #[cfg(target_os = "linux")]
    pub(crate) fn new(registry: &Registry, token: Token) -> io::Result<Self> {
        use std::os::fd::AsRawFd as _;

        use rustix::time::{TimerfdClockId, TimerfdFlags, timerfd_create};

        let flags = TimerfdFlags::CLOEXEC | TimerfdFlags::NONBLOCK;
        let descriptor = timerfd_create(TimerfdClockId::Monotonic, flags)?;
        let raw = descriptor.as_raw_fd();
        registry.register(&mut mio::unix::SourceFd(&raw), token, mio::Interest::READABLE)?;
        Ok(Self { descriptor })
    }

    /// Nothing to set up: the poll's own timeout has to do.
    #[cfg(not(target_os = "linux"))]
    pub(crate) fn new(_registry: &Registry, _token: Token) -> io::Result<Self> {
        Ok(Self {})
    }

    /// The timeout to poll with so as to be awake `wait_ns` from now; zero means: spin.
    #[cfg(target_os = "linux")]
    pub(crate) fn sleep(&self, wait_ns: u64, at_most: Duration) -> io::Result<Duration> {
        use rustix::time::{Itimerspec, TimerfdTimerFlags, Timespec, timerfd_settime};

        if wait_ns <= SPIN_NS {
            return Ok(Duration::ZERO);
        }
        let sleep_ns = wait_ns - SPIN_NS;
        if sleep_ns >= at_most.as_nanos() as u64 {
            return Ok(at_most);
        }
        let once = Itimerspec {
            it_interval: Timespec { tv_sec: 0, tv_nsec: 0 },
            it_value: Timespec { tv_sec: 0, tv_nsec: sleep_ns as _ },
        };
        timerfd_settime(&self.descriptor, TimerfdTimerFlags::empty(), &once)?;
        Ok(at_most)
    }

    /// The timeout to poll with so as to be awake `wait_ns` from now; zero means: spin.
    #[cfg(not(target_os = "linux"))]
    pub(crate) fn sleep(&self, wait_ns: u64, at_most: Duration) -> io::Result<Duration> {
        Ok(Duration::from_nanos(wait_ns.saturating_sub(SPIN_NS)).min(at_most))
    }
}
