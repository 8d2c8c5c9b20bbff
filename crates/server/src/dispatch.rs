//! From a parsed command to its reply: the gates in their one order, the locks, the handler, the
//! effects.

use std::sync::atomic::Ordering;

use engine::keyspace::{Shard, ShardGuard};
use engine::{Clock, Key, Keyspace, ShardSet, Whole};
use resp::args::Args;
use resp::output::OutputBuffer;
use resp::reply::Reply;
use resp::request::ProtocolError;
use smallvec::SmallVec;

use crate::client::{Client, ReplyMode};
use crate::command::{Command, Flags, Handler, Locked, Outcome};
use crate::context::{Context, Worker};
use crate::effects::{self, Effect};
use crate::error::{CommandError, NO_AUTH, c_string};
use crate::server::Server;
use crate::settings::LogLevel;
use crate::transaction::{self, Queued};
use crate::waiting;

/// Bytes of arguments that the error for an unknown command quotes.
const QUOTED_BYTES_MAX: usize = 128;
/// Memory is used up.
const OUT_OF_MEMORY: CommandError =
    CommandError::fixed("OOM command not allowed when used memory > 'maxmemory'.");

/// `EXEC` where there is nothing to run.
const NO_MULTI: CommandError = CommandError::fixed("ERR EXEC without MULTI");
/// `EXEC` after a command was refused.
const BROKEN_TRANSACTION: CommandError =
    CommandError::fixed("EXECABORT Transaction discarded because of previous errors.");
/// A command that may not be queued.
const NOT_IN_TRANSACTION: CommandError =
    CommandError::fixed("ERR Command not allowed inside a transaction");
/// The commands of a subscriber in RESP2.
const OF_LISTENERS: [&str; 9] = [
    "ping",
    "subscribe",
    "ssubscribe",
    "unsubscribe",
    "sunsubscribe",
    "psubscribe",
    "punsubscribe",
    "quit",
    "reset",
];
/// The commands that run at once though a transaction is queued.
const ENDS_QUEUEING: [&str; 6] = ["exec", "discard", "multi", "watch", "quit", "reset"];

/// The shard that the last command of a batch locked, kept in case the next one needs the same: a
/// pipeline on one key takes its lock once, and workers that share a hot key take turns by batches,
/// not by commands.
#[derive(Default)]
pub struct Held<'a>(Option<(usize, ShardGuard<'a>)>);

impl<'a> Held<'a> {
    #[inline]
    fn shard(&mut self, keyspace: &'a Keyspace, index: usize) -> &mut Shard {
        if self.0.as_ref().is_none_or(|(held, _)| *held != index) {
            // Nobody may wait for a shard while holding another.
            self.release();
            self.0 = Some((index, keyspace.lock(index)));
        }
        &mut self.0.as_mut().expect("it was held, or has just been locked").1
    }

    /// Unlocks what is held.
    #[inline]
    pub fn release(&mut self) {
        self.0 = None;
    }
}

/// Runs one command and appends its reply. `found` and `hash` are what parsing looked up already.
#[expect(clippy::too_many_arguments, reason = "the one place where all parts of a call meet")]
pub fn execute<'a>(
    server: &'a Server,
    held: &mut Held<'a>,
    worker: &mut Worker,
    client: &mut Client,
    clock: Clock,
    found: Option<&'static Command>,
    hash: Option<u64>,
    args: Args<'_>,
    output: &mut OutputBuffer,
) {
    worker.stats.commands.add(1);
    if found.is_none() && is_of_http(args.at(0)) {
        abort(server, client, output);
        return;
    }
    let mark = output.mark();
    let result = match gates(server, client, found, args) {
        Ok(command) if client.transaction.is_some() && !ENDS_QUEUEING.contains(&command.name) => {
            queue(server, client, worker.settings.query_bytes_max, command, args, output);
            Ok(Effect::NONE)
        }
        Ok(command) => {
            let mut context = Context { server, client, worker, clock, command, is_queued: false };
            let mut reply = Reply::new(output, context.client.protocol);
            call(held, &server.keyspace, &mut context, command, hash, args, &mut reply)
        }
        Err(error) => Err(refused_while_queueing(server, client, found, error)),
    };
    if !worker.ready.is_empty() {
        // Those who wait for what has changed come before the client's next command.
        held.release();
        waiting::serve(server, worker, clock);
    }
    if let Err(error) = result {
        worker.stats.count_error(error.text());
        // An error stands alone, also where a handler comes upon it in the middle of its reply.
        output.truncate(mark);
        Reply::new(output, client.protocol).error(error.text());
    }
    client.shared.commands.add(1);
    match client.reply_mode {
        ReplyMode::On => {}
        ReplyMode::Off => output.truncate(mark),
        ReplyMode::SkipNext => {
            output.truncate(mark);
            client.reply_mode = ReplyMode::SkipThis;
        }
        ReplyMode::SkipThis => {
            output.truncate(mark);
            client.reply_mode = ReplyMode::On;
        }
    }
}

