//! Hashes: the commands on maps from fields to values.

use engine::hash::Hash;
use engine::listpack::Entry;
use engine::{Db, Key};
use resp::args::Args;
use resp::reply::{Protocol, Reply};
use text::long_double::LongDouble;

use crate::arguments::{integer, is_word, signed_count};
use crate::command::{Command, Family, Flags, Handler, KeyHandler, KeySpec, Outcome};
use crate::context::Context;
use crate::effects::Effect;
use crate::elements;
use crate::error::{CommandError, NAN_OR_INFINITY, NOT_A_FLOAT, OVERFLOW, SYNTAX};
use crate::scan::{self, ScanOptions};

/// The field holds no number that `HINCRBY` could add to.
const VALUE_NOT_AN_INTEGER: CommandError = CommandError::fixed("ERR hash value is not an integer");
/// The field holds no number that `HINCRBYFLOAT` could add to.
const VALUE_NOT_A_FLOAT: CommandError = CommandError::fixed("ERR hash value is not a float");
/// The increment is infinite.
const INCREMENT_INFINITE: CommandError = CommandError::fixed("ERR value is NaN or Infinity");

fn hset(
    context: &mut Context<'_>,
    db: &mut Db,
    key: Key<'_>,
    args: Args<'_>,
    reply: &mut Reply<'_>,
) -> Outcome {
    let (created, pairs) = set_pairs(context, db, key, args)?;
    reply.count(created);
    Ok(Effect::changed(pairs))
}

fn hmset(
    context: &mut Context<'_>,
    db: &mut Db,
    key: Key<'_>,
    args: Args<'_>,
    reply: &mut Reply<'_>,
) -> Outcome {
    let (_, pairs) = set_pairs(context, db, key, args)?;
    reply.ok();
    Ok(Effect::changed(pairs))
}

/// Sets all fields of `HSET`; how many are new, and how many there were.
fn set_pairs(
    context: &Context<'_>,
    db: &mut Db,
    key: Key<'_>,
    args: Args<'_>,
) -> Result<(usize, usize), CommandError> {
    if args.len() % 2 == 1 {
        return Err(CommandError::wrong_arity(context.command.name));
    }
    let limits = context.limits();
    let hash = db.collection_or_insert(context.clock, key, Hash::new)?;
    let pairs = (args.len() - 2) / 2;
    if pairs > 1 {
        let longest = args.skip(2).iter().map(<[u8]>::len).max().unwrap_or(0);
        hash.prepare(limits, pairs, longest);
    }
    let created = (2..args.len())
        .step_by(2)
        .filter(|&at| hash.set(limits, args.at(at), args.at(at + 1)))
        .count();
    Ok((created, pairs))
}

fn hsetnx(
    context: &mut Context<'_>,
    db: &mut Db,
    key: Key<'_>,
    args: Args<'_>,
    reply: &mut Reply<'_>,
) -> Outcome {
    let limits = context.limits();
    let hash = db.collection_or_insert(context.clock, key, Hash::new)?;
    let is_new = hash.set_new(limits, args.at(2), args.at(3));
    reply.integer(i64::from(is_new));
    Ok(Effect::changed_if(is_new))
}

fn hget(
    context: &mut Context<'_>,
    db: &mut Db,
    key: Key<'_>,
    args: Args<'_>,
    reply: &mut Reply<'_>,
) -> Outcome {
    let hash = elements::lookup::<Hash>(context, db, key)?;
    elements::bulk_or_null(reply, hash.and_then(|hash| hash.get(args.at(2))));
    Ok(Effect::NONE)
}

fn hmget(
    context: &mut Context<'_>,
    db: &mut Db,
    key: Key<'_>,
    args: Args<'_>,
    reply: &mut Reply<'_>,
) -> Outcome {
    let hash = elements::lookup::<Hash>(context, db, key)?;
    let fields = args.skip(2);
    reply.array(fields.len());
    for field in fields.iter() {
        elements::bulk_or_null(reply, hash.and_then(|hash| hash.get(field)));
    }
    Ok(Effect::NONE)
}

