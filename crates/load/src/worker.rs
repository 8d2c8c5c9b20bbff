//! One thread of the generator: its connections, one readiness loop, and no allocation on the way of a request.
//!
//! A connection is read when it is readable, its replies are recorded, and its next requests are written in the same visit,
//! with one reading of the clock for all three. Nothing is shared with other threads but a few flags.

use std::io;
use std::sync::atomic::{AtomicBool, AtomicI64, AtomicU64, Ordering};
use std::sync::{Mutex, PoisonError};
use std::time::{Duration, Instant};

use mio::event::Event;
use mio::{Events, Poll, Token};
use report::model::CommandResult;

use crate::connect::{Connection, Peer, Prefix, Stream};
use crate::control::{Control, Phase, Progress};
use crate::error::RunError;
use crate::generator::Mix;
use crate::pacing::Schedule;
use crate::plan::connections::OnLoss;
use crate::plan::{Plan, Target};
use crate::record::{Recorder, Series};
use crate::session::{Gate, Session, SessionError};
use crate::start::Start;
use crate::timer::Timer;

/// Read buffer of a thread: holds the replies to a deep pipeline in one read, and stays in the cache.
pub(crate) const READ_BYTES: usize = 64 << 10;
/// Readiness events taken at once.
pub(crate) const EVENTS: usize = 1024;
/// Longest sleep, so that stop flags are seen in time.
pub(crate) const NAP: Duration = Duration::from_millis(50);
/// How often counts are shown to watchers.
pub(crate) const SHOW_NS: u64 = 20_000_000;
/// How long after the deadline replies to requests sent before it are waited for.
pub(crate) const DRAIN_NS: u64 = 250_000_000;
/// Most due units sent between two looks at the sockets.
pub(crate) const UNITS_A_LOOP: usize = 64;
/// Longest time that a connection may take to be made anew, where the plan says nothing.
const CONNECT_TIMEOUT_MS: u64 = 10_000;
/// Least wait before a lost connection is made anew.
const LEAST_WAIT_NS: u64 = 1_000_000;
/// Longest wait that backing off leads to: an hour.
const MAX_BACKOFF_NS: f64 = 3.6e12;
pub(crate) const TIMER: Token = Token(usize::MAX);

/// What the threads of a run share.
pub(crate) struct Shared<'run> {
    pub(crate) plan: &'run Plan,
    pub(crate) mix: &'run Mix,
    pub(crate) prefixes: &'run [Prefix],
    pub(crate) control: &'run Control,
    pub(crate) series: &'run Series,
    pub(crate) origin: Instant,
    pub(crate) start: Start,
    pub(crate) measure_start_ns: AtomicU64,
    pub(crate) warm_up_left: AtomicI64,
    pub(crate) budget: Option<AtomicU64>,
    pub(crate) halt: AtomicBool,
    pub(crate) failure: Mutex<Option<RunError>>,
}

impl Shared<'_> {
    /// Nanoseconds since the run's origin, on the monotonic clock.
    pub(crate) fn now_ns(&self) -> u64 {
        self.origin.elapsed().as_nanos() as u64
    }

    /// Ends the run with an error; the first one stays.
    pub(crate) fn fail(&self, error: RunError) {
        self.failure.lock().unwrap_or_else(PoisonError::into_inner).get_or_insert(error);
        self.halt.store(true, Ordering::Relaxed);
    }

    /// What may be sent at this moment.
    pub(crate) fn gate(&self, schedule: Option<Schedule>) -> Gate<'_> {
        let measure_start_ns = self.measure_start_ns.load(Ordering::Relaxed);
        let duration_ns =
            self.plan.stop.duration_ms.map_or(u64::MAX, |ms| ms.saturating_mul(1_000_000));
        Gate {
            measure_start_ns,
            deadline_ns: measure_start_ns.saturating_add(duration_ns),
            budget: self.budget.as_ref(),
            schedule,
        }
    }
}