/// Answers input that is no request; the connection closes after it.
pub fn refuse(client: &mut Client, error: ProtocolError, output: &mut OutputBuffer) {
    let mut text = b"ERR ".to_vec();
    text.extend_from_slice(&error.reply());
    Reply::new(output, client.protocol).error(&text);
    client.closes_after_reply = true;
}

/// Whether a line that names no command is one of an HTTP request: a web page can make its reader's
/// browser send those, with commands in the body.
fn is_of_http(name: &[u8]) -> bool {
    name.eq_ignore_ascii_case(b"post") || name.eq_ignore_ascii_case(b"host:")
}

/// Closes a connection without a word, as Redis does where HTTP arrives.
#[cold]
fn abort(server: &Server, client: &mut Client, output: &mut OutputBuffer) {
    output.clear();
    client.closes_after_reply = true;
    // A page can do it thousands of times, and the log is not to fill up.
    if server.is_http_warning_due() {
        let from = client.shared.address.map_or_else(|| "a Unix socket".into(), |a| a.to_string());
        let text = format!(
            "Possible SECURITY ATTACK detected: {from} sends POST or Host: as commands, as a web \
             page does that is made to reach this server through a browser. Connection aborted."
        );
        server.log(LogLevel::Warning, &text);
    }
}

/// Every check that stands before all commands, in the order in which Redis makes them, since that
/// decides which error a client sees.
fn gates(
    server: &Server,
    client: &Client,
    found: Option<&'static Command>,
    args: Args<'_>,
) -> Result<&'static Command, CommandError> {
    // The command exists, and where it is a container, its subcommand does.
    let known = found.ok_or_else(|| unknown_command(args)).and_then(|command| match args.get(1) {
        Some(name) if !command.subcommands.is_empty() => subcommand(command, name),
        _ => Ok(command),
    });
    let address = known.as_ref().map_or(0, |command| command.address());
    client.shared.last_command.store(address, Ordering::Relaxed);
    let command = known?;
    // The number of arguments fits.
    if command.refuses_arity(args.len()) {
        return Err(CommandError::wrong_arity(command.name));
    }
    // The client has authenticated, unless the command is for doing so.
    if !client.is_authenticated && !command.flags.contains(Flags::NO_AUTH) {
        return Err(NO_AUTH);
    }
    // The command may be queued, if it comes to that.
    let mut flags = command.flags;
    if let Some(transaction) = &client.transaction {
        if flags.contains(Flags::NO_MULTI) {
            return Err(NOT_IN_TRANSACTION);
        }
        if matches!(command.handler, Handler::Transaction) {
            flags |= transaction.flags;
        }
    }
    // There is memory for what the command may add; `EXEC` adds what the queued commands do.
    if flags.contains(Flags::DENYOOM) && server.is_out_of_memory.load(Ordering::Relaxed) {
        return Err(OUT_OF_MEMORY);
    }
    // A subscriber in RESP2 may only do what concerns that.
    if client.is_listening_only() && !OF_LISTENERS.contains(&command.name) {
        return Err(CommandError::new(format!(
            "ERR Can't execute '{}': only (P|S)SUBSCRIBE / (P|S)UNSUBSCRIBE / PING / QUIT / RESET \
             are allowed in this context",
            command.name
        )));
    }
    Ok(command)
}

