//! The options of redis-cli: one table that is both its parser and its help.
//!
//! Adding an option is a field of [`Options`] and a row of [`FLAGS`]. Numbers are read as C's `atoi` reads them, as the original does.

use std::ffi::OsString;
use std::fmt::Write as _;
use std::os::unix::ffi::OsStringExt as _;
use std::time::Duration;

use super::options::{Mode, Options, Output, Protocol};
use crate::applets::redis_benchmark::flags::number;
use crate::applets::server_uri;
use crate::flags::layout::{Layout, NameStyle};
use crate::flags::manual::{self, Manual};
use crate::flags::tls;
use crate::flags::{Flag, Section, Stop, linear, option, switch};

/// Longest interval, in seconds: what is beyond is cut to it.
const MAX_INTERVAL_S: f64 = 1e9;
/// The shape of the help: that of the original.
const LAYOUT: Layout = Layout { indent: 2, column: 21, name: NameStyle::First };

/// Options for the connection.
const CONNECTION: &[Flag<Options>] = &[
    option(&["-h"], "<hostname>", "Host of the server (default: 127.0.0.1).", |options, value| {
        options.host = value.to_string();
        Ok(())
    }),
    option(&["-p"], "<port>", "Port of the server (default: 6379).", |options, value| {
        let port = u16::try_from(number(value));
        options.port = port.map_err(|_| Stop::Refused("Invalid server port.".into()))?;
        Ok(())
    }),
    option(
        &["-t"],
        "<timeout>",
        "Seconds to wait for the connection; fractions are allowed. 0, the default, waits as long as the system does.",
        |options, value| {
            let seconds = value.parse::<f64>().unwrap_or(-1.0);
            if !(0.0..=MAX_INTERVAL_S).contains(&seconds) {
                return Err(Stop::Refused("Invalid connection timeout for -t.".into()));
            }
            options.connect_timeout = (seconds > 0.0).then(|| Duration::from_secs_f64(seconds));
            Ok(())
        },
    ),
    option(
        &["-s"],
        "<socket>",
        "Unix socket of the server; host and port are not used then.",
        |options, value| {
            options.socket = Some(value.to_string());
            Ok(())
        },
    ),
    option(
        &["-a", "--pass"],
        "<password>",
        "Password to authenticate with. The environment variable REDISCLI_AUTH tells it more safely; this option goes before it.",
        |options, value| {
            options.password = Some(value.to_string());
            Ok(())
        },
    ),
    option(
        &["--user"],
        "<username>",
        "User to authenticate as; takes effect with a password.",
        |options, value| {
            options.user = Some(value.to_string());
            Ok(())
        },
    ),
    switch(
        &["--askpass"],
        "Ask for the password, masked, on the terminal; -a and REDISCLI_AUTH are not used then.",
        |options, _| {
            options.ask_password = true;
            Ok(())
        },
    ),
    option(
        &["-u"],
        "<uri>",
        "All of it in one: redis://user:password@host:port/db, where every part may be left out; valkey:// means the same.",
        |options, value| apply_uri(options, value).map_err(Stop::Refused),
    ),
    option(&["-n"], "<db>", "Database to SELECT.", |options, value| {
        options.database = number(value);
        Ok(())
    }),
    switch(&["-2"], "Speak RESP2.", |options, _| {
        if options.protocol == Protocol::Resp3 {
            return Err(both_protocols());
        }
        options.protocol = Protocol::Resp2;
        options.resp2_asked = true;
        Ok(())
    }),
    switch(&["-3"], "Speak RESP3.", |options, _| {
        if options.resp2_asked {
            return Err(both_protocols());
        }
        options.protocol = Protocol::Resp3;
        Ok(())
    }),
    switch(&["-c"], "Follow the redirections of a cluster.", |options, _| {
        options.cluster = true;
        Ok(())
    }),
    tls::tls(),
    tls::sni(),
    tls::ca_file(),
    tls::ca_directory(),
    tls::insecure(),
    tls::certificate(),
    tls::key(),
    tls::ciphers(),
    tls::ciphersuites(),
    switch(
        &["--no-auth-warning"],
        "Do not warn of a password on the command line.",
        |options, _| {
            options.auth_warning = false;
            Ok(())
        },
    ),
];

