//! The commands that wait until a list or a sorted set has something for them.

use std::sync::Arc;
use std::sync::atomic::Ordering;
use std::time::{Duration, Instant};

use engine::list::{List, Side};
use engine::zset::Zset;
use resp::args::Args;
use resp::reply::Reply;

use super::counted::pop_options;
use super::list::{move_element, pop_count, side};
use crate::client::Wait;
use crate::command::{Command, Family, Flags, Handler, KeySpec, Locked, Outcome};
use crate::context::Context;
use crate::effects::Effect;
use crate::elements;
use crate::error::CommandError;
use crate::waiting::{OwnedKey, Waiter, Wish};

const NOT_A_TIMEOUT: CommandError =
    CommandError::fixed("ERR timeout is not a float or out of range");
const NEGATIVE_TIMEOUT: CommandError = CommandError::fixed("ERR timeout is negative");
const TIMEOUT_OUT_OF_RANGE: CommandError = CommandError::fixed("ERR timeout is out of range");

/// When a command gives up that waits for so many seconds; `None` for never.
fn deadline(seconds: &[u8]) -> Result<Option<Instant>, CommandError> {
    let seconds = text::float::parse(seconds).ok_or(NOT_A_TIMEOUT)?;
    if seconds < 0.0 {
        return Err(NEGATIVE_TIMEOUT);
    }
    // Milliseconds are what Redis counts in, and the present is added to them.
    if seconds * 1000.0 > i64::MAX as f64 / 2.0 {
        return Err(TIMEOUT_OUT_OF_RANGE);
    }
    if seconds == 0.0 {
        return Ok(None);
    }
    let wait = Duration::from_millis((seconds * 1000.0).ceil() as u64);
    Ok(Instant::now().checked_add(wait))
}

/// Takes what is wished for from the key at `place`; nothing if it is not there.
///
/// # Errors
/// `WRONGTYPE`.
pub fn take(
    context: &mut Context<'_>,
    locked: &mut Locked<'_>,
    place: usize,
    wish: Wish,
    reply: &mut Reply<'_>,
) -> Result<Option<Effect>, CommandError> {
    let key = locked.key(place);
    let clock = context.clock;
    let is_there = match wish {
        Wish::Pop(_) | Wish::PopMany(..) | Wish::Move(..) => {
            locked.db(key).collection::<List>(clock, key)?.is_some()
        }
        Wish::PopScore(_) | Wish::PopManyScores(..) => {
            locked.db(key).collection::<Zset>(clock, key)?.is_some()
        }
    };
    if !is_there {
        return Ok(None);
    }
    if let Wish::Move(from, to) = wish {
        return move_element(context, locked, reply, from, to).map(Some);
    }
    locked.note_changed(place);
    let db = locked.db(key);
    match wish {
        Wish::Move(..) => {}
        Wish::PopMany(side, count) => {
            reply.array(2);
            reply.bulk(key.bytes);
            return pop_count(context, db, key, count, reply, side).map(Some);
        }
        Wish::Pop(side) => {
            reply.array(2);
            reply.bulk(key.bytes);
            let list = db.collection_mut::<List>(clock, key)?.expect("it was there");
            list.pop_with(context.limits(), side, |element| elements::bulk(reply, element));
            db.remove_if_spent::<List>(key);
        }
        Wish::PopScore(greatest) => {
            reply.array(3);
            reply.bulk(key.bytes);
            let zset = db.collection_mut::<Zset>(clock, key)?.expect("it was there");
            zset.pop(1, greatest, |name, score| {
                elements::bulk(reply, name);
                reply.double(score);
            });
            db.remove_if_spent::<Zset>(key);
        }
        Wish::PopManyScores(greatest, count) => {
            return super::counted::pop_scores(context, db, key, count, reply, greatest).map(Some);
        }
    }
    Ok(Some(Effect::changed(1)))
}