/// What a thread hands back.
pub(crate) struct WorkerResult {
    pub(crate) commands: Vec<CommandResult>,
    pub(crate) bytes_in: u64,
    pub(crate) bytes_out: u64,
    pub(crate) unanswered: u64,
    pub(crate) last_reply_ns: u64,
    pub(crate) end_ns: u64,
    pub(crate) cpu_ns: u64,
    pub(crate) max_send_lag_ns: u64,
    pub(crate) max_backlog: u64,
    pub(crate) connection_errors: u64,
    pub(crate) reconnections: u64,
    /// Results of each connection with its index, where the plan wants them.
    pub(crate) clients: Vec<(u64, Vec<CommandResult>)>,
}

/// One connection of a thread.
struct Slot {
    stream: Stream,
    peer: Peer,
    session: Session,
    target: usize,
    index: u64,
    /// Its recorder among those of the worker.
    recorder: usize,
    state: State,
    /// When something is to be done about it without an event; `u64::MAX` for never.
    wake_ns: u64,
    /// Tries since the last connection that answered anything, and the wait before the next.
    tries: u32,
    wait_ns: u64,
    finished: bool,
    /// What the socket would not take yet.
    unsent: Vec<u8>,
}

/// Where a connection is in its life.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum State {
    /// It sends and receives.
    Open,
    /// It is being made; at the wake it has taken too long.
    Connecting,
    /// It was lost; at the wake it is made anew.
    Lost,
    /// It was made, and begins to send at the wake.
    Dormant,
}

/// What watchers have been shown.
#[derive(Default)]
struct Shown {
    requests: u64,
    errors: u64,
    latency_ns: u128,
    bytes_in: u64,
    bytes_out: u64,
    connection_errors: u64,
}

/// One thread of the generator.
pub(crate) struct Worker<'run> {
    shared: &'run Shared<'run>,
    poll: Poll,
    timer: Option<Timer>,
    slots: Vec<Slot>,
    /// One for all connections, or one for each where the plan wants their results apart.
    recorders: Vec<Recorder>,
    start_ns: u64,
    schedule: Option<Schedule>,
    input: Vec<u8>,
    output: Vec<u8>,
    finished: usize,
    /// Position among this thread's connections, and round over all connections, of the next due unit.
    next_slot: usize,
    next_round: u64,
    measuring: bool,
    bytes_in: u64,
    bytes_out: u64,
    cpu_start_ns: u64,
    shown: Shown,
    show_at_ns: u64,
    silence_check_ns: u64,
    /// The earliest wake of all connections.
    wake_ns: u64,
    lost: u64,
    reconnections: u64,
}

impl<'run> Worker<'run> {
    /// A thread over these connections: index in the plan, and session.
    pub(crate) fn new(
        shared: &'run Shared<'run>,
        connections: Vec<(u32, Connection, Session)>,
        is_open_loop: bool,
    ) -> io::Result<Self> {
        let poll = Poll::new()?;
        let mut slots = Vec::with_capacity(connections.len());
        let mut recorders = Vec::new();
        for (index, connection, session) in connections {
            let Connection { mut stream, peer, .. } = connection;
            stream.register(poll.registry(), Token(slots.len()))?;
            if recorders.is_empty() || shared.plan.detail.clients {
                let recorder = Recorder::new(shared.mix.labels(), is_open_loop);
                let is_single = shared.plan.detail.clients;
                recorders.push(if is_single { recorder.keep_seconds() } else { recorder });
            }
            slots.push(Slot {
                stream,
                peer,
                session,
                target: index as usize % shared.plan.targets.len(),
                index: index.into(),
                recorder: recorders.len() - 1,
                state: State::Open,
                wake_ns: u64::MAX,
                tries: 0,
                wait_ns: 0,
                finished: false,
                unsent: Vec::new(),
            });
        }
        let timer = is_open_loop.then(|| Timer::new(poll.registry(), TIMER)).transpose()?;
        Ok(Self {
            shared,
            poll,
            timer,
            slots,
            recorders,
            start_ns: 0,
            schedule: None,
            input: vec![0; READ_BYTES],
            output: Vec::with_capacity(READ_BYTES),
            finished: 0,
            next_slot: 0,
            next_round: 0,
            measuring: false,
            bytes_in: 0,
            bytes_out: 0,
            cpu_start_ns: 0,
            shown: Shown::default(),
            show_at_ns: 0,
            silence_check_ns: 0,
            wake_ns: u64::MAX,
            lost: 0,
            reconnections: 0,
        })
    }

