//! Sorted sets: ranges of members by place, score or name, to read, count or remove.

use std::ops::Range;

use engine::zset::range::{LexRange, ScoreRange, limit_ranks, ranks_of_indexes};
use engine::zset::{AddFlags, Zset};
use engine::{Db, Key};
use resp::args::Args;
use resp::reply::Reply;

use super::{FAST_READ, Shape, row};
use crate::arguments::{Options, integer, is_word};
use crate::command::{Command, Flags, Outcome};
use crate::context::Context;
use crate::effects::Effect;
use crate::elements;
use crate::error::{CommandError, SYNTAX};

const LIMIT_OF_INDEXES: CommandError = CommandError::fixed(
    "ERR syntax error, LIMIT is only supported in combination with either BYSCORE or BYLEX",
);
const SCORES_OF_NAMES: CommandError =
    CommandError::fixed("ERR syntax error, WITHSCORES not supported in combination with BYLEX");
const BOUND_NOT_A_FLOAT: CommandError = CommandError::fixed("ERR min or max is not a float");
const BOUND_NOT_A_NAME: CommandError =
    CommandError::fixed("ERR min or max not valid string range item");

/// What the ends of a range are.
#[derive(Clone, Copy, PartialEq, Eq)]
enum By {
    Index,
    Score,
    Name,
}

/// A range as a command gives it.
enum Bounds<'a> {
    Indexes(i64, i64),
    Scores(ScoreRange),
    Names(LexRange<'a>),
}

impl<'a> Bounds<'a> {
    fn read(by: By, min: &'a [u8], max: &'a [u8]) -> Result<Bounds<'a>, CommandError> {
        Ok(match by {
            By::Index => Bounds::Indexes(integer(min)?, integer(max)?),
            By::Score => Bounds::Scores(ScoreRange::parse(min, max).ok_or(BOUND_NOT_A_FLOAT)?),
            By::Name => Bounds::Names(LexRange::parse(min, max).ok_or(BOUND_NOT_A_NAME)?),
        })
    }

    /// The ranks of the members in it; `reverse` counts indexes from the greatest member.
    fn ranks(&self, zset: &Zset, reverse: bool) -> Range<usize> {
        match self {
            Bounds::Indexes(start, stop) => ranks_of_indexes(*start, *stop, zset.len(), reverse),
            Bounds::Scores(range) => zset.ranks_of_scores(range),
            Bounds::Names(range) => zset.ranks_of_names(range, reverse),
        }
    }
}

/// What a reading command's name says already; `ZRANGE` leaves all of it to options.
#[derive(Clone, Copy)]
struct Form {
    by: Option<By>,
    reverse: Option<bool>,
}

/// The options of a reading command, those that its name implies among them.
struct RangeOptions {
    by: By,
    reverse: bool,
    with_scores: bool,
    offset: i64,
    limit: i64,
}

impl RangeOptions {
    /// Reads the options behind key and ends, in the order of Redis's checks.
    fn read(args: Args<'_>, form: Form) -> Result<RangeOptions, CommandError> {
        let Form { mut by, mut reverse } = form;
        let (mut with_scores, mut offset, mut limit) = (false, 0, -1);
        let mut options = Options::new(args, 4);
        while let Some(option) = options.next() {
            if is_word(option, "withscores") {
                with_scores = true;
            } else if is_word(option, "limit") && options.remaining() >= 2 {
                offset = integer(options.value()?)?;
                limit = integer(options.value()?)?;
            } else if form.reverse.is_none() && reverse.is_none() && is_word(option, "rev") {
                reverse = Some(true);
            } else if by.is_none() && is_word(option, "bylex") {
                by = Some(By::Name);
            } else if by.is_none() && is_word(option, "byscore") {
                by = Some(By::Score);
            } else {
                return Err(SYNTAX);
            }
        }
        let by = by.unwrap_or(By::Index);
        if limit != -1 && by == By::Index {
            return Err(LIMIT_OF_INDEXES);
        }
        if with_scores && by == By::Name {
            return Err(SCORES_OF_NAMES);
        }
        Ok(RangeOptions { by, reverse: reverse.unwrap_or(false), with_scores, offset, limit })
    }

    /// What `LIMIT` leaves of `ranks`: nothing after a negative offset, all for a negative count.
    fn limited(&self, ranks: Range<usize>) -> Range<usize> {
        if self.by == By::Index {
            return ranks;
        }
        match usize::try_from(self.offset) {
            Ok(offset) => {
                limit_ranks(ranks, self.reverse, offset, usize::try_from(self.limit).ok())
            }
            Err(_) => 0..0,
        }
    }
}