/// Options for commands and for what is printed.
const COMMANDS: &[Flag<Options>] = &[
    option(
        &["-r"],
        "<repeat>",
        "Send the command so many times; a negative number repeats it for ever.",
        |options, value| {
            options.repeat = number(value);
            Ok(())
        },
    ),
    option(
        &["-i"],
        "<interval>",
        "Seconds between repetitions of -r, between the lines of --stat and --scan's calls, and for every 100 calls of the \
         modes that scan; fractions are allowed.",
        |options, value| {
            options.interval = seconds(value);
            Ok(())
        },
    ),
    switch(&["-x"], "Take the last argument from standard input.", |options, _| {
        options.stdin_last = true;
        Ok(())
    }),
    option(
        &["-X"],
        "<tag>",
        "Take the argument that reads <tag> from standard input.",
        |options, value| {
            options.stdin_tag = Some(value.into());
            Ok(())
        },
    ),
    switch(
        &["--quoted-input"],
        "Arguments may be quoted, with escapes, as at the prompt.",
        |options, _| {
            options.quoted_input = true;
            Ok(())
        },
    ),
    switch(&["-e"], "An error reply makes the exit status 1.", |options, _| {
        options.error_status = true;
        Ok(())
    }),
    option(
        &["-d"],
        "<delimiter>",
        "Between the elements of a reply in raw output (default: line end).",
        |options, value| {
            options.element_delimiter = value.into();
            Ok(())
        },
    ),
    option(
        &["-D"],
        "<delimiter>",
        "Behind each reply in raw output (default: line end).",
        |options, value| {
            options.reply_delimiter = value.into();
            Ok(())
        },
    ),
    switch(
        &["--raw"],
        "Print values only (the default unless standard output is a terminal).",
        |options, _| {
            set_output(options, Output::Raw);
            Ok(())
        },
    ),
    switch(
        &["--no-raw"],
        "Print types and indices even if standard output is no terminal.",
        |options, _| {
            set_output(options, Output::Standard);
            Ok(())
        },
    ),
    switch(&["--csv"], "Print comma-separated values.", |options, _| {
        set_output(options, Output::Csv);
        Ok(())
    }),
    switch(&["--json"], "Print JSON; speaks RESP3 unless -2 is given.", |options, _| {
        set_output(options, Output::Json);
        prefer_resp3(options);
        Ok(())
    }),
    switch(
        &["--quoted-json"],
        "Print JSON in ASCII, with escapes for all other bytes.",
        |options, _| {
            set_output(options, Output::QuotedJson);
            prefer_resp3(options);
            Ok(())
        },
    ),
    option(
        &["--show-pushes"],
        "<yn>",
        "Print RESP3's out-of-band data: yes or no (default: yes on a terminal).",
        |options, value| {
            match value.bytes().next() {
                Some(b'y' | b'Y') => options.show_pushes = Some(true),
                Some(b'n' | b'N') => options.show_pushes = Some(false),
                _ => options.warnings.push(format!(
                    "Unknown --show-pushes value '{value}' (valid: '[y]es', '[n]o')"
                )),
            }
            Ok(())
        },
    ),
    switch(&["--verbose"], "Tell more.", |options, _| {
        options.verbose = true;
        Ok(())
    }),
];

