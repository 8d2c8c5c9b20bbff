//! One thread of a cluster's load: its clients, their connections to the nodes, one readiness loop.
//!
//! It is a loop of its own beside that of [`crate::worker`], so that load without a cluster pays nothing for one. What
//! becomes of each request is in `traffic`; here is when things happen.

mod traffic;

use std::collections::{BTreeMap, BinaryHeap};
use std::io;
use std::sync::atomic::Ordering;
use std::time::Duration;

use mio::event::Event;
use mio::{Events, Poll, Token};
use report::histogram::Histogram;
use report::model::{NodeResult, NodeRole};

use super::client::Client;
use super::directory::Directory;
use super::map::Map;
use super::outage::OutageRecord;
use super::pipe::Pipe;
use super::request::{Request, Wholes};
use super::route::{Routes, Splitter};
use super::tags::Tags;
use crate::connect::{Connection, Prefix, Stream};
use crate::control::{Phase, Progress};
use crate::error::RunError;
use crate::pacing::Schedule;
use crate::record::Recorder;
use crate::session::Gate;
use crate::timer::Timer;
use crate::worker::{self, Shared, WorkerResult};

/// How long a connection may take to be made.
const CONNECT_NS: u64 = 2_000_000_000;
/// How long a node may be silent before others are asked whether it still serves its slots.
const SUSPECT_NS: u64 = 1_000_000_000;
/// How often connections are looked at for silence.
const LOOK_NS: u64 = 50_000_000;

/// What the threads of a cluster's run share beside the rest.
pub(super) struct ClusterShared<'run> {
    pub(super) shared: &'run Shared<'run>,
    pub(super) directory: &'run Directory,
    pub(super) routes: &'run Routes,
    pub(super) tags: Option<&'run Tags>,
    /// What comes first on each connection, to whichever node.
    pub(super) prefix: &'run Prefix,
}

/// What a thread hands back beside the usual.
pub(super) struct ClusterPart {
    pub(super) worker: WorkerResult,
    /// Indexed as the worker's commands.
    pub(super) retried: Vec<BTreeMap<String, u64>>,
    pub(super) nodes: Vec<NodeResult>,
    pub(super) outage: OutageRecord,
}

/// A client's connection to a node.
struct Lane {
    node: usize,
    client: usize,
    link: Link,
    pipe: Pipe,
    /// Distinguishes events of this connection from those of the one before it in this place.
    generation: u32,
    /// It has bytes that are to be written in this visit.
    is_dirty: bool,
    /// When the connection was begun, a reply came last, or something was sent to a lane that waited for nothing.
    since_ns: u64,
    first_byte_ns: Option<u64>,
}

enum Link {
    /// There is no connection; one is made when it is needed.
    None,
    Connecting(Stream),
    Ready(Stream),
}

/// A request that waits to be sent again.
struct Delayed {
    at_ns: u64,
    /// Among those of one time the first comes first.
    nth: u64,
    request: Request,
    bytes: Vec<u8>,
}

/// What a node did, as far as this thread saw.
#[derive(Default)]
struct NodeRecord {
    count: u64,
    errors: BTreeMap<String, u64>,
    retried: BTreeMap<String, u64>,
    service: Histogram,
}

/// One thread.
pub(super) struct ClusterWorker<'run> {
    cluster: &'run ClusterShared<'run>,
    shared: &'run Shared<'run>,
    poll: Poll,
    timer: Option<Timer>,
    clients: Vec<Client>,
    lanes: Vec<Lane>,
    map: Map,
    map_version: u64,
    recorder: Recorder,
    nodes: Vec<NodeRecord>,
    retried: Vec<BTreeMap<String, u64>>,
    outage: OutageRecord,
    delayed: BinaryHeap<Delayed>,
    delayed_count: u64,
    wholes: Wholes,
    splitter: Splitter,
    entry: Vec<u8>,
    dirty: Vec<usize>,
    /// Clients that may send because a request of theirs has ended without anything being read.
    woken: Vec<usize>,
    input: Vec<u8>,
    start_ns: u64,
    schedule: Option<Schedule>,
    finished: usize,
    next_client: usize,
    next_round: u64,
    measuring: bool,
    bytes_in: u64,
    bytes_out: u64,
    cpu_start_ns: u64,
    shown: Progress,
    show_at_ns: u64,
    look_at_ns: u64,
}

