//! What redis-benchmark prints, as text: the report of a test, the line of `-q`, the row of `--csv`, and the live line.
//!
//! Scripts read these, so that widths, blanks and carriage returns are those of the original. Rates are single precision
//! as there; that is why `666666.69` can stand where no such rate was measured.

use std::fmt::Write as _;

use report::StepResult;

use super::cluster::NodeSettings;
use super::flags::Options;
use super::grid::{Grid, Line};
use super::server_config::ServerConfig;

/// The first line of `--csv`.
pub const CSV_HEADER: &str = "\"test\",\"rps\",\"avg_latency_ms\",\"min_latency_ms\",\"p50_latency_ms\",\
                              \"p95_latency_ms\",\"p99_latency_ms\",\"max_latency_ms\"\n";

/// What a report shows of the servers.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Settings {
    /// Nothing: the server would not say.
    Unknown,
    /// The settings of the one server.
    Host(ServerConfig),
    /// Those of the nodes of a cluster.
    Cluster(NodeSettings),
}

/// The result of one test in the form that the options ask for. `rates_rps` are the rates that the live line saw.
pub fn result(
    step: &StepResult,
    options: &Options,
    settings: &Settings,
    rates_rps: &[f64],
) -> String {
    let grid = Grid::of(&step.totals.service, options.figures);
    if options.csv {
        return csv_row(step, &grid);
    }
    if options.quiet {
        return format!(
            "{}: {:.2} requests per second, p50={:.3} msec\n",
            step.title,
            throughput_rps(step),
            milliseconds(grid.percentile_us(50.0))
        );
    }
    report(step, options, settings, rates_rps, &grid)
}

fn csv_row(step: &StepResult, grid: &Grid) -> String {
    let mut row = format!("\"{}\",\"{:.2}\"", step.title, throughput_rps(step));
    for latency_ms in summary_ms(grid) {
        let _ = write!(row, ",\"{latency_ms:.3}\"");
    }
    row.push('\n');
    row
}

fn report(
    step: &StepResult,
    options: &Options,
    settings: &Settings,
    rates_rps: &[f64],
    grid: &Grid,
) -> String {
    let mut text = format!(
        "====== {} ======\n  {} requests completed in {:.2} seconds\n  {} parallel clients\n  {} bytes payload\n  \
         keep alive: {}\n",
        step.title,
        step.requests,
        step.duration_s(),
        options.clients,
        step.payload_bytes,
        u8::from(options.keep_alive),
    );
    match settings {
        Settings::Unknown => {}
        Settings::Host(config) => {
            let _ = writeln!(text, "  host configuration \"save\": {}", config.save);
            let _ = writeln!(text, "  host configuration \"appendonly\": {}", config.appendonly);
        }
        Settings::Cluster(nodes) => text.push_str(&nodes.text()),
    }
    match options.threads {
        0 => text.push_str("  multi-thread: no\n"),
        threads => {
            let _ = write!(text, "  multi-thread: yes\n  threads: {threads}\n");
        }
    }
    if options.rate_rps > 0 {
        rates(&mut text, options.rate_rps, rates_rps);
    }
    text.push_str("\nLatency by percentile distribution:\n");
    distribution(&mut text, &grid.by_percentile());
    text.push_str("\nCumulative distribution of latencies:\n");
    distribution(&mut text, &grid.cumulative());
    let _ = write!(
        text,
        "\nSummary:\n  throughput summary: {:.2} requests per second\n  latency summary (msec):\n",
        throughput_rps(step)
    );
    six_columns(&mut text, summary_ms(grid));
    text
}

fn distribution(text: &mut String, lines: &[Line]) {
    for Line { percent, latency_us, count } in lines {
        let latency_ms = milliseconds(*latency_us);
        let _ = writeln!(
            text,
            "{percent:.3}% <= {latency_ms:.3} milliseconds (cumulative count {count})"
        );
    }
}

/// Valkey's block about how well a rate was kept.
fn rates(text: &mut String, target_rps: u64, rates_rps: &[f64]) {
    let mut sorted = rates_rps.to_vec();
    sorted.sort_by(f64::total_cmp);
    let at = |percent: f64| {
        let rank = (percent / 100.0 * sorted.len() as f64 + 0.5) as usize;
        sorted.get(rank.max(1) - 1).copied().unwrap_or_default()
    };
    let mean = sorted.iter().sum::<f64>() / sorted.len().max(1) as f64;
    let _ = write!(
        text,
        "\nRPS Summary:\n  target RPS: {:.2}\n  RPS distribution (reqs/sec):\n",
        target_rps as f64
    );
    six_columns(text, [mean, at(0.0), at(50.0), at(95.0), at(99.0), at(100.0)]);
}

fn six_columns(text: &mut String, values: [f64; 6]) {
    text.push_str("   ");
    for name in ["avg", "min", "p50", "p95", "p99", "max"] {
        let _ = write!(text, " {name:>9}");
    }
    text.push_str("\n   ");
    for value in values {
        let _ = write!(text, " {value:9.3}");
    }
    text.push('\n');
}

