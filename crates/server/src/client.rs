//! One client: what its commands change about the connection, and what others may see of it.

use std::net::SocketAddr;
use std::sync::atomic::{AtomicBool, AtomicI64, AtomicU64, AtomicUsize, Ordering};
use std::sync::{Arc, OnceLock};
use std::time::Instant;

use parking_lot::Mutex;
use resp::reply::Protocol;

use crate::mailbox::Mailbox;
use crate::pubsub::Subscriptions;
use crate::server::clock;
use crate::settings::OutputLimit;
use crate::stats::Counter;
use crate::transaction::{Transaction, Watching};
use crate::waiting::Waiter;

/// What `CLIENT REPLY` has chosen.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub enum ReplyMode {
    /// Every reply is sent.
    #[default]
    On,
    /// No reply is sent.
    Off,
    /// The reply to the next command is not sent.
    SkipNext,
    /// The reply to this command is not sent, those after it are.
    SkipThis,
}

/// The connection's own state; only its worker's thread touches it.
pub struct Client {
    /// What others may see.
    pub shared: Arc<ClientInfo>,
    /// The protocol chosen with `HELLO`.
    pub protocol: Protocol,
    /// The database chosen with `SELECT`.
    pub db_index: usize,
    /// Whether commands are allowed at all.
    pub is_authenticated: bool,
    /// Which replies are sent.
    pub reply_mode: ReplyMode,
    /// The connection closes once the replies so far are sent.
    pub closes_after_reply: bool,
    /// What the client waits for.
    pub wait: Option<Box<Wait>>,
    /// What is queued since `MULTI`.
    pub transaction: Option<Box<Transaction>>,
    /// What the client hears, if it hears anything.
    pub subscriptions: Option<Box<Subscriptions>>,
    /// The keys that `WATCH` named.
    pub watching: Option<Box<Watching>>,
}

/// A wait that has begun.
pub struct Wait {
    /// What others see of it.
    pub waiter: Arc<Waiter>,
    /// When it ends; `None` for never.
    pub deadline: Option<Instant>,
}

/// What `CLIENT LIST` and `CLIENT KILL` know of a client, from any thread.
pub struct ClientInfo {
    /// A number that no other client of this server ever has.
    pub id: u64,
    /// The client's address; `None` on a Unix socket.
    pub address: Option<SocketAddr>,
    /// The server's address, or the path of the Unix socket.
    pub local_address: String,
    /// The descriptor of the connection.
    pub descriptor: i32,
    /// When the connection was accepted.
    pub connected_at: Instant,
    /// The connection's worker.
    pub worker_index: usize,
    /// What the client told of itself, and what it holds.
    pub labels: Mutex<Labels>,
    /// The database chosen.
    pub db_index: AtomicUsize,
    /// When the client last sent something, in Unix milliseconds.
    pub last_active_ms: AtomicU64,
    /// The last command's row, as [`Command::address`] numbers it; 0 for none, or an unknown one.
    ///
    /// [`Command::address`]: crate::command::Command::address
    pub last_command: AtomicUsize,
    /// Bytes of input not yet executed.
    pub query_bytes: AtomicUsize,
    /// Bytes of replies that the client has not taken yet.
    pub output_bytes: AtomicUsize,
    /// Bytes received.
    pub input_bytes: Counter,
    /// Bytes sent.
    pub sent_bytes: Counter,
    /// Commands executed.
    pub commands: Counter,
    /// 2 or 3.
    pub protocol: AtomicUsize,
    /// Commands queued since `MULTI`, -1 without one.
    pub queued_commands: AtomicI64,
    /// Keys watched.
    pub watched_keys: AtomicUsize,
    /// Whether it waits for a key.
    pub is_blocked: AtomicBool,
    /// Channels that it hears.
    pub channels: AtomicUsize,
    /// Patterns of channels that it hears.
    pub patterns: AtomicUsize,
    /// Shard channels that it hears.
    pub shard_channels: AtomicUsize,
    /// What others send it, once there may be any.
    pub mailbox: OnceLock<Mailbox>,
    /// `CLIENT NO-EVICT`.
    pub no_evict: AtomicBool,
    /// `CLIENT NO-TOUCH`.
    pub no_touch: AtomicBool,
    /// The connection is being closed; the descriptor must not be used any more.
    closed: Mutex<bool>,
}

/// What a client told of itself.
#[derive(Clone, Default)]
pub struct Labels {
    /// `CLIENT SETNAME`.
    pub name: Vec<u8>,
    /// `CLIENT SETINFO LIB-NAME`.
    pub library_name: Vec<u8>,
    /// `CLIENT SETINFO LIB-VER`.
    pub library_version: Vec<u8>,
}