/// Options for data: scripts, keys, bulk loading, snapshots.
const DATA: &[Flag<Options>] = &[
    option(
        &["--eval"],
        "<file>",
        "Send the script in <file>; a comma between the arguments divides keys from the others.",
        |options, value| {
            options.eval = Some(value.to_string());
            Ok(())
        },
    ),
    switch(&["--ldb"], "Debug the script of --eval (not available).", |options, _| {
        options.unavailable.get_or_insert("--ldb".into());
        Ok(())
    }),
    switch(
        &["--ldb-sync-mode"],
        "The same with the server blocked (not available).",
        |options, _| {
            options.unavailable.get_or_insert("--ldb-sync-mode".into());
            Ok(())
        },
    ),
    switch(&["--scan"], "Print all keys, by SCAN.", |options, _| {
        options.set_mode(Mode::Scan);
        Ok(())
    }),
    option(
        &["--pattern"],
        "<pat>",
        "Keys to take, for the modes that scan (default: *).",
        |options, value| {
            options.pattern = Some(value.into());
            Ok(())
        },
    ),
    option(
        &["--quoted-pattern"],
        "<pat>",
        "The same, quoted, with escapes for what can't be typed.",
        |options, value| {
            let words = text::quote::split(value.as_bytes()).unwrap_or_default();
            let [pattern] = words.as_slice() else {
                let sentence = "Invalid quoted string specified for --quoted-pattern.";
                return Err(Stop::Refused(sentence.into()));
            };
            options.pattern = Some(pattern.clone());
            Ok(())
        },
    ),
    option(
        &["--count"],
        "<count>",
        "Keys that each SCAN is to look at (default: 10).",
        |options, value| {
            options.count = number(value);
            Ok(())
        },
    ),
    option(&["--type"], "<type>", "Type of the keys that --scan prints.", |options, value| {
        options.key_type = Some(value.to_string());
        Ok(())
    }),
    switch(
        &["--pipe"],
        "Send protocol from standard input as it is, and count the replies.",
        |options, _| {
            options.set_mode(Mode::Pipe);
            Ok(())
        },
    ),
    option(
        &["--pipe-timeout"],
        "<n>",
        "Seconds without a reply after which --pipe gives up when all is sent (default: 30); 0 waits for ever.",
        |options, value| {
            options.pipe_timeout_s = number(value).max(0) as u64;
            Ok(())
        },
    ),
    option(
        &["--rdb"],
        "<filename>",
        "Save a snapshot of the server to a file; - is standard output.",
        |options, value| rdb(options, value, false),
    ),
    option(
        &["--functions-rdb"],
        "<filename>",
        "The same with functions only.",
        |options, value| rdb(options, value, true),
    ),
    switch(
        &["--replica", "--slave"],
        "Print the commands that a replica of the server receives.",
        |options, _| {
            options.set_mode(Mode::Replica);
            Ok(())
        },
    ),
];

/// The cluster manager and its options, which are taken only with it.
const CLUSTER: &[Flag<Options>] = &[option(
    &["--cluster"],
    "<command>",
    "Inspect or change a cluster: 'help' lists the commands.",
    |options, value| {
        options.set_mode(Mode::ClusterManager);
        options.cluster_command = vec![value.to_string()];
        Ok(())
    },
)];

