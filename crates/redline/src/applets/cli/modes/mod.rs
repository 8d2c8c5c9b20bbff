//! The modes of redis-cli that measure a server or look at its data: one file each. Each computes and formats by itself; here they
//! are given a connection, an output and a way to be interrupted.

mod big_keys;
mod byte_text;
mod hot_keys;
mod intrinsic;
mod key_stats;
mod key_types;
mod latency;
mod live_block;
mod lru_test;
mod patient;
mod spectrum;
mod stat;
mod walk;

use std::io::{self, Write};
use std::process::ExitCode;
use std::sync::Arc;
use std::sync::atomic::AtomicBool;
use std::time::{Duration, SystemTime, UNIX_EPOCH};

use signal_hook::consts::SIGINT;
use signal_hook::flag;

use super::connection::{Connection, LinkError, OpenError};
use super::options::{Mode, Options, Output};
use key_types::Measure;
use latency::Form;
use patient::Patient;
use walk::Walk;

/// Exit status of a process that a second Ctrl-C ends, as shells report it.
const INTERRUPTED_STATUS: i32 = 128 + SIGINT;

/// Why a mode ends early.
#[derive(Debug)]
pub enum ModeError {
    /// A sentence for standard error.
    Sentence(String),
    /// Standard output is gone.
    Output(io::Error),
}

impl ModeError {
    /// What the server said, behind what it is about.
    fn told(subject: &str, message: &[u8]) -> Self {
        Self::Sentence(format!("{subject} {}", String::from_utf8_lossy(message)))
    }
}

impl From<io::Error> for ModeError {
    fn from(error: io::Error) -> Self {
        Self::Output(error)
    }
}

impl From<LinkError> for ModeError {
    fn from(error: LinkError) -> Self {
        Self::Sentence(format!("I/O error: {error}"))
    }
}

impl From<OpenError> for ModeError {
    fn from(error: OpenError) -> Self {
        Self::Sentence(error.to_string())
    }
}

/// Carries out a mode.
///
/// # Errors
/// Standard output can't be written to.
pub fn run(program: &str, mode: Mode, options: &Options) -> anyhow::Result<ExitCode> {
    // Each mode flushes what makes a line or a picture, so a buffer loses nothing.
    let mut out = io::BufWriter::new(io::stdout().lock());
    let ended = match mode {
        Mode::Latency => latency(options, &mut out),
        Mode::LatencyDist => Patient::open(options).and_then(|mut server| {
            spectrum::run(interval(options), options.mono, &mut server, &mut out)
        }),
        Mode::Stat => Patient::open(options)
            .and_then(|mut server| stat::run(interval(options), &mut server, &mut out)),
        Mode::LruTest => lru_test(options, &mut out),
        Mode::IntrinsicLatency => intrinsic(options, &mut out),
        Mode::Bigkeys | Mode::Memkeys | Mode::Keystats | Mode::Hotkeys => {
            on_all_keys(mode, options, &mut out)
        }
        Mode::ClusterManager | Mode::Replica | Mode::Rdb | Mode::Pipe | Mode::Scan => {
            Err(ModeError::Sentence(format!("{program}: this mode is not available yet")))
        }
    };
    // What was found before an error is worth showing too.
    let ended = ended.and(out.flush().map_err(ModeError::from));
    match ended {
        Ok(()) => Ok(ExitCode::SUCCESS),
        Err(ModeError::Output(error)) if error.kind() == io::ErrorKind::BrokenPipe => {
            Ok(ExitCode::FAILURE)
        }
        Err(ModeError::Output(error)) => Err(error.into()),
        Err(ModeError::Sentence(sentence)) => {
            eprintln!("{sentence}");
            Ok(ExitCode::FAILURE)
        }
    }
}

/// The four modes that walk over all keys.
fn on_all_keys(mode: Mode, options: &Options, out: &mut impl Write) -> Result<(), ModeError> {
    let interrupted = interrupted()?;
    let introduction = match mode {
        Mode::Hotkeys => hot_keys::INTRODUCTION,
        Mode::Keystats => key_stats::INTRODUCTION,
        _ => big_keys::INTRODUCTION,
    };
    let walk = Walk::begin(options, &interrupted, introduction, out)?;
    match mode {
        Mode::Hotkeys => hot_keys::run(walk, out),
        Mode::Keystats => {
            let walk = walk.starting_at(options.cursor);
            key_stats::run(options.keystats_samples, options.top, walk, out)
        }
        Mode::Memkeys => big_keys::run(Measure::Memory(options.memkeys_samples), walk, out),
        _ => big_keys::run(Measure::Length, walk, out),
    }
}

fn latency(options: &Options, out: &mut impl Write) -> Result<(), ModeError> {
    let percentiles = match &options.latency_percentiles {
        Some(list) => latency::parse_percentiles(list).map_err(ModeError::Sentence)?,
        None => Vec::new(),
    };
    let settings = latency::Settings {
        form: match options.output {
            Output::Standard => Form::Standard,
            Output::Raw => Form::Raw,
            Output::Csv => Form::Csv,
            Output::Json | Output::QuotedJson => Form::Json,
        },
        is_history: options.latency_history,
        interval: interval(options),
        percentiles: &percentiles,
    };
    latency::run(&settings, &mut Patient::open(options)?, out)
}

fn lru_test(options: &Options, out: &mut impl Write) -> Result<(), ModeError> {
    let count = u64::try_from(options.lru_keys).ok().filter(|count| *count > 0);
    let count = count
        .ok_or_else(|| ModeError::Sentence("--lru-test takes a number of keys from 1 on".into()))?;
    let now = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default();
    let seed = now.as_nanos() as u64 ^ u64::from(std::process::id());
    lru_test::run(lru_test::Keys::new(count, seed), &mut Connection::open(options)?, out)
}

fn intrinsic(options: &Options, out: &mut impl Write) -> Result<(), ModeError> {
    let seconds = u64::try_from(options.intrinsic_latency_s).unwrap_or(0);
    intrinsic::run(Duration::from_secs(seconds), &*interrupted()?, out)
}

/// `-i`, if it was given.
fn interval(options: &Options) -> Option<Duration> {
    Some(options.interval).filter(|interval| !interval.is_zero())
}

/// Set by Ctrl-C, so that what was found so far is shown; a second one ends the process.
fn interrupted() -> io::Result<Arc<AtomicBool>> {
    let interrupted = Arc::new(AtomicBool::new(false));
    // The first of these looks at what the other sets, so it must come first.
    flag::register_conditional_shutdown(SIGINT, INTERRUPTED_STATUS, Arc::clone(&interrupted))?;
    flag::register(SIGINT, Arc::clone(&interrupted))?;
    Ok(interrupted)
}

/// A key's name in quotes, with escapes for what can't be shown.
fn quoted(key: &[u8]) -> String {
    // Nothing but ASCII comes out of the escaped form.
    String::from_utf8_lossy(&text::quote::repr(key)).into_owned()
}
