//! The one binary: finds the applet that the command line names and runs it.
//!
//! The name under which the program was called chooses first, so that a link named `redis-server`
//! behaves as that program; else the first argument does.
#![forbid(unsafe_code)]

mod applets;
mod flags;

use std::ffi::{OsStr, OsString};
use std::path::Path;
use std::process::ExitCode;

use applets::{APPLETS, Applet, named};

#[global_allocator]
static ALLOCATOR: tikv_jemallocator::Jemalloc = tikv_jemallocator::Jemalloc;

/// The version of the package.
const VERSION: &str = env!("CARGO_PKG_VERSION");

fn main() -> ExitCode {
    let mut arguments = std::env::args_os();
    let program = arguments.next().unwrap_or_default();
    let result = match choose(&program, arguments.collect()) {
        Choice::Run { applet, program, arguments } => (applet.run)(&program, arguments),
        Choice::Help => {
            print!("{}", help());
            Ok(ExitCode::SUCCESS)
        }
        Choice::Version => {
            println!("redline {VERSION}");
            Ok(ExitCode::SUCCESS)
        }
        Choice::Nothing => {
            eprint!("{}", help());
            Ok(ExitCode::from(2))
        }
        Choice::Unknown(name) => {
            eprintln!("redline: there is no applet '{name}'; 'redline --help' lists them");
            Ok(ExitCode::from(2))
        }
    };
    result.unwrap_or_else(|error| {
        eprintln!("redline: {error:#}");
        ExitCode::FAILURE
    })
}

/// What a command line asks for.
enum Choice {
    Run { applet: &'static Applet, program: String, arguments: Vec<OsString> },
    Help,
    Version,
    Nothing,
    Unknown(String),
}

/// Reads the name of the program and its arguments, without that name.
fn choose(program: &OsStr, mut arguments: Vec<OsString>) -> Choice {
    let link = Path::new(program).file_name().and_then(OsStr::to_str).unwrap_or_default();
    if let Some(applet) = named(link) {
        return Choice::Run { applet, program: link.to_owned(), arguments };
    }
    if arguments.is_empty() {
        return Choice::Nothing;
    }
    let first = arguments.remove(0).to_string_lossy().into_owned();
    match first.as_str() {
        "--help" | "-h" | "help" => return Choice::Help,
        "--version" | "-V" | "-v" => return Choice::Version,
        _ => {}
    }
    match named(&first) {
        Some(applet) => Choice::Run { applet, program: format!("redline {first}"), arguments },
        None => Choice::Unknown(first),
    }
}

fn help() -> String {
    let mut text = format!(
        "Redline {VERSION}: a Redis-compatible store, and a lab that measures any of them.\n\n\
         Usage: redline APPLET [arguments]\n\n"
    );
    for applet in APPLETS {
        text.push_str(&format!("  {:<18} {}\n", applet.name, applet.summary));
    }
    text.push_str(
        "\n'redline APPLET --help' tells an applet's arguments. A link to this program\n\
         named like an applet, or a program it stands for, runs it ('redline link').\n",
    );
    text
}

#[cfg(test)]
mod tests {
    use super::{APPLETS, Choice, choose, help};

    fn chosen(words: &[&str]) -> Choice {
        choose(words[0].as_ref(), words[1..].iter().map(Into::into).collect())
    }

    #[test]
    fn a_link_or_the_first_argument_chooses() {
        for words in [
            &["redis-server", "--port", "1"][..],
            &["valkey-server", "--port", "1"],
            &["/a/redline", "server", "--port", "1"],
            &["/a/server", "--port", "1"],
        ] {
            let Choice::Run { applet, arguments, .. } = chosen(words) else { panic!("{words:?}") };
            assert_eq!(applet.name, "server");
            assert_eq!(arguments, ["--port", "1"]);
        }
        let Choice::Run { program, .. } = chosen(&["redline", "redis-server"]) else { panic!() };
        assert_eq!(program, "redline redis-server");
        assert!(matches!(chosen(&["redline"]), Choice::Nothing));
        assert!(matches!(chosen(&["redline", "-h"]), Choice::Help));
        assert!(matches!(chosen(&["redline", "--version"]), Choice::Version));
        assert!(matches!(chosen(&["redline", "nonsense"]), Choice::Unknown(_)));
    }

    #[test]
    fn names_differ_and_the_help_fits_a_screen() {
        let mut names: Vec<&str> = Vec::new();
        for applet in APPLETS {
            let links = applet.links.iter().filter(|link| **link != applet.name);
            names.push(applet.name);
            names.extend(links);
        }
        let count = names.len();
        names.sort_unstable();
        names.dedup();
        assert_eq!(names.len(), count);
        assert!(help().lines().count() <= 24);
        for line in help().lines() {
            assert!(line.len() <= 80, "{line}");
        }
    }

    #[test]
    fn every_option_of_every_applet_has_a_name_and_a_help() {
        for applet in APPLETS {
            for section in (applet.manual)().sections {
                for option in section.options {
                    assert!(!option.names.is_empty() && !option.help.is_empty(), "{option:?}");
                    assert!(option.names.iter().all(|name| name.starts_with('-')), "{option:?}");
                }
            }
        }
    }
}
