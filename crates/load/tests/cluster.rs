//! Load on a real Redis Cluster of three primaries and three replicas: routing, divided commands, a slot that moves, nodes
//! that die.

use std::thread;
use std::time::Duration;

use load::plan::{
    Cluster as ClusterPlan, ClusterClients, CommandText, MixEntry, Pacing, Pipeline, PipelineMode,
    Plan, ReplicaReads, Stop, Target,
};
use load::{Control, RunError, run};
use report::StepResult;
use report::model::{LOST_CONNECTION, NodeRole};
use testkit::cluster::Cluster;
use testkit::fake_server::FakeServer;
use testkit::peer::Peer;
use testkit::reply::Value;

fn plan(cluster: &Cluster, commands: &[&str]) -> Plan {
    let entry = |command: &&str| {
        let label = command.split(' ').next().unwrap_or_default();
        MixEntry::new(label, vec![CommandText::Line((*command).into())])
    };
    Plan {
        targets: vec![Target::tcp("127.0.0.1", cluster.address(0).port())],
        connections: 6,
        threads: 2,
        pipeline: Pipeline { depth: 4, mode: PipelineMode::Window },
        mix: commands.iter().map(entry).collect(),
        stop: Stop { requests: Some(3_000), ..Stop::default() },
        cluster: Some(ClusterPlan::default()),
        ..Plan::default()
    }
}

fn carry_out(plan: &Plan) -> StepResult {
    run(plan, &Control::new()).unwrap_or_else(|failure| panic!("{failure}"))
}

/// Nothing failed, nothing was redirected, nothing is missing.
fn assert_clean(step: &StepResult, requests: u64) {
    assert_eq!(
        (step.requests, step.totals.count),
        (requests, requests),
        "{:?}",
        step.totals.errors
    );
    assert_eq!(step.totals.service.count(), requests);
    assert!(step.totals.retried.is_empty(), "{:?}", step.totals.retried);
    assert_eq!((step.unanswered, &step.outage), (0, &None));
}

#[test]
fn a_cluster_is_loaded_through_all_that_happens_to_it() {
    let Some(mut cluster) = Cluster::start(3, 1) else { return };
    requests_are_routed_without_a_redirection(&cluster);
    hash_tags_and_unknown_places_of_keys(&cluster);
    keys_of_many_slots_are_divided(&cluster);
    replicas_answer_reads(&cluster);
    tags_keep_clients_on_their_nodes(&cluster);
    a_slot_moves_under_load(&cluster);
    a_replica_dies_under_reads(&mut cluster);
    a_primary_dies_under_load(&mut cluster);
}

fn requests_are_routed_without_a_redirection(cluster: &Cluster) {
    let plan =
        plan(cluster, &["SET key:{key uniform 5000} {value 16}", "GET key:{key uniform 5000}"]);
    let step = carry_out(&plan);
    assert_clean(&step, 3_000);
    let of_cluster = step.cluster.unwrap();
    assert_eq!(of_cluster.nodes.len(), 6);
    let primaries: Vec<_> =
        of_cluster.nodes.iter().filter(|node| node.role == NodeRole::Primary).collect();
    assert_eq!(primaries.len(), 3);
    assert_eq!(primaries.iter().map(|node| node.count).sum::<u64>(), 3_000);
    assert_eq!(primaries.iter().map(|node| node.slots).sum::<u32>(), 16_384);
    assert!(primaries.iter().all(|node| node.count > 500 && node.id.len() == 40));
    assert!((1.0..1.5).contains(&of_cluster.imbalance), "{}", of_cluster.imbalance);
    for (depth, mode, clients) in [
        (1, PipelineMode::Batch, ClusterClients::One),
        (16, PipelineMode::Batch, ClusterClients::One),
        (2, PipelineMode::Window, ClusterClients::EachNode),
    ] {
        let plan = Plan {
            pipeline: Pipeline { depth, mode },
            cluster: Some(ClusterPlan { clients, ..ClusterPlan::default() }),
            ..plan.clone()
        };
        assert_clean(&carry_out(&plan), 3_000);
    }
    let rate = Plan {
        pacing: Pacing::Constant { rate_rps: 2_000.0 },
        stop: Stop { duration_ms: Some(500), ..Stop::default() },
        ..plan.clone()
    };
    let step = carry_out(&rate);
    assert!((980..=1_020).contains(&(step.requests + step.unanswered)), "{}", step.requests);
    let again = Plan { keep_alive: false, pipeline: Pipeline::default(), ..plan };
    assert_clean(&carry_out(&again), 3_000);
}

