//! Carrying out a plan on a cluster: read the topology, connect, start all threads together, put their records together.

use std::collections::BTreeMap;
use std::sync::atomic::{AtomicBool, AtomicI64, AtomicU64, Ordering};
use std::sync::{Mutex, PoisonError};
use std::time::Instant;

use report::model::{ClusterResult, NodeResult, NodeRole, StepResult};

use super::client::Client;
use super::directory::Directory;
use super::map::Map;
use super::outage::OutageRecord;
use super::route::Routes;
use super::tags::Tags;
use super::worker::{ClusterPart, ClusterShared, ClusterWorker};
use crate::argument::Argument;
use crate::connect::{self, Connection, Prefix};
use crate::control::{Control, Phase};
use crate::error::{RunError, RunFailure};
use crate::generator::Mix;
use crate::plan::{Cluster, ClusterClients, Pacing, Plan, ReplicaReads};
use crate::record::Series;
use crate::run::{self as single, Measured};
use crate::start::Start;
use crate::worker::Shared;

/// Carries out a plan on the cluster that its targets are nodes of.
///
/// # Errors
/// Why it could not begin, or what ended it; then with what had been measured.
pub(crate) fn run(
    plan: &Plan,
    cluster: &Cluster,
    mix: &Mix,
    control: &Control,
) -> Result<StepResult, RunFailure> {
    let directory = Directory::open(&plan.targets)?;
    let routes = Routes::compile(mix, cluster.tags, &plan.targets[0])?;
    let tags = cluster.tags.then(Tags::new);
    let mut own = plan.prefix.clone();
    if cluster.replica_reads != ReplicaReads::No {
        own.push(vec![Argument::from("READONLY")]);
    }
    // All nodes are reached with the credentials of the first target.
    let prefix = Prefix::new(&plan.targets[0], &own);
    let threads = plan.busy_threads();
    let series = Series::of_plan(threads, plan);
    let prefixes = [prefix.clone()];
    let shared = Shared {
        plan,
        mix,
        prefixes: &prefixes,
        control,
        series: &series,
        origin: Instant::now(),
        start: Start::default(),
        measure_start_ns: AtomicU64::new(u64::MAX),
        warm_up_left: AtomicI64::new(i64::try_from(plan.warm_up.requests).unwrap_or(i64::MAX)),
        budget: (!single::is_even(plan, mix))
            .then(|| plan.stop.requests.map(AtomicU64::new))
            .flatten(),
        halt: AtomicBool::new(false),
        failure: Mutex::new(None),
    };
    let of_cluster = ClusterShared {
        shared: &shared,
        directory: &directory,
        routes: &routes,
        tags: tags.as_ref(),
        prefix: &prefix,
    };
    let crews = connect_all(&of_cluster, cluster, threads)?;
    let connections = crews.iter().flat_map(|(_, _, connections)| connections);
    let tls = single::agreed(connections.map(|(_, _, connection)| connection));
    control.enter(Phase::WarmUp, None);
    let parts = run_workers(&of_cluster, crews)?;
    let start_ns = shared.measure_start_ns.load(Ordering::Relaxed);
    let (workers, rest): (Vec<_>, Vec<_>) = parts
        .into_iter()
        .map(|part| (part.worker, (part.retried, part.nodes, part.outage)))
        .unzip();
    let measured = Measured::new(&shared, &workers);
    let failure = shared.failure.into_inner().unwrap_or_else(PoisonError::into_inner);
    let mut step = single::step_result(plan, control, measured, tls, workers, series);
    let mut outage = OutageRecord::default();
    let mut nodes = Vec::new();
    for (retried, of_thread, seen) in rest {
        outage.merge(&seen);
        merge_retried(&mut step, &retried);
        merge_nodes(&mut nodes, of_thread);
    }
    step.outage = outage.result(start_ns);
    step.cluster = Some(cluster_result(nodes, directory.readings()));
    match failure {
        None => Ok(step),
        Some(error) => Err(RunFailure { error, partial: Some(Box::new(step)) }),
    }
}

/// A thread's share: its view of the cluster, its clients, and their connections by client's place and node's number.
type Crew = (Map, Vec<Client>, Vec<(usize, usize, Connection)>);

/// Makes the clients of all threads, and connects them to the nodes that they will need.
fn connect_all(
    of_cluster: &ClusterShared<'_>,
    cluster: &Cluster,
    threads: u32,
) -> Result<Vec<Crew>, RunError> {
    std::thread::scope(|scope| {
        let handles: Vec<_> = (0..threads)
            .map(|thread| {
                std::thread::Builder::new()
                    .name(format!("connect-{thread}"))
                    .spawn_scoped(scope, move || crew(of_cluster, cluster, thread, threads))
            })
            .collect::<Result<_, _>>()?;
        handles
            .into_iter()
            .map(|handle| handle.join().expect("a connecting thread does not panic"))
            .collect()
    })
}

