//! What is carried out: the search for a number of connections, the measurement, the loading.

use std::io::{self, Write as _};
use std::sync::mpsc::{self, RecvTimeoutError};
use std::time::{Duration, Instant};

use load::control::Phase;
use load::plan::Stop;
use load::{Control, Plan, RunError};
use report::StepResult;

use super::flags::Options;
use super::output::{self, Line, Live, Measured};
use super::plans;
use crate::applets::bench::interrupt::Interrupt;
use crate::applets::seed;

/// Time between two live lines, that of the original.
const INTERVAL: Duration = Duration::from_millis(233);
/// How often the start of the measured time and signals are looked for.
const LOOK: Duration = Duration::from_millis(10);
/// How long each number of connections is tried.
const STEP_MS: u64 = 1_000;
/// The next number of connections is tried while this one brought so much more.
const WORTH_DOUBLING: f64 = 1.3;
/// Most connections that are tried, as in the original.
const SEARCH_MAX: u32 = 1_024;
/// Connections for loading when none are named: the default of the original's library.
const LOADING_CONNECTIONS: u32 = 128;

/// Why the program ends early.
pub enum End {
    /// The run failed.
    Failed(RunError),
    /// Standard output is gone, or a signal can't be heard.
    System(io::Error),
}

impl From<io::Error> for End {
    fn from(error: io::Error) -> Self {
        Self::System(error)
    }
}

/// Carries out what the options ask for, on so many threads.
///
/// # Errors
/// What ended it early; a signal is no error.
pub fn run(options: &Options, threads: u32) -> Result<(), End> {
    let runner = Runner {
        options,
        threads,
        seed: seed::fresh(),
        control: Control::new(),
        interrupt: Interrupt::listen()?,
        since: Instant::now(),
        next_line: Instant::now(),
    };
    runner.carry_out()
}

struct Runner<'a> {
    options: &'a Options,
    threads: u32,
    seed: u64,
    control: Control,
    interrupt: Interrupt,
    /// When the last live line was printed, and when the next one is due.
    since: Instant,
    next_line: Instant,
}

