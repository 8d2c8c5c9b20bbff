//! Strings as numbers: `INCR` and its kin.

use engine::{Db, Expiry, Key, Value};
use resp::args::Args;
use resp::reply::Reply;
use text::long_double::LongDouble;

use crate::arguments::integer;
use crate::command::Outcome;
use crate::context::Context;
use crate::effects::Effect;
use crate::error::{CommandError, NAN_OR_INFINITY, NOT_A_FLOAT, NOT_AN_INTEGER, OVERFLOW};

/// The smallest integer has no opposite that could be added in its place.
const DECREMENT_OVERFLOW: CommandError = CommandError::fixed("ERR decrement would overflow");

/// `INCR key`
pub fn incr(
    context: &mut Context<'_>,
    db: &mut Db,
    key: Key<'_>,
    _args: Args<'_>,
    reply: &mut Reply<'_>,
) -> Outcome {
    add(context, db, key, 1, reply)
}

/// `DECR key`
pub fn decr(
    context: &mut Context<'_>,
    db: &mut Db,
    key: Key<'_>,
    _args: Args<'_>,
    reply: &mut Reply<'_>,
) -> Outcome {
    add(context, db, key, -1, reply)
}

/// `INCRBY key increment`
pub fn incrby(
    context: &mut Context<'_>,
    db: &mut Db,
    key: Key<'_>,
    args: Args<'_>,
    reply: &mut Reply<'_>,
) -> Outcome {
    let delta = integer(args.at(2))?;
    add(context, db, key, delta, reply)
}

/// `DECRBY key decrement`
pub fn decrby(
    context: &mut Context<'_>,
    db: &mut Db,
    key: Key<'_>,
    args: Args<'_>,
    reply: &mut Reply<'_>,
) -> Outcome {
    let delta = integer(args.at(2))?.checked_neg().ok_or(DECREMENT_OVERFLOW)?;
    add(context, db, key, delta, reply)
}

/// `INCRBYFLOAT key increment`
pub fn incrbyfloat(
    context: &mut Context<'_>,
    db: &mut Db,
    key: Key<'_>,
    args: Args<'_>,
    reply: &mut Reply<'_>,
) -> Outcome {
    let old = match db.string(context.clock, key)? {
        None => LongDouble::parse(b"0"),
        Some(string) => string.with_bytes(LongDouble::parse),
    };
    let old = old.ok_or(NOT_A_FLOAT)?;
    let increment = LongDouble::parse(args.at(2)).ok_or(NOT_A_FLOAT)?;
    let sum = old.checked_add(increment).ok_or(NAN_OR_INFINITY)?.to_text();
    reply.bulk(&sum);
    // Kept as text even where it is a whole number: Redis answers the encoding `embstr` for it.
    context.discard(db.set(context.clock, key, Value::Bytes(sum), Expiry::Keep));
    Ok(Effect::changed(1))
}

fn add(
    context: &mut Context<'_>,
    db: &mut Db,
    key: Key<'_>,
    delta: i64,
    reply: &mut Reply<'_>,
) -> Outcome {
    let sum = if let Some(place) = db.int_mut(context.clock, key) {
        *place = place.checked_add(delta).ok_or(OVERFLOW)?;
        *place
    } else if let Some(string) = db.string(context.clock, key)? {
        let old = string.with_bytes(text::integer::parse_i64).ok_or(NOT_AN_INTEGER)?;
        let sum = old.checked_add(delta).ok_or(OVERFLOW)?;
        db.set_int(context.clock, key, sum);
        sum
    } else {
        db.set(context.clock, key, Value::Int(delta), Expiry::Clear);
        delta
    };
    reply.integer(sum);
    Ok(Effect::changed(1))
}
