//! `CONFIG` and `INFO` as a session shows them, beside a real server where it has the same values.

use crate::store;
use testkit::client::Client;
use testkit::reply::Value;
use testkit::script::check;

#[test]
fn config_as_everywhere() {
    store::check_beside_valkey(
        r#"
        > CONFIG SET nosuch 1
        (error) ERR Unknown option or number of arguments for CONFIG SET - 'nosuch'
        > CONFIG SET maxmemory abc
        (error) ERR CONFIG SET failed (possibly related to argument 'maxmemory') - argument must be a memory value
        > CONFIG SET timeout -1
        (error) ERR CONFIG SET failed (possibly related to argument 'timeout') - argument must be between 0 and 2147483647 inclusive
        > CONFIG SET databases 4
        (error) ERR CONFIG SET failed (possibly related to argument 'databases') - can't set immutable config
        > CONFIG SET dir /tmp
        (error) ERR CONFIG SET failed (possibly related to argument 'dir') - can't set protected config
        > CONFIG SET timeout 20 timeout 30
        (error) ERR CONFIG SET failed (possibly related to argument 'timeout') - duplicate parameter
        > CONFIG SET timeout 20 tcp-keepalive x
        (error) ERR CONFIG SET failed (possibly related to argument 'tcp-keepalive') - argument couldn't be parsed into an integer
        > CONFIG SET timeout 20 nosuch 1 databases 2
        (error) ERR Unknown option or number of arguments for CONFIG SET - 'nosuch'
        > CONFIG GET timeout
        1) "timeout"
        2) "0"
        > CONFIG SET timeout 20 maxmemory
        (error) ERR syntax error
        > CONFIG SET timeout 20 maxmemory 1gb
        OK
        > CONFIG GET Timeout
        1) "Timeout"
        2) "20"
        > CONFIG GET max[m]emory
        1) "maxmemory"
        2) "1073741824"
        > CONFIG SET zset-max-ziplist-entries 7
        OK
        > CONFIG GET zset-max-listpack-entries
        1) "zset-max-listpack-entries"
        2) "7"
        > CONFIG SET client-output-buffer-limit "normal 1 2"
        (error) ERR CONFIG SET failed (possibly related to argument 'client-output-buffer-limit') - Wrong number of arguments in buffer limit configuration.
        > CONFIG SET client-output-buffer-limit "pubsub 1mb 2kb 3"
        OK
        > CONFIG GET client-output-buffer-limit
        1) "client-output-buffer-limit"
        2) "normal 0 0 0 slave 268435456 67108864 60 pubsub 1048576 2048 3"
        > CONFIG REWRITE
        (error) ERR The server is running without a config file
        > CONFIG GET nosuch
        (empty array)
        > CONFIG RESETSTAT
        OK
        "#,
    );
}

#[test]
fn what_is_not_there_is_refused_with_the_reason() {
    check(
        store::start().address,
        r#"
        > CONFIG SET maxmemory-policy allkeys-lru
        (error) ERR CONFIG SET failed (possibly related to argument 'maxmemory-policy') - eviction is not supported yet, so the policy is noeviction
        > CONFIG SET appendonly yes
        (error) ERR CONFIG SET failed (possibly related to argument 'appendonly') - the append-only file is not supported yet
        > CONFIG SET appendonly no save ""
        OK
        "#,
    );
}

#[test]
fn what_config_gives_it_takes_back() {
    let server = store::start();
    let mut client = Client::connect(server.address).unwrap();
    let Value::Array(all) = client.command(&["CONFIG", "GET", "*"]).unwrap() else { panic!() };
    assert!(all.len() > 300);
    for pair in all.chunks(2) {
        let [Value::Bulk(name), Value::Bulk(value)] = pair else { panic!("{pair:?}") };
        let reply = client.command(&[b"CONFIG", b"SET".as_slice(), name, value]).unwrap();
        match reply {
            Value::Simple(text) => assert_eq!(text, b"OK"),
            Value::Error(text) => {
                let text = String::from_utf8_lossy(&text).into_owned();
                let is_fixed =
                    text.ends_with("immutable config") || text.ends_with("protected config");
                assert!(is_fixed, "{}: {text}", String::from_utf8_lossy(name));
            }
            other => panic!("{other:?}"),
        }
    }
}

#[test]
fn memory_beyond_the_limit_refuses_what_may_add() {
    store::check_beside_valkey(
        r#"
        > SET a 1
        OK
        > CONFIG SET maxmemory 1
        OK
        > SET b 1
        (error) OOM command not allowed when used memory > 'maxmemory'.
        > GET a
        "1"
        > DEL a
        (integer) 1
        > CONFIG SET maxmemory 0
        OK
        > SET b 1
        OK
        "#,
    );
}

#[test]
fn info_counts_what_happened() {
    let server = store::start();
    let mut client = Client::connect(server.address).unwrap();
    let mut send = |line: &str| {
        let words: Vec<&str> = line.split(' ').collect();
        client.command(&words).unwrap()
    };
    for line in [
        "SET a 1 EX 100",
        "SET b 1",
        "GET a",
        "GET none",
        "LPUSH a 1",
        "NOSUCH",
        "SELECT 3",
        "SET c 1",
    ] {
        send(line);
    }
    let info = send("INFO everything");
    for (field, value) in [
        ("role", "master"),
        ("keyspace_hits", "1"),
        ("keyspace_misses", "1"),
        ("total_error_replies", "2"),
        ("errorstat_WRONGTYPE", "count=1"),
        ("errorstat_ERR", "count=1"),
        ("connected_clients", "1"),
        ("rdb_changes_since_last_save", "3"),
        ("cluster_enabled", "0"),
        ("db3", "keys=1,expires=0,avg_ttl=0,subexpiry=0"),
    ] {
        assert_eq!(info.info_field(field).as_deref(), Some(value), "{field}");
    }
    let db0 = info.info_field("db0").unwrap();
    assert!(db0.starts_with("keys=2,expires=1,avg_ttl="), "{db0}");
    let used: u64 = info.info_field("used_memory").unwrap().parse().unwrap();
    assert!(used > 100_000, "{used}");
    assert_eq!(info.info_field("tcp_port"), Some(server.address.port().to_string()));
    send("CONFIG RESETSTAT");
    let info = send("INFO stats errorstats");
    assert_eq!(info.info_field("keyspace_hits").as_deref(), Some("0"));
    assert_eq!(info.info_field("errorstat_ERR"), None);
    assert_eq!(info.info_field("role"), None);
    assert_eq!(send("INFO nosuch").info_field("role"), None);
}
