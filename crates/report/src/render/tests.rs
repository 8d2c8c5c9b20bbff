//! Tests of the renderings: whole texts of fixed results, and the schema.

use serde_json::Value;

use super::{csv, json, text};
use crate::model::{
    ClusterResult, CommandResult, Generator, LatencyClock, Lifetime, Machine, NodeResult, NodeRole,
    Outage, RunResult, SCHEMA_VERSION, SeriesPoint, StepResult, Target, Tool,
};

fn command(label: &str, latencies_ns: &[(u64, u64)]) -> CommandResult {
    let mut command = CommandResult::new(label);
    for (latency_ns, count) in latencies_ns {
        command.service.record(*latency_ns, *count);
        command.response.record(latency_ns * 3, *count);
        command.count += count;
    }
    command
}

fn step(title: &str, commands: Vec<CommandResult>) -> StepResult {
    let mut totals = CommandResult::new("Totals");
    commands.iter().for_each(|command| totals.merge(command));
    StepResult {
        title: title.into(),
        requests: totals.count + totals.error_count(),
        unanswered: 0,
        duration_ns: 1_500_000_000,
        started_at_unix_ms: 1_795_294_156_000,
        connections: 50,
        threads: 1,
        pipeline: 1,
        payload_bytes: 64,
        keep_alive: true,
        tls: None,
        target_rate_rps: None,
        clock: LatencyClock::PerRequest,
        commands,
        totals,
        series: vec![SeriesPoint { second: 0, count: 1, mean_ns: 5.5, ..SeriesPoint::default() }],
        generator: Generator { thread_cpu_ns: vec![900_000_000], ..Generator::default() },
        bytes_in: 10,
        bytes_out: 20,
        lifetime: Lifetime::default(),
        clients: Vec::new(),
        interrupted: false,
        cluster: None,
        outage: None,
    }
}

fn run(steps: Vec<StepResult>) -> RunResult {
    RunResult {
        schema_version: SCHEMA_VERSION,
        tool: Tool { name: "redline".into(), version: "0.1.0".into() },
        started_at_unix_ms: 1_795_294_155_000,
        plan: serde_json::json!([{ "title": "SET" }]),
        machine: Machine {
            cpu_model: "Example CPU 9000".into(),
            cores: 2,
            memory_bytes: 16 << 30,
            kernel: "Linux 6.1.0".into(),
            os: "Debian GNU/Linux 12 (bookworm)".into(),
        },
        target: Target {
            url: "redis://127.0.0.1:6379".into(),
            server_name: "redis".into(),
            server_version: "7.0.15".into(),
            embedded: false,
            server_threads: 0,
        },
        steps,
        interrupted: false,
        notes: Vec::new(),
        error: None,
    }
}

/// A SET without misses, and a mix whose reads miss and fail at times.
fn closed_loop() -> RunResult {
    let mut get = command("GET", &[(250_000, 1_000_000), (2_000_000, 10_000)]);
    get.hits = 1_000_000;
    get.misses = 10_000;
    let mut set = command("SET", &[(300_000, 101_000)]);
    set.errors.insert("OOM".into(), 1_234);
    set.errors.insert("READONLY".into(), 1);
    let mut mix = step("GET:SET 10:1", vec![get, set]);
    mix.generator.thread_cpu_ns = vec![1_400_000_000];
    run(vec![step("SET", vec![command("SET", &[(301_234, 150_000), (12_345_678, 10)])]), mix])
}

fn open_loop() -> RunResult {
    let mut step = step("GET", vec![command("GET", &[(100_000, 15_000)])]);
    step.target_rate_rps = Some(20_000.0);
    step.generator.max_send_lag_ns = 375_000_000;
    step.unanswered = 15_000;
    let mut run = run(vec![step]);
    run.notes = vec!["Filled 100,000 keys.".into()];
    run.interrupted = true;
    run.error = Some("127.0.0.1:6379 closed the connection".into());
    run
}

#[test]
fn a_closed_loop_as_text() {
    let expected = "\
redline 0.1.0, 2026-11-21 20:49:15 UTC
Server   redis 7.0.15, redis://127.0.0.1:6379
Machine  Example CPU 9000, 2 cores, 16.0 GiB, Linux 6.1.0, Debian GNU/Linux 12
         (bookworm)
Load     50 connections, 1 thread, pipeline 1, values of 64 bytes, closed loop,
         1.5 s a step
Clock    service time: each request's own write to its own reply; in a closed
         loop a request is due when it is sent, so response time is the same

Latency in ms
command         req/s    avg    p50    p95    p99  p99.9     max  errors  misses
SET           100,007  0.302  0.301  0.301  0.301  0.301  12.346       0       -
GET:SET 10:1  740,667  0.270  0.250  0.300  0.300  2.000   2.000   1,235  10,000
  GET         673,333  0.267  0.250  0.250  0.250  2.000   2.000       0  10,000
  SET          67,333  0.300  0.300  0.300  0.300  0.300   0.300   1,235       -

- GET:SET 10:1: error replies by class: OOM 1,234, READONLY 1
- Client-limited: the generator's threads were busy for at least 90 % of the
  time in GET:SET 10:1; the server may be faster than this.
";
    assert_eq!(text::render(&closed_loop()), expected);
}

