//! What the command line of redis-cli asks for.

use std::time::Duration;

use crate::flags::tls::{HasTls, TlsChoice};

/// Seconds without a reply after which `--pipe` gives up.
const PIPE_TIMEOUT_S: u64 = 30;
/// Keys that a SCAN is asked to return.
const SCAN_COUNT: i64 = 10;
/// Largest keys that `--keystats` lists.
const KEYSTATS_TOP: usize = 10;

/// How replies are printed.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Output {
    /// For people, with types and indices.
    Standard,
    /// Values only, for scripts.
    Raw,
    /// Comma-separated values.
    Csv,
    /// JSON with strings as they come, taken for UTF-8.
    Json,
    /// JSON in which every byte beyond ASCII is escaped.
    QuotedJson,
}

/// The version of the protocol.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Protocol {
    /// What every connection starts with; nothing is sent.
    Resp2,
    /// `HELLO 3` is sent and must be accepted.
    Resp3,
    /// `HELLO 3` is sent, and a refusal is told but taken (JSON output).
    PreferResp3,
}

/// What to do instead of sending commands, in the order in which the first asked for wins.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum Mode {
    /// `--cluster`.
    ClusterManager,
    /// `--latency` and `--latency-history`.
    Latency,
    /// `--latency-dist`.
    LatencyDist,
    /// `--replica`.
    Replica,
    /// `--rdb` and `--functions-rdb`.
    Rdb,
    /// `--pipe`.
    Pipe,
    /// `--bigkeys`.
    Bigkeys,
    /// `--memkeys` and `--memkeys-samples`.
    Memkeys,
    /// `--keystats` and `--keystats-samples`.
    Keystats,
    /// `--hotkeys`.
    Hotkeys,
    /// `--stat`.
    Stat,
    /// `--scan`.
    Scan,
    /// `--lru-test`.
    LruTest,
    /// `--intrinsic-latency`.
    IntrinsicLatency,
}