/// Modes that measure.
const MEASUREMENTS: &[Flag<Options>] = &[
    switch(
        &["--latency"],
        "Measure the time that PING takes, in milliseconds: live on a terminal; else for one second, or -i, and print one line.",
        |options, _| {
            options.set_mode(Mode::Latency);
            Ok(())
        },
    ),
    switch(
        &["--latency-history"],
        "The same with a new line every 15 seconds, or -i.",
        |options, _| {
            options.set_mode(Mode::Latency);
            options.latency_history = true;
            Ok(())
        },
    ),
    option(
        &["--latency-percentiles"],
        "<list>",
        "Percentiles that --latency and --latency-history add, as 50,99,99.9; all their figures have microseconds then.",
        |options, value| {
            options.latency_percentiles = Some(value.to_string());
            Ok(())
        },
    ),
    switch(
        &["--latency-dist"],
        "Show latency as a spectrum, a line a second, or -i, in 256 colours.",
        |options, _| {
            options.set_mode(Mode::LatencyDist);
            Ok(())
        },
    ),
    switch(&["--mono"], "The spectrum in grey.", |options, _| {
        options.mono = true;
        Ok(())
    }),
    option(
        &["--intrinsic-latency"],
        "<sec>",
        "Measure for so many seconds how long this machine keeps a process waiting; needs no server.",
        |options, value| {
            options.set_mode(Mode::IntrinsicLatency);
            options.intrinsic_latency_s = number(value);
            Ok(())
        },
    ),
    switch(&["--stat"], "Print figures of the server every second, or -i.", |options, _| {
        options.set_mode(Mode::Stat);
        Ok(())
    }),
    switch(
        &["--bigkeys"],
        "Look for the longest key of each type, by SCAN over all keys; -i pauses after every hundred SCANs, Ctrl-C shows what was found so far.",
        |options, _| {
            options.set_mode(Mode::Bigkeys);
            Ok(())
        },
    ),
    switch(
        &["--memkeys"],
        "The same by the memory that keys take, which the server must tell (MEMORY USAGE).",
        |options, _| {
            options.set_mode(Mode::Memkeys);
            Ok(())
        },
    ),
    option(
        &["--memkeys-samples"],
        "<n>",
        "The same, sampling <n> elements of each key.",
        |options, value| {
            options.set_mode(Mode::Memkeys);
            options.memkeys_samples = Some(number(value));
            Ok(())
        },
    ),
    switch(
        &["--keystats"],
        "Both at once, with the largest keys and the distribution of sizes.",
        |options, _| {
            options.set_mode(Mode::Keystats);
            Ok(())
        },
    ),
    option(
        &["--keystats-samples"],
        "<n>",
        "The same, sampling <n> elements of each key.",
        |options, value| {
            options.set_mode(Mode::Keystats);
            options.keystats_samples = Some(number(value));
            Ok(())
        },
    ),
    option(
        &["--cursor"],
        "<n>",
        "Where --keystats starts to scan (default: 0).",
        |options, value| {
            options.cursor = value.trim().parse().map_err(|_| {
                Stop::Refused("--cursor should be followed by a positive integer.".into())
            })?;
            Ok(())
        },
    ),
    option(&["--top"], "<n>", "Keys that --keystats lists (default: 10).", |options, value| {
        options.top = usize::try_from(number(value)).unwrap_or(0);
        Ok(())
    }),
    switch(
        &["--hotkeys"],
        "Look for the keys that are used most, by SCAN over all keys; the server needs an LFU policy.",
        |options, _| {
            options.set_mode(Mode::Hotkeys);
            Ok(())
        },
    ),
    option(
        &["--lru-test"],
        "<keys>",
        "Use the server as a cache in which one fifth of the keys gets four fifths of the requests.",
        |options, value| {
            options.set_mode(Mode::LruTest);
            options.lru_keys = number(value);
            Ok(())
        },
    ),
];

/// Options that ask for nothing else.
const INFORMATION: &[Flag<Options>] = &[
    switch(&["--help"], "Print this and exit.", |_, _| Err(Stop::Help)),
    switch(&["--version", "-v"], "Print the version and exit.", |_, _| Err(Stop::Version)),
];

/// All options in the order of the help.
pub const FLAGS: &[Section<Options>] = &[
    Section { title: "Connection", flags: CONNECTION },
    Section { title: "Commands and output", flags: COMMANDS },
    Section { title: "Data", flags: DATA },
    Section { title: "Measurements", flags: MEASUREMENTS },
    Section { title: "Cluster", flags: CLUSTER },
    Section { title: "Information", flags: INFORMATION },
];

