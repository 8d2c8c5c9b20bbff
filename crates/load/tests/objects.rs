//! Objects, cycles, iterations and transactions against a real Redis server.

use load::plan::objects::{
    Fetch, KeyPattern, NumberRange, ObjectCommand, Objects, OneOf, Part, Scan, Store, ValueSize,
};
use load::plan::{Choice, CommandText, Follows, MixEntry, Plan, Stop, Target};
use load::{Control, run};
use report::StepResult;
use testkit::peer::Peer;

fn plan(server: &Peer, requests: u64, mix: Vec<MixEntry>) -> Plan {
    Plan {
        targets: vec![Target::tcp("127.0.0.1", server.address.port())],
        connections: 3,
        threads: 2,
        mix,
        choice: Choice::Cycle,
        objects: Objects {
            key_minimum: 1,
            key_maximum: 600,
            value_size: ValueSize::Spread { least: 1, most: 600 },
            ..Objects::default()
        },
        stop: Stop { requests: Some(requests), ..Stop::default() },
        ..Plan::default()
    }
}

fn entry(name: &str, command: CommandText) -> MixEntry {
    MixEntry::new(name, vec![command])
}

fn carry_out(plan: &Plan) -> StepResult {
    run(plan, &Control::new()).unwrap()
}

fn ask(server: &Peer, command: &[&str]) -> String {
    let target = Target::tcp("127.0.0.1", server.address.port());
    String::from_utf8(load::connect::ask(&target, command).unwrap()).unwrap()
}

#[test]
fn all_keys_are_written_once_by_parallel_connections_and_read_in_cycles() {
    let Some(server) = Peer::redis() else { return };
    let store = Store { keys: KeyPattern::Parallel, ..Store::default() };
    let loaded = carry_out(&plan(&server, 600, vec![entry("SET", CommandText::Store(store))]));
    assert_eq!((loaded.requests, loaded.totals.error_count()), (600, 0));
    assert_eq!(ask(&server, &["DBSIZE"]), ":600\r\n");
    assert_eq!(ask(&server, &["STRLEN", "memtier-1"]), ":1\r\n");
    assert_eq!(ask(&server, &["STRLEN", "memtier-600"]), ":600\r\n");

    let expiring =
        Store { expiry_s: Some(NumberRange { least: 100, most: 200 }), ..Store::default() };
    let wait = ObjectCommand {
        arguments: vec![
            vec![Part::Text("WAIT".into())],
            vec![Part::Number(NumberRange { least: 0, most: 0 })],
            vec![Part::Number(NumberRange { least: 1, most: 5 })],
        ],
        keys: KeyPattern::Random,
    };
    let gets = MixEntry { weight: 3, ..entry("GET", CommandText::Fetch(Fetch::default())) };
    let many = Fetch { count: 4, keys: KeyPattern::Sequential, ..Fetch::default() };
    let waits = MixEntry {
        follows: Some(Follows { entry: 0, after: 1, times: 1 }),
        ..entry("WAIT", CommandText::Objects(wait))
    };
    let mix = vec![
        entry("SET", CommandText::Store(expiring)),
        gets,
        entry("MGET", CommandText::Fetch(many)),
        waits,
    ];
    // Ten rounds of six requests on each of three connections.
    let step = carry_out(&plan(&server, 180, mix));
    let counts: Vec<(&str, u64, u64)> = step
        .commands
        .iter()
        .map(|command| (command.label.as_str(), command.count, command.hits))
        .collect();
    assert_eq!(counts, [("SET", 30, 0), ("GET", 90, 90), ("MGET", 30, 120), ("WAIT", 30, 0)]);
    let expiring = ask(&server, &["INFO", "keyspace"]);
    assert!(!expiring.contains("expires=0"), "{expiring}");
}

#[test]
fn an_iteration_goes_from_cursor_to_cursor() {
    let Some(server) = Peer::redis() else { return };
    let store = Store { keys: KeyPattern::Parallel, ..Store::default() };
    carry_out(&plan(&server, 600, vec![entry("SET", CommandText::Store(store))]));
    let scan = |command: &[&str], iterations_max| {
        let scan = Scan {
            command: command.iter().map(|part| (*part).into()).collect(),
            arguments: vec!["COUNT".into(), "100".into()],
            next_label: "SCAN next".into(),
            iterations_max,
        };
        let plan = plan(&server, 60, vec![entry("SCAN 0", CommandText::Scan(scan))]);
        let step = carry_out(&Plan { connections: 1, threads: 1, ..plan });
        assert_eq!((step.requests, step.totals.error_count()), (60, 0));
        step.commands.iter().map(|command| command.count).collect::<Vec<_>>()
    };
    // 600 keys in steps of about a hundred: some ten iterations.
    let counts = scan(&["SCAN"], 0);
    assert!((8..=12).contains(&counts[0]) && counts[0] + counts[1] == 60, "{counts:?}");
    assert_eq!(scan(&["SCAN"], 2), [30, 30]);
    let member = ObjectCommand::parse(
        &["SADD".into(), "a set".into(), "__key__".into()],
        KeyPattern::Parallel,
    );
    carry_out(&plan(&server, 600, vec![entry("SADD", CommandText::Objects(member))]));
    assert_eq!(scan(&["SSCAN", "a set"], 2), [30, 30]);
}

#[test]
fn transactions_are_one_request_each_and_their_aborts_are_counted() {
    let Some(server) = Peer::redis() else { return };
    let key = ObjectCommand::parse(&["INCR".into(), "__key__".into()], KeyPattern::Random);
    let commands = vec![CommandText::Objects(key.clone()), CommandText::Objects(key)];
    let good = MixEntry { transaction: true, ..MixEntry::new("TX", commands) };
    let step = carry_out(&plan(&server, 90, vec![good]));
    assert_eq!((step.requests, step.totals.count, step.totals.aborts), (90, 90, 0));
    assert!(ask(&server, &["INFO", "commandstats"]).contains("cmdstat_incr:calls=180"));

    let broken = vec![CommandText::arguments(["INCR"])];
    let bad = MixEntry { transaction: true, ..MixEntry::new("TX", broken) };
    let step = carry_out(&plan(&server, 30, vec![bad]));
    assert_eq!((step.requests, step.totals.aborts), (30, 30));
    assert_eq!(step.totals.errors.get("EXECABORT"), Some(&30), "{:?}", step.totals.errors);
}

#[test]
fn recordings_are_replayed_in_order_over_all_connections() {
    let Some(server) = Peer::redis() else { return };
    let commands = (0..9).map(|n| vec!["SET".into(), format!("r{n}").into(), "v".into()]).collect();
    let replay = OneOf { commands, random: false };
    let step = carry_out(&plan(&server, 9, vec![entry("SET", CommandText::OneOf(replay))]));
    assert_eq!(step.totals.count, 9);
    assert_eq!(ask(&server, &["DBSIZE"]), ":9\r\n");
}
