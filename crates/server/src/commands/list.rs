//! Lists: the commands on sequences that grow and shrink at both ends.

use engine::list::{List, Place, Side};
use engine::{Db, Key};
use resp::args::Args;
use resp::reply::{Aggregate, Reply};

use crate::arguments::{Options, count, integer, is_word, signed_count};
use crate::command::{Command, Doc, Flags, Handler, KeyHandler, KeySpec, Locked, Outcome};
use crate::context::Context;
use crate::effects::Effect;
use crate::elements;
use crate::error::{CommandError, INDEX_OUT_OF_RANGE, NO_SUCH_KEY, SYNTAX};

/// `RANK 0` means nothing.
const RANK_ZERO: CommandError = CommandError::fixed(
    "ERR RANK can't be zero: use 1 to start from the first match, 2 from the second ... \
     or use negative to start from the end of the list",
);
const COUNT_NEGATIVE: CommandError = CommandError::fixed("ERR COUNT can't be negative");
const MAXLEN_NEGATIVE: CommandError = CommandError::fixed("ERR MAXLEN can't be negative");

fn lpush(
    context: &mut Context<'_>,
    db: &mut Db,
    key: Key<'_>,
    args: Args<'_>,
    reply: &mut Reply<'_>,
) -> Outcome {
    push(context, db, key, args, reply, Side::Left)
}

fn rpush(
    context: &mut Context<'_>,
    db: &mut Db,
    key: Key<'_>,
    args: Args<'_>,
    reply: &mut Reply<'_>,
) -> Outcome {
    push(context, db, key, args, reply, Side::Right)
}

fn lpushx(
    context: &mut Context<'_>,
    db: &mut Db,
    key: Key<'_>,
    args: Args<'_>,
    reply: &mut Reply<'_>,
) -> Outcome {
    push_if_there(context, db, key, args, reply, Side::Left)
}

fn rpushx(
    context: &mut Context<'_>,
    db: &mut Db,
    key: Key<'_>,
    args: Args<'_>,
    reply: &mut Reply<'_>,
) -> Outcome {
    push_if_there(context, db, key, args, reply, Side::Right)
}

fn push(
    context: &mut Context<'_>,
    db: &mut Db,
    key: Key<'_>,
    args: Args<'_>,
    reply: &mut Reply<'_>,
    side: Side,
) -> Outcome {
    let list = db.collection_or_insert(context.clock, key, List::new)?;
    Ok(push_all(context, list, args, reply, side))
}

fn push_if_there(
    context: &mut Context<'_>,
    db: &mut Db,
    key: Key<'_>,
    args: Args<'_>,
    reply: &mut Reply<'_>,
    side: Side,
) -> Outcome {
    let Some(list) = db.collection_mut::<List>(context.clock, key)? else {
        reply.integer(0);
        return Ok(Effect::NONE);
    };
    Ok(push_all(context, list, args, reply, side))
}

fn push_all(
    context: &Context<'_>,
    list: &mut List,
    args: Args<'_>,
    reply: &mut Reply<'_>,
    side: Side,
) -> Effect {
    let values = args.skip(2);
    list.push_all(context.limits(), side, values.iter());
    reply.count(list.len());
    Effect::changed(values.len())
}

fn lpop(
    context: &mut Context<'_>,
    db: &mut Db,
    key: Key<'_>,
    args: Args<'_>,
    reply: &mut Reply<'_>,
) -> Outcome {
    pop(context, db, key, args, reply, Side::Left)
}

fn rpop(
    context: &mut Context<'_>,
    db: &mut Db,
    key: Key<'_>,
    args: Args<'_>,
    reply: &mut Reply<'_>,
) -> Outcome {
    pop(context, db, key, args, reply, Side::Right)
}

fn pop(
    context: &mut Context<'_>,
    db: &mut Db,
    key: Key<'_>,
    args: Args<'_>,
    reply: &mut Reply<'_>,
    side: Side,
) -> Outcome {
    if args.len() > 3 {
        return Err(CommandError::wrong_arity(context.command.name));
    }
    if let Some(argument) = args.get(2) {
        return pop_count(context, db, key, count(argument)?, reply, side);
    }
    let Some(list) = db.collection_mut::<List>(context.clock, key)? else {
        reply.null();
        return Ok(Effect::NONE);
    };
    list.pop_with(context.limits(), side, |element| elements::bulk(reply, element));
    if list.is_empty() {
        db.remove_if_spent::<List>(key);
    }
    Ok(Effect::changed(1))
}

