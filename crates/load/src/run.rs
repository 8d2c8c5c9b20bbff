//! Carrying out a plan: connect, start all threads together, wait, and put their records together.

use std::collections::BTreeSet;
use std::sync::atomic::{AtomicBool, AtomicI64, AtomicU64, Ordering};
use std::sync::{Mutex, PoisonError};
use std::time::{Duration, Instant, SystemTime, UNIX_EPOCH};

use report::model::{ClientResult, CommandResult, Generator, Lifetime, SeriesPoint, StepResult};

use crate::cluster;
use crate::connect::{self, Connection, Prefix};
use crate::control::{Control, Phase};
use crate::error::{RunError, RunFailure};
use crate::generator::{self, Mix};
use crate::pacing::Schedule;
use crate::plan::{Pacing, PipelineMode, Plan, Share};
use crate::record::Series;
use crate::session::Session;
use crate::start::Start;
use crate::stream::Dialer;
use crate::worker::{Shared, Worker, WorkerResult, merge_commands};

/// Label of the results of all commands together.
const TOTALS_LABEL: &str = "Totals";

/// Carries out a plan. Blocks until it is over; `control` shows how it goes and can end it early, which is no error.
///
/// # Errors
/// Why it could not begin, or what ended it; then with what had been measured.
pub fn run(plan: &Plan, control: &Control) -> Result<StepResult, RunFailure> {
    control.begin();
    let result = run_connected(plan, control);
    control.enter(Phase::Idle, None);
    result
}

fn run_connected(plan: &Plan, control: &Control) -> Result<StepResult, RunFailure> {
    let mix = Mix::compile(plan)?;
    if let Some(cluster) = &plan.cluster {
        return cluster::run(plan, cluster, &mix, control);
    }
    let prefixes: Vec<Prefix> =
        plan.targets.iter().map(|target| Prefix::new(target, &plan.prefix)).collect();
    let dialers: Vec<Dialer> = plan.targets.iter().map(Dialer::new).collect::<Result<_, _>>()?;
    let groups = connect_all(plan, &mix, &dialers, &prefixes, control)?;
    let recorders =
        if plan.detail.clients { groups.iter().map(Vec::len).sum() } else { groups.len() };
    let series = Series::of_plan(recorders as u32, plan);
    let tls = agreed(groups.iter().flatten().map(|(_, connection, _)| connection));
    let shared = Shared {
        plan,
        mix: &mix,
        prefixes: &prefixes,
        control,
        series: &series,
        origin: Instant::now(),
        start: Start::default(),
        measure_start_ns: AtomicU64::new(u64::MAX),
        warm_up_left: AtomicI64::new(i64::try_from(plan.warm_up.requests).unwrap_or(i64::MAX)),
        budget: (!is_even(plan, &mix)).then(|| plan.stop.requests.map(AtomicU64::new)).flatten(),
        halt: AtomicBool::new(false),
        failure: Mutex::new(None),
    };
    control.enter(Phase::WarmUp, None);
    let results = run_workers(&shared, groups)?;
    let measured = Measured::new(&shared, &results);
    let failure = shared.failure.into_inner().unwrap_or_else(PoisonError::into_inner);
    let step = step_result(plan, control, measured, tls, results, series);
    match failure {
        None => Ok(step),
        Some(error) => Err(RunFailure { error, partial: Some(Box::new(step)) }),
    }
}

type Group = Vec<(u32, Connection, Session)>;

/// Makes all connections, one thread's share on each of as many threads as will carry the load.
fn connect_all(
    plan: &Plan,
    mix: &Mix,
    dialers: &[Dialer],
    prefixes: &[Prefix],
    control: &Control,
) -> Result<Vec<Group>, RunError> {
    let threads = plan.busy_threads();
    let connect_share = |thread: u32| -> Result<Group, RunError> {
        let mut group = Group::new();
        for index in (thread..plan.connections).step_by(threads as usize) {
            if control.is_stopped() {
                break;
            }
            if index != thread {
                wait_before(plan, index);
            }
            let target = index as usize % plan.targets.len();
            let connection =
                connect::open_with(&plan.targets[target], &dialers[target], &prefixes[target])?;
            group.push((
                index,
                connection,
                Session::new(plan, mix, index, quota(plan, mix, index)),
            ));
        }
        Ok(group)
    };
    std::thread::scope(|scope| {
        let handles: Vec<_> = (0..threads)
            .map(|thread| {
                let connect_share = &connect_share;
                std::thread::Builder::new()
                    .name(format!("connect-{thread}"))
                    .spawn_scoped(scope, move || connect_share(thread))
            })
            .collect::<Result<_, _>>()?;
        handles
            .into_iter()
            .map(|handle| handle.join().expect("a connecting thread does not panic"))
            .collect()
    })
}

