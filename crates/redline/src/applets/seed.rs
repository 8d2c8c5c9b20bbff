//! The seed of a run that was given none.

use std::time::{SystemTime, UNIX_EPOCH};

/// A seed that differs from run to run.
pub fn fresh() -> u64 {
    let since = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default();
    since.as_nanos() as u64 ^ u64::from(std::process::id())
}
