//! One connection's side of the load, without I/O: what to send now, and what the bytes received mean.
//!
//! A session knows its place in the plan (what to send, what is in flight, what is left) and nothing of sockets, so its
//! rules are tested with slices. Requests that were sent together are one group in flight, so a deep pipeline
//! costs one record, not one a request.

use std::collections::VecDeque;
use std::sync::atomic::{AtomicU64, Ordering};

use report::model::LatencyClock;
use resp::{DecodeError, ReplyKind};

use crate::error::message_text;
use crate::generator::{Generator, Mix};
use crate::pacing::Schedule;
use crate::plan::{ErrorPolicy, PipelineMode, Plan, Protocol};
use crate::record::Recorder;
use crate::scanner::Scanner;
use crate::template::RequestKind;

/// Most bytes of one reply: room for the longest string, and an end to an aggregate that has none.
const REPLY_BYTES_MAX: usize = 1 << 30;

/// Why a session can't go on.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum SessionError {
    /// What came is no reply.
    Garbage(DecodeError),
    /// A reply without a request.
    Unasked,
    /// An error reply to a command before the load.
    Refused {
        /// Which of those commands.
        nth: usize,
        /// The server's text.
        message: String,
    },
    /// An error reply, in a plan that stops at the first.
    ErrorReply {
        /// The command's label index.
        command: usize,
        /// The server's text.
        message: String,
    },
}

/// The limits of sending at one moment, the same for all sessions of a run.
#[derive(Debug, Clone, Copy)]
pub struct Gate<'run> {
    /// Requests due from here on are measured; `u64::MAX` while the warm-up has no end yet.
    pub measure_start_ns: u64,
    /// Nothing due from here on is sent.
    pub deadline_ns: u64,
    /// What all connections may still send of the measured requests, when they share a budget.
    pub budget: Option<&'run AtomicU64>,
    /// When requests are due; `None` in a closed loop.
    pub schedule: Option<Schedule>,
}

/// When requests go out, and whether that counts.
#[derive(Debug, Clone, Copy)]
struct Moment {
    due_ns: u64,
    sent_ns: u64,
    is_measured: bool,
}

/// Requests in flight that were sent together and are alike.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
struct Group {
    due_ns: u64,
    sent_ns: u64,
    command: usize,
    kind: RequestKind,
    left: u32,
    /// Sent as part of the measured time. Not the same as being due in it: a thread may send once more
    /// before it sees that another has ended the warm-up.
    is_measured: bool,
    /// Bytes of its requests that have not been recorded.
    bytes_out: u64,
}

impl Group {
    /// Its replies are recorded.
    fn counts(&self, recorder: &Recorder) -> bool {
        self.is_measured && recorder.measures(self.due_ns)
    }
}

/// Replies to the foremost group that have not been recorded; errors are in the bytes alone.
#[derive(Debug, Default)]
struct Answered {
    count: u32,
    misses: u32,
    bytes_in: u64,
}

/// One connection's state.
#[derive(Debug)]
pub struct Session {
    generator: Generator,
    index: u64,
    depth: u64,
    widest: u64,
    batches: bool,
    clock: LatencyClock,
    stop_on_error: bool,
    /// Requests after which the connection is to be made anew, and how many of them are left.
    reconnect_every: u64,
    connection_left: u64,
    /// It sends nothing yet.
    dormant: bool,
    /// Measured requests that this connection may still send; `None` without such a limit.
    quota: Option<u64>,
    exhausted: bool,
    /// Units of the schedule that were sent.
    units: u64,
    in_flight: VecDeque<Group>,
    in_flight_requests: u64,
    /// Groups of a batch that wait for its last reply, when that is the clock.
    held: Vec<(Group, u32)>,
    first_byte_ns: Option<u64>,
    protocol: Protocol,
    scanner: Scanner,
    /// Replies to the parts of the foremost transaction.
    parts: u32,
    /// What the values of requests in flight must be, where that is verified.
    expected: VecDeque<Vec<u8>>,
    /// The beginning of a reply whose rest has not come.
    partial: Vec<u8>,
    prefix: usize,
    prefix_left: usize,
    max_lag_ns: u64,
    max_backlog: u64,
}

