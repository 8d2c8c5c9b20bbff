//! What is shown once a second while a run goes on: the progress line, or with `--realtime-latencies` a block of percentiles.

use std::collections::VecDeque;

use load::plan::connections::Staircase;
use load::{Plan, Snapshot};
use report::histogram::Histogram;

/// The state of a run at a moment, as the progress line, StatsD and Prometheus show it.
#[derive(Debug, Clone, Default)]
pub struct Beat {
    /// Number of the run, from 1.
    pub run: u32,
    /// How much of the run is over, 0 to 100 and beyond.
    pub percent: f64,
    /// Time since the start.
    pub elapsed_s: f64,
    /// Threads at work.
    pub threads: u32,
    /// Connections.
    pub connections: u32,
    /// Connections lost or not made so far.
    pub connection_errors: u64,
    /// Replies so far.
    pub operations: u64,
    /// Replies a second since the last beat.
    pub rate: f64,
    /// Replies a second since the start.
    pub rate_average: f64,
    /// Bytes so far: read, written.
    pub bytes: (u64, u64),
    /// Bytes a second since the last beat, both directions.
    pub bytes_rate: f64,
    /// Bytes a second since the start, both directions.
    pub bytes_rate_average: f64,
    /// Mean latency since the last beat.
    pub latency_ms: f64,
    /// Mean latency since the start.
    pub latency_average_ms: f64,
}

/// How long a run is.
#[derive(Debug, Clone, Copy, PartialEq)]
enum Length {
    /// So many requests over all connections.
    Requests(u64),
    /// So many seconds.
    Seconds(u64),
}

/// Makes beats out of snapshots.
#[derive(Debug)]
pub struct Pulse {
    run: u32,
    length: Length,
    threads: u32,
    connections: u32,
    staircase: Option<Staircase>,
    last: Beat,
    last_latency_sum_ns: u64,
    last_successes: u64,
}

impl Pulse {
    /// At the start of a run.
    pub fn new(run: u32, plan: &Plan) -> Self {
        Self {
            run,
            length: match (plan.stop.requests, plan.stop.duration_ms) {
                (Some(requests), _) => Length::Requests(requests),
                (None, duration_ms) => Length::Seconds(duration_ms.unwrap_or(0) / 1_000),
            },
            threads: plan.busy_threads(),
            connections: plan.connections,
            staircase: plan.lifetime.staircase,
            last: Beat::default(),
            last_latency_sum_ns: 0,
            last_successes: 0,
        }
    }

    /// Connections that send.
    fn active(&self, elapsed_ns: u64) -> u32 {
        let Some(Staircase { start, step, step_ms }) = self.staircase else {
            return self.connections;
        };
        let steps = elapsed_ns / 1_000_000 / step_ms.max(1);
        let active = u64::from(start).saturating_add(steps.saturating_mul(step.into()));
        active.min(self.connections.into()) as u32
    }

    /// The state now. At the end of a run no thread is at work any more, and what is "since the last beat" stays as it was.
    pub fn beat(&mut self, snapshot: &Snapshot, is_end: bool) -> Beat {
        let elapsed_s = snapshot.elapsed_ns as f64 / 1e9;
        let interval_s = elapsed_s - self.last.elapsed_s;
        let successes = snapshot.requests - snapshot.errors;
        let bytes = (snapshot.bytes_in, snapshot.bytes_out);
        let all_bytes = (bytes.0 + bytes.1) as f64;
        let last = &self.last;
        let ratio = |count: f64, over: f64| if over > 0.0 { count / over } else { 0.0 };
        let mut beat = Beat {
            run: self.run,
            percent: match self.length {
                Length::Requests(0) => 100.0,
                Length::Requests(requests) => snapshot.requests as f64 * 100.0 / requests as f64,
                Length::Seconds(seconds) => elapsed_s * 100.0 / seconds.max(1) as f64,
            },
            elapsed_s,
            threads: if is_end { 0 } else { self.threads },
            connections: self.active(snapshot.elapsed_ns),
            connection_errors: snapshot.connection_errors,
            operations: snapshot.requests,
            rate: last.rate,
            rate_average: ratio(snapshot.requests as f64, elapsed_s),
            bytes,
            bytes_rate: last.bytes_rate,
            bytes_rate_average: ratio(all_bytes, elapsed_s),
            latency_ms: last.latency_ms,
            latency_average_ms: ratio(snapshot.latency_sum_ns as f64 / 1e6, successes as f64),
        };
        if !is_end {
            let last_bytes = (last.bytes.0 + last.bytes.1) as f64;
            beat.rate = ratio((snapshot.requests - last.operations) as f64, interval_s);
            beat.bytes_rate = ratio(all_bytes - last_bytes, interval_s);
            let sum_ms = (snapshot.latency_sum_ns - self.last_latency_sum_ns) as f64 / 1e6;
            beat.latency_ms = ratio(sum_ms, (successes - self.last_successes) as f64);
        }
        self.last_latency_sum_ns = snapshot.latency_sum_ns;
        self.last_successes = successes;
        self.last = beat.clone();
        beat
    }
}