impl Runner<'_> {
    fn carry_out(mut self) -> Result<(), End> {
        show(&output::header(self.options))?;
        let requests = self.options.requests;
        if self.options.load {
            let connections = match self.options.clients {
                0 => LOADING_CONNECTIONS,
                count => count,
            };
            let measured = self.all_databases(connections, requests, Line::Load(requests))?;
            return Ok(show(&measured.loaded_line())?);
        }
        let (connections, searched) = match self.options.clients {
            0 => self.search()?,
            count => (count, Measured::default()),
        };
        let left = requests.saturating_sub(searched.count);
        let is_used_up = requests > 0 && left == 0;
        let measured = match is_used_up || self.control.is_stopped() {
            // There is no measurement of its own then; this is what there is.
            true => searched,
            false => self.all_databases(connections, left, Line::Measure)?,
        };
        Ok(show(&measured.last_line(connections))?)
    }

    /// Doubles the connections while that is worth it; tells also what the search itself sent.
    fn search(&mut self) -> Result<(u32, Measured), End> {
        let mut live = Live::default();
        let mut all = Measured::default();
        let (mut connections, mut before_rps) = (1, 0.0);
        loop {
            let mut plan = self.plan(connections, &self.options.databases);
            plan.stop.duration_ms = Some(STEP_MS);
            plan.stop.requests = self.limit(self.options.requests.saturating_sub(all.count));
            let measured = self.watched(&plan, &mut live, Line::Search)?;
            live.next_run(&measured);
            let rate_rps = measured.rate_rps();
            absorb(&mut all, measured);
            let is_used_up = self.options.requests > 0 && all.count >= self.options.requests;
            let is_worth_it = rate_rps > before_rps * WORTH_DOUBLING;
            if is_used_up || self.control.is_stopped() || !is_worth_it || connections >= SEARCH_MAX
            {
                return Ok((connections, all));
            }
            before_rps = rate_rps;
            connections *= 2;
        }
    }

    /// A number of requests is sent to one database after the other, in even shares; without a number all are loaded at once.
    fn all_databases(
        &mut self,
        connections: u32,
        requests: u64,
        line: Line,
    ) -> Result<Measured, End> {
        let mut live = Live::default();
        let mut all = Measured::default();
        let duration_ms = Some(self.options.duration_s * 1_000)
            .filter(|duration_ms| *duration_ms > 0 && !self.options.load);
        if requests == 0 {
            let mut plan = self.plan(connections, &self.options.databases);
            plan.stop.duration_ms = duration_ms;
            return self.watched(&plan, &mut live, line);
        }
        let databases = &self.options.databases;
        for (database, share) in databases.iter().zip(plans::shares(requests, databases.len())) {
            let mut plan = self.plan(connections, &[*database]);
            let spent_ms = all.duration_ns / 1_000_000;
            let left_ms = duration_ms.map(|duration_ms| duration_ms.saturating_sub(spent_ms));
            if share == 0 || left_ms == Some(0) || self.control.is_stopped() {
                break;
            }
            plan.stop = Stop { requests: Some(share), duration_ms: left_ms, ..plan.stop };
            let measured = self.watched(&plan, &mut live, line)?;
            live.next_run(&measured);
            absorb(&mut all, measured);
        }
        Ok(all)
    }

    fn plan(&mut self, connections: u32, databases: &[u32]) -> Plan {
        // Each run of the engine draws anew.
        self.seed = self.seed.wrapping_add(1);
        let mut plan = plans::plan(self.options, connections, databases, self.seed);
        plan.threads = self.threads;
        plan
    }

    /// The number of requests as a stop rule; without one there is none.
    fn limit(&self, left: u64) -> Option<u64> {
        (self.options.requests > 0).then_some(left)
    }

    /// Runs a plan, with live lines on the way.
    fn watched(&mut self, plan: &Plan, live: &mut Live, line: Line) -> Result<Measured, End> {
        let (sender, receiver) = mpsc::channel();
        std::thread::scope(|scope| {
            let (control, interrupt) = (&self.control, &self.interrupt);
            scope.spawn(move || {
                let result = load::run(plan, control);
                // Nobody waits any more when standard output is gone.
                let _ = sender.send(result);
            });
            loop {
                match receiver.recv_timeout(LOOK) {
                    Ok(Ok(result)) => return Ok(measured(result)),
                    Ok(Err(failure)) => return Err(End::Failed(failure.error)),
                    Err(RecvTimeoutError::Timeout) => {}
                    Err(RecvTimeoutError::Disconnected) => unreachable!("a run ends with a result"),
                }
                if interrupt.is_asked() {
                    control.stop();
                }
                let (now, snapshot) = (Instant::now(), control.snapshot());
                if now < self.next_line || snapshot.phase != Phase::Measuring {
                    continue;
                }
                if let Some((second, latencies)) = control.last_latencies() {
                    live.add_second(second, &latencies);
                }
                let interval_s = now.duration_since(self.since).as_secs_f64();
                let text = live.line(line, &snapshot, plan.connections, interval_s);
                if let Err(error) = show(&text) {
                    control.stop();
                    return Err(End::System(error));
                }
                (self.since, self.next_line) = (now, now + INTERVAL);
            }
        })
    }
}

fn measured(result: StepResult) -> Measured {
    Measured {
        count: result.totals.count,
        duration_ns: result.duration_ns,
        latencies: result.totals.service,
    }
}

fn absorb(all: &mut Measured, measured: Measured) {
    all.count += measured.count;
    all.duration_ns += measured.duration_ns;
    all.latencies.merge(&measured.latencies);
}

/// Writes to standard output at once, so that live lines are live in a pipe too.
fn show(text: &str) -> io::Result<()> {
    let mut out = io::stdout().lock();
    out.write_all(text.as_bytes())?;
    out.flush()
}