impl<'run> ClusterWorker<'run> {
    /// A thread with these clients, and the connections that they have already: client's place, node's number.
    pub(super) fn new(
        cluster: &'run ClusterShared<'run>,
        map: Map,
        clients: Vec<Client>,
        connections: Vec<(usize, usize, Connection)>,
        is_open_loop: bool,
    ) -> io::Result<Self> {
        let shared = cluster.shared;
        let poll = Poll::new()?;
        let timer = is_open_loop.then(|| Timer::new(poll.registry(), worker::TIMER)).transpose()?;
        let mut this = Self {
            cluster,
            shared,
            poll,
            timer,
            clients,
            lanes: Vec::new(),
            map,
            map_version: cluster.directory.version(),
            recorder: Recorder::new(shared.mix.labels(), is_open_loop),
            nodes: Vec::new(),
            retried: vec![BTreeMap::new(); shared.mix.labels().len()],
            outage: OutageRecord::default(),
            delayed: BinaryHeap::new(),
            delayed_count: 0,
            wholes: Wholes::default(),
            splitter: Splitter::default(),
            entry: Vec::new(),
            dirty: Vec::new(),
            woken: Vec::new(),
            input: vec![0; worker::READ_BYTES],
            start_ns: 0,
            schedule: None,
            finished: 0,
            next_client: 0,
            next_round: 0,
            measuring: false,
            bytes_in: 0,
            bytes_out: 0,
            cpu_start_ns: 0,
            shown: Progress::default(),
            show_at_ns: 0,
            look_at_ns: 0,
        };
        for (client, node, Connection { mut stream, .. }) in connections {
            let lane = this.new_lane(client, node);
            stream.register(this.poll.registry(), this.token(lane))?;
            this.lanes[lane].link = Link::Ready(stream);
        }
        Ok(this)
    }

    /// Waits for the common start and runs to the end of the step; an error is left in the shared state.
    pub(super) fn run(mut self, schedule: impl Fn(u64) -> Option<Schedule>) -> ClusterPart {
        self.start_ns = self.shared.start.wait();
        self.schedule = schedule(self.start_ns);
        if let Err(error) = self.drive() {
            self.shared.fail(error);
        }
        let end_ns = self.shared.now_ns();
        let gate = self.shared.gate(self.schedule);
        let cpu_ns = if self.measuring { worker::thread_cpu_ns() - self.cpu_start_ns } else { 0 };
        self.show(end_ns);
        self.recorder.finish_seconds(end_ns.min(gate.deadline_ns - 1), self.shared.series);
        let unanswered = self.count_unanswered(end_ns, &gate);
        let lags = self.clients.iter().map(Client::lag);
        let (max_send_lag_ns, max_backlog) =
            lags.fold((0, 0), |most, lag| (most.0.max(lag.0), most.1.max(lag.1)));
        let nodes = self.node_results();
        ClusterPart {
            worker: WorkerResult {
                bytes_in: self.bytes_in,
                bytes_out: self.bytes_out,
                unanswered,
                last_reply_ns: self.recorder.last_reply_ns(),
                end_ns,
                cpu_ns,
                max_send_lag_ns,
                max_backlog,
                // Those of a cluster are in its outage.
                connection_errors: 0,
                reconnections: 0,
                clients: Vec::new(),
                commands: self.recorder.finish(self.shared.series),
            },
            retried: self.retried,
            nodes,
            outage: self.outage,
        }
    }

    fn drive(&mut self) -> Result<(), RunError> {
        let mut events = Events::with_capacity(worker::EVENTS);
        let mut gate = self.begin_turn(self.shared.now_ns());
        if gate.schedule.is_none() {
            for client in 0..self.clients.len() {
                self.send(client, self.shared.now_ns(), &gate)?;
            }
        }
        loop {
            let timeout = self.timeout(self.shared.now_ns(), &gate)?;
            match self.poll.poll(&mut events, Some(timeout)) {
                Err(error) if error.kind() == io::ErrorKind::Interrupted => continue,
                result => result?,
            }
            gate = self.begin_turn(self.shared.now_ns());
            for event in &events {
                if event.token() != worker::TIMER {
                    self.ready(event, &gate)?;
                }
            }
            self.send_again(self.shared.now_ns(), &gate)?;
            self.send_due(&gate)?;
            if self.is_over(self.shared.now_ns(), &gate)? {
                return Ok(());
            }
        }
    }

