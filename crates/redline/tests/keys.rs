//! Keys, as a session shows them: renaming, expiry, scanning, OBJECT.

use crate::store;
use std::collections::BTreeSet;
use testkit::client::Client;
use testkit::reply::Value;

#[test]
fn keys_of_any_type() {
    store::check_beside_valkey(
        r#"
        > MSET a 1 b 2 c 3
        OK
        > DEL a a b nokey
        (integer) 2
        > EXISTS c c nokey
        (integer) 2
        > TOUCH c c nokey
        (integer) 2
        > UNLINK c c
        (integer) 1
        > TYPE nokey
        none
        > SET s v
        OK
        > TYPE s
        string
        > RPUSH l a
        (integer) 1
        > TYPE l
        list
        > HSET h f v
        (integer) 1
        > TYPE h
        hash
        > SADD set m
        (integer) 1
        > TYPE set
        set
        > ZADD z 1 m
        (integer) 1
        > TYPE z
        zset
        > XADD x 1-1 f v
        "1-1"
        > TYPE x
        stream
        > RENAME nokey s
        (error) ERR no such key
        > RENAME nokey nokey
        (error) ERR no such key
        > RENAME s s
        OK
        > RENAMENX s s
        (integer) 0
        > RENAMENX nokey s
        (error) ERR no such key
        > RENAMENX s l
        (integer) 0
        > EXPIRE s 100
        (integer) 1
        > RENAME s l
        OK
        > TYPE l
        string
        > TTL l
        (integer) 100
        > TTL s
        (integer) -2
        > SET plain v
        OK
        > RENAME plain l
        OK
        > TTL l
        (integer) -1
        > RENAMENX l fresh
        (integer) 1
        > GET fresh
        "v"
        > RENAME a
        (error) ERR wrong number of arguments for 'rename' command
        > KEYS fresh
        1) "fresh"
        > KEYS nothing
        (empty array)
        > KEYS fre[s]h
        1) "fresh"
        > KEYS fr\esh
        1) "fresh"
        > KEYS ""
        (empty array)
        > SET "" empty
        OK
        > KEYS ""
        1) ""
        > SCAN x
        (error) ERR invalid cursor
        > SCAN -1
        (error) ERR invalid cursor
        > SCAN 0 COUNT
        (error) ERR syntax error
        > SCAN 0 COUNT x
        (error) ERR value is not an integer or out of range
        > SCAN 0 COUNT 0
        (error) ERR syntax error
        > SCAN 0 COUNT -5
        (error) ERR syntax error
        > SCAN 0 FOO
        (error) ERR syntax error
        > SCAN 0 MATCH
        (error) ERR syntax error
        > SCAN 0 TYPE
        (error) ERR syntax error
        > SCAN 0 MATCH fresh COUNT 1000
        1) "0"
        2) 1) "fresh"
        > SCAN 0 COUNT 1000 TYPE hash
        1) "0"
        2) 1) "h"
        > SCAN 0 COUNT 1000 TYPE HASH
        1) "0"
        2) 1) "h"
        > SCAN 0 COUNT 1000 TYPE zset MATCH z*
        1) "0"
        2) 1) "z"
        > SCAN 0 COUNT 1000 MATCH nothing*
        1) "0"
        2) (empty array)
        > OBJECT
        (error) ERR wrong number of arguments for 'object' command
        > OBJECT FOO s
        (error) ERR unknown subcommand 'FOO'. Try OBJECT HELP.
        > OBJECT ENCODING
        (error) ERR wrong number of arguments for 'object|encoding' command
        > OBJECT ENCODING nokey
        (nil)
        > OBJECT REFCOUNT nokey
        (nil)
        > OBJECT IDLETIME nokey
        (nil)
        > OBJECT FREQ nokey
        (nil)
        > OBJECT REFCOUNT fresh
        (integer) 1
        > OBJECT IDLETIME fresh
        (integer) 0
        > OBJECT FREQ fresh
        (error) ERR An LFU maxmemory policy is not selected, access frequency not tracked. Please note that when switching between policies at runtime LRU and LFU data will take some time to adjust.
        > OBJECT FREQ
        (error) ERR wrong number of arguments for 'object|freq' command
        > OBJECT ENCODING nokey
        (nil)
        > RANDOMKEY x
        (error) ERR wrong number of arguments for 'randomkey' command
        "#,
    );
}

