//! A client of a cluster: it draws requests when there is room for them and they are due, whichever nodes they go to.
//!
//! The rules of quota, budget, schedule and window are those of a session without a cluster; what is different is that
//! replies come from several connections.

use std::sync::atomic::Ordering;

use rand_core::SeedableRng;
use rand_xoshiro::Xoshiro256PlusPlus;

use crate::generator::{Generator, Mix};
use crate::plan::{PipelineMode, Plan};
use crate::session::Gate;

/// A client that has no connection to a node.
const NO_LANE: usize = usize::MAX;

/// One client.
#[derive(Debug)]
pub(super) struct Client {
    /// Its index in the plan.
    pub(super) index: usize,
    pub(super) generator: Generator,
    /// For what is no part of the requests: tags, and which replica answers.
    pub(super) random: Xoshiro256PlusPlus,
    pub(super) in_flight: u64,
    pub(super) is_finished: bool,
    /// Requests of a batch that wait for its last reply, when that is the clock: label, due, sent.
    pub(super) held: Vec<(usize, u64, u64)>,
    depth: u64,
    widest: u64,
    batches: bool,
    quota: Option<u64>,
    exhausted: bool,
    units: u64,
    lanes: Vec<usize>,
    max_lag_ns: u64,
    max_backlog: u64,
}

/// What a client may send at once.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Turn {
    /// Entries of the mix.
    pub(super) entries: u64,
    /// Requests; no further entry is begun when they are reached.
    pub(super) requests: u64,
    /// When they are due.
    pub(super) due_ns: u64,
}

impl Client {
    /// Client `index` of the plan, with `depth` requests in flight. `quota` limits its measured requests.
    pub(super) fn new(plan: &Plan, mix: &Mix, index: u32, depth: u64, quota: Option<u64>) -> Self {
        Self {
            index: index as usize,
            generator: Generator::new(mix, plan.seed, index),
            random: Xoshiro256PlusPlus::seed_from_u64(plan.seed ^ u64::from(index) << 32),
            in_flight: 0,
            is_finished: false,
            held: Vec::new(),
            depth,
            widest: mix.widest() as u64,
            batches: plan.pipeline.mode == PipelineMode::Batch || depth == 1,
            quota,
            exhausted: quota == Some(0),
            units: 0,
            lanes: Vec::new(),
            max_lag_ns: 0,
            max_backlog: 0,
        }
    }

    /// What may be sent now; `None` when nothing may.
    pub(super) fn turn(&mut self, now_ns: u64, gate: &Gate<'_>) -> Option<Turn> {
        let due_ns = self.next_due_ns(now_ns, gate);
        if self.exhausted || due_ns > now_ns || due_ns >= gate.deadline_ns {
            return None;
        }
        let entries = self.room(gate);
        if entries == 0 {
            if let Some(schedule) = gate.schedule {
                let due = schedule.connection_units_due(self.index as u64, now_ns);
                self.max_backlog = self.max_backlog.max(due.saturating_sub(self.units));
            }
            return None;
        }
        let requests = self.claim(entries * self.widest, due_ns >= gate.measure_start_ns, gate);
        if requests == 0 {
            return None;
        }
        self.max_lag_ns = self.max_lag_ns.max(now_ns - due_ns);
        self.units += 1;
        Some(Turn { entries, requests, due_ns })
    }

    /// True when nothing is in flight and nothing more may be sent.
    pub(super) fn is_done(&self) -> bool {
        self.exhausted && self.in_flight == 0
    }

    /// True when a request is due before the deadline and not sent.
    pub(super) fn is_behind(&self, gate: &Gate<'_>) -> bool {
        !self.exhausted
            && gate.schedule.is_some()
            && self.next_due_ns(u64::MAX, gate) < gate.deadline_ns
    }

    /// Measured requests that were due by `end_ns` and never sent.
    pub(super) fn unsent(&self, end_ns: u64, gate: &Gate<'_>) -> u64 {
        let Some(schedule) = gate.schedule.filter(|_| !self.exhausted) else { return 0 };
        let last_ns = end_ns.min(gate.deadline_ns).saturating_sub(1);
        let due = schedule.connection_units_due(self.index as u64, last_ns);
        let late = due.saturating_sub(self.units) * if self.batches { self.depth } else { 1 };
        late.min(self.quota.unwrap_or(u64::MAX))
    }

    /// How late the latest send was, and the most units that were due and not sent.
    pub(super) fn lag(&self) -> (u64, u64) {
        (self.max_lag_ns, self.max_backlog)
    }

    /// Its connection to a node.
    pub(super) fn lane(&self, node: usize) -> Option<usize> {
        self.lanes.get(node).copied().filter(|lane| *lane != NO_LANE)
    }

    /// Gives it a connection to a node.
    pub(super) fn set_lane(&mut self, node: usize, lane: usize) {
        if node >= self.lanes.len() {
            self.lanes.resize(node + 1, NO_LANE);
        }
        self.lanes[node] = lane;
    }

    /// All its connections.
    pub(super) fn lanes(&self) -> impl Iterator<Item = usize> + '_ {
        self.lanes.iter().copied().filter(|lane| *lane != NO_LANE)
    }

    fn next_due_ns(&self, now_ns: u64, gate: &Gate<'_>) -> u64 {
        match gate.schedule {
            Some(schedule) => schedule.connection_due_ns(self.index as u64, self.units),
            None => now_ns,
        }
    }

    /// Entries of the mix that may be sent at once.
    fn room(&self, gate: &Gate<'_>) -> u64 {
        if self.batches {
            return if self.in_flight == 0 { self.depth } else { 0 };
        }
        let free = (self.depth * self.widest).saturating_sub(self.in_flight) / self.widest;
        if gate.schedule.is_some() { free.min(1) } else { free }
    }

    /// Takes up to `wanted` requests from what may still be sent; those before the measured time are free.
    fn claim(&mut self, wanted: u64, measured: bool, gate: &Gate<'_>) -> u64 {
        if !measured {
            return wanted;
        }
        let mut allowed = wanted;
        if let Some(quota) = &mut self.quota {
            allowed = allowed.min(*quota);
            *quota -= allowed;
            self.exhausted = *quota == 0;
        }
        if let Some(budget) = gate.budget {
            let take = |left: u64| Some(left - left.min(allowed));
            let left = budget
                .fetch_update(Ordering::Relaxed, Ordering::Relaxed, take)
                .unwrap_or_else(|unchanged| unchanged);
            allowed = allowed.min(left);
            self.exhausted |= allowed == 0;
        }
        allowed
    }
}
