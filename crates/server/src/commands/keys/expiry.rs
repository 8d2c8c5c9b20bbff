//! When keys expire: setting, asking, clearing.

use engine::{Db, Key};
use resp::args::Args;
use resp::reply::Reply;

use crate::arguments::{integer, is_word};
use crate::command::Outcome;
use crate::context::Context;
use crate::effects::Effect;
use crate::error::CommandError;

const NX_EXCLUDES_OTHERS: CommandError =
    CommandError::fixed("ERR NX and XX, GT or LT options at the same time are not compatible");
const GT_EXCLUDES_LT: CommandError =
    CommandError::fixed("ERR GT and LT options at the same time are not compatible");

/// What `TTL` and its kin answer when there is no key.
const NO_KEY: i64 = -2;
/// What they answer when the key does not expire.
const NO_EXPIRY: i64 = -1;

/// How a time is written and read.
#[derive(Clone, Copy)]
struct Scale {
    /// Milliseconds of one unit.
    unit_ms: i64,
    /// Unix time, else from now on.
    is_absolute: bool,
}

const SECONDS_FROM_NOW: Scale = Scale { unit_ms: 1000, is_absolute: false };
const MILLISECONDS_FROM_NOW: Scale = Scale { unit_ms: 1, is_absolute: false };
const UNIX_SECONDS: Scale = Scale { unit_ms: 1000, is_absolute: true };
const UNIX_MILLISECONDS: Scale = Scale { unit_ms: 1, is_absolute: true };

/// `EXPIRE key seconds [NX | XX | GT | LT]`
pub fn expire(
    context: &mut Context<'_>,
    db: &mut Db,
    key: Key<'_>,
    args: Args<'_>,
    reply: &mut Reply<'_>,
) -> Outcome {
    set_expiry(context, db, key, SECONDS_FROM_NOW, args, reply)
}

/// `PEXPIRE key milliseconds [NX | XX | GT | LT]`
pub fn pexpire(
    context: &mut Context<'_>,
    db: &mut Db,
    key: Key<'_>,
    args: Args<'_>,
    reply: &mut Reply<'_>,
) -> Outcome {
    set_expiry(context, db, key, MILLISECONDS_FROM_NOW, args, reply)
}

/// `EXPIREAT key unix-time-seconds [NX | XX | GT | LT]`
pub fn expireat(
    context: &mut Context<'_>,
    db: &mut Db,
    key: Key<'_>,
    args: Args<'_>,
    reply: &mut Reply<'_>,
) -> Outcome {
    set_expiry(context, db, key, UNIX_SECONDS, args, reply)
}

/// `PEXPIREAT key unix-time-milliseconds [NX | XX | GT | LT]`
pub fn pexpireat(
    context: &mut Context<'_>,
    db: &mut Db,
    key: Key<'_>,
    args: Args<'_>,
    reply: &mut Reply<'_>,
) -> Outcome {
    set_expiry(context, db, key, UNIX_MILLISECONDS, args, reply)
}

/// `TTL key`
pub fn ttl(
    context: &mut Context<'_>,
    db: &mut Db,
    key: Key<'_>,
    _args: Args<'_>,
    reply: &mut Reply<'_>,
) -> Outcome {
    tell_expiry(context, db, key, SECONDS_FROM_NOW, reply)
}

/// `PTTL key`
pub fn pttl(
    context: &mut Context<'_>,
    db: &mut Db,
    key: Key<'_>,
    _args: Args<'_>,
    reply: &mut Reply<'_>,
) -> Outcome {
    tell_expiry(context, db, key, MILLISECONDS_FROM_NOW, reply)
}

/// `EXPIRETIME key`
pub fn expiretime(
    context: &mut Context<'_>,
    db: &mut Db,
    key: Key<'_>,
    _args: Args<'_>,
    reply: &mut Reply<'_>,
) -> Outcome {
    tell_expiry(context, db, key, UNIX_SECONDS, reply)
}

/// `PEXPIRETIME key`
pub fn pexpiretime(
    context: &mut Context<'_>,
    db: &mut Db,
    key: Key<'_>,
    _args: Args<'_>,
    reply: &mut Reply<'_>,
) -> Outcome {
    tell_expiry(context, db, key, UNIX_MILLISECONDS, reply)
}

