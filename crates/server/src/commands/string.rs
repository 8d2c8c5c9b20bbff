//! Strings: the commands on values that are bytes or a number.

mod counter;
mod lcs;
mod set;

use engine::{Db, Expiry, Key, StringRef, ValueRef};
use resp::args::Args;
use resp::reply::Reply;

use crate::arguments::integer;
use crate::command::{Command, Family, Flags, Handler, KeySpec, Locked, Outcome};
use crate::context::Context;
use crate::effects::Effect;
use crate::error::{CommandError, STRING_TOO_LONG};
use set::{Lifetime, Unit};

const OFFSET_OUT_OF_RANGE: CommandError = CommandError::fixed("ERR offset is out of range");

fn get(
    context: &mut Context<'_>,
    db: &mut Db,
    key: Key<'_>,
    _args: Args<'_>,
    reply: &mut Reply<'_>,
) -> Outcome {
    let found = db.string(context.clock, key)?;
    context.count_lookup(found.is_some());
    bulk_or_null(reply, found);
    Ok(Effect::NONE)
}

fn set(
    context: &mut Context<'_>,
    db: &mut Db,
    key: Key<'_>,
    args: Args<'_>,
    reply: &mut Reply<'_>,
) -> Outcome {
    if args.len() > 3 {
        return set::set_with_options(context, db, key, args, reply);
    }
    let displaced = db.set_string(context.clock, key, args.at(2), Expiry::Clear);
    context.discard(displaced);
    reply.ok();
    Ok(Effect::changed(1))
}

fn setnx(
    context: &mut Context<'_>,
    db: &mut Db,
    key: Key<'_>,
    args: Args<'_>,
    reply: &mut Reply<'_>,
) -> Outcome {
    let is_new = !db.contains(context.clock, key);
    if is_new {
        db.set_string(context.clock, key, args.at(2), Expiry::Clear);
    }
    reply.integer(i64::from(is_new));
    Ok(Effect::changed_if(is_new))
}

fn setex(
    context: &mut Context<'_>,
    db: &mut Db,
    key: Key<'_>,
    args: Args<'_>,
    reply: &mut Reply<'_>,
) -> Outcome {
    set_for(context, db, key, Unit::EX, args, reply)
}

fn psetex(
    context: &mut Context<'_>,
    db: &mut Db,
    key: Key<'_>,
    args: Args<'_>,
    reply: &mut Reply<'_>,
) -> Outcome {
    set_for(context, db, key, Unit::PX, args, reply)
}

/// `SETEX` and `PSETEX`: the expiry stands before the value.
fn set_for(
    context: &mut Context<'_>,
    db: &mut Db,
    key: Key<'_>,
    unit: Unit,
    args: Args<'_>,
    reply: &mut Reply<'_>,
) -> Outcome {
    let deadline_ms = set::deadline_ms(context, unit, args.at(2))?;
    set::store(context, db, key, args.at(3), Expiry::At(deadline_ms));
    reply.ok();
    Ok(Effect::changed(1))
}

fn getset(
    context: &mut Context<'_>,
    db: &mut Db,
    key: Key<'_>,
    args: Args<'_>,
    reply: &mut Reply<'_>,
) -> Outcome {
    let old = db.string(context.clock, key)?;
    context.count_lookup(old.is_some());
    bulk_or_null(reply, old);
    let displaced = db.set_string(context.clock, key, args.at(2), Expiry::Clear);
    context.discard(displaced);
    Ok(Effect::changed(1))
}

fn getdel(
    context: &mut Context<'_>,
    db: &mut Db,
    key: Key<'_>,
    _args: Args<'_>,
    reply: &mut Reply<'_>,
) -> Outcome {
    let old = db.string(context.clock, key)?;
    let is_there = old.is_some();
    context.count_lookup(is_there);
    bulk_or_null(reply, old);
    context.discard(db.remove(context.clock, key));
    Ok(Effect::changed_if(is_there))
}

fn getex(
    context: &mut Context<'_>,
    db: &mut Db,
    key: Key<'_>,
    args: Args<'_>,
    reply: &mut Reply<'_>,
) -> Outcome {
    let lifetime = set::getex_lifetime(args)?;
    let deadline_ms = match lifetime {
        Lifetime::Given(unit, amount) => Some(set::deadline_ms(context, unit, amount)?),
        _ => None,
    };
    let found = db.string(context.clock, key)?;
    let is_there = found.is_some();
    context.count_lookup(is_there);
    bulk_or_null(reply, found);
    if !is_there {
        return Ok(Effect::NONE);
    }
    let is_changed = match (lifetime, deadline_ms) {
        (Lifetime::Persist, _) => {
            let has_expiry = matches!(db.expiry_ms(context.clock, key), Some(Some(_)));
            has_expiry && db.set_expiry(context.clock, key, None)
        }
        (_, Some(at_ms)) if at_ms <= context.clock.now_ms => {
            context.discard(db.remove(context.clock, key));
            true
        }
        (_, Some(_)) => db.set_expiry(context.clock, key, deadline_ms),
        (_, None) => false,
    };
    Ok(Effect::changed_if(is_changed))
}

