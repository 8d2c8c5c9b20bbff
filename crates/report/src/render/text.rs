//! The result as a table for people: a heading that says what was measured, how and where, rows, and remarks.
//!
//! It fits into 80 columns with everyday figures, and has neither colours nor control characters.

use super::nodes;
use crate::calendar::Utc;
use crate::histogram::Histogram;
use crate::model::{CommandResult, RunResult, StepResult};

/// What the text is wrapped at, in columns.
const WIDTH: usize = 80;
/// The widest a title gets, in columns.
const TITLE_WIDTH: usize = 32;
/// The share of its time that a thread must have been busy for it to count as the limit.
const BUSY_SHARE: f64 = 0.9;
const HEADER: [&str; 10] =
    ["command", "req/s", "avg", "p50", "p95", "p99", "p99.9", "max", "errors", "misses"];

/// The whole report.
pub fn render(run: &RunResult) -> String {
    let mut out = heading(run);
    let is_open = run.steps.iter().any(|step| step.target_rate_rps.is_some());
    if is_open {
        out.push_str("\nResponse time in ms, due to done\n");
        out.push_str(&table(run, |command| &command.response));
        out.push_str("\nService time in ms, sent to done\n");
    } else {
        out.push_str("\nLatency in ms\n");
    }
    out.push_str(&table(run, |command| &command.service));
    out.push_str(&nodes::table(run));
    let remarks = remarks(run);
    if !remarks.is_empty() {
        out.push('\n');
    }
    for remark in remarks {
        push_wrapped(&mut out, "- ", &remark);
    }
    out
}

/// One line on one step, for people who watch the run: its title, rate and latencies.
pub fn step_line(step: &StepResult) -> String {
    let response = &step.totals.response;
    format!(
        "{}: {} requests/s, p50 {} ms, p99 {} ms{}",
        step.title,
        grouped(step.totals.count_per_s(step.duration_ns).round() as u64),
        milliseconds(response.percentile_ns(50.0)),
        milliseconds(response.percentile_ns(99.0)),
        match step.totals.error_count() {
            0 => String::new(),
            errors => format!(", {} errors", grouped(errors)),
        }
    )
}

fn heading(run: &RunResult) -> String {
    let date = Utc::from_unix_ms(run.started_at_unix_ms).sentence();
    let mut out = format!("{} {}, {date}\n", run.tool.name, run.tool.version);
    push_wrapped(&mut out, "Server   ", &server(run));
    push_wrapped(&mut out, "Machine  ", &machine(run));
    if let Some(first) = run.steps.first() {
        push_wrapped(&mut out, "Load     ", &load(run));
        let clock = if first.target_rate_rps.is_some() {
            format!(
                "service time is {}; response time begins when a request was due",
                first.clock.describe()
            )
        } else {
            format!(
                "service time: {}; in a closed loop a request is due when it is sent, so response time \
                 is the same",
                first.clock.describe()
            )
        };
        push_wrapped(&mut out, "Clock    ", &clock);
    }
    out
}

fn server(run: &RunResult) -> String {
    let target = &run.target;
    let mut parts = Vec::new();
    if target.server_name.is_empty() {
        parts.push("unknown".to_owned());
    } else {
        parts.push(format!("{} {}", target.server_name, target.server_version).trim().to_owned());
    }
    if target.embedded {
        parts.push("embedded in this program".to_owned());
    }
    if target.server_threads > 0 {
        parts.push(counted(target.server_threads.into(), "thread"));
    }
    parts.push(target.url.clone());
    parts.join(", ")
}

fn machine(run: &RunResult) -> String {
    let machine = &run.machine;
    let mut parts = vec![machine.cpu_model.clone()];
    if machine.cores > 0 {
        parts.push(counted(machine.cores.into(), "core"));
    }
    if machine.memory_bytes > 0 {
        parts.push(format!("{:.1} GiB", machine.memory_bytes as f64 / f64::from(1 << 30)));
    }
    parts.push(machine.kernel.clone());
    parts.push(machine.os.clone());
    parts.retain(|part| !part.is_empty());
    parts.join(", ")
}