/// Waits before connection `index` is made, as long as the plan's jitter says.
fn wait_before(plan: &Plan, index: u32) {
    if let Some(jitter) = plan.lifetime.start_jitter_us {
        let width = jitter.most - jitter.least + 1;
        let wait_us = jitter.least + generator::stream_seed(plan.seed, index) % width;
        std::thread::sleep(Duration::from_micros(wait_us));
    }
}

/// What TLS has agreed on, each outcome once.
pub(crate) fn agreed<'all>(all: impl Iterator<Item = &'all Connection>) -> Option<String> {
    let negotiated = all.filter_map(|connection| connection.negotiated);
    let different: BTreeSet<String> = negotiated.map(|agreed| agreed.to_string()).collect();
    (!different.is_empty()).then(|| different.into_iter().collect::<Vec<_>>().join(", "))
}

/// True when each connection has its own share of the requests. Sequences need that to leave no key out, and an open loop
/// has fixed turns anyway.
pub(crate) fn is_even(plan: &Plan, mix: &Mix) -> bool {
    plan.stop.share == Share::Even || mix.has_sequence() || plan.pacing != Pacing::Closed
}

pub(crate) fn quota(plan: &Plan, mix: &Mix, index: u32) -> Option<u64> {
    let requests = plan.stop.requests.filter(|_| is_even(plan, mix))?;
    let (connections, index) = (u64::from(plan.connections), u64::from(index));
    Some(requests / connections + u64::from(index < requests % connections))
}

/// Starts all threads together and waits for them.
fn run_workers(shared: &Shared<'_>, groups: Vec<Group>) -> Result<Vec<WorkerResult>, RunError> {
    let plan = shared.plan;
    let is_open_loop = plan.pacing != Pacing::Closed;
    let workers = groups
        .into_iter()
        .map(|group| Worker::new(shared, group, is_open_loop))
        .collect::<Result<Vec<_>, _>>()?;
    std::thread::scope(|scope| {
        let handles: Result<Vec<_>, _> = workers
            .into_iter()
            .enumerate()
            .map(|(thread, worker)| {
                std::thread::Builder::new()
                    .name(format!("load-{thread}"))
                    .spawn_scoped(scope, move || worker.run(|start_ns| schedule(plan, start_ns)))
            })
            .collect();
        // Without all of them there is no run; those that wait must still be let go.
        shared.halt.fetch_or(handles.is_err(), Ordering::Relaxed);
        start(shared);
        Ok(handles?
            .into_iter()
            .map(|handle| handle.join().expect("a load thread does not panic"))
            .collect())
    })
}

/// Sets the start that all threads share, and the end of a warm-up that is known beforehand.
pub(crate) fn start(shared: &Shared<'_>) {
    let start_ns = shared.now_ns();
    if shared.plan.warm_up.requests == 0 {
        let warm_up_ns = shared.plan.warm_up.duration_ms.saturating_mul(1_000_000);
        shared.measure_start_ns.store(start_ns.saturating_add(warm_up_ns), Ordering::Relaxed);
    }
    shared.start.begin(start_ns);
}

pub(crate) fn schedule(plan: &Plan, start_ns: u64) -> Option<Schedule> {
    let Pacing::Constant { rate_rps } = plan.pacing else {
        return None;
    };
    let unit = if plan.pipeline.mode == PipelineMode::Batch { plan.pipeline.depth } else { 1 };
    Some(Schedule::new(start_ns, rate_rps, unit.into(), plan.connections.into()))
}

/// The measured time of a run.
pub(crate) struct Measured {
    started_at_unix_ms: u64,
    duration_ns: u64,
}