/// Mean, minimum, p50, p95, p99 and maximum.
fn summary_ms(grid: &Grid) -> [f64; 6] {
    [
        f64::from(grid.mean_us() as f32 / 1_000.0),
        milliseconds(grid.min_us()),
        milliseconds(grid.percentile_us(50.0)),
        milliseconds(grid.percentile_us(95.0)),
        milliseconds(grid.percentile_us(99.0)),
        milliseconds(grid.max_us()),
    ]
}

fn milliseconds(latency_us: u64) -> f64 {
    f64::from(latency_us as f32 / 1_000.0)
}

fn throughput_rps(step: &StepResult) -> f64 {
    if step.duration_ns == 0 {
        return 0.0;
    }
    f64::from(step.requests as f32 / step.duration_s() as f32)
}

#[cfg(test)]
mod tests {
    use report::model::{CommandResult, Generator, LatencyClock};

    use super::*;

    fn step() -> StepResult {
        let mut totals = CommandResult::new("Totals");
        totals.service.record(335_000, 1_990);
        totals.service.record(1_151_000, 10);
        StepResult {
            title: "SET".into(),
            requests: 2_000,
            unanswered: 0,
            duration_ns: 43_000_000,
            started_at_unix_ms: 1,
            connections: 50,
            threads: 1,
            pipeline: 1,
            payload_bytes: 3,
            keep_alive: true,
            tls: None,
            target_rate_rps: None,
            clock: LatencyClock::FirstByte,
            commands: Vec::new(),
            totals,
            series: Vec::new(),
            generator: Generator::default(),
            bytes_in: 0,
            bytes_out: 0,
            lifetime: Default::default(),
            clients: Vec::new(),
            interrupted: false,
            cluster: None,
            outage: None,
        }
    }

    #[test]
    fn a_quiet_line_has_the_original_s_single_precision() {
        let options = Options { quiet: true, ..Options::default() };
        // 2000 requests in 43 ms: what redis-benchmark 7.0 printed.
        let expected = "SET: 46511.62 requests per second, p50=0.335 msec\n";
        assert_eq!(result(&step(), &options, &Settings::Unknown, &[]), expected);
        let step = StepResult { duration_ns: 3_000_000, ..step() };
        assert!(
            result(&step, &options, &Settings::Unknown, &[]).starts_with("SET: 666666.69 requests")
        );
    }

    #[test]
    fn a_csv_row_quotes_every_field() {
        let options = Options { csv: true, ..Options::default() };
        let expected =
            "\"SET\",\"46511.62\",\"0.336\",\"0.328\",\"0.335\",\"0.335\",\"0.335\",\"1.151\"\n";
        assert_eq!(result(&step(), &options, &Settings::Unknown, &[]), expected);
    }

    #[test]
    fn the_report_has_the_original_s_lines() {
        let config = ServerConfig { save: String::new(), appendonly: "no".into() };
        let options = Options { threads: 2, ..Options::default() };
        let expected = "\
====== SET ======
  2000 requests completed in 0.04 seconds
  50 parallel clients
  3 bytes payload
  keep alive: 1
  host configuration \"save\": 
  host configuration \"appendonly\": no
  multi-thread: yes
  threads: 2

Latency by percentile distribution:
0.000% <= 0.335 milliseconds (cumulative count 1990)
99.609% <= 1.151 milliseconds (cumulative count 2000)
100.000% <= 1.151 milliseconds (cumulative count 2000)

Cumulative distribution of latencies:
0.000% <= 0.103 milliseconds (cumulative count 0)
99.500% <= 0.407 milliseconds (cumulative count 1990)
100.000% <= 1.207 milliseconds (cumulative count 2000)

Summary:
  throughput summary: 46511.62 requests per second
  latency summary (msec):
          avg       min       p50       p95       p99       max
        0.336     0.328     0.335     0.335     0.335     1.151
";
        assert_eq!(result(&step(), &options, &Settings::Host(config), &[]), expected);
        let without = result(&step(), &Options::default(), &Settings::Unknown, &[]);
        assert!(!without.contains("host configuration"));
        assert!(without.contains("  keep alive: 1\n  multi-thread: no\n\nLatency"));
    }

    #[test]
    fn a_rate_has_its_block() {
        let options = Options { rate_rps: 1_000, ..Options::default() };
        let text = result(&step(), &options, &Settings::Unknown, &[1_000.0, 998.0, 1_002.0]);
        let block = "  multi-thread: no\n\nRPS Summary:\n  target RPS: 1000.00\n  RPS distribution (reqs/sec):\n";
        let figures = " 1000.000   998.000  1000.000  1002.000  1002.000  1002.000\n\nLatency by";
        assert!(text.contains(block) && text.contains(figures), "{text}");
    }
}
