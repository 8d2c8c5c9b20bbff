//! Commands from a prompt, or line by line from standard input when that is no terminal.

use std::fs::{self, File};
use std::io::{self, BufRead as _, BufReader, IsTerminal as _, Write as _};
use std::os::fd::AsFd as _;
use std::os::unix::fs::OpenOptionsExt as _;
use std::path::PathBuf;
use std::process::ExitCode;
use std::time::{Duration, Instant};

use anyhow::Context as _;
use rustix::termios::{LocalModes, OptionalActions, Termios, tcgetattr, tcgetwinsize, tcsetattr};
use rustyline::error::ReadlineError;
use rustyline::history::MemHistory;
use rustyline::{Config, Editor};

use super::COMPATIBLE_VERSION;
use super::docs::Docs;
use super::editing::Assistant;
use super::options::{Options, Output};
use super::session::{Failure, Session};
use crate::applets::redis_benchmark::flags::number;

/// Replies that took longer than this are followed by the time they took, as in the original.
const SLOW: Duration = Duration::from_millis(500);
/// Lines that the history keeps.
const HISTORY_LINES: usize = 1000;
/// Longest file of settings or history that is read, in bytes.
const MAX_FILE_BYTES: u64 = 16 << 20;

/// Where lines come from.
enum Lines {
    Terminal { editor: Box<Editor<Assistant, MemHistory>>, history: Option<PathBuf> },
    Input(BufReader<File>),
}

/// What a line leads to.
enum Next {
    Line,
    End,
}

/// Takes commands until the input ends or `quit` comes.
///
/// # Errors
/// The terminal, standard input or standard output fail.
pub fn run(options: Options) -> anyhow::Result<ExitCode> {
    let mut session = Session::new(options);
    session.be_interactive();
    if io::stdin().is_terminal() {
        session.catch_interrupts()?;
    }
    session.connect();
    let mut lines = Lines::open(&mut session)?;
    loop {
        if session.is_subscribed()
            && !lines.is_ready()
            && let Err(failure) = wait_for_messages(&mut session)
        {
            return end_of(failure);
        }
        let Some(line) = lines.next(&session.prompt())? else { return Ok(ExitCode::SUCCESS) };
        match obey(&mut session, &mut lines, &line) {
            Ok(Next::Line) | Err(Failure::Command) => {}
            Ok(Next::End) => return Ok(ExitCode::SUCCESS),
            Err(failure) => return end_of(failure),
        }
    }
}

/// Prints messages until a key is pressed, which the editor reads then.
fn wait_for_messages(session: &mut Session) -> Result<(), Failure> {
    let input = io::stdin();
    let cooked = input.is_terminal().then(|| unbuffered(&input)).flatten();
    let end = session.stream_until_input(&input);
    if let Some(cooked) = cooked {
        // A terminal that is gone needs no settings.
        let _ = tcsetattr(&input, OptionalActions::Drain, &cooked);
    }
    end
}

/// Has the terminal hand over each key at once, unseen. The result is how it was before.
pub fn unbuffered(input: &io::Stdin) -> Option<Termios> {
    let cooked = tcgetattr(input).ok()?;
    let mut raw = cooked.clone();
    raw.local_modes.remove(LocalModes::ICANON | LocalModes::ECHO);
    tcsetattr(input, OptionalActions::Drain, &raw).ok().map(|()| cooked)
}

fn end_of(failure: Failure) -> anyhow::Result<ExitCode> {
    match failure {
        Failure::Command => Ok(ExitCode::FAILURE),
        Failure::Exit(status) => Ok(ExitCode::from(status)),
        Failure::Output(error) if error.kind() == io::ErrorKind::BrokenPipe => {
            Ok(ExitCode::FAILURE)
        }
        Failure::Output(error) => Err(error).context("cannot write"),
    }
}