#[test]
fn expiry() {
    store::check_beside_valkey(
        r#"
        > SET k v
        OK
        > TTL k
        (integer) -1
        > PTTL k
        (integer) -1
        > EXPIRETIME k
        (integer) -1
        > PEXPIRETIME k
        (integer) -1
        > TTL nokey
        (integer) -2
        > PTTL nokey
        (integer) -2
        > EXPIRETIME nokey
        (integer) -2
        > PEXPIRETIME nokey
        (integer) -2
        > EXPIRE nokey 10
        (integer) 0
        > EXPIRE k x
        (error) ERR value is not an integer or out of range
        > EXPIRE k x FOO
        (error) ERR Unsupported option FOO
        > EXPIRE k 10 FOO
        (error) ERR Unsupported option FOO
        > EXPIRE k 10 NX XX
        (error) ERR NX and XX, GT or LT options at the same time are not compatible
        > EXPIRE k 10 NX GT
        (error) ERR NX and XX, GT or LT options at the same time are not compatible
        > EXPIRE k 10 LT NX
        (error) ERR NX and XX, GT or LT options at the same time are not compatible
        > EXPIRE k 10 GT LT
        (error) ERR GT and LT options at the same time are not compatible
        > EXPIRE k 10 XX GT LT
        (error) ERR GT and LT options at the same time are not compatible
        > EXPIRE k 9223372036854775807
        (error) ERR invalid expire time in 'expire' command
        > EXPIRE k -9223372036854775808
        (error) ERR invalid expire time in 'expire' command
        > EXPIRE k 9223372036854775
        (error) ERR invalid expire time in 'expire' command
        > PEXPIRE k 9223372036854775807
        (error) ERR invalid expire time in 'pexpire' command
        > EXPIREAT k 9223372036854775807
        (error) ERR invalid expire time in 'expireat' command
        > EXPIREAT nokey 9223372036854775807
        (error) ERR invalid expire time in 'expireat' command
        > PEXPIREAT k 9223372036854775807
        (integer) 1
        > PEXPIRETIME k
        (integer) 9223372036854775807
        > EXPIRETIME k
        (integer) 9223372036854776
        > PERSIST k
        (integer) 1
        > PERSIST k
        (integer) 0
        > PERSIST nokey
        (integer) 0
        > EXPIRE k 100 XX
        (integer) 0
        > EXPIRE k 100 GT
        (integer) 0
        > EXPIRE k 100 LT
        (integer) 1
        > TTL k
        (integer) 100
        > EXPIRE k 200 NX
        (integer) 0
        > EXPIRE k 50 GT
        (integer) 0
        > EXPIRE k 200 LT
        (integer) 0
        > EXPIRE k 200 GT
        (integer) 1
        > TTL k
        (integer) 200
        > EXPIRE k 300 XX GT
        (integer) 1
        > EXPIRE k 20 XX LT
        (integer) 1
        > TTL k
        (integer) 20
        > EXPIRE k 0 GT
        (integer) 0
        > EXISTS k
        (integer) 1
        > EXPIRE k -1 LT
        (integer) 1
        > EXISTS k
        (integer) 0
        > SET k v
        OK
        > EXPIRE k 0
        (integer) 1
        > EXISTS k
        (integer) 0
        > SET k v
        OK
        > PEXPIRE k -5
        (integer) 1
        > EXISTS k
        (integer) 0
        > SET k v
        OK
        > EXPIREAT k 1
        (integer) 1
        > EXISTS k
        (integer) 0
        > SET k v
        OK
        > PEXPIREAT k -1 NX
        (integer) 1
        > EXISTS k
        (integer) 0
        > SET k v
        OK
        > EXPIREAT k 4102444800
        (integer) 1
        > EXPIRETIME k
        (integer) 4102444800
        > PEXPIREAT k 4102444800499
        (integer) 1
        > EXPIRETIME k
        (integer) 4102444800
        > PEXPIREAT k 4102444800500
        (integer) 1
        > EXPIRETIME k
        (integer) 4102444801
        > PEXPIRETIME k
        (integer) 4102444800500
        > PEXPIRE k 100400
        (integer) 1
        > TTL k
        (integer) 100
        > PEXPIRE k 100900
        (integer) 1
        > TTL k
        (integer) 101
        > EXPIRE k
        (error) ERR wrong number of arguments for 'expire' command
        > TTL
        (error) ERR wrong number of arguments for 'ttl' command
        "#,
    );
}

