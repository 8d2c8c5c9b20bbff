//! The life of connections as data: when each is opened, when it is opened anew, and what its loss means.

use serde::{Deserialize, Serialize};

use super::{PlanError, within};

/// Longest wait between two tries of anything, in milliseconds: an hour.
pub const MAX_WAIT_MS: u64 = 3_600_000;

/// How the connections of a run come and go.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
pub struct Connections {
    /// Longest wait for a connection to be made; absent: ten seconds.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub connect_timeout_ms: Option<u64>,
    /// A connection is opened anew after this many requests, when their replies have come; 0: never.
    #[serde(default)]
    pub reconnect_every: u64,
    /// What the loss of a connection does. A reply that is longer in coming than the plan's `reply_timeout_ms` is a loss.
    #[serde(default)]
    pub on_loss: OnLoss,
    /// Wait before each first connection but the first of a thread, drawn for each; absent: none.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub start_jitter_us: Option<super::objects::NumberRange>,
    /// Connections become active step by step; absent: all at the start.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub staircase: Option<Staircase>,
}

/// What the loss of a connection does.
#[derive(Debug, Clone, Copy, Default, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum OnLoss {
    /// It ends the run.
    #[default]
    End,
    /// It is counted, and the connection is made anew. What was in flight is unanswered.
    Reconnect {
        /// Most tries in a row without a connection before the run ends; 0: no limit.
        attempts: u32,
        /// Wait before the first try.
        wait_ms: u64,
        /// What the wait is multiplied by after each try that fails; below 1 counts as 1.
        backoff_factor: f64,
    },
}

/// Connections that become active step by step: all are made before the run, and connection `i` sends from its step on.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub struct Staircase {
    /// Connections active at the start, over all threads; at least 1.
    pub start: u32,
    /// Connections that each step adds; at least 1.
    pub step: u32,
    /// Time between steps; at least 1.
    pub step_ms: u64,
}

/// Requests that are sent again when they are answered with an error.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Retry {
    /// Tries after the first; 0: no limit.
    pub attempts: u32,
    /// Wait before the first of them.
    pub wait_ms: u64,
    /// What the wait is multiplied by after each further failure; below 1 counts as 1.
    pub backoff_factor: f64,
    /// Error classes (`LOADING`, `OOM`, …) that are worth another try; empty: all.
    #[serde(default)]
    pub classes: Vec<String>,
    /// Most requests of one connection that wait for another try; a further one is an error. 0: no limit.
    pub queue_max: u32,
}

impl Connections {
    pub(super) fn check(&self, connections: u32) -> Result<(), PlanError> {
        if let Some(timeout_ms) = self.connect_timeout_ms {
            within("connect timeout", timeout_ms, 1, MAX_WAIT_MS)?;
        }
        if let OnLoss::Reconnect { wait_ms, backoff_factor, .. } = self.on_loss {
            within("wait before a reconnection", wait_ms, 0, MAX_WAIT_MS)?;
            factor(backoff_factor)?;
        }
        if let Some(jitter) = self.start_jitter_us {
            within("greatest start jitter", jitter.most, jitter.least, MAX_WAIT_MS * 1_000)?;
        }
        if let Some(staircase) = self.staircase {
            within("connections at the start", staircase.start.into(), 1, connections.into())?;
            within("connections a step", staircase.step.into(), 1, u32::MAX.into())?;
            within("step duration", staircase.step_ms, 1, u64::MAX)?;
        }
        Ok(())
    }
}

impl Staircase {
    /// When connection `index` begins to send, since the start of the run.
    pub fn begins_ms(&self, index: u64) -> u64 {
        let above = (index + 1).saturating_sub(self.start.into());
        above.div_ceil(u64::from(self.step).max(1)).saturating_mul(self.step_ms)
    }

    /// How many of so many connections are active at a time since the start of the run.
    pub fn active(&self, connections: u32, at_ms: u64) -> u32 {
        let steps = u32::try_from(at_ms / self.step_ms.max(1)).unwrap_or(u32::MAX);
        self.start.saturating_add(steps.saturating_mul(self.step)).min(connections)
    }
}

impl Retry {
    pub(super) fn check(&self) -> Result<(), PlanError> {
        within("wait before a retry", self.wait_ms, 0, MAX_WAIT_MS)?;
        factor(self.backoff_factor)
    }
}

fn factor(factor: f64) -> Result<(), PlanError> {
    if (0.0..=1_000.0).contains(&factor) {
        Ok(())
    } else {
        Err(PlanError::OutOfRange { field: "backoff factor", least: 0, most: 1_000 })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn stairs_rise_by_their_step_at_the_end_of_each() {
        let stairs = Staircase { start: 2, step: 3, step_ms: 1_000 };
        let begins: Vec<u64> = (0..9).map(|index| stairs.begins_ms(index)).collect();
        assert_eq!(begins, [0, 0, 1_000, 1_000, 1_000, 2_000, 2_000, 2_000, 3_000]);
        let active = [0, 999, 1_000, 2_000, 9_000].map(|at_ms| stairs.active(7, at_ms));
        assert_eq!(active, [2, 2, 5, 7, 7]);
    }
}
