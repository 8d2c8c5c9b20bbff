//! Unions, intersections and differences of sorted sets, among which plain sets count as sorted sets
//! whose scores are all 1; and the storing of ranges.

use engine::listpack::Entry;
use engine::set::Set;
use engine::zset::{AddFlags, Zset};
use engine::{Collection, Expiry, ValueRef};
use resp::args::Args;
use resp::reply::Reply;

use super::Shape;
use crate::arguments::{Options, integer, is_word};
use crate::command::{Command, Flags, Handler, KeySpec, Locked, Outcome};
use crate::context::Context;
use crate::effects::Effect;
use crate::error::{CommandError, SYNTAX, WRONG_TYPE};

const WEIGHT_NOT_A_FLOAT: CommandError = CommandError::fixed("ERR weight value is not a float");
const NEGATIVE_LIMIT: CommandError = CommandError::fixed("ERR LIMIT can't be negative");

#[derive(Clone, Copy, PartialEq, Eq)]
enum Operation {
    Union,
    Intersection,
    Difference,
}

/// What becomes of the result.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Purpose {
    Answer,
    Store,
    Count,
}

#[derive(Clone, Copy)]
enum Aggregate {
    Sum,
    Min,
    Max,
}

impl Aggregate {
    fn of(self, left: f64, right: f64) -> f64 {
        match self {
            // Opposite infinities have no sum; Redis takes zero.
            Aggregate::Sum => number_or_zero(left + right),
            Aggregate::Min => left.min(right),
            Aggregate::Max => left.max(right),
        }
    }
}

fn number_or_zero(number: f64) -> f64 {
    if number.is_nan() { 0.0 } else { number }
}

/// The options behind the keys.
struct AlgebraOptions {
    weights: Vec<f64>,
    aggregate: Aggregate,
    with_scores: bool,
    limit: usize,
}

impl AlgebraOptions {
    fn read(
        args: Args<'_>,
        at: usize,
        key_count: usize,
        operation: Operation,
        purpose: Purpose,
    ) -> Result<AlgebraOptions, CommandError> {
        let mut read = AlgebraOptions {
            weights: vec![1.0; key_count],
            aggregate: Aggregate::Sum,
            with_scores: false,
            limit: 0,
        };
        let joins = operation != Operation::Difference && purpose != Purpose::Count;
        let mut options = Options::new(args, at);
        while let Some(option) = options.next() {
            let remaining = options.remaining();
            if joins && remaining >= key_count && is_word(option, "weights") {
                for weight in &mut read.weights {
                    *weight = text::float::parse(options.value()?).ok_or(WEIGHT_NOT_A_FLOAT)?;
                }
            } else if joins && remaining >= 1 && is_word(option, "aggregate") {
                let name = options.value()?;
                read.aggregate = match name {
                    _ if is_word(name, "sum") => Aggregate::Sum,
                    _ if is_word(name, "min") => Aggregate::Min,
                    _ if is_word(name, "max") => Aggregate::Max,
                    _ => return Err(SYNTAX),
                };
            } else if purpose == Purpose::Answer && is_word(option, "withscores") {
                read.with_scores = true;
            } else if purpose == Purpose::Count && remaining >= 1 && is_word(option, "limit") {
                let number = text::integer::parse_i64(options.value()?).ok_or(NEGATIVE_LIMIT)?;
                read.limit = usize::try_from(number).map_err(|_| NEGATIVE_LIMIT)?;
            } else {
                return Err(SYNTAX);
            }
        }
        Ok(read)
    }
}

