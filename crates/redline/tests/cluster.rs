//! Cluster targets as people use them: `redline bench --cluster`, and `redline redis-benchmark --cluster` beside what the
//! original printed, against a real cluster.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

use serde_json::Value;
use testkit::cluster::Cluster;
use testkit::peer::Peer;
use testkit::schema;

use crate::redis_benchmark::{Outcome, STOPPED, run, shape, watch, words};
use crate::{resp_benchmark, store};

#[test]
fn a_cluster_is_measured_as_a_whole() {
    let Some(cluster) = Cluster::start(3, 1) else { return };
    bench_fills_measures_and_clears_all_nodes(&cluster);
    a_node_alone_gets_a_hint(&cluster);
    redis_benchmark_prints_the_original_s_words(&cluster);
    commands_without_tags_are_routed(&cluster);
    valkey_s_words_and_replicas(&cluster);
    resp_benchmark_loads_all_nodes(&cluster);
}

fn resp_benchmark_loads_all_nodes(cluster: &Cluster) {
    (0..3).for_each(|node| assert_ok(&cluster.command(node, &["FLUSHALL"])));
    let port = cluster.address(1).port().to_string();
    let load = "SET {key sequence 500} {value 3}";
    for line in [
        &["-p", &port, "--cluster", "--load", "-c", "4", "-P", "5", "-n", "500", load][..],
        &["-p", &port, "--cluster", "-c", "4", "-P", "5", "-n", "500", "GET {key uniform 500}"],
    ] {
        let outcome = resp_benchmark::run(line);
        assert_eq!((outcome.stderr.as_str(), outcome.status), ("", 0), "{line:?}");
    }
    let keys = |node| match cluster.command(node, &["DBSIZE"]) {
        testkit::reply::Value::Integer(keys) => keys,
        other => panic!("{other:?}"),
    };
    let sizes = [keys(0), keys(1), keys(2)];
    assert!(sizes.iter().sum::<i64>() == 500 && sizes.iter().all(|size| *size > 0), "{sizes:?}");
}

fn assert_ok(reply: &testkit::reply::Value) {
    assert_eq!(*reply, testkit::reply::Value::Simple(b"OK".to_vec()));
}

fn bench_fills_measures_and_clears_all_nodes(cluster: &Cluster) {
    let target = cluster.address(1).to_string();
    let line = "--cluster --tests get,mix,set_p16 --duration 200ms --keys 2000 -c 6 --flush";
    let output =
        bench(&[&["--json", "-", "--replica-reads", "all", &target][..], &split(line)].concat());
    let (text, json) = output.split_once("\n{").unwrap();
    assert!(text.contains("\nNodes"), "{text}");
    let result: Value = serde_json::from_str(&format!("{{{json}")).unwrap();
    let rules: Value = serde_json::from_str(include_str!("../../report/schema.json")).unwrap();
    assert_eq!(schema::complaints(&rules, &result), Vec::<String>::new());
    for step in result["steps"].as_array().unwrap() {
        assert!(step["totals"]["count"].as_u64().unwrap() > 0);
        assert_eq!(step["totals"]["errors"].as_object().unwrap().len(), 0, "{step}");
        assert_eq!(step["totals"].get("retried"), None);
        assert_eq!(step["totals"]["misses"], 0);
        let nodes = step["cluster"]["nodes"].as_array().unwrap();
        assert_eq!(nodes.len(), 6);
        assert_eq!(nodes.iter().filter(|node| node["role"] == "replica").count(), 3);
    }
    for node in 0..3 {
        let left = cluster.command(node, &["DBSIZE"]);
        assert_eq!(left, testkit::reply::Value::Integer(0), "node {node}");
    }
}

fn a_node_alone_gets_a_hint(cluster: &Cluster) {
    let target = cluster.address(0).to_string();
    let line = "--command PING --duration 50ms --no-json -c 2";
    let text = bench(&[&[target.as_str()][..], &split(line)].concat());
    let text = text.split_whitespace().collect::<Vec<_>>().join(" ");
    assert!(text.contains("is a node of a cluster and was measured alone; --cluster"), "{text}");
}

