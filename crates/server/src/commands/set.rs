//! Sets: the commands on collections of distinct members.

use engine::set::Set;
use engine::{Db, Key};
use resp::args::Args;
use resp::reply::Reply;

use crate::arguments::{count, signed_count};
use crate::command::{Command, Family, Flags, Handler, KeyHandler, KeySpec, Outcome};
use crate::context::Context;
use crate::effects::Effect;
use crate::elements;
use crate::error::SYNTAX;
use crate::scan::{self, ScanOptions};

fn sadd(
    context: &mut Context<'_>,
    db: &mut Db,
    key: Key<'_>,
    args: Args<'_>,
    reply: &mut Reply<'_>,
) -> Outcome {
    let limits = context.limits();
    let members = args.skip(2);
    let first = args.at(2);
    let is_there = db.contains(context.clock, key);
    let set = db.collection_or_insert(context.clock, key, || {
        Set::for_members(limits, first, members.len())
    })?;
    if is_there {
        set.prepare(limits, members.len());
    }
    let added = members.iter().filter(|member| set.add(limits, member)).count();
    reply.count(added);
    Ok(Effect::changed(added))
}

fn srem(
    context: &mut Context<'_>,
    db: &mut Db,
    key: Key<'_>,
    args: Args<'_>,
    reply: &mut Reply<'_>,
) -> Outcome {
    let Some(set) = db.collection_mut::<Set>(context.clock, key)? else {
        reply.integer(0);
        return Ok(Effect::NONE);
    };
    let removed = args.skip(2).iter().filter(|member| set.remove(member)).count();
    if set.is_empty() {
        db.remove_if_spent::<Set>(key);
    }
    reply.count(removed);
    Ok(Effect::changed(removed))
}

fn scard(
    context: &mut Context<'_>,
    db: &mut Db,
    key: Key<'_>,
    _args: Args<'_>,
    reply: &mut Reply<'_>,
) -> Outcome {
    let set = elements::lookup::<Set>(context, db, key)?;
    reply.count(set.map_or(0, Set::len));
    Ok(Effect::NONE)
}

fn sismember(
    context: &mut Context<'_>,
    db: &mut Db,
    key: Key<'_>,
    args: Args<'_>,
    reply: &mut Reply<'_>,
) -> Outcome {
    let set = elements::lookup::<Set>(context, db, key)?;
    let is_member = set.is_some_and(|set| set.contains(args.at(2)));
    reply.integer(i64::from(is_member));
    Ok(Effect::NONE)
}

fn smismember(
    context: &mut Context<'_>,
    db: &mut Db,
    key: Key<'_>,
    args: Args<'_>,
    reply: &mut Reply<'_>,
) -> Outcome {
    let set = elements::lookup::<Set>(context, db, key)?;
    let members = args.skip(2);
    reply.array(members.len());
    for member in members.iter() {
        reply.integer(i64::from(set.is_some_and(|set| set.contains(member))));
    }
    Ok(Effect::NONE)
}

fn smembers(
    context: &mut Context<'_>,
    db: &mut Db,
    key: Key<'_>,
    _args: Args<'_>,
    reply: &mut Reply<'_>,
) -> Outcome {
    match elements::lookup::<Set>(context, db, key)? {
        Some(set) => all_members(reply, set),
        None => reply.set(0),
    }
    Ok(Effect::NONE)
}

fn all_members(reply: &mut Reply<'_>, set: &Set) {
    reply.set(set.len());
    set.iter().for_each(|member| elements::bulk(reply, member));
}

fn spop(
    context: &mut Context<'_>,
    db: &mut Db,
    key: Key<'_>,
    args: Args<'_>,
    reply: &mut Reply<'_>,
) -> Outcome {
    if args.len() > 3 {
        return Err(SYNTAX);
    }
    if let Some(argument) = args.get(2) {
        return pop_count(context, db, key, count(argument)?, reply);
    }
    let Some(set) = db.collection_mut::<Set>(context.clock, key)? else {
        reply.null();
        return Ok(Effect::NONE);
    };
    set.pop_with(&mut context.worker.random, |member| elements::bulk(reply, member));
    if set.is_empty() {
        db.remove_if_spent::<Set>(key);
    }
    Ok(Effect::changed(1))
}

