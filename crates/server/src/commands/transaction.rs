//! Transactions: `MULTI`, `EXEC`, `DISCARD`, `WATCH`, `UNWATCH`. What `EXEC` does is the
//! dispatcher's.

use std::sync::atomic::Ordering;

use resp::args::Args;
use resp::reply::Reply;

use crate::command::{Command, Family, Flags, Handler, KeySpec, Locked, Outcome};
use crate::context::Context;
use crate::effects::Effect;
use crate::error::CommandError;
use crate::transaction;

const NESTED: CommandError = CommandError::fixed("ERR MULTI calls can not be nested");
const WATCH_INSIDE: CommandError = CommandError::fixed("ERR WATCH inside MULTI is not allowed");
const NO_MULTI: CommandError = CommandError::fixed("ERR DISCARD without MULTI");

fn multi(context: &mut Context<'_>, _args: Args<'_>, reply: &mut Reply<'_>) -> Outcome {
    if context.client.transaction.is_some() {
        return Err(NESTED);
    }
    context.client.transaction = Some(Box::default());
    context.client.shared.queued_commands.store(0, Ordering::Relaxed);
    reply.ok();
    Ok(Effect::NONE)
}

fn discard(context: &mut Context<'_>, _args: Args<'_>, reply: &mut Reply<'_>) -> Outcome {
    if context.client.transaction.is_none() {
        return Err(NO_MULTI);
    }
    transaction::discard(context.client, &context.server.observers);
    reply.ok();
    Ok(Effect::NONE)
}

fn watch(
    context: &mut Context<'_>,
    locked: &mut Locked<'_>,
    _args: Args<'_>,
    reply: &mut Reply<'_>,
) -> Outcome {
    if context.client.transaction.is_some() {
        return Err(WATCH_INSIDE);
    }
    let db_index = context.client.db_index;
    let watching = context.client.watching.get_or_insert_default();
    for place in 0..locked.key_count() {
        let key = locked.key(place);
        let is_there = locked.db(key).contains(context.clock, key);
        watching.add(&context.server.observers, db_index, key, is_there);
    }
    context.client.shared.watched_keys.store(watching.len(), Ordering::Relaxed);
    reply.ok();
    Ok(Effect::NONE)
}

fn unwatch(context: &mut Context<'_>, _args: Args<'_>, reply: &mut Reply<'_>) -> Outcome {
    transaction::unwatch(context.client, &context.server.observers);
    reply.ok();
    Ok(Effect::NONE)
}

const ANYTIME: Flags = Flags::NOSCRIPT
    .union(Flags::LOADING)
    .union(Flags::STALE)
    .union(Flags::FAST)
    .union(Flags::ALLOW_BUSY);

const FAMILY: Family = Family { group: "transactions", categories: &["transaction"] };

/// The transaction family.
pub const COMMANDS: &[Command] = &[
    FAMILY.row(
        "multi",
        1,
        ANYTIME,
        KeySpec::NONE,
        ["", "Starts a transaction: what follows is queued.", "1.2.0", "O(1)"],
        Handler::Connection(multi),
    ),
    FAMILY.row(
        "exec",
        1,
        ANYTIME.difference(Flags::FAST).union(Flags::SKIP_SLOWLOG),
        KeySpec::NONE,
        [
            "",
            "Runs all that is queued at one instant.",
            "1.2.0",
            "Depends on commands in the transaction",
        ],
        Handler::Transaction,
    ),
    FAMILY.row(
        "discard",
        1,
        ANYTIME,
        KeySpec::NONE,
        ["", "Forgets the transaction.", "2.0.0", "O(N), when N is the number of queued commands"],
        Handler::Connection(discard),
    ),
    FAMILY.row(
        "watch",
        -2,
        ANYTIME,
        KeySpec::ALL,
        [
            "key [key ...]",
            "Lets the next transaction fail if one of the keys changes before it.",
            "2.2.0",
            "O(1) for every key.",
        ],
        Handler::Keys(watch),
    ),
    FAMILY.row(
        "unwatch",
        1,
        ANYTIME,
        KeySpec::NONE,
        ["", "Watches no keys any more.", "2.2.0", "O(1)"],
        Handler::Connection(unwatch),
    ),
];
