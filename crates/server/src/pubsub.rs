//! Publishing and subscribing: who hears which channel, and the delivery of messages.
//!
//! Channels are spread over parts with a lock each, so publishers meet only where they publish to
//! the same part. A publisher holds that lock while it puts the message into the mailboxes, which
//! gives all subscribers of a channel one order. Patterns are few and change seldom: workers keep
//! the list of them and look for a newer one with a glance at its version.

use std::collections::{BTreeSet, HashMap};
use std::hash::BuildHasher;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use parking_lot::Mutex;
use resp::output::OutputBuffer;
use resp::reply::{Protocol, Reply};
use text::glob::{self, Case};

use crate::client::{Client, ClientInfo};
use crate::settings::OutputLimit;

/// Parts of a registry of channels.
const PARTS: usize = 256;

/// The subscriptions of a client.
#[derive(Default)]
pub struct Subscriptions {
    /// By `SUBSCRIBE`.
    pub channels: BTreeSet<Box<[u8]>>,
    /// By `PSUBSCRIBE`.
    pub patterns: BTreeSet<Box<[u8]>>,
    /// By `SSUBSCRIBE`.
    pub shard_channels: BTreeSet<Box<[u8]>>,
}

impl Subscriptions {
    /// Whether there is none of any kind.
    pub fn is_empty(&self) -> bool {
        self.channels.is_empty() && self.patterns.is_empty() && self.shard_channels.is_empty()
    }
}

/// Channels of one kind and who hears them.
pub struct Channels {
    parts: Box<[Mutex<Part>]>,
    hasher: foldhash::fast::FixedState,
}

type Part = HashMap<Box<[u8]>, Vec<Arc<ClientInfo>>>;

impl Default for Channels {
    fn default() -> Self {
        let parts = (0..PARTS).map(|_| Mutex::default()).collect();
        Channels { parts, hasher: foldhash::fast::FixedState::default() }
    }
}

impl Channels {
    fn part(&self, channel: &[u8]) -> &Mutex<Part> {
        &self.parts[self.hasher.hash_one(channel) as usize % PARTS]
    }

    /// Adds a subscriber, who must not be one already.
    pub fn add(&self, channel: &[u8], client: &Arc<ClientInfo>) {
        let mut part = self.part(channel).lock();
        part.entry(channel.into()).or_default().push(Arc::clone(client));
    }

    /// Takes a subscriber out.
    pub fn remove(&self, channel: &[u8], client: &ClientInfo) {
        let mut part = self.part(channel).lock();
        let Some(subscribers) = part.get_mut(channel) else { return };
        subscribers.retain(|subscriber| subscriber.id != client.id);
        if subscribers.is_empty() {
            part.remove(channel);
        }
    }

    /// How many hear this channel.
    pub fn subscribers(&self, channel: &[u8]) -> usize {
        self.part(channel).lock().get(channel).map_or(0, Vec::len)
    }

    /// The channels that somebody hears and whose names match `pattern`.
    pub fn names(&self, pattern: Option<&[u8]>) -> Vec<Box<[u8]>> {
        let matches = |name: &[u8]| {
            pattern.is_none_or(|pattern| glob::matches(pattern, name, Case::Sensitive))
        };
        let mut names = Vec::new();
        for part in &self.parts {
            names.extend(part.lock().keys().filter(|name| matches(name)).cloned());
        }
        names
    }

    /// How many channels somebody hears.
    pub fn len(&self) -> usize {
        self.parts.iter().map(|part| part.lock().len()).sum()
    }

    /// Whether nobody hears any.
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }
}

/// A pattern and who hears the channels that match it.
#[derive(Clone)]
struct Pattern {
    pattern: Box<[u8]>,
    subscribers: Vec<Arc<ClientInfo>>,
}

/// The patterns at some moment.
#[derive(Clone, Default)]
pub struct Patterns(Vec<Pattern>);

/// A worker's copy of the patterns.
#[derive(Default)]
pub struct KnownPatterns {
    version: u64,
    patterns: Arc<Patterns>,
}

/// All subscriptions of a server.
#[derive(Default)]
pub struct PubSub {
    /// Channels of `SUBSCRIBE`.
    pub channels: Channels,
    /// Channels of `SSUBSCRIBE`.
    pub shard_channels: Channels,
    patterns: Mutex<Arc<Patterns>>,
    patterns_version: AtomicU64,
}

