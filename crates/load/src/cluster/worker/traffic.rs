//! What becomes of a request: drawn, divided, sent to a node, redirected, delayed, answered.
//!
//! A request counts once, with the time from its first send to its last reply. Redirections and refusals that pass are
//! counted apart and the request is sent again: at once where the node named another, else after a while. After
//! [`GIVE_UP_NS`] the refusal is its answer.

use std::io;
use std::sync::atomic::Ordering;

use report::model::{LOST_CONNECTION, LatencyClock};
use resp::ReplyKind;

use super::{ClusterWorker, Delayed, Lane, Link};
use crate::cluster::client::Turn;
use crate::cluster::map::Wish;
use crate::cluster::pipe::{Answer, NextError, Pipe, Sent};
use crate::cluster::redirect::Refusal;
use crate::cluster::request::Request;
use crate::error::{RunError, message_text};
use crate::plan::ErrorPolicy;
use crate::record::error_class;
use crate::session::Gate;
use crate::template::RequestKind;

/// How long a request is sent again and again: longer than a failover takes with the default node timeout of 15 s.
const GIVE_UP_NS: u64 = 30_000_000_000;
/// Redirections that are followed at once; two nodes that name each other must not keep the thread busy.
const QUICK_ATTEMPTS: u32 = 5;
/// Shortest and longest wait before a request is sent again.
const LEAST_DELAY_NS: u64 = 2_000_000;
const MOST_DELAY_NS: u64 = 100_000_000;
/// Encoded `ASKING`.
const ASKING: &[u8] = b"*1\r\n$6\r\nASKING\r\n";

