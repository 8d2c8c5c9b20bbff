//! Commands and their replies: connects, sends, reads and prints, follows redirections, and knows the state that the prompt shows.

use std::io::{self, IsTerminal as _, Write as _};
use std::os::fd::AsFd;

use resp::Value;
use signal_hook::consts::SIGINT;

use super::connection::{Connection, LinkError, OpenError, Readiness};
use super::format;
use super::options::{Options, Output, Protocol};
use super::replica;

/// Names of the commands that open a subscription, and of those that close one.
const SUBSCRIBE: [&str; 3] = ["subscribe", "psubscribe", "ssubscribe"];
const UNSUBSCRIBE: [&str; 3] = ["unsubscribe", "punsubscribe", "sunsubscribe"];

/// Why a command was not carried out to its end. Everything there is to say about it has been printed.
#[derive(Debug)]
pub enum Failure {
    /// The command failed; the session goes on.
    Command,
    /// The program is to end with this status.
    Exit(u8),
    /// Standard output can't be written to.
    Output(io::Error),
}

impl From<io::Error> for Failure {
    fn from(error: io::Error) -> Self {
        Self::Output(error)
    }
}

/// A user's session with a server.
pub struct Session {
    /// What the command line asked for; the place changes with `connect` and redirections, the database with `SELECT`.
    pub options: Options,
    connection: Option<Connection>,
    is_interactive: bool,
    /// Becomes readable when the user has pressed Ctrl-C; only at the prompt.
    interrupts: Option<io::PipeReader>,
    show_pushes: bool,
    /// The database that the connection has selected.
    database: i64,
    /// The database to go back to when the transaction is given up.
    database_before: i64,
    is_in_transaction: bool,
    is_subscribed: bool,
    speaks_resp3: bool,
    is_monitoring: bool,
    is_shutting_down: bool,
    /// A redirection came: the command is to be sent again, after `ASKING` in the second case.
    is_redirected: bool,
    is_asking: bool,
    /// Channels of the running command that the server has confirmed.
    confirmed: usize,
}

impl Session {
    /// A session that is not connected yet.
    pub fn new(options: Options) -> Self {
        let show_pushes = options.show_pushes.unwrap_or_else(|| io::stdout().is_terminal());
        Self {
            options,
            connection: None,
            is_interactive: false,
            interrupts: None,
            show_pushes,
            database: 0,
            database_before: 0,
            is_in_transaction: false,
            is_subscribed: false,
            speaks_resp3: false,
            is_monitoring: false,
            is_shutting_down: false,
            is_redirected: false,
            is_asking: false,
            confirmed: 0,
        }
    }

    /// From now on commands come from a prompt or standard input: a lost connection does not end the program.
    pub fn be_interactive(&mut self) {
        self.is_interactive = true;
    }

    /// From now on Ctrl-C ends what a command streams, and only that.
    ///
    /// # Errors
    /// The system refuses a handler.
    pub fn catch_interrupts(&mut self) -> io::Result<()> {
        let (reader, writer) = io::pipe()?;
        signal_hook::low_level::pipe::register(SIGINT, writer)?;
        self.interrupts = Some(reader);
        Ok(())
    }

    /// Whether messages of subscribed channels may come.
    pub fn is_subscribed(&self) -> bool {
        self.is_subscribed
    }

    /// Asks the server something that the user did not; `None` when this is no time for it, or there is no answer.
    pub fn ask_aside(&mut self, command: &[&str]) -> Option<Value> {
        let is_busy = self.is_in_transaction || self.is_subscribed;
        let connection = self.connection.as_mut().filter(|_| !is_busy)?;
        connection.ask(command).ok()
    }

