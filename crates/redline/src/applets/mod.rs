//! The applets: one file each, one row in [`APPLETS`] each.

mod bench;
mod cli;
mod completions;
mod link;
mod man;
mod memtier_benchmark;
mod redis_benchmark;
mod resp_benchmark;
mod seed;
mod server;
mod server_uri;

use std::ffi::OsString;
use std::io::{self, Write as _};
use std::process::ExitCode;

use anyhow::Context as _;

use crate::flags::manual::Manual;

/// One program within the binary.
pub struct Applet {
    /// The first argument that chooses it.
    pub name: &'static str,
    /// Names of programs that it stands for, which `redline link` makes: they choose it as the program's own name, and
    /// as first argument. Its own name is among them if there is such a program.
    pub links: &'static [&'static str],
    /// One line for `redline --help`.
    pub summary: &'static str,
    /// Its manual page and completions, made on demand.
    pub manual: fn() -> Manual,
    /// Runs it. The first argument is how it was called, as usage texts show it; the second is the
    /// arguments behind that. An error is printed as one line, and the exit status is 1.
    pub run: fn(&str, Vec<OsString>) -> anyhow::Result<ExitCode>,
}

/// All applets, in the order in which the help lists them.
pub const APPLETS: &[Applet] = &[
    bench::APPLET,
    server::APPLET,
    cli::APPLET,
    redis_benchmark::APPLET,
    memtier_benchmark::APPLET,
    resp_benchmark::APPLET,
    link::APPLET,
    man::APPLET,
    completions::APPLET,
];

/// The applet that an argument or the program's own name chooses.
pub fn named(name: &str) -> Option<&'static Applet> {
    APPLETS.iter().find(|applet| applet.name == name || applet.links.contains(&name))
}

/// Reads the command line of one of our own applets; the exit status where clap has answered it.
fn parsed<A: clap::Parser>(
    program: &str,
    words: Vec<OsString>,
) -> anyhow::Result<Result<A, ExitCode>> {
    match A::try_parse_from([program.into()].into_iter().chain(words)) {
        Ok(arguments) => Ok(Ok(arguments)),
        Err(error) => {
            error.print().context("could not print")?;
            Ok(Err(ExitCode::from(u8::try_from(error.exit_code()).unwrap_or(1))))
        }
    }
}

/// Prints a text that is all of an applet's output.
fn show(text: &str) -> anyhow::Result<ExitCode> {
    match io::stdout().lock().write_all(text.as_bytes()) {
        Err(error) if error.kind() != io::ErrorKind::BrokenPipe => {
            Err(error).context("could not print")
        }
        _ => Ok(ExitCode::SUCCESS),
    }
}
