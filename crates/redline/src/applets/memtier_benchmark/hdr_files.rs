//! `--hdr-file-prefix`: each histogram as a table of percentiles (`.txt`) and as a histogram log (`.hgrm`), in microseconds.

use report::calendar::Utc;
use report::histogram::Histogram;

use super::distribution::ticks;
use super::stats::Stats;

/// Buckets and sub-buckets of a histogram of three figures from a microsecond to an hour, as HdrHistogram counts them.
const SHAPE: (u32, u32) = (22, 2048);

/// A histogram with its place in the file names and in the headings.
pub struct Part<'a> {
    /// `FULL_RUN` or `SET_command_run`.
    pub file: String,
    /// `Full Run` or `SET`.
    pub title: String,
    /// The latencies.
    pub latencies: &'a Histogram,
}

/// What is written of one run: all together, then each kind of request but WAIT.
pub fn parts(stats: &Stats) -> Vec<Part<'_>> {
    let mut rows: Vec<_> =
        stats.rows.iter().filter(|row| !(stats.is_set_get && row.raw == "WAIT")).collect();
    if stats.is_set_get {
        // The original's order: GET before SET.
        rows.reverse();
    }
    let all = Part {
        file: "FULL_RUN".into(),
        title: "Full Run".into(),
        latencies: &stats.totals.latencies,
    };
    let each = rows.into_iter().map(|row| Part {
        file: format!("{}_command_run", row.raw.replace(['/', ' ', '<', '>'], "_")),
        title: row.raw.clone(),
        latencies: &row.latencies,
    });
    [all].into_iter().chain(each).collect()
}

/// The table of percentiles.
pub fn percentile_table(latencies: &Histogram) -> String {
    let mut text = format!(
        "{:>12} {:>12} {:>12} {}\n\n",
        "Value", "Percentile", "TotalCount", "1/(1-Percentile)"
    );
    for tick in ticks(latencies) {
        let share = tick.percentile / 100.0;
        let inverse = 1.0 / (1.0 - share);
        let inverse = if inverse.is_finite() { format!("{inverse:.2}") } else { "inf".into() };
        text.push_str(&format!(
            "{:12.3} {share:12.6} {:12} {inverse:>12}\n",
            tick.value_ns as f64 / 1e6,
            tick.cumulative
        ));
    }
    text.push_str(&format!(
        "#[Mean    = {:12.3}, StdDeviation   = {:12.3}]\n#[Max     = {:12.3}, Total count    = {:12}]\n\
         #[Buckets = {:12}, SubBuckets     = {:12}]\n",
        latencies.mean_ns() / 1e6,
        deviation_ns(latencies) / 1e6,
        latencies.max_ns() as f64 / 1e6,
        latencies.count(),
        SHAPE.0,
        SHAPE.1,
    ));
    text
}

/// The histogram log: one interval, the whole run.
pub fn log(part: &Part<'_>, stats: &Stats) -> String {
    let start_ms = stats.started_at_unix_ms;
    let seconds = |ms: u64| format!("{}.{:03}", ms / 1_000, ms % 1_000);
    format!(
        "#[{} command HDR latency histogram results]\n#[Histogram log format version 1.2]\n\
         #[StartTime: {} (seconds since epoch), {}]\n\
         \"StartTimestamp\",\"EndTimestamp\",\"Interval_Max\",\"Interval_Compressed_Histogram\"\n{},{},{:.1},{}\n",
        part.title,
        seconds(start_ms),
        Utc::from_unix_ms(start_ms).sentence(),
        seconds(start_ms),
        seconds(start_ms + stats.duration_ns / 1_000_000),
        part.latencies.max_ns() as f64 / 1e3,
        part.latencies.to_hdr_base64_us(),
    )
}

fn deviation_ns(latencies: &Histogram) -> f64 {
    let mean = latencies.mean_ns();
    let squares: f64 = latencies
        .buckets()
        .map(|bucket| (bucket.highest_ns as f64 - mean).powi(2) * bucket.count as f64)
        .sum();
    if latencies.is_empty() { 0.0 } else { (squares / latencies.count() as f64).sqrt() }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_table_ends_with_its_figures() {
        let mut latencies = Histogram::new();
        latencies.record(1_000_000, 2);
        latencies.record(3_000_000, 2);
        let text = percentile_table(&latencies);
        assert!(text.starts_with("       Value   Percentile   TotalCount 1/(1-Percentile)\n\n"));
        let last: Vec<&str> = text.lines().rev().take(4).collect();
        assert_eq!(last[3], "       3.000     1.000000            4          inf");
        assert_eq!(last[2], "#[Mean    =        2.000, StdDeviation   =        1.000]");
        assert_eq!(last[1], "#[Max     =        3.000, Total count    =            4]");
    }
}
