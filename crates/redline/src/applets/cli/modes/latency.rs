//! `--latency`, `--latency-history` and `--latency-percentiles`: how long a `PING` takes, measured a hundred times a second.
//!
//! Inside everything is exact to the nanosecond. The lines have the original's shape: without percentiles the extremes are whole
//! milliseconds (rounded outward, so that they still bound every sample) and the mean has two places; with percentiles, which came
//! with microseconds in the original too, all figures are milliseconds with three places.

use std::fmt::Write as _;
use std::io::{IsTerminal, Write};
use std::time::{Duration, Instant};

use report::Histogram;

use super::ModeError;
use super::live_block::terminal_size;
use super::patient::Patient;

/// Wait between two samples; the original's.
pub const SAMPLE_WAIT: Duration = Duration::from_millis(10);
/// Length of a window of `--latency-history` without `-i`.
const HISTORY_WINDOW: Duration = Duration::from_secs(15);
/// Length of a run that is not watched on a terminal, without `-i`.
const UNWATCHED_RUN: Duration = Duration::from_secs(1);
/// Most percentiles in a list.
const PERCENTILES_MAX: usize = 32;

/// What a line looks like.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Form {
    /// For people: rewritten in place, for ever.
    Standard,
    /// Figures with spaces between.
    Raw,
    /// Figures with commas between.
    Csv,
    /// An object.
    Json,
}

/// What is asked for.
#[derive(Debug)]
pub struct Settings<'a> {
    /// What lines look like.
    pub form: Form,
    /// Start again after each window.
    pub is_history: bool,
    /// Length of a window, or of an unwatched run, if one is set.
    pub interval: Option<Duration>,
    /// Percentiles to show, 0 to 100.
    pub percentiles: &'a [f64],
}

/// Measures until the run is over: in the standard form and with a history it never is.
///
/// # Errors
/// All kinds of [`ModeError`].
pub fn run(
    settings: &Settings<'_>,
    server: &mut Patient<'_>,
    out: &mut impl Write,
) -> Result<(), ModeError> {
    let default = if settings.is_history { HISTORY_WINDOW } else { UNWATCHED_RUN };
    let window_length = settings.interval.unwrap_or(default);
    let mut window = Histogram::new();
    let mut window_start = Instant::now();
    let mut shown = 0;
    loop {
        window.record(server.ping_ns()?, 1);
        let passed = window_start.elapsed();
        let line = line(&window, settings.form, settings.percentiles);
        if settings.form == Form::Standard {
            write!(out, "{}{line}", clear_shown(shown, terminal_columns()))?;
            shown = line.len();
        } else if settings.is_history {
            writeln!(out, "{line}")?;
        } else if passed > window_length {
            writeln!(out, "{line}")?;
            out.flush()?;
            return Ok(());
        }
        if settings.is_history && passed > window_length {
            writeln!(out, " -- {:.2} seconds range", passed.as_secs_f64())?;
            window = Histogram::new();
            window_start = Instant::now();
            shown = 0;
        }
        out.flush()?;
        std::thread::sleep(SAMPLE_WAIT);
    }
}

/// Reads a list as `50,99,99.9`.
///
/// # Errors
/// One sentence on what is wrong with it.
pub fn parse_percentiles(list: &str) -> Result<Vec<f64>, String> {
    let percentiles: Vec<f64> = list.split(',').map(parse_percentile).collect::<Result<_, _>>()?;
    if percentiles.len() > PERCENTILES_MAX {
        return Err(format!("--latency-percentiles takes at most {PERCENTILES_MAX} figures"));
    }
    Ok(percentiles)
}

/// The line of a window, without an end of line.
pub fn line(window: &Histogram, form: Form, percentiles: &[f64]) -> String {
    let (min, max, mean) = if percentiles.is_empty() {
        let (min_ms, max_ms) = (window.min_ns() / 1_000_000, window.max_ns().div_ceil(1_000_000));
        (min_ms.to_string(), max_ms.to_string(), format!("{:.2}", window.mean_ns() / 1e6))
    } else {
        (
            milliseconds(window.min_ns() as f64),
            milliseconds(window.max_ns() as f64),
            milliseconds(window.mean_ns()),
        )
    };
    let count = window.count();
    let figure = |percentile: &f64| milliseconds(window.percentile_ns(*percentile) as f64);
    let mut text = match form {
        Form::Standard => format!("min: {min}, max: {max}, avg: {mean} ({count} samples)"),
        Form::Raw => format!("{min} {max} {mean} {count}"),
        Form::Csv => format!("{min},{max},{mean},{count}"),
        Form::Json => {
            format!("{{\"min\": {min}, \"max\": {max}, \"avg\": {mean}, \"count\": {count}")
        }
    };
    for (index, percentile) in percentiles.iter().enumerate() {
        let figure = figure(percentile);
        let written = match form {
            Form::Standard => write!(text, ", p{percentile}: {figure}"),
            Form::Raw => write!(text, " {figure}"),
            Form::Csv => write!(text, ",{figure}"),
            Form::Json => {
                let before = if index == 0 { ", \"percentiles\": {" } else { ", " };
                write!(text, "{before}\"{percentile}\": {figure}")
            }
        };
        written.expect("a String takes all that is written to it");
    }
    if form == Form::Json {
        text.push_str(if percentiles.is_empty() { "}" } else { "}}" });
    }
    text
}