/// Pops up to `wanted` elements, answered as an array.
pub(super) fn pop_count(
    context: &mut Context<'_>,
    db: &mut Db,
    key: Key<'_>,
    wanted: usize,
    reply: &mut Reply<'_>,
    side: Side,
) -> Outcome {
    let Some(list) = db.collection_mut::<List>(context.clock, key)? else {
        reply.null_array();
        return Ok(Effect::NONE);
    };
    let len = list.len();
    let popped = wanted.min(len);
    reply.array(popped);
    match side {
        Side::Left => list.for_range(0..popped, |element| elements::bulk(reply, element)),
        Side::Right => {
            list.iter().rev().take(popped).for_each(|element| elements::bulk(reply, element));
        }
    }
    let kept = match side {
        Side::Left => popped..len,
        Side::Right => 0..len - popped,
    };
    if kept.is_empty() {
        let emptied = db.remove(context.clock, key);
        context.discard(emptied);
    } else if popped > 0 {
        list.trim(context.limits(), kept);
    }
    Ok(Effect::changed(popped))
}

fn llen(
    context: &mut Context<'_>,
    db: &mut Db,
    key: Key<'_>,
    _args: Args<'_>,
    reply: &mut Reply<'_>,
) -> Outcome {
    let list = elements::lookup::<List>(context, db, key)?;
    reply.count(list.map_or(0, List::len));
    Ok(Effect::NONE)
}

fn lindex(
    context: &mut Context<'_>,
    db: &mut Db,
    key: Key<'_>,
    args: Args<'_>,
    reply: &mut Reply<'_>,
) -> Outcome {
    let element = match elements::lookup::<List>(context, db, key)? {
        Some(list) => list.get(integer(args.at(2))?),
        None => None,
    };
    elements::bulk_or_null(reply, element);
    Ok(Effect::NONE)
}

fn lrange(
    context: &mut Context<'_>,
    db: &mut Db,
    key: Key<'_>,
    args: Args<'_>,
    reply: &mut Reply<'_>,
) -> Outcome {
    let (start, stop) = (integer(args.at(2))?, integer(args.at(3))?);
    let Some(list) = elements::lookup::<List>(context, db, key)? else {
        reply.array(0);
        return Ok(Effect::NONE);
    };
    let range = list.clamp(start, stop);
    reply.array(range.len());
    list.for_range(range, |element| elements::bulk(reply, element));
    Ok(Effect::NONE)
}

fn lset(
    context: &mut Context<'_>,
    db: &mut Db,
    key: Key<'_>,
    args: Args<'_>,
    reply: &mut Reply<'_>,
) -> Outcome {
    let list = db.collection_mut::<List>(context.clock, key)?.ok_or(NO_SUCH_KEY)?;
    let index = integer(args.at(2))?;
    if !list.set(context.limits(), index, args.at(3)) {
        return Err(INDEX_OUT_OF_RANGE);
    }
    reply.ok();
    Ok(Effect::changed(1))
}

fn ltrim(
    context: &mut Context<'_>,
    db: &mut Db,
    key: Key<'_>,
    args: Args<'_>,
    reply: &mut Reply<'_>,
) -> Outcome {
    let (start, stop) = (integer(args.at(2))?, integer(args.at(3))?);
    let Some(list) = db.collection_mut::<List>(context.clock, key)? else {
        reply.ok();
        return Ok(Effect::NONE);
    };
    let kept = list.clamp(start, stop);
    let removed = list.len() - kept.len();
    if kept.is_empty() {
        let emptied = db.remove(context.clock, key);
        context.discard(emptied);
    } else if removed > 0 {
        list.trim(context.limits(), kept);
    }
    reply.ok();
    Ok(Effect::changed(removed))
}

fn lrem(
    context: &mut Context<'_>,
    db: &mut Db,
    key: Key<'_>,
    args: Args<'_>,
    reply: &mut Reply<'_>,
) -> Outcome {
    let most = signed_count(args.at(2))?;
    let Some(list) = db.collection_mut::<List>(context.clock, key)? else {
        reply.integer(0);
        return Ok(Effect::NONE);
    };
    let removed = list.remove(context.limits(), most, args.at(3));
    if list.is_empty() {
        db.remove_if_spent::<List>(key);
    }
    reply.count(removed);
    Ok(Effect::changed(removed))
}

fn linsert(
    context: &mut Context<'_>,
    db: &mut Db,
    key: Key<'_>,
    args: Args<'_>,
    reply: &mut Reply<'_>,
) -> Outcome {
    let place = match args.at(2) {
        word if is_word(word, "after") => Place::After,
        word if is_word(word, "before") => Place::Before,
        _ => return Err(SYNTAX),
    };
    let Some(list) = db.collection_mut::<List>(context.clock, key)? else {
        reply.integer(0);
        return Ok(Effect::NONE);
    };
    let is_inserted = list.insert(context.limits(), place, args.at(3), args.at(4));
    if is_inserted {
        reply.count(list.len());
    } else {
        reply.integer(-1);
    }
    Ok(Effect::changed_if(is_inserted))
}