    /// The prompt: where commands go, and in which state they find the connection.
    pub fn prompt(&self) -> String {
        if self.connection.is_none() {
            return "not connected> ".into();
        }
        let mut prompt = match &self.options.socket {
            Some(path) => format!("redis {path}"),
            None if self.options.host.contains(':') => {
                format!("[{}]:{}", self.options.host, self.options.port)
            }
            None => format!("{}:{}", self.options.host, self.options.port),
        };
        if self.database != 0 {
            prompt.push_str(&format!("[{}]", self.database));
        }
        if self.is_in_transaction {
            prompt.push_str("(TX)");
        }
        if self.is_subscribed {
            prompt.push_str("(subscribed mode)");
        }
        prompt + "> "
    }

    /// Connects anew, with `AUTH`, `SELECT` and `HELLO` as the options ask for them; what is refused is told and leaves the
    /// connection as it is. `false` when something went wrong.
    pub fn connect(&mut self) -> bool {
        self.connection = None;
        (self.database, self.is_in_transaction, self.is_subscribed) = (0, false, false);
        self.speaks_resp3 = false;
        match Connection::connect(&self.options) {
            Ok(connection) => self.connection = Some(connection),
            Err(error) => {
                eprintln!("{error}");
                return false;
            }
        }
        self.authenticate() && self.select() && self.change_protocol()
    }

    /// Sends a command as often as asked for and prints the replies.
    ///
    /// # Errors
    /// [`Failure`], after its message has been printed.
    pub fn issue(&mut self, command: &[Vec<u8>], repeat: i64) -> Result<(), Failure> {
        loop {
            if (self.is_redirected || self.connection.is_none())
                && !self.connect()
                && self.connection.is_none()
            {
                self.is_redirected = false;
                return Err(Failure::Command);
            }
            self.is_redirected = false;
            if std::mem::take(&mut self.is_asking) {
                self.ask_leave()?;
            }
            self.send(command, repeat)?;
            if !self.is_redirected {
                return Ok(());
            }
        }
    }

    /// Waits for messages of subscribed channels and prints them, until `input` has something, or Ctrl-C ends the
    /// subscription.
    ///
    /// # Errors
    /// [`Failure`], after its message has been printed.
    pub fn stream_until_input(&mut self, input: impl AsFd) -> Result<(), Failure> {
        let hint = "Reading messages... (press Ctrl-C to quit or any key to type command)\r";
        let show_hint = self.options.output != Output::Raw && io::stdout().is_terminal();
        while self.is_subscribed {
            while let Some(value) = self.received()? {
                self.print(&value, false)?;
            }
            if show_hint {
                show(hint.as_bytes())?;
            }
            let Some(connection) = &mut self.connection else { return Err(Failure::Command) };
            let mut files = vec![input.as_fd()];
            files.extend(self.interrupts.as_ref().map(AsFd::as_fd));
            let ready = connection.wait_for(&files, None);
            if show_hint {
                show(b"\x1b[K")?;
            }
            match ready.map_err(|error| self.lost(error))? {
                Readiness::Server => {
                    if let Some(connection) = &mut self.connection {
                        connection.fill().map_err(|error| self.lost(error))?;
                    }
                }
                Readiness::Other(0) => return Ok(()),
                _ => {
                    self.forget_interrupt();
                    if !self.connect() {
                        return Err(Failure::Exit(1));
                    }
                }
            }
        }
        Ok(())
    }

    /// Prints messages of subscribed channels for as long as there are any: without a prompt nothing else can come.
    ///
    /// # Errors
    /// [`Failure`], after its message has been printed.
    pub fn stream(&mut self) -> Result<(), Failure> {
        while self.is_subscribed {
            if let Some(value) = self.next()? {
                self.print(&value, false)?;
            }
        }
        Ok(())
    }

    fn authenticate(&mut self) -> bool {
        let Some(connection) = &mut self.connection else { return false };
        told(connection.authenticate(&self.options))
    }

    /// Selects the database that the user is in, unless the connection is there already.
    fn select(&mut self) -> bool {
        if self.options.database == self.database {
            return true;
        }
        let Some(connection) = &mut self.connection else { return false };
        let is_done = told(connection.select(self.options.database));
        if is_done {
            self.database = self.options.database;
        }
        is_done
    }