fn mget(
    context: &mut Context<'_>,
    locked: &mut Locked<'_>,
    _args: Args<'_>,
    reply: &mut Reply<'_>,
) -> Outcome {
    reply.array(locked.key_count());
    for place in 0..locked.key_count() {
        let key = locked.key(place);
        let found = locked.db(key).get(context.clock, key);
        context.count_lookup(found.is_some());
        match found {
            Some(ValueRef::String(string)) => bulk(reply, string),
            _ => reply.null(),
        }
    }
    Ok(Effect::NONE)
}

fn mset(
    context: &mut Context<'_>,
    locked: &mut Locked<'_>,
    args: Args<'_>,
    reply: &mut Reply<'_>,
) -> Outcome {
    refuse_odd_pairs(context, args)?;
    let effect = set_pairs(context, locked, args);
    reply.ok();
    Ok(effect)
}

fn msetnx(
    context: &mut Context<'_>,
    locked: &mut Locked<'_>,
    args: Args<'_>,
    reply: &mut Reply<'_>,
) -> Outcome {
    refuse_odd_pairs(context, args)?;
    let is_any_there = (0..locked.key_count()).any(|place| {
        let key = locked.key(place);
        locked.db(key).contains(context.clock, key)
    });
    let effect = if is_any_there { Effect::NONE } else { set_pairs(context, locked, args) };
    reply.integer(i64::from(!is_any_there));
    Ok(effect)
}

fn refuse_odd_pairs(context: &Context<'_>, args: Args<'_>) -> Result<(), CommandError> {
    if args.len().is_multiple_of(2) {
        Err(CommandError::wrong_arity(context.command.name))
    } else {
        Ok(())
    }
}

/// Sets every key to the argument behind it, in order, so that of a repeated key the last counts.
fn set_pairs(context: &mut Context<'_>, locked: &mut Locked<'_>, args: Args<'_>) -> Effect {
    for place in 0..locked.key_count() {
        let key = locked.key(place);
        let value = args.at(2 * place + 2);
        let displaced = locked.db(key).set_string(context.clock, key, value, Expiry::Clear);
        context.discard(displaced);
    }
    Effect::changed(locked.key_count())
}

fn append(
    context: &mut Context<'_>,
    db: &mut Db,
    key: Key<'_>,
    args: Args<'_>,
    reply: &mut Reply<'_>,
) -> Outcome {
    if let Some(old) = db.string(context.clock, key)? {
        refuse_too_long(context, old.len_bytes(), args.at(2).len())?;
    }
    let len = db.append(context.clock, key, args.at(2))?;
    reply.count(len);
    Ok(Effect::changed(1))
}

fn strlen(
    context: &mut Context<'_>,
    db: &mut Db,
    key: Key<'_>,
    _args: Args<'_>,
    reply: &mut Reply<'_>,
) -> Outcome {
    let found = db.string(context.clock, key)?;
    context.count_lookup(found.is_some());
    reply.count(found.map_or(0, StringRef::len_bytes));
    Ok(Effect::NONE)
}

fn setrange(
    context: &mut Context<'_>,
    db: &mut Db,
    key: Key<'_>,
    args: Args<'_>,
    reply: &mut Reply<'_>,
) -> Outcome {
    let offset = usize::try_from(integer(args.at(2))?).map_err(|_| OFFSET_OUT_OF_RANGE)?;
    let patch = args.at(3);
    let old_len = db.string(context.clock, key)?.map_or(0, StringRef::len_bytes);
    if patch.is_empty() {
        reply.count(old_len);
        return Ok(Effect::NONE);
    }
    refuse_too_long(context, offset, patch.len())?;
    let len = db.set_range(context.clock, key, offset, patch)?;
    reply.count(len);
    Ok(Effect::changed(1))
}

fn refuse_too_long(context: &Context<'_>, start: usize, len: usize) -> Result<(), CommandError> {
    let end = start.saturating_add(len);
    if end > context.worker.settings.bulk_bytes_max { Err(STRING_TOO_LONG) } else { Ok(()) }
}

