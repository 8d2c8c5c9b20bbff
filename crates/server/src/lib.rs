//! The store: workers, connections, dispatch, commands, configuration.
//!
//! [`start`] runs a server inside this process and returns a handle; any number of them may run at
//! once.

pub mod arguments;
pub mod background;
pub mod batch;
pub mod client;
pub mod clients;
pub mod command;
pub mod commands;
pub mod config;
pub mod connection;
pub mod context;
pub mod dispatch;
pub mod effects;
pub mod elements;
pub mod error;
pub mod help;
pub mod listener;
pub mod log;
pub mod mailbox;
pub mod memory;
pub mod observers;
pub mod open_files;
pub mod pubsub;
pub mod scan;
pub mod server;
pub mod settings;
pub mod stats;
pub mod system;
pub mod transaction;
pub mod waiting;
pub mod worker;

use std::io;
use std::sync::Arc;
use std::sync::atomic::Ordering;
use std::thread::JoinHandle;

pub use listener::ListenError;
pub use server::{Origin, Server};
pub use settings::Settings;

use settings::LogLevel;

/// Why a server did not start.
#[derive(Debug, thiserror::Error)]
pub enum StartError {
    /// An address is taken, or not to be had.
    #[error(transparent)]
    Listen(#[from] ListenError),
    /// The system refuses threads or what they wait on.
    #[error("could not start a worker: {0}")]
    Worker(#[source] io::Error),
}

/// A server that runs. Dropping it ends it.
pub struct Running {
    server: Arc<Server>,
    port: Option<u16>,
    /// The kinds of sockets that it listens on.
    listening_on: Vec<&'static str>,
    threads: Vec<JoinHandle<()>>,
}

/// Starts a server on its own threads; it is part of this program, and writes no log.
///
/// # Errors
/// An address cannot be listened on, or a worker cannot be started.
pub fn start(settings: Settings) -> Result<Running, StartError> {
    launch(settings, Origin::default())
}

/// Starts a server on its own threads, as `origin` describes it.
///
/// # Errors
/// An address cannot be listened on, or a worker cannot be started.
pub fn launch(mut settings: Settings, origin: Origin) -> Result<Running, StartError> {
    let worker_count = match settings.threads {
        0 => std::thread::available_parallelism().map_or(1, usize::from),
        threads => threads,
    };
    let listeners = listener::Listeners::open(&settings)?;
    let port = listeners.port();
    settings.port = port.unwrap_or(settings.port);
    let mut server = Server::new(settings, worker_count);
    server.origin = origin;
    let server = Arc::new(server);
    let mut running = Running {
        server: Arc::clone(&server),
        port,
        listening_on: listeners.descriptions(),
        threads: Vec::new(),
    };
    let mut inboxes = Vec::new();
    for index in 0..worker_count {
        let (sender, inbox) = async_channel::unbounded();
        inboxes.push(sender);
        let thread =
            worker::start(Arc::clone(&server), index, inbox).map_err(StartError::Worker)?;
        running.threads.push(thread);
    }
    server.log(LogLevel::Notice, "Server initialized");
    server.log(
        LogLevel::Warning,
        "Nothing is written to disk: the data is gone when this server ends",
    );
    let thread = listener::start(Arc::clone(&server), listeners, inboxes);
    running.threads.push(thread.map_err(StartError::Worker)?);
    server.start_bytes.store(memory::used_bytes(), Ordering::Relaxed);
    Ok(running)
}

impl Running {
    /// The port that it listens on; `None` if it has none.
    pub fn port(&self) -> Option<u16> {
        self.port
    }

    /// Logs that connections are accepted, a line an address. Apart from [`launch`], so that the
    /// caller can first do what whoever waits for this line expects done: the pid file written,
    /// signals heard.
    pub fn announce_ready(&self) {
        for description in &self.listening_on {
            let text = format!("Ready to accept connections {description}");
            self.server.log(LogLevel::Notice, &text);
        }
    }

    /// The server's state.
    pub fn server(&self) -> &Arc<Server> {
        &self.server
    }

    /// Waits until the server ends, because it was asked to.
    pub fn wait(mut self) {
        self.join();
    }

    /// Asks the server to end and waits for it.
    pub fn stop(mut self) {
        self.server.request_stop();
        self.join();
    }

    fn join(&mut self) {
        for thread in self.threads.drain(..) {
            // A thread that panicked has said so itself.
            let _ = thread.join();
        }
    }
}

impl Drop for Running {
    fn drop(&mut self) {
        self.server.request_stop();
        self.join();
    }
}