/// Reads the arguments behind the program's name. Options end at the first word that is none: the command starts there.
///
/// # Errors
/// [`Stop`]: help, version, or what is wrong.
pub fn parse(arguments: Vec<OsString>) -> Result<Options, Stop> {
    let mut options = Options::default();
    let mut words = arguments;
    loop {
        let known = options.cluster_command.len();
        options.command = linear::parse(FLAGS, &mut options, words)?;
        if options.cluster_command.len() == known {
            break;
        }
        // The subcommand is read; words without a dash behind it are its own, and options may follow.
        let is_option = |word: &Vec<u8>| word.first() == Some(&b'-');
        let rest = std::mem::take(&mut options.command);
        let end = rest.iter().position(is_option).unwrap_or(rest.len());
        options.cluster_command.extend(rest[..end].iter().map(|word| text(word)));
        words = rest[end..].iter().cloned().map(OsString::from_vec).collect();
    }
    check(&options).map_err(|sentence| Stop::Refused(sentence.into()))?;
    Ok(options)
}

/// What does not go together.
fn check(options: &Options) -> Result<(), &'static str> {
    if options.socket.is_some() && options.cluster {
        return Err("Options -c and -s are mutually exclusive.");
    }
    if options.unavailable.as_deref().is_some_and(|name| name.starts_with("--ldb"))
        && options.eval.is_none()
    {
        return Err(
            "Options --ldb and --ldb-sync-mode require --eval.\nTry redis-cli --help for more information.",
        );
    }
    if options.latency_percentiles.is_some() && options.mode != Some(Mode::Latency) {
        return Err("Option --latency-percentiles goes with --latency or --latency-history.");
    }
    if options.stdin_last && options.stdin_tag.is_some() {
        return Err("Options -x and -X are mutually exclusive.");
    }
    Ok(())
}

/// What manual page and completions are made of.
pub fn manual() -> Manual {
    Manual {
        synopsis: "[OPTIONS] [COMMAND ARGS...]",
        description: "Sends the command given, or reads commands from a prompt or from standard input. Options choose modes that measure instead."
            .into(),
        sections: manual::listings(FLAGS),
    }
}

/// The help, with `program` as the name to call.
pub fn usage(program: &str) -> String {
    let mut text = format!("Usage: {program} [OPTIONS] [cmd [arg [arg ...]]]\n");
    for section in FLAGS {
        let _ = write!(text, "\n{}:\n{}", section.title, LAYOUT.options(section));
    }
    let _ = write!(
        text,
        "\nExamples:\n\
         \x20 {program} -x set note < note.txt\n\
         \x20 {program} -r 10 -i 0.5 incr counter\n\
         \x20 {program} --quoted-input set '\"a\\x00b\"' value\n\
         \x20 {program} --eval script.lua key1 key2 , arg1 arg2\n\
         \x20 {program} --scan --pattern 'user:*'\n\n\
         Without a command it prompts for commands; 'help' at the prompt tells more.\n"
    );
    text
}

fn apply_uri(options: &mut Options, text: &str) -> Result<(), String> {
    let uri = server_uri::parse(text)?;
    if uri.is_tls {
        options.tls.turn_on();
    }
    if uri.password.is_some() {
        (options.user, options.password) = (uri.user, uri.password);
    }
    if let Some(host) = uri.host {
        options.host = host;
    }
    if let Some(port) = uri.port {
        options.port = port;
    }
    if let Some(database) = uri.database {
        options.database = database;
    }
    Ok(())
}

fn both_protocols() -> Stop {
    Stop::Refused("Options -2 and -3 are mutually exclusive.".into())
}

fn set_output(options: &mut Options, output: Output) {
    options.output = output;
    options.is_output_asked = true;
}

/// JSON is at its best in RESP3, unless a version was asked for.
fn prefer_resp3(options: &mut Options) {
    if options.protocol == Protocol::Resp2 && !options.resp2_asked {
        options.protocol = Protocol::PreferResp3;
    }
}

