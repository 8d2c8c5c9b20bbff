//! The options of redis-benchmark: one table that is both its parser and its help.
//!
//! Adding an option is a field of [`Options`] and a row of [`FLAGS`]. Numbers are read as C's `atoi` reads them, because
//! scripts in the wild rely on `-n 1000abc` and `-P 0` being taken.

use std::ffi::OsString;
use std::fmt::Write as _;
use std::path::PathBuf;

use load::plan::ReplicaReads;

use super::uri;
use crate::flags::layout::REDIS;
use crate::flags::manual::{self, Manual};
use crate::flags::tls::{self, HasTls, TlsChoice};
use crate::flags::{Section, Stop, linear, option, switch};

/// Largest value that `-d` asks for, in bytes.
const MAX_DATA_BYTES: i64 = 1 << 30;
/// Most threads; more are cut to this with a warning.
const MAX_THREADS: i64 = 500;
/// Most significant figures of the histogram.
const MAX_FIGURES: i64 = 4;
/// Significant figures of the histogram when nothing, or nothing usable, is asked for.
const DEFAULT_FIGURES: u8 = 3;

/// What the command line asks for.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Options {
    /// Host name or address.
    pub host: String,
    /// Port.
    pub port: u16,
    /// Unix socket; before host and port.
    pub socket: Option<String>,
    /// User name for `AUTH`.
    pub user: Option<String>,
    /// Password for `AUTH`.
    pub password: Option<String>,
    /// Database to select; 0 sends nothing. Negative numbers go to the server, which refuses them.
    pub database: i64,
    /// `HELLO 3` first.
    pub resp3: bool,
    /// `CLIENT TRACKING on` first.
    pub tracking: bool,
    /// Connections.
    pub clients: i64,
    /// Requests of each test; `None` when not asked for.
    pub requests: Option<u64>,
    /// Measured time of each test in seconds; 0 when not asked for.
    pub duration_s: u64,
    /// Warm-up of each test in seconds.
    pub warm_up_s: u64,
    /// Rate over all connections; 0 for none.
    pub rate_rps: u64,
    /// Bytes of the values.
    pub data_bytes: usize,
    /// Requests, or sequences, sent together.
    pub pipeline: u32,
    /// Numbers that `__rand_int__` stands for; `None` leaves it as it is.
    pub keyspace: Option<u64>,
    /// The numbers count up.
    pub sequential: bool,
    /// False: a new connection for each batch.
    pub keep_alive: bool,
    /// Threads; 0 for one that is not called a thread.
    pub threads: u32,
    /// Seed of random numbers.
    pub seed: Option<u64>,
    /// Significant figures of the histogram.
    pub figures: u8,
    /// One line a test.
    pub quiet: bool,
    /// Lines of CSV.
    pub csv: bool,
    /// For ever again.
    pub endless: bool,
    /// Connections that do nothing.
    pub idle: bool,
    /// The last argument comes from standard input.
    pub from_stdin: bool,
    /// Names of tests in lower case, separated by commas.
    pub tests: Option<String>,
    /// Functions in the library that `function_load` loads.
    pub functions: u32,
    /// Keys that `fcall` passes.
    pub function_keys: u32,
    /// The file that `__field:NAME__` takes values from.
    pub data_set: Option<PathBuf>,
    /// Rows of it to take at most; 0 for all.
    pub data_set_rows_max: usize,
    /// How connections are encrypted.
    pub tls: TlsChoice,
    /// The server is a node of a cluster, and all of it is loaded.
    pub cluster: bool,
    /// Which of its nodes answer reads.
    pub replica_reads: ReplicaReads,
    /// Lines for standard error, in order.
    pub warnings: Vec<String>,
    /// The command to measure instead of the tests.
    pub command: Vec<Vec<u8>>,
}

impl HasTls for Options {
    fn tls_choice(&mut self) -> &mut TlsChoice {
        &mut self.tls
    }
}

