//! Streams at their edges: what Valkey 9.1 answers, which speaks as Redis 7.2 and later do.

use crate::store;
use testkit::client::Client;
use testkit::script::check;

#[test]
fn appending() {
    let store = store::start();
    check(
        store.address,
        r#"
        > XADD x 1-1 a b
        "1-1"
        > XADD x 1-1 a b
        (error) ERR The ID specified in XADD is equal or smaller than the target stream top item
        > XADD x 1-* a b c d
        "1-2"
        > XADD x 2 a b
        "2-0"
        > XADD x 0-0 a b
        (error) ERR The ID specified in XADD must be greater than 0-0
        > XADD x 0-0 a
        (error) ERR wrong number of arguments for 'xadd' command
        > XADD x 3-1 a
        (error) ERR wrong number of arguments for 'xadd' command
        > XADD x 3-1 a b c
        (error) ERR wrong number of arguments for 'xadd' command
        > XADD x - a b
        (error) ERR Invalid stream ID specified as stream command argument
        > XADD x abc a b
        (error) ERR Invalid stream ID specified as stream command argument
        > XADD x NOMKSTREAM
        (error) ERR wrong number of arguments for 'xadd' command
        > XADD none NOMKSTREAM 1-1 a b
        (nil)
        > EXISTS none
        (integer) 0
        > XADD x MAXLEN
        (error) ERR wrong number of arguments for 'xadd' command
        > XADD x MAXLEN 2 3-1 a b
        "3-1"
        > XLEN x
        (integer) 2
        > XADD x MAXLEN = 1 MINID 3 4-1 a b
        (error) ERR syntax error, MAXLEN and MINID options at the same time are not compatible
        > XADD x MAXLEN -1 4-1 a b
        (error) ERR The MAXLEN argument must be >= 0.
        > XADD x MAXLEN x 4-1 a b
        (error) ERR value is not an integer or out of range
        > XADD x MINID x 4-1 a b
        (error) ERR Invalid stream ID specified as stream command argument
        > XADD x LIMIT 1 4-1 a b
        (error) ERR syntax error, LIMIT cannot be used without specifying a trimming strategy
        > XADD x LIMIT 0 4-1 a b
        (error) ERR syntax error, LIMIT cannot be used without the special ~ option
        > XADD x MAXLEN 1 LIMIT 1 4-1 a b
        (error) ERR syntax error, LIMIT cannot be used without the special ~ option
        > XADD x MAXLEN ~ 1 LIMIT -1 4-1 a b
        (error) ERR The LIMIT argument must be >= 0.
        > XADD x MAXLEN ~ 1 LIMIT 0 4-1 a b
        "4-1"
        > XADD x MINID 3 5-1 a b
        "5-1"
        > XRANGE x - +
        1) 1) "3-1"
           2) 1) "a"
              2) "b"
        2) 1) "4-1"
           2) 1) "a"
              2) "b"
        3) 1) "5-1"
           2) 1) "a"
              2) "b"
        > XADD x MAXLEN 0 6-1 a b
        "6-1"
        > XLEN x
        (integer) 0
        > XADD x 6-1 a b
        (error) ERR The ID specified in XADD is equal or smaller than the target stream top item
        > XADD x 18446744073709551615-18446744073709551615 a b
        "18446744073709551615-18446744073709551615"
        > XADD x * a b
        (error) ERR The stream has exhausted the last possible ID, unable to add more items
        > XADD x 18446744073709551615-* a b
        (error) ERR The stream has exhausted the last possible ID, unable to add more items
        > SET s v
        OK
        > XADD s 1-1 a b
        (error) WRONGTYPE Operation against a key holding the wrong kind of value
        > XADD s 0-0 a b
        (error) ERR The ID specified in XADD must be greater than 0-0
        "#,
    );
}