fn zrange(
    context: &mut Context<'_>,
    db: &mut Db,
    key: Key<'_>,
    args: Args<'_>,
    reply: &mut Reply<'_>,
) -> Outcome {
    read(context, db, key, args, reply, Form { by: None, reverse: None })
}

fn zrangebyscore(
    context: &mut Context<'_>,
    db: &mut Db,
    key: Key<'_>,
    args: Args<'_>,
    reply: &mut Reply<'_>,
) -> Outcome {
    read(context, db, key, args, reply, Form { by: Some(By::Score), reverse: Some(false) })
}

fn zrangebylex(
    context: &mut Context<'_>,
    db: &mut Db,
    key: Key<'_>,
    args: Args<'_>,
    reply: &mut Reply<'_>,
) -> Outcome {
    read(context, db, key, args, reply, Form { by: Some(By::Name), reverse: Some(false) })
}

fn zrevrange(
    context: &mut Context<'_>,
    db: &mut Db,
    key: Key<'_>,
    args: Args<'_>,
    reply: &mut Reply<'_>,
) -> Outcome {
    read(context, db, key, args, reply, Form { by: Some(By::Index), reverse: Some(true) })
}

fn zrevrangebyscore(
    context: &mut Context<'_>,
    db: &mut Db,
    key: Key<'_>,
    args: Args<'_>,
    reply: &mut Reply<'_>,
) -> Outcome {
    read(context, db, key, args, reply, Form { by: Some(By::Score), reverse: Some(true) })
}

fn zrevrangebylex(
    context: &mut Context<'_>,
    db: &mut Db,
    key: Key<'_>,
    args: Args<'_>,
    reply: &mut Reply<'_>,
) -> Outcome {
    read(context, db, key, args, reply, Form { by: Some(By::Name), reverse: Some(true) })
}

fn read(
    context: &mut Context<'_>,
    db: &mut Db,
    key: Key<'_>,
    args: Args<'_>,
    reply: &mut Reply<'_>,
    form: Form,
) -> Outcome {
    let options = RangeOptions::read(args, form)?;
    let (first, second) = (args.at(2), args.at(3));
    // Backwards, the greater end comes first, but indexes count in the direction of travel.
    let (min, max) =
        if options.reverse && options.by != By::Index { (second, first) } else { (first, second) };
    let bounds = Bounds::read(options.by, min, max)?;
    let Some(zset) = elements::lookup::<Zset>(context, db, key)? else {
        reply.array(0);
        return Ok(Effect::NONE);
    };
    let ranks = options.limited(bounds.ranks(zset, options.reverse));
    let members = zset.iter(ranks, options.reverse);
    let shape = if options.with_scores { Shape::pairs(reply) } else { Shape::Names };
    shape.begin(reply, members.len());
    for (name, score) in members {
        shape.pair(reply, name, score);
    }
    Ok(Effect::NONE)
}

/// The members that the arguments of a reading command choose, as a sorted set (`ZRANGESTORE`, whose
/// arguments from the second key on are those of `ZRANGE`).
pub fn chosen(
    context: &mut Context<'_>,
    db: &mut Db,
    key: Key<'_>,
    args: Args<'_>,
) -> Result<Zset, CommandError> {
    let options = RangeOptions::read(args, Form { by: None, reverse: None })?;
    if options.with_scores {
        return Err(SYNTAX);
    }
    let (first, second) = (args.at(2), args.at(3));
    let (min, max) =
        if options.reverse && options.by != By::Index { (second, first) } else { (first, second) };
    let bounds = Bounds::read(options.by, min, max)?;
    let mut chosen = Zset::new();
    if let Some(zset) = elements::lookup::<Zset>(context, db, key)? {
        let ranks = options.limited(bounds.ranks(zset, options.reverse));
        let mut digits = itoa::Buffer::new();
        for (name, score) in zset.iter(ranks, false) {
            chosen.add(name.text(&mut digits), score, AddFlags::default(), context.limits());
        }
    }
    Ok(chosen)
}

fn zcount(
    context: &mut Context<'_>,
    db: &mut Db,
    key: Key<'_>,
    args: Args<'_>,
    reply: &mut Reply<'_>,
) -> Outcome {
    tally(context, db, key, args, reply, By::Score)
}

fn zlexcount(
    context: &mut Context<'_>,
    db: &mut Db,
    key: Key<'_>,
    args: Args<'_>,
    reply: &mut Reply<'_>,
) -> Outcome {
    tally(context, db, key, args, reply, By::Name)
}

fn tally(
    context: &mut Context<'_>,
    db: &mut Db,
    key: Key<'_>,
    args: Args<'_>,
    reply: &mut Reply<'_>,
    by: By,
) -> Outcome {
    let bounds = Bounds::read(by, args.at(2), args.at(3))?;
    let zset = elements::lookup::<Zset>(context, db, key)?;
    reply.count(zset.map_or(0, |zset| bounds.ranks(zset, false).len()));
    Ok(Effect::NONE)
}