    fn change_protocol(&mut self) -> bool {
        if self.options.protocol == Protocol::Resp2 {
            return true;
        }
        let Some(connection) = &mut self.connection else { return false };
        self.speaks_resp3 = told(connection.hello_3());
        self.speaks_resp3 || self.options.protocol == Protocol::PreferResp3
    }

    /// Asks the node of an ASK redirection to answer for a slot that it does not own yet.
    fn ask_leave(&mut self) -> Result<(), Failure> {
        let Some(connection) = &mut self.connection else { return Err(Failure::Command) };
        match connection.ask(&["ASKING"]) {
            Ok(Value::Error(message)) => {
                eprintln!("ASKING failed: {}", String::from_utf8_lossy(&message));
                Err(Failure::Command)
            }
            Ok(_) => Ok(()),
            Err(error) => Err(self.lost(error)),
        }
    }

    fn send(&mut self, command: &[Vec<u8>], repeat: i64) -> Result<(), Failure> {
        let name = lower(&command[0]);
        let is_verbatim = is_verbatim(command);
        self.is_shutting_down = name == "shutdown";
        self.is_monitoring = name == "monitor";
        self.confirmed = 0;
        let mut left = repeat;
        while left != 0 {
            left -= i64::from(left > 0);
            if let Some(connection) = &mut self.connection {
                connection.send(command).map_err(|error| self.lost(error))?;
            }
            if matches!(name.as_str(), "sync" | "psync") {
                return self.stream_replication();
            }
            loop {
                let Some(value) = self.read_and_print(&name, is_verbatim)? else { return Ok(()) };
                if self.is_monitoring && !matches!(value, Value::Error(_)) {
                    continue;
                }
                self.is_monitoring = false;
                if self.is_complete(&name, command, &value) {
                    self.note(&name, command, &value);
                    break;
                }
            }
            if self.is_redirected {
                return Ok(());
            }
            std::thread::sleep(self.options.interval);
        }
        Ok(())
    }

    /// The next reply, printed unless it is a redirection to follow; `None` when the user, or a shutdown asked for, has
    /// ended what there was to read.
    fn read_and_print(&mut self, name: &str, is_verbatim: bool) -> Result<Option<Value>, Failure> {
        let takes_pushes =
            self.is_subscribed || is_one_of(name, &SUBSCRIBE) || is_one_of(name, &UNSUBSCRIBE);
        loop {
            let value = match self.next()? {
                Some(value) => value,
                None => return Ok(None),
            };
            if matches!(value, Value::Push(_)) && !takes_pushes {
                self.print_push(&value)?;
                continue;
            }
            if let Value::Error(message) = &value {
                if self.options.cluster && self.redirect(message)? {
                    return Ok(Some(value));
                }
                if !self.is_interactive && self.options.error_status {
                    eprintln!("{}", String::from_utf8_lossy(message));
                    return Err(Failure::Exit(1));
                }
            }
            self.print(&value, is_verbatim)?;
            return Ok(Some(value));
        }
    }

    /// Waits for a reply. `None`: Ctrl-C has ended a stream and the connection is a new one, or the server is gone as asked.
    fn next(&mut self) -> Result<Option<Value>, Failure> {
        loop {
            if let Some(value) = self.received()? {
                return Ok(Some(value));
            }
            let Some(connection) = &mut self.connection else { return Err(Failure::Command) };
            let ready = match &self.interrupts {
                Some(interrupts) => connection.wait_for(&[interrupts.as_fd()], None),
                None => Ok(Readiness::Server),
            };
            let is_interrupted = matches!(ready, Ok(Readiness::Other(_)));
            if is_interrupted {
                return self.interrupted();
            }
            match ready.and_then(|_| connection.fill()) {
                Ok(()) => {}
                Err(_) if self.is_shutting_down => {
                    self.connection = None;
                    return Ok(None);
                }
                Err(error) => return Err(self.lost(error)),
            }
        }
    }

