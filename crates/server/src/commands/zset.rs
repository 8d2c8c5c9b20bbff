//! Sorted sets: adding, removing and popping members, and what is asked of single ones. Commands on
//! ranges of members are in `range`.

pub mod algebra;
pub mod range;

use engine::listpack;
use engine::zset::{AddFlags, AddOutcome, Zset};
use engine::{Db, Key};
use resp::args::Args;
use resp::reply::{Protocol, Reply};
use smallvec::SmallVec;

use crate::arguments::{count, float, is_word, signed_count};
use crate::command::{Command, Family, Flags, Handler, KeyHandler, KeySpec, Outcome};
use crate::context::Context;
use crate::effects::Effect;
use crate::elements;
use crate::error::{CommandError, SYNTAX};
use crate::scan::{self, ScanOptions};

const NX_AND_XX: CommandError =
    CommandError::fixed("ERR XX and NX options at the same time are not compatible");
const GT_LT_AND_NX: CommandError =
    CommandError::fixed("ERR GT, LT, and/or NX options at the same time are not compatible");
const INCR_OF_MANY: CommandError =
    CommandError::fixed("ERR INCR option supports a single increment-element pair");
const SCORE_NOT_A_NUMBER: CommandError =
    CommandError::fixed("ERR resulting score is not a number (NaN)");

/// Scores of one `ZADD` kept on the stack; more go to the heap.
const SCORES_INLINE: usize = 16;

/// Most members that `ZRANDMEMBER` may be asked for with their scores, as in Redis.
const PAIRS_MAX: usize = (i64::MAX / 2) as usize;

/// The options of `ZADD`, read.
struct AddOptions {
    flags: AddFlags,
    /// `CH`: the reply counts updates too.
    counts_updates: bool,
    /// Index of the first score.
    first_pair: usize,
}

impl AddOptions {
    /// Reads the options behind the key, in the order of Redis's checks.
    fn read(args: Args<'_>, mut flags: AddFlags) -> Result<AddOptions, CommandError> {
        let mut counts_updates = false;
        let mut first_pair = 2;
        for argument in args.skip(2).iter() {
            match argument {
                word if is_word(word, "nx") => flags.nx = true,
                word if is_word(word, "xx") => flags.xx = true,
                word if is_word(word, "gt") => flags.gt = true,
                word if is_word(word, "lt") => flags.lt = true,
                word if is_word(word, "ch") => counts_updates = true,
                word if is_word(word, "incr") => flags.incr = true,
                _ => break,
            }
            first_pair += 1;
        }
        let arguments = args.len() - first_pair;
        if arguments == 0 || !arguments.is_multiple_of(2) {
            return Err(SYNTAX);
        }
        if flags.nx && flags.xx {
            return Err(NX_AND_XX);
        }
        if ((flags.gt || flags.lt) && flags.nx) || (flags.gt && flags.lt) {
            return Err(GT_LT_AND_NX);
        }
        if flags.incr && arguments > 2 {
            return Err(INCR_OF_MANY);
        }
        Ok(AddOptions { flags, counts_updates, first_pair })
    }
}

fn zadd(
    context: &mut Context<'_>,
    db: &mut Db,
    key: Key<'_>,
    args: Args<'_>,
    reply: &mut Reply<'_>,
) -> Outcome {
    add(context, db, key, args, reply, AddFlags::default())
}

/// `ZINCRBY` is `ZADD … INCR` to Redis, which takes the other options here too.
fn zincrby(
    context: &mut Context<'_>,
    db: &mut Db,
    key: Key<'_>,
    args: Args<'_>,
    reply: &mut Reply<'_>,
) -> Outcome {
    add(context, db, key, args, reply, AddFlags { incr: true, ..AddFlags::default() })
}

