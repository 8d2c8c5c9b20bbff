//! `redis-benchmark`, the drop-in: its options, tests and output over the engine of the lab.
//!
//! The options become plans (`steps`), the engine runs them, and `output` prints what came of it; nothing is measured here.

mod cluster;
mod dataset;
pub(super) mod flags;
mod grid;
mod idle;
mod live;
mod output;
pub(super) mod server_config;
mod steps;
mod suite;
mod uri;

use std::ffi::OsString;
use std::io::{self, Read as _, Write as _};
use std::process::ExitCode;
use std::sync::mpsc::{self, RecvTimeoutError};
use std::time::{Duration, Instant};

use anyhow::Context;
use load::connect::ask;
use load::plan::Target;
use load::{Control, RunError};
use report::StepResult;
use report::render::nodes;
use resp::{Value, ValueDecoder};

use super::{Applet, seed};
use crate::flags::Stop;
use flags::Options;
use idle::IdleEnd;
use live::Live;
use output::Settings;
use server_config::{no_connection, no_encryption, system_text};
use steps::{Step, Values};

/// The row of redis-benchmark.
pub const APPLET: Applet = Applet {
    name: "redis-benchmark",
    links: &["redis-benchmark", "valkey-benchmark"],
    summary: "the lab in the clothes of redis-benchmark",
    manual: flags::manual,
    run,
};

/// The version of redis-benchmark whose output this is.
const COMPATIBLE_VERSION: &str = "8.0.0";

/// Why the program ends early.
enum End {
    /// A sentence for standard error.
    Sentence(String),
    /// Standard output is gone: nobody reads on.
    Output(io::Error),
}

impl From<io::Error> for End {
    fn from(error: io::Error) -> Self {
        Self::Output(error)
    }
}

impl From<IdleEnd> for End {
    fn from(end: IdleEnd) -> Self {
        match end {
            IdleEnd::Sentence(sentence) => Self::Sentence(sentence),
            IdleEnd::Output(error) => Self::Output(error),
        }
    }
}

fn run(program: &str, arguments: Vec<OsString>) -> anyhow::Result<ExitCode> {
    let end = match flags::parse(arguments) {
        Ok(options) => measure(program, &options),
        Err(Stop::Help) => show(&flags::usage(program)).map_err(End::from),
        Err(Stop::Version) => {
            let own = env!("CARGO_PKG_VERSION");
            show(&format!("redis-benchmark {COMPATIBLE_VERSION} (redline {own})\n"))
                .map_err(End::from)
        }
        Err(Stop::Invalid(word)) => {
            let reason = format!("Invalid option \"{word}\" or option argument missing\n\n");
            show(&(reason + &flags::usage(program))).context("cannot write")?;
            return Ok(ExitCode::FAILURE);
        }
        Err(Stop::Refused(sentence)) => Err(End::Sentence(sentence)),
    };
    match end {
        Ok(()) => Ok(ExitCode::SUCCESS),
        Err(End::Sentence(sentence)) => {
            eprintln!("{sentence}");
            Ok(ExitCode::FAILURE)
        }
        Err(End::Output(error)) if error.kind() == io::ErrorKind::BrokenPipe => {
            Ok(ExitCode::FAILURE)
        }
        Err(End::Output(error)) => Err(error).context("cannot write"),
    }
}

/// Everything after the options have been understood.
fn measure(program: &str, options: &Options) -> Result<(), End> {
    options.warnings.iter().for_each(|warning| eprintln!("{warning}"));
    let (options, targets, settings) = &first_contact(program, options)?;
    if !options.keep_alive {
        eprintln!(
            "WARNING: Keepalive disabled. You probably need 'echo 1 > /proc/sys/net/ipv4/tcp_tw_reuse' for Linux and \
             'sudo sysctl -w net.inet.tcp.msl=1000' for Mac OS X in order to use a lot of clients/requests"
        );
    }
    if !options.command.is_empty() && options.tests.is_some() {
        eprintln!("WARNING: Option -t is ignored.");
    }
    if options.idle {
        let connections = options.clients.max(1) as usize;
        return Ok(idle::hold(targets, connections, |text| match options.csv {
            true => Ok(()),
            false => show(text),
        })?);
    }
    if options.csv {
        show(output::CSV_HEADER)?;
    }
    let (control, live) = (Control::new(), Live::new(Instant::now()));
    Runner { options, targets, settings, control, live }.run()
}

/// Finds out what is there to be loaded, and shows a cluster's nodes: the options as that completes them, the servers, and
/// what reports show of them.
fn first_contact(
    program: &str,
    options: &Options,
) -> Result<(Options, Vec<Target>, Settings), End> {
    let mut options = options.clone();
    if !options.cluster {
        let target = steps::target(&options);
        let settings = match server_config::fetch(&target).map_err(End::Sentence)? {
            Some(config) => Settings::Host(config),
            None => {
                eprintln!("WARNING: Could not fetch server CONFIG");
                Settings::Unknown
            }
        };
        return Ok((options, vec![target], settings));
    }
    let nodes = cluster::look(program, &options).map_err(End::Sentence)?;
    show(&nodes.preamble)?;
    if options.threads == 0 {
        options.threads = nodes.targets.len() as u32;
    }
    Ok((options, nodes.targets, Settings::Cluster(nodes.settings)))
}

