//! All connected clients, for `CLIENT LIST`, `CLIENT KILL` and `INFO clients`.

use std::collections::BTreeMap;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use engine::Clock;
use parking_lot::Mutex;

use crate::client::ClientInfo;

/// The connected clients by id, hence in the order in which they came.
#[derive(Default)]
pub struct Clients {
    by_id: Mutex<BTreeMap<u64, Arc<ClientInfo>>>,
    last_id: AtomicU64,
    rejected: AtomicU64,
}

impl Clients {
    /// A number for a new client; 1 is the first.
    pub fn next_id(&self) -> u64 {
        self.last_id.fetch_add(1, Ordering::Relaxed) + 1
    }

    /// Adds a client.
    pub fn add(&self, client: Arc<ClientInfo>) {
        self.by_id.lock().insert(client.id, client);
    }

    /// Takes a client out.
    pub fn remove(&self, id: u64) {
        self.by_id.lock().remove(&id);
    }

    /// Clients connected now.
    pub fn len(&self) -> usize {
        self.by_id.lock().len()
    }

    /// Whether nobody is connected.
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// All clients as they are now, oldest first.
    pub fn list(&self) -> Vec<Arc<ClientInfo>> {
        self.by_id.lock().values().cloned().collect()
    }

    /// Ends the connections that have been silent for more than `timeout_s` seconds.
    pub fn disconnect_idle(&self, clock: Clock, timeout_s: u32) {
        let timeout_ms = u64::from(timeout_s) * 1000;
        for client in self.list() {
            let last_active_ms = client.last_active_ms.load(Ordering::Relaxed);
            // Who listens need not speak.
            let is_idle = clock.now_ms.saturating_sub(last_active_ms) > timeout_ms;
            if is_idle && !client.is_subscriber() {
                client.disconnect();
            }
        }
    }

    /// Counts a connection refused because of `maxclients`.
    pub fn count_rejected(&self) {
        self.rejected.fetch_add(1, Ordering::Relaxed);
    }

    /// Connections refused so far because of `maxclients`.
    pub fn rejected(&self) -> u64 {
        self.rejected.load(Ordering::Relaxed)
    }
}