fn add(
    context: &mut Context<'_>,
    db: &mut Db,
    key: Key<'_>,
    args: Args<'_>,
    reply: &mut Reply<'_>,
    flags: AddFlags,
) -> Outcome {
    let AddOptions { flags, counts_updates, first_pair } = AddOptions::read(args, flags)?;
    let pairs = args.skip(first_pair);
    // All scores are read before anything is added.
    let scores: SmallVec<[f64; SCORES_INLINE]> =
        pairs.iter().step_by(2).map(float).collect::<Result<_, _>>()?;
    let limits = context.limits();
    let zset = match db.collection_mut::<Zset>(context.clock, key)? {
        Some(zset) => {
            zset.expect_members(scores.len(), limits);
            zset
        }
        None if flags.xx => {
            if flags.incr {
                reply.null()
            } else {
                reply.count(0)
            }
            return Ok(Effect::NONE);
        }
        None => {
            let name_bytes = pairs.at(1).len();
            db.collection_or_insert(context.clock, key, || {
                Zset::with_expected(scores.len(), name_bytes, limits)
            })?
        }
    };
    let (mut added, mut updated, mut last_score) = (0, 0, None);
    for (&score, name) in scores.iter().zip(pairs.iter().skip(1).step_by(2)) {
        last_score = match zset.add(name, score, flags, limits) {
            AddOutcome::Added(score) => {
                added += 1;
                Some(score)
            }
            AddOutcome::Updated(score) => {
                updated += 1;
                Some(score)
            }
            AddOutcome::Unchanged(score) => Some(score),
            AddOutcome::Rejected => None,
            // Only a single increment of a member that is there comes here: nothing was changed.
            AddOutcome::NotANumber => return Err(SCORE_NOT_A_NUMBER),
        };
    }
    match last_score {
        _ if !flags.incr => reply.count(if counts_updates { added + updated } else { added }),
        Some(score) => reply.double(score),
        None => reply.null(),
    }
    Ok(Effect::changed(added + updated))
}

fn zrem(
    context: &mut Context<'_>,
    db: &mut Db,
    key: Key<'_>,
    args: Args<'_>,
    reply: &mut Reply<'_>,
) -> Outcome {
    let Some(zset) = db.collection_mut::<Zset>(context.clock, key)? else {
        reply.count(0);
        return Ok(Effect::NONE);
    };
    let removed = args.skip(2).iter().filter(|name| zset.remove(name).is_some()).count();
    if zset.is_empty() {
        db.remove_if_spent::<Zset>(key);
    }
    reply.count(removed);
    Ok(Effect::changed(removed))
}

fn zcard(
    context: &mut Context<'_>,
    db: &mut Db,
    key: Key<'_>,
    _args: Args<'_>,
    reply: &mut Reply<'_>,
) -> Outcome {
    let zset = elements::lookup::<Zset>(context, db, key)?;
    reply.count(zset.map_or(0, Zset::len));
    Ok(Effect::NONE)
}

fn zscore(
    context: &mut Context<'_>,
    db: &mut Db,
    key: Key<'_>,
    args: Args<'_>,
    reply: &mut Reply<'_>,
) -> Outcome {
    let zset = elements::lookup::<Zset>(context, db, key)?;
    double_or_null(reply, zset.and_then(|zset| zset.score(args.at(2))));
    Ok(Effect::NONE)
}

fn zmscore(
    context: &mut Context<'_>,
    db: &mut Db,
    key: Key<'_>,
    args: Args<'_>,
    reply: &mut Reply<'_>,
) -> Outcome {
    let zset = elements::lookup::<Zset>(context, db, key)?;
    let names = args.skip(2);
    reply.array(names.len());
    for name in names.iter() {
        double_or_null(reply, zset.and_then(|zset| zset.score(name)));
    }
    Ok(Effect::NONE)
}

#[inline]
fn double_or_null(reply: &mut Reply<'_>, score: Option<f64>) {
    match score {
        Some(score) => reply.double(score),
        None => reply.null(),
    }
}

fn zrank(
    context: &mut Context<'_>,
    db: &mut Db,
    key: Key<'_>,
    args: Args<'_>,
    reply: &mut Reply<'_>,
) -> Outcome {
    rank(context, db, key, args, reply, false)
}

fn zrevrank(
    context: &mut Context<'_>,
    db: &mut Db,
    key: Key<'_>,
    args: Args<'_>,
    reply: &mut Reply<'_>,
) -> Outcome {
    rank(context, db, key, args, reply, true)
}

fn rank(
    context: &mut Context<'_>,
    db: &mut Db,
    key: Key<'_>,
    args: Args<'_>,
    reply: &mut Reply<'_>,
    reverse: bool,
) -> Outcome {
    if args.len() > 4 {
        return Err(CommandError::wrong_arity(context.command.name));
    }
    let with_score = match args.get(3) {
        None => false,
        Some(word) if is_word(word, "withscore") => true,
        Some(_) => return Err(SYNTAX),
    };
    let zset = elements::lookup::<Zset>(context, db, key)?;
    match zset.and_then(|zset| zset.rank(args.at(2), reverse)) {
        Some((rank, score)) if with_score => {
            reply.array(2);
            reply.count(rank);
            reply.double(score);
        }
        Some((rank, _)) => reply.count(rank),
        None if with_score => reply.null_array(),
        None => reply.null(),
    }
    Ok(Effect::NONE)
}