impl Session {
    /// The session of connection `index`, whose prefix commands have been answered. `quota` limits its measured requests.
    pub fn new(plan: &Plan, mix: &Mix, index: u32, quota: Option<u64>) -> Self {
        let protocol = plan.targets[index as usize % plan.targets.len()].protocol;
        Self {
            generator: Generator::new(mix, plan.seed, index),
            index: index.into(),
            depth: plan.pipeline.depth.into(),
            widest: mix.widest() as u64,
            batches: plan.pipeline.mode == PipelineMode::Batch || plan.pipeline.depth == 1,
            clock: plan.clock,
            stop_on_error: plan.errors == ErrorPolicy::Stop,
            reconnect_every: match plan.lifetime.reconnect_every {
                0 => u64::MAX,
                every => every,
            },
            connection_left: match plan.lifetime.reconnect_every {
                0 => u64::MAX,
                every => every,
            },
            dormant: false,
            quota,
            exhausted: quota == Some(0),
            units: 0,
            in_flight: VecDeque::new(),
            in_flight_requests: 0,
            held: Vec::new(),
            first_byte_ns: None,
            protocol,
            scanner: Scanner::new(protocol),
            parts: 0,
            expected: VecDeque::new(),
            partial: Vec::new(),
            prefix: 0,
            prefix_left: 0,
            max_lag_ns: 0,
            max_backlog: 0,
        }
    }

    /// Appends all requests that are due and allowed to `out`, and says how many those are.
    pub fn fill(&mut self, now_ns: u64, gate: &Gate<'_>, mix: &Mix, out: &mut Vec<u8>) -> u64 {
        let mut sent = 0;
        loop {
            let due_ns = self.next_due_ns(now_ns, gate);
            if due_ns > now_ns || due_ns >= gate.deadline_ns {
                return sent;
            }
            let turns = self.room(gate).min(self.connection_left);
            if turns == 0 {
                self.note_backlog(now_ns, gate);
                return sent;
            }
            let wanted = (turns * self.widest).min(self.connection_left);
            let is_measured = due_ns >= gate.measure_start_ns;
            let allowed = self.claim(wanted, is_measured, gate);
            if allowed == 0 {
                return sent;
            }
            self.max_lag_ns = self.max_lag_ns.max(now_ns - due_ns);
            let moment = Moment { due_ns, sent_ns: now_ns, is_measured };
            let count = self.send(turns, allowed, moment, mix, out);
            self.connection_left = self.connection_left.saturating_sub(count);
            sent += count;
            self.units += 1;
        }
    }

    /// Takes in what came from the server.
    ///
    /// # Errors
    /// What makes the connection useless, or ends the run by the plan's rule; replies before it are recorded.
    pub fn receive(
        &mut self,
        now_ns: u64,
        bytes: &[u8],
        recorder: &mut Recorder,
    ) -> Result<(), SessionError> {
        if self.first_byte_ns.is_none() {
            self.first_byte_ns = Some(now_ns);
        }
        if self.partial.is_empty() {
            let used = self.scan(now_ns, bytes, recorder)?;
            self.partial.extend_from_slice(&bytes[used..]);
        } else {
            let mut joined = std::mem::take(&mut self.partial);
            joined.extend_from_slice(bytes);
            let used = self.scan(now_ns, &joined, recorder)?;
            joined.drain(..used);
            self.partial = joined;
        }
        Ok(())
    }

    /// Starts over on a new connection, which sends this many commands before the load.
    pub fn reconnect(&mut self, prefix: usize) {
        debug_assert_eq!(self.in_flight_requests, 0);
        self.scanner = Scanner::new(self.protocol);
        self.partial.clear();
        self.parts = 0;
        self.connection_left = self.reconnect_every;
        self.prefix = prefix;
        self.prefix_left = prefix;
    }