    fn received(&mut self) -> Result<Option<Value>, Failure> {
        let Some(connection) = &mut self.connection else { return Err(Failure::Command) };
        connection.received().map_err(|error| self.lost(error))
    }

    /// What Ctrl-C does while a command runs: it ends a stream; a command that only takes long is given up with the program.
    fn interrupted(&mut self) -> Result<Option<Value>, Failure> {
        self.forget_interrupt();
        if !self.is_monitoring && !self.is_subscribed {
            return Err(Failure::Exit(1));
        }
        self.is_monitoring = false;
        match self.connect() {
            true => Ok(None),
            false => Err(Failure::Command),
        }
    }

    fn forget_interrupt(&mut self) {
        if let Some(interrupts) = &mut self.interrupts {
            // One byte a signal; a further one would only interrupt again.
            let _ = io::Read::read(interrupts, &mut [0; 64]);
        }
    }

    /// Tells that the connection is of no use any more, and what follows from it.
    fn lost(&mut self, error: LinkError) -> Failure {
        eprintln!("Error: {error}");
        self.connection = None;
        match error {
            LinkError::Protocol(_) => Failure::Exit(1),
            _ if self.is_interactive => Failure::Command,
            _ => Failure::Exit(1),
        }
    }

    /// Follows a redirection: takes over the place, so that the command goes there next. `false` for any other error.
    fn redirect(&mut self, message: &[u8]) -> Result<bool, Failure> {
        let text = String::from_utf8_lossy(message).into_owned();
        let mut words = text.split(' ');
        let (Some(kind @ ("MOVED" | "ASK")), Some(slot), Some(place)) =
            (words.next(), words.next(), words.next())
        else {
            return Ok(false);
        };
        let Some((host, port)) = place.rsplit_once(':') else { return Ok(false) };
        let Ok(port) = port.parse() else { return Ok(false) };
        // Without a host it is the one that has answered.
        if !host.is_empty() {
            self.options.host = host.into();
        }
        self.options.port = port;
        (self.is_redirected, self.is_asking) = (true, kind == "ASK");
        if self.is_interactive {
            let host = &self.options.host;
            show(format!("-> Redirected to slot [{slot}] located at {host}:{port}\n").as_bytes())?;
        }
        Ok(true)
    }

    /// Whether `value` ends the replies to a command, and is not a message that came in between.
    fn is_complete(&mut self, name: &str, command: &[Vec<u8>], value: &Value) -> bool {
        let is_subscribe = is_one_of(name, &SUBSCRIBE);
        if !is_subscribe && !is_one_of(name, &UNSUBSCRIBE) {
            let is_message = self.is_subscribed && message_kind(value, self.speaks_resp3).is_some();
            return !is_message && !matches!(value, Value::Push(_));
        }
        let Some(kind) = message_kind(value, self.speaks_resp3) else {
            return !matches!(value, Value::Push(_));
        };
        if !kind.eq_ignore_ascii_case(name.as_bytes()) {
            return false;
        }
        // The last element tells how many channels are left.
        self.is_subscribed = is_subscribe || self.is_subscribed && channels_left(value) != Some(0);
        // One confirmation a channel, and one at least.
        self.confirmed += 1;
        let is_last = self.confirmed >= (command.len() - 1).max(1);
        if is_last {
            self.confirmed = 0;
        }
        is_last
    }