#[test]
fn ranges_deleting_and_trimming() {
    let store = store::start();
    check(
        store.address,
        r#"
        > XADD x 1-1 name one
        "1-1"
        > XADD x 1-2 name two size 2
        "1-2"
        > XADD x 3-0 name three
        "3-0"
        > XADD x 5-0 name 5
        "5-0"
        > XLEN none
        (integer) 0
        > XRANGE x - + COUNT 1
        1) 1) "1-1"
           2) 1) "name"
              2) "one"
        > XRANGE x 1 1
        1) 1) "1-1"
           2) 1) "name"
              2) "one"
        2) 1) "1-2"
           2) 1) "name"
              2) "two"
              3) "size"
              4) "2"
        > XRANGE x (1-1 (5
        1) 1) "1-2"
           2) 1) "name"
              2) "two"
              3) "size"
              4) "2"
        2) 1) "3-0"
           2) 1) "name"
              2) "three"
        3) 1) "5-0"
           2) 1) "name"
              2) "5"
        > XREVRANGE x + 3
        1) 1) "5-0"
           2) 1) "name"
              2) "5"
        2) 1) "3-0"
           2) 1) "name"
              2) "three"
        > XREVRANGE x (5-0 (1-1 COUNT 1
        1) 1) "3-0"
           2) 1) "name"
              2) "three"
        > XRANGE x 5 1
        (empty array)
        > XRANGE none - +
        (empty array)
        > XRANGE x - + COUNT 0
        (nil array)
        > XRANGE x - + COUNT -5
        (nil array)
        > XRANGE none - + COUNT 0
        (empty array)
        > XRANGE x - + COUNT
        (error) ERR syntax error
        > XRANGE x - + COUNT x
        (error) ERR value is not an integer or out of range
        > XRANGE x - + LIMIT 1
        (error) ERR syntax error
        > XRANGE x a +
        (error) ERR Invalid stream ID specified as stream command argument
        > XRANGE x - (0-0
        (error) ERR invalid end ID for the interval
        > XRANGE x (18446744073709551615-18446744073709551615 +
        (error) ERR invalid start ID for the interval
        > XRANGE x (- +
        (error) ERR Invalid stream ID specified as stream command argument
        > XDEL x 1-2 9-9 3
        (integer) 2
        > XDEL x x
        (error) ERR Invalid stream ID specified as stream command argument
        > XDEL none x
        (integer) 0
        > XRANGE x - +
        1) 1) "1-1"
           2) 1) "name"
              2) "one"
        2) 1) "5-0"
           2) 1) "name"
              2) "5"
        > XTRIM x MAXLEN 1
        (integer) 1
        > XTRIM x MAXLEN = 1
        (integer) 0
        > XTRIM x MINID 6
        (integer) 1
        > XTRIM x 1 2
        (error) ERR syntax error
        > XTRIM x LIMIT 1
        (error) ERR syntax error, LIMIT cannot be used without specifying a trimming strategy
        > XTRIM x MAXLEN 1 LIMIT 5
        (error) ERR syntax error, LIMIT cannot be used without the special ~ option
        > XTRIM x MAXLEN ~ 0 LIMIT -1
        (error) ERR The LIMIT argument must be >= 0.
        > XTRIM x MAXLEN ~ 0
        (integer) 0
        > XTRIM none MAXLEN 0
        (integer) 0
        > EXISTS x
        (integer) 1
        > XSETID x 4-0
        OK
        > XADD x 5-5 a b
        "5-5"
        > XSETID x 5-4
        (error) ERR The ID specified in XSETID is smaller than the target stream top item
        > XSETID x 7-0 ENTRIESADDED 0
        (error) ERR The entries_added specified in XSETID is smaller than the target stream length
        > XSETID x 7-0 ENTRIESADDED -1
        (error) ERR entries_added must be positive
        > XSETID x 7-0 MAXDELETEDID 8-0
        (error) ERR The ID specified in XSETID is smaller than the provided max_deleted_entry_id
        > XSETID x 7-0 ENTRIESADDED
        (error) ERR syntax error
        > XSETID x 7-0 ENTRIESADDED 9 MAXDELETEDID 6-0
        OK
        > XSETID x 5-9
        (error) ERR The ID specified in XSETID is smaller than current max_deleted_entry_id
        > XSETID none 1-1
        (error) ERR no such key
        > XADD x 7-* a b
        "7-1"
        > SET s v
        OK
        > XLEN s
        (error) WRONGTYPE Operation against a key holding the wrong kind of value
        > XRANGE s - +
        (error) WRONGTYPE Operation against a key holding the wrong kind of value
        > XDEL s x
        (error) WRONGTYPE Operation against a key holding the wrong kind of value
        > XTRIM s MAXLEN 0
        (error) WRONGTYPE Operation against a key holding the wrong kind of value
        > XSETID s 1-1
        (error) WRONGTYPE Operation against a key holding the wrong kind of value
        "#,
    );
}

#[test]
fn approximate_trimming_takes_whole_nodes_up_to_the_limit() {
    let store = store::start();
    let mut client = Client::connect(store.address).unwrap();
    for number in 1..=1050 {
        client.command(&["XADD", "x", &format!("{number}-0"), "f", "v"]).unwrap();
    }
    let mut trimmed = |command: &str| {
        let words: Vec<&str> = command.split(' ').collect();
        client.command(&words).unwrap().to_string()
    };
    // Nodes hold 100 entries.
    assert_eq!(trimmed("XTRIM x MAXLEN ~ 1000"), "(integer) 0");
    assert_eq!(trimmed("XTRIM x MAXLEN ~ 849"), "(integer) 200");
    assert_eq!(trimmed("XTRIM x MINID ~ 601 LIMIT 250"), "(integer) 200");
    assert_eq!(trimmed("XTRIM x MAXLEN ~ 0 LIMIT 0"), "(integer) 650");
    assert_eq!(trimmed("XLEN x"), "(integer) 0");
    assert_eq!(trimmed("TYPE x"), "stream");
}