/// One step of a scan: the next cursor, and the keys.
fn step(client: &mut Client, arguments: &[&str]) -> (String, Vec<String>) {
    let reply = client.command(arguments).expect("the store answers");
    let text = |value: &Value| {
        String::from_utf8(value.as_text().expect("a string").to_vec()).expect("keys are text here")
    };
    let items = reply.as_items().expect("two parts");
    let keys = items[1].as_items().expect("keys");
    (text(&items[0]), keys.iter().map(text).collect())
}

#[test]
fn a_scan_of_few_keys_is_one_step() {
    let server = store::start();
    let mut client = Client::connect(server.address).expect("the store listens");
    client.command(&["MSET", "a", "1", "b", "2", "c", "3"]).expect("the store answers");
    let (cursor, keys) = step(&mut client, &["SCAN", "0"]);
    assert_eq!((cursor.as_str(), keys.len()), ("0", 3));
}

#[test]
fn a_scan_sees_whatever_stays_while_the_keyspace_grows() {
    let server = store::start();
    let mut client = Client::connect(server.address).expect("the store listens");
    let names = |prefix: &str, numbers: std::ops::Range<usize>| {
        numbers.map(|number| format!("{prefix}:{number}")).collect::<Vec<_>>()
    };
    let set_all = |client: &mut Client, names: &[String]| {
        let commands: Vec<_> = names.iter().map(|name| ["SET", name, "value"]).collect();
        client.pipeline(&commands).expect("the store answers");
    };
    let present = names("stays", 0..3000);
    set_all(&mut client, &present);
    let (mut cursor, mut seen, mut steps) = ("0".to_string(), BTreeSet::new(), 0);
    loop {
        let (next, keys) = step(&mut client, &["SCAN", &cursor, "COUNT", "50", "MATCH", "stays:*"]);
        seen.extend(keys);
        steps += 1;
        set_all(&mut client, &names("comes", steps * 200..(steps + 1) * 200));
        cursor = next;
        if cursor == "0" {
            break;
        }
    }
    assert!(present.iter().all(|name| seen.contains(name)), "{} of 3000", seen.len());
    assert!(steps > 60, "COUNT is kept to: {steps} steps");
}

#[test]
fn random_keys_are_drawn_evenly_among_few() {
    let server = store::start();
    let mut client = Client::connect(server.address).expect("the store listens");
    client.command(&["MSET", "a", "1", "b", "2", "c", "3", "d", "4"]).expect("the store answers");
    let replies = client.pipeline(&vec![["RANDOMKEY"]; 400]).expect("the store answers");
    for name in ["a", "b", "c", "d"] {
        let drawn = replies.iter().filter(|reply| reply.as_text() == Some(name.as_bytes())).count();
        assert!((50..150).contains(&drawn), "{name} {drawn}");
    }
}

#[test]
fn expired_keys_are_gone_for_every_command() {
    let server = store::start();
    let mut client = Client::connect(server.address).expect("the store listens");
    for name in ["a", "b", "c", "d", "e", "f", "g", "h", "i"] {
        client.command(&["SET", name, "12", "PX", "20"]).expect("the store answers");
    }
    std::thread::sleep(std::time::Duration::from_millis(40));
    let script = r#"
        > KEYS *
        (empty array)
        > KEYS a
        (empty array)
        > RANDOMKEY
        (nil)
        > SCAN 0 COUNT 1000
        1) "0"
        2) (empty array)
        > MGET a b
        1) (nil)
        2) (nil)
        > EXISTS a b
        (integer) 0
        > DEL a b
        (integer) 0
        > TYPE c
        none
        > TTL c
        (integer) -2
        > PERSIST c
        (integer) 0
        > EXPIRE c 100
        (integer) 0
        > OBJECT ENCODING c
        (nil)
        > RENAME c other
        (error) ERR no such key
        > SETNX c new
        (integer) 1
        > TTL c
        (integer) -1
        > RENAMENX c d
        (integer) 1
        > TTL d
        (integer) -1
        > INCR e
        (integer) 1
        > TTL e
        (integer) -1
        > APPEND f x
        (integer) 1
        > TTL f
        (integer) -1
        > SETRANGE g 1 y
        (integer) 2
        > GETSET h v
        (nil)
        > SET i v KEEPTTL
        OK
        > TTL i
        (integer) -1
    "#;
    testkit::script::check(server.address, script);
}