/// The progress line, with the carriage return in front of which it ends.
pub fn line(beat: &Beat) -> String {
    let errors = match beat.connection_errors {
        0 => String::new(),
        errors => format!(" {errors} conn errors"),
    };
    format!(
        "[RUN #{} {:.0}%, {:3.0} secs] {:2} threads {:2} conns{errors}: {:11} ops, {:7.0} (avg: {:7.0}) ops/sec, \
         {}/sec (avg: {}/sec), {:5.2} (avg: {:5.2}) msec latency\r",
        beat.run,
        beat.percent,
        beat.elapsed_s.floor(),
        beat.threads,
        beat.connections,
        beat.operations,
        beat.rate.floor(),
        beat.rate_average.floor(),
        size(beat.bytes_rate),
        size(beat.bytes_rate_average),
        beat.latency_ms,
        beat.latency_average_ms,
    )
}

/// Latencies of the last second, of a window of seconds, and of all.
#[derive(Debug)]
pub struct Windows {
    seconds: VecDeque<Histogram>,
    length: usize,
    all: Histogram,
    /// Number of the second that was added last.
    pub seen: Option<u32>,
}

impl Windows {
    /// Empty, with a window of so many seconds.
    pub fn new(window_s: u64) -> Self {
        Self {
            seconds: VecDeque::new(),
            length: window_s.max(1) as usize,
            all: Histogram::new(),
            seen: None,
        }
    }

    /// Adds a second.
    pub fn push(&mut self, second: Histogram) {
        self.all.merge(&second);
        self.seconds.push_back(second);
        if self.seconds.len() > self.length {
            self.seconds.pop_front();
        }
    }

    /// The last second.
    pub fn last(&self) -> Option<&Histogram> {
        self.seconds.back()
    }

    /// The block that stands in place of the progress line.
    pub fn block(&self, beat: &Beat, percentiles: &[f64]) -> String {
        let mut text = format!(
            "[RUN #{} {:.0}% {:.0}s] throughput {:.0} (avg: {:.0}) ops/sec\n",
            beat.run,
            beat.percent,
            beat.elapsed_s.floor(),
            beat.rate,
            beat.rate_average
        );
        let mut window = Histogram::new();
        self.seconds.iter().for_each(|second| window.merge(second));
        let empty = Histogram::new();
        let last = self.last().unwrap_or(&empty);
        for (name, latencies) in [
            ("inst".to_string(), last),
            (format!("win{}s", self.length), &window),
            ("overall".to_string(), &self.all),
        ] {
            text.push_str(&format!("  latency [{name:<8}]"));
            for percentile in percentiles {
                let ms = latencies.percentile_ns(*percentile) as f64 / 1e6;
                text.push_str(&format!(" p{percentile} {ms:.3} ms"));
            }
            text.push_str(&format!(" max {:.3} ms\n", latencies.max_ns() as f64 / 1e6));
        }
        text
    }
}

/// The picture of a staircase, before a run.
pub fn staircase(run: u32, stairs: &Stairs) -> String {
    const BAR: u32 = 20;
    let mut text = format!(
        "[RUN #{run}] Client staircase pattern (per thread x {} threads):\n",
        stairs.threads
    );
    let (mut clients, mut nth, mut from_s) = (stairs.start, 0, 0);
    loop {
        let clamped = clients.min(stairs.most);
        let until_s = from_s + stairs.step_s;
        let bar = "█".repeat((clamped * BAR / stairs.most.max(1)).max(1) as usize);
        let is_last = clamped == stairs.most;
        let mark = if is_last { "  (max)" } else { "" };
        text.push_str(&format!(
            "  Step {nth}: {from_s:3}s - {until_s:3}s : {clamped:3} clients  {bar}{mark}\n"
        ));
        if is_last {
            break;
        }
        (clients, nth, from_s) = (clients.saturating_add(stairs.step), nth + 1, until_s);
    }
    let verdict = if stairs.test_time_s >= from_s { "OK" } else { "too short" };
    text + &format!(
        "  Total max connections: {} x {} = {}\n  Minimum time to reach max: {from_s}s (test_time: {}s {verdict})\n\n",
        stairs.most,
        stairs.threads,
        stairs.most * stairs.threads,
        stairs.test_time_s
    )
}

