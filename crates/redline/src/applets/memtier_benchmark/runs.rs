//! Carrying out the runs: progress while they go on, reports when they are over.

use std::sync::mpsc::{self, RecvTimeoutError};
use std::time::Duration;

use load::control::Phase;
use load::{Control, RunError, RunFailure, Snapshot};
use report::StepResult;
use report::model::CommandResult;

use super::json::Verification;
use super::options::Options;
use super::plans::{self, Load};
use super::progress::{self, Beat, Pulse, Stairs, Windows};
use super::prometheus::Prometheus;
use super::report_files::{self, Reports};
use super::stats::Stats;
use super::statsd::Statsd;
use super::{End, REFUSED, table};
use crate::applets::bench::interrupt::Interrupt;

/// How often the state of a run is looked at.
const LOOK: Duration = Duration::from_millis(20);
/// Time between beats.
const BEAT_NS: u64 = 1_000_000_000;
/// Time between runs.
const BETWEEN_RUNS: Duration = Duration::from_secs(1);

/// How it ended.
pub enum Outcome {
    /// As planned.
    Complete,
    /// By a signal; the exit status that says so.
    Interrupted(u8),
    /// A run broke off.
    Failed,
}

/// All that runs share.
pub struct Runs<'a> {
    options: &'a Options,
    load: &'a Load,
    control: Control,
    interrupt: Interrupt,
    statsd: Option<Statsd>,
    prometheus: Option<Prometheus>,
}

impl<'a> Runs<'a> {
    /// Opens what is served and sent while runs go on.
    ///
    /// # Errors
    /// A sentence: an address can't be listened at or found.
    pub fn new(options: &'a Options, load: &'a Load) -> Result<Self, String> {
        let statsd = options.statsd_host.as_ref().map(|host| Statsd::open(host, options));
        let prometheus = options.prometheus_port.map(|port| Prometheus::start(port, options));
        let prometheus = prometheus.transpose()?;
        if let Some(endpoint) = &prometheus {
            if !endpoint.address.ip().is_loopback() {
                eprintln!(
                    "warning: figures are served to everybody who reaches {}",
                    endpoint.address
                );
            }
            println!("Prometheus exporter listening on http://{}/metrics", endpoint.address);
        }
        Ok(Self {
            options,
            load,
            control: Control::new(),
            interrupt: Interrupt::listen()
                .map_err(|error| format!("cannot hear signals: {error}"))?,
            statsd: statsd.transpose()?,
            prometheus,
        })
    }

    /// Runs as often as asked for, and writes the reports.
    ///
    /// # Errors
    /// A server that can't be reached, or a report that can't be written.
    pub fn carry_out(&self, mut reports: Reports) -> Result<Outcome, End> {
        let options = self.options;
        let mut results: Vec<Stats> = Vec::new();
        let mut failed = None;
        if !options.verify_only {
            reports.add(&table::header(options, self.load.requests_per_client))?;
            self.event("Benchmark Started", "start");
            for run in 1..=options.run_count {
                if run > 1 {
                    std::thread::sleep(BETWEEN_RUNS);
                }
                let (step, failure) = self.one(run)?;
                let stats = Stats::of_run(&step, &self.load.kinds, options);
                self.files(run, &step, &stats)?;
                results.push(stats);
                if failure.is_some() || self.interrupt.is_asked() {
                    failed = failure;
                    break;
                }
            }
            self.event("Benchmark Completed", "end");
        }
        let sets = sets(results, options);
        for (title, stats) in &sets {
            reports.add(&table::report(title, stats, options))?;
        }
        let verification = if failed.is_none() { self.verify(&mut reports)? } else { None };
        reports.finish(options, self.load, &sets, verification)?;
        Ok(match failed {
            _ if self.interrupt.is_asked() => Outcome::Interrupted(self.interrupt.exit_status()),
            Some(error) => {
                eprintln!("error: {error}");
                Outcome::Failed
            }
            None if verification.is_some_and(|verification| verification.failed > 0) => {
                Outcome::Failed
            }
            None => Outcome::Complete,
        })
    }

