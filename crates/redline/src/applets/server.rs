//! `redline server`: the store on its own, with the habits of `redis-server`: its configuration, its
//! log lines, its signals, its exit statuses.

use std::ffi::OsString;
use std::io::Write;
use std::path::{Path, PathBuf};
use std::process::{Command, ExitCode, Stdio};

use anyhow::Context;
use server::config::arguments;
use server::config::file::{self, FileError};
use server::config::table::PARAMETERS;
use server::listener::ListenError;
use server::open_files::{self, Raised};
use server::settings::LogLevel::{Notice, Warning};
use server::{Origin, Running, Settings, StartError, log};
use signal_hook::consts::{SIGHUP, SIGINT, SIGTERM};
use signal_hook::iterator::Signals;

use super::Applet;
use crate::VERSION;
use crate::flags::manual::{Listed, Listing, Manual};

/// The row of the server.
pub const APPLET: Applet = Applet {
    name: "server",
    links: &["redis-server", "valkey-server"],
    summary: "the store: redline server [redis.conf] [--port 6379 ...]",
    manual,
    run,
};

/// Tells a process that it is the one in the background.
const BACKGROUND_VARIABLE: &str = "REDLINE_IN_BACKGROUND";
/// Where the process's number is written if a server in the background names no file.
const PID_FILE: &str = "/var/run/redline.pid";

fn run(program: &str, words: Vec<OsString>) -> anyhow::Result<ExitCode> {
    if let Some(status) = answer_special(program, words.first().and_then(|word| word.to_str())) {
        return Ok(status);
    }
    let parsed = arguments::parse(&words);
    let (text, mut settings) = match configure(&parsed) {
        Ok(configured) => configured,
        Err(error) => return Ok(report(&error)),
    };
    if settings.daemonize && std::env::var_os(BACKGROUND_VARIABLE).is_none() {
        return start_in_background(&words, parsed.reads_stdin.then_some(text.as_slice()));
    }
    if settings.daemonize {
        // It fails where the process leads a group, and then it has no terminal to lose.
        let _ = rustix::process::setsid();
    }
    let config_file = parsed.file.as_deref().map(std::path::absolute).transpose()?;
    log_start(program, &settings, config_file.as_deref());
    if !settings.listens_on_tcp && settings.unix_socket.is_none() || settings.bind.is_empty() {
        log::write(&settings, log::MASTER, Warning, "Configured to not listen anywhere, exiting.");
        return Ok(ExitCode::FAILURE);
    }
    raise_open_files(&mut settings);
    let mode = format!("Running mode=standalone, port={}.", settings.port);
    log::write(&settings, log::MASTER, Notice, &mode);
    // Before the server can be seen, so that no signal ends it in the meantime.
    let signals = Signals::new([SIGINT, SIGTERM, SIGHUP]).context("could not listen to signals")?;
    let running = match server::launch(settings.clone(), Origin { config_file, logs: true }) {
        Ok(running) => running,
        Err(StartError::Listen(error)) => return Ok(report_listen(&settings, &error)),
        Err(error) => {
            log::write(&settings, log::MASTER, Warning, &format!("Fatal: {error}"));
            return Ok(ExitCode::FAILURE);
        }
    };
    let pid_file = write_pid_file(&settings);
    serve(running, signals, pid_file)
}

/// Answers what is no run of the server.
fn answer_special(program: &str, first: Option<&str>) -> Option<ExitCode> {
    match first? {
        "-v" | "--version" => {
            println!(
                "Redline server v={VERSION} malloc=jemalloc-{} bits={}",
                server::memory::ALLOCATOR_VERSION,
                usize::BITS
            );
            Some(ExitCode::SUCCESS)
        }
        "-h" | "--help" => {
            print!("{}", usage(program));
            Some(ExitCode::SUCCESS)
        }
        "--test-memory" | "--check-system" | "--sentinel" => {
            eprintln!("{program} does not have {}; {program} --help tells what it has", first?);
            Some(ExitCode::FAILURE)
        }
        _ => None,
    }
}