/// What the command line asks for.
#[derive(Debug, Clone, PartialEq)]
pub struct Options {
    /// Host name or address.
    pub host: String,
    /// Port.
    pub port: u16,
    /// Unix socket; before host and port.
    pub socket: Option<String>,
    /// Longest wait for a connection; `None` leaves it to the system.
    pub connect_timeout: Option<Duration>,
    /// Encryption.
    pub tls: TlsChoice,
    /// User name for `AUTH`; needs a password.
    pub user: Option<String>,
    /// Password for `AUTH`.
    pub password: Option<String>,
    /// The password is to be typed.
    pub ask_password: bool,
    /// Warn of a password on the command line.
    pub auth_warning: bool,
    /// Database to select; 0 sends nothing. What does not exist is for the server to refuse.
    pub database: i64,
    /// Version of the protocol.
    pub protocol: Protocol,
    /// `-2`: JSON output is no reason to speak RESP3.
    pub resp2_asked: bool,
    /// Follow redirections.
    pub cluster: bool,
    /// How replies are printed.
    pub output: Output,
    /// The form of output was chosen on the command line.
    pub is_output_asked: bool,
    /// Between elements of an array in raw output.
    pub element_delimiter: Vec<u8>,
    /// Behind each reply in raw output.
    pub reply_delimiter: Vec<u8>,
    /// An error reply ends the program with a status.
    pub error_status: bool,
    /// Out-of-band data is printed; `None` decides by whether standard output is a terminal.
    pub show_pushes: Option<bool>,
    /// Tell more.
    pub verbose: bool,
    /// Times that a command is sent; negative for ever.
    pub repeat: i64,
    /// Pause between repetitions, and the interval of the modes; zero when not asked for.
    pub interval: Duration,
    /// The last argument comes from standard input.
    pub stdin_last: bool,
    /// The argument that stands for standard input.
    pub stdin_tag: Option<Vec<u8>>,
    /// Arguments are read with quotes and escapes.
    pub quoted_input: bool,
    /// Script to send.
    pub eval: Option<String>,
    /// Pattern of the keys.
    pub pattern: Option<Vec<u8>>,
    /// `COUNT` of SCAN.
    pub count: i64,
    /// `TYPE` of SCAN.
    pub key_type: Option<String>,
    /// Seconds without a reply after which `--pipe` gives up; 0 for never.
    pub pipe_timeout_s: u64,
    /// Where `--rdb` writes; `-` is standard output.
    pub rdb_path: String,
    /// The snapshot holds functions only.
    pub rdb_functions_only: bool,
    /// What to do instead of sending commands.
    pub mode: Option<Mode>,
    /// A line for each window of `--latency`.
    pub latency_history: bool,
    /// Percentiles of `--latency-percentiles`, as given.
    pub latency_percentiles: Option<String>,
    /// The spectrum of `--latency-dist` in grey.
    pub mono: bool,
    /// Seconds of `--intrinsic-latency`.
    pub intrinsic_latency_s: i64,
    /// Keys of `--lru-test`.
    pub lru_keys: i64,
    /// `SAMPLES` of `--memkeys`; `None` leaves them to the server.
    pub memkeys_samples: Option<i64>,
    /// `SAMPLES` of `--keystats`; `None` leaves them to the server.
    pub keystats_samples: Option<i64>,
    /// Where `--keystats` starts to scan.
    pub cursor: u64,
    /// Keys that `--keystats` lists.
    pub top: usize,
    /// Subcommand of `--cluster` and what follows it.
    pub cluster_command: Vec<String>,
    /// Options of `--cluster`, by name, with their values.
    pub cluster_options: Vec<(&'static str, String)>,
    /// The first option that asks for what does not exist yet.
    pub unavailable: Option<String>,
    /// Lines for standard error, in order.
    pub warnings: Vec<String>,
    /// The command to send, or the arguments of the script.
    pub command: Vec<Vec<u8>>,
}

impl Default for Options {
    fn default() -> Self {
        Self {
            host: "127.0.0.1".into(),
            port: 6379,
            socket: None,
            connect_timeout: None,
            tls: TlsChoice::default(),
            user: None,
            password: None,
            ask_password: false,
            auth_warning: true,
            database: 0,
            protocol: Protocol::Resp2,
            resp2_asked: false,
            cluster: false,
            output: Output::Standard,
            is_output_asked: false,
            element_delimiter: b"\n".to_vec(),
            reply_delimiter: b"\n".to_vec(),
            error_status: false,
            show_pushes: None,
            verbose: false,
            repeat: 1,
            interval: Duration::ZERO,
            stdin_last: false,
            stdin_tag: None,
            quoted_input: false,
            eval: None,
            pattern: None,
            count: SCAN_COUNT,
            key_type: None,
            pipe_timeout_s: PIPE_TIMEOUT_S,
            rdb_path: String::new(),
            rdb_functions_only: false,
            mode: None,
            latency_history: false,
            latency_percentiles: None,
            mono: false,
            intrinsic_latency_s: 0,
            lru_keys: 0,
            memkeys_samples: None,
            keystats_samples: None,
            cursor: 0,
            top: KEYSTATS_TOP,
            cluster_command: Vec::new(),
            cluster_options: Vec::new(),
            unavailable: None,
            warnings: Vec::new(),
            command: Vec::new(),
        }
    }
}

impl HasTls for Options {
    fn tls_choice(&mut self) -> &mut TlsChoice {
        &mut self.tls
    }
}

impl Options {
    /// The server as messages name it.
    pub fn place(&self) -> String {
        match &self.socket {
            Some(path) => path.clone(),
            None => format!("{}:{}", self.host, self.port),
        }
    }

    /// Asks for a mode; of several the first of [`Mode`] wins.
    pub fn set_mode(&mut self, mode: Mode) {
        self.mode = Some(self.mode.map_or(mode, |other| other.min(mode)));
    }
}