impl Measured {
    /// From its start to the last reply, or to the deadline if that is later; to the end when it was cut short.
    pub(crate) fn new(shared: &Shared<'_>, results: &[WorkerResult]) -> Self {
        let start_ns = shared.measure_start_ns.load(Ordering::Relaxed);
        let end_ns = results.iter().map(|result| result.end_ns).max().unwrap_or(0);
        let last_reply_ns = results.iter().map(|result| result.last_reply_ns).max().unwrap_or(0);
        let was_cut = shared.halt.load(Ordering::Relaxed) || shared.control.is_stopped();
        let deadline_ns = shared
            .plan
            .stop
            .duration_ms
            .map_or(u64::MAX, |ms| start_ns.saturating_add(ms.saturating_mul(1_000_000)));
        let until_ns = if was_cut {
            end_ns
        } else if end_ns >= deadline_ns {
            deadline_ns.max(last_reply_ns)
        } else {
            last_reply_ns
        };
        let since_start = Duration::from_nanos(shared.now_ns().saturating_sub(start_ns));
        let started_at = SystemTime::now().checked_sub(since_start).unwrap_or(UNIX_EPOCH);
        let unix = started_at.duration_since(UNIX_EPOCH).unwrap_or_default();
        Self {
            started_at_unix_ms: unix.as_millis() as u64,
            duration_ns: until_ns.saturating_sub(start_ns),
        }
    }
}

pub(crate) fn step_result(
    plan: &Plan,
    control: &Control,
    measured: Measured,
    tls: Option<String>,
    results: Vec<WorkerResult>,
    series: Series,
) -> StepResult {
    let mut commands: Vec<CommandResult> = Vec::new();
    for result in &results {
        merge_commands(&mut commands, &result.commands);
    }
    let (points, by_command) = series.into_points();
    for (nth, command) in commands.iter_mut().enumerate() {
        // Each connection's own seconds are coarse; those over all connections are not.
        command.series = by_command.get(nth).cloned().unwrap_or_default();
    }
    let active = |point: &SeriesPoint| {
        let end_ms = (u64::from(point.second) + 1) * 1_000 - 1;
        plan.lifetime.staircase.map(|staircase| staircase.active(plan.connections, end_ms))
    };
    let lifetime = Lifetime {
        connection_errors: results.iter().map(|result| result.connection_errors).sum(),
        reconnections: results.iter().map(|result| result.reconnections).sum(),
        active: points.iter().filter_map(active).collect(),
    };
    let mut totals = CommandResult::new(TOTALS_LABEL);
    commands.iter().for_each(|command| totals.merge(command));
    let sum = |field: fn(&WorkerResult) -> u64| results.iter().map(field).sum();
    let most = |field: fn(&WorkerResult) -> u64| results.iter().map(field).max().unwrap_or(0);
    StepResult {
        title: plan.title.clone(),
        requests: totals.count + totals.error_count(),
        unanswered: sum(|result| result.unanswered),
        duration_ns: measured.duration_ns,
        started_at_unix_ms: measured.started_at_unix_ms,
        connections: plan.connections,
        threads: plan.busy_threads(),
        pipeline: plan.pipeline.depth,
        payload_bytes: plan.payload_bytes,
        keep_alive: plan.keep_alive,
        tls,
        target_rate_rps: match plan.pacing {
            Pacing::Closed => None,
            Pacing::Constant { rate_rps } => Some(rate_rps),
        },
        clock: plan.clock,
        commands,
        totals,
        series: points,
        generator: Generator {
            thread_cpu_ns: results.iter().map(|result| result.cpu_ns).collect(),
            max_send_lag_ns: most(|result| result.max_send_lag_ns),
            max_backlog: most(|result| result.max_backlog),
        },
        bytes_in: sum(|result| result.bytes_in),
        bytes_out: sum(|result| result.bytes_out),
        lifetime,
        clients: clients(plan, &results),
        interrupted: control.is_stopped(),
        cluster: None,
        outage: None,
    }
}

/// Each connection's own results, in the order of their threads.
fn clients(plan: &Plan, results: &[WorkerResult]) -> Vec<ClientResult> {
    let threads = u64::from(plan.busy_threads());
    let of_all = results.iter().flat_map(|result| &result.clients);
    of_all
        .map(|(index, commands)| ClientResult {
            thread: (index % threads) as u32,
            client: (index / threads) as u32,
            commands: commands.clone(),
        })
        .collect()
}
