//! The commands on the server as a whole: its size, its time, its emptying and its end.

use std::time::{SystemTime, UNIX_EPOCH};

use engine::keyspace::SHARDS;
use engine::{Db, Whole};
use resp::args::Args;
use resp::reply::Reply;

use crate::arguments::is_word;
use crate::command::{Command, Doc, Flags, Handler, KeySpec, Outcome};
use crate::context::Context;
use crate::effects::Effect;
use crate::error::{CommandError, SYNTAX};

const NO_SHUTDOWN: CommandError = CommandError::fixed("ERR No shutdown in progress.");

fn dbsize(
    context: &mut Context<'_>,
    keyspace: &mut Whole<'_>,
    _args: Args<'_>,
    reply: &mut Reply<'_>,
) -> Outcome {
    let db_index = context.client.db_index;
    let sizes = (0..SHARDS).map(|shard| {
        // Looking must not make the database's part of the shard, if it has none yet.
        keyspace.lock(shard).dbs().nth(db_index).map_or(0, |(_, db)| db.len())
    });
    reply.count(sizes.sum());
    Ok(Effect::NONE)
}

fn flush_db(
    context: &mut Context<'_>,
    keyspace: &mut Whole<'_>,
    args: Args<'_>,
    reply: &mut Reply<'_>,
) -> Outcome {
    let db_index = context.client.db_index;
    let is_async = wants_async(args)?;
    let changes = flush(context, keyspace, is_async, |index| index == db_index);
    reply.ok();
    Ok(Effect::changed(changes))
}

fn flush_all(
    context: &mut Context<'_>,
    keyspace: &mut Whole<'_>,
    args: Args<'_>,
    reply: &mut Reply<'_>,
) -> Outcome {
    let is_async = wants_async(args)?;
    let changes = flush(context, keyspace, is_async, |_| true);
    reply.ok();
    Ok(Effect::changed(changes))
}

fn wants_async(args: Args<'_>) -> Result<bool, CommandError> {
    match args.get(1) {
        None => Ok(false),
        Some(mode) if args.len() == 2 && is_word(mode, "async") => Ok(true),
        Some(mode) if args.len() == 2 && is_word(mode, "sync") => Ok(false),
        Some(_) => Err(SYNTAX),
    }
}

/// Takes everything out of the selected databases, shard by shard, and frees it while no lock is
/// held, on a thread of its own if `is_async`; how many keys there were.
fn flush(
    context: &Context<'_>,
    keyspace: &mut Whole<'_>,
    is_async: bool,
    selects: impl Fn(usize) -> bool,
) -> usize {
    let mut count = 0;
    let mut garbage: Vec<Db> = Vec::new();
    for shard in 0..SHARDS {
        let mut guard = keyspace.lock(shard);
        context.server.observers.touch_where(shard, &mut guard, context.clock, &selects);
        for (_, db) in guard.dbs().filter(|(index, _)| selects(*index)) {
            count += db.len();
            garbage.push(db.take_all());
        }
        drop(guard);
        if !is_async {
            garbage.clear();
        }
    }
    if is_async {
        let thread = std::thread::Builder::new().name("redline-free".into());
        // If there is no thread to be had, the closure is dropped here, and the garbage with it.
        let _ = thread.spawn(move || drop(garbage));
    }
    count
}

fn time(_context: &mut Context<'_>, _args: Args<'_>, reply: &mut Reply<'_>) -> Outcome {
    let now = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default();
    reply.array(2);
    reply.bulk_integer(now.as_secs() as i64);
    reply.bulk_integer(now.subsec_micros().into());
    Ok(Effect::NONE)
}

fn shutdown(context: &mut Context<'_>, args: Args<'_>, _reply: &mut Reply<'_>) -> Outcome {
    let (mut saves, mut skips_save, mut aborts, mut hurries) = (false, false, false, false);
    for option in args.iter().skip(1) {
        if is_word(option, "save") {
            saves = true;
        } else if is_word(option, "nosave") {
            skips_save = true;
        } else if is_word(option, "abort") {
            aborts = true;
        } else if is_word(option, "now") || is_word(option, "force") {
            hurries = true;
        } else {
            return Err(SYNTAX);
        }
    }
    if (aborts && (saves || skips_save || hurries)) || (saves && skips_save) {
        return Err(SYNTAX);
    }
    if aborts {
        return Err(NO_SHUTDOWN);
    }
    // Whoever asked sees the connection close, and no reply.
    context.client.closes_after_reply = true;
    context.server.request_stop();
    Ok(Effect::NONE)
}

const fn row(
    name: &'static str,
    arity: i16,
    flags: Flags,
    categories: &'static [&'static str],
    doc: Doc,
    handler: Handler,
) -> Command {
    Command { name, arity, flags, keys: KeySpec::NONE, categories, doc, handler, subcommands: &[] }
}

const fn doc(
    syntax: &'static str,
    summary: &'static str,
    since: &'static str,
    complexity: &'static str,
) -> Doc {
    Doc { syntax, summary, since, group: "server", complexity }
}

/// The commands on the whole server.
pub const COMMANDS: &[Command] = &[
    row(
        "dbsize",
        1,
        Flags::READONLY.union(Flags::FAST),
        &["keyspace"],
        doc("", "Counts the keys of the database.", "1.0.0", "O(1)"),
        Handler::Server(dbsize),
    ),
    row(
        "flushall",
        -1,
        Flags::WRITE,
        &["keyspace", "dangerous"],
        doc(
            "[ASYNC | SYNC]",
            "Removes all keys of all databases.",
            "1.0.0",
            "O(N) where N is the total number of keys in all databases",
        ),
        Handler::Server(flush_all),
    ),
    row(
        "flushdb",
        -1,
        Flags::WRITE,
        &["keyspace", "dangerous"],
        doc(
            "[ASYNC | SYNC]",
            "Removes all keys of the database.",
            "1.0.0",
            "O(N) where N is the number of keys in the selected database",
        ),
        Handler::Server(flush_db),
    ),
    row(
        "shutdown",
        -1,
        Flags::ADMIN
            .union(Flags::NOSCRIPT)
            .union(Flags::LOADING)
            .union(Flags::STALE)
            .union(Flags::NO_MULTI)
            .union(Flags::ALLOW_BUSY),
        &[],
        doc(
            "[NOSAVE | SAVE] [NOW] [FORCE] [ABORT]",
            "Ends the server.",
            "1.0.0",
            "O(N) when saving, where N is the total number of keys in all databases when saving \
             data, otherwise O(1)",
        ),
        Handler::Connection(shutdown),
    ),
    row(
        "time",
        1,
        Flags::LOADING.union(Flags::STALE).union(Flags::FAST),
        &[],
        doc("", "Tells the server's time, in seconds and microseconds.", "2.6.0", "O(1)"),
        Handler::Connection(time),
    ),
];