/// Carries out a line: a command of the prompt's own, or one for the server.
fn obey(session: &mut Session, lines: &mut Lines, line: &str) -> Result<Next, Failure> {
    let Ok(mut words) = text::quote::split(line.as_bytes()) else {
        say("Invalid argument(s)\n")?;
        lines.remember(line);
        return Ok(Next::Line);
    };
    let mut repeat = 1;
    if let (Some(count), true) = (words.first().and_then(|word| whole(word)), words.len() > 1) {
        if count <= 0 {
            say("Invalid redis-cli repeat command option value.\n")?;
            return Ok(Next::Line);
        }
        repeat = count;
        words.remove(0);
    }
    let Some(first) = words.first() else { return Ok(Next::Line) };
    if !is_sensitive(&words) {
        lines.remember(line);
    }
    let name = String::from_utf8_lossy(first).to_lowercase();
    match (name.as_str(), words.len()) {
        ("quit" | "exit", _) => return Ok(Next::End),
        ("restart", _) => say("Use 'restart' only in Lua debugging mode.\n")?,
        ("connect", 3) => {
            connect(session, &words)?;
            lines.learn(session);
        }
        ("clear", 1) => lines.clear()?,
        ("help" | "?", _) => say(&help(session, lines, &words[1..]))?,
        (preference, _) if preference.starts_with(':') => {
            let sentence = lines.prefer(&words);
            say(&sentence)?;
        }
        _ => {
            let start = Instant::now();
            session.issue(&words, repeat)?;
            if matches!(name.as_str(), "auth" | "hello") {
                lines.learn(session);
            }
            let took = start.elapsed();
            if took >= SLOW && session.options.output == Output::Standard {
                say(&format!("({:.2}s)\n", took.as_secs_f64()))?;
            }
        }
    }
    Ok(Next::Line)
}

/// Goes to another server.
fn connect(session: &mut Session, words: &[Vec<u8>]) -> io::Result<()> {
    let port = number(&String::from_utf8_lossy(&words[2]));
    let Ok(port) = u16::try_from(port) else { return say("Invalid server port.\n") };
    session.options.host = String::from_utf8_lossy(&words[1]).into_owned();
    (session.options.port, session.options.socket) = (port, None);
    session.connect();
    Ok(())
}

/// The answer to `help`, with the words behind it.
fn help(session: &mut Session, lines: &Lines, words: &[Vec<u8>]) -> String {
    if words.is_empty() {
        let own = env!("CARGO_PKG_VERSION");
        return format!(
            "redis-cli {COMPATIBLE_VERSION} (redline {own})\n\
             \"help <command>\" tells of a command, \"help @<group>\" of all commands of a group,\n\
             and <tab> behind \"help \" goes through both. \"quit\" ends this.\n\n\
             Also here: \"connect <host> <port>\", \"clear\", and a number in front of a command\n\
             to repeat it. \":set hints\" and \":set nohints\" turn hints on and off, at the\n\
             prompt or in ~/.redisclirc.\n"
        );
    }
    let words: Vec<String> =
        words.iter().map(|word| String::from_utf8_lossy(word).into_owned()).collect();
    match lines {
        Lines::Terminal { editor, .. } if editor.helper().is_some_and(Assistant::has_docs) => {
            editor.helper().map(|assistant| assistant.docs.help(&words)).unwrap_or_default()
        }
        _ => fetch_docs(session).help(&words),
    }
}

/// What the server tells of its commands: nothing when it can't, or is not there.
fn fetch_docs(session: &mut Session) -> Docs {
    session.ask_aside(&["COMMAND", "DOCS"]).map(|reply| Docs::new(&reply)).unwrap_or_default()
}