    /// Why a script of the mix could not go on: then this session is of no use any more.
    pub fn script_failure(&self) -> Option<&str> {
        self.generator.failure()
    }

    /// Gives up what is in flight, because the connection was lost; says how many measured requests that were.
    pub fn lose(&mut self, recorder: &mut Recorder) -> u64 {
        let mut lost = 0;
        for group in self.in_flight.drain(..) {
            if group.counts(recorder) {
                recorder.lost(group.command, group.left);
                lost += u64::from(group.left);
            }
        }
        self.in_flight_requests = 0;
        self.held.clear();
        self.expected.clear();
        self.generator.set_cursor(0);
        lost
    }

    /// True when the connection has sent all that it may, so that it is to be made anew.
    pub fn is_spent(&self) -> bool {
        self.connection_left == 0
    }

    /// Sends nothing until [`Session::wake`].
    pub fn sleep(&mut self) {
        self.dormant = true;
    }

    /// Begins to send; what was due before is not.
    pub fn wake(&mut self, now_ns: u64, gate: &Gate<'_>) {
        self.dormant = false;
        if let Some(schedule) = gate.schedule {
            self.units = schedule.connection_units_due(self.index, now_ns);
        }
    }

    /// Requests without a reply.
    pub fn in_flight(&self) -> u64 {
        self.in_flight_requests
    }

    /// When the oldest request without a reply was sent.
    pub fn oldest_sent_ns(&self) -> Option<u64> {
        self.in_flight.front().map(|group| group.sent_ns)
    }

    /// True when nothing is in flight and the number of requests is used up.
    pub fn is_finished(&self) -> bool {
        self.exhausted && self.in_flight_requests == 0
    }

    /// True when a request is due before the deadline and not sent.
    pub fn is_behind(&self, gate: &Gate<'_>) -> bool {
        !self.exhausted
            && !self.dormant
            && gate.schedule.is_some()
            && self.next_due_ns(u64::MAX, gate) < gate.deadline_ns
    }

    /// Measured requests without a reply at the end of a run: in flight, or due by `end_ns` and not sent.
    pub fn unanswered(&self, end_ns: u64, gate: &Gate<'_>) -> u64 {
        let in_flight: u64 = self
            .in_flight
            .iter()
            .filter(|group| group.is_measured)
            .map(|group| u64::from(group.left))
            .sum();
        let Some(schedule) = gate.schedule.filter(|_| !self.exhausted && !self.dormant) else {
            return in_flight;
        };
        let last_ns = end_ns.min(gate.deadline_ns).saturating_sub(1);
        let due = schedule.connection_units_due(self.index, last_ns);
        let late = due.saturating_sub(self.units) * if self.batches { self.depth } else { 1 };
        in_flight + late.min(self.quota.unwrap_or(u64::MAX))
    }

    /// How late the latest send was, and the most units that were due and not sent.
    pub fn lag(&self) -> (u64, u64) {
        (self.max_lag_ns, self.max_backlog)
    }

    fn next_due_ns(&self, now_ns: u64, gate: &Gate<'_>) -> u64 {
        match gate.schedule {
            Some(schedule) => schedule.connection_due_ns(self.index, self.units),
            None => now_ns,
        }
    }