/// A staircase, clients by thread.
#[derive(Debug, Clone, Copy)]
pub struct Stairs {
    /// At the start.
    pub start: u32,
    /// More with each step.
    pub step: u32,
    /// At the end.
    pub most: u32,
    /// Length of a step.
    pub step_s: u64,
    /// Threads.
    pub threads: u32,
    /// Length of the test.
    pub test_time_s: u64,
}

/// Bytes with two places and the unit of the original, whose K is 1024.
fn size(bytes: f64) -> String {
    let kib = bytes / 1024.0;
    if kib >= 1024.0 * 1024.0 {
        format!("{:.2}GB", kib / 1024.0 / 1024.0)
    } else if kib >= 1024.0 {
        format!("{:.2}MB", kib / 1024.0)
    } else {
        format!("{kib:.2}KB")
    }
}

#[cfg(test)]
mod tests {
    use load::control::Phase;
    use load::plan::Stop;

    use super::*;

    fn snapshot(elapsed_ms: u64, requests: u64) -> Snapshot {
        Snapshot {
            phase: Phase::Measuring,
            elapsed_ns: elapsed_ms * 1_000_000,
            requests,
            errors: 0,
            latency_sum_ns: requests * 300_000,
            bytes_in: requests * 1_000,
            bytes_out: requests * 48,
            connection_errors: 0,
            last_second: None,
        }
    }

    #[test]
    fn the_line_is_the_original_s() {
        let plan = Plan {
            connections: 4,
            threads: 1,
            stop: Stop { duration_ms: Some(4_000), ..Stop::default() },
            ..Plan::default()
        };
        let mut pulse = Pulse::new(1, &plan);
        pulse.beat(&snapshot(1_000, 30_000), false);
        let beat = pulse.beat(&snapshot(2_000, 50_000), false);
        assert_eq!(
            line(&beat),
            "[RUN #1 50%,   2 secs]  1 threads  4 conns:       50000 ops,   20000 (avg:   25000) ops/sec, \
             19.99MB/sec (avg: 24.99MB/sec),  0.30 (avg:  0.30) msec latency\r"
        );
        let end = pulse.beat(&snapshot(4_000, 60_000), true);
        assert_eq!((end.threads, end.rate, end.rate_average), (0, 20_000.0, 15_000.0));
    }

    #[test]
    fn a_staircase_ends_at_its_top() {
        let stairs = Stairs { start: 1, step: 3, most: 5, step_s: 2, threads: 2, test_time_s: 3 };
        let text = staircase(1, &stairs);
        assert!(text.contains("  Step 2:   4s -   6s :   5 clients  "), "{text}");
        assert!(text.ends_with(
            "  Total max connections: 5 x 2 = 10\n  Minimum time to reach max: 4s (test_time: 3s too short)\n\n"
        ));
        let mut plan = Plan { connections: 10, ..Plan::default() };
        plan.lifetime.staircase = Some(Staircase { start: 2, step: 6, step_ms: 2_000 });
        let mut pulse = Pulse::new(1, &plan);
        let active =
            [0, 1_999, 2_000, 9_000].map(|ms| pulse.beat(&snapshot(ms, 0), false).connections);
        assert_eq!(active, [2, 2, 8, 10]);
    }

    #[test]
    fn windows_forget_old_seconds() {
        let mut windows = Windows::new(2);
        for ms in 1..=3 {
            let mut second = Histogram::new();
            second.record(ms * 1_000_000, 1);
            windows.push(second);
        }
        let text = windows.block(&Beat { run: 1, ..Beat::default() }, &[50.0]);
        let lines: Vec<&str> = text.lines().collect();
        assert_eq!(lines[1], "  latency [inst    ] p50 3.000 ms max 3.000 ms");
        assert!(lines[2].starts_with("  latency [win2s   ] p50 2.0"), "{text}");
        assert!(lines[3].starts_with("  latency [overall ] p50 2.0"), "{text}");
    }
}