/// The manual page: the configuration's parameters are the options.
fn manual() -> Manual {
    let named = |name: &str, value: Option<&str>, help: &str| Listed {
        names: vec![format!("--{name}")],
        value: value.map(str::to_owned),
        help: help.to_owned(),
    };
    let general = vec![
        named("help", None, "Print how the server is started"),
        named("version", None, "Print the version"),
    ];
    let parameters = PARAMETERS
        .iter()
        .map(|parameter| named(parameter.name, Some("value"), "As in the configuration file"));
    Manual {
        synopsis: "[/path/to/redis.conf] [-] [--name value ...]",
        description: "Runs the store. Every parameter of the configuration is an option too. With - more configuration is \
                      read from standard input."
            .into(),
        sections: vec![
            Listing { title: "Options".into(), options: general },
            Listing { title: "Parameters".into(), options: parameters.collect() },
        ],
    }
}

fn usage(program: &str) -> String {
    format!(
        "Usage: {program} [/path/to/redis.conf] [-] [--name value ...]
       {program} - (reads configuration from standard input)
       {program} -v or --version
       {program} -h or --help

Every parameter of the configuration is an option too; docs/configuration.md lists them. Often used:
       --port 6379            where to listen; 0 for not on TCP
       --bind 127.0.0.1       addresses to listen on
       --unixsocket PATH      listen there as well
       --threads N            threads that run commands, one a core if it is not said
       --requirepass TEXT     the password
       --maxmemory 1gb        memory for data
       --daemonize yes        run in the background
       --loglevel notice      debug, verbose, notice, warning or nothing

Examples:
       {program}
       echo 'maxmemory 128mb' | {program} -
       {program} /etc/redis/6379.conf --port 7777 --loglevel verbose
"
    )
}

/// The text of the whole configuration, and what it says.
fn configure(parsed: &arguments::Arguments) -> Result<(Vec<u8>, Settings), FileError> {
    let mut text = Vec::new();
    if let Some(path) = &parsed.file {
        text.extend_from_slice(&file::read(path)?);
    }
    let mut from_stdin = Vec::new();
    if parsed.reads_stdin {
        log::write(&Settings::default(), log::STARTING, Warning, "Reading config from stdin");
        from_stdin = file::read_from(std::io::stdin().lock(), Path::new("-"))?;
        if text.last().is_some_and(|byte| *byte != b'\n') {
            text.push(b'\n');
        }
        text.extend_from_slice(&from_stdin);
    }
    if !parsed.lines.is_empty() {
        text.push(b'\n');
        text.extend_from_slice(&parsed.lines);
    }
    let mut settings = Settings::default();
    file::load(&mut settings, &text)?;
    log::check_file(&settings).map_err(|error| FileError::Unreadable {
        path: settings.log_file.clone().into(),
        reason: format!("it is the log file: {}", log::error_text(&error)),
    })?;
    Ok((from_stdin, settings))
}

/// Reports a configuration that cannot be used, as Redis does.
fn report(error: &FileError) -> ExitCode {
    match error {
        FileError::Line { .. } => {
            eprintln!("\n*** FATAL CONFIG FILE ERROR (Redline {VERSION}) ***\n{error}");
        }
        FileError::Unreadable { .. } => {
            log::write(&Settings::default(), log::STARTING, Warning, &error.to_string());
        }
    }
    ExitCode::FAILURE
}

fn report_listen(settings: &Settings, error: &ListenError) -> ExitCode {
    let reason = log::error_text(&error.source);
    let lines = if error.is_unix {
        [
            format!("Failed opening Unix socket: bind: {reason}"),
            format!("Failed listening on {} (unix), aborting.", error.address),
        ]
    } else {
        let address = &error.address;
        [
            format!(
                "Warning: Could not create server TCP listening socket {address}: bind: {reason}"
            ),
            format!("Failed listening on port {} (tcp), aborting.", settings.port),
        ]
    };
    for line in lines {
        log::write(settings, log::MASTER, Warning, &line);
    }
    ExitCode::FAILURE
}

fn log_start(program: &str, settings: &Settings, config_file: Option<&Path>) {
    let bits = usize::BITS;
    let pid = std::process::id();
    let configuration = match config_file {
        Some(_) => "Configuration loaded".to_owned(),
        None => format!(
            "Warning: no config file specified, using the default config. In order to specify a \
             config file use {program} /path/to/redis.conf"
        ),
    };
    for (level, text) in [
        (Notice, "oO0OoO0OoO0Oo Redline is starting oO0OoO0OoO0Oo".to_owned()),
        (Notice, format!("Redline version={VERSION}, bits={bits}, pid={pid}, just started")),
        (if config_file.is_some() { Notice } else { Warning }, configuration),
    ] {
        log::write(settings, log::STARTING, level, &text);
    }
}