    /// One run: its result, and what broke it off.
    fn one(&self, run: u32) -> Result<(StepResult, Option<RunError>), End> {
        eprintln!("[RUN #{run}] Preparing benchmark client...");
        if let Some(stairs) = stairs(self.options) {
            eprint!("{}", progress::staircase(run, &stairs));
        }
        eprintln!("[RUN #{run}] Launching threads now...");
        let result = self.watched(run);
        eprint!("\n\n");
        match result {
            Ok(step) => {
                warn(&step, self.options);
                Ok((step, None))
            }
            Err(RunFailure { error, partial: Some(step) }) => Ok((*step, Some(error))),
            Err(RunFailure { error, partial: None }) => {
                Err(End::Sentence(format!("Connection error: {error}"), REFUSED))
            }
        }
    }

    /// Carries a run out, with a beat a second.
    fn watched(&self, run: u32) -> Result<StepResult, RunFailure> {
        let plan = &self.load.plan;
        let mut pulse = Pulse::new(run, plan);
        let mut windows = Windows::new(self.options.latency_window_s);
        let mut due_ns = BEAT_NS;
        let (sender, receiver) = mpsc::channel();
        std::thread::scope(|scope| {
            scope.spawn(|| {
                // The receiver waits until the result is there.
                let _ = sender.send(load::run(plan, &self.control));
            });
            loop {
                match receiver.recv_timeout(LOOK) {
                    Ok(result) => {
                        let step = match &result {
                            Ok(step) => Some(step),
                            Err(failure) => failure.partial.as_deref(),
                        };
                        if let Some(step) = step {
                            self.show(&pulse.beat(&at_end(step), true), &windows);
                        }
                        return result;
                    }
                    Err(RecvTimeoutError::Timeout) => {}
                    Err(RecvTimeoutError::Disconnected) => unreachable!("a run ends with a result"),
                }
                if self.interrupt.is_asked() {
                    self.control.stop();
                }
                let snapshot = self.control.snapshot();
                self.take_second(&mut windows);
                if snapshot.phase == Phase::Measuring && snapshot.elapsed_ns >= due_ns {
                    self.show(&pulse.beat(&snapshot, false), &windows);
                    due_ns = (snapshot.elapsed_ns / BEAT_NS + 1) * BEAT_NS;
                }
            }
        })
    }

    /// Takes over the latencies of a second that is over, once.
    fn take_second(&self, windows: &mut Windows) {
        let Some(second) = self.control.snapshot().last_second.map(|point| point.second) else {
            return;
        };
        if windows.seen == Some(second) {
            return;
        }
        if let Some((second, latencies)) = self.control.last_latencies() {
            windows.seen = Some(second);
            if let Some(endpoint) = &self.prometheus {
                endpoint.add_second(&latencies);
            }
            windows.push(latencies);
        }
    }

    /// Shows the state of a run wherever it is wanted.
    fn show(&self, beat: &Beat, windows: &Windows) {
        if self.options.realtime_latencies {
            eprint!("{}", windows.block(beat, &self.options.print_percentiles));
        } else {
            eprint!("{}", progress::line(beat));
        }
        if let Some(statsd) = &self.statsd {
            statsd.send(beat, windows.last());
        }
        if let Some(endpoint) = &self.prometheus {
            endpoint.update(beat);
        }
    }

    fn event(&self, what: &str, tag: &str) {
        if let Some(statsd) = &self.statsd {
            if let Err(warning) = statsd.event(what, tag) {
                eprintln!("{warning}");
            }
            if tag == "end" {
                statsd.send_end();
            }
        }
    }