/// `GETRANGE`, and `SUBSTR`, its name before Redis 2.4.
fn getrange(
    context: &mut Context<'_>,
    db: &mut Db,
    key: Key<'_>,
    args: Args<'_>,
    reply: &mut Reply<'_>,
) -> Outcome {
    let (start, end) = (integer(args.at(2))?, integer(args.at(3))?);
    let found = db.string(context.clock, key)?;
    context.count_lookup(found.is_some());
    match found {
        None => reply.bulk(b""),
        Some(string) => string.with_bytes(|bytes| reply.bulk(slice(bytes, start, end))),
    }
    Ok(Effect::NONE)
}

/// The bytes from `start` to `end`, both included, negative ones counted from the end. An end before
/// the first byte means the first byte, as in Redis.
fn slice(bytes: &[u8], start: i64, end: i64) -> &[u8] {
    if start < 0 && end < 0 && start > end {
        return b"";
    }
    let len = bytes.len() as i64;
    let from_front = |index: i64| if index < 0 { index.saturating_add(len).max(0) } else { index };
    let (first, last) = (from_front(start), from_front(end).min(len - 1));
    if first > last { b"" } else { &bytes[first as usize..=last as usize] }
}

/// Answers a string as a bulk, the null if there is none.
fn bulk_or_null(reply: &mut Reply<'_>, string: Option<StringRef<'_>>) {
    match string {
        None => reply.null(),
        Some(string) => bulk(reply, string),
    }
}

#[inline]
fn bulk(reply: &mut Reply<'_>, string: StringRef<'_>) {
    match string {
        StringRef::Int(number) => reply.bulk_integer(number),
        StringRef::Inline(bytes) => reply.bulk(bytes),
        StringRef::Shared(bytes) => reply.bulk_shared(bytes),
    }
}

const READ: Flags = Flags::READONLY;
const READ_FAST: Flags = READ.union(Flags::FAST);
const WRITE_FAST: Flags = Flags::WRITE.union(Flags::FAST);
const GROW: Flags = Flags::WRITE.union(Flags::DENYOOM);
const GROW_FAST: Flags = GROW.union(Flags::FAST);

const FAMILY: Family = Family { group: "string", categories: &["string"] };