/// Makes room for the clients' descriptors, or takes fewer clients.
fn raise_open_files(settings: &mut Settings) {
    let wanted = settings.clients_max;
    let write = |settings: &Settings, level, text: String| {
        log::write(settings, log::MASTER, level, &text);
    };
    match open_files::raise_for(wanted) {
        Raised::Enough { .. } => {}
        Raised::Raised { before, now, .. } => write(
            settings,
            Notice,
            format!(
                "Increased maximum number of open files to {now} (it was originally set to {before})."
            ),
        ),
        Raised::Refused { clients_max, needed, now, reason } => {
            for line in [
                format!(
                    "You requested maxclients of {wanted} requiring at least {needed} max file descriptors."
                ),
                format!(
                    "Server can't set maximum open files to {needed} because of OS error: {reason}."
                ),
                format!(
                    "Current maximum open files is {now}. maxclients has been reduced to {clients_max} \
                     to compensate for low ulimit. If you need higher maxclients increase 'ulimit -n'."
                ),
            ] {
                write(settings, Warning, line);
            }
            settings.clients_max = clients_max;
        }
    }
}

/// Starts this program again, without a terminal, and leaves the work to that process. No thread has
/// been started yet, and nothing is open.
fn start_in_background(words: &[OsString], stdin: Option<&[u8]>) -> anyhow::Result<ExitCode> {
    let program = std::env::current_exe().context("could not find this program")?;
    let mut child = Command::new(program)
        .arg("server")
        .args(words)
        .env(BACKGROUND_VARIABLE, "1")
        .stdin(if stdin.is_some() { Stdio::piped() } else { Stdio::null() })
        .stdout(Stdio::null())
        .stderr(Stdio::null())
        .spawn()
        .context("could not start in the background")?;
    if let (Some(text), Some(mut pipe)) = (stdin, child.stdin.take()) {
        pipe.write_all(text).context("could not hand over the configuration")?;
    }
    Ok(ExitCode::SUCCESS)
}

/// Writes the process's number where the settings say; where that was.
fn write_pid_file(settings: &Settings) -> Option<PathBuf> {
    let path = match settings.pid_file.as_str() {
        "" if settings.daemonize => PID_FILE,
        "" => return None,
        path => path,
    };
    let path = settings.directory_path().join(path);
    match std::fs::write(&path, format!("{}\n", std::process::id())) {
        Ok(()) => Some(path),
        Err(error) => {
            let text = format!("Failed to write PID file: {}", log::error_text(&error));
            log::write(settings, log::MASTER, Warning, &text);
            None
        }
    }
}

/// Serves until a signal or a client ends it.
fn serve(
    running: Running,
    mut signals: Signals,
    pid_file: Option<PathBuf>,
) -> anyhow::Result<ExitCode> {
    let handle = signals.handle();
    let server = std::sync::Arc::clone(running.server());
    let listener = std::thread::Builder::new().name("redline-signals".into()).spawn({
        let server = std::sync::Arc::clone(&server);
        move || {
            for signal in &mut signals {
                let name = match signal {
                    SIGINT => "SIGINT",
                    SIGTERM => "SIGTERM",
                    // The terminal went away: a server goes on.
                    _ => continue,
                };
                if server.is_stopping() && signal == SIGINT {
                    log::write_signal(&server.settings(), "You insist... exiting now.");
                    std::process::exit(1);
                }
                let text = format!("Received {name} scheduling shutdown...");
                log::write_signal(&server.settings(), &text);
                server.request_stop();
            }
        }
    })?;
    running.announce_ready();
    running.wait();
    server.log(Notice, "User requested shutdown...");
    if let Some(path) = pid_file {
        server.log(Notice, "Removing the pid file.");
        // Somebody else may have removed it; it is gone either way.
        let _ = std::fs::remove_file(path);
    }
    server.log(Warning, "Redline is now ready to exit, bye bye...");
    handle.close();
    // A thread that panicked has said so itself.
    let _ = listener.join();
    Ok(ExitCode::SUCCESS)
}