    /// Waits for the common start and runs to the end of the step; an error is left in the shared state.
    pub(crate) fn run(mut self, schedule: impl Fn(u64) -> Option<Schedule>) -> WorkerResult {
        self.start_ns = self.shared.start.wait();
        self.schedule = schedule(self.start_ns);
        if let Err(error) = self.drive() {
            self.shared.fail(error);
        }
        let end_ns = self.shared.now_ns();
        let gate = self.shared.gate(self.schedule);
        let cpu_ns = if self.measuring { thread_cpu_ns() - self.cpu_start_ns } else { 0 };
        self.show(end_ns);
        let series = self.shared.series;
        for recorder in &mut self.recorders {
            recorder.finish_seconds(end_ns.min(gate.deadline_ns - 1), series);
        }
        let lags = self.slots.iter().map(|slot| slot.session.lag());
        let (max_send_lag_ns, max_backlog) =
            lags.fold((0, 0), |most, lag| (most.0.max(lag.0), most.1.max(lag.1)));
        let unanswered: u64 =
            self.slots.iter().map(|slot| slot.session.unanswered(end_ns, &gate)).sum();
        let last_replies = self.recorders.iter().map(Recorder::last_reply_ns);
        let last_reply_ns = last_replies.max().unwrap_or(0);
        let connection_errors = self.recorders.iter().map(Recorder::connection_errors).sum();
        let results: Vec<_> =
            self.recorders.into_iter().map(|recorder| recorder.finish(series)).collect();
        let mut commands = Vec::new();
        results.iter().for_each(|result| merge_commands(&mut commands, result));
        let indices = self.slots.iter().map(|slot| slot.index);
        let wants_clients = self.shared.plan.detail.clients;
        WorkerResult {
            bytes_in: self.bytes_in,
            bytes_out: self.bytes_out,
            unanswered: unanswered + self.lost,
            last_reply_ns,
            end_ns,
            cpu_ns,
            max_send_lag_ns,
            max_backlog,
            connection_errors,
            reconnections: self.reconnections,
            clients: if wants_clients { indices.zip(results).collect() } else { Vec::new() },
            commands,
        }
    }

    fn drive(&mut self) -> Result<(), RunError> {
        let mut events = Events::with_capacity(EVENTS);
        let mut gate = self.begin_turn(self.shared.now_ns());
        self.put_to_sleep();
        if gate.schedule.is_none() {
            for slot in 0..self.slots.len() {
                let sent = self.send(slot, self.shared.now_ns(), &gate);
                self.or_lost(slot, sent, &gate)?;
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
                if event.token() != TIMER {
                    let handled = self.ready(event, &gate);
                    self.or_lost(event.token().0, handled, &gate)?;
                }
            }
            if self.shared.now_ns() >= self.wake_ns {
                self.wake(&gate)?;
            }
            self.send_due(&gate)?;
            if self.is_over(self.shared.now_ns(), &gate)? {
                return Ok(());
            }
        }
    }