/// Takes what is wished for from the first of the command's first `key_count` keys that has it, or
/// lets the client wait.
fn take_or_wait(
    context: &mut Context<'_>,
    locked: &mut Locked<'_>,
    key_count: usize,
    wish: Wish,
    deadline: Option<Instant>,
    reply: &mut Reply<'_>,
) -> Outcome {
    for place in 0..key_count {
        if let Some(effect) = take(context, locked, place, wish, reply)? {
            return Ok(effect);
        }
    }
    if context.is_queued {
        wish.answer_nothing(reply);
        return Ok(Effect::NONE);
    }
    let keys = (0..key_count).map(|place| OwnedKey::of(locked.key(place))).collect();
    let target = matches!(wish, Wish::Move(..)).then(|| OwnedKey::of(locked.key(1)));
    let waiter = Arc::new(Waiter::new(context, wish, keys, target));
    context.server.observers.wait(&waiter);
    context.server.blocked_clients.fetch_add(1, Ordering::Relaxed);
    context.client.wait = Some(Box::new(Wait { waiter, deadline }));
    Ok(Effect::NONE)
}

/// `BLPOP` and its kin: all arguments but the last are keys, the last is the timeout.
fn pop_from_any(
    context: &mut Context<'_>,
    locked: &mut Locked<'_>,
    args: Args<'_>,
    reply: &mut Reply<'_>,
    wish: Wish,
) -> Outcome {
    let deadline = deadline(args.at(args.len() - 1))?;
    take_or_wait(context, locked, locked.key_count(), wish, deadline, reply)
}

fn blpop(
    context: &mut Context<'_>,
    locked: &mut Locked<'_>,
    args: Args<'_>,
    reply: &mut Reply<'_>,
) -> Outcome {
    pop_from_any(context, locked, args, reply, Wish::Pop(Side::Left))
}

fn brpop(
    context: &mut Context<'_>,
    locked: &mut Locked<'_>,
    args: Args<'_>,
    reply: &mut Reply<'_>,
) -> Outcome {
    pop_from_any(context, locked, args, reply, Wish::Pop(Side::Right))
}

fn bzpopmin(
    context: &mut Context<'_>,
    locked: &mut Locked<'_>,
    args: Args<'_>,
    reply: &mut Reply<'_>,
) -> Outcome {
    pop_from_any(context, locked, args, reply, Wish::PopScore(false))
}

fn bzpopmax(
    context: &mut Context<'_>,
    locked: &mut Locked<'_>,
    args: Args<'_>,
    reply: &mut Reply<'_>,
) -> Outcome {
    pop_from_any(context, locked, args, reply, Wish::PopScore(true))
}

fn blmove(
    context: &mut Context<'_>,
    locked: &mut Locked<'_>,
    args: Args<'_>,
    reply: &mut Reply<'_>,
) -> Outcome {
    let wish = Wish::Move(side(args.at(3))?, side(args.at(4))?);
    let deadline = deadline(args.at(5))?;
    take_or_wait(context, locked, 1, wish, deadline, reply)
}

fn brpoplpush(
    context: &mut Context<'_>,
    locked: &mut Locked<'_>,
    args: Args<'_>,
    reply: &mut Reply<'_>,
) -> Outcome {
    let wish = Wish::Move(Side::Right, Side::Left);
    let deadline = deadline(args.at(3))?;
    take_or_wait(context, locked, 1, wish, deadline, reply)
}

fn blmpop(
    context: &mut Context<'_>,
    locked: &mut Locked<'_>,
    args: Args<'_>,
    reply: &mut Reply<'_>,
) -> Outcome {
    let deadline = deadline(args.at(1))?;
    let (from_right, count) = pop_options(args, 2, ["left", "right"])?;
    let side = if from_right { Side::Right } else { Side::Left };
    let wish = Wish::PopMany(side, count);
    take_or_wait(context, locked, locked.key_count(), wish, deadline, reply)
}

