//! The applets: one file each, one row in [`APPLETS`] each.

mod bench;
mod cli;
mod redis_benchmark;
mod server;
mod server_uri;

use std::ffi::OsString;
use std::process::ExitCode;

/// One program within the binary.
pub struct Applet {
    /// The first argument that chooses it; not repeated among its links.
    pub name: &'static str,
    /// Names of programs that it stands for: as the program's own name, or as first argument.
    pub links: &'static [&'static str],
    /// One line for `redline --help`.
    pub summary: &'static str,
    /// Runs it. The first argument is how it was called, as usage texts show it; the second is the
    /// arguments behind that. An error is printed as one line, and the exit status is 1.
    pub run: fn(&str, Vec<OsString>) -> anyhow::Result<ExitCode>,
}

/// All applets, in the order in which the help lists them.
pub const APPLETS: &[Applet] =
    &[bench::APPLET, server::APPLET, cli::APPLET, redis_benchmark::APPLET];