fn zpopmin(
    context: &mut Context<'_>,
    db: &mut Db,
    key: Key<'_>,
    args: Args<'_>,
    reply: &mut Reply<'_>,
) -> Outcome {
    pop(context, db, key, args, reply, false)
}

fn zpopmax(
    context: &mut Context<'_>,
    db: &mut Db,
    key: Key<'_>,
    args: Args<'_>,
    reply: &mut Reply<'_>,
) -> Outcome {
    pop(context, db, key, args, reply, true)
}

fn pop(
    context: &mut Context<'_>,
    db: &mut Db,
    key: Key<'_>,
    args: Args<'_>,
    reply: &mut Reply<'_>,
    greatest: bool,
) -> Outcome {
    if args.len() > 3 {
        return Err(SYNTAX);
    }
    let wanted = args.get(2).map(count).transpose()?;
    let Some(zset) = db.collection_mut::<Zset>(context.clock, key)? else {
        reply.array(0);
        return Ok(Effect::NONE);
    };
    let len = zset.len();
    let popped = wanted.unwrap_or(1).min(len);
    // One pair stands alone, more are nested, in RESP3 only.
    let shape = if wanted.is_some() { Shape::pairs(reply) } else { Shape::Flat };
    shape.begin(reply, popped);
    if popped == len {
        for (name, score) in zset.iter(0..len, greatest) {
            shape.pair(reply, name, score);
        }
        context.discard(db.remove(context.clock, key));
    } else {
        zset.pop(popped, greatest, |name, score| shape.pair(reply, name, score));
    }
    Ok(Effect::changed(popped))
}

fn zscan(
    context: &mut Context<'_>,
    db: &mut Db,
    key: Key<'_>,
    args: Args<'_>,
    reply: &mut Reply<'_>,
) -> Outcome {
    let mut cursor = scan::cursor(args.at(2))?;
    let Some(zset) = elements::lookup::<Zset>(context, db, key)? else {
        scan::answer_nothing(reply);
        return Ok(Effect::NONE);
    };
    let options = ScanOptions::parse(args, false)?;
    scan::answer(reply, |reply| {
        let (mut visited, mut written) = (0, 0);
        loop {
            cursor = zset.scan(cursor, |name, score| {
                visited += 1;
                if options.admits(name) {
                    elements::bulk(reply, name);
                    bulk_scanned_score(reply, score, zset.is_compact());
                    written += 2;
                }
            });
            if cursor == 0 || visited >= options.count {
                return (cursor, written);
            }
        }
    });
    Ok(Effect::NONE)
}

/// Answers a score as `ZSCAN` does: Redis prints those of a large set with 17 digits here.
fn bulk_scanned_score(reply: &mut Reply<'_>, score: f64, is_compact: bool) {
    reply.bulk_written(|bytes| {
        if is_compact {
            text::float::push(bytes, score);
        } else {
            text::float::push_17_digits(bytes, score);
        }
    });
}

fn zrandmember(
    context: &mut Context<'_>,
    db: &mut Db,
    key: Key<'_>,
    args: Args<'_>,
    reply: &mut Reply<'_>,
) -> Outcome {
    let Some(argument) = args.get(2) else {
        let zset = elements::lookup::<Zset>(context, db, key)?;
        let drawn = zset.and_then(|zset| zset.random(&mut context.worker.random));
        elements::bulk_or_null(reply, drawn.map(|(name, _)| name));
        return Ok(Effect::NONE);
    };
    let wanted = signed_count(argument)?;
    let with_scores = match args.get(3) {
        None => false,
        Some(word) if args.len() == 4 && is_word(word, "withscores") => true,
        Some(_) => return Err(SYNTAX),
    };
    let most = usize::try_from(wanted.unsigned_abs()).unwrap_or(usize::MAX);
    if with_scores && most > PAIRS_MAX {
        return Err(elements::TOO_MANY_DRAWS);
    }
    let Some(zset) = elements::lookup::<Zset>(context, db, key)? else {
        reply.array(0);
        return Ok(Effect::NONE);
    };
    let drawn = elements::draws(wanted, zset.len())?;
    let random = &mut context.worker.random;
    let shape = if with_scores { Shape::pairs(reply) } else { Shape::Names };
    shape.begin(reply, drawn);
    if wanted >= 0 {
        zset.random_distinct(drawn, random, |name, score| shape.pair(reply, name, score));
    } else {
        for _ in 0..drawn {
            let (name, score) = zset.random(random).expect("a sorted set that is kept has members");
            shape.pair(reply, name, score);
        }
    }
    Ok(Effect::NONE)
}

/// How members are laid out in a reply.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) enum Shape {
    /// Without their scores.
    Names,
    /// Member, score, member, score, …
    Flat,
    /// An array of two for each.
    Nested,
}

