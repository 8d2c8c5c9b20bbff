//! What resp-benchmark prints: the header, the live lines, the last line.

use load::Snapshot;
use report::histogram::Histogram;

use super::flags::Options;

/// Takes back the line before, on a terminal; the original prints it into pipes too.
const OVER: &str = "\x1b[F\x1b[2K";

/// What the run is about to do.
pub fn header(options: &Options) -> String {
    let connections = match options.clients {
        0 => "auto".to_string(),
        count => count.to_string(),
    };
    let target = match options.rate_rps {
        0 => "unlimited".to_string(),
        rate => rate.to_string(),
    };
    format!(
        "command: {}\nconnections: {connections}\ncount: {}\ntarget: {target}\nseconds: {}\npipeline: {}\n\
         short_connection: {}\ndbids: {:?}\n",
        options.command,
        options.requests,
        options.duration_s,
        options.pipeline,
        options.short_connection,
        options.databases,
    )
}

/// What was measured in all, over one or several runs of the engine.
#[derive(Debug, Default)]
pub struct Measured {
    /// Replies.
    pub count: u64,
    /// Measured time.
    pub duration_ns: u64,
    /// Latencies from the send to the last reply of the batch.
    pub latencies: Histogram,
}

impl Measured {
    /// Requests a second; 0 without any.
    pub fn rate_rps(&self) -> f64 {
        if self.duration_ns == 0 { 0.0 } else { self.count as f64 * 1e9 / self.duration_ns as f64 }
    }

    /// The last line of a measurement.
    pub fn last_line(&self, connections: u32) -> String {
        let rate_rps = self.rate_rps();
        let average_ns = self.latencies.mean_ns();
        let latencies = latencies(self.count, average_ns, &self.latencies);
        format!("{OVER}qps: {rate_rps:.0}, conn: {connections}, {latencies}\n\n")
    }

    /// The last line of loading.
    pub fn loaded_line(&self) -> String {
        let seconds = self.duration_ns as f64 / 1e9;
        format!("{OVER}Data loaded, qps: {:.0}, time elapsed: {seconds:.2}s\n\n", self.rate_rps())
    }
}

/// The lines on the way.
#[derive(Debug, Default)]
pub struct Live {
    /// What earlier runs of the engine measured, within the same part of the whole.
    done: Measured,
    /// Latencies of the seconds of this run that are complete, and how many those are.
    seconds: Histogram,
    seconds_seen: u32,
    /// Requests of this run when the line before was printed.
    shown: u64,
}

/// Which line is wanted.
#[derive(Debug, Clone, Copy)]
pub enum Line {
    /// The number of connections is being searched for.
    Search,
    /// The measurement.
    Measure,
    /// Loading, this many requests in all.
    Load(u64),
}

impl Live {
    /// Takes in the latencies of a second that is complete, each once.
    pub fn add_second(&mut self, second: u32, latencies: &Histogram) {
        if second >= self.seconds_seen {
            self.seconds_seen = second + 1;
            self.seconds.merge(latencies);
        }
    }

    /// The next run of the engine begins; what the last one measured replaces what was seen of it.
    pub fn next_run(&mut self, measured: &Measured) {
        self.done.count += measured.count;
        self.done.duration_ns += measured.duration_ns;
        self.done.latencies.merge(&measured.latencies);
        (self.seconds, self.seconds_seen, self.shown) = (Histogram::new(), 0, 0);
    }