fn hash_tags_and_unknown_places_of_keys(cluster: &Cluster) {
    let commands = [
        "HSET h:{user}:{key uniform 100} f v",
        "EVAL \"return redis.call('GET',KEYS[1])\" 1 key:{key uniform 100}",
        "XADD s:{key uniform 10} * f v",
        // Its place is not in our tables: the server is asked.
        "SORT_RO l:{key uniform 10} BY nosort",
        "PING",
        "SINTERSTORE {{a}d {{a}x:{key uniform 9} {{a}y",
    ];
    assert_clean(&carry_out(&plan(cluster, &commands)), 3_000);
    let step = carry_out(&plan(cluster, &["RENAME a{key uniform 9} b{key uniform 9}"]));
    // What can't be divided is the server's to refuse, and counts as that.
    assert!(step.totals.errors.contains_key("CROSSSLOT"), "{:?}", step.totals.errors);
}

fn keys_of_many_slots_are_divided(cluster: &Cluster) {
    let keys = |nth: &str| format!("d:{{key sequence 999}}:{nth} v{nth} ");
    let mset = format!("MSET {}", ["1", "2", "3"].map(keys).concat());
    let mut mset = plan(cluster, &[mset.trim_end()]);
    mset.stop.requests = Some(999);
    assert_clean(&carry_out(&mset), 999);
    let mut found = 0;
    for node in 0..3 {
        let Value::Array(keys) = cluster.command(node, &["KEYS", "d:*"]) else { panic!() };
        found += keys.len();
    }
    assert_eq!(found, 2_997);
    let mut del = plan(cluster, &["DEL d:{key sequence 999}:1 d:{key sequence 999}:2"]);
    del.stop.requests = Some(999);
    assert_clean(&carry_out(&del), 999);
}

fn replicas_answer_reads(cluster: &Cluster) {
    let commands = ["SET key:{key uniform 5000} {value 16}", "GET key:{key uniform 5000}"];
    for replica_reads in [ReplicaReads::Yes, ReplicaReads::All] {
        let plan = Plan {
            cluster: Some(ClusterPlan { replica_reads, ..ClusterPlan::default() }),
            ..plan(cluster, &commands)
        };
        let step = carry_out(&plan);
        assert_clean(&step, 3_000);
        let of = |role| {
            let nodes = step.cluster.iter().flat_map(|cluster| &cluster.nodes);
            nodes.filter(|node| node.role == role).map(|node| node.count).sum::<u64>()
        };
        let gets = step.commands[1].count;
        match replica_reads {
            ReplicaReads::Yes => assert_eq!(of(NodeRole::Replica), gets),
            _ => {
                let share = of(NodeRole::Replica) as f64 / gets as f64;
                assert!((0.3..0.7).contains(&share), "{share}");
            }
        }
    }
}

fn tags_keep_clients_on_their_nodes(cluster: &Cluster) {
    let mut plan = plan(cluster, &[]);
    plan.mix = vec![MixEntry::new("SET", vec![CommandText::arguments(["SET", "t:{tag}:x", "v"])])];
    plan.pipeline.mode = PipelineMode::Batch;
    plan.stop = Stop { requests: Some(2_400), ..Stop::default() };
    plan.cluster = Some(ClusterPlan { tags: true, ..ClusterPlan::default() });
    let step = carry_out(&plan);
    assert_clean(&step, 2_400);
    let of_cluster = step.cluster.unwrap();
    assert_eq!(of_cluster.imbalance, 1.0, "{:?}", of_cluster.nodes);
}

fn a_slot_moves_under_load(cluster: &Cluster) {
    // All keys in one slot, which is the second node's.
    let key = (0..)
        .map(|nth| format!("{{m{nth}}}"))
        .find(|key| (6_000..10_000).contains(&text::slot::key_slot(key.as_bytes())));
    let key = key.unwrap();
    let slot = text::slot::key_slot(key.as_bytes());
    let arguments = |words: [&str; 3]| CommandText::arguments(words);
    let name = format!("{key}:__rand_int__");
    let mut plan = plan(cluster, &[]);
    plan.mix = vec![
        MixEntry::new("SET", vec![arguments(["SET", &name, "v"])]),
        MixEntry::new("GETRANGE", vec![CommandText::arguments(["GETRANGE", &name, "0", "1"])]),
    ];
    plan.placeholders.keyspace = Some(3_000);
    plan.stop = Stop { duration_ms: Some(2_500), ..Stop::default() };
    let step = thread::scope(|scope| {
        let load = scope.spawn(|| carry_out(&plan));
        thread::sleep(Duration::from_millis(700));
        let moved = cluster.migrate(slot, 1, 2, Duration::from_millis(10));
        assert!(moved > 500, "{moved}");
        load.join().unwrap()
    });
    assert_eq!(step.totals.error_count(), 0, "{:?}", step.totals.errors);
    let retried = &step.totals.retried;
    assert!(retried.get("ASK").is_some_and(|count| *count > 0), "{retried:?}");
    assert!(retried.get("MOVED").is_some_and(|count| *count > 0), "{retried:?}");
    assert_eq!(step.outage, None);
    assert_eq!(step.totals.count, step.totals.service.count());
    cluster.migrate(slot, 2, 1, Duration::ZERO);
}