    /// What happens once a turn of the loop: the start of the measured time, the ends of seconds, watchers.
    fn begin_turn(&mut self, now_ns: u64) -> Gate<'run> {
        let shared = self.shared;
        let mut gate = shared.gate(self.schedule);
        if gate.measure_start_ns == u64::MAX
            && shared.warm_up_left.load(Ordering::Relaxed) <= 0
            && now_ns >= self.warm_up_end_ns()
        {
            let (unset, relaxed) = (u64::MAX, Ordering::Relaxed);
            // Only the first thread to see the end of the warm-up sets it; the others take that.
            let _ = shared.measure_start_ns.compare_exchange(unset, now_ns, relaxed, relaxed);
            gate = shared.gate(self.schedule);
        }
        if !self.measuring && now_ns >= gate.measure_start_ns {
            self.measuring = true;
            self.cpu_start_ns = thread_cpu_ns();
            for recorder in &mut self.recorders {
                recorder.start_at(gate.measure_start_ns);
            }
            let since = shared.origin + Duration::from_nanos(gate.measure_start_ns);
            shared.control.enter(Phase::Measuring, Some(since));
        }
        // What is drained after the deadline belongs to the last second.
        let second_ns = now_ns.min(gate.deadline_ns - 1);
        if self.recorders[0].second_is_over(second_ns) {
            for recorder in &mut self.recorders {
                recorder.finish_seconds(second_ns, shared.series);
            }
            if let Some((point, latencies)) = shared.series.last_second() {
                shared.control.show_second(point, latencies);
            }
        }
        if now_ns >= self.show_at_ns {
            self.show(now_ns);
        }
        gate
    }

    fn warm_up_end_ns(&self) -> u64 {
        let least_ns = self.shared.plan.warm_up.duration_ms.saturating_mul(1_000_000);
        self.start_ns.saturating_add(least_ns)
    }

    fn show(&mut self, now_ns: u64) {
        let mut now =
            Shown { bytes_in: self.bytes_in, bytes_out: self.bytes_out, ..Shown::default() };
        for recorder in &self.recorders {
            let (requests, errors, latency_ns) = recorder.totals();
            now.requests += requests;
            now.errors += errors;
            now.latency_ns += latency_ns;
            now.connection_errors += recorder.connection_errors();
        }
        let shown = &self.shown;
        self.shared.control.add(Progress {
            requests: now.requests - shown.requests,
            errors: now.errors - shown.errors,
            latency_ns: (now.latency_ns - shown.latency_ns) as u64,
            bytes_in: now.bytes_in - shown.bytes_in,
            bytes_out: now.bytes_out - shown.bytes_out,
            connection_errors: now.connection_errors - shown.connection_errors,
        });
        self.shown = now;
        self.show_at_ns = now_ns + SHOW_NS;
    }

    /// How long to wait for readiness at most.
    fn timeout(&self, now_ns: u64, gate: &Gate<'_>) -> io::Result<Duration> {
        let end_ns = if now_ns < gate.deadline_ns {
            gate.deadline_ns
        } else {
            gate.deadline_ns.saturating_add(DRAIN_NS)
        };
        let end_ns = end_ns.min(self.wake_ns);
        let nap = NAP.min(Duration::from_nanos(end_ns.saturating_sub(now_ns).max(1)));
        match (&self.timer, self.next_due_ns(gate)) {
            (Some(timer), Some(due_ns)) if due_ns < gate.deadline_ns => {
                timer.sleep(due_ns.saturating_sub(now_ns), nap)
            }
            _ => Ok(nap),
        }
    }

    fn next_due_ns(&self, gate: &Gate<'_>) -> Option<u64> {
        let slot = self.slots.get(self.next_slot)?;
        gate.schedule.map(|schedule| schedule.connection_due_ns(slot.index, self.next_round))
    }

    /// Sends what is due by now on the connections whose turn it is.
    fn send_due(&mut self, gate: &Gate<'_>) -> Result<(), RunError> {
        for _ in 0..UNITS_A_LOOP {
            let now_ns = self.shared.now_ns();
            match self.next_due_ns(gate) {
                Some(due_ns) if due_ns <= now_ns && due_ns < gate.deadline_ns => {}
                _ => break,
            }
            let sent = self.send(self.next_slot, now_ns, gate);
            self.or_lost(self.next_slot, sent, gate)?;
            self.next_slot += 1;
            if self.next_slot == self.slots.len() {
                self.next_slot = 0;
                self.next_round += 1;
            }
        }
        Ok(())
    }

    fn ready(&mut self, event: &Event, gate: &Gate<'_>) -> Result<(), RunError> {
        let at = event.token().0;
        let slot = &mut self.slots[at];
        match slot.state {
            State::Open | State::Dormant => {}
            State::Connecting if event.is_writable() || event.is_error() => {
                return self.connected(at, gate);
            }
            State::Connecting | State::Lost => return Ok(()),
        }
        if event.is_writable()
            && slot.stream.owes()
            && let Err(source) = slot.stream.flush()
        {
            return Err(RunError::lost(&self.target(at).address, source));
        }
        if event.is_writable() && !slot.unsent.is_empty() {
            let unsent = std::mem::take(&mut slot.unsent);
            self.write(at, &unsent)?;
        }
        if event.is_readable() || event.is_read_closed() || event.is_error() {
            return self.read(at, event.is_read_closed(), gate);
        }
        Ok(())
    }

    /// Reads until the socket is empty; records the replies and sends what they make room for.
    fn read(&mut self, at: usize, closed: bool, gate: &Gate<'_>) -> Result<(), RunError> {
        loop {
            let slot = &mut self.slots[at];
            let count = match slot.stream.read(&mut self.input) {
                Ok(0) if slot.finished => return Ok(()),
                Ok(0) => return Err(RunError::Closed { address: self.address(at) }),
                Ok(count) => count,
                Err(error) if error.kind() == io::ErrorKind::WouldBlock => return Ok(()),
                Err(error) if error.kind() == io::ErrorKind::Interrupted => continue,
                Err(_) if slot.finished => return Ok(()),
                Err(source) => return Err(RunError::lost(&self.target(at).address, source)),
            };
            let now_ns = self.shared.now_ns();
            if self.measuring {
                self.bytes_in += count as u64;
            }
            let recorder = &mut self.recorders[slot.recorder];
            let received = slot.session.receive(now_ns, &self.input[..count], recorder);
            received.map_err(|error| self.session_error(at, error))?;
            let slot = &mut self.slots[at];
            slot.tries = 0;
            if (!self.shared.plan.keep_alive || slot.session.is_spent())
                && slot.session.in_flight() == 0
                && !slot.session.is_finished()
            {
                return self.reconnect(at, now_ns);
            }
            self.send(at, now_ns, gate)?;
            // A short read has emptied the socket; the next bytes make a new event.
            if count < self.input.len() && !closed {
                return Ok(());
            }
        }
    }

    fn send(&mut self, at: usize, now_ns: u64, gate: &Gate<'_>) -> Result<(), RunError> {
        let slot = &mut self.slots[at];
        if slot.state != State::Open || slot.finished {
            return Ok(());
        }
        let mut output = std::mem::take(&mut self.output);
        output.clear();
        let sent = slot.session.fill(now_ns, gate, self.shared.mix, &mut output);
        if let Some(failure) = slot.session.script_failure() {
            return Err(RunError::Script(failure.into()));
        }
        if sent == 0 && slot.session.is_finished() {
            slot.finished = true;
            self.finished += 1;
        }
        if gate.measure_start_ns == u64::MAX && sent > 0 {
            self.shared.warm_up_left.fetch_sub(sent as i64, Ordering::Relaxed);
        }
        let result = if sent > 0 { self.write(at, &output) } else { Ok(()) };
        self.output = output;
        result
    }

    /// Writes, and keeps what the socket will not take until it is writable.
    fn write(&mut self, at: usize, bytes: &[u8]) -> Result<(), RunError> {
        let slot = &mut self.slots[at];
        if !slot.unsent.is_empty() {
            slot.unsent.extend_from_slice(bytes);
            return Ok(());
        }
        let mut rest = bytes;
        while !rest.is_empty() {
            match slot.stream.write(rest) {
                Ok(count) => rest = &rest[count..],
                Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
                Err(error) if error.kind() == io::ErrorKind::WouldBlock => {
                    slot.unsent.extend_from_slice(rest);
                    break;
                }
                Err(source) => return Err(RunError::lost(&self.target(at).address, source)),
            }
        }
        if self.measuring {
            self.bytes_out += bytes.len() as u64;
        }
        Ok(())
    }

    /// Begins to make the connection anew.
    fn reconnect(&mut self, at: usize, now_ns: u64) -> Result<(), RunError> {
        let plan = self.shared.plan;
        let target = &plan.targets[self.slots[at].target];
        let slot = &mut self.slots[at];
        let refused = |source| RunError::Connect { address: target.address.to_string(), source };
        slot.stream = slot.peer.start().map_err(refused)?;
        slot.stream.register(self.poll.registry(), Token(at))?;
        slot.state = State::Connecting;
        let timeout_ms = plan.lifetime.connect_timeout_ms.unwrap_or(CONNECT_TIMEOUT_MS);
        slot.wake_ns = now_ns.saturating_add(timeout_ms.saturating_mul(1_000_000));
        self.wake_ns = self.wake_ns.min(slot.wake_ns);
        slot.unsent.clear();
        slot.session.reconnect(self.shared.prefixes[slot.target].commands.len());
        Ok(())
    }

    fn connected(&mut self, at: usize, gate: &Gate<'_>) -> Result<(), RunError> {
        let slot = &mut self.slots[at];
        if let Err(source) = slot.stream.connected() {
            return Err(RunError::Connect { address: self.address(at), source });
        }
        slot.state = State::Open;
        slot.wake_ns = u64::MAX;
        self.reconnections += u64::from(self.measuring);
        let prefix = &self.shared.prefixes[slot.target].encoded;
        if !prefix.is_empty() {
            self.write(at, prefix)?;
        }
        self.send(at, self.shared.now_ns(), gate)
    }

    /// Passes a result on, unless it is the loss of a connection in a plan that goes on after that.
    fn or_lost(
        &mut self,
        at: usize,
        result: Result<(), RunError>,
        gate: &Gate<'_>,
    ) -> Result<(), RunError> {
        let Err(error) = result else { return Ok(()) };
        let OnLoss::Reconnect { attempts, wait_ms, backoff_factor } =
            self.shared.plan.lifetime.on_loss
        else {
            return Err(error);
        };
        if !error.is_loss() {
            return Err(error);
        }
        let now_ns = self.shared.now_ns();
        let slot = &mut self.slots[at];
        if self.measuring && now_ns < gate.deadline_ns {
            self.recorders[slot.recorder].connection_error();
        }
        self.lost += slot.session.lose(&mut self.recorders[slot.recorder]);
        if slot.session.is_finished() {
            self.finished += usize::from(!slot.finished);
            slot.finished = true;
            slot.state = State::Lost;
            slot.wake_ns = u64::MAX;
            return Ok(());
        }
        if attempts > 0 && slot.tries >= attempts {
            return Err(error);
        }
        slot.wait_ns = if slot.tries == 0 {
            wait_ms.saturating_mul(1_000_000)
        } else {
            (slot.wait_ns as f64 * backoff_factor.max(1.0)).min(MAX_BACKOFF_NS) as u64
        };
        slot.tries += 1;
        slot.state = State::Lost;
        // A loss is never dealt with in the turn of the loop that it came up in: the peer may refuse for a while.
        slot.wake_ns = now_ns + slot.wait_ns.max(LEAST_WAIT_NS);
        self.wake_ns = self.wake_ns.min(slot.wake_ns);
        Ok(())
    }

    /// Puts the connections of later steps of a staircase to sleep.
    fn put_to_sleep(&mut self) {
        let Some(staircase) = self.shared.plan.lifetime.staircase else { return };
        for slot in &mut self.slots {
            let begins_ms = staircase.begins_ms(slot.index);
            if begins_ms > 0 {
                slot.session.sleep();
                slot.state = State::Dormant;
                slot.wake_ns = self.start_ns.saturating_add(begins_ms.saturating_mul(1_000_000));
                self.wake_ns = self.wake_ns.min(slot.wake_ns);
            }
        }
    }

    /// Does what is due for connections without an event.
    fn wake(&mut self, gate: &Gate<'_>) -> Result<(), RunError> {
        self.wake_ns = u64::MAX;
        for at in 0..self.slots.len() {
            let now_ns = self.shared.now_ns();
            let slot = &mut self.slots[at];
            if slot.wake_ns <= now_ns {
                slot.wake_ns = u64::MAX;
                let result = match slot.state {
                    State::Open => Ok(()),
                    State::Lost => self.reconnect(at, now_ns),
                    State::Connecting => Err(RunError::Connect {
                        address: self.address(at),
                        source: io::ErrorKind::TimedOut.into(),
                    }),
                    State::Dormant => {
                        slot.state = State::Open;
                        slot.session.wake(now_ns, gate);
                        self.send(at, now_ns, gate)
                    }
                };
                self.or_lost(at, result, gate)?;
            }
            self.wake_ns = self.wake_ns.min(self.slots[at].wake_ns);
        }
        Ok(())
    }

    fn is_over(&mut self, now_ns: u64, gate: &Gate<'_>) -> Result<bool, RunError> {
        let shared = self.shared;
        if shared.halt.load(Ordering::Relaxed) || shared.control.is_stopped() {
            return Ok(true);
        }
        if self.finished == self.slots.len() || now_ns >= gate.deadline_ns.saturating_add(DRAIN_NS)
        {
            return Ok(true);
        }
        if now_ns >= gate.deadline_ns {
            let is_idle =
                |slot: &Slot| slot.session.in_flight() == 0 && !slot.session.is_behind(gate);
            return Ok(self.slots.iter().all(is_idle));
        }
        if let Some(limit_ms) = shared.plan.reply_timeout_ms
            && now_ns >= self.silence_check_ns
        {
            self.silence_check_ns = now_ns + NAP.as_nanos() as u64;
            self.check_silence(now_ns, limit_ms, gate)?;
        }
        Ok(false)
    }

    fn check_silence(
        &mut self,
        now_ns: u64,
        limit_ms: u64,
        gate: &Gate<'_>,
    ) -> Result<(), RunError> {
        for at in 0..self.slots.len() {
            let oldest_ns = self.slots[at].session.oldest_sent_ns();
            let waited_ms =
                oldest_ns.map_or(0, |sent_ns| now_ns.saturating_sub(sent_ns)) / 1_000_000;
            if waited_ms >= limit_ms {
                let silent = RunError::Silent { address: self.address(at), waited_ms };
                self.or_lost(at, Err(silent), gate)?;
            }
        }
        Ok(())
    }

    fn session_error(&self, at: usize, error: SessionError) -> RunError {
        let address = self.address(at);
        match error {
            SessionError::Garbage(source) => RunError::Garbage { address, source },
            SessionError::Unasked => RunError::Unasked { address },
            SessionError::ErrorReply { command, message } => RunError::ErrorReply {
                address,
                label: self.shared.mix.labels()[command].clone(),
                message,
            },
            SessionError::Refused { nth, message } => {
                let target = self.slots[at].target;
                self.shared.prefixes[target].refused(&self.target(at).address, nth, message)
            }
        }
    }

    fn target(&self, at: usize) -> &Target {
        &self.shared.plan.targets[self.slots[at].target]
    }

    fn address(&self, at: usize) -> String {
        self.target(at).address.to_string()
    }
}

/// Adds results by command to others, or begins with them.
pub(crate) fn merge_commands(merged: &mut Vec<CommandResult>, more: &[CommandResult]) {
    for (nth, command) in more.iter().enumerate() {
        match merged.get_mut(nth) {
            Some(known) => known.merge(command),
            None => merged.push(command.clone()),
        }
    }
}

/// Processor time of this thread.
pub(crate) fn thread_cpu_ns() -> u64 {
    let time = rustix::time::clock_gettime(rustix::time::ClockId::ThreadCPUTime);
    time.tv_sec as u64 * 1_000_000_000 + time.tv_nsec as u64
}