const fn row(
    name: &'static str,
    arity: i16,
    flags: Flags,
    keys: KeySpec,
    about: [&'static str; 4],
    handler: Handler,
) -> Command {
    FAMILY.row(name, arity, flags, keys, about, handler)
}

/// The string family.
pub const COMMANDS: &[Command] = &[
    row(
        "get",
        2,
        READ_FAST,
        KeySpec::FIRST,
        ["key", "Returns the string at a key.", "1.0.0", "O(1)"],
        Handler::Key(get),
    ),
    row(
        "set",
        -3,
        GROW,
        KeySpec::FIRST,
        [
            "key value [NX | XX | IFEQ comparison-value | IFNE comparison-value] [GET] \
             [EX seconds | PX milliseconds | EXAT unix-time-seconds | \
             PXAT unix-time-milliseconds | KEEPTTL]",
            "Sets a key to a string, with conditions and an expiry if asked for.",
            "1.0.0",
            "O(1)",
        ],
        Handler::Key(set),
    ),
    row(
        "setnx",
        3,
        GROW_FAST,
        KeySpec::FIRST,
        ["key value", "Sets a key to a string unless the key exists.", "1.0.0", "O(1)"],
        Handler::Key(setnx),
    ),
    row(
        "setex",
        4,
        GROW,
        KeySpec::FIRST,
        ["key seconds value", "Sets a key to a string for some seconds.", "2.0.0", "O(1)"],
        Handler::Key(setex),
    ),
    row(
        "psetex",
        4,
        GROW,
        KeySpec::FIRST,
        [
            "key milliseconds value",
            "Sets a key to a string for some milliseconds.",
            "2.6.0",
            "O(1)",
        ],
        Handler::Key(psetex),
    ),
    row(
        "getset",
        3,
        GROW_FAST,
        KeySpec::FIRST,
        ["key value", "Sets a key to a string and returns the one before.", "1.0.0", "O(1)"],
        Handler::Key(getset),
    ),
    row(
        "getdel",
        2,
        WRITE_FAST,
        KeySpec::FIRST,
        ["key", "Returns the string at a key and deletes the key.", "6.2.0", "O(1)"],
        Handler::Key(getdel),
    ),
    row(
        "getex",
        -2,
        WRITE_FAST,
        KeySpec::FIRST,
        [
            "key [EX seconds | PX milliseconds | EXAT unix-time-seconds | \
             PXAT unix-time-milliseconds | PERSIST]",
            "Returns the string at a key and changes when the key expires.",
            "6.2.0",
            "O(1)",
        ],
        Handler::Key(getex),
    ),
    row(
        "mget",
        -2,
        READ_FAST,
        KeySpec::ALL,
        ["key [key ...]", "Returns several strings.", "1.0.0", "O(N) in the number of keys"],
        Handler::Keys(mget),
    ),
    row(
        "mset",
        -3,
        GROW,
        KeySpec::PAIRS,
        [
            "key value [key value ...]",
            "Sets several keys at one instant.",
            "1.0.1",
            "O(N) in the number of keys",
        ],
        Handler::Keys(mset),
    ),
    row(
        "msetnx",
        -3,
        GROW,
        KeySpec::PAIRS,
        [
            "key value [key value ...]",
            "Sets several keys at one instant if none of them exists.",
            "1.0.1",
            "O(N) in the number of keys",
        ],
        Handler::Keys(msetnx),
    ),
    row(
        "append",
        3,
        GROW_FAST,
        KeySpec::FIRST,
        ["key value", "Appends to the string at a key.", "2.0.0", "O(1) amortised"],
        Handler::Key(append),
    ),
    row(
        "strlen",
        2,
        READ_FAST,
        KeySpec::FIRST,
        ["key", "Returns the length of the string at a key.", "2.2.0", "O(1)"],
        Handler::Key(strlen),
    ),
    row(
        "setrange",
        4,
        GROW,
        KeySpec::FIRST,
        [
            "key offset value",
            "Overwrites a part of the string at a key.",
            "2.2.0",
            "O(M) in the length of the value, and of the padding",
        ],
        Handler::Key(setrange),
    ),
    row(
        "getrange",
        4,
        READ,
        KeySpec::FIRST,
        [
            "key start end",
            "Returns a part of the string at a key.",
            "2.4.0",
            "O(N) in the length of what is returned",
        ],
        Handler::Key(getrange),
    ),
    row(
        "substr",
        4,
        READ,
        KeySpec::FIRST,
        [
            "key start end",
            "Returns a part of the string at a key; an old name of GETRANGE.",
            "1.0.0",
            "O(N) in the length of what is returned",
        ],
        Handler::Key(getrange),
    ),
    row(
        "incr",
        2,
        GROW_FAST,
        KeySpec::FIRST,
        ["key", "Adds one to the integer at a key.", "1.0.0", "O(1)"],
        Handler::Key(counter::incr),
    ),
    row(
        "decr",
        2,
        GROW_FAST,
        KeySpec::FIRST,
        ["key", "Takes one from the integer at a key.", "1.0.0", "O(1)"],
        Handler::Key(counter::decr),
    ),
    row(
        "incrby",
        3,
        GROW_FAST,
        KeySpec::FIRST,
        ["key increment", "Adds a number to the integer at a key.", "1.0.0", "O(1)"],
        Handler::Key(counter::incrby),
    ),
    row(
        "decrby",
        3,
        GROW_FAST,
        KeySpec::FIRST,
        ["key decrement", "Takes a number from the integer at a key.", "1.0.0", "O(1)"],
        Handler::Key(counter::decrby),
    ),
    row(
        "incrbyfloat",
        3,
        GROW_FAST,
        KeySpec::FIRST,
        ["key increment", "Adds to the floating-point number at a key.", "2.6.0", "O(1)"],
        Handler::Key(counter::incrbyfloat),
    ),
    row(
        "lcs",
        -3,
        READ,
        KeySpec::FIRST_TWO,
        [
            "key1 key2 [LEN] [IDX] [MINMATCHLEN min-match-len] [WITHMATCHLEN]",
            "Finds the longest common subsequence of two strings.",
            "7.0.0",
            "O(N*M) in the lengths of the two strings",
        ],
        Handler::Keys(lcs::lcs),
    ),
];

#[cfg(test)]
mod tests {
    use super::slice;

    #[test]
    fn ranges_are_cut_as_in_redis() {
        let bytes = b"hello";
        for (start, end, expected) in [
            (0, -1, "hello"),
            (1, 3, "ell"),
            (-3, -1, "llo"),
            (-1, -3, ""),
            (3, 1, ""),
            (0, 100, "hello"),
            (5, 100, ""),
            (-100, 1, "he"),
            (0, -100, "h"),
            (-100, -99, "h"),
            (i64::MIN, i64::MAX, "hello"),
            (i64::MIN, i64::MIN, "h"),
        ] {
            assert_eq!(slice(bytes, start, end), expected.as_bytes(), "{start} {end}");
        }
        assert_eq!(slice(b"", 0, -1), b"");
    }
}