fn hgetall(
    context: &mut Context<'_>,
    db: &mut Db,
    key: Key<'_>,
    _args: Args<'_>,
    reply: &mut Reply<'_>,
) -> Outcome {
    let Some(hash) = elements::lookup::<Hash>(context, db, key)? else {
        reply.map(0);
        return Ok(Effect::NONE);
    };
    reply.map(hash.len());
    hash.iter().for_each(|(field, value)| {
        elements::bulk(reply, field);
        elements::bulk(reply, value);
    });
    Ok(Effect::NONE)
}

fn hkeys(
    context: &mut Context<'_>,
    db: &mut Db,
    key: Key<'_>,
    _args: Args<'_>,
    reply: &mut Reply<'_>,
) -> Outcome {
    let Some(hash) = elements::lookup::<Hash>(context, db, key)? else {
        reply.array(0);
        return Ok(Effect::NONE);
    };
    reply.array(hash.len());
    hash.iter().for_each(|(field, _)| elements::bulk(reply, field));
    Ok(Effect::NONE)
}

fn hvals(
    context: &mut Context<'_>,
    db: &mut Db,
    key: Key<'_>,
    _args: Args<'_>,
    reply: &mut Reply<'_>,
) -> Outcome {
    let Some(hash) = elements::lookup::<Hash>(context, db, key)? else {
        reply.array(0);
        return Ok(Effect::NONE);
    };
    reply.array(hash.len());
    hash.iter().for_each(|(_, value)| elements::bulk(reply, value));
    Ok(Effect::NONE)
}

fn hdel(
    context: &mut Context<'_>,
    db: &mut Db,
    key: Key<'_>,
    args: Args<'_>,
    reply: &mut Reply<'_>,
) -> Outcome {
    let Some(hash) = db.collection_mut::<Hash>(context.clock, key)? else {
        reply.integer(0);
        return Ok(Effect::NONE);
    };
    let removed = args.skip(2).iter().filter(|field| hash.remove(field)).count();
    if hash.is_empty() {
        db.remove_if_spent::<Hash>(key);
    }
    reply.count(removed);
    Ok(Effect::changed(removed))
}

fn hlen(
    context: &mut Context<'_>,
    db: &mut Db,
    key: Key<'_>,
    _args: Args<'_>,
    reply: &mut Reply<'_>,
) -> Outcome {
    let hash = elements::lookup::<Hash>(context, db, key)?;
    reply.count(hash.map_or(0, Hash::len));
    Ok(Effect::NONE)
}

fn hexists(
    context: &mut Context<'_>,
    db: &mut Db,
    key: Key<'_>,
    args: Args<'_>,
    reply: &mut Reply<'_>,
) -> Outcome {
    let hash = elements::lookup::<Hash>(context, db, key)?;
    let is_there = hash.is_some_and(|hash| hash.contains(args.at(2)));
    reply.integer(i64::from(is_there));
    Ok(Effect::NONE)
}

fn hstrlen(
    context: &mut Context<'_>,
    db: &mut Db,
    key: Key<'_>,
    args: Args<'_>,
    reply: &mut Reply<'_>,
) -> Outcome {
    let hash = elements::lookup::<Hash>(context, db, key)?;
    let value = hash.and_then(|hash| hash.get(args.at(2)));
    reply.count(value.map_or(0, Entry::text_len));
    Ok(Effect::NONE)
}

fn hincrby(
    context: &mut Context<'_>,
    db: &mut Db,
    key: Key<'_>,
    args: Args<'_>,
    reply: &mut Reply<'_>,
) -> Outcome {
    let increment = integer(args.at(3))?;
    let limits = context.limits();
    // A field that is there keeps the hash from being empty, so an error leaves no empty one.
    let hash = db.collection_or_insert(context.clock, key, Hash::new)?;
    let old = match hash.get(args.at(2)) {
        Some(value) => value.as_int().ok_or(VALUE_NOT_AN_INTEGER)?,
        None => 0,
    };
    let new = old.checked_add(increment).ok_or(OVERFLOW)?;
    let mut digits = Vec::new();
    text::integer::push_i64(&mut digits, new);
    hash.set(limits, args.at(2), &digits);
    reply.integer(new);
    Ok(Effect::changed(1))
}