impl Shape {
    /// Members with scores, as the protocol of `reply` has them.
    pub(super) fn pairs(reply: &Reply<'_>) -> Shape {
        if reply.protocol() == Protocol::Resp3 { Shape::Nested } else { Shape::Flat }
    }

    /// Writes the header for `members` members.
    pub(super) fn begin(self, reply: &mut Reply<'_>, members: usize) {
        reply.array(if self == Shape::Flat { 2 * members } else { members });
    }

    /// Writes one member.
    #[inline]
    pub(super) fn pair(self, reply: &mut Reply<'_>, name: listpack::Entry<'_>, score: f64) {
        if self == Shape::Nested {
            reply.array(2);
        }
        elements::bulk(reply, name);
        if self != Shape::Names {
            reply.double(score);
        }
    }
}

const FAST_ADD: Flags = Flags::WRITE.union(Flags::DENYOOM).union(Flags::FAST);
const FAST_TAKE: Flags = Flags::WRITE.union(Flags::FAST);
const FAST_READ: Flags = Flags::READONLY.union(Flags::FAST);

const FAMILY: Family = Family { group: "sorted-set", categories: &["sortedset"] };

/// A row of this family; `doc` is syntax, summary, first version and complexity.
pub(super) const fn row(
    name: &'static str,
    arity: i16,
    flags: Flags,
    doc: [&'static str; 4],
    handler: KeyHandler,
) -> Command {
    FAMILY.row(name, arity, flags, KeySpec::FIRST, doc, Handler::Key(handler))
}

/// The family's commands on single members, and popping.
pub const COMMANDS: &[Command] = &[
    row(
        "zadd",
        -4,
        FAST_ADD,
        [
            "key [NX | XX] [GT | LT] [CH] [INCR] score member [score member ...]",
            "Adds members to a sorted set, or gives members new scores.",
            "1.2.0",
            "O(log(N)) for each member, N being the size of the sorted set",
        ],
        zadd,
    ),
    row(
        "zincrby",
        4,
        FAST_ADD,
        [
            "key increment member",
            "Adds to the score of a member, which is made if it is not there.",
            "1.2.0",
            "O(log(N)) for N members",
        ],
        zincrby,
    ),
    row(
        "zrem",
        -3,
        FAST_TAKE,
        [
            "key member [member ...]",
            "Removes members from a sorted set.",
            "1.2.0",
            "O(M*log(N)) for M of N members",
        ],
        zrem,
    ),
    row(
        "zcard",
        2,
        FAST_READ,
        ["key", "Counts the members of a sorted set.", "1.2.0", "O(1)"],
        zcard,
    ),
    row(
        "zscore",
        3,
        FAST_READ,
        ["key member", "Returns the score of a member.", "1.2.0", "O(1)"],
        zscore,
    ),
    row(
        "zmscore",
        -3,
        FAST_READ,
        [
            "key member [member ...]",
            "Returns the scores of several members.",
            "6.2.0",
            "O(N) for N members asked for",
        ],
        zmscore,
    ),
    row(
        "zrank",
        -3,
        FAST_READ,
        [
            "key member [WITHSCORE]",
            "Returns the place of a member, counted from the least score.",
            "2.0.0",
            "O(log(N)) for N members",
        ],
        zrank,
    ),
    row(
        "zrevrank",
        -3,
        FAST_READ,
        [
            "key member [WITHSCORE]",
            "Returns the place of a member, counted from the greatest score.",
            "2.0.0",
            "O(log(N)) for N members",
        ],
        zrevrank,
    ),
    row(
        "zpopmin",
        -2,
        FAST_TAKE,
        [
            "key [count]",
            "Takes out the members with the least scores.",
            "5.0.0",
            "O(log(N)*M) for M of N members",
        ],
        zpopmin,
    ),
    row(
        "zpopmax",
        -2,
        FAST_TAKE,
        [
            "key [count]",
            "Takes out the members with the greatest scores.",
            "5.0.0",
            "O(log(N)*M) for M of N members",
        ],
        zpopmax,
    ),
    row(
        "zrandmember",
        -2,
        Flags::READONLY,
        [
            "key [count [WITHSCORES]]",
            "Returns members drawn at random.",
            "6.2.0",
            "O(N) for N members drawn",
        ],
        zrandmember,
    ),
    row(
        "zscan",
        -3,
        Flags::READONLY,
        [
            "key cursor [MATCH pattern] [COUNT count]",
            "Walks through the members of a sorted set step by step.",
            "2.8.0",
            "O(1) a step, O(N) in all for N members",
        ],
        zscan,
    ),
];