fn zremrangebyrank(
    context: &mut Context<'_>,
    db: &mut Db,
    key: Key<'_>,
    args: Args<'_>,
    reply: &mut Reply<'_>,
) -> Outcome {
    remove(context, db, key, args, reply, By::Index)
}

fn zremrangebyscore(
    context: &mut Context<'_>,
    db: &mut Db,
    key: Key<'_>,
    args: Args<'_>,
    reply: &mut Reply<'_>,
) -> Outcome {
    remove(context, db, key, args, reply, By::Score)
}

fn zremrangebylex(
    context: &mut Context<'_>,
    db: &mut Db,
    key: Key<'_>,
    args: Args<'_>,
    reply: &mut Reply<'_>,
) -> Outcome {
    remove(context, db, key, args, reply, By::Name)
}

fn remove(
    context: &mut Context<'_>,
    db: &mut Db,
    key: Key<'_>,
    args: Args<'_>,
    reply: &mut Reply<'_>,
    by: By,
) -> Outcome {
    let bounds = Bounds::read(by, args.at(2), args.at(3))?;
    let Some(zset) = db.collection_mut::<Zset>(context.clock, key)? else {
        reply.count(0);
        return Ok(Effect::NONE);
    };
    let ranks = bounds.ranks(zset, false);
    let removed = ranks.len();
    if removed == zset.len() {
        context.discard(db.remove(context.clock, key));
    } else {
        zset.remove_ranks(ranks);
    }
    reply.count(removed);
    Ok(Effect::changed(removed))
}

/// The family's commands on ranges.
pub const COMMANDS: &[Command] = &[
    row(
        "zrange",
        -4,
        Flags::READONLY,
        [
            "key start stop [BYSCORE | BYLEX] [REV] [LIMIT offset count] [WITHSCORES]",
            "Returns members in a range of places, scores or names.",
            "1.2.0",
            "O(log(N)+M) for M of N members",
        ],
        zrange,
    ),
    row(
        "zrangebyscore",
        -4,
        Flags::READONLY,
        [
            "key min max [WITHSCORES] [LIMIT offset count]",
            "Returns members in a range of scores.",
            "1.0.5",
            "O(log(N)+M) for M of N members",
        ],
        zrangebyscore,
    ),
    row(
        "zrangebylex",
        -4,
        Flags::READONLY,
        [
            "key min max [LIMIT offset count]",
            "Returns members in a range of names.",
            "2.8.9",
            "O(log(N)+M) for M of N members",
        ],
        zrangebylex,
    ),
    row(
        "zrevrange",
        -4,
        Flags::READONLY,
        [
            "key start stop [WITHSCORES]",
            "Returns members in a range of places, the greatest score first.",
            "1.2.0",
            "O(log(N)+M) for M of N members",
        ],
        zrevrange,
    ),
    row(
        "zrevrangebyscore",
        -4,
        Flags::READONLY,
        [
            "key max min [WITHSCORES] [LIMIT offset count]",
            "Returns members in a range of scores, the greatest first.",
            "2.2.0",
            "O(log(N)+M) for M of N members",
        ],
        zrevrangebyscore,
    ),
    row(
        "zrevrangebylex",
        -4,
        Flags::READONLY,
        [
            "key max min [LIMIT offset count]",
            "Returns members in a range of names, the last first.",
            "2.8.9",
            "O(log(N)+M) for M of N members",
        ],
        zrevrangebylex,
    ),
    row(
        "zcount",
        4,
        FAST_READ,
        [
            "key min max",
            "Counts the members in a range of scores.",
            "2.0.0",
            "O(log(N)) for N members",
        ],
        zcount,
    ),
    row(
        "zlexcount",
        4,
        FAST_READ,
        [
            "key min max",
            "Counts the members in a range of names.",
            "2.8.9",
            "O(log(N)) for N members",
        ],
        zlexcount,
    ),
    row(
        "zremrangebyrank",
        4,
        Flags::WRITE,
        [
            "key start stop",
            "Removes the members in a range of places.",
            "2.0.0",
            "O(log(N)+M) for M of N members",
        ],
        zremrangebyrank,
    ),
    row(
        "zremrangebyscore",
        4,
        Flags::WRITE,
        [
            "key min max",
            "Removes the members in a range of scores.",
            "1.2.0",
            "O(log(N)+M) for M of N members",
        ],
        zremrangebyscore,
    ),
    row(
        "zremrangebylex",
        4,
        Flags::WRITE,
        [
            "key min max",
            "Removes the members in a range of names.",
            "2.8.9",
            "O(log(N)+M) for M of N members",
        ],
        zremrangebylex,
    ),
];