/// Locks what the handler's shape asks for, calls it, and applies its effect under the same locks.
#[inline]
fn call<'a>(
    held: &mut Held<'a>,
    keyspace: &'a Keyspace,
    context: &mut Context<'_>,
    command: &'static Command,
    hash: Option<u64>,
    args: Args<'_>,
    reply: &mut Reply<'_>,
) -> Outcome {
    let db_index = context.client.db_index;
    if !matches!(command.handler, Handler::Key(_)) {
        held.release();
    }
    match command.handler {
        Handler::Key(handler) => {
            let bytes = args.at(command.keys.first as usize);
            let key = hash.map_or_else(|| Key::new(bytes), |hash| Key { bytes, hash });
            let shard = held.shard(keyspace, Keyspace::shard_of(key.hash));
            let effect = handler(context, shard.db(db_index), key, args, reply)?;
            effects::apply_to_key(context, db_index, key, effect);
            if !command.flags.contains(Flags::FAST) {
                // What may take long is not run twice under one lock.
                held.release();
            }
            Ok(effect)
        }
        Handler::Keys(handler) => {
            let keys = keys_of(command, args);
            let mut shards = keyspace.lock_many(keys.iter().map(|key| key.hash));
            let mut locked = Locked::new(shards.shards(), db_index, &keys);
            let effect = handler(context, &mut locked, args, reply)?;
            effects::apply_to_keys(context, db_index, &locked, effect);
            Ok(effect)
        }
        Handler::Connection(handler) => {
            let effect = handler(context, args, reply)?;
            effects::apply(context, effect);
            Ok(effect)
        }
        Handler::Server(handler) => {
            let effect = handler(context, &mut Whole::Free(keyspace), args, reply)?;
            effects::apply(context, effect);
            Ok(effect)
        }
        Handler::Transaction => run_transaction(keyspace, context, reply),
    }
}

/// The command's keys, hashed.
fn keys_of<'a>(command: &Command, args: Args<'a>) -> SmallVec<[Key<'a>; 16]> {
    command.keys.indexes(args).map(|index| Key::new(args.at(index))).collect()
}

/// Runs the client's transaction: under the locks of all its keys and of the watched ones, so that
/// between the look at the watched keys and the last command nobody changes either.
fn run_transaction(
    keyspace: &Keyspace,
    context: &mut Context<'_>,
    reply: &mut Reply<'_>,
) -> Outcome {
    let observers = &context.server.observers;
    let transaction = context.client.transaction.take().ok_or(NO_MULTI)?;
    context.client.shared.queued_commands.store(-1, Ordering::Relaxed);
    if transaction.is_broken {
        transaction::unwatch(context.client, observers);
        return Err(BROKEN_TRANSACTION);
    }
    let watching = context.client.watching.take().unwrap_or_default();
    let mut shards = if transaction.needs_everything() {
        keyspace.lock_all()
    } else {
        let queued = transaction.commands().iter().flat_map(Queued::keys);
        keyspace.lock_many(queued.map(|key| key.hash).chain(watching.hashes()))
    };
    let is_broken = watching.is_broken(&mut shards, context.clock);
    watching.end(observers);
    context.client.shared.watched_keys.store(0, Ordering::Relaxed);
    if is_broken {
        reply.null_array();
        return Ok(Effect::NONE);
    }
    let exec = context.command;
    context.is_queued = true;
    reply.array(transaction.len());
    for queued in transaction.commands() {
        context.command = queued.command;
        context.worker.stats.commands.add(1);
        let mark = reply.output().mark();
        if let Err(error) = call_under_locks(&mut shards, context, queued.args(), reply) {
            context.worker.stats.count_error(error.text());
            reply.output().truncate(mark);
            reply.error(error.text());
        }
    }
    context.is_queued = false;
    context.command = exec;
    Ok(Effect::NONE)
}