/// What all steps have in common; where they differ, the least and the greatest.
fn load(run: &RunResult) -> String {
    let span = |field: fn(&StepResult) -> u64| {
        let values = run.steps.iter().map(field);
        (values.clone().min().unwrap_or(0), values.max().unwrap_or(0))
    };
    let ranged = |(least, most): (u64, u64)| {
        if least == most {
            grouped(least)
        } else {
            format!("{} to {}", grouped(least), grouped(most))
        }
    };
    let connections = span(|step| step.connections.into());
    let threads = span(|step| step.threads.into());
    let payload = span(|step| step.payload_bytes);
    let mut parts = vec![
        format!("{} connection{}", ranged(connections), plural(connections.1)),
        format!("{} thread{}", ranged(threads), plural(threads.1)),
        format!("pipeline {}", ranged(span(|step| step.pipeline.into()))),
    ];
    if payload.1 > 0 {
        let most = grouped(payload.1);
        parts.push(format!("values of {most} byte{}", plural(payload.1)));
    }
    parts.extend(run.steps.iter().find_map(|step| step.tls.clone()));
    let rate = run.steps.iter().find_map(|step| step.target_rate_rps);
    parts.push(match rate {
        Some(rate) => format!("open loop at {} requests/s", decimal(rate)),
        None => "closed loop".to_owned(),
    });
    let seconds = |(least, most): (u64, u64)| {
        let (least, most) = (least as f64 / 1e9, most as f64 / 1e9);
        // Steps that end with a reply differ by less than anybody wants to read.
        if most - least < 0.1 {
            format!("{most:.1} s a step")
        } else {
            format!("{least:.1} to {most:.1} s a step")
        }
    };
    parts.push(seconds(span(|step| step.duration_ns)));
    parts.join(", ")
}

fn table(run: &RunResult, latency: fn(&CommandResult) -> &Histogram) -> String {
    let mut rows = vec![HEADER.map(String::from)];
    for step in &run.steps {
        rows.push(row(&step.title, step, &step.totals, latency));
        if step.commands.len() > 1 {
            for command in &step.commands {
                rows.push(row(&format!("  {}", command.label), step, command, latency));
            }
        }
    }
    let mut widths = [0; HEADER.len()];
    for row in &rows {
        for (width, cell) in widths.iter_mut().zip(row) {
            *width = (*width).max(cell.chars().count());
        }
    }
    let gaps = HEADER.len() - 1;
    let gap = if widths.iter().sum::<usize>() + 2 * gaps > WIDTH { " " } else { "  " };
    let mut out = String::new();
    for row in rows {
        out.push_str(&format!("{:<width$}", row[0], width = widths[0]));
        for (cell, width) in row.iter().zip(widths).skip(1) {
            out.push_str(&format!("{gap}{cell:>width$}"));
        }
        out.push('\n');
    }
    out
}

fn row(
    title: &str,
    step: &StepResult,
    command: &CommandResult,
    latency: fn(&CommandResult) -> &Histogram,
) -> [String; HEADER.len()] {
    let histogram = latency(command);
    let cell = |ns| if histogram.is_empty() { "-".to_owned() } else { milliseconds(ns) };
    let is_read = command.hits + command.misses > 0;
    [
        cut(title),
        grouped(command.count_per_s(step.duration_ns).round() as u64),
        cell(histogram.mean_ns().round() as u64),
        cell(histogram.percentile_ns(50.0)),
        cell(histogram.percentile_ns(95.0)),
        cell(histogram.percentile_ns(99.0)),
        cell(histogram.percentile_ns(99.9)),
        cell(histogram.max_ns()),
        short_count(command.error_count()),
        if is_read { short_count(command.misses) } else { "-".to_owned() },
    ]
}

/// What the table does not show: errors by class, a rate not reached, the generator as the limit, an early end.
fn remarks(run: &RunResult) -> Vec<String> {
    let mut remarks = run.notes.clone();
    for step in &run.steps {
        remarks.extend(error_remark(step));
        remarks.extend(nodes::retry_remark(step));
        remarks.extend(nodes::outage_remark(step));
        remarks.extend(rate_remark(step));
    }
    let busy: Vec<&str> = run
        .steps
        .iter()
        .filter(|step| is_client_limited(step))
        .map(|step| step.title.as_str())
        .collect();
    if !busy.is_empty() {
        remarks.push(format!(
            "Client-limited: the generator's threads were busy for at least {:.0} % of the time in {}; \
             the server may be faster than this.",
            BUSY_SHARE * 100.0,
            busy.join(", ")
        ));
    }
    if run.interrupted {
        remarks.push("Interrupted: this is what was measured until then.".to_owned());
    }
    if let Some(error) = &run.error {
        remarks.push(format!("Ended early: {error}"));
    }
    remarks
}