fn redis_benchmark_prints_the_original_s_words(cluster: &Cluster) {
    let port = cluster.address(0).port().to_string();
    for name in ["csv", "custom", "dbnum", "default", "idle", "q", "threads"] {
        let line = recorded(name, "cmd");
        let port_here = |word: &str| if word == "7001" { port.clone() } else { word.to_owned() };
        let arguments: Vec<String> = line.split_whitespace().skip(1).map(port_here).collect();
        let arguments: Vec<String> =
            arguments.into_iter().map(|word| word.trim_matches('"').to_owned()).collect();
        let expected = Outcome {
            stdout: recorded(name, "stdout"),
            stderr: recorded(name, "stderr"),
            status: recorded(name, "exit").trim().parse().unwrap(),
        };
        let outcome =
            if expected.status == STOPPED { watch(&arguments) } else { run(&arguments, None) };
        assert_eq!(shape(without_names(outcome)), shape(without_names(expected)), "{line}");
    }
}

fn commands_without_tags_are_routed(cluster: &Cluster) {
    let port = cluster.address(2).port();
    let line =
        format!("-p {port} --cluster -n 600 -r 500 -q mset k:__rand_int__ v l:__rand_int__ v");
    let outcome = run(&words(&line), None);
    assert_eq!((outcome.status, outcome.stderr.as_str()), (0, ""), "{}", outcome.stdout);
    let lines: Vec<&str> = outcome.stdout.lines().collect();
    assert!(lines.last().unwrap().contains("requests per second"), "{lines:?}");
}

fn valkey_s_words_and_replicas(cluster: &Cluster) {
    let port = cluster.address(0).port().to_string();
    let valkey = |words: &str| {
        let output = Command::new(store::BINARY)
            .args(["valkey-benchmark", "-p", &port])
            .args(words.split(' '))
            .output()
            .unwrap();
        assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
        String::from_utf8(output.stdout).unwrap()
    };
    let text = valkey("--cluster -n 100 -t get");
    assert!(text.starts_with("Cluster has 3 primary nodes:\n\nNode 0(Primary): "), "{text}");
    assert!(text.contains("  cluster mode: yes (3 primary)\n"), "{text}");
    let text = valkey("--cluster --rfr yes -n 100 -t get -q");
    assert!(text.starts_with("Cluster has 3 replica nodes:\n\nNode 0(Replica): "), "{text}");
    let text = valkey("--cluster --rfr all -n 100 -t get -q");
    assert!(text.starts_with("Cluster has 6 cluster nodes:\n"), "{text}");
}

#[test]
fn what_is_no_cluster_is_said_in_the_original_s_words() {
    let Some(cluster) = Cluster::start(1, 0) else { return };
    let port = cluster.address(0).port();
    let outcome = run(&words(&format!("-p {port} --cluster -n 10 -t set -q")), None);
    let expected = (1, "Invalid cluster: 1 node(s).\n");
    assert_eq!((outcome.status, outcome.stderr.as_str()), expected);
    let Some(peer) = Peer::redis() else { return };
    let port = peer.address.port();
    let outcome = run(&words(&format!("-p {port} --cluster -n 10 -t set -q")), None);
    let expected = format!(
        "Cluster node 127.0.0.1:{port} replied with error:\n\
         ERR This instance has cluster support disabled\n\
         Failed to fetch cluster configuration from 127.0.0.1:{port}\n"
    );
    assert_eq!((outcome.status, outcome.stderr), (1, expected));
}

fn split(line: &str) -> Vec<&str> {
    line.split(' ').collect()
}

/// What `redline bench` prints; it must succeed.
fn bench(arguments: &[&str]) -> String {
    let output = Command::new(store::BINARY).arg("bench").args(arguments).output().unwrap();
    let errors = String::from_utf8_lossy(&output.stderr);
    assert!(output.status.success(), "{errors}");
    String::from_utf8(output.stdout).unwrap()
}

/// The outcome without ids and ports of nodes.
fn without_names(mut outcome: Outcome) -> Outcome {
    let cut = |line: &str| match line.split_once(": ") {
        Some((name, rest)) if name.starts_with("Master ") => {
            let (id, address) = rest.split_once(' ').unwrap();
            assert_eq!(id.len(), 40, "{line}");
            assert!(address.starts_with("127.0.0.1:"), "{line}");
            format!("{name}: ID ADDRESS\n")
        }
        _ => format!("{line}\n"),
    };
    outcome.stdout = outcome.stdout.split('\n').map(cut).collect();
    outcome
}

fn recorded(name: &str, kind: &str) -> String {
    let folder: PathBuf =
        Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/golden/redis-benchmark-cluster");
    fs::read_to_string(folder.join(format!("{name}.{kind}"))).unwrap()
}