#[test]
fn an_open_loop_as_text_shows_both_times() {
    let expected = "\
redline 0.1.0, 2026-11-21 20:49:15 UTC
Server   redis 7.0.15, redis://127.0.0.1:6379
Machine  Example CPU 9000, 2 cores, 16.0 GiB, Linux 6.1.0, Debian GNU/Linux 12
         (bookworm)
Load     50 connections, 1 thread, pipeline 1, values of 64 bytes, open loop at
         20,000 requests/s, 1.5 s a step
Clock    service time is each request's own write to its own reply; response
         time begins when a request was due

Response time in ms, due to done
command   req/s    avg    p50    p95    p99  p99.9    max  errors  misses
GET      10,000  0.300  0.300  0.300  0.300  0.300  0.300       0       -

Service time in ms, sent to done
command   req/s    avg    p50    p95    p99  p99.9    max  errors  misses
GET      10,000  0.100  0.100  0.100  0.100  0.100  0.100       0       -

- Filled 100,000 keys.
- GET: 20,000 requests/s were due, 10,000 were answered; the latest was sent
  375.000 ms after it was due, 15,000 had no answer at the end.
- Interrupted: this is what was measured until then.
- Ended early: 127.0.0.1:6379 closed the connection
";
    assert_eq!(text::render(&open_loop()), expected);
}

#[test]
fn a_step_as_a_line() {
    let line = text::step_line(&closed_loop().steps[1]);
    assert_eq!(line, "GET:SET 10:1: 740,667 requests/s, p50 0.750 ms, p99 0.900 ms, 1,235 errors");
}

#[test]
fn text_stays_within_its_width() {
    let mut wide = closed_loop();
    wide.steps[0].title = "EVAL \"return 1\" 0 and a lot more that nobody can read".into();
    wide.notes = vec!["word ".repeat(60)];
    wide.target = Target::default();
    let text = text::render(&wide);
    assert!(text.lines().all(|line| line.chars().count() <= 100), "{text}");
    assert!(text.contains("EVAL \"return 1\" 0 and a lot mor…"), "{text}");
    for result in [closed_loop(), open_loop()] {
        assert!(text::render(&result).lines().all(|line| line.chars().count() <= 80));
    }
}

#[test]
fn nothing_measured_is_no_panic() {
    let mut empty = run(vec![step("GET", vec![command("GET", &[])])]);
    empty.steps[0].duration_ns = 0;
    assert!(text::render(&empty).contains("\nGET          0    -"), "{}", text::render(&empty));
    let none = run(Vec::new());
    assert!(text::render(&none).starts_with("redline 0.1.0"));
    assert_eq!(csv::render(&none).lines().count(), 1);
}

#[test]
fn csv_has_a_row_for_each_command_and_the_totals_of_a_mix() {
    let expected = "\
step,command,connections,threads,pipeline,payload_bytes,target_rate_rps,duration_s,requests,requests_per_s,errors,hits,misses,service_avg_ms,service_p50_ms,service_p95_ms,service_p99_ms,service_p99_9_ms,service_max_ms,response_avg_ms,response_p50_ms,response_p95_ms,response_p99_ms,response_p99_9_ms,response_max_ms,clock
SET,SET,50,1,1,64,,1.500000,150010,100006.67,0,0,0,0.302037,0.301311,0.301311,0.301311,0.301311,12.345678,0.906111,0.904191,0.904191,0.904191,0.904191,37.037034,per_request
GET:SET 10:1,GET,50,1,1,64,,1.500000,1010000,673333.33,0,1000000,10000,0.267327,0.250111,0.250111,0.250111,2.000000,2.000000,0.801980,0.750079,0.750079,0.750079,6.000000,6.000000,per_request
GET:SET 10:1,SET,50,1,1,64,,1.500000,101000,67333.33,1235,0,0,0.300000,0.300000,0.300000,0.300000,0.300000,0.300000,0.900000,0.900000,0.900000,0.900000,0.900000,0.900000,per_request
GET:SET 10:1,Totals,50,1,1,64,,1.500000,1111000,740666.67,1235,1000000,10000,0.270297,0.250111,0.300031,0.300031,2.000000,2.000000,0.810891,0.750079,0.900095,0.900095,6.000000,6.000000,per_request
";
    assert_eq!(csv::render(&closed_loop()), expected);
}