/// What stands at a key, for reading.
#[derive(Clone, Copy)]
enum Source<'a> {
    Nothing,
    Zset(&'a Zset),
    Set(&'a Set),
}

impl Source<'_> {
    fn len(&self) -> usize {
        match self {
            Source::Nothing => 0,
            Source::Zset(zset) => zset.len(),
            Source::Set(set) => set.len(),
        }
    }

    fn score(&self, name: &[u8]) -> Option<f64> {
        match self {
            Source::Nothing => None,
            Source::Zset(zset) => zset.score(name),
            Source::Set(set) => set.contains(name).then_some(1.0),
        }
    }

    fn for_each(&self, mut visit: impl FnMut(Entry<'_>, f64)) {
        match self {
            Source::Nothing => {}
            Source::Zset(zset) => {
                zset.iter(0..zset.len(), false).for_each(|(name, score)| visit(name, score));
            }
            Source::Set(set) => set.iter().for_each(|name| visit(name, 1.0)),
        }
    }
}

fn compute(
    context: &mut Context<'_>,
    locked: &mut Locked<'_>,
    args: Args<'_>,
    reply: &mut Reply<'_>,
    operation: Operation,
    purpose: Purpose,
) -> Outcome {
    let first = usize::from(purpose == Purpose::Store);
    let key_count = integer(args.at(1 + first))?;
    if key_count < 1 {
        return Err(CommandError::new(format!(
            "ERR at least 1 input key is needed for '{}' command",
            context.command.name
        )));
    }
    if locked.key_count() == first {
        return Err(SYNTAX);
    }
    for place in first..locked.key_count() {
        let key = locked.key(place);
        let found = locked.db(key).get(context.clock, key);
        context.count_lookup(found.is_some());
        if !matches!(found, None | Some(ValueRef::Zset(_) | ValueRef::Set(_))) {
            return Err(WRONG_TYPE);
        }
    }
    let key_count = locked.key_count() - first;
    let at = 2 + first + key_count;
    let options = AlgebraOptions::read(args, at, key_count, operation, purpose)?;
    let source = |place| {
        let key = locked.key(place);
        let db = locked.view(key)?;
        let zset = db.view(context.clock, key).map(Source::Zset);
        zset.or_else(|| db.view(context.clock, key).map(Source::Set))
    };
    let sources: Vec<Source<'_>> =
        (first..locked.key_count()).map(|place| source(place).unwrap_or(Source::Nothing)).collect();
    let result = match operation {
        Operation::Union => union(context, sources, &options),
        Operation::Intersection => intersection(context, sources, &options),
        Operation::Difference => difference(context, &sources),
    };
    match purpose {
        Purpose::Count => {
            let most = if options.limit == 0 { usize::MAX } else { options.limit };
            reply.count(result.len().min(most));
            Ok(Effect::NONE)
        }
        Purpose::Answer => {
            let shape = if options.with_scores { Shape::pairs(reply) } else { Shape::Names };
            shape.begin(reply, result.len());
            result.iter(0..result.len(), false).for_each(|(name, score)| {
                shape.pair(reply, name, score);
            });
            Ok(Effect::NONE)
        }
        Purpose::Store => Ok(store(context, locked, result, reply)),
    }
}

/// Puts a result at the command's first key.
fn store(
    context: &mut Context<'_>,
    locked: &mut Locked<'_>,
    result: Zset,
    reply: &mut Reply<'_>,
) -> Effect {
    let target = locked.key(0);
    locked.note_changed(0);
    let db = locked.db(target);
    reply.count(result.len());
    if result.is_empty() {
        let removed = db.remove(context.clock, target);
        let is_changed = removed.is_some();
        context.discard(removed);
        return Effect::changed_if(is_changed);
    }
    let displaced = db.set(context.clock, target, result.into_value(), Expiry::Clear);
    context.discard(displaced);
    Effect::changed(1)
}

/// The sources with their weights, the smallest first, which is the order in which Redis adds.
fn by_size<'a>(sources: Vec<Source<'a>>, options: &AlgebraOptions) -> Vec<(Source<'a>, f64)> {
    let mut weighted: Vec<_> = sources.into_iter().zip(options.weights.iter().copied()).collect();
    weighted.sort_by_key(|(source, _)| source.len());
    weighted
}

fn union(context: &Context<'_>, sources: Vec<Source<'_>>, options: &AlgebraOptions) -> Zset {
    let mut result = Zset::new();
    let mut digits = itoa::Buffer::new();
    for (source, weight) in by_size(sources, options) {
        source.for_each(|name, score| {
            let name = name.text(&mut digits);
            let score = number_or_zero(weight * score);
            let score = match result.score(name) {
                Some(before) => options.aggregate.of(before, score),
                None => score,
            };
            result.add(name, score, AddFlags::default(), context.limits());
        });
    }
    result
}

fn intersection(context: &Context<'_>, sources: Vec<Source<'_>>, options: &AlgebraOptions) -> Zset {
    let mut result = Zset::new();
    let weighted = by_size(sources, options);
    let Some(((smallest, weight), others)) = weighted.split_first() else { return result };
    let mut digits = itoa::Buffer::new();
    smallest.for_each(|name, score| {
        let name = name.text(&mut digits);
        let own = number_or_zero(weight * score);
        let joined = others.iter().try_fold(own, |sum, (source, weight)| {
            Some(options.aggregate.of(sum, number_or_zero(weight * source.score(name)?)))
        });
        if let Some(score) = joined {
            result.add(name, score, AddFlags::default(), context.limits());
        }
    });
    result
}

fn difference(context: &Context<'_>, sources: &[Source<'_>]) -> Zset {
    let mut result = Zset::new();
    let Some((first, others)) = sources.split_first() else { return result };
    let mut digits = itoa::Buffer::new();
    first.for_each(|name, score| {
        let name = name.text(&mut digits);
        if others.iter().all(|source| source.score(name).is_none()) {
            result.add(name, score, AddFlags::default(), context.limits());
        }
    });
    result
}

fn zunion(
    context: &mut Context<'_>,
    locked: &mut Locked<'_>,
    args: Args<'_>,
    reply: &mut Reply<'_>,
) -> Outcome {
    compute(context, locked, args, reply, Operation::Union, Purpose::Answer)
}

fn zinter(
    context: &mut Context<'_>,
    locked: &mut Locked<'_>,
    args: Args<'_>,
    reply: &mut Reply<'_>,
) -> Outcome {
    compute(context, locked, args, reply, Operation::Intersection, Purpose::Answer)
}

