//! `redline completions SHELL`: a script that completes applets and their options.

use std::ffi::OsString;
use std::process::ExitCode;

use clap::{CommandFactory as _, Parser, ValueEnum};

use super::{APPLETS, Applet};
use crate::flags::completions::{self, Program};
use crate::flags::manual::{self, Manual};

/// The row of the completions.
pub const APPLET: Applet = Applet {
    name: "completions",
    links: &[],
    summary: "completions of all of these for a shell: bash, zsh, fish",
    manual: || Manual {
        synopsis: "SHELL",
        description: "Prints a script that completes the names of applets and their options."
            .into(),
        sections: manual::of_clap(Arguments::command()),
    },
    run,
};

#[derive(Debug, Parser)]
#[command(
    name = "redline completions",
    about = "Prints a script that completes the names of applets and their options.",
    after_help = "  source <(redline completions bash)\n  \
                  redline completions zsh > ~/.zfunc/_redline\n  \
                  redline completions fish > ~/.config/fish/completions/redline.fish"
)]
struct Arguments {
    /// The shell
    shell: Shell,
}

#[derive(Debug, Clone, Copy, ValueEnum)]
enum Shell {
    Bash,
    Zsh,
    Fish,
}

fn run(program: &str, words: Vec<OsString>) -> anyhow::Result<ExitCode> {
    let arguments = match super::parsed::<Arguments>(program, words)? {
        Ok(arguments) => arguments,
        Err(status) => return Ok(status),
    };
    let programs: Vec<Program> = APPLETS
        .iter()
        .map(|applet| Program {
            applet: applet.name,
            links: applet.links,
            summary: applet.summary,
            manual: (applet.manual)(),
        })
        .collect();
    super::show(&match arguments.shell {
        Shell::Bash => completions::bash(&programs),
        Shell::Zsh => completions::zsh(&programs),
        Shell::Fish => completions::fish(&programs),
    })
}