fn bzmpop(
    context: &mut Context<'_>,
    locked: &mut Locked<'_>,
    args: Args<'_>,
    reply: &mut Reply<'_>,
) -> Outcome {
    let deadline = deadline(args.at(1))?;
    let (greatest, count) = pop_options(args, 2, ["min", "max"])?;
    let wish = Wish::PopManyScores(greatest, count);
    take_or_wait(context, locked, locked.key_count(), wish, deadline, reply)
}

const TAKE: Flags = Flags::WRITE.union(Flags::NOSCRIPT).union(Flags::BLOCKING);
const TAKE_MANY: Flags = Flags::WRITE.union(Flags::BLOCKING).union(Flags::MOVABLE_KEYS);
const MOVE: Flags = TAKE.union(Flags::DENYOOM);
const BY_KEYS: &str = "O(N) in the number of keys";

const LISTS: Family = Family { group: "list", categories: &["list"] };
const ZSETS: Family = Family { group: "sorted-set", categories: &["sortedset"] };

/// The commands that wait.
pub const COMMANDS: &[Command] = &[
    LISTS.row(
        "blpop",
        -3,
        TAKE,
        KeySpec::ALL_BUT_LAST,
        ["key [key ...] timeout", "Pops the first element of a list, or waits.", "2.0.0", BY_KEYS],
        Handler::Keys(blpop),
    ),
    LISTS.row(
        "brpop",
        -3,
        TAKE,
        KeySpec::ALL_BUT_LAST,
        ["key [key ...] timeout", "Pops the last element of a list, or waits.", "2.0.0", BY_KEYS],
        Handler::Keys(brpop),
    ),
    LISTS.row(
        "blmove",
        6,
        MOVE,
        KeySpec::FIRST_TWO,
        [
            "source destination <LEFT | RIGHT> <LEFT | RIGHT> timeout",
            "Moves an element from one list to another, or waits.",
            "6.2.0",
            "O(1)",
        ],
        Handler::Keys(blmove),
    ),
    LISTS.row(
        "brpoplpush",
        4,
        MOVE,
        KeySpec::FIRST_TWO,
        [
            "source destination timeout",
            "Moves the last element of a list to the front of another, or waits.",
            "2.2.0",
            "O(1)",
        ],
        Handler::Keys(brpoplpush),
    ),
    LISTS.row(
        "blmpop",
        -5,
        TAKE_MANY,
        KeySpec::counted(2),
        [
            "timeout numkeys key [key ...] <LEFT | RIGHT> [COUNT count]",
            "Pops elements from the first of several lists that has any, or waits.",
            "7.0.0",
            "O(N+M) for N keys and M elements",
        ],
        Handler::Keys(blmpop),
    ),
    ZSETS.row(
        "bzpopmin",
        -3,
        TAKE.union(Flags::FAST),
        KeySpec::ALL_BUT_LAST,
        [
            "key [key ...] timeout",
            "Pops the member with the least score, or waits.",
            "5.0.0",
            "O(log(N)) for N members",
        ],
        Handler::Keys(bzpopmin),
    ),
    ZSETS.row(
        "bzpopmax",
        -3,
        TAKE.union(Flags::FAST),
        KeySpec::ALL_BUT_LAST,
        [
            "key [key ...] timeout",
            "Pops the member with the greatest score, or waits.",
            "5.0.0",
            "O(log(N)) for N members",
        ],
        Handler::Keys(bzpopmax),
    ),
    ZSETS.row(
        "bzmpop",
        -5,
        TAKE_MANY,
        KeySpec::counted(2),
        [
            "timeout numkeys key [key ...] <MIN | MAX> [COUNT count]",
            "Pops members from the first of several sorted sets that has any, or waits.",
            "7.0.0",
            "O(K) + O(M*log(N)) for K keys, M members popped and N in the set",
        ],
        Handler::Keys(bzmpop),
    ),
];