fn zdiff(
    context: &mut Context<'_>,
    locked: &mut Locked<'_>,
    args: Args<'_>,
    reply: &mut Reply<'_>,
) -> Outcome {
    compute(context, locked, args, reply, Operation::Difference, Purpose::Answer)
}

fn zunionstore(
    context: &mut Context<'_>,
    locked: &mut Locked<'_>,
    args: Args<'_>,
    reply: &mut Reply<'_>,
) -> Outcome {
    compute(context, locked, args, reply, Operation::Union, Purpose::Store)
}

fn zinterstore(
    context: &mut Context<'_>,
    locked: &mut Locked<'_>,
    args: Args<'_>,
    reply: &mut Reply<'_>,
) -> Outcome {
    compute(context, locked, args, reply, Operation::Intersection, Purpose::Store)
}

fn zdiffstore(
    context: &mut Context<'_>,
    locked: &mut Locked<'_>,
    args: Args<'_>,
    reply: &mut Reply<'_>,
) -> Outcome {
    compute(context, locked, args, reply, Operation::Difference, Purpose::Store)
}

fn zintercard(
    context: &mut Context<'_>,
    locked: &mut Locked<'_>,
    args: Args<'_>,
    reply: &mut Reply<'_>,
) -> Outcome {
    compute(context, locked, args, reply, Operation::Intersection, Purpose::Count)
}

fn zrangestore(
    context: &mut Context<'_>,
    locked: &mut Locked<'_>,
    args: Args<'_>,
    reply: &mut Reply<'_>,
) -> Outcome {
    let source = locked.key(1);
    let chosen = super::range::chosen(context, locked.db(source), source, args.skip(1))?;
    Ok(store(context, locked, chosen, reply))
}

const READ: Flags = Flags::READONLY.union(Flags::MOVABLE_KEYS);
const WRITE: Flags = Flags::WRITE.union(Flags::DENYOOM);
const STORE: Flags = WRITE.union(Flags::MOVABLE_KEYS);
const COMPLEXITY: &str = "O(N)+O(M*log(M)) for N members in and M members out";
const SYNTAX_OF_JOIN: &str = "numkeys key [key ...] [WEIGHTS weight [weight ...]] \
                              [AGGREGATE <SUM | MIN | MAX>] [WITHSCORES]";
const SYNTAX_OF_STORE: &str = "destination numkeys key [key ...] [WEIGHTS weight [weight ...]] \
                               [AGGREGATE <SUM | MIN | MAX>]";

/// The family's commands on several sorted sets.
pub const COMMANDS: &[Command] = &[
    super::FAMILY.row(
        "zunion",
        -3,
        READ,
        KeySpec::counted(1),
        [SYNTAX_OF_JOIN, "Returns the union of sorted sets.", "6.2.0", COMPLEXITY],
        Handler::Keys(zunion),
    ),
    super::FAMILY.row(
        "zinter",
        -3,
        READ,
        KeySpec::counted(1),
        [SYNTAX_OF_JOIN, "Returns what sorted sets have in common.", "6.2.0", COMPLEXITY],
        Handler::Keys(zinter),
    ),
    super::FAMILY.row(
        "zdiff",
        -3,
        READ,
        KeySpec::counted(1),
        [
            "numkeys key [key ...] [WITHSCORES]",
            "Returns what the first of several sorted sets has and the others have not.",
            "6.2.0",
            COMPLEXITY,
        ],
        Handler::Keys(zdiff),
    ),
    super::FAMILY.row(
        "zunionstore",
        -4,
        STORE,
        KeySpec::first_and_counted(2),
        [SYNTAX_OF_STORE, "Stores the union of sorted sets.", "2.0.0", COMPLEXITY],
        Handler::Keys(zunionstore),
    ),
    super::FAMILY.row(
        "zinterstore",
        -4,
        STORE,
        KeySpec::first_and_counted(2),
        [SYNTAX_OF_STORE, "Stores what sorted sets have in common.", "2.0.0", COMPLEXITY],
        Handler::Keys(zinterstore),
    ),
    super::FAMILY.row(
        "zdiffstore",
        -4,
        STORE,
        KeySpec::first_and_counted(2),
        [
            "destination numkeys key [key ...]",
            "Stores what the first of several sorted sets has and the others have not.",
            "6.2.0",
            COMPLEXITY,
        ],
        Handler::Keys(zdiffstore),
    ),
    super::FAMILY.row(
        "zintercard",
        -3,
        READ,
        KeySpec::counted(1),
        [
            "numkeys key [key ...] [LIMIT limit]",
            "Counts what sorted sets have in common.",
            "7.0.0",
            "O(N*K) worst case with N being the smallest sorted set, K being their number",
        ],
        Handler::Keys(zintercard),
    ),
    super::FAMILY.row(
        "zrangestore",
        -5,
        WRITE,
        KeySpec::FIRST_TWO,
        [
            "dst src min max [BYSCORE | BYLEX] [REV] [LIMIT offset count]",
            "Stores members in a range of places, scores or names.",
            "6.2.0",
            "O(log(N)+M) for M of N members",
        ],
        Handler::Keys(zrangestore),
    ),
];