fn hincrbyfloat(
    context: &mut Context<'_>,
    db: &mut Db,
    key: Key<'_>,
    args: Args<'_>,
    reply: &mut Reply<'_>,
) -> Outcome {
    let increment = LongDouble::parse(args.at(3)).ok_or(NOT_A_FLOAT)?;
    if increment.is_infinite() {
        return Err(INCREMENT_INFINITE);
    }
    let limits = context.limits();
    // As in HINCRBY, no error can leave an empty hash.
    let hash = db.collection_or_insert(context.clock, key, Hash::new)?;
    let new = match hash.get(args.at(2)) {
        Some(value) => {
            let old = LongDouble::parse(&value.to_vec()).ok_or(VALUE_NOT_A_FLOAT)?;
            old.checked_add(increment).ok_or(NAN_OR_INFINITY)?
        }
        None => increment,
    };
    let digits = new.to_text();
    hash.set(limits, args.at(2), &digits);
    reply.bulk(&digits);
    Ok(Effect::changed(1))
}

fn hscan(
    context: &mut Context<'_>,
    db: &mut Db,
    key: Key<'_>,
    args: Args<'_>,
    reply: &mut Reply<'_>,
) -> Outcome {
    let cursor = scan::cursor(args.at(2))?;
    let Some(hash) = elements::lookup::<Hash>(context, db, key)? else {
        scan::answer_nothing(reply);
        return Ok(Effect::NONE);
    };
    let options = ScanOptions::parse(args, true)?;
    scan::answer(reply, |reply| {
        let mut written = 0;
        let next = hash.scan(cursor, options.count, |field, value| {
            if options.admits(field) {
                elements::bulk(reply, field);
                written += 1;
                if !options.without_values {
                    elements::bulk(reply, value);
                    written += 1;
                }
            }
        });
        (next, written)
    });
    Ok(Effect::NONE)
}

fn hrandfield(
    context: &mut Context<'_>,
    db: &mut Db,
    key: Key<'_>,
    args: Args<'_>,
    reply: &mut Reply<'_>,
) -> Outcome {
    let Some(argument) = args.get(2) else {
        let hash = elements::lookup::<Hash>(context, db, key)?;
        let drawn = hash.and_then(|hash| hash.random(&mut context.worker.random));
        elements::bulk_or_null(reply, drawn.map(|(field, _)| field));
        return Ok(Effect::NONE);
    };
    let wanted = signed_count(argument)?;
    let with_values = args.get(3).is_some_and(|word| is_word(word, "withvalues"));
    if args.len() > 4 || (args.len() == 4 && !with_values) {
        return Err(SYNTAX);
    }
    if with_values && wanted.unsigned_abs() > i64::MAX.unsigned_abs() / 2 {
        return Err(elements::TOO_MANY_DRAWS);
    }
    let Some(hash) = elements::lookup::<Hash>(context, db, key)? else {
        reply.array(0);
        return Ok(Effect::NONE);
    };
    let drawn = elements::draws(wanted, hash.len())?;
    // RESP3 keeps a field and its value together.
    let is_nested = with_values && reply.protocol() == Protocol::Resp3;
    reply.array(if with_values && !is_nested { drawn * 2 } else { drawn });
    let visit = |field: Entry<'_>, value: Entry<'_>| {
        if is_nested {
            reply.array(2);
        }
        elements::bulk(reply, field);
        if with_values {
            elements::bulk(reply, value);
        }
    };
    let random = &mut context.worker.random;
    if wanted >= 0 {
        hash.random_distinct(random, drawn, visit);
    } else {
        hash.random_repeating(random, drawn, visit);
    }
    Ok(Effect::NONE)
}

const FAST_ADD: Flags = Flags::WRITE.union(Flags::DENYOOM).union(Flags::FAST);
const FAST_TAKE: Flags = Flags::WRITE.union(Flags::FAST);
const FAST_READ: Flags = Flags::READONLY.union(Flags::FAST);

