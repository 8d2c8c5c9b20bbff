//! The options of resp-benchmark: one table that is both its parser and its help.
//!
//! The letters are its own: `-u` is a user name (elsewhere a URI), `-t` a rate (elsewhere tests or threads), `-n` counts over all
//! connections, `-c 0` searches for the number of connections.

use std::ffi::OsString;
use std::fmt::Write as _;

use super::ranges;
use crate::flags::layout::ARGPARSE;
use crate::flags::manual::{self, Manual};
use crate::flags::{Section, Stop, argparse, option, switch};

/// Largest port number.
const PORT_MAX: u64 = 65_535;

/// What the command line asks for.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Options {
    /// Host name or address.
    pub host: String,
    /// Port.
    pub port: u16,
    /// User name; takes effect with a password.
    pub user: String,
    /// Password; empty for none.
    pub password: String,
    /// Databases as they were written, and as numbers.
    pub database_text: String,
    /// Databases, each once, in the order given.
    pub databases: Vec<u32>,
    /// Connections; 0 to search for the number.
    pub clients: u32,
    /// Cores to run on; empty for all.
    pub cores: String,
    /// The server is a node of a cluster.
    pub cluster: bool,
    /// Requests over all connections; 0 for no limit.
    pub requests: u64,
    /// Requests a second over all connections; 0 for no limit.
    pub rate_rps: u64,
    /// Measured seconds; 0 for no limit.
    pub duration_s: u64,
    /// Requests sent together.
    pub pipeline: u32,
    /// Load data instead of measuring.
    pub load: bool,
    /// A new connection for each command.
    pub short_connection: bool,
    /// The command is a Lua script.
    pub lua: bool,
    /// The command names a file with a Lua script.
    pub lua_file: bool,
    /// What is sent.
    pub command: String,
}

impl Default for Options {
    fn default() -> Self {
        Self {
            host: "127.0.0.1".into(),
            port: 6379,
            user: String::new(),
            password: String::new(),
            database_text: "0".into(),
            databases: vec![0],
            clients: 0,
            cores: String::new(),
            cluster: false,
            requests: 0,
            rate_rps: 0,
            duration_s: 0,
            pipeline: 1,
            load: false,
            short_connection: false,
            lua: false,
            lua_file: false,
            command: "SET {key uniform 100000} {value 64}".into(),
        }
    }
}

