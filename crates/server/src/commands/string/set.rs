//! The options that `SET` and `GETEX` share, and what `SET` does with them.

use engine::{Clock, Db, Expiry, Key};
use resp::args::Args;
use resp::reply::Reply;

use crate::arguments::{Options, integer, is_word};
use crate::command::Outcome;
use crate::context::Context;
use crate::effects::Effect;
use crate::error::{CommandError, SYNTAX};

use super::bulk_or_null;

/// How an expiry is written.
#[derive(Clone, Copy, PartialEq, Eq)]
pub struct Unit {
    /// Seconds, else milliseconds.
    pub is_seconds: bool,
    /// Unix time, else from now on.
    pub is_absolute: bool,
}

impl Unit {
    /// Seconds from now (`EX`).
    pub const EX: Unit = Unit { is_seconds: true, is_absolute: false };
    /// Milliseconds from now (`PX`).
    pub const PX: Unit = Unit { is_seconds: false, is_absolute: false };
    /// Unix time in seconds (`EXAT`).
    pub const EXAT: Unit = Unit { is_seconds: true, is_absolute: true };
    /// Unix time in milliseconds (`PXAT`).
    pub const PXAT: Unit = Unit { is_seconds: false, is_absolute: true };

    fn of(word: &[u8]) -> Option<Unit> {
        let words =
            [("EX", Unit::EX), ("PX", Unit::PX), ("EXAT", Unit::EXAT), ("PXAT", Unit::PXAT)];
        words.into_iter().find(|(name, _)| is_word(word, name)).map(|(_, unit)| unit)
    }
}

/// What the options say about the key's expiry.
#[derive(Clone, Copy)]
pub enum Lifetime<'a> {
    /// Nothing.
    Unsaid,
    /// It stays (`KEEPTTL`).
    Keep,
    /// It goes (`PERSIST`).
    Persist,
    /// It becomes this.
    Given(Unit, &'a [u8]),
}

impl<'a> Lifetime<'a> {
    /// What becomes of the lifetime said so far when `next` is said too: an option may be repeated,
    /// and the last one counts, but two different ones contradict each other.
    fn replaced_by(self, next: Lifetime<'a>) -> Result<Lifetime<'a>, CommandError> {
        let agrees = match (self, next) {
            (Lifetime::Unsaid, _)
            | (Lifetime::Keep, Lifetime::Keep)
            | (Lifetime::Persist, Lifetime::Persist) => true,
            (Lifetime::Given(said, _), Lifetime::Given(unit, _)) => said == unit,
            _ => false,
        };
        if agrees { Ok(next) } else { Err(SYNTAX) }
    }
}

/// When `SET` sets.
#[derive(Clone, Copy)]
enum Condition<'a> {
    Always,
    /// `NX`
    Absent,
    /// `XX`
    Present,
    /// `IFEQ`
    Equal(&'a [u8]),
    /// `IFNE`
    Different(&'a [u8]),
}

impl Condition<'_> {
    /// Whether it holds for what `key` has now.
    ///
    /// # Errors
    /// The value must be compared and is no string.
    fn is_met(self, db: &mut Db, clock: Clock, key: Key<'_>) -> Result<bool, CommandError> {
        Ok(match self {
            Condition::Always => true,
            Condition::Absent => !db.contains(clock, key),
            Condition::Present => db.contains(clock, key),
            Condition::Equal(wanted) => db
                .string(clock, key)?
                .is_some_and(|string| string.with_bytes(|bytes| bytes == wanted)),
            Condition::Different(unwanted) => db
                .string(clock, key)?
                .is_none_or(|string| string.with_bytes(|bytes| bytes != unwanted)),
        })
    }
}

/// The Unix time in milliseconds that an expiry means; it may lie in the past.
///
/// # Errors
/// It is no integer, not positive, or beyond 64 bits of milliseconds.
pub fn deadline_ms(context: &Context<'_>, unit: Unit, amount: &[u8]) -> Result<u64, CommandError> {
    let amount = integer(amount)?;
    let in_ms = if unit.is_seconds { amount.checked_mul(1000) } else { Some(amount) };
    let base = if unit.is_absolute { 0 } else { context.clock.now_ms as i64 };
    in_ms
        .filter(|_| amount > 0)
        .and_then(|in_ms| in_ms.checked_add(base))
        .map(|deadline| deadline as u64)
        .ok_or_else(|| CommandError::invalid_expire(context.command.name))
}

/// Sets `key`, or removes it where `expiry` has passed already.
pub fn store(context: &mut Context<'_>, db: &mut Db, key: Key<'_>, value: &[u8], expiry: Expiry) {
    let displaced = match expiry {
        Expiry::At(at_ms) if at_ms <= context.clock.now_ms => db.remove(context.clock, key),
        _ => db.set_string(context.clock, key, value, expiry),
    };
    context.discard(displaced);
}

/// `SET` with options.
pub fn set_with_options(
    context: &mut Context<'_>,
    db: &mut Db,
    key: Key<'_>,
    args: Args<'_>,
    reply: &mut Reply<'_>,
) -> Outcome {
    let (mut condition, mut lifetime) = (Condition::Always, Lifetime::Unsaid);
    let mut returns_old = false;
    let mut options = Options::new(args, 3);
    while let Some(word) = options.next() {
        if let Some(unit) = Unit::of(word) {
            lifetime = lifetime.replaced_by(Lifetime::Given(unit, options.value()?))?;
        } else if is_word(word, "KEEPTTL") {
            lifetime = lifetime.replaced_by(Lifetime::Keep)?;
        } else if is_word(word, "GET") {
            returns_old = true;
        } else {
            condition = match (condition, word.to_ascii_uppercase().as_slice()) {
                (Condition::Always | Condition::Absent, b"NX") => Condition::Absent,
                (Condition::Always | Condition::Present, b"XX") => Condition::Present,
                (Condition::Always, b"IFEQ") => Condition::Equal(options.value()?),
                (Condition::Always, b"IFNE") => Condition::Different(options.value()?),
                _ => return Err(SYNTAX),
            };
        }
    }
    let expiry = match lifetime {
        Lifetime::Given(unit, amount) => Expiry::At(deadline_ms(context, unit, amount)?),
        Lifetime::Keep => Expiry::Keep,
        Lifetime::Unsaid | Lifetime::Persist => Expiry::Clear,
    };
    let is_met = condition.is_met(db, context.clock, key)?;
    if returns_old {
        let old = db.string(context.clock, key)?;
        context.count_lookup(old.is_some());
        bulk_or_null(reply, old);
    }
    if is_met {
        store(context, db, key, args.at(2), expiry);
    }
    match (returns_old, is_met) {
        (true, _) => {}
        (false, true) => reply.ok(),
        (false, false) => reply.null(),
    }
    Ok(Effect::changed_if(is_met))
}

/// The options of `GETEX`.
///
/// # Errors
/// An unknown option, or two that contradict each other.
pub fn getex_lifetime(args: Args<'_>) -> Result<Lifetime<'_>, CommandError> {
    let mut lifetime = Lifetime::Unsaid;
    let mut options = Options::new(args, 2);
    while let Some(word) = options.next() {
        let next = match Unit::of(word) {
            Some(unit) => Lifetime::Given(unit, options.value()?),
            None if is_word(word, "PERSIST") => Lifetime::Persist,
            None => return Err(SYNTAX),
        };
        lifetime = lifetime.replaced_by(next)?;
    }
    Ok(lifetime)
}