fn crew(
    of_cluster: &ClusterShared<'_>,
    cluster: &Cluster,
    thread: u32,
    threads: u32,
) -> Result<Crew, RunError> {
    let Shared { plan, mix, control, .. } = of_cluster.shared;
    let known = of_cluster.directory.known();
    let map = Map::new(&known, &plan.targets[0], cluster.replica_reads);
    let is_home_only = of_cluster.routes.is_tagged() && cluster.replica_reads == ReplicaReads::No;
    let first_nodes = map.first_nodes(of_cluster.routes.has_writes());
    let depth = match cluster.clients {
        ClusterClients::One => u64::from(plan.pipeline.depth),
        ClusterClients::EachNode => u64::from(plan.pipeline.depth) * map.primaries() as u64,
    };
    let (mut clients, mut connections) = (Vec::new(), Vec::new());
    for index in (thread..plan.connections).step_by(threads as usize) {
        if control.is_stopped() {
            break;
        }
        let quota = single::quota(plan, mix, index);
        let client = Client::new(plan, mix, index, depth, quota);
        let home = map.home(client.index);
        for node in first_nodes.iter().filter(|node| !is_home_only || Some(**node) == home) {
            let place = &map.nodes()[*node].place;
            let Some((dialer, _)) = &place.way else { continue };
            match connect::open_with(&place.target, dialer, of_cluster.prefix) {
                Ok(connection) => connections.push((clients.len(), *node, connection)),
                Err(error @ (RunError::Refused { .. } | RunError::System(_))) => return Err(error),
                // A node that is down is for the run to deal with.
                Err(_) => {}
            }
        }
        clients.push(client);
    }
    Ok((map, clients, connections))
}

/// Starts all threads together, with the one that keeps the topology, and waits for them.
fn run_workers(
    of_cluster: &ClusterShared<'_>,
    crews: Vec<Crew>,
) -> Result<Vec<ClusterPart>, RunError> {
    let shared = of_cluster.shared;
    let plan = shared.plan;
    let is_open_loop = plan.pacing != Pacing::Closed;
    let workers = crews
        .into_iter()
        .map(|(map, clients, connections)| {
            ClusterWorker::new(of_cluster, map, clients, connections, is_open_loop)
        })
        .collect::<Result<Vec<_>, _>>()?;
    std::thread::scope(|scope| {
        let keeper = std::thread::Builder::new()
            .name("topology".into())
            .spawn_scoped(scope, || of_cluster.directory.keep());
        let handles: Result<Vec<_>, _> = workers
            .into_iter()
            .enumerate()
            .map(|(thread, worker)| {
                std::thread::Builder::new()
                    .name(format!("load-{thread}"))
                    .spawn_scoped(scope, move || {
                        worker.run(|start_ns| single::schedule(plan, start_ns))
                    })
            })
            .collect();
        // Without all of them there is no run; those that wait must still be let go.
        shared.halt.fetch_or(handles.is_err() || keeper.is_err(), Ordering::Relaxed);
        single::start(shared);
        let join = |handle: std::thread::ScopedJoinHandle<'_, ClusterPart>| {
            handle.join().expect("a load thread does not panic")
        };
        let parts = handles.map(|handles| handles.into_iter().map(join).collect());
        of_cluster.directory.close();
        keeper?;
        Ok(parts?)
    })
}

fn merge_retried(step: &mut StepResult, retried: &[BTreeMap<String, u64>]) {
    for (command, counts) in step.commands.iter_mut().zip(retried) {
        for (class, count) in counts {
            *command.retried.entry(class.clone()).or_default() += count;
            *step.totals.retried.entry(class.clone()).or_default() += count;
        }
    }
}

/// Adds what one thread saw of the nodes; threads that ended at different times may know different roles.
fn merge_nodes(nodes: &mut Vec<NodeResult>, of_thread: Vec<NodeResult>) {
    for node in of_thread {
        let Some(known) = nodes.iter_mut().find(|known| known.address == node.address) else {
            nodes.push(node);
            continue;
        };
        if known.role == NodeRole::Gone {
            (known.role, known.slots, known.id) = (node.role, node.slots, node.id);
        }
        known.count += node.count;
        known.service.merge(&node.service);
        for (mine, theirs) in [(&mut known.errors, node.errors), (&mut known.retried, node.retried)]
        {
            for (class, count) in theirs {
                *mine.entry(class).or_default() += count;
            }
        }
    }
}

fn cluster_result(mut nodes: Vec<NodeResult>, refreshes: u64) -> ClusterResult {
    let rank = |node: &NodeResult| match node.role {
        NodeRole::Primary => 0,
        NodeRole::Replica => 1,
        NodeRole::Gone => 2,
    };
    nodes.sort_by_key(rank);
    let is_primary = |node: &&NodeResult| node.role == NodeRole::Primary && node.slots > 0;
    let requests: Vec<u64> = nodes.iter().filter(is_primary).map(|node| node.count).collect();
    let all: u64 = requests.iter().sum();
    let most = requests.iter().copied().max().unwrap_or(0);
    let imbalance = if all == 0 { 0.0 } else { most as f64 * requests.len() as f64 / all as f64 };
    ClusterResult { nodes, refreshes, imbalance }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn node(address: &str, role: NodeRole, count: u64) -> NodeResult {
        NodeResult { address: address.into(), role, slots: 1, count, ..NodeResult::default() }
    }

    #[test]
    fn threads_nodes_are_added_up_and_the_busiest_is_compared_with_the_mean() {
        let mut nodes = Vec::new();
        merge_nodes(
            &mut nodes,
            vec![node("r", NodeRole::Replica, 9), node("a", NodeRole::Gone, 3)],
        );
        let mut again = node("a", NodeRole::Primary, 3);
        again.retried.insert("MOVED".into(), 2);
        merge_nodes(&mut nodes, vec![node("b", NodeRole::Primary, 2), again]);
        let result = cluster_result(nodes, 4);
        let summary: Vec<_> =
            result.nodes.iter().map(|node| (node.address.as_str(), node.count)).collect();
        assert_eq!(summary, [("a", 6), ("b", 2), ("r", 9)]);
        assert_eq!(result.nodes[0].retried["MOVED"], 2);
        assert_eq!((result.imbalance, result.refreshes), (1.5, 4));
        assert_eq!(cluster_result(Vec::new(), 0).imbalance, 0.0);
    }
}
