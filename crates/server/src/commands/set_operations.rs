//! Sets: the commands on several of them, unions, intersections, differences and moves.

use engine::set::Set;
use engine::{Collection, Expiry};
use resp::args::Args;
use resp::reply::Reply;

use crate::command::{Command, Family, Flags, Handler, KeySpec, KeysHandler, Locked, Outcome};
use crate::context::Context;
use crate::effects::Effect;
use crate::elements;
use crate::error::CommandError;

/// What is made of several sets.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Operation {
    Union,
    Intersection,
    Difference,
}

fn smove(
    context: &mut Context<'_>,
    locked: &mut Locked<'_>,
    args: Args<'_>,
    reply: &mut Reply<'_>,
) -> Outcome {
    let (source, target, member) = (locked.key(0), locked.key(1), args.at(3));
    let (clock, limits) = (context.clock, context.limits());
    let Some(set) = locked.db(source).collection::<Set>(clock, source)? else {
        reply.integer(0);
        return Ok(Effect::NONE);
    };
    let is_member = set.contains(member);
    locked.db(target).collection::<Set>(clock, target)?;
    reply.integer(i64::from(is_member));
    if !is_member || source.bytes == target.bytes {
        return Ok(Effect::NONE);
    }
    let db = locked.db(source);
    if let Some(set) = db.collection_mut::<Set>(clock, source)? {
        set.remove(member);
        if set.is_empty() {
            db.remove_if_spent::<Set>(source);
        }
    }
    let create = || Set::for_members(limits, member, 1);
    let set = locked.db(target).collection_or_insert(clock, target, create)?;
    let is_added = set.add(limits, member);
    Ok(Effect::changed(1 + usize::from(is_added)))
}

fn sunion(
    context: &mut Context<'_>,
    locked: &mut Locked<'_>,
    _args: Args<'_>,
    reply: &mut Reply<'_>,
) -> Outcome {
    answer(context, locked, reply, Operation::Union)
}

fn sinter(
    context: &mut Context<'_>,
    locked: &mut Locked<'_>,
    _args: Args<'_>,
    reply: &mut Reply<'_>,
) -> Outcome {
    answer(context, locked, reply, Operation::Intersection)
}

fn sdiff(
    context: &mut Context<'_>,
    locked: &mut Locked<'_>,
    _args: Args<'_>,
    reply: &mut Reply<'_>,
) -> Outcome {
    answer(context, locked, reply, Operation::Difference)
}

fn sunionstore(
    context: &mut Context<'_>,
    locked: &mut Locked<'_>,
    _args: Args<'_>,
    reply: &mut Reply<'_>,
) -> Outcome {
    store(context, locked, reply, Operation::Union)
}

fn sinterstore(
    context: &mut Context<'_>,
    locked: &mut Locked<'_>,
    _args: Args<'_>,
    reply: &mut Reply<'_>,
) -> Outcome {
    store(context, locked, reply, Operation::Intersection)
}

fn sdiffstore(
    context: &mut Context<'_>,
    locked: &mut Locked<'_>,
    _args: Args<'_>,
    reply: &mut Reply<'_>,
) -> Outcome {
    store(context, locked, reply, Operation::Difference)
}

fn answer(
    context: &mut Context<'_>,
    locked: &mut Locked<'_>,
    reply: &mut Reply<'_>,
    operation: Operation,
) -> Outcome {
    let result = result_of(context, locked, 0, operation)?;
    reply.set(result.len());
    result.iter().for_each(|member| elements::bulk(reply, member));
    Ok(Effect::NONE)
}

fn store(
    context: &mut Context<'_>,
    locked: &mut Locked<'_>,
    reply: &mut Reply<'_>,
    operation: Operation,
) -> Outcome {
    let result = result_of(context, locked, 1, operation)?;
    let target = locked.key(0);
    locked.note_changed(0);
    let db = locked.db(target);
    reply.count(result.len());
    if result.is_empty() {
        let removed = db.remove(context.clock, target);
        let is_changed = removed.is_some();
        context.discard(removed);
        return Ok(Effect::changed_if(is_changed));
    }
    let displaced = db.set(context.clock, target, result.into_value(), Expiry::Clear);
    context.discard(displaced);
    Ok(Effect::changed(1))
}

/// The result of an operation on the sets at the command's keys from `first_place` on, in the
/// encoding in which Redis stores it.
fn result_of(
    context: &Context<'_>,
    locked: &mut Locked<'_>,
    first_place: usize,
    operation: Operation,
) -> Result<Set, CommandError> {
    let places = first_place..locked.key_count();
    for place in places.clone() {
        let key = locked.key(place);
        elements::lookup::<Set>(context, locked.db(key), key)?;
    }
    let view = |place| {
        let key = locked.key(place);
        locked.view(key)?.view(context.clock, key)
    };
    let sets: Vec<Option<&Set>> = places.map(view).collect();
    Ok(match operation {
        Operation::Union => union(context, &sets),
        Operation::Intersection => intersection(context, sets),
        Operation::Difference => difference(context, &sets),
    })
}

