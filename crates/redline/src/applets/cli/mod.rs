//! `redis-cli`, the drop-in: commands from the command line and from a prompt, bulk loading, scripts, and the modes that measure.
//!
//! The options become [`options::Options`]; a mode or a session of commands is carried out over one blocking [`connection`].

mod askpass;
pub mod connection;
mod docs;
mod editing;
mod flags;
mod format;
mod modes;
mod one_shot;
pub mod options;
mod pipe;
mod prompt;
mod rdb;
mod replica;
mod scan;
mod session;

use std::ffi::OsString;
use std::io::{self, IsTerminal, Write as _};
use std::process::ExitCode;

use super::Applet;
use crate::flags::Stop;
use options::{Mode, Options, Output};

/// The row of redis-cli.
pub const APPLET: Applet = Applet {
    name: "cli",
    links: &["redis-cli", "valkey-cli"],
    summary: "a prompt, commands, latency modes: redis-cli",
    manual: flags::manual,
    run,
};

/// The version of redis-cli whose output this is.
const COMPATIBLE_VERSION: &str = "8.0.0";
/// Where a password may stand instead of on the command line.
const PASSWORD_VARIABLE: &str = "REDISCLI_AUTH";

fn run(program: &str, arguments: Vec<OsString>) -> anyhow::Result<ExitCode> {
    let refusal = match flags::parse(arguments) {
        Ok(options) => return start(program, options),
        Err(Stop::Help) => return show(&flags::usage(program)),
        Err(Stop::Version) => {
            let own = env!("CARGO_PKG_VERSION");
            return show(&format!("redis-cli {COMPATIBLE_VERSION} (redline {own})\n"));
        }
        Err(Stop::Invalid(word)) if word == "-h" => return show(&flags::usage(program)),
        Err(Stop::Invalid(word)) if word == "--cluster" => flags::usage(program),
        Err(Stop::Invalid(word)) => {
            format!("Unrecognized option or bad number of args for: '{word}'\n")
        }
        Err(Stop::Refused(sentence)) => sentence + "\n",
    };
    eprint!("{refusal}");
    Ok(ExitCode::FAILURE)
}

/// Everything after the options have been understood.
fn start(program: &str, mut options: Options) -> anyhow::Result<ExitCode> {
    options.warnings.iter().for_each(|warning| eprintln!("{warning}"));
    if options.password.is_some() && options.auth_warning {
        eprintln!(
            "Warning: Using a password with '-a' or '-u' option on the command line interface may not be safe."
        );
    }
    if let Some(name) = &options.unavailable {
        eprintln!("{program}: {name} is not available");
        return Ok(ExitCode::FAILURE);
    }
    if options.ask_password {
        options.password = Some(askpass::password()?);
    }
    if options.password.is_none() {
        options.password = std::env::var(PASSWORD_VARIABLE).ok().filter(|text| !text.is_empty());
    }
    let is_terminal = io::stdout().is_terminal();
    if options.output == Output::Standard && !options.is_output_asked && !is_terminal {
        options.output = Output::Raw;
    }
    match options.mode {
        Some(Mode::ClusterManager) => {
            let command = &options.cluster_command[0];
            eprintln!(
                "{program}: --cluster {command} is not available; the original's cluster manager does it"
            );
            Ok(ExitCode::FAILURE)
        }
        Some(Mode::Rdb) => rdb::run(&options),
        Some(Mode::Replica) => replica::run(&options),
        Some(Mode::Pipe) => pipe::run(&options),
        Some(Mode::Scan) => scan::run(&options),
        Some(mode) => modes::run(program, mode, &options),
        None if options.command.is_empty() && options.eval.is_none() => prompt::run(options),
        None => one_shot::run(options),
    }
}

fn show(text: &str) -> anyhow::Result<ExitCode> {
    io::stdout().lock().write_all(text.as_bytes())?;
    Ok(ExitCode::SUCCESS)
}