fn rdb(options: &mut Options, path: &str, functions_only: bool) -> Result<(), Stop> {
    if options.mode == Some(Mode::Rdb) && options.rdb_functions_only != functions_only {
        let sentence = "Option --functions-rdb and --rdb are mutually exclusive.";
        return Err(Stop::Refused(sentence.into()));
    }
    options.set_mode(Mode::Rdb);
    options.rdb_path = path.to_string();
    options.rdb_functions_only = functions_only;
    Ok(())
}

/// Seconds as `atof` reads them: 0 for what is no number.
fn seconds(text: &str) -> Duration {
    let text = text.trim_start();
    let end = text.find(|byte: char| !matches!(byte, '0'..='9' | '.' | 'e' | 'E' | '+' | '-'));
    let number: f64 = text[..end.unwrap_or(text.len())].parse().unwrap_or(0.0);
    Duration::from_secs_f64(number.clamp(0.0, MAX_INTERVAL_S))
}

fn text(bytes: &[u8]) -> String {
    String::from_utf8_lossy(bytes).into_owned()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn parsed(line: &str) -> Result<Options, Stop> {
        parse(line.split(' ').map(OsString::from).collect())
    }

    #[test]
    fn a_command_line_is_read_as_the_original_reads_it() {
        let options = parsed("-h x -p 7 -n 3 --csv -r -1 -i .25 get -p").unwrap();
        assert_eq!((options.host.as_str(), options.port, options.database), ("x", 7, 3));
        assert_eq!((options.output, options.repeat), (Output::Csv, -1));
        assert_eq!(options.interval, Duration::from_millis(250));
        assert_eq!(options.command, [b"get".to_vec(), b"-p".to_vec()]);
        assert_eq!(parsed("--json").unwrap().protocol, Protocol::PreferResp3);
        assert_eq!(parsed("--json -3").unwrap().protocol, Protocol::Resp3);
        assert_eq!(parsed("--json -2").unwrap().protocol, Protocol::Resp2);
        assert_eq!(parsed("-2 --json").unwrap().protocol, Protocol::Resp2);
        let options = parsed("--bigkeys --latency --stat").unwrap();
        assert_eq!(options.mode, Some(Mode::Latency));
        let options = parsed("--cluster call 127.0.0.1:7000 ping -a secret").unwrap();
        assert_eq!(options.cluster_command, ["call", "127.0.0.1:7000", "ping"]);
        assert_eq!(options.password.as_deref(), Some("secret"));
    }

    #[test]
    fn what_does_not_go_together_is_said_as_the_original_says_it() {
        for (line, sentence) in [
            ("-c -s /tmp/x", "Options -c and -s are mutually exclusive."),
            ("-2 -3", "Options -2 and -3 are mutually exclusive."),
            ("-3 -2", "Options -2 and -3 are mutually exclusive."),
            ("-x -X tag", "Options -x and -X are mutually exclusive."),
            (
                "--rdb a --functions-rdb b",
                "Option --functions-rdb and --rdb are mutually exclusive.",
            ),
            (
                "--stat --latency-percentiles 50",
                "Option --latency-percentiles goes with --latency or --latency-history.",
            ),
            ("-p 70000", "Invalid server port."),
            ("-u http://x", "Invalid URI scheme"),
            ("--quoted-pattern \"x", "Invalid quoted string specified for --quoted-pattern."),
        ] {
            assert_eq!(parsed(line).unwrap_err(), Stop::Refused(sentence.into()), "{line}");
        }
        assert_eq!(parsed("--nonsense").unwrap_err(), Stop::Invalid("--nonsense".into()));
    }

    #[test]
    fn the_help_names_every_option_within_eighty_columns() {
        let help = usage("redis-cli");
        for flag in FLAGS.iter().flat_map(|section| section.flags) {
            assert!(help.contains(&format!("\n  {}", flag.names[0])), "{}", flag.names[0]);
        }
        assert!(help.lines().all(|line| line.len() <= 85), "{help}");
    }
}
