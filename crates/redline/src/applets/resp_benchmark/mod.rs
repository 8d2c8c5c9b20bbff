//! `resp-benchmark`, the drop-in: its options, templates, scripts and lines over the engine of the lab.
//!
//! The options become plans (`plans`), `run` carries them out one after the other, and `output` makes the lines.

mod flags;
mod output;
mod plans;
mod ranges;
mod run;

use std::ffi::OsString;
use std::io;
use std::process::ExitCode;

use anyhow::Context as _;
use load::RunError;
use load::generator::Mix;
use rustix::thread::{CpuSet, sched_setaffinity};

use super::{Applet, show};
use crate::flags::Stop;
use flags::Options;
use run::End;

/// The row of resp-benchmark.
pub const APPLET: Applet = Applet {
    name: "resp-benchmark",
    links: &["resp-benchmark"],
    summary: "the lab in the clothes of resp-benchmark",
    manual: flags::manual,
    run: start,
};

/// The version of resp-benchmark whose options and output these are.
const COMPATIBLE_VERSION: &str = "0.2.5";
/// Exit status for a command line that can't be read, that of argparse.
const WRONG_ARGUMENTS: u8 = 2;
/// Longest script that is read from a file, in bytes.
const SCRIPT_BYTES_MAX: u64 = 16 << 20;

fn start(program: &str, arguments: Vec<OsString>) -> anyhow::Result<ExitCode> {
    let options = match flags::parse(arguments) {
        Ok(options) => options,
        Err(Stop::Help) => return show(&flags::help(program)),
        Err(Stop::Version) => return show(&format!("{COMPATIBLE_VERSION}\n")),
        Err(Stop::Invalid(sentence) | Stop::Refused(sentence)) => {
            eprintln!("{}{program}: error: {sentence}", flags::usage(program));
            return Ok(ExitCode::from(WRONG_ARGUMENTS));
        }
    };
    let sentence = match prepare(program, options) {
        Ok((options, threads)) => match run::run(&options, threads) {
            Ok(()) => return Ok(ExitCode::SUCCESS),
            Err(End::System(error)) if error.kind() == io::ErrorKind::BrokenPipe => {
                return Ok(ExitCode::FAILURE);
            }
            Err(End::System(error)) => return Err(error).context("cannot go on"),
            Err(End::Failed(error)) => failure(&options, error),
        },
        Err(sentence) => sentence,
    };
    eprintln!("{sentence}");
    Ok(ExitCode::FAILURE)
}

/// Checks what can be checked before anything is printed, reads the script, and says how many threads there are to be.
fn prepare(program: &str, mut options: Options) -> Result<(Options, u32), String> {
    if options.short_connection && options.load {
        return Err("Error: short_connection mode does not support loading".into());
    }
    if options.short_connection && options.pipeline > 1 {
        return Err(
            "Error: short_connection mode does not support pipeline (pipeline must be 1)".into()
        );
    }
    if options.cluster && (options.lua || options.lua_file) {
        return Err(format!("{program}: scripts are not available with --cluster"));
    }
    if options.load && options.requests == 0 {
        return Err("Error: --load needs a number of requests (-n)".into());
    }
    let threads = match options.cores.as_str() {
        "" => std::thread::available_parallelism().map_or(1, usize::from),
        text => pin(text)?,
    };
    if options.lua_file {
        options.command = script(&options.command)?;
        options.lua = true;
    }
    // A command that can't be understood is told before any line about it.
    Mix::compile(&plans::plan(&options, options.clients.max(1), &options.databases, 0))
        .map_err(|error| error.to_string())?;
    Ok((options, u32::try_from(threads).unwrap_or(1)))
}

/// Keeps this process on the cores of a list, and says how many those are.
fn pin(text: &str) -> Result<usize, String> {
    let cores = ranges::cores(text).ok_or_else(|| format!("Invalid cores range: {text}."))?;
    let mut set = CpuSet::new();
    for core in &cores {
        if *core >= CpuSet::MAX_CPU {
            return Err(format!("Invalid cores range: {text}."));
        }
        set.set(*core);
    }
    sched_setaffinity(None, &set)
        .map_err(|error| format!("Cannot run on cores {text}: {error}"))?;
    Ok(cores.len())
}

fn script(path: &str) -> Result<String, String> {
    let told = |error: io::Error| format!("Error: cannot read {path}: {error}");
    if std::fs::metadata(path).map_err(told)?.len() > SCRIPT_BYTES_MAX {
        return Err(format!("Error: {path} is larger than {SCRIPT_BYTES_MAX} bytes"));
    }
    std::fs::read_to_string(path).map_err(told)
}

/// Why a run failed, in the original's words where it has any.
fn failure(options: &Options, error: RunError) -> String {
    let database = match options.databases.as_slice() {
        [only] => only.to_string(),
        _ => options.database_text.clone(),
    };
    let place = format!("{}:{} (dbid {database})", options.host, options.port);
    match error {
        RunError::Connect { source, .. } | RunError::Resolve { source, .. } => {
            format!("Failed to connect to {place}: {source}")
        }
        RunError::Refused { command, .. } if command == "AUTH" => {
            format!(
                "Failed to connect to {place}: Password authentication failed- AuthenticationFailed"
            )
        }
        RunError::Refused { command, message, .. } if command == "SELECT" => {
            let refusal = reply_text(&message);
            let refusal = refusal.trim_start_matches(SERVER_ERROR);
            format!(
                "Failed to connect to {place}: Redis server refused to switch database{refusal}"
            )
        }
        RunError::ErrorReply { message, .. } => {
            format!("Failed to execute pipeline: {}", reply_text(&message))
        }
        RunError::NoCluster { message, .. } => {
            format!("Failed to connect to initial node: {message}")
        }
        error @ (RunError::Plan(_) | RunError::Script(_)) => error.to_string(),
        other => format!("Failed to execute pipeline: {other}"),
    }
}

/// What the original's client library says of errors with the general code.
const SERVER_ERROR: &str = "An error was signalled by the server";

/// An error reply as the original prints it: with the general code spelled out, others in front.
fn reply_text(message: &str) -> String {
    match message.split_once(' ') {
        Some(("ERR", text)) => format!("{SERVER_ERROR} - ResponseError: {text}"),
        Some((code, text)) if code.bytes().all(|byte| byte.is_ascii_uppercase()) => {
            format!("{code}: {text}")
        }
        _ => message.to_string(),
    }
}