fn lpos(
    context: &mut Context<'_>,
    db: &mut Db,
    key: Key<'_>,
    args: Args<'_>,
    reply: &mut Reply<'_>,
) -> Outcome {
    let search = Search::parse(args)?;
    let list = elements::lookup::<List>(context, db, key)?;
    let found = list
        .into_iter()
        .flat_map(|list| list.positions(args.at(2), search.rank, search.most_compared));
    match search.wanted {
        None => match found.into_iter().next() {
            Some(index) => reply.count(index),
            None => reply.null(),
        },
        Some(wanted) => {
            let indexes = reply.deferred(Aggregate::Array);
            let mut written = 0;
            for index in found.take(wanted) {
                reply.count(index);
                written += 1;
            }
            reply.finish(indexes, written);
        }
    }
    Ok(Effect::NONE)
}

/// The options of `LPOS`.
struct Search {
    /// Which match comes first, from the tail when negative; never 0.
    rank: i64,
    /// How many indexes, if an array is asked for.
    wanted: Option<usize>,
    /// How many elements to look at.
    most_compared: usize,
}

impl Search {
    fn parse(args: Args<'_>) -> Result<Search, CommandError> {
        // Zero stands for all.
        let most = |bytes: &[u8], refusal: CommandError| match count(bytes) {
            Ok(0) => Ok(usize::MAX),
            Ok(most) => Ok(most),
            Err(_) => Err(refusal),
        };
        let mut search = Search { rank: 1, wanted: None, most_compared: usize::MAX };
        let mut options = Options::new(args, 3);
        while let Some(option) = options.next() {
            if is_word(option, "rank") {
                search.rank = signed_count(options.value()?)?;
                if search.rank == 0 {
                    return Err(RANK_ZERO);
                }
            } else if is_word(option, "count") {
                search.wanted = Some(most(options.value()?, COUNT_NEGATIVE)?);
            } else if is_word(option, "maxlen") {
                search.most_compared = most(options.value()?, MAXLEN_NEGATIVE)?;
            } else {
                return Err(SYNTAX);
            }
        }
        Ok(search)
    }
}

fn lmove(
    context: &mut Context<'_>,
    locked: &mut Locked<'_>,
    args: Args<'_>,
    reply: &mut Reply<'_>,
) -> Outcome {
    let (from, to) = (side(args.at(3))?, side(args.at(4))?);
    move_element(context, locked, reply, from, to)
}

fn rpoplpush(
    context: &mut Context<'_>,
    locked: &mut Locked<'_>,
    _args: Args<'_>,
    reply: &mut Reply<'_>,
) -> Outcome {
    move_element(context, locked, reply, Side::Right, Side::Left)
}

/// An end of a list by its word.
pub(super) fn side(word: &[u8]) -> Result<Side, CommandError> {
    match word {
        word if is_word(word, "left") => Ok(Side::Left),
        word if is_word(word, "right") => Ok(Side::Right),
        _ => Err(SYNTAX),
    }
}

/// Moves an element from an end of the list at the first key to an end of that at the second.
pub(super) fn move_element(
    context: &mut Context<'_>,
    locked: &mut Locked<'_>,
    reply: &mut Reply<'_>,
    from: Side,
    to: Side,
) -> Outcome {
    let (source, target) = (locked.key(0), locked.key(1));
    let (clock, limits) = (context.clock, context.limits());
    if locked.db(source).collection::<List>(clock, source)?.is_none() {
        reply.null();
        return Ok(Effect::NONE);
    }
    locked.db(target).collection::<List>(clock, target)?;
    let db = locked.db(source);
    let list = db.collection_mut::<List>(clock, source)?.expect("it was there");
    let moved = if source.bytes == target.bytes {
        list.rotate(limits, from, to)
    } else {
        list.pop(limits, from)
    };
    let element = moved.expect("no list is empty");
    if source.bytes != target.bytes {
        if list.is_empty() {
            db.remove_if_spent::<List>(source);
        }
        let target_list = locked.db(target).collection_or_insert(clock, target, List::new)?;
        target_list.push(limits, to, &element);
    }
    reply.bulk(&element);
    Ok(Effect::changed(1))
}

const FAST_ADD: Flags = Flags::WRITE.union(Flags::DENYOOM).union(Flags::FAST);
const ADD: Flags = Flags::WRITE.union(Flags::DENYOOM);
const FAST_TAKE: Flags = Flags::WRITE.union(Flags::FAST);
const FAST_READ: Flags = Flags::READONLY.union(Flags::FAST);