    /// What a reply says about the state of the connection.
    fn note(&mut self, name: &str, command: &[Vec<u8>], value: &Value) {
        let is_error = matches!(value, Value::Error(_));
        match (name, command.len()) {
            ("select", 2) if !is_error => {
                let number = String::from_utf8_lossy(&command[1]);
                self.database = crate::applets::redis_benchmark::flags::number(&number);
                self.options.database = self.database;
            }
            ("auth", 2 | 3) if !is_error => {
                self.select();
            }
            ("multi", 1) if !is_error => {
                (self.is_in_transaction, self.database_before) = (true, self.database);
            }
            ("exec", 1) if self.is_in_transaction => {
                self.is_in_transaction = false;
                if is_error || matches!(value, Value::Null | Value::NullArray) {
                    self.go_back();
                }
            }
            ("discard", 1) if !is_error => {
                self.is_in_transaction = false;
                self.go_back();
            }
            ("reset", 1) if !is_error => {
                (self.is_in_transaction, self.is_subscribed) = (false, false);
                (self.database, self.options.database, self.speaks_resp3) = (0, 0, false);
            }
            ("hello", _) if !is_error => self.speaks_resp3 = matches!(value, Value::Map(_)),
            _ => {}
        }
    }

    /// A transaction that was given up has selected nothing.
    fn go_back(&mut self) {
        self.database = self.database_before;
        self.options.database = self.database_before;
    }

    fn stream_replication(&mut self) -> Result<(), Failure> {
        println!("Entering replica output mode...  (press Ctrl-C to quit)");
        let Some(connection) = &mut self.connection else { return Err(Failure::Command) };
        let error = replica::stream(connection)?;
        Err(self.lost(error))
    }

    fn print(&self, value: &Value, is_verbatim: bool) -> Result<(), Failure> {
        Ok(show(&format::reply(value, &self.options, is_verbatim))?)
    }

    fn print_push(&self, value: &Value) -> Result<(), Failure> {
        if !self.show_pushes {
            return Ok(());
        }
        match (self.options.output, format::invalidation(value)) {
            (Output::Standard, Some(text)) => Ok(show(&text)?),
            _ => self.print(value, false),
        }
    }
}

/// Tells what a command of the connection's start was refused for; `false` when it was.
fn told(result: Result<(), OpenError>) -> bool {
    match result {
        Ok(()) => true,
        Err(OpenError::Link(_)) => {
            eprintln!("\nI/O error");
            false
        }
        Err(error) => {
            eprintln!("{error}");
            false
        }
    }
}

/// Whether a reply is a text for people, to be printed as it is in every form of output.
fn is_verbatim(command: &[Vec<u8>]) -> bool {
    let name = lower(&command[0]);
    let second = command.get(1).map(|word| lower(word)).unwrap_or_default();
    matches!(
        (name.as_str(), second.as_str(), command.len()),
        ("info" | "lolwut", _, _)
            | ("debug", "htstats" | "htstats-key" | "client-eviction", _)
            | ("memory", "malloc-stats" | "doctor", _)
            | ("cluster", "nodes" | "info", 2)
            | ("client", "list" | "info", _)
            | ("latency", "graph", 3)
            | ("latency", "doctor", 2)
            | ("proxy", "info", _)
    )
}

/// The kind of a message of subscriptions: `message`, `subscribe` and their relatives.
fn message_kind(value: &Value, speaks_resp3: bool) -> Option<&[u8]> {
    let elements = match value {
        Value::Push(elements) if speaks_resp3 => elements,
        Value::Array(elements) if !speaks_resp3 => elements,
        _ => return None,
    };
    let kind = elements.first().and_then(Value::as_bytes).filter(|_| elements.len() >= 3)?;
    (kind.ends_with(b"message") || kind.ends_with(b"subscribe")).then_some(kind)
}

/// How many channels a confirmation says the connection is subscribed to.
fn channels_left(value: &Value) -> Option<i64> {
    let (Value::Array(elements) | Value::Push(elements)) = value else { return None };
    match elements.last() {
        Some(Value::Integer(count)) => Some(*count),
        _ => None,
    }
}

fn is_one_of(name: &str, names: &[&str]) -> bool {
    names.contains(&name)
}

fn lower(word: &[u8]) -> String {
    String::from_utf8_lossy(word).to_ascii_lowercase()
}

/// Writes at once: whoever reads standard output sees each reply when it comes.
fn show(text: &[u8]) -> io::Result<()> {
    let mut out = io::stdout().lock();
    out.write_all(text)?;
    out.flush()
}