fn union(context: &Context<'_>, sets: &[Option<&Set>]) -> Set {
    let mut result = Set::new();
    sets.iter().flatten().for_each(|set| add_all(context, &mut result, set, |_| true));
    result
}

fn intersection(context: &Context<'_>, sets: Vec<Option<&Set>>) -> Set {
    let Some(mut sets) = sets.into_iter().collect::<Option<Vec<_>>>() else {
        return Set::new();
    };
    sets.sort_by_key(|set| set.len());
    let (smallest, others) = (sets[0], &sets[1..]);
    let mut result = smallest.empty_intersection();
    add_all(context, &mut result, smallest, |member| others.iter().all(|set| set.contains(member)));
    result.prefer_intset(context.limits());
    result
}

/// As in Redis, the cheaper of two ways decides the encoding too: to add what is in none of the
/// others, or to add all and take away what is in the others.
fn difference(context: &Context<'_>, sets: &[Option<&Set>]) -> Set {
    let (Some(&Some(first)), others) = (sets.first(), &sets[1..]) else {
        return Set::new();
    };
    let others: Vec<&Set> = others.iter().copied().flatten().collect();
    let mut result = Set::new();
    if others.iter().any(|set| std::ptr::eq(*set, first)) {
        return result;
    }
    let lookups = first.len() * (others.len() + 1) / 2;
    let visits = first.len() + others.iter().map(|set| set.len()).sum::<usize>();
    if lookups <= visits {
        add_all(context, &mut result, first, |member| {
            !others.iter().any(|set| set.contains(member))
        });
        return result;
    }
    add_all(context, &mut result, first, |_| true);
    let mut digits = itoa::Buffer::new();
    for set in others {
        set.iter().for_each(|member| {
            result.remove(member.text(&mut digits));
        });
    }
    result
}

/// Adds the members of `set` that `admits` lets pass.
fn add_all(context: &Context<'_>, result: &mut Set, set: &Set, admits: impl Fn(&[u8]) -> bool) {
    let mut digits = itoa::Buffer::new();
    set.iter().for_each(|member| {
        let text = member.text(&mut digits);
        if admits(text) {
            result.add(context.limits(), text);
        }
    });
}

const FAST_TAKE: Flags = Flags::WRITE.union(Flags::FAST);
const ADD: Flags = Flags::WRITE.union(Flags::DENYOOM);

const FAMILY: Family = Family { group: "set", categories: &["set"] };

/// A row of this family; `about` is syntax, summary, first version and complexity.
const fn row(
    name: &'static str,
    arity: i16,
    flags: Flags,
    keys: KeySpec,
    about: [&'static str; 4],
    handler: KeysHandler,
) -> Command {
    FAMILY.row(name, arity, flags, keys, about, Handler::Keys(handler))
}

/// The commands on several sets.
pub const COMMANDS: &[Command] = &[
    row(
        "smove",
        4,
        FAST_TAKE,
        KeySpec::FIRST_TWO,
        ["source destination member", "Moves a member from one set to another.", "1.0.0", "O(1)"],
        smove,
    ),
    row(
        "sinter",
        -2,
        Flags::READONLY,
        KeySpec::ALL,
        [
            "key [key ...]",
            "Returns the members that all of several sets have.",
            "1.0.0",
            "O(N*M) for N members in the smallest and M sets",
        ],
        sinter,
    ),
    row(
        "sinterstore",
        -3,
        ADD,
        KeySpec::ALL,
        [
            "destination key [key ...]",
            "Stores the members that all of several sets have.",
            "1.0.0",
            "O(N*M) for N members in the smallest and M sets",
        ],
        sinterstore,
    ),
    row(
        "sunion",
        -2,
        Flags::READONLY,
        KeySpec::ALL,
        [
            "key [key ...]",
            "Returns the members that any of several sets has.",
            "1.0.0",
            "O(N) for N members in all sets",
        ],
        sunion,
    ),
    row(
        "sunionstore",
        -3,
        ADD,
        KeySpec::ALL,
        [
            "destination key [key ...]",
            "Stores the members that any of several sets has.",
            "1.0.0",
            "O(N) for N members in all sets",
        ],
        sunionstore,
    ),
    row(
        "sdiff",
        -2,
        Flags::READONLY,
        KeySpec::ALL,
        [
            "key [key ...]",
            "Returns the members of a set that several others lack.",
            "1.0.0",
            "O(N) for N members in all sets",
        ],
        sdiff,
    ),
    row(
        "sdiffstore",
        -3,
        ADD,
        KeySpec::ALL,
        [
            "destination key [key ...]",
            "Stores the members of a set that several others lack.",
            "1.0.0",
            "O(N) for N members in all sets",
        ],
        sdiffstore,
    ),
];
