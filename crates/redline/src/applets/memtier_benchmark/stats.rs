//! What the reports show: one row for each kind of request and one for all, of one run or of several together.

use report::StepResult;
use report::histogram::Histogram;
use report::model::{CommandPoint, CommandResult};

use super::options::Options;

/// A kind of request that has a row of its own.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Kind {
    /// Its label in the plan.
    pub label: String,
    /// Its name in distributions and files: `SET`.
    pub raw: String,
}

/// The results of a run, or of several.
#[derive(Debug, Clone)]
pub struct Stats {
    /// Wall clock at the start.
    pub started_at_unix_ms: u64,
    /// Measured time; of several runs their mean.
    pub duration_ns: u64,
    /// Ended early by the user.
    pub interrupted: bool,
    /// The built-in mix of SET, GET and WAIT, which has columns that commands lack.
    pub is_set_get: bool,
    /// Redirections have columns.
    pub is_cluster: bool,
    /// The kinds of requests, in their order.
    pub rows: Vec<Row>,
    /// All together.
    pub totals: Row,
    /// Connections active at the end of each second, in a staircase.
    pub active: Vec<u32>,
}

/// One kind of request.
#[derive(Debug, Clone)]
pub struct Row {
    /// `Sets`.
    pub name: String,
    /// `SET`.
    pub raw: String,
    /// Replies that were no errors.
    pub count: u64,
    /// Connections lost or not made; known for all rows together only.
    pub connection_errors: u64,
    /// Rates; of several runs the mean of theirs.
    pub rates: Rates,
    /// Latencies: from when a request was due, which in a closed loop is when it was sent, to its reply.
    pub latencies: Histogram,
    /// Second by second, seconds without anything among them; empty for several runs.
    pub seconds: Vec<CommandPoint>,
    /// Hits and misses mean something.
    pub has_hits: bool,
    /// Bytes mean something; those of WAIT are left out, as in the original.
    pub has_bytes: bool,
}

/// Rates a second.
#[derive(Debug, Clone, Copy, Default, PartialEq)]
pub struct Rates {
    /// Replies that were no errors.
    pub operations: f64,
    /// Reads that found something.
    pub hits: f64,
    /// Reads that found nothing.
    pub misses: f64,
    /// `MOVED` replies.
    pub moved: f64,
    /// `ASK` replies.
    pub ask: f64,
    /// Transactions that were not carried out.
    pub aborts: f64,
    /// Connections lost or not made.
    pub connection_errors: f64,
    /// Bytes read.
    pub in_bytes: f64,
    /// Bytes written.
    pub out_bytes: f64,
}

impl Rates {
    /// Both directions together.
    pub fn bytes(&self) -> f64 {
        self.in_bytes + self.out_bytes
    }

    fn plus_share(&mut self, other: &Self, share: f64) {
        self.operations += other.operations * share;
        self.hits += other.hits * share;
        self.misses += other.misses * share;
        self.moved += other.moved * share;
        self.ask += other.ask * share;
        self.aborts += other.aborts * share;
        self.connection_errors += other.connection_errors * share;
        self.in_bytes += other.in_bytes * share;
        self.out_bytes += other.out_bytes * share;
    }
}

/// The built-in kinds, which have a row even when nothing of them was sent.
pub const SET_GET: [&str; 3] = ["SET", "GET", "WAIT"];

impl Stats {
    /// The results of one run. `kinds` are the rows in their order.
    pub fn of_run(step: &StepResult, kinds: &[Kind], options: &Options) -> Self {
        let is_set_get = options.commands.is_empty();
        let seconds = step.series.len().max(1) as u32;
        let row = |kind: &Kind| {
            let found = step.commands.iter().find(|command| command.label == kind.label);
            let empty = CommandResult::new(kind.label.clone());
            let mut row = Row::of(found.unwrap_or(&empty), step.duration_ns, seconds);
            row.name = row_name(&kind.raw);
            row.raw.clone_from(&kind.raw);
            row.has_hits = is_set_get && kind.raw == "GET";
            if !is_set_get && !options.miss_tracking {
                row.forget_hits();
            }
            row.has_bytes = !(is_set_get && kind.raw == "WAIT") && step.cluster.is_none();
            row
        };
        let mut totals = Row::of(&step.totals, step.duration_ns, seconds);
        totals.name = "Totals".into();
        totals.raw = "TOTALS".into();
        totals.has_hits = is_set_get;
        if !is_set_get && !options.miss_tracking {
            totals.forget_hits();
        }
        totals.connection_errors = step.lifetime.connection_errors;
        totals.rates.connection_errors =
            per_second(step.lifetime.connection_errors, step.duration_ns);
        if step.cluster.is_some() {
            // Bytes of a cluster's nodes are not known by command.
            totals.rates.in_bytes = per_second(step.bytes_in, step.duration_ns);
            totals.rates.out_bytes = per_second(step.bytes_out, step.duration_ns);
        }
        for node in step.cluster.iter().flat_map(|cluster| &cluster.nodes) {
            let rate = |class: &str| {
                let count = node.retried.get(class).copied().unwrap_or(0);
                per_second(count, step.duration_ns)
            };
            totals.rates.moved += rate("MOVED");
            totals.rates.ask += rate("ASK");
        }
        Self {
            started_at_unix_ms: step.started_at_unix_ms,
            duration_ns: step.duration_ns,
            interrupted: step.interrupted,
            is_set_get,
            is_cluster: options.cluster_mode,
            rows: kinds.iter().map(row).collect(),
            totals,
            active: step.lifetime.active.clone(),
        }
    }

