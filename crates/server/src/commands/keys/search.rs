//! Commands that look for keys all over the keyspace, one shard's lock at a time.

use engine::keyspace::SHARDS;
use engine::{Key, Keyspace, Kind, Whole};
use rand_core::RngCore;
use resp::args::Args;
use resp::reply::{Aggregate, Reply};
use text::glob::{self, Case};

use crate::arguments::{Options, integer, is_word};
use crate::command::Outcome;
use crate::context::Context;
use crate::effects::Effect;
use crate::error::{CommandError, SYNTAX};
use crate::scan;

/// Keys a step of `SCAN` looks at if `COUNT` says nothing.
const COUNT_DEFAULT: usize = 10;
/// Buckets a step of `SCAN` visits at most, a key asked for: what keeps a step short where most
/// keys have expired.
const BUCKETS_PER_KEY: usize = 10;
/// Shards among which `RANDOMKEY` chooses while they have keys: enough to even out how many keys
/// each has, few enough to be quick.
const RANDOM_SHARDS: usize = 8;
/// Keys among those shards below which all shards are asked, so that few keys are drawn evenly.
const RANDOM_KEYS_MIN: usize = 64;

/// `KEYS pattern`
pub fn keys(
    context: &mut Context<'_>,
    keyspace: &mut Whole<'_>,
    args: Args<'_>,
    reply: &mut Reply<'_>,
) -> Outcome {
    let pattern = args.at(1);
    let db_index = context.client.db_index;
    if !pattern.iter().any(|byte| b"*?[\\".contains(byte)) {
        let key = Key::new(pattern);
        let mut shard = keyspace.lock(Keyspace::shard_of(key.hash));
        let is_there = shard.db(db_index).contains(context.clock, key);
        reply.array(usize::from(is_there));
        if is_there {
            reply.bulk(pattern);
        }
        return Ok(Effect::NONE);
    }
    let mut count = 0;
    let deferred = reply.deferred(Aggregate::Array);
    for number in 0..SHARDS {
        let mut shard = keyspace.lock(number);
        shard.db(db_index).for_each(context.clock, |entry| {
            if pattern == b"*" || glob::matches(pattern, entry.key(), Case::Sensitive) {
                reply.bulk(entry.key());
                count += 1;
            }
        });
    }
    reply.finish(deferred, count);
    Ok(Effect::NONE)
}

/// What `SCAN` is asked for.
struct Wish<'a> {
    count: usize,
    pattern: Option<&'a [u8]>,
    kind: Option<Kind>,
}

impl<'a> Wish<'a> {
    fn parse(args: Args<'a>) -> Result<Wish<'a>, CommandError> {
        let mut wish = Wish { count: COUNT_DEFAULT, pattern: None, kind: None };
        let mut options = Options::new(args, 2);
        while let Some(word) = options.next() {
            if is_word(word, "COUNT") {
                let count = integer(options.value()?)?;
                wish.count = usize::try_from(count).ok().filter(|&c| c > 0).ok_or(SYNTAX)?;
            } else if is_word(word, "MATCH") {
                wish.pattern = Some(options.value()?).filter(|pattern| *pattern != b"*");
            } else if is_word(word, "TYPE") {
                wish.kind = Some(kind_named(options.value()?)?);
            } else {
                return Err(SYNTAX);
            }
        }
        Ok(wish)
    }
}

fn kind_named(name: &[u8]) -> Result<Kind, CommandError> {
    const KINDS: [Kind; 6] =
        [Kind::String, Kind::List, Kind::Set, Kind::Zset, Kind::Hash, Kind::Stream];
    let unknown = || CommandError::quoting("ERR unknown type name '", name, "'");
    KINDS.into_iter().find(|kind| is_word(name, kind.name())).ok_or_else(unknown)
}

/// `SCAN cursor [MATCH pattern] [COUNT count] [TYPE type]`
///
/// A cursor is the place in a shard's table, times [`SHARDS`], plus the shard's number; a place of
/// 0 is a table's beginning. A step goes on through as many shards as it takes to see `COUNT` keys.
pub fn scan(
    context: &mut Context<'_>,
    keyspace: &mut Whole<'_>,
    args: Args<'_>,
    reply: &mut Reply<'_>,
) -> Outcome {
    let cursor = scan::cursor(args.at(1))?;
    let wish = Wish::parse(args)?;
    let (clock, db_index) = (context.clock, context.client.db_index);
    let buckets_max = wish.count.saturating_mul(BUCKETS_PER_KEY);
    scan::answer(reply, |reply| {
        let (mut place, mut number) = (cursor / SHARDS as u64, (cursor % SHARDS as u64) as usize);
        let (mut seen, mut buckets, mut written) = (0, 0, 0);
        loop {
            let mut shard = keyspace.lock(number);
            let db = shard.db(db_index);
            let is_empty = db.is_empty();
            place = db.scan(clock, place, |entry| {
                seen += 1;
                let is_kind = wish.kind.is_none_or(|kind| entry.value().kind() == kind);
                let matches = |pattern| glob::matches(pattern, entry.key(), Case::Sensitive);
                if is_kind && wish.pattern.is_none_or(matches) {
                    reply.bulk(entry.key());
                    written += 1;
                }
            });
            buckets += usize::from(!is_empty);
            number += usize::from(place == 0);
            if number == SHARDS {
                return (0, written);
            }
            if seen >= wish.count || buckets >= buckets_max {
                return (place * SHARDS as u64 + number as u64, written);
            }
        }
    });
    Ok(Effect::NONE)
}

/// `RANDOMKEY`
///
/// A few shards are drawn, and one of their keys; where keys are few, all shards are looked through,
/// so that each key is as likely as the next.
pub fn randomkey(
    context: &mut Context<'_>,
    keyspace: &mut Whole<'_>,
    _args: Args<'_>,
    reply: &mut Reply<'_>,
) -> Outcome {
    let mut draws = [0; RANDOM_SHARDS];
    draws.fill_with(|| context.worker.random.next_u64() as usize % SHARDS);
    let (mut key, key_count) = draw(context, keyspace, draws.into_iter());
    if key_count < RANDOM_KEYS_MIN {
        (key, _) = draw(context, keyspace, 0..SHARDS);
    }
    match key {
        None => reply.null(),
        Some(key) => reply.bulk(&key),
    }
    Ok(Effect::NONE)
}

/// One key of all those in `shards`, each about as likely, and how many there are.
fn draw(
    context: &mut Context<'_>,
    keyspace: &mut Whole<'_>,
    shards: impl Iterator<Item = usize>,
) -> (Option<Vec<u8>>, usize) {
    let (clock, db_index) = (context.clock, context.client.db_index);
    let random = &mut context.worker.random;
    let (mut drawn, mut key_count) = (None, 0);
    for number in shards {
        let mut shard = keyspace.lock(number);
        let db = shard.db(db_index);
        if db.is_empty() {
            continue;
        }
        key_count += db.len();
        // The shard's keys take the place of those before with the chance that is their share.
        if (random.next_u64() % key_count as u64) < db.len() as u64
            && let Some(key) = db.random_key(clock, random)
        {
            drawn = Some(key.to_vec());
        }
    }
    (drawn, key_count)
}