/// All options, in the order of the help.
pub const FLAGS: &[Section<Options>] = &[Section {
    title: "options",
    flags: &[
        option(&["-h"], "host", "Host of the server (default 127.0.0.1)", |options, value| {
            options.host = value.into();
            Ok(())
        }),
        option(&["-p"], "port", "Port of the server (default 6379)", |options, value| {
            options.port = number(value, PORT_MAX)? as u16;
            Ok(())
        }),
        option(
            &["-u"],
            "username",
            "User to authenticate as; takes effect with -a",
            |options, value| {
                options.user = value.into();
                Ok(())
            },
        ),
        option(&["-a"], "password", "Password to authenticate with", |options, value| {
            options.password = value.into();
            Ok(())
        }),
        option(
            &["--dbid"],
            "DBID",
            "Databases: numbers and ranges with both ends in, as 0,1,2 or 0-2,255 (default 0). Requests are divided \
             evenly among them",
            |options, value| {
                options.database_text = value.into();
                Ok(())
            },
        ),
        option(
            &["-c"],
            "clients",
            "Connections (default 0: search for the number that is worth it)",
            |options, value| {
                options.clients = number(value, u32::MAX.into())? as u32;
                Ok(())
            },
        ),
        option(
            &["--cores"],
            "CORES",
            "Cores to run on, as 0,2 or 0-3, one thread each (default all)",
            |options, value| {
                options.cores = value.into();
                Ok(())
            },
        ),
        switch(
            &["--cluster"],
            "The server is a node of a cluster: load all primaries",
            |options, _| {
                options.cluster = true;
                Ok(())
            },
        ),
        option(
            &["-n"],
            "requests",
            "Requests over all connections (default 0, no limit)",
            |options, value| {
                options.requests = number(value, u64::MAX)?;
                Ok(())
            },
        ),
        option(
            &["-t"],
            "target",
            "Requests a second over all connections (default 0, no limit)",
            |options, value| {
                options.rate_rps = number(value, u64::MAX)?;
                Ok(())
            },
        ),
        option(&["-s"], "seconds", "Measured time (default 0, no limit)", |options, value| {
            options.duration_s = number(value, u64::MAX / 1_000)?;
            Ok(())
        }),
        option(
            &["-P"],
            "pipeline",
            "Requests sent together; the next follow after all replies (default 1)",
            |options, value| {
                options.pipeline = match integer(value)? {
                    ..=0 => 0,
                    more => u32::try_from(more).unwrap_or(u32::MAX),
                };
                Ok(())
            },
        ),
        switch(&["--load"], "Load data and tell how fast; needs -n", |options, _| {
            options.load = true;
            Ok(())
        }),
        switch(
            &["--short-connection"],
            "A new connection for each command; not with --load or -P",
            |options, _| {
                options.short_connection = true;
                Ok(())
            },
        ),
        switch(&["-v", "--version"], "Print the version", |_, _| Err(Stop::Version)),
        switch(
            &["--lua"],
            "The command is a Lua script whose function generate() returns the words of each command",
            |options, _| {
                options.lua = true;
                Ok(())
            },
        ),
        switch(&["--lua-file"], "The command names a file with such a script", |options, _| {
            options.lua_file = true;
            Ok(())
        }),
        switch(&["--help"], "Print this text", |_, _| Err(Stop::Help)),
    ],
}];

/// What may stand in a command.
const PLACEHOLDERS: [(&str, &str); 6] = [
    ("{key uniform N}", "key_ and ten digits, any below N"),
    ("{key sequence N}", "the same, one after the other over all connections"),
    ("{key zipfian N}", "the same, some far more often than others"),
    ("{value N}", "N random letters and digits"),
    ("{rand N}", "a number below N"),
    ("{range N W}", "two arguments: a number below N, and that plus W, below N too"),
];

/// Reads a command line, without the program's name.
///
/// # Errors
/// What to print instead of running.
pub fn parse(arguments: Vec<OsString>) -> Result<Options, Stop> {
    let mut options = Options::default();
    let mut words = argparse::parse(FLAGS, &mut options, arguments)?
        .into_iter()
        .map(|word| String::from_utf8_lossy(&word).into_owned());
    if let Some(command) = words.next() {
        options.command = command;
    }
    let beyond: Vec<String> = words.collect();
    if !beyond.is_empty() {
        return Err(argparse::unrecognized(&beyond));
    }
    if options.pipeline == 0 {
        return Err(Stop::Invalid("pipeline must be greater than 0".into()));
    }
    options.databases = ranges::databases(&options.database_text).map_err(Stop::Invalid)?;
    if options.cluster && options.databases != [0] {
        return Err(Stop::Invalid("--cluster only supports dbid 0".into()));
    }
    Ok(options)
}

/// The lines that stand before an error too.
pub fn usage(program: &str) -> String {
    argparse::usage(FLAGS, program, "[command]")
}

/// The help, with `program` as the name to call.
pub fn help(program: &str) -> String {
    let mut text = usage(program);
    text.push_str(
        "\nSends one command on many connections and tells how fast it is answered.\n\npositional arguments:\n",
    );
    ARGPARSE.entry(
        &mut text,
        "command",
        "What is sent, with placeholders (default: SET {key uniform 100000} {value 64})",
    );
    for (name, meaning) in PLACEHOLDERS {
        ARGPARSE.entry(&mut text, &format!("  {name}"), meaning);
    }
    for section in FLAGS {
        let _ = write!(text, "\n{}:\n{}", section.title, ARGPARSE.options(section));
    }
    text
}

