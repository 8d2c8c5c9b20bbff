//! `memtier_benchmark`, the drop-in: its options, commands, reports and files over the engine of the lab.
//!
//! The options become a plan (`plans`), the engine runs it as often as is asked for, and the reports are made of the results;
//! nothing is measured here.

mod client_stats;
mod configuration;
mod distribution;
mod flags;
mod hdr_files;
mod import;
mod json;
mod json_writer;
mod monitor;
mod options;
mod plans;
mod progress;
mod prometheus;
mod ranges;
mod report_files;
mod rules;
mod runs;
mod stats;
mod statsd;
mod table;
mod target;

use std::ffi::OsString;
use std::fs::File;
use std::io::{self, Read as _, Write as _};
use std::process::ExitCode;
use std::time::{SystemTime, UNIX_EPOCH};

use super::Applet;
use crate::flags::Stop;
use options::Options;
use plans::Inputs;
use runs::Outcome;

/// The row of memtier_benchmark.
pub const APPLET: Applet = Applet {
    name: "memtier_benchmark",
    links: &["memtier_benchmark"],
    summary: "the lab in the clothes of memtier_benchmark",
    manual: flags::manual,
    run,
};

/// The version of memtier_benchmark whose options and reports these are.
const COMPATIBLE_VERSION: &str = "2.4.2";
/// Exit status for a command line that can't be served, and for a server that can't be reached.
const REFUSED: u8 = 2;

/// Why the program ends early.
pub enum End {
    /// A sentence for standard error, and the exit status.
    Sentence(String, u8),
    /// A report can't be written.
    Output(io::Error),
}

impl From<io::Error> for End {
    fn from(error: io::Error) -> Self {
        Self::Output(error)
    }
}

fn run(program: &str, arguments: Vec<OsString>) -> anyhow::Result<ExitCode> {
    let result = match flags::parse(program, arguments) {
        Ok(options) => match rules::check(&options) {
            Ok(()) => measure(options),
            Err(rule) => misused(program, &format!("error: {rule}")),
        },
        Err(Stop::Help) => show(&flags::usage(program)).map(|()| ExitCode::SUCCESS),
        Err(Stop::Version) => {
            let own = env!("CARGO_PKG_VERSION");
            show(&format!("memtier_benchmark v={COMPATIBLE_VERSION} bits=64 redline={own}\n"))
                .map(|()| ExitCode::SUCCESS)
        }
        Err(Stop::Invalid(sentence) | Stop::Refused(sentence)) => misused(program, &sentence),
    };
    match result {
        Ok(status) => Ok(status),
        Err(End::Sentence(sentence, status)) => {
            eprintln!("error: {sentence}");
            Ok(ExitCode::from(status))
        }
        Err(End::Output(error)) if error.kind() == io::ErrorKind::BrokenPipe => {
            Ok(ExitCode::FAILURE)
        }
        Err(End::Output(error)) => Err(anyhow::Error::from(error).context("cannot write")),
    }
}

/// A command line that means nothing: the sentence, and the help on standard output, as by the original.
fn misused(program: &str, sentence: &str) -> Result<ExitCode, End> {
    eprintln!("{sentence}");
    show(&flags::usage(program))?;
    Ok(ExitCode::from(REFUSED))
}

/// Everything after the options have been understood.
fn measure(mut options: Options) -> Result<ExitCode, End> {
    let refused = |sentence: String| End::Sentence(sentence, REFUSED);
    target::apply_uri(&mut options).map_err(refused)?;
    let inputs = inputs(&options).map_err(refused)?;
    let seed = options.randomize.then(fresh_seed);
    let load = plans::load(&options, inputs, seed).map_err(refused)?;
    if options.show_config {
        eprintln!("============== Configuration values: ==============");
        show(&configuration::text(&options))?;
        eprintln!("===================================================");
    }
    if options.debug > 0 {
        let plan = serde_json::to_string_pretty(&load.plan).map_err(io::Error::from)?;
        eprintln!("The load as a plan:\n{plan}");
    }
    let reports = report_files::Reports::open(&options)?;
    let runs = runs::Runs::new(&options, &load).map_err(refused)?;
    Ok(match runs.carry_out(reports)? {
        Outcome::Complete => ExitCode::SUCCESS,
        Outcome::Interrupted(status) => ExitCode::from(status),
        Outcome::Failed => ExitCode::FAILURE,
    })
}

/// Reads the files that the load is made of.
fn inputs(options: &Options) -> Result<Inputs, String> {
    let mut inputs = Inputs::default();
    if let Some(path) = &options.monitor_input {
        let recording = read(path, monitor::MAX_BYTES)?;
        let (commands, skipped) =
            monitor::commands(&recording).map_err(|wrong| format!("{path} {wrong}"))?;
        if skipped > 0 {
            eprintln!("warning: {skipped} lines of {path} hold no command and are left out");
        }
        inputs.monitor = commands;
    }
    if let Some(path) = &options.data_import {
        let file = read(path, import::MAX_BYTES)?;
        inputs.imported =
            import::items(&file, !options.no_expiry).map_err(|wrong| format!("{path}: {wrong}"))?;
    }
    Ok(inputs)
}

fn read(path: &str, most_bytes: u64) -> Result<Vec<u8>, String> {
    let cannot = |error: io::Error| format!("cannot read {path}: {error}");
    let mut bytes = Vec::new();
    let file = File::open(path).map_err(cannot)?;
    file.take(most_bytes + 1).read_to_end(&mut bytes).map_err(cannot)?;
    if bytes.len() as u64 > most_bytes {
        return Err(format!("{path} is larger than {most_bytes} bytes"));
    }
    Ok(bytes)
}

/// A seed that differs from run to run.
fn fresh_seed() -> u64 {
    let now = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default();
    now.as_nanos() as u64
}

fn show(text: &str) -> Result<(), End> {
    let mut out = io::stdout().lock();
    out.write_all(text.as_bytes())?;
    Ok(out.flush()?)
}
