//! The engine against a real memcached, in each of its protocols.

use load::plan::objects::{
    Fetch, ImportedItem, KeyPattern, Objects, Store, ValueContent, ValueSize,
};
use load::plan::{
    Choice, CommandText, MixEntry, Pipeline, PipelineMode, Plan, Protocol, Stop, Target,
};
use load::{Control, run};
use report::StepResult;
use testkit::peer::Peer;

const PROTOCOLS: [Protocol; 3] =
    [Protocol::MemcacheText, Protocol::MemcacheBinary, Protocol::MemcacheMeta];

fn plan(server: &Peer, protocol: Protocol, requests: u64, mix: Vec<MixEntry>) -> Plan {
    let target = Target { protocol, ..Target::tcp("127.0.0.1", server.address.port()) };
    Plan {
        targets: vec![target],
        connections: 4,
        threads: 2,
        pipeline: Pipeline { depth: 8, mode: PipelineMode::Window },
        mix,
        choice: Choice::Cycle,
        objects: Objects {
            key_minimum: 1,
            key_maximum: 1_000,
            value_size: ValueSize::Range { least: 1, most: 5_000 },
            value_content: ValueContent::Random,
            ..Objects::default()
        },
        stop: Stop { requests: Some(requests), ..Stop::default() },
        ..Plan::default()
    }
}

fn sets(keys: KeyPattern) -> MixEntry {
    MixEntry::new("SET", vec![CommandText::Store(Store { keys, ..Store::default() })])
}

fn gets(fetch: Fetch) -> MixEntry {
    MixEntry::new("GET", vec![CommandText::Fetch(fetch)])
}

fn carry_out(plan: &Plan) -> StepResult {
    run(plan, &Control::new()).unwrap()
}

#[test]
fn sets_and_gets_of_all_keys_find_them_in_each_protocol() {
    let Some(server) = Peer::memcached(&[]) else { return };
    for protocol in PROTOCOLS {
        let loaded = carry_out(&plan(&server, protocol, 1_000, vec![sets(KeyPattern::Parallel)]));
        assert_eq!((loaded.requests, loaded.totals.error_count()), (1_000, 0), "{protocol:?}");
        assert!(loaded.totals.bytes_out > 1_000 * 2_000);

        let keys = KeyPattern::Random;
        let read = carry_out(&plan(
            &server,
            protocol,
            2_000,
            vec![gets(Fetch { keys, ..Fetch::default() })],
        ));
        assert_eq!((read.totals.hits, read.totals.misses), (2_000, 0), "{protocol:?}");
        assert!(read.totals.bytes_in > 2_000 * 2_000);

        let many = Fetch { keys: KeyPattern::Sequential, count: 7, ..Fetch::default() };
        let mut beyond = plan(&server, protocol, 400, vec![gets(many)]);
        beyond.objects.key_minimum = 501;
        beyond.objects.key_maximum = 1_500;
        let read = carry_out(&beyond);
        // 100 requests on each connection take 700 keys in turn, and 500 of them exist.
        assert_eq!((read.requests, read.totals.error_count()), (400, 0), "{protocol:?}");
        assert_eq!((read.totals.hits, read.totals.misses), (4 * 500, 4 * 200), "{protocol:?}");
    }
}

#[test]
fn imported_items_are_verified() {
    let Some(server) = Peer::memcached(&[]) else { return };
    let item = |number: u32| ImportedItem {
        key: format!("item:{number}").into(),
        value: format!("value\r\nof {number}").into(),
        expiry_s: 0,
        flags: number,
    };
    for protocol in PROTOCOLS {
        let with_items = |entry, items: Vec<ImportedItem>| {
            let count = items.len() as u64;
            let mut plan = plan(&server, protocol, count, vec![entry]);
            plan.objects.imported = items;
            plan
        };
        let items: Vec<ImportedItem> = (0..200).map(item).collect();
        carry_out(&with_items(sets(KeyPattern::Sequential), items.clone()));

        let verify = Fetch { keys: KeyPattern::Sequential, verify: true, ..Fetch::default() };
        let right = carry_out(&with_items(gets(verify), items.clone()));
        assert_eq!((right.totals.verified, right.totals.verify_failed), (200, 0), "{protocol:?}");

        let mut other = items;
        other[17].value = "something else".into();
        other.push(item(1_000));
        let wrong = carry_out(&with_items(gets(verify), other));
        assert_eq!((wrong.totals.verified, wrong.totals.verify_failed), (199, 2), "{protocol:?}");
        assert_eq!((wrong.totals.hits, wrong.totals.misses), (200, 1), "{protocol:?}");
    }
}

#[test]
fn errors_of_memcached_are_counted_by_class() {
    // Values above the largest item that this one takes.
    let Some(server) = Peer::memcached(&["-I", "1k", "-o", "slab_chunk_max=512"]) else { return };
    let mut large = plan(&server, Protocol::MemcacheText, 40, vec![sets(KeyPattern::Random)]);
    large.objects.value_size = ValueSize::Fixed { bytes: 4_000 };
    let step = carry_out(&large);
    assert_eq!(step.requests, 40);
    assert_eq!(step.totals.errors.get("SERVER_ERROR"), Some(&40), "{:?}", step.totals.errors);
}

#[test]
fn a_password_is_sent_and_a_wrong_one_is_refused() {
    let directory = std::env::temp_dir();
    let file = directory.join(format!("redline-memcached-auth-{}", std::process::id()));
    std::fs::write(&file, "user:secret\n").unwrap();
    let path = file.to_str().unwrap();
    let server = Peer::memcached(&["-Y", path]);
    let Some(server) = server else {
        std::fs::remove_file(&file).unwrap();
        return;
    };
    let mut plan = plan(&server, Protocol::MemcacheText, 10, vec![sets(KeyPattern::Random)]);
    plan.targets[0].user = Some("user".into());
    plan.targets[0].password = Some("secret".into());
    assert_eq!(carry_out(&plan).totals.count, 10);
    plan.targets[0].password = Some("wrong".into());
    let failure = run(&plan, &Control::new()).unwrap_err();
    std::fs::remove_file(&file).unwrap();
    assert!(failure.to_string().contains("refused authentication"), "{failure}");
    assert!(!failure.to_string().contains("wrong"), "{failure}");
}
