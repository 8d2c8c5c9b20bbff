//! Elements of collections as replies: what lists, hashes, sets and sorted sets all answer with.

use engine::Collection;
use engine::listpack::Entry;
use engine::{Db, Key};
use resp::reply::Reply;

use crate::context::Context;
use crate::error::CommandError;

/// Most elements that are drawn with repeats for one reply.
const REPEATS_MAX: usize = 1 << 30;
/// More random draws than a reply can hold.
pub const TOO_MANY_DRAWS: CommandError = CommandError::fixed("ERR value is out of range");

/// Answers one element as a bulk string.
#[inline]
pub fn bulk(reply: &mut Reply<'_>, element: Entry<'_>) {
    match element {
        Entry::Bytes(bytes) => reply.bulk(bytes),
        Entry::Int(number) => reply.bulk_integer(number),
    }
}

/// Answers one element as a bulk string, the null if there is none.
#[inline]
pub fn bulk_or_null(reply: &mut Reply<'_>, element: Option<Entry<'_>>) {
    match element {
        Some(element) => bulk(reply, element),
        None => reply.null(),
    }
}

/// The collection at `key` for a command that only reads, which counts as a hit or a miss.
///
/// # Errors
/// `WRONGTYPE`.
#[inline]
pub fn lookup<'d, C: Collection>(
    context: &Context<'_>,
    db: &'d mut Db,
    key: Key<'_>,
) -> Result<Option<&'d C>, CommandError> {
    let found = db.collection(context.clock, key);
    context.count_lookup(!matches!(found, Ok(None)));
    Ok(found?)
}

/// How many elements a random draw of `wanted` answers from a collection of `len`: as many
/// different ones as there are, or, when negative, so many with repeats.
///
/// # Errors
/// `ERR value is out of range` for more repeats than a reply should hold. (Redis would fill its
/// memory.)
pub fn draws(wanted: i64, len: usize) -> Result<usize, CommandError> {
    let most = usize::try_from(wanted.unsigned_abs()).unwrap_or(usize::MAX);
    match wanted {
        0.. => Ok(most.min(len)),
        _ if most <= REPEATS_MAX => Ok(most),
        _ => Err(TOO_MANY_DRAWS),
    }
}
