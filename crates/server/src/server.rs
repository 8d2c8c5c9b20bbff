//! The state that all workers of one server share. Two servers in one process share nothing.

use std::path::PathBuf;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, AtomicUsize, Ordering};
use std::time::{Duration, Instant, SystemTime, UNIX_EPOCH};

use engine::{Clock, Keyspace};
use parking_lot::Mutex;

use crate::clients::Clients;
use crate::command::CommandTable;
use crate::commands;
use crate::observers::Observers;
use crate::pubsub::PubSub;
use crate::settings::Settings;
use crate::stats::{History, Totals, WorkerStats};

/// The version of Redis that clients may take this server for; they switch features on by it.
pub const REDIS_VERSION: &str = "8.0.0";
/// Time between two warnings of HTTP in the log.
const HTTP_WARNING_INTERVAL: Duration = Duration::from_secs(60);

/// One server.
pub struct Server {
    /// The data.
    pub keyspace: Keyspace,
    /// Clients that wait for a key.
    pub blocked_clients: AtomicUsize,
    /// Who hears which channels.
    pub pubsub: PubSub,
    /// Who is to hear of changes of keys.
    pub observers: Observers,
    /// The commands.
    pub commands: CommandTable,
    /// The connected clients.
    pub clients: Clients,
    /// What the workers count, by worker.
    pub worker_stats: Vec<Arc<WorkerStats>>,
    /// Connections by worker, for the acceptor to find the least loaded.
    pub worker_connections: Vec<AtomicUsize>,
    /// When the server started.
    pub started_at: Instant,
    /// Forty random hexadecimal digits, as `run_id`.
    pub run_id: String,
    /// More memory is in use than the settings allow; set by [`Self::check_memory`].
    pub is_out_of_memory: AtomicBool,
    /// How it was started.
    pub origin: Origin,
    /// What the totals were when `CONFIG RESETSTAT` was last called.
    pub totals_before: Mutex<Totals>,
    /// The totals of the last seconds, and peaks; the background round keeps them.
    pub history: Mutex<History>,
    /// Bytes that the allocator had given out once the server was ready.
    pub start_bytes: AtomicU64,
    http_warned_at: Mutex<Option<Instant>>,
    settings: Mutex<Arc<Settings>>,
    settings_version: AtomicU64,
    stop: Stop,
}

/// How a server was started, for `INFO`, `CONFIG REWRITE` and the log.
#[derive(Clone, Default)]
pub struct Origin {
    /// The configuration file, absolute.
    pub config_file: Option<PathBuf>,
    /// Whether the server logs; one within another program does not.
    pub logs: bool,
}

/// Whether the server is to end, and who must hear of it.
#[derive(Default)]
struct Stop {
    is_requested: AtomicBool,
    listeners: Mutex<Vec<Box<dyn Fn() + Send>>>,
}

impl Server {
    /// A server with these settings and `worker_count` workers, not yet running.
    pub fn new(settings: Settings, worker_count: usize) -> Server {
        Server {
            keyspace: Keyspace::new(),
            blocked_clients: AtomicUsize::new(0),
            pubsub: PubSub::default(),
            observers: Observers::default(),
            commands: CommandTable::new(commands::FAMILIES),
            clients: Clients::default(),
            worker_stats: (0..worker_count).map(|_| Arc::default()).collect(),
            worker_connections: (0..worker_count).map(|_| AtomicUsize::new(0)).collect(),
            started_at: Instant::now(),
            run_id: random_hex(),
            is_out_of_memory: AtomicBool::new(false),
            origin: Origin::default(),
            totals_before: Mutex::default(),
            history: Mutex::default(),
            http_warned_at: Mutex::new(None),
            start_bytes: AtomicU64::new(crate::memory::used_bytes()),
            settings: Mutex::new(Arc::new(settings)),
            settings_version: AtomicU64::new(1),
            stop: Stop::default(),
        }
    }

    /// The settings as they are now.
    pub fn settings(&self) -> Arc<Settings> {
        Arc::clone(&self.settings.lock())
    }

    /// A number that changes with the settings.
    #[inline]
    pub fn settings_version(&self) -> u64 {
        self.settings_version.load(Ordering::Acquire)
    }

    /// Changes the settings as one step; workers see it with their next batch.
    pub fn change_settings<R>(&self, change: impl FnOnce(&mut Settings) -> R) -> R {
        let mut current = self.settings.lock();
        let mut settings = Settings::clone(&current);
        let result = change(&mut settings);
        *current = Arc::new(settings);
        self.settings_version.fetch_add(1, Ordering::Release);
        result
    }

    /// Compares the memory in use with the limit, and with its peak so far.
    pub fn check_memory(&self) {
        let limit = self.settings().memory_bytes_max;
        let used = crate::memory::used_bytes();
        self.is_out_of_memory.store(limit != 0 && used > limit, Ordering::Relaxed);
        self.history.lock().note_used(used);
    }

    /// Whether a warning of HTTP on a connection may be logged: one a minute, as in Redis.
    pub fn is_http_warning_due(&self) -> bool {
        let mut warned_at = self.http_warned_at.lock();
        let is_due = warned_at.is_none_or(|at| at.elapsed() >= HTTP_WARNING_INTERVAL);
        if is_due {
            *warned_at = Some(Instant::now());
        }
        is_due
    }

    /// Asks the server to end: no more connections, the present ones are cut.
    pub fn request_stop(&self) {
        if !self.stop.is_requested.swap(true, Ordering::AcqRel) {
            self.stop.listeners.lock().iter().for_each(|listener| listener());
        }
    }

    /// Whether the server was asked to end.
    pub fn is_stopping(&self) -> bool {
        self.stop.is_requested.load(Ordering::Acquire)
    }

    /// Has `listener` called once the server is asked to end; at once if it was already.
    pub fn on_stop(&self, listener: impl Fn() + Send + 'static) {
        let mut listeners = self.stop.listeners.lock();
        if self.is_stopping() {
            listener();
        } else {
            listeners.push(Box::new(listener));
        }
    }
}

/// The time now.
#[inline]
pub fn clock() -> Clock {
    let since_epoch = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default();
    Clock { now_ms: since_epoch.as_millis() as u64 }
}

fn random_hex() -> String {
    use rand_core::RngCore;
    let mut random = crate::worker::seeded_random();
    format!("{:016x}{:016x}{:08x}", random.next_u64(), random.next_u64(), random.next_u32())
}
