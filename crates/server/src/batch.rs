//! The batch: from bytes that arrived to replies, without I/O.
//!
//! Commands are parsed in place, up to [`COMMANDS_MAX`] at a time; the keys of a batch are hashed and
//! their buckets and entries asked for before the first is needed, so that the waits for memory
//! overlap; then the commands run one after the other.

use std::sync::atomic::Ordering;

use resp::args::{Args, Span};
use resp::output::OutputBuffer;
use resp::request::{Limits, Parsed, ProtocolError, RequestParser};

use engine::{Key, Keyspace};

use crate::client::Client;
use crate::command::{Command, Handler};
use crate::context::Worker;
use crate::dispatch::{self, Held};
use crate::server::{Server, clock};

/// Commands looked at together: enough to overlap memory waits, few enough to stay in the cache.
const COMMANDS_MAX: usize = 32;
/// Output after which a batch pauses for it to be written, so that a pipeline of large replies
/// holds this much and not all of them.
const OUTPUT_PAUSE_BYTES: usize = 256 << 10;

/// What a connection keeps between reads beside its client.
#[derive(Default)]
pub struct Input {
    parser: RequestParser,
}

/// Memory that a worker lends to every batch.
#[derive(Default)]
pub struct Scratch {
    spans: Vec<Span>,
    queue: Vec<Queued>,
}

/// A parsed command that waits for its turn.
struct Queued {
    command: Option<&'static Command>,
    /// Offset of its first byte in the input.
    base: usize,
    /// Offset behind its last byte.
    end: usize,
    /// Its arguments, as a range of the scratch spans.
    spans: (usize, usize),
    /// The hash of its key, if it has just one.
    hash: Option<u64>,
    /// Its arguments lie in the parser's own buffer.
    is_unquoted: bool,
}

/// Why a run over the input ended.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Pause {
    /// The input is used up, or ends within a command that needs at least so many more bytes.
    NeedsInput(usize),
    /// There is enough output for a write; more input may be waiting.
    NeedsWrite,
    /// The client waits for something to come to a key.
    Waits,
    /// The connection closes once the output is written.
    Closes,
}

/// Executes the commands in `input`, appends their replies to `output`, and says how much of the
/// input is used up and why it ended.
pub fn run(
    server: &Server,
    worker: &mut Worker,
    scratch: &mut Scratch,
    client: &mut Client,
    state: &mut Input,
    input: &[u8],
    output: &mut OutputBuffer,
) -> (usize, Pause) {
    let mut consumed = 0;
    loop {
        let limits = Limits {
            max_bulk_len: worker.settings.bulk_bytes_max,
            authenticated: client.is_authenticated,
        };
        let parsed = fill(server, scratch, &mut state.parser, &limits, &input[consumed..]);
        prefetch(server, scratch, client.db_index);
        let start = clock();
        client.shared.last_active_ms.store(start.now_ms, Ordering::Relaxed);
        let mut held = Held::default();
        let mut ended = None;
        for queued in &scratch.queue {
            let spans = &scratch.spans[queued.spans.0..queued.spans.1];
            let bytes = if queued.is_unquoted {
                state.parser.unquoted()
            } else {
                &input[consumed + queued.base..consumed + queued.end]
            };
            let args = Args::new(bytes, spans);
            dispatch::execute(
                server,
                &mut held,
                worker,
                client,
                start,
                queued.command,
                queued.hash,
                args,
                output,
            );
            if client.closes_after_reply {
                ended = Some((input.len(), Pause::Closes));
                break;
            }
            let Some(pause) = pause_after(client, output) else { continue };
            // The parser has looked beyond this command, where the next run begins anew.
            state.parser = RequestParser::new();
            ended = Some((consumed + queued.end, pause));
            break;
        }
        held.release();
        worker.discarded.clear();
        if let Some(ended) = ended {
            return ended;
        }
        consumed += parsed.consumed;
        match parsed.next {
            Next::More => {}
            Next::Needs(bytes) => return (consumed, Pause::NeedsInput(bytes)),
            Next::Refused(error) => {
                dispatch::refuse(client, error, output);
                return (input.len(), Pause::Closes);
            }
        }
    }
}

/// Whether the batch pauses between two commands.
#[inline]
fn pause_after(client: &Client, output: &OutputBuffer) -> Option<Pause> {
    if client.wait.is_some() {
        Some(Pause::Waits)
    } else if output.len_bytes() > OUTPUT_PAUSE_BYTES {
        Some(Pause::NeedsWrite)
    } else {
        None
    }
}

struct Filled {
    consumed: usize,
    next: Next,
}

enum Next {
    More,
    Needs(usize),
    Refused(ProtocolError),
}

/// Parses the next commands into the queue.
fn fill(
    server: &Server,
    scratch: &mut Scratch,
    parser: &mut RequestParser,
    limits: &Limits,
    input: &[u8],
) -> Filled {
    scratch.queue.clear();
    scratch.spans.clear();
    // Before authentication each command may lift the limits for the next.
    let commands_max = if limits.authenticated { COMMANDS_MAX } else { 1 };
    let mut at = 0;
    while scratch.queue.len() < commands_max {
        let first_span = scratch.spans.len();
        let (length, is_unquoted) = match parser.next(limits, &input[at..], &mut scratch.spans) {
            Ok(Parsed::Complete { consumed }) => (consumed, false),
            Ok(Parsed::CompleteUnquoted { consumed }) => (consumed, true),
            Ok(Parsed::Empty { consumed }) => {
                at += consumed;
                continue;
            }
            Ok(Parsed::Incomplete { needed }) => {
                return Filled { consumed: at, next: Next::Needs(needed) };
            }
            Err(error) => return Filled { consumed: at, next: Next::Refused(error) },
        };
        let (base, end) = (at, at + length);
        let spans = (first_span, scratch.spans.len());
        let bytes = if is_unquoted { parser.unquoted() } else { &input[base..end] };
        let args = Args::new(bytes, &scratch.spans[spans.0..spans.1]);
        let command = server.commands.find(args.at(0));
        let hash = command.and_then(|command| hash_of_key(command, &args));
        scratch.queue.push(Queued { command, base, end, spans, hash, is_unquoted });
        at = end;
        if is_unquoted {
            // Its arguments live in the parser only until the next call.
            break;
        }
    }
    Filled { consumed: at, next: Next::More }
}

#[inline]
fn hash_of_key(command: &Command, args: &Args<'_>) -> Option<u64> {
    match command.handler {
        Handler::Key(_) => {
            let key = args.get(command.keys.first as usize)?;
            Some(Key::new(key).hash)
        }
        _ => None,
    }
}

/// Asks for the memory that the queue's keys will need: first all buckets, then all entries. A shard
/// that somebody holds just now is left alone.
fn prefetch(server: &Server, scratch: &Scratch, db_index: usize) {
    if scratch.queue.len() < 2 {
        return;
    }
    let hashes = || scratch.queue.iter().filter_map(|queued| queued.hash);
    for hash in hashes() {
        if let Some(mut shard) = server.keyspace.try_lock(Keyspace::shard_of(hash)) {
            shard.db(db_index).prefetch_bucket(hash);
        }
    }
    for hash in hashes() {
        if let Some(mut shard) = server.keyspace.try_lock(Keyspace::shard_of(hash)) {
            shard.db(db_index).prefetch_entry(hash);
        }
    }
}