    /// Several runs of the same test: counts added, histograms merged, rates averaged. `None` without a run.
    pub fn together(runs: &[Self]) -> Option<Self> {
        let (first, others) = runs.split_first()?;
        let mut all = first.clone();
        let share = 1.0 / runs.len() as f64;
        let scaled = |row: &mut Row| {
            let own = std::mem::take(&mut row.rates);
            row.rates.plus_share(&own, share);
            row.seconds.clear();
        };
        all.rows.iter_mut().for_each(scaled);
        scaled(&mut all.totals);
        for other in others {
            all.rows.iter_mut().zip(&other.rows).for_each(|(row, other)| row.add(other, share));
            all.totals.add(&other.totals, share);
            all.interrupted |= other.interrupted;
        }
        let duration_ns: u64 = runs.iter().map(|run| run.duration_ns).sum();
        all.duration_ns = duration_ns / runs.len() as u64;
        all.active.clear();
        Some(all)
    }
}

impl Row {
    fn of(result: &CommandResult, duration_ns: u64, seconds: u32) -> Self {
        let rate = |count: u64| per_second(count, duration_ns);
        let class = |name: &str| rate(result.errors.get(name).copied().unwrap_or(0));
        Self {
            name: String::new(),
            raw: String::new(),
            count: result.count,
            connection_errors: 0,
            rates: Rates {
                operations: rate(result.count),
                hits: rate(result.hits),
                misses: rate(result.misses),
                moved: class("MOVED"),
                ask: class("ASK"),
                aborts: rate(result.aborts),
                connection_errors: 0.0,
                in_bytes: rate(result.bytes_in),
                out_bytes: rate(result.bytes_out),
            },
            latencies: result.response.clone(),
            seconds: without_gaps(&result.series, seconds),
            has_hits: false,
            has_bytes: true,
        }
    }

    fn forget_hits(&mut self) {
        self.rates.hits = 0.0;
        self.rates.misses = 0.0;
    }

    fn add(&mut self, other: &Self, share: f64) {
        self.count += other.count;
        self.connection_errors += other.connection_errors;
        self.rates.plus_share(&other.rates, share);
        self.latencies.merge(&other.latencies);
    }

    /// A percentile in milliseconds.
    pub fn percentile_ms(&self, percentile: f64) -> f64 {
        self.latencies.percentile_ns(percentile) as f64 / 1e6
    }
}

/// All seconds up to `count`, those in which nothing happened too.
pub fn without_gaps(series: &[CommandPoint], count: u32) -> Vec<CommandPoint> {
    let last = series.last().map_or(0, |point| point.second + 1);
    let empty = |second| CommandPoint { second, ..CommandPoint::default() };
    let mut points: Vec<CommandPoint> = (0..count.max(last)).map(empty).collect();
    for point in series {
        points[point.second as usize] = point.clone();
    }
    points
}

/// `Sets` for `SET`, `Scan <cursor>s` for `SCAN <cursor>`.
pub fn row_name(raw: &str) -> String {
    let mut letters = raw.chars();
    let first: String =
        letters.next().map(|first| first.to_uppercase().collect()).unwrap_or_default();
    format!("{first}{}s", letters.as_str().to_lowercase())
}

fn per_second(count: u64, duration_ns: u64) -> f64 {
    if duration_ns == 0 { 0.0 } else { count as f64 * 1e9 / duration_ns as f64 }
}