    /// Entries of the mix that may be sent at once.
    fn room(&self, gate: &Gate<'_>) -> u64 {
        if self.batches {
            return if self.in_flight_requests == 0 { self.depth } else { 0 };
        }
        let free = (self.depth * self.widest).saturating_sub(self.in_flight_requests) / self.widest;
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

    fn send(
        &mut self,
        turns: u64,
        allowed: u64,
        moment: Moment,
        mix: &Mix,
        out: &mut Vec<u8>,
    ) -> u64 {
        let Moment { due_ns, sent_ns, is_measured } = moment;
        let mut sent = 0;
        self.first_byte_ns = None;
        for _ in 0..turns {
            if sent >= allowed {
                break;
            }
            let before = out.len();
            let (entry, command) = self.generator.next(mix, out);
            let mut bytes_out = (out.len() - before) as u64;
            for kind in entry.requests() {
                if *kind == RequestKind::Verify {
                    let expected = self.generator.expected(entry).unwrap_or_default().to_vec();
                    self.expected.push_back(expected);
                }
                let kind = *kind;
                let group =
                    Group { due_ns, sent_ns, command, kind, left: 0, is_measured, bytes_out: 0 };
                // The bytes of a sequence go with its first request: all of them have one label.
                let own_bytes = std::mem::take(&mut bytes_out);
                match self.in_flight.back_mut() {
                    Some(last) if (Group { left: 0, bytes_out: 0, ..*last }) == group => {
                        last.left += 1;
                        last.bytes_out += own_bytes;
                    }
                    _ => self.in_flight.push_back(Group { left: 1, bytes_out: own_bytes, ..group }),
                }
            }
            sent += entry.requests().len() as u64;
        }
        self.in_flight_requests += sent;
        sent
    }

    fn note_backlog(&mut self, now_ns: u64, gate: &Gate<'_>) {
        if let Some(schedule) = gate.schedule {
            let due = schedule.connection_units_due(self.index, now_ns);
            self.max_backlog = self.max_backlog.max(due.saturating_sub(self.units));
        }
    }

    /// Takes in all complete replies of `bytes` and says how many bytes those are.
    fn scan(
        &mut self,
        now_ns: u64,
        bytes: &[u8],
        recorder: &mut Recorder,
    ) -> Result<usize, SessionError> {
        let mut answered = Answered::default();
        let result = self.scan_replies(now_ns, bytes, &mut answered, recorder);
        if let Some(front) = self.in_flight.front_mut() {
            let group = *front;
            front.bytes_out = 0;
            self.record(group, answered, now_ns, recorder);
        }
        result
    }

    /// Leaves replies to a group that has more to come in `answered`.
    fn scan_replies(
        &mut self,
        now_ns: u64,
        bytes: &[u8],
        answered: &mut Answered,
        recorder: &mut Recorder,
    ) -> Result<usize, SessionError> {
        let mut at = 0;
        loop {
            let text = &bytes[at..];
            let reply = match self.scanner.next(text) {
                Ok(Some(reply)) => reply,
                Ok(None) if text.len() > REPLY_BYTES_MAX => {
                    return Err(SessionError::Garbage(DecodeError::TooLong));
                }
                Ok(None) => return Ok(at),
                Err(error) => return Err(SessionError::Garbage(error)),
            };
            at += reply.consumed;
            if matches!(reply.kind, ReplyKind::Push(_)) {
                continue;
            }
            if self.prefix_left > 0 {
                self.prefix_reply(reply.kind, text)?;
                continue;
            }
            let Some(group) = self.in_flight.front_mut() else {
                return Err(SessionError::Unasked);
            };
            answered.bytes_in += reply.consumed as u64;
            if let RequestKind::Transaction(parts) = group.kind
                && self.parts < parts
            {
                self.parts += 1;
                continue;
            }
            let left = group.left - 1;
            group.left = left;
            self.in_flight_requests -= 1;
            match reply.kind {
                ReplyKind::Error(span) => {
                    let group = *group;
                    let error = &text[span.start as usize..span.end as usize];
                    self.error_reply(group, error, now_ns, recorder)?;
                }
                ReplyKind::Null | ReplyKind::Array(0) | ReplyKind::Map(0)
                    if group.kind == RequestKind::Read =>
                {
                    answered.count += 1;
                    answered.misses += 1;
                }
                _ if matches!(group.kind, RequestKind::Other | RequestKind::Read) => {
                    answered.count += 1;
                }
                kind => {
                    answered.count += 1;
                    let group = *group;
                    self.special_reply(group, kind, &text[..reply.consumed], recorder);
                }
            }
            if left == 0
                && let Some(group) = self.in_flight.pop_front()
            {
                self.record(group, std::mem::take(answered), now_ns, recorder);
            }
        }
    }

    fn prefix_reply(&mut self, kind: ReplyKind, text: &[u8]) -> Result<(), SessionError> {
        let nth = self.prefix - self.prefix_left;
        self.prefix_left -= 1;
        match kind {
            ReplyKind::Error(span) => {
                let message = message_text(&text[span.start as usize..span.end as usize]);
                Err(SessionError::Refused { nth, message })
            }
            _ => Ok(()),
        }
    }

    /// What a reply means beyond its being one.
    fn special_reply(
        &mut self,
        group: Group,
        kind: ReplyKind,
        reply: &[u8],
        recorder: &mut Recorder,
    ) {
        let measured = group.counts(recorder);
        let command = group.command;
        match group.kind {
            RequestKind::ReadPart if measured => {
                let is_miss = matches!(kind, ReplyKind::Null | ReplyKind::Bulk(0));
                recorder.found(command, u32::from(!is_miss), u32::from(is_miss));
            }
            RequestKind::ReadMany(keys) if measured => {
                let hits = reply::values(kind, reply, self.protocol).min(keys);
                recorder.found(command, hits, keys - hits);
            }
            RequestKind::Verify => {
                let expected = self.expected.pop_front().unwrap_or_default();
                let found = reply::value(kind, reply, self.protocol);
                if measured {
                    recorder.found(command, u32::from(found.is_some()), u32::from(found.is_none()));
                    recorder.verified(command, found == Some(&expected[..]));
                }
            }
            RequestKind::Scan => self.generator.set_cursor(reply::cursor(reply).unwrap_or(0)),
            RequestKind::Transaction(_) => {
                self.parts = 0;
                if measured && kind == ReplyKind::Null {
                    recorder.aborted(command);
                }
            }
            _ => {}
        }
    }

    fn error_reply(
        &mut self,
        group: Group,
        text: &[u8],
        now_ns: u64,
        recorder: &mut Recorder,
    ) -> Result<(), SessionError> {
        let measured = group.counts(recorder);
        if measured {
            recorder.error(group.command, text, now_ns);
        }
        match group.kind {
            RequestKind::Scan => self.generator.set_cursor(0),
            RequestKind::Transaction(_) => {
                self.parts = 0;
                if measured {
                    recorder.aborted(group.command);
                }
            }
            RequestKind::Verify => {
                self.expected.pop_front();
                if measured {
                    recorder.verified(group.command, false);
                }
            }
            _ => {}
        }
        if self.stop_on_error {
            let message = message_text(text);
            return Err(SessionError::ErrorReply { command: group.command, message });
        }
        Ok(())
    }

    fn record(&mut self, group: Group, answered: Answered, now_ns: u64, recorder: &mut Recorder) {
        let measured = group.counts(recorder);
        if measured {
            recorder.bytes(group.command, answered.bytes_in, group.bytes_out);
        }
        if answered.count > 0 && measured {
            if group.kind == RequestKind::Read {
                recorder.found(group.command, answered.count - answered.misses, answered.misses);
            }
            let done_ns = match self.clock {
                LatencyClock::FirstByte => self.first_byte_ns.unwrap_or(now_ns),
                LatencyClock::PerRequest | LatencyClock::WholeBatch => now_ns,
            };
            if self.clock == LatencyClock::WholeBatch {
                self.held.push((group, answered.count));
            } else {
                let Group { command, due_ns, sent_ns, .. } = group;
                recorder.record(command, due_ns, sent_ns, done_ns, answered.count);
            }
        }
        if self.in_flight_requests == 0 {
            for (group, count) in self.held.drain(..) {
                recorder.record(group.command, group.due_ns, group.sent_ns, now_ns, count);
            }
        }
    }
}

mod reply;
#[cfg(test)]
mod tests;