fn parse_percentile(text: &str) -> Result<f64, String> {
    match text.trim().parse::<f64>() {
        Ok(percentile) if (0.0..=100.0).contains(&percentile) => Ok(percentile),
        _ => Err(format!(
            "--latency-percentiles takes figures from 0 to 100 with commas between, not '{text}'"
        )),
    }
}

/// Columns of the terminal, if there is one.
fn terminal_columns() -> Option<usize> {
    std::io::stdout().is_terminal().then(|| terminal_size().0)
}

/// What clears a line of `length` characters at whose end the cursor stands; one that is wider than the terminal has taken more rows.
fn clear_shown(length: usize, columns: Option<usize>) -> String {
    match length.saturating_sub(1) / columns.unwrap_or(usize::MAX) {
        0 => "\x1b[0G\x1b[2K".to_owned(),
        rows => format!("\x1b[{rows}A\x1b[0G\x1b[J"),
    }
}

fn milliseconds(ns: f64) -> String {
    format!("{:.3}", ns / 1e6)
}

#[cfg(test)]
mod tests {
    use report::Histogram;

    use super::{Form, clear_shown, line, parse_percentiles};

    fn window() -> Histogram {
        let mut window = Histogram::new();
        window.record(31_000, 97);
        window.record(2_336_000, 3);
        window
    }

    #[test]
    fn whole_milliseconds_bound_the_samples() {
        let line = |form| line(&window(), form, &[]);
        assert_eq!(line(Form::Standard), "min: 0, max: 3, avg: 0.10 (100 samples)");
        assert_eq!(line(Form::Raw), "0 3 0.10 100");
        assert_eq!(line(Form::Csv), "0,3,0.10,100");
        assert_eq!(line(Form::Json), r#"{"min": 0, "max": 3, "avg": 0.10, "count": 100}"#);
    }

    #[test]
    fn percentiles_bring_microseconds() {
        let line = |form| line(&window(), form, &[50.0, 99.9]);
        assert_eq!(
            line(Form::Standard),
            "min: 0.031, max: 2.336, avg: 0.100 (100 samples), p50: 0.031, p99.9: 2.336"
        );
        assert_eq!(line(Form::Raw), "0.031 2.336 0.100 100 0.031 2.336");
        assert_eq!(line(Form::Csv), "0.031,2.336,0.100,100,0.031,2.336");
        assert_eq!(
            line(Form::Json),
            "{\"min\": 0.031, \"max\": 2.336, \"avg\": 0.100, \"count\": 100, \
             \"percentiles\": {\"50\": 0.031, \"99.9\": 2.336}}"
        );
    }

    #[test]
    fn a_line_that_wraps_is_cleared_whole() {
        let one = "\x1b[0G\x1b[2K";
        for (length, columns) in [(0, Some(80)), (80, Some(80)), (500, None)] {
            assert_eq!(clear_shown(length, columns), one);
        }
        assert_eq!(clear_shown(81, Some(80)), "\x1b[1A\x1b[0G\x1b[J");
        assert_eq!(clear_shown(161, Some(80)), "\x1b[2A\x1b[0G\x1b[J");
    }

    #[test]
    fn lists_of_percentiles() {
        assert_eq!(parse_percentiles("50,99,99.90"), Ok(vec![50.0, 99.0, 99.9]));
        assert_eq!(parse_percentiles("0, 100"), Ok(vec![0.0, 100.0]));
        for bad in ["", "50,", "101", "-1", "x", "nan", "50 99"] {
            assert!(parse_percentiles(bad).is_err(), "{bad}");
        }
        assert!(parse_percentiles(&vec!["1"; 33].join(",")).unwrap_err().contains("32"));
    }
}
