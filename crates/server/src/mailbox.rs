//! What others send to a client: messages that wait until its connection can write them.
//!
//! A client has a mailbox from its first subscription on. From then on its replies go through it,
//! too, and a task of its own writes: so a message never stands within a reply, and a subscriber
//! that is slow to read holds up nobody. While its commands run, what others send waits behind the
//! replies to them.

use std::time::Instant;

use async_channel::{Receiver, Sender};
use parking_lot::Mutex;

use crate::settings::OutputLimit;

/// The output that waits for one client.
pub struct Mailbox {
    state: Mutex<State>,
    bell: Sender<()>,
    heard: Receiver<()>,
}

#[derive(Default)]
struct State {
    /// To be written, in order.
    ready: Vec<u8>,
    /// From others, to be written behind the replies under way.
    held: Vec<u8>,
    /// The client's commands are running.
    is_holding: bool,
    /// Bytes that the writing task has taken and not yet written.
    in_flight_bytes: usize,
    /// Since when there is more than the soft limit.
    over_since: Option<Instant>,
    is_closed: bool,
}

impl State {
    fn pending_bytes(&self) -> usize {
        self.ready.len() + self.held.len() + self.in_flight_bytes
    }
}

impl Mailbox {
    /// An empty mailbox of a client whose commands are running.
    pub fn new() -> Mailbox {
        let (bell, heard) = async_channel::bounded(1);
        let state = Mutex::new(State { is_holding: true, ..State::default() });
        Mailbox { state, bell, heard }
    }

    /// Lets what others send wait until [`Self::post_replies`].
    pub fn hold(&self) {
        self.state.lock().is_holding = true;
    }

    /// Adds the replies that the client's commands made, and what was held behind them.
    pub fn post_replies<'a>(&self, replies: impl Iterator<Item = &'a [u8]>) {
        let state = &mut *self.state.lock();
        replies.for_each(|piece| state.ready.extend_from_slice(piece));
        state.ready.append(&mut state.held);
        state.is_holding = false;
        if !state.ready.is_empty() {
            self.ring();
        }
    }

    /// Adds a message from somebody else; false if more waits now than `limit` allows, upon which
    /// nothing more is kept.
    #[must_use]
    pub fn post(&self, message: &[u8], limit: OutputLimit) -> bool {
        let state = &mut *self.state.lock();
        if state.is_closed {
            return true;
        }
        if state.is_holding {
            state.held.extend_from_slice(message);
        } else {
            let was_empty = state.ready.is_empty();
            state.ready.extend_from_slice(message);
            if was_empty {
                self.ring();
            }
        }
        let pending = state.pending_bytes() as u64;
        let is_over = |bytes: u64| bytes != 0 && pending > bytes;
        let is_patience_over = if is_over(limit.soft_bytes) {
            let since = *state.over_since.get_or_insert_with(Instant::now);
            since.elapsed().as_secs() >= limit.soft_seconds.into()
        } else {
            state.over_since = None;
            false
        };
        if is_over(limit.hard_bytes) || is_patience_over {
            *state = State { is_closed: true, ..State::default() };
            return false;
        }
        true
    }

    /// Waits until there may be something to write; false once the mailbox is closed.
    pub async fn wait(&self) -> bool {
        self.heard.recv().await.is_ok()
    }

    /// Takes what is to be written next; `None` if there is nothing, with what was taken before
    /// written.
    pub fn take(&self) -> Option<Vec<u8>> {
        let state = &mut *self.state.lock();
        let taken = std::mem::take(&mut state.ready);
        state.in_flight_bytes = taken.len();
        (!taken.is_empty()).then_some(taken)
    }

    /// Bytes that wait.
    pub fn pending_bytes(&self) -> usize {
        self.state.lock().pending_bytes()
    }

    /// Whether nothing more will be written.
    pub fn is_closed(&self) -> bool {
        self.state.lock().is_closed
    }

    /// Keeps and writes nothing any more.
    pub fn close(&self) {
        *self.state.lock() = State { is_closed: true, ..State::default() };
        self.bell.close();
    }

    fn ring(&self) {
        // A bell that rings already need not be rung, and one that is closed has nobody to hear it.
        let _ = self.bell.try_send(());
    }
}

impl Default for Mailbox {
    fn default() -> Self {
        Self::new()
    }
}

#[cfg(test)]
mod tests {
    use super::Mailbox;
    use crate::settings::OutputLimit;

    const NO_LIMIT: OutputLimit = OutputLimit { hard_bytes: 0, soft_bytes: 0, soft_seconds: 0 };

    #[test]
    fn messages_stand_behind_the_replies_under_way() {
        let mailbox = Mailbox::new();
        assert!(mailbox.post(b"message", NO_LIMIT));
        assert_eq!(mailbox.take(), None);
        mailbox.post_replies([&b"one "[..], b"two "].into_iter());
        assert_eq!(mailbox.pending_bytes(), 15);
        assert_eq!(mailbox.take().as_deref(), Some(&b"one two message"[..]));
        assert!(mailbox.post(b"next", NO_LIMIT));
        assert_eq!(mailbox.pending_bytes(), 19);
        assert_eq!(mailbox.take().as_deref(), Some(&b"next"[..]));
        assert_eq!(mailbox.take(), None);
        assert_eq!(mailbox.pending_bytes(), 0);
    }

    #[test]
    fn too_much_closes_it() {
        let mailbox = Mailbox::new();
        let limit = OutputLimit { hard_bytes: 10, ..NO_LIMIT };
        assert!(mailbox.post(b"0123456789", limit));
        assert!(!mailbox.post(b"0", limit));
        assert!(mailbox.is_closed());
        assert!(mailbox.post(b"0", limit));
        assert_eq!(mailbox.pending_bytes(), 0);
        let soft = Mailbox::new();
        let limit = OutputLimit { soft_bytes: 2, soft_seconds: 0, ..NO_LIMIT };
        assert!(soft.post(b"01", limit));
        assert!(!soft.post(b"2", limit));
    }
}