impl PubSub {
    /// Adds a subscriber to a pattern, who must not be one already.
    pub fn add_pattern(&self, pattern: &[u8], client: &Arc<ClientInfo>) {
        self.change_patterns(|patterns| {
            let place = patterns.iter().position(|one| *one.pattern == *pattern);
            let place = place.unwrap_or_else(|| {
                patterns.push(Pattern { pattern: pattern.into(), subscribers: Vec::new() });
                patterns.len() - 1
            });
            patterns[place].subscribers.push(Arc::clone(client));
        });
    }

    /// Takes a subscriber from a pattern.
    pub fn remove_pattern(&self, pattern: &[u8], client: &ClientInfo) {
        self.change_patterns(|patterns| {
            for one in patterns.iter_mut().filter(|one| *one.pattern == *pattern) {
                one.subscribers.retain(|subscriber| subscriber.id != client.id);
            }
            patterns.retain(|one| !one.subscribers.is_empty());
        });
    }

    fn change_patterns(&self, change: impl FnOnce(&mut Vec<Pattern>)) {
        let mut current = self.patterns.lock();
        let mut patterns = Patterns::clone(&current);
        change(&mut patterns.0);
        *current = Arc::new(patterns);
        self.patterns_version.fetch_add(1, Ordering::Release);
    }

    /// How many different patterns somebody hears.
    pub fn pattern_count(&self) -> usize {
        self.patterns.lock().0.len()
    }

    /// Sends a message to all who hear the channel, by name or by pattern; how many they are.
    pub fn publish(
        &self,
        known: &mut KnownPatterns,
        limit: OutputLimit,
        channel: &[u8],
        message: &[u8],
    ) -> usize {
        let version = self.patterns_version.load(Ordering::Acquire);
        if version != known.version {
            known.version = version;
            known.patterns = Arc::clone(&self.patterns.lock());
        }
        let part = self.channels.part(channel).lock();
        let mut count = 0;
        if let Some(subscribers) = part.get(channel) {
            count += subscribers.len();
            send(subscribers, limit, &[b"message", channel, message]);
        }
        for one in &known.patterns.0 {
            if glob::matches(&one.pattern, channel, Case::Sensitive) {
                count += one.subscribers.len();
                let parts = [b"pmessage", &*one.pattern, channel, message];
                send(&one.subscribers, limit, &parts);
            }
        }
        count
    }

    /// Sends a message to all who hear the shard channel; how many they are.
    pub fn publish_to_shard(&self, limit: OutputLimit, channel: &[u8], message: &[u8]) -> usize {
        let part = self.shard_channels.part(channel).lock();
        let Some(subscribers) = part.get(channel) else { return 0 };
        send(subscribers, limit, &[b"smessage", channel, message]);
        subscribers.len()
    }

    /// Ends all subscriptions of a client.
    pub fn end(&self, client: &mut Client) {
        let Some(subscriptions) = client.subscriptions.take() else { return };
        let shared = &client.shared;
        subscriptions.channels.iter().for_each(|name| self.channels.remove(name, shared));
        subscriptions.patterns.iter().for_each(|name| self.remove_pattern(name, shared));
        let shard_channels = &subscriptions.shard_channels;
        shard_channels.iter().for_each(|name| self.shard_channels.remove(name, shared));
        shared.note_subscriptions(&Subscriptions::default());
    }
}

/// Puts a message into the mailboxes of all subscribers, in the protocol that each speaks.
fn send(subscribers: &[Arc<ClientInfo>], limit: OutputLimit, parts: &[&[u8]]) {
    let mut forms: [Option<Vec<u8>>; 2] = [None, None];
    for subscriber in subscribers {
        let is_resp3 = subscriber.protocol.load(Ordering::Relaxed) == 3;
        let form = forms[usize::from(is_resp3)].get_or_insert_with(|| {
            let protocol = if is_resp3 { Protocol::Resp3 } else { Protocol::Resp2 };
            let mut output = OutputBuffer::new();
            let mut reply = Reply::new(&mut output, protocol);
            reply.push(parts.len());
            parts.iter().for_each(|part| reply.bulk(part));
            output.to_vec()
        });
        subscriber.deliver(form, limit);
    }
}