const FAMILY: Family = Family { group: "hash", categories: &["hash"] };

/// A row whose first argument is its only key; `about` is syntax, summary, first version and
/// complexity.
const fn row(
    name: &'static str,
    arity: i16,
    flags: Flags,
    about: [&'static str; 4],
    handler: KeyHandler,
) -> Command {
    FAMILY.row(name, arity, flags, KeySpec::FIRST, about, Handler::Key(handler))
}

/// The hash family.
pub const COMMANDS: &[Command] = &[
    row(
        "hset",
        -4,
        FAST_ADD,
        [
            "key field value [field value ...]",
            "Sets fields of a hash, making the hash if there is none.",
            "2.0.0",
            "O(N) for N fields",
        ],
        hset,
    ),
    row(
        "hmset",
        -4,
        FAST_ADD,
        [
            "key field value [field value ...]",
            "Sets fields of a hash.",
            "2.0.0",
            "O(N) for N fields",
        ],
        hmset,
    ),
    row(
        "hsetnx",
        4,
        FAST_ADD,
        ["key field value", "Sets a field of a hash unless it is there already.", "2.0.0", "O(1)"],
        hsetnx,
    ),
    row(
        "hget",
        3,
        FAST_READ,
        ["key field", "Returns the value of a field of a hash.", "2.0.0", "O(1)"],
        hget,
    ),
    row(
        "hmget",
        -3,
        FAST_READ,
        [
            "key field [field ...]",
            "Returns the values of fields of a hash.",
            "2.0.0",
            "O(N) for N fields",
        ],
        hmget,
    ),
    row(
        "hgetall",
        2,
        Flags::READONLY,
        [
            "key",
            "Returns all fields of a hash with their values.",
            "2.0.0",
            "O(N) for N fields in the hash",
        ],
        hgetall,
    ),
    row(
        "hdel",
        -3,
        FAST_TAKE,
        [
            "key field [field ...]",
            "Removes fields of a hash, and the hash with its last.",
            "2.0.0",
            "O(N) for N fields",
        ],
        hdel,
    ),
    row(
        "hlen",
        2,
        FAST_READ,
        ["key", "Returns the number of fields of a hash.", "2.0.0", "O(1)"],
        hlen,
    ),
    row(
        "hexists",
        3,
        FAST_READ,
        ["key field", "Tells whether a field of a hash is there.", "2.0.0", "O(1)"],
        hexists,
    ),
    row(
        "hkeys",
        2,
        Flags::READONLY,
        ["key", "Returns all fields of a hash.", "2.0.0", "O(N) for N fields in the hash"],
        hkeys,
    ),
    row(
        "hvals",
        2,
        Flags::READONLY,
        ["key", "Returns all values of a hash.", "2.0.0", "O(N) for N fields in the hash"],
        hvals,
    ),
    row(
        "hincrby",
        4,
        FAST_ADD,
        [
            "key field increment",
            "Adds an integer to the number in a field of a hash.",
            "2.0.0",
            "O(1)",
        ],
        hincrby,
    ),
    row(
        "hincrbyfloat",
        4,
        FAST_ADD,
        [
            "key field increment",
            "Adds a floating-point number to the number in a field of a hash.",
            "2.6.0",
            "O(1)",
        ],
        hincrbyfloat,
    ),
    row(
        "hstrlen",
        3,
        FAST_READ,
        ["key field", "Returns the length of the value of a field of a hash.", "3.2.0", "O(1)"],
        hstrlen,
    ),
    row(
        "hscan",
        -3,
        Flags::READONLY,
        [
            "key cursor [MATCH pattern] [COUNT count] [NOVALUES]",
            "Walks through the fields of a hash step by step.",
            "2.8.0",
            "O(1) a step, O(N) in all for N fields in the hash",
        ],
        hscan,
    ),
    row(
        "hrandfield",
        -2,
        Flags::READONLY,
        [
            "key [count [WITHVALUES]]",
            "Returns random fields of a hash.",
            "6.2.0",
            "O(N) for N fields returned",
        ],
        hrandfield,
    ),
];