/// Carries out steps and prints what came of them.
struct Runner<'a> {
    options: &'a Options,
    targets: &'a [Target],
    settings: &'a Settings,
    control: Control,
    live: Live,
}

impl Runner<'_> {
    fn run(&mut self) -> Result<(), End> {
        let mut values = Values::new();
        let mut seed = self.options.seed.unwrap_or_else(seed::fresh);
        let last = if self.options.from_stdin && !self.options.command.is_empty() {
            let mut argument = Vec::new();
            io::stdin().read_to_end(&mut argument)?;
            Some(argument)
        } else {
            None
        };
        let fields = match &self.options.data_set {
            Some(path) => {
                dataset::load(path, self.options.data_set_rows_max, &self.options.command)
                    .map_err(|error| End::Sentence(format!("{error:#}")))?
            }
            None => Vec::new(),
        };
        loop {
            let data = values.next(self.options.data_bytes);
            if self.options.command.is_empty() {
                let steps = steps::of_suite(self.options, seed, data);
                seed = seed.wrapping_add(steps.len() as u64);
                steps.iter().try_for_each(|step| self.step(step))?;
                if !self.options.csv {
                    show("\n")?;
                }
            } else {
                let mut step = steps::of_command(self.options, seed, data, last.clone());
                step.plan.placeholders.fields.clone_from(&fields);
                self.step(&step)?;
                seed = seed.wrapping_add(1);
            }
            if !self.options.endless {
                return Ok(());
            }
        }
    }

    fn step(&mut self, step: &Step) -> Result<(), End> {
        if let Some(before) = &step.before {
            for target in self.targets {
                send_once(step, target, before)?;
            }
        }
        self.live.begin();
        let result = self.watched(step)?;
        let text = output::result(&result, self.options, self.settings, self.live.rates_rps());
        if !self.options.csv {
            show(&self.live.clear())?;
        }
        show(&text)?;
        for remark in [nodes::retry_remark(&result), nodes::outage_remark(&result)] {
            remark.iter().for_each(|remark| eprintln!("WARNING: {remark}"));
        }
        Ok(())
    }

    /// Runs a step, with live lines on the way.
    fn watched(&mut self, step: &Step) -> Result<StepResult, End> {
        let (control, live, plan) = (&self.control, &mut self.live, &step.plan);
        let by_time = self.options.duration_s > 0 || self.options.warm_up_s > 0;
        let (sender, receiver) = mpsc::channel();
        std::thread::scope(|scope| {
            scope.spawn(move || {
                let result = load::run(plan, control);
                // Nobody waits any more when standard output is gone.
                let _ = sender.send(result);
            });
            loop {
                let wait = if self.options.csv { Duration::MAX } else { live.wait(Instant::now()) };
                match receiver.recv_timeout(wait) {
                    Ok(result) => {
                        return result
                            .map_err(|failure| End::Sentence(sentence(step, failure.error)));
                    }
                    Err(RecvTimeoutError::Timeout) => {
                        let line =
                            live.line(Instant::now(), &plan.title, by_time, control.snapshot());
                        if let Err(error) = show(&line) {
                            control.stop();
                            return Err(End::Output(error));
                        }
                    }
                    Err(RecvTimeoutError::Disconnected) => unreachable!("a run ends with a result"),
                }
            }
        })
    }
}

/// Sends the command that a test needs before it.
fn send_once(step: &Step, target: &Target, command: &[String]) -> Result<(), End> {
    let words: Vec<&str> = command.iter().map(String::as_str).collect();
    let reply = ask(target, &words).map_err(|error| End::Sentence(sentence(step, error)))?;
    match ValueDecoder::new().next(&reply) {
        Ok(Some((Value::Error(message), _))) => {
            let message = String::from_utf8_lossy(&message).into_owned();
            Err(End::Sentence(format!("Error from server: {message}")))
        }
        _ => Ok(()),
    }
}

/// Why a run failed, in the original's words where it has any.
fn sentence(step: &Step, error: RunError) -> String {
    match error {
        RunError::ErrorReply { address, message, .. } if step.plan.cluster.is_some() => {
            format!("Error from server {address}: {message}")
        }
        RunError::Refused { message, .. } | RunError::ErrorReply { message, .. } => {
            format!("Error from server: {message}")
        }
        RunError::Connect { source, .. } | RunError::Resolve { source, .. } => {
            no_connection(&step.plan.targets[0].address, &source)
        }
        RunError::Tls { .. } | RunError::TlsSettings(_) => no_encryption(&error),
        RunError::Closed { .. } => "Error: Server closed the connection".into(),
        RunError::Lost { source, .. } => format!("Error: {}", system_text(&source)),
        RunError::Garbage { source, .. } => format!("Error: Protocol error, {source}"),
        other => format!("Error: {other}"),
    }
}

/// Writes to standard output at once: live lines have no line end to wait for.
fn show(text: &str) -> io::Result<()> {
    let mut out = io::stdout().lock();
    out.write_all(text.as_bytes())?;
    out.flush()
}