    fn files(&self, run: u32, step: &StepResult, stats: &Stats) -> Result<(), End> {
        if let Some(prefix) = &self.options.hdr_file_prefix {
            report_files::write_histograms(prefix, run, stats)?;
        }
        if let Some(prefix) = &self.options.client_stats {
            report_files::write_clients(prefix, run, step, &self.load.kinds, self.options)?;
        }
        Ok(())
    }

    /// Compares imported data with what the server has.
    fn verify(&self, reports: &mut Reports) -> Result<Option<Verification>, End> {
        if !self.options.data_verify || self.interrupt.is_asked() {
            return Ok(None);
        }
        eprintln!("Performing data verification...");
        let plan = plans::verification(&self.load.plan);
        let step = load::run(&plan, &self.control)
            .map_err(|failure| End::Sentence(format!("data verification: {}", failure.error), 1))?;
        let CommandResult { verified: good, verify_failed: failed, .. } = step.totals;
        reports.add(&format!(
            // The spelling is the original's, which scripts read.
            "\n\nData verification completed:\n{good:<10} keys verified successfuly.\n{failed:<10} keys failed.\n"
        ))?;
        Ok(Some(Verification { good, failed }))
    }
}

/// The sets of results by title, in the order of the reports.
fn sets(results: Vec<Stats>, options: &Options) -> Vec<(String, Stats)> {
    if options.run_count == 1 {
        return results.into_iter().map(|stats| ("ALL STATS".to_string(), stats)).collect();
    }
    let by_rate = |left: &&Stats, right: &&Stats| {
        left.totals.rates.operations.total_cmp(&right.totals.rates.operations)
    };
    let best = results.iter().max_by(by_rate).cloned();
    let worst = results.iter().min_by(by_rate).cloned();
    let together = Stats::together(&results);
    let count = results.len();
    let mut sets: Vec<(String, Stats)> = Vec::new();
    if options.print_all_runs {
        let runs = results.into_iter().zip(1..);
        sets.extend(runs.map(|(stats, run)| (format!("RUN #{run} RESULTS"), stats)));
    }
    let summary = [
        ("BEST RUN RESULTS".to_string(), best),
        ("WORST RUN RESULTS".to_string(), worst),
        (format!("AGGREGATED AVERAGE RESULTS ({count} runs)"), together),
    ];
    sets.extend(summary.into_iter().filter_map(|(title, stats)| Some((title, stats?))));
    sets
}

/// The state at the end, which the control forgets.
fn at_end(step: &StepResult) -> Snapshot {
    Snapshot {
        phase: Phase::Idle,
        elapsed_ns: step.duration_ns,
        requests: step.requests,
        errors: step.totals.error_count(),
        latency_sum_ns: (step.totals.response.mean_ns() * step.totals.count as f64) as u64,
        bytes_in: step.bytes_in,
        bytes_out: step.bytes_out,
        connection_errors: step.lifetime.connection_errors,
        last_second: step.series.last().copied(),
    }
}

/// What the tables do not show: error replies, and reads that mostly missed.
fn warn(step: &StepResult, options: &Options) {
    let totals = &step.totals;
    if totals.error_count() > 0 {
        let classes: Vec<String> =
            totals.errors.iter().map(|(class, count)| format!("{class} {count}")).collect();
        eprintln!("warning: error replies, which no table counts: {}", classes.join(", "));
    }
    let reads = totals.hits + totals.misses;
    let is_watched = options.miss_tracking && !options.commands.is_empty() && reads > 0;
    if is_watched && totals.misses as f64 >= options.miss_rate_threshold * reads as f64 {
        let percent = totals.misses as f64 * 100.0 / reads as f64;
        eprintln!("warning: {percent:.2} % of the reads found nothing");
    }
}

fn stairs(options: &Options) -> Option<Stairs> {
    Some(Stairs {
        start: options.clients_start?,
        step: options.clients_step?,
        most: options.clients,
        step_s: options.step_duration_s?,
        threads: options.threads,
        test_time_s: options.test_time_s.unwrap_or(0),
    })
}
