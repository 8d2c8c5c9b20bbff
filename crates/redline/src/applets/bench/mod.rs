//! `redline bench`: measures a server, or the store inside this program, and tells people what came out.

mod advice;
mod arguments;
mod campaign;
mod encryption;
pub mod interrupt;
mod output;
mod progress;
mod steps;
mod store;
mod suite;
mod target;

use std::ffi::OsString;
use std::process::ExitCode;

use anyhow::Context;
use clap::{CommandFactory as _, Parser as _};
use server::open_files;

use super::Applet;
use crate::flags::manual::{self, Manual};
use arguments::Arguments;
use campaign::Campaign;
use interrupt::Interrupt;
use progress::Progress;
use steps::Cores;

/// The row of the measuring.
pub const APPLET: Applet = Applet {
    name: "bench",
    links: &[],
    summary: "measures a server, or the store: redline bench [host:port]",
    manual: || Manual {
        synopsis: "[OPTIONS] [TARGET ...]",
        description: arguments::AFTER_HELP.into(),
        sections: manual::of_clap(Arguments::command()),
    },
    run,
};

/// Exit status for arguments that make no run.
const WRONG_ARGUMENTS: u8 = 2;
/// Kinds of keys that are filled with a value for each of `--keys`: strings, lists, hashes.
const FILLED_KINDS: u64 = 3;
/// What a key costs beside its value, generously.
const KEY_OVERHEAD_BYTES: u64 = 64;
/// Descriptors beside those of the connections.
const OTHER_DESCRIPTORS: usize = 100;

fn run(program: &str, words: Vec<OsString>) -> anyhow::Result<ExitCode> {
    let mut arguments = match Arguments::try_parse_from([program.into()].into_iter().chain(words)) {
        Ok(arguments) => arguments,
        Err(error) => {
            error.print().context("could not print")?;
            return Ok(ExitCode::from(u8::try_from(error.exit_code()).unwrap_or(WRONG_ARGUMENTS)));
        }
    };
    if arguments.list_tests {
        for test in suite::TESTS {
            let texts: Vec<&str> = test.mix.iter().map(|(_, _, text)| *text).collect();
            println!("{:<12}{}", test.name, texts.join(" | "));
        }
        return Ok(ExitCode::SUCCESS);
    }
    if let Err(sentence) = arguments.complete_targets() {
        return Ok(refuse(program, &sentence));
    }
    measure(program, &arguments)
}

fn measure(program: &str, arguments: &Arguments) -> anyhow::Result<ExitCode> {
    let interrupt = Interrupt::listen().context("could not listen to signals")?;
    let is_embedded = arguments.targets.is_empty();
    // An embedded store has the other ends of the connections in this process. Too few descriptors show
    // when a connection fails, with a clear error.
    let ends = if is_embedded { 2 } else { 1 };
    open_files::raise_for(arguments.connections as usize * ends + OTHER_DESCRIPTORS);
    let cores = std::thread::available_parallelism().map_or(1, |cores| cores.get() as u32);
    let cores = Cores::share(arguments, cores);
    let (store, targets) = if is_embedded {
        let (store, target) = store::start(cores.store, arguments.connections)
            .context("could not start the embedded store")?;
        (Some(store), vec![target])
    } else {
        (None, arguments.targets.clone())
    };
    let steps = match steps::plan(arguments, targets, cores.generator) {
        Ok(steps) => steps,
        Err(sentence) => return Ok(refuse(program, &sentence)),
    };
    if is_embedded && let Err(sentence) = check_memory(arguments) {
        return Ok(refuse(program, &sentence));
    }
    let progress = Progress::new(arguments.quiet);
    if is_embedded {
        progress.say("No target named: starting a store inside this program, and measuring that.");
    }
    let campaign = Campaign {
        arguments,
        targets: &steps.measured[0].targets,
        store_threads: is_embedded.then_some(cores.store),
        interrupt: &interrupt,
        progress,
    };
    let outcome = campaign.run(&steps);
    if let Some(store) = store {
        store.stop();
    }
    if let Some(error) = &outcome.error {
        eprintln!("{program}: {error}");
    }
    if outcome.result.is_none() && interrupt.is_asked() {
        eprintln!("{program}: interrupted before anything was measured");
    }
    let is_published =
        outcome.result.as_ref().is_none_or(|result| output::publish(arguments, result));
    Ok(if interrupt.is_asked() {
        ExitCode::from(interrupt.exit_status())
    } else if outcome.error.is_some() || !is_published {
        ExitCode::FAILURE
    } else {
        ExitCode::SUCCESS
    })
}

/// The embedded store must fit into the machine, or the system would end the whole program.
fn check_memory(arguments: &Arguments) -> Result<(), String> {
    let memory_bytes = load::machine::describe().memory_bytes;
    let key_bytes = u64::from(arguments.data_size) + KEY_OVERHEAD_BYTES;
    let needed_bytes = arguments.keys.saturating_mul(key_bytes).saturating_mul(FILLED_KINDS);
    if !arguments.commands.is_empty() || memory_bytes == 0 || needed_bytes <= memory_bytes {
        return Ok(());
    }
    Err(format!(
        "{} keys with values of {} bytes may not fit into this machine's memory; try fewer --keys or a \
         smaller --data-size",
        arguments.keys, arguments.data_size
    ))
}

fn refuse(program: &str, sentence: &str) -> ExitCode {
    eprintln!("{program}: {sentence}; '{program} --help' tells the arguments");
    ExitCode::from(WRONG_ARGUMENTS)
}
