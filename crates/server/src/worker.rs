//! A worker: one thread, one runtime, the connections that the acceptor gave it.

use std::cell::RefCell;
use std::io;
use std::num::NonZero;
use std::rc::Rc;
use std::sync::Arc;
use std::sync::atomic::Ordering;
use std::thread::JoinHandle;

use async_channel::Receiver;
use compio::driver::{DriverType, ProactorBuilder};
use compio::runtime::Runtime;
use rand_core::SeedableRng;
use rand_xoshiro::Xoshiro256PlusPlus;
use resp::output::OutputBuffer;

use crate::background;
use crate::batch::Scratch;
use crate::connection;
use crate::context::Worker;
use crate::listener::Accepted;
use crate::pubsub::KnownPatterns;
use crate::server::Server;
use crate::settings::IoBackend;

/// Buffers that the kernel may fill before a worker has emptied one; a connection borrows one only
/// while its input is being executed.
const READ_BUFFERS: NonZero<u16> = NonZero::new(64).expect("it is not zero");
/// Bytes of a read buffer: a pipeline of 64 commands of 16-byte keys and 64-byte values fits twice.
const READ_BUFFER_BYTES: usize = 16 << 10;

/// What the tasks of one worker share; they run on one thread, one at a time.
pub struct Local {
    /// What commands see of the worker.
    pub worker: Worker,
    /// Memory lent to each batch.
    pub scratch: Scratch,
    /// Memory lent to connections for the replies to one batch.
    pub outputs: Vec<OutputBuffer>,
    /// Memory lent to each read under readiness polling.
    pub read_buffer: Vec<u8>,
    /// The version of the worker's settings.
    settings_version: u64,
}

impl Local {
    /// Takes over new settings, if there are any.
    #[inline]
    pub fn refresh_settings(&mut self, server: &Server) {
        let version = server.settings_version();
        if version != self.settings_version {
            self.settings_version = version;
            self.worker.settings = server.settings();
        }
    }
}

/// A source of randomness seeded by the system.
pub fn seeded_random() -> Xoshiro256PlusPlus {
    let state = std::hash::RandomState::new();
    let seed = std::hash::BuildHasher::hash_one(&state, std::time::Instant::now());
    Xoshiro256PlusPlus::seed_from_u64(seed)
}

/// Starts worker `index`, which takes over what arrives at `inbox` and ends when that closes.
///
/// # Errors
/// The thread or its runtime cannot be made; with [`IoBackend::Uring`], if io_uring is refused.
pub fn start(
    server: Arc<Server>,
    index: usize,
    inbox: Receiver<Accepted>,
) -> io::Result<JoinHandle<()>> {
    let (ready_sender, ready) = std::sync::mpsc::channel();
    let thread = std::thread::Builder::new().name(format!("redline-{index}")).spawn(move || {
        let runtime = match runtime(server.settings().io_backend) {
            Ok(runtime) => runtime,
            Err(error) => {
                // The starter waits for exactly one message.
                let _ = ready_sender.send(Err(error));
                return;
            }
        };
        let _ = ready_sender.send(Ok(()));
        runtime.block_on(run(server, index, inbox));
    })?;
    ready.recv().map_err(|_| io::Error::other("a worker ended before it began"))??;
    Ok(thread)
}

fn runtime(backend: IoBackend) -> io::Result<Runtime> {
    let mut proactor = ProactorBuilder::new();
    proactor
        .capacity(1024)
        .coop_taskrun(true)
        .taskrun_flag(true)
        .single_issuer(true)
        .defer_taskrun(true)
        .buffer_pool_size(READ_BUFFERS)
        .buffer_pool_buffer_len(READ_BUFFER_BYTES);
    match backend {
        IoBackend::Auto => {}
        IoBackend::Uring => drop(proactor.driver_type(DriverType::IoUring)),
        IoBackend::Poll => drop(proactor.driver_type(DriverType::Poll)),
    }
    Runtime::builder().with_proactor(proactor).build()
}

async fn run(server: Arc<Server>, index: usize, inbox: Receiver<Accepted>) {
    let local = Rc::new(RefCell::new(Local {
        worker: Worker {
            index,
            random: seeded_random(),
            stats: Arc::clone(&server.worker_stats[index]),
            settings: server.settings(),
            patterns: KnownPatterns::default(),
            ready: Vec::new(),
            discarded: Vec::new(),
        },
        scratch: Scratch::default(),
        outputs: Vec::new(),
        read_buffer: vec![0; READ_BUFFER_BYTES],
        settings_version: server.settings_version(),
    }));
    compio::runtime::spawn(background::run(Arc::clone(&server), index)).detach();
    while let Ok(accepted) = inbox.recv().await {
        let mut adopted = match accepted.adopt(&server, index) {
            Ok(adopted) => adopted,
            Err(_) => {
                // The connection is dropped, which its client notices.
                server.worker_connections[index].fetch_sub(1, Ordering::Relaxed);
                continue;
            }
        };
        let (server, local) = (Arc::clone(&server), Rc::clone(&local));
        compio::runtime::spawn(async move {
            connection::serve(&server, &local, &mut adopted).await;
        })
        .detach();
    }
}
