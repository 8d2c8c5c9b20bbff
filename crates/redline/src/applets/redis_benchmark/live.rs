//! The live line: every 250 ms, on standard output, overwritten by what comes next; the original prints it into pipes too.

use std::time::{Duration, Instant};

use load::Snapshot;
use load::control::Phase;

/// How often the line is printed.
const INTERVAL: Duration = Duration::from_millis(250);
/// How soon to look again while connections are being made, when the original prints nothing.
const SOON: Duration = Duration::from_millis(1);

/// The state behind the live line. Its beat goes on from test to test, so that short tests show none.
pub struct Live {
    next: Instant,
    previous_at: Option<Instant>,
    previous: Option<Snapshot>,
    printed_bytes: usize,
    rates_rps: Vec<f64>,
}

impl Live {
    /// The first line is due at once.
    pub fn new(now: Instant) -> Self {
        Self {
            next: now + SOON,
            previous_at: None,
            previous: None,
            printed_bytes: 0,
            rates_rps: Vec::new(),
        }
    }

    /// Begins a test.
    pub fn begin(&mut self) {
        self.previous = None;
        self.printed_bytes = 0;
        self.rates_rps.clear();
    }

    /// How long until the next line is due.
    pub fn wait(&self, now: Instant) -> Duration {
        self.next.saturating_duration_since(now)
    }

    /// The rates that this test's lines showed so far.
    pub fn rates_rps(&self) -> &[f64] {
        &self.rates_rps
    }

    /// Blanks over the last line, and the cursor at its start.
    pub fn clear(&self) -> String {
        format!("{:>width$}\r", " ", width = self.printed_bytes)
    }

    /// The line that is due now; nothing while connections are being made. `by_time` adds the elapsed seconds.
    pub fn line(&mut self, now: Instant, title: &str, by_time: bool, snapshot: Snapshot) -> String {
        if matches!(snapshot.phase, Phase::Idle | Phase::Connecting) {
            self.next = now + SOON;
            return String::new();
        }
        self.next = now + INTERVAL;
        let before = self.previous.filter(|before| before.phase == snapshot.phase);
        let requests = snapshot.requests - before.map_or(0, |before| before.requests);
        let latency_ns = snapshot.latency_sum_ns - before.map_or(0, |before| before.latency_sum_ns);
        let errors = snapshot.errors - before.map_or(0, |before| before.errors);
        let rate_rps = self
            .previous_at
            .map_or(0.0, |at| requests as f64 / now.duration_since(at).as_secs_f64());
        if before.is_some() {
            self.rates_rps.push(rate_rps);
        }
        let elapsed_s = snapshot.elapsed_ns as f64 / 1e9;
        let mut text = self.clear();
        let start = text.len();
        if snapshot.phase == Phase::WarmUp && by_time {
            text.push_str("Warming up ");
        }
        text.push_str(&format!(
            "{title}: rps={} (overall: {}) avg_msec={} (overall: {})",
            figure(rate_rps, 1),
            figure(snapshot.requests as f64 / elapsed_s, 1),
            figure(latency_ns as f64 / (requests - errors) as f64 / 1e6, 3),
            figure(
                snapshot.latency_sum_ns as f64 / (snapshot.requests - snapshot.errors) as f64 / 1e6,
                3
            ),
        ));
        if by_time {
            text.push_str(&format!(" {elapsed_s:.1} seconds"));
        }
        text.push('\r');
        self.printed_bytes = text.len() - start;
        self.previous_at = Some(now);
        self.previous = Some(snapshot);
        text
    }
}

/// A number; what can't be told yet is `-nan`, as C prints nought divided by nought.
fn figure(value: f64, places: usize) -> String {
    if value.is_finite() { format!("{value:.places$}") } else { "-nan".into() }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn snapshot(phase: Phase, elapsed_ms: u64, requests: u64) -> Snapshot {
        Snapshot {
            phase,
            elapsed_ns: elapsed_ms * 1_000_000,
            requests,
            latency_sum_ns: requests * 300_000,
            ..Snapshot::default()
        }
    }

    #[test]
    fn lines_are_the_original_s() {
        let start = Instant::now();
        let mut live = Live::new(start);
        live.begin();
        let first = live.line(start, "SET", false, snapshot(Phase::Measuring, 0, 0));
        assert_eq!(first, " \rSET: rps=0.0 (overall: -nan) avg_msec=-nan (overall: -nan)\r");
        assert_eq!(live.wait(start), INTERVAL);
        let later = start + INTERVAL;
        let second = live.line(later, "SET", false, snapshot(Phase::Measuring, 500, 1_000));
        let blanks = " ".repeat(first.len() - 2);
        let expected = "SET: rps=4000.0 (overall: 2000.0) avg_msec=0.300 (overall: 0.300)\r";
        assert_eq!(second, format!("{blanks}\r{expected}"));
        assert_eq!(live.clear().len(), expected.len() + 1);
        assert_eq!(live.rates_rps(), [4_000.0]);
        live.begin();
        assert_eq!(live.clear(), " \r");
    }

    #[test]
    fn nothing_is_printed_while_connecting() {
        let start = Instant::now();
        let mut live = Live::new(start);
        assert_eq!(live.line(start, "SET", false, snapshot(Phase::Connecting, 0, 0)), "");
        assert!(live.wait(start) <= SOON);
    }

    #[test]
    fn runs_by_time_show_it() {
        let start = Instant::now();
        let mut live = Live::new(start);
        let line = live.line(start, "SET", true, snapshot(Phase::WarmUp, 0, 0));
        assert!(
            line.starts_with(" \rWarming up SET: rps=") && line.ends_with(" 0.0 seconds\r"),
            "{line}"
        );
        let line =
            live.line(start + INTERVAL, "SET", true, snapshot(Phase::Measuring, 1_500, 3_000));
        assert!(line.contains("\rSET: rps=") && line.ends_with(" 1.5 seconds\r"), "{line}");
    }
}