/// A row whose first argument is its only key; `about` is syntax, summary, first version and
/// complexity.
const fn row(
    name: &'static str,
    arity: i16,
    flags: Flags,
    about: [&'static str; 4],
    handler: KeyHandler,
) -> Command {
    row_on(KeySpec::FIRST, name, arity, flags, about, Handler::Key(handler))
}

/// A row with its keys elsewhere.
const fn row_on(
    keys: KeySpec,
    name: &'static str,
    arity: i16,
    flags: Flags,
    about: [&'static str; 4],
    handler: Handler,
) -> Command {
    let [syntax, summary, since, complexity] = about;
    let doc = Doc { syntax, summary, since, group: "list", complexity };
    let categories = &["list"];
    Command { name, arity, flags, keys, categories, doc, handler, subcommands: &[] }
}

/// The list family.
pub const COMMANDS: &[Command] = &[
    row(
        "lpush",
        -3,
        FAST_ADD,
        [
            "key element [element ...]",
            "Puts elements at the head of a list, making the list if there is none.",
            "1.0.0",
            "O(N) for N elements",
        ],
        lpush,
    ),
    row(
        "rpush",
        -3,
        FAST_ADD,
        [
            "key element [element ...]",
            "Puts elements at the tail of a list, making the list if there is none.",
            "1.0.0",
            "O(N) for N elements",
        ],
        rpush,
    ),
    row(
        "lpushx",
        -3,
        FAST_ADD,
        [
            "key element [element ...]",
            "Puts elements at the head of a list if it is there.",
            "2.2.0",
            "O(N) for N elements",
        ],
        lpushx,
    ),
    row(
        "rpushx",
        -3,
        FAST_ADD,
        [
            "key element [element ...]",
            "Puts elements at the tail of a list if it is there.",
            "2.2.0",
            "O(N) for N elements",
        ],
        rpushx,
    ),
    row(
        "lpop",
        -2,
        FAST_TAKE,
        ["key [count]", "Takes elements off the head of a list.", "1.0.0", "O(N) for N elements"],
        lpop,
    ),
    row(
        "rpop",
        -2,
        FAST_TAKE,
        ["key [count]", "Takes elements off the tail of a list.", "1.0.0", "O(N) for N elements"],
        rpop,
    ),
    row("llen", 2, FAST_READ, ["key", "Returns the length of a list.", "1.0.0", "O(1)"], llen),
    row(
        "lindex",
        3,
        Flags::READONLY,
        [
            "key index",
            "Returns the element at an index of a list.",
            "1.0.0",
            "O(N) for N elements from the nearer end; O(1) at the ends",
        ],
        lindex,
    ),
    row(
        "lrange",
        4,
        Flags::READONLY,
        [
            "key start stop",
            "Returns the elements between two indexes of a list.",
            "1.0.0",
            "O(S+N) for S elements from the nearer end and N elements returned",
        ],
        lrange,
    ),
    row(
        "lset",
        4,
        ADD,
        [
            "key index element",
            "Changes the element at an index of a list.",
            "1.0.0",
            "O(N) for N elements from the nearer end; O(1) at the ends",
        ],
        lset,
    ),
    row(
        "ltrim",
        4,
        Flags::WRITE,
        [
            "key start stop",
            "Removes all elements of a list but those between two indexes.",
            "1.0.0",
            "O(N) for N elements removed",
        ],
        ltrim,
    ),
    row(
        "lrem",
        4,
        Flags::WRITE,
        [
            "key count element",
            "Removes elements of a list that equal a value.",
            "1.0.0",
            "O(N) for N elements in the list",
        ],
        lrem,
    ),
    row(
        "linsert",
        5,
        ADD,
        [
            "key <BEFORE | AFTER> pivot element",
            "Puts an element before or after another one in a list.",
            "2.2.0",
            "O(N) for N elements up to the pivot",
        ],
        linsert,
    ),
    row(
        "lpos",
        -3,
        Flags::READONLY,
        [
            "key element [RANK rank] [COUNT num-matches] [MAXLEN len]",
            "Returns the indexes of elements of a list that equal a value.",
            "6.0.6",
            "O(N) for N elements in the list, or as many as MAXLEN allows",
        ],
        lpos,
    ),
    row_on(
        KeySpec::FIRST_TWO,
        "lmove",
        5,
        ADD,
        [
            "source destination <LEFT | RIGHT> <LEFT | RIGHT>",
            "Moves an element from an end of a list to an end of another, or of the same.",
            "6.2.0",
            "O(1)",
        ],
        Handler::Keys(lmove),
    ),
    row_on(
        KeySpec::FIRST_TWO,
        "rpoplpush",
        3,
        ADD,
        [
            "source destination",
            "Moves the last element of a list to the head of another, or of the same.",
            "1.2.0",
            "O(1)",
        ],
        Handler::Keys(rpoplpush),
    ),
];
