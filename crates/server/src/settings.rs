//! The settings of a server as typed values: what the configuration says, after parsing.
//!
//! A worker holds a snapshot and looks for a newer one once a batch, so a command reads settings
//! without a lock. Names and defaults are those of Redis 8 where a parameter is Redis's.

use engine::Limits;

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
    /// TCP port, 0 for none.
    pub port: u16,
    /// Path of a Unix socket to listen on.
    pub unix_socket: Option<String>,
    /// Mode of the Unix socket.
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
    /// Most memory for data, in bytes, 0 for no limit.
    pub memory_bytes_max: u64,
    /// When collections leave their compact encodings.
    pub limits: Limits,
    /// Rounds of background work a second.
    pub hz: u32,
    /// Whether expired keys are looked for, beside those that commands come upon.
    pub active_expire: bool,
}

impl Default for Settings {
    fn default() -> Self {
        Settings {
            bind: vec!["*".into(), "-::*".into()],
            port: 6379,
            unix_socket: None,
            unix_socket_mode: 0o700,
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
            memory_bytes_max: 0,
            limits: Limits::default(),
            hz: 10,
            active_expire: true,
        }
    }
}