fn error_remark(step: &StepResult) -> Option<String> {
    let classes: Vec<String> = step
        .totals
        .errors
        .iter()
        .map(|(class, count)| format!("{class} {}", grouped(*count)))
        .collect();
    let title = cut(&step.title);
    (!classes.is_empty())
        .then(|| format!("{title}: error replies by class: {}", classes.join(", ")))
}

/// An open loop that fell behind by more than a hundredth says so.
fn rate_remark(step: &StepResult) -> Option<String> {
    let asked = step.target_rate_rps?;
    (step.requests_per_s() < asked * 0.99).then(|| {
        format!(
            "{}: {} requests/s were due, {} were answered; the latest was sent {} ms after it was due, \
             {} had no answer at the end.",
            cut(&step.title),
            decimal(asked),
            grouped(step.requests_per_s().round() as u64),
            milliseconds(step.generator.max_send_lag_ns),
            grouped(step.unanswered),
        )
    })
}

/// Whether the threads together were busy for almost all of the measured time.
fn is_client_limited(step: &StepResult) -> bool {
    let cpu_ns: u64 = step.generator.thread_cpu_ns.iter().sum();
    let wall_ns = step.duration_ns as f64 * step.generator.thread_cpu_ns.len() as f64;
    wall_ns > 0.0 && cpu_ns as f64 >= BUSY_SHARE * wall_ns
}

/// Milliseconds with three decimals; fewer from 1 s on, so that columns stay narrow.
pub fn milliseconds(ns: u64) -> String {
    let decimals = match ns {
        0..1_000_000_000 => 3,
        1_000_000_000..10_000_000_000 => 1,
        _ => 0,
    };
    format!("{:.decimals$}", ns as f64 / 1e6)
}

/// Digits in groups of three.
pub fn grouped(count: u64) -> String {
    let digits = count.to_string();
    let mut out = String::with_capacity(digits.len() + digits.len() / 3);
    for (nth, digit) in digits.chars().enumerate() {
        if nth > 0 && (digits.len() - nth).is_multiple_of(3) {
            out.push(',');
        }
        out.push(digit);
    }
    out
}

/// In a narrow column: thousands in full, beyond them with a unit.
fn short_count(count: u64) -> String {
    match count {
        0..100_000 => grouped(count),
        100_000..1_000_000 => format!("{}k", count / 1_000),
        1_000_000..1_000_000_000 => format!("{:.1}M", count as f64 / 1e6),
        _ => format!("{:.1}G", count as f64 / 1e9),
    }
}

/// A rate: grouped when it is whole.
fn decimal(rate: f64) -> String {
    if rate.fract() == 0.0 && rate < 1e15 { grouped(rate as u64) } else { format!("{rate}") }
}

fn counted(count: u64, noun: &str) -> String {
    format!("{} {noun}{}", grouped(count), plural(count))
}

fn plural(count: u64) -> &'static str {
    if count == 1 { "" } else { "s" }
}

fn cut(title: &str) -> String {
    if title.chars().count() <= TITLE_WIDTH {
        return title.to_owned();
    }
    title.chars().take(TITLE_WIDTH - 1).chain(['…']).collect()
}

/// Appends words as lines of at most [`WIDTH`] columns, the first behind `label`, the others below its end.
fn push_wrapped(out: &mut String, label: &str, text: &str) {
    let indent = label.chars().count();
    let mut column = indent;
    out.push_str(label);
    for (nth, word) in text.split_whitespace().enumerate() {
        let width = word.chars().count();
        if nth > 0 && column + 1 + width > WIDTH {
            out.push('\n');
            out.push_str(&" ".repeat(indent));
            column = indent;
        } else if nth > 0 {
            out.push(' ');
            column += 1;
        }
        out.push_str(word);
        column += width;
    }
    out.push('\n');
}