impl Lines {
    /// An editor on a terminal; else lines as they come.
    fn open(session: &mut Session) -> anyhow::Result<Self> {
        if !io::stdin().is_terminal() {
            // Not the library's own buffer, of which nobody can tell whether it holds a line.
            let file = File::from(io::stdin().as_fd().try_clone_to_owned()?);
            return Ok(Self::Input(BufReader::new(file)));
        }
        let config = Config::builder()
            .auto_add_history(false)
            // Pasted lines are commands, each for itself.
            .bracketed_paste(false)
            .max_history_size(HISTORY_LINES)
            .context("history")?
            .build();
        let history = MemHistory::with_config(&config);
        let mut editor = Editor::with_history(config, history).context("cannot edit lines")?;
        editor.set_helper(Some(Assistant::new(fetch_docs(session))));
        let history = dot_file("REDISCLI_HISTFILE", ".rediscli_history");
        for line in history.as_ref().map(read_lines).unwrap_or_default() {
            editor.add_history_entry(line).context("history")?;
        }
        let mut lines = Self::Terminal { editor: Box::new(editor), history };
        let settings = dot_file("REDISCLI_RCFILE", ".redisclirc");
        for line in settings.as_ref().map(read_lines).unwrap_or_default() {
            let words = text::quote::split(line.as_bytes()).unwrap_or_default();
            if words.is_empty() || words[0].starts_with(b"#") {
                continue;
            }
            match lines.prefer(&words) {
                sentence if sentence.is_empty() => {}
                sentence => print!(".redisclirc: {sentence}"),
            }
        }
        Ok(lines)
    }

    /// Whether a line, or a part of it, is here without asking the system.
    fn is_ready(&self) -> bool {
        matches!(self, Self::Input(input) if !input.buffer().is_empty())
    }

    /// Asks the server for its commands, unless it has told them already.
    fn learn(&mut self, session: &mut Session) {
        if let Self::Terminal { editor, .. } = self
            && let Some(assistant) = editor.helper_mut()
            && !assistant.has_docs()
        {
            assistant.docs = fetch_docs(session);
        }
    }

    /// The next line; `None` at the end, and when Ctrl-C is pressed at the prompt.
    fn next(&mut self, prompt: &str) -> anyhow::Result<Option<String>> {
        match self {
            Self::Terminal { editor, .. } => {
                let columns = tcgetwinsize(io::stdout()).map_or(0, |size| size.ws_col.into());
                if let Some(assistant) = editor.helper_mut() {
                    // A terminal that does not know its width is as wide as they always were.
                    let columns = if columns == 0 { 80 } else { columns };
                    assistant.columns = usize::saturating_sub(columns, prompt.chars().count());
                }
                match editor.readline(prompt) {
                    Ok(line) => Ok(Some(line)),
                    Err(ReadlineError::Eof | ReadlineError::Interrupted) => Ok(None),
                    Err(error) => Err(error).context("cannot read the terminal"),
                }
            }
            Self::Input(input) => {
                let mut line = Vec::new();
                let count = input.read_until(b'\n', &mut line).context("cannot read")?;
                let text = String::from_utf8_lossy(&line).trim_end_matches('\n').to_owned();
                Ok((count > 0).then_some(text))
            }
        }
    }

    /// Keeps a line in the history and its file, which is written anew: only plain lines, as the original keeps them.
    fn remember(&mut self, line: &str) {
        let Self::Terminal { editor, history } = self else { return };
        if !editor.add_history_entry(line).unwrap_or(false) {
            return;
        }
        let Some(path) = history else { return };
        let text: String = editor.history().into_iter().map(|line| format!("{line}\n")).collect();
        let mut open = fs::OpenOptions::new();
        let file = open.write(true).create(true).truncate(true).mode(0o600).open(path);
        // As in the original a history that can't be written is no reason to stop working.
        let _ = file.and_then(|mut file| file.write_all(text.as_bytes()));
    }

    fn clear(&mut self) -> io::Result<()> {
        match self {
            Self::Terminal { editor, .. } => editor.clear_screen().map_err(io::Error::other),
            Self::Input(_) => Ok(()),
        }
    }

    /// Takes a preference (`:set hints`); the sentence that says why not, else nothing.
    fn prefer(&mut self, words: &[Vec<u8>]) -> String {
        let words: Vec<String> =
            words.iter().map(|word| String::from_utf8_lossy(word).into_owned()).collect();
        let [command, name, ..] = words.as_slice() else {
            return format!("unknown redis-cli internal command '{}'\n", words[0]);
        };
        if !command.eq_ignore_ascii_case(":set") {
            return format!("unknown redis-cli internal command '{command}'\n");
        }
        let wanted = match name.to_lowercase().as_str() {
            "hints" => true,
            "nohints" => false,
            _ => return format!("unknown redis-cli preference '{name}'\n"),
        };
        if let Self::Terminal { editor, .. } = self
            && let Some(assistant) = editor.helper_mut()
        {
            assistant.shows_hints = wanted;
        }
        String::new()
    }
}

