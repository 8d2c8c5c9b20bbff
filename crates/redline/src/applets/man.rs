//! `redline man APPLET`: the manual page of an applet in roff.

use std::ffi::OsString;
use std::process::ExitCode;

use clap::{CommandFactory as _, Parser};

use super::{Applet, named};
use crate::VERSION;
use crate::flags::manual::{self, Manual};

/// The row of the manual pages.
pub const APPLET: Applet = Applet {
    name: "man",
    links: &[],
    summary: "the manual page of an applet: redline man cli | man -l -",
    manual: || Manual {
        synopsis: "APPLET",
        description: "Prints the manual page of an applet in roff.".into(),
        sections: manual::of_clap(Arguments::command()),
    },
    run,
};

#[derive(Debug, Parser)]
#[command(
    name = "redline man",
    about = "Prints the manual page of an applet in roff.",
    after_help = "  redline man redis-benchmark | man -l -\n  \
                  redline man cli > /usr/local/share/man/man1/redis-cli.1"
)]
struct Arguments {
    /// An applet, or a program that one stands for
    applet: String,
}

fn run(program: &str, words: Vec<OsString>) -> anyhow::Result<ExitCode> {
    let arguments = match super::parsed::<Arguments>(program, words)? {
        Ok(arguments) => arguments,
        Err(status) => return Ok(status),
    };
    let Some(applet) = named(&arguments.applet) else {
        anyhow::bail!("there is no applet '{}'; 'redline --help' lists them", arguments.applet);
    };
    let name = match applet.links.contains(&arguments.applet.as_str()) {
        true => arguments.applet,
        false => format!("redline-{}", applet.name),
    };
    super::show(&manual::page(&name, applet.summary, VERSION, &(applet.manual)()))
}