    /// The line that is due, `interval_s` after the one before.
    pub fn line(
        &mut self,
        line: Line,
        snapshot: &Snapshot,
        connections: u32,
        interval_s: f64,
    ) -> String {
        let count = self.done.count + snapshot.requests;
        let rate_rps = snapshot.requests.saturating_sub(self.shown) as f64 / interval_s.max(1e-9);
        self.shown = snapshot.requests;
        let mut seen = self.done.latencies.clone();
        seen.merge(&self.seconds);
        let elapsed_ns = (self.done.duration_ns + snapshot.elapsed_ns).max(1);
        let overall_rps = match line {
            Line::Search => 0.0,
            Line::Measure | Line::Load(_) => count as f64 * 1e9 / elapsed_ns as f64,
        };
        if let Line::Load(wanted) = line {
            let share = count as f64 * 100.0 / wanted.max(1) as f64;
            return format!("{OVER}Data loading qps: {rate_rps:.0}, {share:.2}%\n");
        }
        let latency_sum_ns = self.done.latencies.mean_ns() * self.done.latencies.count() as f64
            + snapshot.latency_sum_ns as f64;
        let average_ns = latency_sum_ns / count.max(1) as f64;
        let latencies = latencies(count, average_ns, &seen);
        format!(
            "{OVER}qps: {rate_rps:.0}(overall {overall_rps:.0}), conn: {connections}, {latencies}\n"
        )
    }
}

/// Count, average and percentile, once there is one.
fn latencies(count: u64, average_ns: f64, latencies: &Histogram) -> String {
    if latencies.is_empty() {
        return "no data".into();
    }
    let p99_ns = latencies.percentile_ns(99.0) as f64;
    format!("cnt: {count}, avg: {}, p99: {}", time(average_ns), time(p99_ns))
}

/// A latency with the figures that the original gives it.
fn time(latency_ns: f64) -> String {
    let (ms, seconds) = (latency_ns / 1e6, latency_ns / 1e9);
    match latency_ns {
        ..1e6 => format!("{ms:.2}ms"),
        ..1e7 => format!("{ms:.1}ms"),
        ..1e8 => format!("{ms:.0}ms"),
        ..1e9 => format!("{seconds:.2}s"),
        ..1e10 => format!("{seconds:.1}s"),
        _ => format!("{seconds:.0}s"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn measured(count: u64, latency_ns: u64) -> Measured {
        let mut latencies = Histogram::new();
        latencies.record(latency_ns, count);
        Measured { count, duration_ns: 2_000_000_000, latencies }
    }

    #[test]
    fn times_have_the_original_s_figures() {
        for (latency_ns, text) in [
            (33_000.0, "0.03ms"),
            (4_130_000.0, "4.1ms"),
            (12_600_000.0, "13ms"),
            (157_000_000.0, "0.16s"),
            (1_270_000_000.0, "1.3s"),
            (12_700_000_000.0, "13s"),
        ] {
            assert_eq!(time(latency_ns), text);
        }
    }

    #[test]
    fn last_lines_are_over_all_of_the_measured_time() {
        let line = measured(1_000, 120_000).last_line(4);
        assert_eq!(
            line,
            format!("{OVER}qps: 500, conn: 4, cnt: 1000, avg: 0.12ms, p99: 0.12ms\n\n")
        );
        assert_eq!(Measured::default().last_line(1), format!("{OVER}qps: 0, conn: 1, no data\n\n"));
        let line = measured(1_000, 5).loaded_line();
        assert_eq!(line, format!("{OVER}Data loaded, qps: 500, time elapsed: 2.00s\n\n"));
    }

    #[test]
    fn live_lines_add_up_over_runs() {
        let mut live = Live::default();
        live.next_run(&measured(1_000, 100_000));
        let snapshot = Snapshot {
            elapsed_ns: 1_000_000_000,
            requests: 500,
            latency_sum_ns: 500 * 400_000,
            ..Snapshot::default()
        };
        let line = live.line(Line::Measure, &snapshot, 8, 0.25);
        assert_eq!(
            line,
            format!("{OVER}qps: 2000(overall 500), conn: 8, cnt: 1500, avg: 0.20ms, p99: 0.10ms\n")
        );
        let line = live.line(Line::Search, &snapshot, 8, 0.25);
        assert!(line.starts_with(&format!("{OVER}qps: 0(overall 0), conn: 8, cnt: 1500")));
        let line = live.line(Line::Load(3_000), &snapshot, 8, 0.25);
        assert_eq!(line, format!("{OVER}Data loading qps: 0, 50.00%\n"));
        let line = Live::default().line(Line::Measure, &snapshot, 8, 0.25);
        assert!(line.ends_with(", conn: 8, no data\n"), "{line}");
    }
}