/// What manual page and completions are made of.
pub fn manual() -> Manual {
    let placeholders: Vec<String> =
        PLACEHOLDERS.iter().map(|(name, meaning)| format!("{name}: {meaning}.")).collect();
    Manual {
        synopsis: "[OPTIONS] [COMMAND]",
        description: format!(
            "Sends one command on many connections and tells how fast it is answered. In it these stand for something \
             else:\n\n{}",
            placeholders.join("\n\n")
        ),
        sections: manual::listings(FLAGS),
    }
}

/// A whole number as Python reads it.
fn integer(text: &str) -> Result<i64, Stop> {
    let value = text.trim().parse::<i64>();
    value.map_err(|_| Stop::Invalid(format!("invalid int value: '{text}'")))
}

fn number(text: &str, most: u64) -> Result<u64, Stop> {
    let value = u64::try_from(integer(text)?).ok().filter(|value| *value <= most);
    value.ok_or_else(|| Stop::Invalid(format!("must be from 0 to {most}")))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn parsed(words: &[&str]) -> Result<Options, Stop> {
        parse(words.iter().map(Into::into).collect())
    }

    #[test]
    fn every_option_is_taken_with_its_own_meaning() {
        let line = "-h example -p 7 -u me -a secret --dbid 0-1,9 -c 3 --cores 0,2 -n 11 -t 500 -s 4 -P 16 \
                    --load --short-connection --lua --lua-file";
        let mut words: Vec<&str> = line.split(' ').collect();
        words.push("GET {key uniform 9}");
        let expected = Options {
            host: "example".into(),
            port: 7,
            user: "me".into(),
            password: "secret".into(),
            database_text: "0-1,9".into(),
            databases: vec![0, 1, 9],
            clients: 3,
            cores: "0,2".into(),
            cluster: false,
            requests: 11,
            rate_rps: 500,
            duration_s: 4,
            pipeline: 16,
            load: true,
            short_connection: true,
            lua: true,
            lua_file: true,
            command: "GET {key uniform 9}".into(),
        };
        assert_eq!(parsed(&words), Ok(expected));
        assert_eq!(parsed(&[]), Ok(Options::default()));
        assert!(parsed(&["--cluster"]).unwrap().cluster);
        assert_eq!(parsed(&["--help"]), Err(Stop::Help));
        assert_eq!(parsed(&["-v"]), Err(Stop::Version));
    }

    #[test]
    fn complaints_are_those_of_the_original() {
        for (words, complaint) in [
            (&["-P", "0"][..], "pipeline must be greater than 0"),
            (&["-P", "-3"], "pipeline must be greater than 0"),
            (&["a", "b", "c"], "unrecognized arguments: b c"),
            (&["-q"], "unrecognized arguments: -q"),
            (&["-p", "x"], "argument -p: invalid int value: 'x'"),
            (&["-p", "70000"], "argument -p: must be from 0 to 65535"),
            (&["-c", "-1"], "argument -c: must be from 0 to 4294967295"),
            (&["-n"], "argument -n: expected one argument"),
            (&["--cluster", "--dbid", "1"], "--cluster only supports dbid 0"),
            (&["--dbid", "3-1"], "Invalid dbid range: 3-1 (start must not exceed end)"),
        ] {
            assert_eq!(parsed(words), Err(Stop::Invalid(complaint.into())), "{words:?}");
        }
    }

    #[test]
    fn the_usage_is_folded_as_argparse_folds_it() {
        let expected = "\
usage: resp-benchmark [-h host] [-p port] [-u username] [-a password]
                      [--dbid DBID] [-c clients] [--cores CORES] [--cluster]
                      [-n requests] [-t target] [-s seconds] [-P pipeline]
                      [--load] [--short-connection] [-v] [--lua] [--lua-file]
                      [--help]
                      [command]
";
        assert_eq!(usage("resp-benchmark"), expected);
        assert!(help("resp-benchmark").lines().all(|line| line.len() <= 80));
    }
}