fn a_replica_dies_under_reads(cluster: &mut Cluster) {
    let plan = Plan {
        cluster: Some(ClusterPlan { replica_reads: ReplicaReads::Yes, ..ClusterPlan::default() }),
        stop: Stop { duration_ms: Some(2_000), ..Stop::default() },
        ..plan(cluster, &["GET key:{key uniform 5000}"])
    };
    let step = thread::scope(|scope| {
        let load = scope.spawn(|| carry_out(&plan));
        thread::sleep(Duration::from_millis(500));
        cluster.kill(5);
        load.join().unwrap()
    });
    assert_eq!(step.totals.error_count(), 0, "{:?}", step.totals.errors);
    let outage = step.outage.unwrap();
    assert!(outage.connection_errors > 0 && outage.lost == 0, "{outage:?}");
    // The primary takes over at once.
    assert!(outage.longest_stall_ns < 1_500_000_000, "{outage:?}");
    assert!(step.series.iter().all(|second| second.count > 0), "{:?}", step.series);
}

fn a_primary_dies_under_load(cluster: &mut Cluster) {
    let plan = Plan {
        stop: Stop { duration_ms: Some(6_000), ..Stop::default() },
        ..plan(cluster, &["SET key:{key uniform 5000} {value 16}"])
    };
    let step = thread::scope(|scope| {
        let load = scope.spawn(|| carry_out(&plan));
        thread::sleep(Duration::from_millis(1_000));
        cluster.kill(0);
        load.join().unwrap()
    });
    let outage = step.outage.unwrap();
    assert!(outage.connection_errors > 0 && outage.refused > 0, "{outage:?}");
    assert!(outage.first_error_ns >= 500_000_000, "{outage:?}");
    assert!(outage.first_error_ns <= outage.last_error_ns, "{outage:?}");
    // With a node timeout of a second nobody can be quicker.
    assert!(outage.longest_stall_ns > 800_000_000, "{outage:?}");
    assert!(step.totals.retried[LOST_CONNECTION] > 0, "{:?}", step.totals.retried);
    assert_eq!(step.totals.error_count(), 0, "{:?}", step.totals.errors);
    let nodes = &step.cluster.unwrap().nodes;
    let address = |node: usize| cluster.address(node).to_string();
    let at = |node: usize| nodes.iter().find(|known| known.address == address(node)).unwrap();
    assert_eq!((at(3).role, at(0).role), (NodeRole::Primary, NodeRole::Gone), "{nodes:?}");
    assert!(at(3).count > 0 && at(0).retried[LOST_CONNECTION] > 0);
}

#[test]
fn one_node_can_be_a_cluster() {
    let Some(cluster) = Cluster::start(1, 0) else { return };
    let step = carry_out(&plan(&cluster, &["SET key:{key uniform 5000} {value 16}"]));
    assert_clean(&step, 3_000);
    assert_eq!(step.cluster.unwrap().imbalance, 1.0);
}

#[test]
fn a_server_without_a_cluster_says_so() {
    let Some(peer) = Peer::redis() else { return };
    let plan = Plan {
        targets: vec![Target::tcp("127.0.0.1", peer.address.port())],
        cluster: Some(ClusterPlan::default()),
        ..Plan::default()
    };
    let failure = run(&plan, &Control::new()).unwrap_err();
    assert!(matches!(failure.error, RunError::NoCluster { .. }), "{failure}");
    assert!(failure.to_string().contains("cluster support disabled"), "{failure}");
    let fake = FakeServer::ok();
    let plan = Plan { targets: vec![Target::tcp("127.0.0.1", fake.port())], ..plan };
    let failure = run(&plan, &Control::new()).unwrap_err();
    assert!(matches!(failure.error, RunError::NoCluster { .. }), "{failure}");
}