impl ClientInfo {
    /// A client just accepted.
    pub fn new(
        id: u64,
        address: Option<SocketAddr>,
        local_address: String,
        descriptor: i32,
        worker_index: usize,
    ) -> ClientInfo {
        ClientInfo {
            id,
            address,
            local_address,
            descriptor,
            connected_at: Instant::now(),
            worker_index,
            labels: Mutex::default(),
            db_index: AtomicUsize::new(0),
            last_active_ms: AtomicU64::new(clock().now_ms),
            last_command: AtomicUsize::new(0),
            query_bytes: AtomicUsize::new(0),
            output_bytes: AtomicUsize::new(0),
            input_bytes: Counter::default(),
            sent_bytes: Counter::default(),
            commands: Counter::default(),
            protocol: AtomicUsize::new(2),
            queued_commands: AtomicI64::new(-1),
            watched_keys: AtomicUsize::new(0),
            is_blocked: AtomicBool::new(false),
            channels: AtomicUsize::new(0),
            patterns: AtomicUsize::new(0),
            shard_channels: AtomicUsize::new(0),
            mailbox: OnceLock::new(),
            no_evict: AtomicBool::new(false),
            no_touch: AtomicBool::new(false),
            closed: Mutex::new(false),
        }
    }

    /// The client's address as Redis prints it.
    pub fn address_text(&self) -> String {
        match self.address {
            Some(address) => address.to_string(),
            None => format!("{}:0", self.local_address),
        }
    }

    /// Whether the client is on this machine.
    pub fn is_local(&self) -> bool {
        is_local(self.address)
    }

    /// The server's address as Redis prints it.
    pub fn local_address_text(&self) -> String {
        match self.address {
            Some(_) => self.local_address.clone(),
            None => format!("{}:0", self.local_address),
        }
    }

    /// Notes how much the client hears.
    pub fn note_subscriptions(&self, subscriptions: &Subscriptions) {
        self.channels.store(subscriptions.channels.len(), Ordering::Relaxed);
        self.patterns.store(subscriptions.patterns.len(), Ordering::Relaxed);
        self.shard_channels.store(subscriptions.shard_channels.len(), Ordering::Relaxed);
    }

    /// Whether the client hears anything.
    pub fn is_subscriber(&self) -> bool {
        [&self.channels, &self.patterns, &self.shard_channels]
            .into_iter()
            .any(|count| count.load(Ordering::Relaxed) > 0)
    }

    /// Sends the client a message from another; one that leaves too many unread is cut off.
    pub fn deliver(&self, message: &[u8], limit: OutputLimit) {
        if self.mailbox.get().is_some_and(|mailbox| !mailbox.post(message, limit)) {
            self.disconnect();
        }
    }

    /// Bytes of output that the client has not taken yet.
    pub fn waiting_output_bytes(&self) -> usize {
        let mail_bytes = self.mailbox.get().map_or(0, Mailbox::pending_bytes);
        self.output_bytes.load(Ordering::Relaxed) + mail_bytes
    }

    /// Forgets what the client chose, as `RESET` does; the library's labels stay.
    pub fn reset(&self) {
        self.labels.lock().name.clear();
        self.no_evict.store(false, Ordering::Relaxed);
        self.no_touch.store(false, Ordering::Relaxed);
    }

    /// Ends the connection from another thread: its pending read and write fail.
    pub fn disconnect(&self) {
        let closed = self.closed.lock();
        if !*closed {
            // SAFETY: the descriptor is open as long as `closed` is false, and the lock is held.
            let descriptor = unsafe { rustix::fd::BorrowedFd::borrow_raw(self.descriptor) };
            // A connection that is gone already is what was wanted.
            let _ = rustix::net::shutdown(descriptor, rustix::net::Shutdown::Both);
        }
    }

    /// Notes that the descriptor is about to be closed.
    pub fn note_closed(&self) {
        *self.closed.lock() = true;
    }
}

/// Whether a client with this address, `None` on a Unix socket, is on this machine.
pub fn is_local(address: Option<SocketAddr>) -> bool {
    address.is_none_or(|address| address.ip().to_canonical().is_loopback())
}

impl Client {
    /// A client just accepted.
    pub fn new(shared: Arc<ClientInfo>, is_authenticated: bool) -> Client {
        Client {
            shared,
            protocol: Protocol::default(),
            db_index: 0,
            is_authenticated,
            reply_mode: ReplyMode::On,
            closes_after_reply: false,
            wait: None,
            transaction: None,
            subscriptions: None,
            watching: None,
        }
    }

    /// Whether it subscribes in RESP2, where messages could not be told from replies: most commands
    /// are refused then.
    pub fn is_listening_only(&self) -> bool {
        self.subscriptions.is_some() && self.protocol == Protocol::Resp2
    }

    /// Changes the database.
    pub fn select(&mut self, db_index: usize) {
        self.db_index = db_index;
        self.shared.db_index.store(db_index, Ordering::Relaxed);
    }

    /// Changes the protocol.
    pub fn set_protocol(&mut self, protocol: Protocol) {
        self.protocol = protocol;
        let version = if protocol == Protocol::Resp3 { 3 } else { 2 };
        self.shared.protocol.store(version, Ordering::Relaxed);
    }
}
