//! `--intrinsic-latency`: how long this machine itself keeps a busy process waiting. No server takes part.

use std::hint::black_box;
use std::io::Write;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};

use super::ModeError;

/// Turns of the work between two looks at the clock: far below a microsecond on any machine of today.
const TURNS: u32 = 16;

/// What was seen so far.
#[derive(Debug, Default)]
pub struct Gaps {
    runs: u64,
    worst_ns: u64,
}

impl Gaps {
    /// Takes a run in; a line if it is the worst so far by a whole microsecond.
    pub fn record(&mut self, ns: u64) -> Option<String> {
        self.runs += 1;
        let is_worse = ns / 1_000 > self.worst_ns / 1_000;
        self.worst_ns = self.worst_ns.max(ns);
        is_worse.then(|| format!("Max latency so far: {} microseconds.\n", ns / 1_000))
    }

    /// The last words, after runs of `passed` in all.
    pub fn summary(&self, passed: Duration) -> String {
        let mean_ns = passed.as_nanos() as f64 / self.runs.max(1) as f64;
        format!(
            "\n{} total runs (avg latency: {:.4} microseconds / {mean_ns:.2} nanoseconds per run).\n\
             Worst run took {:.0}x longer than the average latency.\n",
            self.runs,
            mean_ns / 1e3,
            self.worst_ns as f64 / mean_ns.max(f64::MIN_POSITIVE),
        )
    }
}

/// Works for `duration`, or until `is_interrupted`.
///
/// # Errors
/// [`ModeError::Output`].
pub fn run(
    duration: Duration,
    is_interrupted: &AtomicBool,
    out: &mut impl Write,
) -> Result<(), ModeError> {
    let mut gaps = Gaps::default();
    let start = Instant::now();
    let mut before = start;
    loop {
        black_box(work(black_box(gaps.runs)));
        let now = Instant::now();
        if let Some(line) = gaps.record((now - before).as_nanos() as u64) {
            out.write_all(line.as_bytes())?;
            out.flush()?;
            // The time that printing takes is not the machine's.
            before = Instant::now();
        } else {
            before = now;
        }
        if before - start >= duration || is_interrupted.load(Ordering::Relaxed) {
            break;
        }
    }
    out.write_all(gaps.summary(start.elapsed()).as_bytes())?;
    Ok(out.flush()?)
}

/// Something that takes a moment and touches no memory.
fn work(seed: u64) -> u64 {
    (0..TURNS).fold(seed | 1, |state, _| {
        let state = state ^ (state << 13);
        let state = state ^ (state >> 7);
        state ^ (state << 17)
    })
}

#[cfg(test)]
mod tests {
    use std::sync::atomic::AtomicBool;
    use std::time::Duration;

    use super::{Gaps, run};

    #[test]
    fn lines_come_with_whole_microseconds() {
        let mut gaps = Gaps::default();
        assert_eq!(gaps.record(999), None);
        assert_eq!(gaps.record(1_000).unwrap(), "Max latency so far: 1 microseconds.\n");
        assert_eq!(gaps.record(1_999), None);
        assert_eq!(gaps.record(26_402_000).unwrap(), "Max latency so far: 26402 microseconds.\n");
        assert_eq!(
            gaps.summary(Duration::from_nanos(4_000)),
            "\n4 total runs (avg latency: 1.0000 microseconds / 1000.00 nanoseconds per run).\n\
             Worst run took 26402x longer than the average latency.\n"
        );
    }

    #[test]
    fn an_interrupt_ends_it_with_the_summary() {
        let mut out = Vec::new();
        run(Duration::from_secs(600), &AtomicBool::new(true), &mut out).unwrap();
        let text = String::from_utf8(out).unwrap();
        assert!(text.contains("\n1 total runs (avg latency: "), "{text}");
    }
}
