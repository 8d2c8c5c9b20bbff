//! The settings of a server as typed values: what the configuration says, after parsing.
//!
//! A worker holds a snapshot and looks for a newer one once a batch, so a command reads settings
//! without a lock. Names and defaults are those of Redis 8 where a parameter is Redis's.

use std::collections::BTreeMap;

use engine::Limits;

/// Which messages are logged.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug, Default)]
pub enum LogLevel {
    /// Everything.
    Debug,
    /// Also what is rarely of use.
    Verbose,
    /// What an operator wants to see.
    #[default]
    Notice,
    /// Only what is wrong.
    Warning,
    /// No message.
    Nothing,
}

/// From where something is allowed.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub enum Allowed {
    /// From nowhere.
    #[default]
    No,
    /// From everywhere.
    Yes,
    /// From this machine.
    Local,
}

/// How much output may wait for a client (`client-output-buffer-limit`).
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct OutputLimit {
    /// Bytes at which the client is cut off at once, 0 for no limit.
    pub hard_bytes: u64,
    /// Bytes at which it is cut off once they have waited for `soft_seconds`, 0 for no limit.
    pub soft_bytes: u64,
    /// See `soft_bytes`.
    pub soft_seconds: u32,
}

/// The output limits of the three classes of clients.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct OutputLimits {
    /// Of ordinary clients.
    pub normal: OutputLimit,
    /// Of replicas.
    pub replica: OutputLimit,
    /// Of subscribers.
    pub pubsub: OutputLimit,
}

/// Which system interface the workers wait on.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub enum IoBackend {
    /// io_uring where the kernel allows it, else readiness polling.
    #[default]
    Auto,
    /// io_uring, or no start.
    Uring,
    /// Readiness polling (epoll, kqueue).
    Poll,
}

/// All settings.
#[derive(Clone, Debug)]
pub struct Settings {
    /// Addresses to listen on; `*` is every IPv4 address, `-` before one makes it optional.
    pub bind: Vec<String>,
    /// Whether to listen on TCP; the file's `port 0` means not to.
    pub listens_on_tcp: bool,
    /// TCP port; 0 takes any free one, which only a server within a program asks for. Once the
    /// server listens, it is the port that it listens on.
    pub port: u16,
    /// Path of a Unix socket to listen on.
    pub unix_socket: Option<String>,
    /// Mode of the Unix socket, 0 for what the process's mask gives.
    pub unix_socket_mode: u32,
    /// Length of the queue of connections not yet accepted.
    pub tcp_backlog: i32,
    /// Seconds between keep-alive probes, 0 for none.
    pub tcp_keepalive_s: u32,
    /// Seconds after which an idle client is disconnected, 0 for never.
    pub timeout_s: u32,
    /// Refuse clients from elsewhere while there is neither a password nor an explicit `bind`.
    pub protected_mode: bool,
    /// The default user's password, empty for none.
    pub password: Vec<u8>,
    /// Most clients at a time.
    pub clients_max: usize,
    /// Numbered databases.
    pub databases: usize,
    /// Worker threads, 0 for one a core.
    pub threads: usize,
    /// What workers wait on.
    pub io_backend: IoBackend,
    /// Longest argument in bytes (`proto-max-bulk-len`).
    pub bulk_bytes_max: usize,
    /// Most bytes of input that may wait to be executed (`client-query-buffer-limit`).
    pub query_bytes_max: usize,
    /// Most bytes of output that may wait for clients.
    pub output_limits: OutputLimits,
    /// Most memory for data, in bytes, 0 for no limit.
    pub memory_bytes_max: u64,
    /// When collections leave their compact encodings.
    pub limits: Limits,
    /// Rounds of background work a second.
    pub hz: u32,
    /// Whether expired keys are looked for, beside those that commands come upon.
    pub active_expire: bool,
    /// Who may use `DEBUG`.
    pub debug_command: Allowed,
    /// Who may change protected parameters.
    pub protected_configs: Allowed,
    /// What is logged.
    pub log_level: LogLevel,
    /// Where the log goes, relative to `directory`; empty for standard output.
    pub log_file: String,
    /// The working directory, absolute; empty for that of the process.
    pub directory: String,
    /// Where the process's number is written, empty for nowhere.
    pub pid_file: String,
    /// Whether to run in the background.
    pub daemonize: bool,
    /// Values of accepted parameters that nothing acts upon, as far as they were ever set.
    pub kept: BTreeMap<&'static str, Vec<u8>>,
}

impl Default for Settings {
    fn default() -> Self {
        Settings {
            bind: vec!["*".into(), "-::*".into()],
            listens_on_tcp: true,
            port: 6379,
            unix_socket: None,
            unix_socket_mode: 0,
            tcp_backlog: 511,
            tcp_keepalive_s: 300,
            timeout_s: 0,
            protected_mode: true,
            password: Vec::new(),
            clients_max: 10_000,
            databases: 16,
            threads: 0,
            io_backend: IoBackend::Auto,
            bulk_bytes_max: 512 << 20,
            query_bytes_max: 1 << 30,
            output_limits: OutputLimits::default(),
            memory_bytes_max: 0,
            limits: Limits::default(),
            hz: 10,
            active_expire: true,
            debug_command: Allowed::No,
            protected_configs: Allowed::No,
            log_level: LogLevel::Notice,
            log_file: String::new(),
            directory: String::new(),
            pid_file: String::new(),
            daemonize: false,
            kept: BTreeMap::new(),
        }
    }
}

impl Default for OutputLimits {
    fn default() -> Self {
        let limit = |hard_bytes, soft_bytes, soft_seconds| OutputLimit {
            hard_bytes,
            soft_bytes,
            soft_seconds,
        };
        OutputLimits {
            normal: limit(0, 0, 0),
            replica: limit(256 << 20, 64 << 20, 60),
            pubsub: limit(32 << 20, 8 << 20, 60),
        }
    }
}

impl Settings {
    /// The working directory as an absolute path, as `CONFIG GET dir` answers it.
    pub fn directory_path(&self) -> std::path::PathBuf {
        if self.directory.is_empty() {
            // A process whose directory was removed has none.
            std::env::current_dir().unwrap_or_else(|_| "/".into())
        } else {
            self.directory.clone().into()
        }
    }
}
