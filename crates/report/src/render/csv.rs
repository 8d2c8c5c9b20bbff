//! The result as comma-separated values: a header with units in its names, then a row for each command of each step.

use ::csv::Writer;

use crate::histogram::Histogram;
use crate::model::{CommandResult, LatencyClock, RunResult, StepResult};

/// The columns, in order. New ones are added at the end.
pub const COLUMNS: [&str; 26] = [
    "step",
    "command",
    "connections",
    "threads",
    "pipeline",
    "payload_bytes",
    "target_rate_rps",
    "duration_s",
    "requests",
    "requests_per_s",
    "errors",
    "hits",
    "misses",
    "service_avg_ms",
    "service_p50_ms",
    "service_p95_ms",
    "service_p99_ms",
    "service_p99_9_ms",
    "service_max_ms",
    "response_avg_ms",
    "response_p50_ms",
    "response_p95_ms",
    "response_p99_ms",
    "response_p99_9_ms",
    "response_max_ms",
    "clock",
];

/// The label of the row of all commands together, which steps with several commands have.
const TOTALS: &str = "Totals";

/// All rows. `requests` are replies that were no errors; latencies are empty where there were none.
pub fn render(run: &RunResult) -> String {
    let mut writer = Writer::from_writer(Vec::new());
    write(&mut writer, &COLUMNS.map(String::from));
    for step in &run.steps {
        for command in &step.commands {
            write(&mut writer, &row(step, command, &command.label));
        }
        if step.commands.len() > 1 {
            write(&mut writer, &row(step, &step.totals, TOTALS));
        }
    }
    let bytes = writer.into_inner().expect("memory takes any number of rows");
    String::from_utf8(bytes).expect("rows are made of text")
}

fn write(writer: &mut Writer<Vec<u8>>, row: &[String]) {
    writer.write_record(row).expect("all rows have the same number of fields");
}

fn row(step: &StepResult, command: &CommandResult, label: &str) -> Vec<String> {
    let mut row = vec![
        step.title.clone(),
        label.to_owned(),
        step.connections.to_string(),
        step.threads.to_string(),
        step.pipeline.to_string(),
        step.payload_bytes.to_string(),
        step.target_rate_rps.map(|rate| rate.to_string()).unwrap_or_default(),
        format!("{:.6}", step.duration_s()),
        command.count.to_string(),
        format!("{:.2}", command.count_per_s(step.duration_ns)),
        command.error_count().to_string(),
        command.hits.to_string(),
        command.misses.to_string(),
    ];
    row.extend(latencies(&command.service));
    row.extend(latencies(&command.response));
    row.push(
        match step.clock {
            LatencyClock::FirstByte => "first_byte",
            LatencyClock::WholeBatch => "whole_batch",
            LatencyClock::PerRequest => "per_request",
        }
        .to_owned(),
    );
    row
}

fn latencies(histogram: &Histogram) -> [String; 6] {
    let percentile = |percentile| histogram.percentile_ns(percentile) as f64;
    [
        histogram.mean_ns(),
        percentile(50.0),
        percentile(95.0),
        percentile(99.0),
        percentile(99.9),
        histogram.max_ns() as f64,
    ]
    .map(|ns| if histogram.is_empty() { String::new() } else { format!("{:.6}", ns / 1e6) })
}
