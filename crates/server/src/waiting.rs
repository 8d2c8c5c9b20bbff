//! Clients that wait for something to come to a key (`BLPOP` and its kin), and serving them.
//!
//! Whoever changes a key that somebody waits for serves the waiters himself, in the order in which
//! they came, as soon as his command is done and its locks are released, and before his next one:
//! so it looks as if the waiter's command ran right behind it.

use std::sync::Arc;
use std::sync::atomic::Ordering;

use async_channel::{Receiver, Sender};
use engine::list::Side;
use engine::{Clock, Key, Kind};
use parking_lot::Mutex;
use resp::output::OutputBuffer;
use resp::reply::{Protocol, Reply};

use crate::client::{Client, ClientInfo};
use crate::command::{Command, Locked};
use crate::commands::blocking;
use crate::context::{Context, Worker};
use crate::effects;
use crate::server::Server;

/// What a waiting client wants from a key.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Wish {
    /// One element.
    Pop(Side),
    /// Up to so many elements.
    PopMany(Side, usize),
    /// An element, moved from one end here to one end of another list.
    Move(Side, Side),
    /// The member with the least or, if true, the greatest score.
    PopScore(bool),
    /// Up to so many of those.
    PopManyScores(bool, usize),
}

impl Wish {
    /// The type of value that can fulfil it.
    pub fn kind(self) -> Kind {
        match self {
            Wish::Pop(_) | Wish::PopMany(..) | Wish::Move(..) => Kind::List,
            Wish::PopScore(_) | Wish::PopManyScores(..) => Kind::Zset,
        }
    }

    /// Answers that nothing came.
    pub fn answer_nothing(self, reply: &mut Reply<'_>) {
        match self {
            Wish::Move(..) => reply.null(),
            _ => reply.null_array(),
        }
    }
}

/// A key by its name, apart from any command.
#[derive(Clone, Debug)]
pub struct OwnedKey {
    bytes: Box<[u8]>,
    hash: u64,
}

impl OwnedKey {
    /// A copy of `key`.
    pub fn of(key: Key<'_>) -> OwnedKey {
        OwnedKey { bytes: key.bytes.into(), hash: key.hash }
    }

    /// The key.
    pub fn key(&self) -> Key<'_> {
        Key { bytes: &self.bytes, hash: self.hash }
    }
}

/// A client that waits.
pub struct Waiter {
    /// What for.
    pub wish: Wish,
    /// The database of the keys.
    pub db_index: usize,
    /// The keys, each of which will do.
    pub keys: Vec<OwnedKey>,
    /// Where an element is moved to.
    target: Option<OwnedKey>,
    command: &'static Command,
    protocol: Protocol,
    client: Arc<ClientInfo>,
    /// How the waiting ended. Locked before shards are, and for as long as somebody serves.
    end: Mutex<End>,
    bell: Sender<()>,
    heard: Receiver<()>,
}

/// How a client's waiting ended.
enum End {
    /// It has not.
    NotYet,
    /// With this reply.
    Served(Vec<u8>),
    /// The client gave up, or has its reply.
    Over,
}

impl Waiter {
    /// A client that begins to wait.
    pub fn new(
        context: &Context<'_>,
        wish: Wish,
        keys: Vec<OwnedKey>,
        target: Option<OwnedKey>,
    ) -> Waiter {
        let (bell, heard) = async_channel::bounded(1);
        Waiter {
            wish,
            db_index: context.client.db_index,
            keys,
            target,
            command: context.command,
            protocol: context.client.protocol,
            client: Arc::clone(&context.client.shared),
            end: Mutex::new(End::NotYet),
            bell,
            heard,
        }
    }

    /// Waits until somebody has served the client.
    pub async fn served(&self) {
        // The bell is as old as the waiter, and never closed.
        let _ = self.heard.recv().await;
    }

    /// Ends the waiting, and takes the reply if somebody has served the client.
    pub fn finish(self: &Arc<Self>, server: &Server) -> Option<Vec<u8>> {
        let end = std::mem::replace(&mut *self.end.lock(), End::Over);
        server.observers.end_wait(self);
        server.blocked_clients.fetch_sub(1, Ordering::Relaxed);
        match end {
            End::Served(reply) => Some(reply),
            End::NotYet | End::Over => None,
        }
    }
}

/// Serves those who wait for the keys that `worker`'s last command changed. Nothing is locked.
#[cold]
pub fn serve(server: &Server, worker: &mut Worker, clock: Clock) {
    let mut next = 0;
    // Serving may change keys, for which others wait.
    while let Some((db_index, owned)) = worker.ready.get(next).cloned() {
        next += 1;
        while let Some(waiter) = server.observers.first_waiter(db_index, owned.key()) {
            let mut end = waiter.end.lock();
            if matches!(*end, End::NotYet) {
                match attempt(server, worker, clock, &waiter, &owned) {
                    None => break,
                    Some(reply) => *end = End::Served(reply),
                }
            }
            drop(end);
            server.observers.end_wait(&waiter);
            // It rings once, for one who waits for one bell.
            let _ = waiter.bell.try_send(());
        }
    }
    worker.ready.clear();
}

/// The reply to a waiter if the key has what it wants.
fn attempt(
    server: &Server,
    worker: &mut Worker,
    clock: Clock,
    waiter: &Waiter,
    owned: &OwnedKey,
) -> Option<Vec<u8>> {
    let mut client = Client::new(Arc::clone(&waiter.client), true);
    client.db_index = waiter.db_index;
    client.protocol = waiter.protocol;
    let client = &mut client;
    let command = waiter.command;
    let mut context = Context { server, client, worker, clock, command, is_queued: true };
    let keys: Vec<Key<'_>> =
        [Some(owned), waiter.target.as_ref()].into_iter().flatten().map(OwnedKey::key).collect();
    let mut shards = server.keyspace.lock_many(keys.iter().map(|key| key.hash));
    let mut locked = Locked::new(shards.shards(), waiter.db_index, &keys);
    let entry = locked.db(keys[0]).peek(clock, keys[0])?;
    if entry.value().kind() != waiter.wish.kind() {
        return None;
    }
    let mut output = OutputBuffer::new();
    let mut reply = Reply::new(&mut output, waiter.protocol);
    match blocking::take(&mut context, &mut locked, 0, waiter.wish, &mut reply) {
        Ok(effect) => {
            effects::apply_to_keys(&mut context, waiter.db_index, &locked, effect?);
        }
        Err(error) => {
            context.worker.stats.count_error(error.text());
            output.clear();
            Reply::new(&mut output, waiter.protocol).error(error.text());
        }
    }
    Some(output.to_vec())
}
