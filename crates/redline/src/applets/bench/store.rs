//! The store inside this program, for runs that name no target. Its threads end with the run, or with the process.

use load::plan::Target;
use server::{Running, Settings, StartError};

/// Starts a store without a password on a free loopback port.
///
/// # Errors
/// The system refuses a port or a thread.
pub fn start(threads: u32, connections: u32) -> Result<(Running, Target), StartError> {
    let settings = Settings {
        bind: vec!["127.0.0.1".into()],
        port: 0,
        threads: threads as usize,
        // Those that make keys or ask questions come on top.
        clients_max: (connections as usize).saturating_add(100).max(10_000),
        ..Settings::default()
    };
    let running = server::start(settings)?;
    let port = running.port().expect("settings with TCP give a server with a port");
    Ok((running, Target::tcp("127.0.0.1", port)))
}