    /// What happens once a turn of the loop: a new topology, the start of the measured time, the ends of seconds, watchers.
    fn begin_turn(&mut self, now_ns: u64) -> Gate<'run> {
        let shared = self.shared;
        if self.cluster.directory.version() != self.map_version {
            self.map_version = self.cluster.directory.version();
            self.map.update(&self.cluster.directory.known());
        }
        let mut gate = shared.gate(self.schedule);
        let least_ns = shared.plan.warm_up.duration_ms.saturating_mul(1_000_000);
        if gate.measure_start_ns == u64::MAX
            && shared.warm_up_left.load(Ordering::Relaxed) <= 0
            && now_ns >= self.start_ns.saturating_add(least_ns)
        {
            let (unset, relaxed) = (u64::MAX, Ordering::Relaxed);
            // Only the first thread to see the end of the warm-up sets it; the others take that.
            let _ = shared.measure_start_ns.compare_exchange(unset, now_ns, relaxed, relaxed);
            gate = shared.gate(self.schedule);
        }
        if !self.measuring && now_ns >= gate.measure_start_ns {
            self.measuring = true;
            self.cpu_start_ns = worker::thread_cpu_ns();
            self.recorder.start_at(gate.measure_start_ns);
            let since = shared.origin + Duration::from_nanos(gate.measure_start_ns);
            shared.control.enter(Phase::Measuring, Some(since));
        }
        // What is drained after the deadline belongs to the last second.
        let second_ns = now_ns.min(gate.deadline_ns - 1);
        if self.recorder.second_is_over(second_ns) {
            self.recorder.finish_seconds(second_ns, shared.series);
            if let Some((point, latencies)) = shared.series.last_second() {
                shared.control.show_second(point, latencies);
            }
        }
        if now_ns >= self.show_at_ns {
            self.show(now_ns);
        }
        gate
    }

    fn show(&mut self, now_ns: u64) {
        let (requests, errors, latency_ns) = self.recorder.totals();
        let now = Progress {
            requests,
            errors,
            latency_ns: latency_ns as u64,
            bytes_in: self.bytes_in,
            bytes_out: self.bytes_out,
            connection_errors: self.outage.connection_errors(),
        };
        let before = std::mem::replace(&mut self.shown, now);
        self.shared.control.add(Progress {
            requests: now.requests - before.requests,
            errors: now.errors - before.errors,
            latency_ns: now.latency_ns - before.latency_ns,
            bytes_in: now.bytes_in - before.bytes_in,
            bytes_out: now.bytes_out - before.bytes_out,
            connection_errors: now.connection_errors - before.connection_errors,
        });
        self.show_at_ns = now_ns + worker::SHOW_NS;
    }

    /// How long to wait for readiness at most.
    fn timeout(&self, now_ns: u64, gate: &Gate<'_>) -> io::Result<Duration> {
        let end_ns = if now_ns < gate.deadline_ns {
            gate.deadline_ns
        } else {
            gate.deadline_ns.saturating_add(worker::DRAIN_NS)
        };
        let until_ns = self.delayed.peek().map_or(end_ns, |next| next.at_ns.min(end_ns));
        let nap = worker::NAP.min(Duration::from_nanos(until_ns.saturating_sub(now_ns).max(1)));
        match (&self.timer, self.next_due_ns(gate)) {
            (Some(timer), Some(due_ns)) if due_ns < gate.deadline_ns => {
                timer.sleep(due_ns.saturating_sub(now_ns), nap)
            }
            _ => Ok(nap),
        }
    }

    fn next_due_ns(&self, gate: &Gate<'_>) -> Option<u64> {
        let client = self.clients.get(self.next_client)?;
        gate.schedule
            .map(|schedule| schedule.connection_due_ns(client.index as u64, self.next_round))
    }

    /// Sends what is due by now for the clients whose turn it is.
    fn send_due(&mut self, gate: &Gate<'_>) -> Result<(), RunError> {
        for _ in 0..worker::UNITS_A_LOOP {
            let now_ns = self.shared.now_ns();
            match self.next_due_ns(gate) {
                Some(due_ns) if due_ns <= now_ns && due_ns < gate.deadline_ns => {}
                _ => break,
            }
            self.send(self.next_client, now_ns, gate)?;
            self.next_client += 1;
            if self.next_client == self.clients.len() {
                self.next_client = 0;
                self.next_round += 1;
            }
        }
        Ok(())
    }

    fn ready(&mut self, event: &Event, gate: &Gate<'_>) -> Result<(), RunError> {
        let token = event.token().0;
        let (at, generation) = (token & 0xffff_ffff, (token >> 32) as u32);
        let lane = &self.lanes[at];
        if lane.generation != generation {
            return Ok(());
        }
        match lane.link {
            Link::None => Ok(()),
            Link::Connecting(_) if event.is_writable() || event.is_error() => self.connected(at),
            Link::Connecting(_) => Ok(()),
            Link::Ready(_) => {
                if event.is_writable() {
                    self.write(at)?;
                }
                if event.is_readable() || event.is_read_closed() || event.is_error() {
                    return self.read(at, event.is_read_closed(), gate);
                }
                Ok(())
            }
        }
    }

    fn is_over(&mut self, now_ns: u64, gate: &Gate<'_>) -> Result<bool, RunError> {
        let shared = self.shared;
        if shared.halt.load(Ordering::Relaxed) || shared.control.is_stopped() {
            return Ok(true);
        }
        let drained_ns = gate.deadline_ns.saturating_add(worker::DRAIN_NS);
        if self.finished == self.clients.len() || now_ns >= drained_ns {
            return Ok(true);
        }
        if now_ns >= gate.deadline_ns {
            let is_idle = |client: &Client| client.in_flight == 0 && !client.is_behind(gate);
            return Ok(self.clients.iter().all(is_idle));
        }
        if now_ns >= self.look_at_ns {
            self.look_at_ns = now_ns + LOOK_NS;
            self.look_for_silence(now_ns)?;
        }
        Ok(false)
    }

    /// Gives up connections that take too long to be made or to answer, and those that are silent and lead to a node that
    /// has lost its slots.
    fn look_for_silence(&mut self, now_ns: u64) -> Result<(), RunError> {
        let limit_ns = self.shared.plan.reply_timeout_ms.map_or(u64::MAX, |ms| ms * 1_000_000);
        for at in 0..self.lanes.len() {
            let lane = &self.lanes[at];
            let silent_ns = now_ns.saturating_sub(lane.since_ns);
            let is_given_up = match lane.link {
                Link::None => false,
                Link::Connecting(_) => silent_ns >= CONNECT_NS,
                Link::Ready(_) if lane.pipe.is_idle() => false,
                Link::Ready(_) => {
                    if silent_ns >= SUSPECT_NS {
                        self.cluster.directory.want();
                    }
                    silent_ns >= limit_ns
                        || silent_ns >= SUSPECT_NS
                            && self.map.nodes()[lane.node].role == NodeRole::Gone
                }
            };
            if is_given_up {
                self.lost(at, now_ns)?;
            }
        }
        Ok(())
    }

    /// Measured requests without a reply, in flight or due and never sent; those that met an outage are lost to it.
    fn count_unanswered(&mut self, end_ns: u64, gate: &Gate<'_>) -> u64 {
        let on_lanes = self.lanes.iter().flat_map(|lane| lane.pipe.waiting());
        let all = on_lanes.chain(self.delayed.iter().map(|delayed| &delayed.request));
        let mut unanswered = 0;
        let mut wholes: Vec<usize> = Vec::new();
        for request in all.filter(|request| request.due_ns >= gate.measure_start_ns) {
            if request.met_outage {
                self.outage.lost(end_ns.saturating_sub(request.sent_ns));
            }
            match request.whole {
                None => unanswered += 1,
                Some(whole) => wholes.push(whole),
            }
        }
        wholes.sort_unstable();
        wholes.dedup();
        unanswered += wholes.len() as u64;
        unanswered + self.clients.iter().map(|client| client.unsent(end_ns, gate)).sum::<u64>()
    }

    fn node_results(&mut self) -> Vec<NodeResult> {
        self.nodes.resize_with(self.map.nodes().len(), NodeRecord::default);
        let records = std::mem::take(&mut self.nodes);
        let result = |(node, record): (&super::map::MapNode, NodeRecord)| NodeResult {
            id: node.id.clone(),
            address: node.place.target.address.to_string(),
            role: node.role,
            slots: node.slots,
            count: record.count,
            errors: record.errors,
            retried: record.retried,
            service: record.service,
        };
        self.map.nodes().iter().zip(records).map(result).collect()
    }

    fn token(&self, lane: usize) -> Token {
        Token(lane | (self.lanes[lane].generation as usize) << 32)
    }
}

impl Ord for Delayed {
    /// The earliest is the greatest, for the heap gives that first.
    fn cmp(&self, other: &Self) -> std::cmp::Ordering {
        (other.at_ns, other.nth).cmp(&(self.at_ns, self.nth))
    }
}

impl PartialOrd for Delayed {
    fn partial_cmp(&self, other: &Self) -> Option<std::cmp::Ordering> {
        Some(self.cmp(other))
    }
}

impl Eq for Delayed {}

impl PartialEq for Delayed {
    fn eq(&self, other: &Self) -> bool {
        self.cmp(other).is_eq()
    }
}