impl Default for Options {
    fn default() -> Self {
        Self {
            host: "127.0.0.1".into(),
            port: 6379,
            socket: None,
            user: None,
            password: None,
            database: 0,
            resp3: false,
            tracking: false,
            clients: 50,
            requests: None,
            duration_s: 0,
            warm_up_s: 0,
            rate_rps: 0,
            data_bytes: 3,
            pipeline: 1,
            keyspace: None,
            sequential: false,
            keep_alive: true,
            threads: 0,
            seed: None,
            figures: DEFAULT_FIGURES,
            quiet: false,
            csv: false,
            endless: false,
            idle: false,
            from_stdin: false,
            tests: None,
            functions: 10,
            function_keys: 1,
            data_set: None,
            data_set_rows_max: 0,
            tls: TlsChoice::default(),
            cluster: false,
            replica_reads: ReplicaReads::No,
            warnings: Vec::new(),
            command: Vec::new(),
        }
    }
}

/// All options, in the order of the help.
pub const FLAGS: &[Section<Options>] = &[Section {
    title: "Options",
    flags: &[
        option(
            &["-h"],
            "<hostname>",
            "Host of the server (default 127.0.0.1)",
            |options, value| {
                options.host = value.into();
                Ok(())
            },
        ),
        option(&["-p"], "<port>", "Port of the server (default 6379)", |options, value| {
            options.port = port(number(value))?;
            Ok(())
        }),
        option(
            &["-s"],
            "<socket>",
            "Unix socket of the server; host and port are not used then",
            |options, value| {
                options.socket = Some(value.into());
                Ok(())
            },
        ),
        option(&["-a"], "<password>", "Password to authenticate with", |options, value| {
            options.password = Some(value.into());
            Ok(())
        }),
        option(
            &["--user"],
            "<username>",
            "User to authenticate as; takes effect with -a",
            |options, value| {
                options.user = Some(value.into());
                Ok(())
            },
        ),
        option(
            &["-u"],
            "<uri>",
            "All of it in one: redis://user:password@host:port/db, where every part but the host may be left out; \
         valkey:// means the same",
            |options, value| uri::apply(options, value).map_err(Stop::Refused),
        ),
        option(
            &["-c"],
            "<clients>",
            "Connections over all threads (default 50)",
            |options, value| {
                options.clients = number(value);
                Ok(())
            },
        ),
        option(
            &["-n"],
            "<requests>",
            "Requests of each test (default 100000)",
            |options, value| {
                options.requests = Some(unsigned(value));
                Ok(())
            },
        ),
        option(
            &["--duration"],
            "<seconds>",
            "Run each test for this time; not together with -n",
            |options, value| {
                options.duration_s = unsigned(value);
                Ok(())
            },
        ),
        option(
            &["--warmup"],
            "<seconds>",
            "Send this long before each test without recording it",
            |options, value| {
                options.warm_up_s = unsigned(value);
                Ok(())
            },
        ),
        option(&["-d"], "<size>", "Size of the values in bytes (default 3)", |options, value| {
            options.data_bytes = number(value).clamp(1, MAX_DATA_BYTES) as usize;
            Ok(())
        }),
        option(&["--dbnum"], "<db>", "Database to SELECT (default 0)", |options, value| {
            options.database = number(value);
            Ok(())
        }),
        switch(&["-3"], "Speak RESP3", |options, _| {
            options.resp3 = true;
            Ok(())
        }),
        option(&["--threads"], "<num>", "Threads that share the connections", |options, value| {
            let threads = number(value);
            if threads > MAX_THREADS {
                let warning =
                    format!("WARNING: Too many threads, limiting threads to {MAX_THREADS}.");
                options.warnings.push(warning);
            }
            options.threads = threads.clamp(0, MAX_THREADS) as u32;
            Ok(())
        }),
        switch(
            &["--cluster"],
            "Load all primaries of a cluster. Requests go where the slots of their keys are served; each {tag} stands \
             for a hash tag of the connection's own node",
            |options, _| {
                options.cluster = true;
                Ok(())
            },
        ),
        option(
            &["--rfr"],
            "<mode>",
            "Nodes of a cluster that answer reads: no for primaries (default), yes for replicas, all for every node",
            |options, value| {
                options.replica_reads = match value.to_ascii_lowercase().as_str() {
                    "no" => ReplicaReads::No,
                    "yes" => ReplicaReads::Yes,
                    "all" => ReplicaReads::All,
                    _ => return Err(Stop::Invalid("--rfr".into())),
                };
                Ok(())
            },
        ),
        switch(
            &["--enable-tracking"],
            "Send CLIENT TRACKING on on each connection first",
            |options, _| {
                options.tracking = true;
                Ok(())
            },
        ),
        option(
            &["-k"],
            "<boolean>",
            "0 makes a new connection for each batch (default 1)",
            |options, value| {
                options.keep_alive = number(value) != 0;
                Ok(())
            },
        ),
        option(
            &["-r"],
            "<keyspacelen>",
            "Replace each __rand_int__ by a random number of 12 digits below this, so that keys, members and scores \
         vary. Without -r it is sent as it stands, so that all requests of a test meet on one key",
            |options, value| {
                let after_sign = value.strip_prefix('-');
                if after_sign
                    .is_some_and(|rest| !rest.starts_with(|first: char| first.is_ascii_digit()))
                {
                    return Err(Stop::Invalid(value.into()));
                }
                options.keyspace = Some(unsigned(value));
                Ok(())
            },
        ),
        switch(&["--sequential"], "Count up instead of drawing the numbers of -r", |options, _| {
            options.sequential = true;
            Ok(())
        }),
        option(
            &["-P"],
            "<numreq>",
            "Requests (or sequences of commands) sent together; the next follow after all replies (default 1)",
            |options, value| {
                options.pipeline = number(value).max(1) as u32;
                Ok(())
            },
        ),
        switch(&["-q"], "One line for each test", |options, _| {
            options.quiet = true;
            Ok(())
        }),
        option(
            &["--precision"],
            "<num>",
            "Significant figures of latencies, 1 to 4 (default 3)",
            |options, value| {
                options.figures = match number(value) {
                    figures @ 1.. => figures.min(MAX_FIGURES) as u8,
                    _ => DEFAULT_FIGURES,
                };
                Ok(())
            },
        ),
        switch(&["--csv"], "Print lines of CSV", |options, _| {
            options.csv = true;
            Ok(())
        }),
        switch(&["-l"], "Begin again after the last test, for ever", |options, _| {
            options.endless = true;
            Ok(())
        }),
        option(
            &["-t"],
            "<tests>",
            "Tests to run, separated by commas; names without a test are passed over. Not used with a command",
            |options, value| {
                options.tests = Some(value.to_ascii_lowercase());
                Ok(())
            },
        ),
        switch(&["-I"], "Open the connections, send nothing, and wait", |options, _| {
            options.idle = true;
            Ok(())
        }),
        switch(&["-x"], "Take the command's last argument from standard input", |options, _| {
            options.from_stdin = true;
            Ok(())
        }),
        switch(
            &["-e"],
            "Without effect: the first error reply always ends the program",
            |options, _| {
                let warning = "WARNING: -e option has no effect. We now immediately exit on error to avoid false results.";
                options.warnings.push(warning.into());
                Ok(())
            },
        ),
        option(
            &["--rps"],
            "<requests>",
            "Requests a second over all connections (default 0, no limit)",
            |options, value| {
                options.rate_rps = unsigned(value);
                Ok(())
            },
        ),
        option(
            &["--seed"],
            "<num>",
            "Seed of all random numbers; the same seed repeats the same load",
            |options, value| {
                options.seed = Some(number(value) as u64);
                Ok(())
            },
        ),
        option(
            &["--num-functions"],
            "<num>",
            "Functions that function_load loads (default 10)",
            |options, value| {
                options.functions = unsigned(value) as u32;
                Ok(())
            },
        ),
        option(
            &["--num-keys-in-fcall"],
            "<num>",
            "Keys that fcall passes (default 1)",
            |options, value| {
                options.function_keys = unsigned(value) as u32;
                Ok(())
            },
        ),
        option(
            &["--dataset"],
            "<file>",
            "CSV (or .tsv) file that __field:name__ takes values from",
            |options, value| {
                options.data_set = Some(value.into());
                Ok(())
            },
        ),
        option(&["--maxdocs"], "<num>", "Rows to take from it at most", |options, value| {
            options.data_set_rows_max = unsigned(value) as usize;
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
        switch(&["--help"], "Print this text", |_, _| Err(Stop::Help)),
        switch(&["--version", "-v"], "Print the version", |_, _| Err(Stop::Version)),
    ],
}];

/// Reads a command line, without the program's name.
///
/// # Errors
/// What to print instead of running.
pub fn parse(arguments: Vec<OsString>) -> Result<Options, Stop> {
    let mut options = Options::default();
    options.command = linear::parse(FLAGS, &mut options, arguments)?;
    if options.requests.is_some() && options.duration_s > 0 {
        return Err(Stop::Refused("Options -n and --duration are mutually exclusive.".into()));
    }
    Ok(options)
}

/// What manual page and completions are made of.
pub fn manual() -> Manual {
    Manual {
        synopsis: "[OPTIONS] [--] [COMMAND ARGS...]",
        description: "Sends commands on many connections and tells how fast and how evenly they are answered: a suite of tests, those of it that -t names, or the command given."
            .into(),
        sections: manual::listings(FLAGS),
    }
}

/// The help, with `program` as the name to call.
pub fn usage(program: &str) -> String {
    let mut text = format!(
        "Usage: {program} [OPTIONS] [--] [COMMAND ARGS...]\n\n\
         Sends commands on many connections and tells how fast and how evenly they are\n\
         answered: a suite of tests, those of it that -t names, or the command given.\n\
         Several commands, divided by ';' arguments, are sent as one sequence; a number in\n\
         front of one repeats it. In arguments these stand for something else:\n\n"
    );
    for (name, meaning) in PLACEHOLDERS {
        REDIS.entry(&mut text, name, meaning);
    }
    for section in FLAGS {
        let _ = write!(text, "\n{}:\n\n{}", section.title, REDIS.options(section));
    }
    let _ = write!(
        text,
        "\nExamples:\n\n\
         \x20The whole suite against a server on this machine:\n\
         \x20  $ {program} -q\n\n\
         \x20SET and GET on a million keys, sixteen at a time:\n\
         \x20  $ {program} -t set,get -r 1000000 -n 1000000 -P 16\n\n\
         \x20A command of your own:\n\
         \x20  $ {program} -r 10000 -n 10000 zadd board __rand_int__ member:__rand_int__\n\n"
    );
    text
}

/// What is replaced in arguments.
const PLACEHOLDERS: [(&str, &str); 3] = [
    ("__rand_int__", "a number of 12 digits below -r; each one is drawn by itself"),
    ("__rand_1st__", "the same, but alike wherever it stands in a sequence; up to __rand_9th__"),
    ("__data__", "a value of -d bytes"),
];

/// A number as `atoi` reads it: leading blanks, a sign, digits, and whatever follows ignored. Kept within an `int`.
pub fn number(text: &str) -> i64 {
    let text = text.trim_start();
    let (negative, digits) = match text.as_bytes().first() {
        Some(b'-') => (true, &text[1..]),
        Some(b'+') => (false, &text[1..]),
        _ => (false, text),
    };
    let magnitude = digits.bytes().take_while(u8::is_ascii_digit).fold(0i64, |value, digit| {
        value.saturating_mul(10).saturating_add(i64::from(digit - b'0'))
    });
    let value = if negative { -magnitude } else { magnitude };
    value.clamp(i32::MIN.into(), i32::MAX.into())
}

/// A port number.
///
/// # Errors
/// The original's sentence for numbers outside 0 to 65535.
pub fn port(value: i64) -> Result<u16, Stop> {
    u16::try_from(value).map_err(|_| Stop::Refused("Invalid server port.".into()))
}

/// A number whose negative values mean 0.
fn unsigned(text: &str) -> u64 {
    number(text).max(0) as u64
}

#[cfg(test)]
mod tests {
    use super::*;

    fn parsed(line: &str) -> Result<Options, Stop> {
        parse(line.split(' ').map(OsString::from).collect())
    }

    #[test]
    fn every_option_is_taken_with_its_own_meaning() {
        let options = parsed(
            "-h example -p 7 -a secret --user me -c 9 -n 11 -d 5 --dbnum 2 -3 --threads 4 \
             --enable-tracking -k 0 -r 99 -P 16 -q --precision 2 --csv -l -t SET,Get -I -x --seed 3 \
             --warmup 1 --rps 500 --sequential --num-functions 3 --num-keys-in-fcall 2 lpush x y",
        )
        .unwrap();
        let expected = Options {
            host: "example".into(),
            port: 7,
            password: Some("secret".into()),
            user: Some("me".into()),
            clients: 9,
            requests: Some(11),
            data_bytes: 5,
            database: 2,
            resp3: true,
            threads: 4,
            tracking: true,
            keep_alive: false,
            keyspace: Some(99),
            pipeline: 16,
            quiet: true,
            figures: 2,
            csv: true,
            endless: true,
            tests: Some("set,get".into()),
            idle: true,
            from_stdin: true,
            seed: Some(3),
            warm_up_s: 1,
            rate_rps: 500,
            sequential: true,
            functions: 3,
            function_keys: 2,
            command: vec![b"lpush".to_vec(), b"x".to_vec(), b"y".to_vec()],
            ..Options::default()
        };
        assert_eq!(options, expected);
    }

    #[test]
    fn numbers_are_bent_as_the_original_bends_them() {
        let options = parsed("-P 0 -d 0 -r -5 --precision 9 --threads -1 -n 12abc").unwrap();
        assert_eq!((options.pipeline, options.data_bytes, options.keyspace), (1, 1, Some(0)));
        assert_eq!((options.figures, options.threads, options.requests), (4, 0, Some(12)));
        assert_eq!(parsed("--precision 0").unwrap().figures, 3);
        assert_eq!(parsed("-d 2147483647").unwrap().data_bytes, 1 << 30);
        assert_eq!(parsed("-r 1").unwrap().keyspace, Some(1));
        assert_eq!(parsed("-q").unwrap().keyspace, None);
        let options = parsed("--threads 900 -e").unwrap();
        assert_eq!(options.threads, 500);
        assert_eq!(
            options.warnings,
            [
                "WARNING: Too many threads, limiting threads to 500.",
                "WARNING: -e option has no effect. We now immediately exit on error to avoid false results.",
            ]
        );
        for (text, value) in
            [(" 42x", 42), ("-7", -7), ("x", 0), ("99999999999999999999", 2_147_483_647)]
        {
            assert_eq!(number(text), value, "{text}");
        }
    }

    #[test]
    fn what_is_no_option_is_named() {
        assert_eq!(parsed("--nonsense"), Err(Stop::Invalid("--nonsense".into())));
        assert_eq!(parsed("-q -c"), Err(Stop::Invalid("-c".into())));
        assert_eq!(parsed("-r -x"), Err(Stop::Invalid("-x".into())));
        assert_eq!(parsed("-p 99999"), Err(Stop::Refused("Invalid server port.".into())));
        assert_eq!(parsed("--help"), Err(Stop::Help));
        assert_eq!(parsed("-v"), Err(Stop::Version));
        assert_eq!(parsed("--version"), Err(Stop::Version));
        assert_eq!(
            parsed("--duration 3 -n 5"),
            Err(Stop::Refused("Options -n and --duration are mutually exclusive.".into()))
        );
        for name in ["--fuzz", "--rdma", "--mptcp"] {
            assert_eq!(parsed(name), Err(Stop::Invalid(name.into())));
        }
    }

    #[test]
    fn nodes_that_answer_reads_have_three_names() {
        for (word, reads) in
            [("no", ReplicaReads::No), ("YES", ReplicaReads::Yes), ("all", ReplicaReads::All)]
        {
            let options = parsed(&format!("--cluster --rfr {word}")).unwrap();
            assert!(options.cluster && options.replica_reads == reads, "{word}");
        }
        assert_eq!(parsed("--rfr maybe"), Err(Stop::Invalid("--rfr".into())));
    }

    #[test]
    fn a_command_begins_at_the_first_word_without_a_dash() {
        assert_eq!(parsed("-q set -n 5").unwrap().command, [&b"set"[..], b"-n", b"5"]);
        assert_eq!(parsed("-q -- -set").unwrap().command, [&b"-set"[..]]);
    }

    #[test]
    fn the_help_names_every_option_within_eighty_columns() {
        let help = usage("redis-benchmark");
        for flag in FLAGS[0].flags {
            assert!(help.contains(&format!("\n {}", flag.names[0])), "{}", flag.names[0]);
        }
        assert!(help.lines().all(|line| line.len() <= 85), "{help}");
    }
}