/// A command that says a password, or who may do what: it stays out of the history.
fn is_sensitive(words: &[Vec<u8>]) -> bool {
    let lower: Vec<String> =
        words.iter().map(|word| String::from_utf8_lossy(word).to_lowercase()).collect();
    let has = |names: &[&str]| lower.iter().skip(1).any(|word| names.contains(&word.as_str()));
    match lower[0].as_str() {
        "auth" => true,
        "acl" => {
            matches!(lower.get(1).map(String::as_str), Some("setuser" | "deluser" | "getuser"))
        }
        "hello" => has(&["auth"]),
        "migrate" => has(&["auth", "auth2"]),
        "config" if lower.get(1).is_some_and(|word| word == "set") => {
            lower.iter().any(|word| word.contains("pass") || word.contains("masterauth"))
                || has(&["primaryauth", "masteruser", "primaryuser"])
        }
        "sentinel" => has(&["auth-pass", "auth-user", "sentinel-pass", "sentinel-user"]),
        _ => false,
    }
}

/// A number that is the whole word, as `strtol` reads it.
fn whole(word: &[u8]) -> Option<i64> {
    let text = std::str::from_utf8(word).ok()?;
    let digits = text.strip_prefix(['-', '+']).unwrap_or(text);
    let is_number = !digits.is_empty() && digits.bytes().all(|byte| byte.is_ascii_digit());
    // What is too large for a number is refused as one that is too small.
    is_number.then(|| text.parse().unwrap_or(0))
}

/// A file of the user's: where the variable says, else in the home directory. `/dev/null` means none.
fn dot_file(variable: &str, name: &str) -> Option<PathBuf> {
    let given = std::env::var_os(variable).filter(|path| !path.is_empty());
    match given {
        Some(path) if path == "/dev/null" => None,
        Some(path) => Some(path.into()),
        None => Some(PathBuf::from(std::env::var_os("HOME")?).join(name)),
    }
}

/// The lines of a file; none if there is no such file, or it is too large to be what it should be.
fn read_lines(path: &PathBuf) -> Vec<String> {
    let is_small = fs::metadata(path).is_ok_and(|data| data.len() <= MAX_FILE_BYTES);
    let bytes = if is_small { fs::read(path).unwrap_or_default() } else { Vec::new() };
    String::from_utf8_lossy(&bytes).lines().map(String::from).collect()
}

fn say(text: &str) -> io::Result<()> {
    let mut out = io::stdout().lock();
    out.write_all(text.as_bytes())?;
    out.flush()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn words(line: &str) -> Vec<Vec<u8>> {
        text::quote::split(line.as_bytes()).unwrap()
    }

    #[test]
    fn secrets_stay_out_of_the_history() {
        for line in [
            "AUTH x",
            "auth me x",
            "acl SETUSER me on >x",
            "hello 3 AUTH me x",
            "config set requirepass x",
            "CONFIG SET masterauth x",
            "config set tls-key-file-pass x",
            "migrate h 1 k 0 5 AUTH2 u p",
            "sentinel set m auth-pass x",
        ] {
            assert!(is_sensitive(&words(line)), "{line}");
        }
        for line in ["get auth", "acl list", "config get requirepass", "hello 3", "set pass x"] {
            assert!(!is_sensitive(&words(line)), "{line}");
        }
    }

    #[test]
    fn a_count_is_a_whole_word() {
        assert_eq!(whole(b"12"), Some(12));
        assert_eq!(whole(b"-1"), Some(-1));
        assert_eq!(whole(b"12a"), None);
        assert_eq!(whole(b"-"), None);
        assert_eq!(whole(b"99999999999999999999"), Some(0));
    }
}