/// `PERSIST key`
pub fn persist(
    context: &mut Context<'_>,
    db: &mut Db,
    key: Key<'_>,
    _args: Args<'_>,
    reply: &mut Reply<'_>,
) -> Outcome {
    let expires = matches!(db.expiry_ms(context.clock, key), Some(Some(_)));
    if expires {
        db.set_expiry(context.clock, key, None);
    }
    reply.integer(i64::from(expires));
    Ok(Effect::changed_if(expires))
}

/// Under which present expiry a new one is set.
#[derive(Clone, Copy, Default)]
struct Conditions {
    when_none: bool,
    when_some: bool,
    when_later: bool,
    when_earlier: bool,
}

impl Conditions {
    fn parse(args: Args<'_>) -> Result<Conditions, CommandError> {
        let mut wanted = Conditions::default();
        for word in args.skip(3).iter() {
            let place = match word {
                _ if is_word(word, "NX") => &mut wanted.when_none,
                _ if is_word(word, "XX") => &mut wanted.when_some,
                _ if is_word(word, "GT") => &mut wanted.when_later,
                _ if is_word(word, "LT") => &mut wanted.when_earlier,
                _ => return Err(CommandError::quoting("ERR Unsupported option ", word, "")),
            };
            *place = true;
        }
        if wanted.when_none && (wanted.when_some || wanted.when_later || wanted.when_earlier) {
            return Err(NX_EXCLUDES_OTHERS);
        }
        if wanted.when_later && wanted.when_earlier { Err(GT_EXCLUDES_LT) } else { Ok(wanted) }
    }

    /// Whether they hold; to not expire counts as the latest expiry of all.
    fn are_met(self, present_ms: Option<i64>, next_ms: i64) -> bool {
        match present_ms {
            Some(_) if self.when_none => false,
            Some(present_ms) if self.when_later => next_ms > present_ms,
            Some(present_ms) if self.when_earlier => next_ms < present_ms,
            None => !self.when_some && !self.when_later,
            Some(_) => true,
        }
    }
}

fn set_expiry(
    context: &mut Context<'_>,
    db: &mut Db,
    key: Key<'_>,
    scale: Scale,
    args: Args<'_>,
    reply: &mut Reply<'_>,
) -> Outcome {
    let conditions = Conditions::parse(args)?;
    let now_ms = context.clock.now_ms as i64;
    let base_ms = if scale.is_absolute { 0 } else { now_ms };
    let deadline_ms = integer(args.at(2))?
        .checked_mul(scale.unit_ms)
        .and_then(|in_ms| in_ms.checked_add(base_ms))
        .ok_or_else(|| CommandError::invalid_expire(context.command.name))?;
    let is_met = db.expiry_ms(context.clock, key).is_some_and(|present_ms| {
        conditions.are_met(present_ms.map(|present_ms| present_ms as i64), deadline_ms)
    });
    if is_met && deadline_ms <= now_ms {
        context.discard(db.remove(context.clock, key));
    } else if is_met {
        db.set_expiry(context.clock, key, Some(deadline_ms as u64));
    }
    reply.integer(i64::from(is_met));
    Ok(Effect::changed_if(is_met))
}

fn tell_expiry(
    context: &mut Context<'_>,
    db: &mut Db,
    key: Key<'_>,
    scale: Scale,
    reply: &mut Reply<'_>,
) -> Outcome {
    let found = db.expiry_ms(context.clock, key);
    context.count_lookup(found.is_some());
    reply.integer(match found {
        None => NO_KEY,
        Some(None) => NO_EXPIRY,
        Some(Some(expiry_ms)) => {
            let base_ms = if scale.is_absolute { 0 } else { context.clock.now_ms };
            let unit_ms = scale.unit_ms as u64;
            // Rounded to the nearest unit; the sum of the largest time and half a unit fits.
            let in_units = (expiry_ms.saturating_sub(base_ms) + unit_ms / 2) / unit_ms;
            in_units as i64
        }
    });
    Ok(Effect::NONE)
}
