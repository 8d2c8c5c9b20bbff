//! What a command changed, and the one place that acts on it.
//!
//! Handlers return an [`Effect`] and touch nothing else; what stands here runs under the same locks,
//! right after the handler, so whatever follows from a change follows in the order of the changes.

use engine::{Key, Keyspace};

use crate::command::Locked;
use crate::context::Context;

/// What a handler changed.
#[must_use]
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Effect {
    /// Changes to the data set, as `rdb_changes_since_last_save` counts them.
    pub changes: u64,
}

impl Effect {
    /// Nothing changed.
    pub const NONE: Effect = Effect { changes: 0 };

    /// `changes` elements, fields or keys changed.
    pub fn changed(changes: usize) -> Effect {
        Effect { changes: changes as u64 }
    }

    /// One change if `is_changed`, else none.
    pub fn changed_if(is_changed: bool) -> Effect {
        Effect { changes: u64::from(is_changed) }
    }
}

/// Acts on what a command changed, whichever keys. Runs while its shards are still locked.
#[inline]
pub fn apply(context: &mut Context<'_>, effect: Effect) {
    if effect.changes != 0 {
        context.worker.stats.changes.add(effect.changes);
    }
}

/// Acts on what a command changed at its one key, whose shard is still locked.
#[inline]
pub fn apply_to_key(context: &mut Context<'_>, db_index: usize, key: Key<'_>, effect: Effect) {
    if effect.changes != 0 {
        context.worker.stats.changes.add(effect.changes);
        if context.server.observers.has_any(Keyspace::shard_of(key.hash)) {
            context.server.observers.touch(db_index, key, &mut context.worker.ready);
        }
    }
}

/// Acts on what a command changed at its keys, whose shards are still locked.
pub fn apply_to_keys(
    context: &mut Context<'_>,
    db_index: usize,
    locked: &Locked<'_>,
    effect: Effect,
) {
    if effect.changes != 0 {
        context.worker.stats.changes.add(effect.changes);
        for key in locked.changed_keys() {
            if context.server.observers.has_any(Keyspace::shard_of(key.hash)) {
                context.server.observers.touch(db_index, key, &mut context.worker.ready);
            }
        }
    }
}