impl ClusterWorker<'_> {
    /// Sends all that a client may send now.
    pub(super) fn send(&mut self, at: usize, now_ns: u64, gate: &Gate<'_>) -> Result<(), RunError> {
        let mut sent = 0;
        while let Some(turn) = self.clients[at].turn(now_ns, gate) {
            sent += self.draw(at, turn, now_ns)?;
        }
        let client = &mut self.clients[at];
        if sent == 0 && !client.is_finished && client.is_done() {
            client.is_finished = true;
            self.finished += 1;
        }
        if gate.measure_start_ns == u64::MAX && sent > 0 {
            self.shared.warm_up_left.fetch_sub(sent as i64, Ordering::Relaxed);
        }
        self.write_dirty()
    }

    /// Sends those requests again whose time has come.
    pub(super) fn send_again(&mut self, now_ns: u64, gate: &Gate<'_>) -> Result<(), RunError> {
        while let Some(next) = self.delayed.peek()
            && next.at_ns <= now_ns
        {
            let Some(Delayed { request, bytes, .. }) = self.delayed.pop() else { break };
            if now_ns.saturating_sub(request.sent_ns) >= GIVE_UP_NS {
                let text = format!("{LOST_CONNECTION} no node served the request");
                self.answer(request, None, Some(text.as_bytes()), now_ns)?;
            } else {
                self.forward(request, &bytes, now_ns)?;
            }
        }
        self.write_dirty()?;
        while let Some(client) = self.woken.pop() {
            self.send(client, now_ns, gate)?;
        }
        Ok(())
    }

    /// Takes in what has come over a connection, and sends what that makes room for.
    pub(super) fn read(
        &mut self,
        at: usize,
        is_closed: bool,
        gate: &Gate<'_>,
    ) -> Result<(), RunError> {
        loop {
            let lane = &mut self.lanes[at];
            let Link::Ready(stream) = &mut lane.link else { return Ok(()) };
            let mut input = std::mem::take(&mut self.input);
            let result = stream.read(&mut input);
            let now_ns = self.shared.now_ns();
            let received = match result {
                Ok(0) => Err(None),
                Ok(count) => Ok(count),
                Err(error) => Err(Some(error.kind())),
            };
            let went_on = match received {
                Ok(count) => self.receive(at, &input[..count], now_ns),
                Err(Some(io::ErrorKind::WouldBlock)) => {
                    self.input = input;
                    return Ok(());
                }
                Err(Some(io::ErrorKind::Interrupted)) => Ok(()),
                Err(_) => self.lost(at, now_ns),
            };
            let is_full = received == Ok(input.len());
            self.input = input;
            went_on?;
            let client = self.lanes[at].client;
            if !self.shared.plan.keep_alive && self.clients[client].in_flight == 0 {
                self.close_all(client);
            }
            self.send(client, now_ns, gate)?;
            // A short read has emptied the socket; the next bytes make a new event.
            if received.is_ok() && !is_full && !is_closed {
                return Ok(());
            }
        }
    }

    /// A connection that was begun has been made, or has failed.
    pub(super) fn connected(&mut self, at: usize) -> Result<(), RunError> {
        let now_ns = self.shared.now_ns();
        let lane = &mut self.lanes[at];
        let Link::Connecting(stream) = std::mem::replace(&mut lane.link, Link::None) else {
            return Ok(());
        };
        let is_made = stream.connected().is_ok();
        lane.link = Link::Ready(stream);
        lane.since_ns = now_ns;
        if is_made { self.write(at) } else { self.lost(at, now_ns) }
    }

    /// Writes as much as the socket takes.
    pub(super) fn write(&mut self, at: usize) -> Result<(), RunError> {
        let lane = &mut self.lanes[at];
        lane.is_dirty = false;
        let Link::Ready(stream) = &mut lane.link else { return Ok(()) };
        let mut written = 0;
        let result = loop {
            let rest = lane.pipe.unwritten();
            if rest.is_empty() {
                break if stream.owes() { stream.flush() } else { Ok(()) };
            }
            match stream.write(rest) {
                Ok(count) => {
                    lane.pipe.wrote(count);
                    written += count;
                }
                Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
                Err(error) if error.kind() == io::ErrorKind::WouldBlock => break Ok(()),
                Err(error) => break Err(error),
            }
        };
        if self.measuring {
            self.bytes_out += written as u64;
        }
        if result.is_err() { self.lost(at, self.shared.now_ns()) } else { Ok(()) }
    }

    /// A connection broke, could not be made or is given up: what was on its way is sent again.
    pub(super) fn lost(&mut self, at: usize, now_ns: u64) -> Result<(), RunError> {
        let node = self.lanes[at].node;
        let requests = self.close(at);
        if self.recorder.measures(now_ns) {
            self.outage.connection_failed(now_ns);
        }
        self.map.failed(node, now_ns);
        self.cluster.directory.want();
        for (request, bytes) in requests {
            self.refused(request, &bytes, node, LOST_CONNECTION, now_ns)?;
        }
        Ok(())
    }

    /// A new place for a client's connection to a node.
    pub(super) fn new_lane(&mut self, client: usize, node: usize) -> usize {
        self.lanes.push(Lane {
            node,
            client,
            link: Link::None,
            pipe: Pipe::default(),
            generation: 0,
            is_dirty: false,
            since_ns: 0,
            first_byte_ns: None,
        });
        self.clients[client].set_lane(node, self.lanes.len() - 1);
        self.lanes.len() - 1
    }

    /// Draws requests of a client and sends them on their way; gives their number.
    fn draw(&mut self, at: usize, turn: Turn, now_ns: u64) -> Result<u64, RunError> {
        let cluster = self.cluster;
        let mut sent = 0;
        let index = self.clients[at].index;
        let tag = cluster
            .tags
            .map(|tags| (tags, self.map.slot_of_home(index, &mut self.clients[at].random)));
        let mut bytes = std::mem::take(&mut self.entry);
        let mut splitter = std::mem::take(&mut self.splitter);
        for _ in 0..turn.entries {
            if sent >= turn.requests {
                break;
            }
            bytes.clear();
            let client = &mut self.clients[at];
            let (entry, command) = client.generator.next(self.shared.mix, &mut bytes);
            if let Some(failure) = client.generator.failure() {
                return Err(RunError::Script(failure.into()));
            }
            if let Some((tags, slot)) = tag {
                tags.put(slot, &mut bytes);
            }
            splitter.split(&bytes, cluster.routes.entry(entry.nth()));
            client.in_flight += entry.requests().len() as u64;
            sent += entry.requests().len() as u64;
            let mut whole = None;
            for (nth, part) in splitter.parts().iter().enumerate() {
                let is_first = nth == 0 || splitter.parts()[nth - 1].command != part.command;
                if is_first {
                    whole = (part.siblings > 1).then(|| self.wholes.begin(part.siblings));
                }
                let request = Request {
                    client: at,
                    command,
                    reads: entry.requests()[part.command] == RequestKind::Read,
                    reads_only: part.reads_only,
                    may_retry: part.may_retry,
                    slot: part.slot,
                    due_ns: turn.due_ns,
                    sent_ns: now_ns,
                    whole,
                    ..Request::default()
                };
                self.forward(request, splitter.bytes(part, &bytes), now_ns)?;
            }
        }
        (self.entry, self.splitter) = (bytes, splitter);
        Ok(sent)
    }

    /// Sends a request to the node that its slot belongs to, or puts it off when that can't be reached now.
    fn forward(&mut self, request: Request, bytes: &[u8], now_ns: u64) -> Result<(), RunError> {
        let client = &mut self.clients[request.client];
        let wish =
            Wish { slot: request.slot, reads_only: request.reads_only, client: client.index };
        match self.map.node_for(wish, now_ns, &mut client.random) {
            Some(node) => self.send_to(node, request, bytes, false, now_ns),
            None => {
                self.cluster.directory.want();
                self.delay(request, bytes, now_ns);
                Ok(())
            }
        }
    }

    /// Sends a request to a node, behind an `ASKING` if that is what it takes.
    fn send_to(
        &mut self,
        node: usize,
        mut request: Request,
        bytes: &[u8],
        with_asking: bool,
        now_ns: u64,
    ) -> Result<(), RunError> {
        let client = request.client;
        let at = match self.clients[client].lane(node) {
            Some(lane) => lane,
            None => self.new_lane(client, node),
        };
        if matches!(self.lanes[at].link, Link::None) && !self.open(at, now_ns) {
            request.met_outage = true;
            self.cluster.directory.want();
            self.delay(request, bytes, now_ns);
            return Ok(());
        }
        let lane = &mut self.lanes[at];
        if lane.pipe.is_idle() {
            lane.since_ns = now_ns;
            lane.first_byte_ns = None;
        }
        if with_asking {
            lane.pipe.push(Sent::Asking, ASKING);
        }
        lane.pipe.push(Sent::Request(request), bytes);
        if !lane.is_dirty {
            lane.is_dirty = true;
            self.dirty.push(at);
        }
        Ok(())
    }

    /// Begins a connection; false when the node is to be left alone for now, or the attempt failed at once.
    fn open(&mut self, at: usize, now_ns: u64) -> bool {
        let node = self.lanes[at].node;
        if self.map.rests(node, now_ns) {
            return false;
        }
        let way = self.map.nodes()[node].place.way.as_ref();
        let token = self.token(at);
        let begun = way.and_then(|(_, peer)| {
            let mut stream = peer.start().ok()?;
            stream.register(self.poll.registry(), token).ok()?;
            Some(stream)
        });
        let Some(stream) = begun else {
            self.map.failed(node, now_ns);
            if self.recorder.measures(now_ns) {
                self.outage.connection_failed(now_ns);
            }
            return false;
        };
        let lane = &mut self.lanes[at];
        lane.link = Link::Connecting(stream);
        lane.since_ns = now_ns;
        let prefix = self.cluster.prefix;
        for nth in 0..prefix.commands.len() {
            lane.pipe.push(Sent::Prefix, if nth == 0 { &prefix.encoded } else { b"" });
        }
        true
    }

    /// Takes in all replies of `bytes` and of what came before them.
    fn receive(&mut self, at: usize, bytes: &[u8], now_ns: u64) -> Result<(), RunError> {
        if self.measuring {
            self.bytes_in += bytes.len() as u64;
        }
        let lane = &mut self.lanes[at];
        lane.since_ns = now_ns;
        lane.first_byte_ns.get_or_insert(now_ns);
        self.map.answered(lane.node);
        let mut joined = lane.pipe.take_partial();
        let input = if joined.is_empty() {
            bytes
        } else {
            joined.extend_from_slice(bytes);
            &joined
        };
        let generation = lane.generation;
        let mut used = 0;
        while self.lanes[at].generation == generation {
            let rest = &input[used..];
            match self.lanes[at].pipe.next(rest) {
                Ok(None) => break,
                Ok(Some(answer)) => {
                    used += answer.consumed;
                    self.reply(at, answer, rest, now_ns)?;
                }
                Err(error) => return Err(self.useless(at, error)),
            }
        }
        if self.lanes[at].generation == generation {
            self.lanes[at].pipe.keep_partial(&input[used..]);
        }
        Ok(())
    }

    fn reply(
        &mut self,
        at: usize,
        answer: Answer,
        input: &[u8],
        now_ns: u64,
    ) -> Result<(), RunError> {
        let node = self.lanes[at].node;
        let request = match answer.sent {
            Some(Sent::Request(request)) => request,
            Some(Sent::Prefix) => {
                return match answer.kind {
                    ReplyKind::Error(span) => self.prefix_refused(at, span.of(input), now_ns),
                    _ => Ok(()),
                };
            }
            Some(Sent::Asking) | None => return Ok(()),
        };
        let ReplyKind::Error(span) = answer.kind else {
            let is_miss =
                matches!(answer.kind, ReplyKind::Null | ReplyKind::Array(0) | ReplyKind::Map(0));
            let reads = request.reads;
            if reads && self.recorder.measures(request.due_ns) {
                self.recorder.found(request.command, u32::from(!is_miss), u32::from(is_miss));
            }
            return self.answer(request, Some(at), None, now_ns);
        };
        let text = span.of(input);
        let refusal = Refusal::read(text);
        let is_late = now_ns.saturating_sub(request.sent_ns) >= GIVE_UP_NS;
        if refusal == Refusal::Answer || !request.may_retry || is_late {
            if refusal != Refusal::Answer {
                self.cluster.directory.want();
            }
            return self.answer(request, Some(at), Some(text), now_ns);
        }
        let bytes = self.lanes[at].pipe.passed(answer.length).to_vec();
        match refusal {
            Refusal::Moved { slot, address } => {
                self.cluster.directory.want();
                let to = self.map.moved(slot, node, address);
                self.redirected(request, &bytes, node, "MOVED", to.map(|to| (to, false)), now_ns)
            }
            Refusal::Ask { address } => {
                let to = self.map.node_at(node, address);
                self.redirected(request, &bytes, node, "ASK", to.map(|to| (to, true)), now_ns)
            }
            Refusal::TryAgain => self.redirected(request, &bytes, node, "TRYAGAIN", None, now_ns),
            Refusal::Unserving(class) => {
                self.cluster.directory.want();
                self.refused(request, &bytes, node, class, now_ns)
            }
            Refusal::Answer => unreachable!("taken above"),
        }
    }

    /// A command that comes first on a connection was refused: for ever, or because the node does not serve yet.
    fn prefix_refused(&mut self, at: usize, text: &[u8], now_ns: u64) -> Result<(), RunError> {
        if matches!(Refusal::read(text), Refusal::Unserving(_)) {
            return self.lost(at, now_ns);
        }
        Err(RunError::Refused {
            address: self.address(self.lanes[at].node),
            command: "a command before the load".into(),
            message: message_text(text),
        })
    }

    /// Follows a redirection: to a node, behind an `ASKING` or not, or after a while when none is known.
    fn redirected(
        &mut self,
        mut request: Request,
        bytes: &[u8],
        from: usize,
        class: &str,
        to: Option<(usize, bool)>,
        now_ns: u64,
    ) -> Result<(), RunError> {
        self.count_retry(&request, from, class);
        request.attempts += 1;
        match to {
            Some((node, with_asking)) if request.attempts <= QUICK_ATTEMPTS => {
                self.send_to(node, request, bytes, with_asking, now_ns)
            }
            _ => {
                self.delay(request, bytes, now_ns);
                Ok(())
            }
        }
    }

    /// A node would not serve a request, or the connection broke: it is put off.
    fn refused(
        &mut self,
        mut request: Request,
        bytes: &[u8],
        from: usize,
        class: &str,
        now_ns: u64,
    ) -> Result<(), RunError> {
        if self.recorder.measures(request.due_ns) {
            self.outage.refused(now_ns);
        }
        request.met_outage = true;
        if !request.may_retry {
            return self.answer(request, None, Some(class.as_bytes()), now_ns);
        }
        self.count_retry(&request, from, class);
        request.attempts += 1;
        self.delay(request, bytes, now_ns);
        Ok(())
    }

    fn count_retry(&mut self, request: &Request, node: usize, class: &str) {
        if self.recorder.measures(request.due_ns) {
            self.record_of(node);
            for counts in [&mut self.retried[request.command], &mut self.nodes[node].retried] {
                *counts.entry(class.to_owned()).or_default() += 1;
            }
        }
    }

    fn delay(&mut self, request: Request, bytes: &[u8], now_ns: u64) {
        let doublings = request.attempts.min(10);
        let wait_ns = (LEAST_DELAY_NS << doublings).min(MOST_DELAY_NS);
        self.delayed_count += 1;
        self.delayed.push(Delayed {
            at_ns: now_ns + wait_ns,
            nth: self.delayed_count,
            request,
            bytes: bytes.to_vec(),
        });
    }

    /// A request has its last reply, an error or not, over this connection or over none.
    fn answer(
        &mut self,
        request: Request,
        lane: Option<usize>,
        error: Option<&[u8]>,
        now_ns: u64,
    ) -> Result<(), RunError> {
        let is_measured = self.recorder.measures(request.due_ns);
        if is_measured {
            self.record_node(&request, lane, error, now_ns);
        }
        let whole_error = match request.whole {
            None => None,
            Some(whole) => match self.wholes.answer(whole, error) {
                None => return Ok(()),
                Some(whole) => whole.error,
            },
        };
        let error = if request.whole.is_some() { whole_error.as_deref() } else { error };
        let Request { command, due_ns, sent_ns, .. } = request;
        let clock = self.shared.plan.clock;
        if is_measured {
            match error {
                Some(text) => self.recorder.error(command, text, now_ns),
                None if clock == LatencyClock::WholeBatch => {
                    self.clients[request.client].held.push((command, due_ns, sent_ns));
                }
                None => {
                    let first = lane.and_then(|lane| self.lanes[lane].first_byte_ns);
                    let is_first_byte = clock == LatencyClock::FirstByte
                        && request.attempts == 0
                        && request.whole.is_none();
                    let done_ns = if is_first_byte { first.unwrap_or(now_ns) } else { now_ns };
                    self.recorder.record(command, due_ns, sent_ns, done_ns, 1);
                }
            }
        }
        if lane.is_none() {
            // Nobody is about to send for it, as there is after something was read.
            self.woken.push(request.client);
        }
        let client = &mut self.clients[request.client];
        client.in_flight -= 1;
        if client.in_flight == 0 {
            for (command, due_ns, sent_ns) in client.held.drain(..) {
                self.recorder.record(command, due_ns, sent_ns, now_ns, 1);
            }
        }
        match error {
            Some(text) if self.shared.plan.errors == ErrorPolicy::Stop => {
                Err(self.error_reply(lane, command, text))
            }
            _ => Ok(()),
        }
    }

    fn record_node(
        &mut self,
        request: &Request,
        lane: Option<usize>,
        error: Option<&[u8]>,
        now_ns: u64,
    ) {
        let waited_ns = now_ns.saturating_sub(request.sent_ns);
        match lane {
            Some(_) if request.met_outage => self.outage.recovered(waited_ns),
            None if request.met_outage => self.outage.lost(waited_ns),
            _ => {}
        }
        let Some(node) = lane.map(|lane| self.lanes[lane].node) else { return };
        let record = self.record_of(node);
        match error {
            None => {
                record.count += 1;
                record.service.record(waited_ns, 1);
            }
            Some(text) => {
                *record.errors.entry(error_class(text).to_owned()).or_default() += 1;
            }
        }
    }

    fn record_of(&mut self, node: usize) -> &mut super::NodeRecord {
        if node >= self.nodes.len() {
            self.nodes.resize_with(node + 1, super::NodeRecord::default);
        }
        &mut self.nodes[node]
    }

    /// Ends a connection; what was on its way is given back.
    fn close(&mut self, at: usize) -> Vec<(Request, Vec<u8>)> {
        let lane = &mut self.lanes[at];
        lane.link = Link::None;
        lane.generation = lane.generation.wrapping_add(1) & 0x7fff_ffff;
        lane.pipe.empty()
    }

    /// Ends all connections of a client that has nothing on its way.
    fn close_all(&mut self, client: usize) {
        let lanes: Vec<usize> = self.clients[client].lanes().collect();
        for lane in lanes {
            self.close(lane);
        }
    }

    fn write_dirty(&mut self) -> Result<(), RunError> {
        while let Some(at) = self.dirty.pop() {
            self.write(at)?;
        }
        Ok(())
    }

    /// The error of a connection whose input makes no sense.
    fn useless(&self, at: usize, error: NextError) -> RunError {
        let address = self.address(self.lanes[at].node);
        match error {
            NextError::Garbage(source) => RunError::Garbage { address, source },
            NextError::Unasked => RunError::Unasked { address },
        }
    }

    fn error_reply(&self, lane: Option<usize>, command: usize, text: &[u8]) -> RunError {
        let node = lane.map_or(0, |lane| self.lanes[lane].node);
        RunError::ErrorReply {
            address: self.address(node),
            label: self.shared.mix.labels()[command].clone(),
            message: message_text(text),
        }
    }

    fn address(&self, node: usize) -> String {
        self.map.nodes()[node].place.target.address.to_string()
    }
}