/// Calls the handler of `context.command` and applies its effect; `shards` holds what it needs.
fn call_under_locks(
    shards: &mut ShardSet<'_>,
    context: &mut Context<'_>,
    args: Args<'_>,
    reply: &mut Reply<'_>,
) -> Outcome {
    let command = context.command;
    let db_index = context.client.db_index;
    match command.handler {
        Handler::Key(handler) => {
            let key = Key::new(args.at(command.keys.first as usize));
            let db = shards.shard(Keyspace::shard_of(key.hash)).db(db_index);
            let effect = handler(context, db, key, args, reply)?;
            effects::apply_to_key(context, db_index, key, effect);
            Ok(effect)
        }
        Handler::Keys(handler) => {
            let keys = keys_of(command, args);
            let shards = shards.shards_of(keys.iter().map(|key| key.hash));
            let mut locked = Locked::new(shards, db_index, &keys);
            let effect = handler(context, &mut locked, args, reply)?;
            effects::apply_to_keys(context, db_index, &locked, effect);
            Ok(effect)
        }
        Handler::Connection(handler) => {
            let effect = handler(context, args, reply)?;
            effects::apply(context, effect);
            Ok(effect)
        }
        Handler::Server(handler) => {
            let effect = handler(context, &mut Whole::locked(shards), args, reply)?;
            effects::apply(context, effect);
            Ok(effect)
        }
        Handler::Transaction => Err(NO_MULTI),
    }
}

/// Queues a command of a transaction.
#[cold]
fn queue(
    server: &Server,
    client: &mut Client,
    bytes_max: usize,
    command: &'static Command,
    args: Args<'_>,
    output: &mut OutputBuffer,
) {
    let is_touched = client.watching.as_ref().is_some_and(|watching| watching.is_touched());
    let Some(transaction) = &mut client.transaction else { return };
    // What will not run need not be kept.
    if !transaction.is_broken && !is_touched {
        transaction.push(command, args);
    }
    if transaction.queued_bytes() > bytes_max {
        server.log(LogLevel::Warning, "Closing client that reached max query buffer length");
        client.closes_after_reply = true;
        return;
    }
    client.shared.queued_commands.store(transaction.len() as i64, Ordering::Relaxed);
    Reply::new(output, client.protocol).simple(b"QUEUED");
}

/// What the client is told where the gates refuse a command: one refused while queueing breaks the
/// transaction, and `EXEC` itself, refused, ends it.
#[cold]
fn refused_while_queueing(
    server: &Server,
    client: &mut Client,
    found: Option<&'static Command>,
    error: CommandError,
) -> CommandError {
    if let Some(transaction) = &mut client.transaction {
        transaction.is_broken = true;
    }
    if !found.is_some_and(|command| matches!(command.handler, Handler::Transaction)) {
        return error;
    }
    transaction::discard(client, &server.observers);
    let text = error.text();
    let reason = text.strip_prefix(b"ERR ").unwrap_or(text);
    CommandError::quoting("EXECABORT Transaction discarded because of: ", reason, "")
}

fn subcommand(container: &'static Command, name: &[u8]) -> Result<&'static Command, CommandError> {
    let matches = |command: &&Command| {
        let (_, own) = command.name.split_once('|').unwrap_or_default();
        name.eq_ignore_ascii_case(own.as_bytes())
    };
    container.subcommands.iter().find(matches).ok_or_else(|| {
        let container = container.name.to_ascii_uppercase();
        let after = format!("'. Try {container} HELP.");
        CommandError::quoting("ERR unknown subcommand '", quoted(name, QUOTED_BYTES_MAX), &after)
    })
}

fn unknown_command(args: Args<'_>) -> CommandError {
    let mut text = quoted(args.at(0), QUOTED_BYTES_MAX).to_vec();
    text.extend_from_slice(b"', with args beginning with: ");
    let before = text.len();
    for argument in args.iter().skip(1) {
        let room = QUOTED_BYTES_MAX.saturating_sub(text.len() - before);
        if room == 0 {
            break;
        }
        text.push(b'\'');
        text.extend_from_slice(quoted(argument, room));
        text.extend_from_slice(b"' ");
    }
    CommandError::quoting("ERR unknown command '", &text, "")
}

/// What an error repeats of an argument.
fn quoted(argument: &[u8], bytes_max: usize) -> &[u8] {
    let printed = c_string(argument);
    &printed[..printed.len().min(bytes_max)]
}
