//! What a command changed, and the one place that acts on it.
//!
//! Handlers return an [`Effect`] and touch nothing else; [`apply`] runs under the same locks, right
//! after the handler, so whatever follows from a change follows in the order of the changes.

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

/// Acts on what a command changed. Runs while the command's shards are still locked.
#[inline]
pub fn apply(context: &mut Context<'_>, effect: Effect) {
    if effect.changes != 0 {
        context.worker.stats.changes.add(effect.changes);
    }
}