#[test]
fn csv_quotes_titles() {
    let mut result = open_loop();
    result.steps[0].title = "SET \"a\", b".into();
    let text = csv::render(&result);
    let mut reader = ::csv::Reader::from_reader(text.as_bytes());
    let record = reader.records().next().unwrap().unwrap();
    assert_eq!((&record[0], &record[6]), ("SET \"a\", b", "20000"));
}

#[test]
fn json_follows_the_schema_and_reads_back() {
    let schema: Value = serde_json::from_str(include_str!("../../schema.json")).unwrap();
    for result in [closed_loop(), open_loop(), run(Vec::new())] {
        let text = json::render(&result);
        let value: Value = serde_json::from_str(&text).unwrap();
        assert_eq!(testkit::schema::complaints(&schema, &value), Vec::<String>::new());
        assert_eq!(serde_json::from_str::<RunResult>(&text).unwrap(), result);
    }
}

#[test]
fn the_schema_names_every_field() {
    let schema: Value = serde_json::from_str(include_str!("../../schema.json")).unwrap();
    let value = serde_json::to_value(open_loop()).unwrap();
    let named = |pointer: &str| schema.pointer(pointer).unwrap().as_object().unwrap();
    for (pointer, object) in [
        ("/properties", &value),
        ("/properties/machine/properties", &value["machine"]),
        ("/properties/target/properties", &value["target"]),
        ("/$defs/step/properties", &value["steps"][0]),
        ("/$defs/command/properties", &value["steps"][0]["totals"]),
        ("/$defs/histogram/properties", &value["steps"][0]["totals"]["service"]),
        ("/$defs/second/properties", &value["steps"][0]["series"][0]),
        ("/$defs/generator/properties", &value["steps"][0]["generator"]),
        ("/$defs/lifetime/properties", &value["steps"][0]["lifetime"]),
    ] {
        for field in object.as_object().unwrap().keys() {
            assert!(named(pointer).contains_key(field), "{pointer} lacks {field}");
        }
    }
}

/// A cluster whose second primary failed for a while.
fn cluster() -> RunResult {
    let mut step = step("SET", vec![command("SET", &[(250_000, 9_000)])]);
    step.totals.retried = [("CONNECTION".to_owned(), 100), ("MOVED".to_owned(), 2)].into();
    let node = |address: &str, role, slots, count: u64| {
        let mut node =
            NodeResult { address: address.into(), role, slots, count, ..NodeResult::default() };
        node.service.record(250_000, count);
        node
    };
    let mut replica = node("10.0.0.2:6379", NodeRole::Replica, 8_192, 0);
    replica.retried.insert("CONNECTION".into(), 100);
    step.cluster = Some(ClusterResult {
        nodes: vec![
            node("10.0.0.1:6379", NodeRole::Primary, 8_192, 6_000),
            node("10.0.0.3:6379", NodeRole::Primary, 8_192, 3_000),
            replica,
        ],
        refreshes: 3,
        imbalance: 4.0 / 3.0,
    });
    step.outage = Some(Outage {
        first_error_ns: 1_000_000_000,
        last_error_ns: 2_345_678_000,
        longest_stall_ns: 1_400_000_000,
        connection_errors: 60,
        refused: 100,
        lost: 1,
    });
    run(vec![step.clone(), step])
}

#[test]
fn nodes_and_an_outage_as_text() {
    let text = text::render(&cluster());
    let expected = "
Nodes (the busiest primary had up to 1.33 times the mean), latency in ms
node           role     slots  requests  share    p50    p99  errors  again
10.0.0.1:6379  primary  50.0%    12,000  66.7%  0.250  0.250       0      0
10.0.0.3:6379  primary  50.0%     6,000  33.3%  0.250  0.250       0      0
10.0.0.2:6379  replica  50.0%         0   0.0%      -      -       0    200

- SET: sent again, by class: CONNECTION 100, MOVED 2
- SET: outage: first error at 1.000 s, last at 2.346 s, longest stall 1400.0 ms;
  60 connection errors, 100 requests refused or cut off, 1 lost.
";
    assert!(text.contains(expected), "{text}");
}

#[test]
fn a_cluster_s_result_keeps_to_the_schema() {
    let schema: Value = serde_json::from_str(include_str!("../../schema.json")).unwrap();
    let result: Value = serde_json::from_str(&json::render(&cluster())).unwrap();
    assert_eq!(testkit::schema::complaints(&schema, &result), Vec::<String>::new());
}
