//! The commands whose keys stand behind their number and that pop from the first that has anything,
//! or count what sets have in common: `LMPOP`, `ZMPOP`, `SINTERCARD`.

use engine::list::{List, Side};
use engine::set::Set;
use engine::zset::Zset;
use engine::{Db, Key};
use resp::args::Args;
use resp::reply::Reply;

use crate::arguments::{Options, is_word};
use crate::command::{Command, Family, Flags, Handler, KeySpec, Locked, Outcome};
use crate::context::Context;
use crate::effects::Effect;
use crate::elements;
use crate::error::{CommandError, SYNTAX};

const NO_KEYS: CommandError = CommandError::fixed("ERR numkeys should be greater than 0");
const NO_COUNT: CommandError = CommandError::fixed("ERR count should be greater than 0");
const TOO_MANY_KEYS: CommandError =
    CommandError::fixed("ERR Number of keys can't be greater than number of args");
const NEGATIVE_LIMIT: CommandError = CommandError::fixed("ERR LIMIT can't be negative");

/// A number that must be at least one, else `error`.
fn at_least_one(bytes: &[u8], error: CommandError) -> Result<usize, CommandError> {
    let number = text::integer::parse_i64(bytes).filter(|number| *number > 0);
    number.map(|number| number as usize).ok_or(error)
}

/// Reads `numkeys key [key ...] <first | second> [COUNT count]` from argument `at` on: whether the
/// second word stands there, and the count.
pub(super) fn pop_options(
    args: Args<'_>,
    at: usize,
    words: [&str; 2],
) -> Result<(bool, usize), CommandError> {
    let key_count = at_least_one(args.at(at), NO_KEYS)?;
    let mut options = Options::new(args, at.saturating_add(key_count).saturating_add(1));
    let side = options.value()?;
    let is_second = match words {
        [first, _] if is_word(side, first) => false,
        [_, second] if is_word(side, second) => true,
        _ => return Err(SYNTAX),
    };
    let mut count = None;
    while let Some(option) = options.next() {
        if count.is_some() || !is_word(option, "count") {
            return Err(SYNTAX);
        }
        count = Some(at_least_one(options.value()?, NO_COUNT)?);
    }
    Ok((is_second, count.unwrap_or(1)))
}

fn lmpop(
    context: &mut Context<'_>,
    locked: &mut Locked<'_>,
    args: Args<'_>,
    reply: &mut Reply<'_>,
) -> Outcome {
    let (from_right, count) = pop_options(args, 1, ["left", "right"])?;
    let side = if from_right { Side::Right } else { Side::Left };
    for place in 0..locked.key_count() {
        let key = locked.key(place);
        if locked.db(key).collection::<List>(context.clock, key)?.is_none() {
            continue;
        }
        reply.array(2);
        reply.bulk(key.bytes);
        locked.note_changed(place);
        return super::list::pop_count(context, locked.db(key), key, count, reply, side);
    }
    reply.null_array();
    Ok(Effect::NONE)
}

fn zmpop(
    context: &mut Context<'_>,
    locked: &mut Locked<'_>,
    args: Args<'_>,
    reply: &mut Reply<'_>,
) -> Outcome {
    let (greatest, count) = pop_options(args, 1, ["min", "max"])?;
    for place in 0..locked.key_count() {
        let key = locked.key(place);
        if locked.db(key).collection::<Zset>(context.clock, key)?.is_none() {
            continue;
        }
        locked.note_changed(place);
        return pop_scores(context, locked.db(key), key, count, reply, greatest);
    }
    reply.null_array();
    Ok(Effect::NONE)
}

/// Pops up to `count` members and answers the key with pairs of names and scores.
pub(super) fn pop_scores(
    context: &mut Context<'_>,
    db: &mut Db,
    key: Key<'_>,
    count: usize,
    reply: &mut Reply<'_>,
    greatest: bool,
) -> Outcome {
    let Some(zset) = db.collection_mut::<Zset>(context.clock, key)? else {
        return Ok(Effect::NONE);
    };
    let popped = count.min(zset.len());
    reply.array(2);
    reply.bulk(key.bytes);
    reply.array(popped);
    zset.pop(popped, greatest, |name, score| {
        reply.array(2);
        elements::bulk(reply, name);
        reply.double(score);
    });
    db.remove_if_spent::<Zset>(key);
    Ok(Effect::changed(popped))
}

fn sintercard(
    context: &mut Context<'_>,
    locked: &mut Locked<'_>,
    args: Args<'_>,
    reply: &mut Reply<'_>,
) -> Outcome {
    let key_count = at_least_one(args.at(1), NO_KEYS)?;
    if key_count > args.len() - 2 {
        return Err(TOO_MANY_KEYS);
    }
    let mut limit = 0;
    let mut options = Options::new(args, 2 + key_count);
    while let Some(option) = options.next() {
        if !is_word(option, "limit") {
            return Err(SYNTAX);
        }
        let number = text::integer::parse_i64(options.value()?).ok_or(NEGATIVE_LIMIT)?;
        limit = usize::try_from(number).map_err(|_| NEGATIVE_LIMIT)?;
    }
    for place in 0..locked.key_count() {
        let key = locked.key(place);
        elements::lookup::<Set>(context, locked.db(key), key)?;
    }
    let view = |place| {
        let key = locked.key(place);
        locked.view(key)?.view::<Set>(context.clock, key)
    };
    let sets: Option<Vec<&Set>> = (0..locked.key_count()).map(view).collect();
    let mut sets = sets.unwrap_or_default();
    sets.sort_by_key(|set| set.len());
    let Some((smallest, others)) = sets.split_first() else {
        reply.count(0);
        return Ok(Effect::NONE);
    };
    let mut digits = itoa::Buffer::new();
    let common = smallest.iter().filter(|member| {
        let text = member.text(&mut digits);
        others.iter().all(|set| set.contains(text))
    });
    reply.count(common.take(if limit == 0 { usize::MAX } else { limit }).count());
    Ok(Effect::NONE)
}

const MOVABLE: Flags = Flags::MOVABLE_KEYS;
const TAKE: Flags = Flags::WRITE.union(MOVABLE);

const LISTS: Family = Family { group: "list", categories: &["list"] };
const ZSETS: Family = Family { group: "sorted-set", categories: &["sortedset"] };
const SETS: Family = Family { group: "set", categories: &["set"] };

/// The commands of three families that have this in common.
pub const COMMANDS: &[Command] = &[
    LISTS.row(
        "lmpop",
        -4,
        TAKE,
        KeySpec::counted(1),
        [
            "numkeys key [key ...] <LEFT | RIGHT> [COUNT count]",
            "Pops elements from the first of several lists that has any.",
            "7.0.0",
            "O(N+M) for N keys and M elements",
        ],
        Handler::Keys(lmpop),
    ),
    ZSETS.row(
        "zmpop",
        -4,
        TAKE,
        KeySpec::counted(1),
        [
            "numkeys key [key ...] <MIN | MAX> [COUNT count]",
            "Pops members from the first of several sorted sets that has any.",
            "7.0.0",
            "O(K) + O(M*log(N)) for K keys, M members popped and N in the set",
        ],
        Handler::Keys(zmpop),
    ),
    SETS.row(
        "sintercard",
        -3,
        Flags::READONLY.union(MOVABLE),
        KeySpec::counted(1),
        [
            "numkeys key [key ...] [LIMIT limit]",
            "Counts what all of several sets have in common.",
            "7.0.0",
            "O(N*M) worst case where N is the smallest set and M the number of sets",
        ],
        Handler::Keys(sintercard),
    ),
];