fn pop_count(
    context: &mut Context<'_>,
    db: &mut Db,
    key: Key<'_>,
    wanted: usize,
    reply: &mut Reply<'_>,
) -> Outcome {
    let Some(set) = db.collection_mut::<Set>(context.clock, key)? else {
        reply.set(0);
        return Ok(Effect::NONE);
    };
    let popped = wanted.min(set.len());
    if popped == set.len() {
        all_members(reply, set);
        let emptied = db.remove(context.clock, key);
        context.discard(emptied);
    } else {
        reply.set(popped);
        let limits = &context.worker.settings.limits;
        let random = &mut context.worker.random;
        set.pop_many(limits, random, popped, |member| elements::bulk(reply, member));
    }
    Ok(Effect::changed(popped))
}

fn srandmember(
    context: &mut Context<'_>,
    db: &mut Db,
    key: Key<'_>,
    args: Args<'_>,
    reply: &mut Reply<'_>,
) -> Outcome {
    if args.len() > 3 {
        return Err(SYNTAX);
    }
    let Some(argument) = args.get(2) else {
        let set = elements::lookup::<Set>(context, db, key)?;
        let drawn = set.and_then(|set| set.random(&mut context.worker.random));
        elements::bulk_or_null(reply, drawn);
        return Ok(Effect::NONE);
    };
    let wanted = signed_count(argument)?;
    let Some(set) = elements::lookup::<Set>(context, db, key)? else {
        reply.array(0);
        return Ok(Effect::NONE);
    };
    let drawn = elements::draws(wanted, set.len())?;
    reply.array(drawn);
    let random = &mut context.worker.random;
    if wanted >= 0 {
        set.random_distinct(random, drawn, |member| elements::bulk(reply, member));
    } else {
        set.random_repeating(random, drawn, |member| elements::bulk(reply, member));
    }
    Ok(Effect::NONE)
}

fn sscan(
    context: &mut Context<'_>,
    db: &mut Db,
    key: Key<'_>,
    args: Args<'_>,
    reply: &mut Reply<'_>,
) -> Outcome {
    let cursor = scan::cursor(args.at(2))?;
    let Some(set) = elements::lookup::<Set>(context, db, key)? else {
        scan::answer_nothing(reply);
        return Ok(Effect::NONE);
    };
    let options = ScanOptions::parse(args, false)?;
    scan::answer(reply, |reply| {
        let mut written = 0;
        let next = set.scan(cursor, options.count, |member| {
            if options.admits(member) {
                elements::bulk(reply, member);
                written += 1;
            }
        });
        (next, written)
    });
    Ok(Effect::NONE)
}

const FAST_ADD: Flags = Flags::WRITE.union(Flags::DENYOOM).union(Flags::FAST);
const FAST_TAKE: Flags = Flags::WRITE.union(Flags::FAST);
const FAST_READ: Flags = Flags::READONLY.union(Flags::FAST);

const FAMILY: Family = Family { group: "set", categories: &["set"] };

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

/// The set family.
pub const COMMANDS: &[Command] = &[
    row(
        "sadd",
        -3,
        FAST_ADD,
        [
            "key member [member ...]",
            "Adds members to a set, making the set if there is none.",
            "1.0.0",
            "O(N) for N members",
        ],
        sadd,
    ),
    row(
        "srem",
        -3,
        FAST_TAKE,
        [
            "key member [member ...]",
            "Removes members of a set, and the set with its last.",
            "1.0.0",
            "O(N) for N members",
        ],
        srem,
    ),
    row(
        "scard",
        2,
        FAST_READ,
        ["key", "Returns the number of members of a set.", "1.0.0", "O(1)"],
        scard,
    ),
    row(
        "sismember",
        3,
        FAST_READ,
        ["key member", "Tells whether a set has a member.", "1.0.0", "O(1)"],
        sismember,
    ),
    row(
        "smismember",
        -3,
        FAST_READ,
        [
            "key member [member ...]",
            "Tells which members a set has.",
            "6.2.0",
            "O(N) for N members",
        ],
        smismember,
    ),
    row(
        "smembers",
        2,
        Flags::READONLY,
        ["key", "Returns all members of a set.", "1.0.0", "O(N) for N members in the set"],
        smembers,
    ),
    row(
        "spop",
        -2,
        FAST_TAKE,
        ["key [count]", "Takes random members out of a set.", "1.0.0", "O(N) for N members taken"],
        spop,
    ),
    row(
        "srandmember",
        -2,
        Flags::READONLY,
        ["key [count]", "Returns random members of a set.", "1.0.0", "O(N) for N members returned"],
        srandmember,
    ),
    row(
        "sscan",
        -3,
        Flags::READONLY,
        [
            "key cursor [MATCH pattern] [COUNT count]",
            "Walks through the members of a set step by step.",
            "2.8.0",
            "O(1) a step, O(N) in all for N members in the set",
        ],
        sscan,
    ),
];
