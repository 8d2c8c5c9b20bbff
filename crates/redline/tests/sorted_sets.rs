//! Sorted sets at their edges: what Valkey 9.1 answers, which speaks as Redis 7.2 and later do.

use crate::store;
use testkit::client::Client;
use testkit::script::check;

#[test]
fn adding() {
    let store = store::start();
    check(
        store.address,
        r#"
        > ZADD z
        (error) ERR wrong number of arguments for 'zadd' command
        > ZADD z 1
        (error) ERR wrong number of arguments for 'zadd' command
        > ZADD z 1 a 2
        (error) ERR syntax error
        > ZADD z NX XX GT 1 a
        (error) ERR XX and NX options at the same time are not compatible
        > ZADD z NX GT 1 a
        (error) ERR GT, LT, and/or NX options at the same time are not compatible
        > ZADD z GT LT 1 a
        (error) ERR GT, LT, and/or NX options at the same time are not compatible
        > ZADD z INCR 1 a 2 b
        (error) ERR INCR option supports a single increment-element pair
        > ZADD z NX XX 1
        (error) ERR syntax error
        > ZADD z 1 a x b
        (error) ERR value is not a valid float
        > ZADD z nan a
        (error) ERR value is not a valid float
        > ZADD z 0x10 a
        (error) ERR value is not a valid float
        > EXISTS z
        (integer) 0
        > ZADD z XX 1 a
        (integer) 0
        > ZADD z XX INCR 1 a
        (nil)
        > EXISTS z
        (integer) 0
        > ZADD z 1 a 2 b 1.5 a
        (integer) 2
        > ZADD z CH 1 a 2 b 3 c
        (integer) 2
        > ZADD z NX CH 9 a 9 d
        (integer) 1
        > ZADD z GT CH 1 d 10 a
        (integer) 1
        > ZADD z LT INCR 1 a
        (nil)
        > ZADD z NX INCR 1 a
        (nil)
        > ZADD z NX INCR 1.25 e
        "1.25"
        > ZADD z inf a
        (integer) 0
        > ZINCRBY z -inf a
        (error) ERR resulting score is not a number (NaN)
        > ZINCRBY z nx a
        (error) ERR syntax error
        > ZINCRBY z one a
        (error) ERR value is not a valid float
        > ZINCRBY z 1e300 new
        "1e+300"
        > ZRANGE z 0 -1 WITHSCORES
         1) "e"
         2) "1.25"
         3) "b"
         4) "2"
         5) "c"
         6) "3"
         7) "d"
         8) "9"
         9) "new"
        10) "1e+300"
        11) "a"
        12) "inf"
        > SET s v
        OK
        > ZADD s 1 a
        (error) WRONGTYPE Operation against a key holding the wrong kind of value
        > ZADD s one a
        (error) ERR value is not a valid float
        > ZINCRBY s 1 a
        (error) WRONGTYPE Operation against a key holding the wrong kind of value
        "#,
    );
}

#[test]
fn scores_and_ranks() {
    let store = store::start();
    check(
        store.address,
        r#"
        > ZADD z 1 a 2 b 2 c 3.5 d
        (integer) 4
        > ZCARD z
        (integer) 4
        > ZCARD none
        (integer) 0
        > ZSCORE z d
        "3.5"
        > ZSCORE z none
        (nil)
        > ZSCORE none a
        (nil)
        > ZMSCORE z a none d
        1) "1"
        2) (nil)
        3) "3.5"
        > ZMSCORE none a b
        1) (nil)
        2) (nil)
        > ZRANK z c
        (integer) 2
        > ZREVRANK z c
        (integer) 1
        > ZRANK z c WITHSCORE
        1) (integer) 2
        2) "2"
        > ZREVRANK z d withscore
        1) (integer) 0
        2) "3.5"
        > ZRANK z none
        (nil)
        > ZRANK z none WITHSCORE
        (nil array)
        > ZRANK none a WITHSCORE
        (nil array)
        > ZRANK z c WITHSCORES
        (error) ERR syntax error
        > ZRANK z c WITHSCORE x
        (error) ERR wrong number of arguments for 'zrank' command
        > ZREM z a none a
        (integer) 1
        > ZREM none a
        (integer) 0
        > ZREM z b c d
        (integer) 3
        > EXISTS z
        (integer) 0
        "#,
    );
}

#[test]
fn ranges() {
    let store = store::start();
    check(
        store.address,
        r#"
        > ZADD z 1 a 2 b 3 c 4 d 5 e
        (integer) 5
        > ZRANGE z 1 -2
        1) "b"
        2) "c"
        3) "d"
        > ZRANGE z 0 1 REV WITHSCORES
        1) "e"
        2) "5"
        3) "d"
        4) "4"
        > ZREVRANGE z -2 -1
        1) "b"
        2) "a"
        > ZRANGE z 9 10
        (empty array)
        > ZRANGE none 0 -1
        (empty array)
        > ZRANGE z (1 3 BYSCORE
        1) "b"
        2) "c"
        > ZRANGE z 3 (1 BYSCORE REV
        1) "c"
        2) "b"
        > ZRANGE z -inf +inf BYSCORE LIMIT 1 2 WITHSCORES
        1) "b"
        2) "2"
        3) "c"
        4) "3"
        > ZRANGE z +inf -inf BYSCORE REV LIMIT 1 -1
        1) "d"
        2) "c"
        3) "b"
        4) "a"
        > ZRANGEBYSCORE z 2 inf LIMIT 5 1
        (empty array)
        > ZRANGEBYSCORE z 5 1
        (empty array)
        > ZREVRANGEBYSCORE z 4 (2 WITHSCORES LIMIT 0 1
        1) "d"
        2) "4"
        > ZRANGE z 0 -1 LIMIT 0 1
        (error) ERR syntax error, LIMIT is only supported in combination with either BYSCORE or BYLEX
        > ZRANGE z 0 -1 LIMIT 0 -1
        1) "a"
        2) "b"
        3) "c"
        4) "d"
        5) "e"
        > ZRANGE z 0 -1 BYLEX WITHSCORES
        (error) ERR syntax error, WITHSCORES not supported in combination with BYLEX
        > ZRANGE z - + BYLEX WITHSCORES LIMIT 0 1
        (error) ERR syntax error, WITHSCORES not supported in combination with BYLEX
        > ZRANGE z - + BYLEX BYSCORE
        (error) ERR syntax error
        > ZRANGE z 0 -1 REV REV
        (error) ERR syntax error
        > ZRANGE z 0 -1 LIMIT 0
        (error) ERR syntax error
        > ZRANGE z 0 -1 BYSCORE LIMIT a 1
        (error) ERR value is not an integer or out of range
        > ZRANGE z a 1
        (error) ERR value is not an integer or out of range
        > ZRANGE z a 1 BYSCORE
        (error) ERR min or max is not a float
        > ZRANGE z a 1 BYLEX
        (error) ERR min or max not valid string range item
        > ZREVRANGE z 0 -1 REV
        (error) ERR syntax error
        > ZREVRANGE z 0 1 BYSCORE
        (error) ERR syntax error
        > ZRANGEBYSCORE z 1 2 BYSCORE
        (error) ERR syntax error
        > ZCOUNT z (1 (5
        (integer) 3
        > ZCOUNT z a b
        (error) ERR min or max is not a float
        > ZCOUNT none 0 1
        (integer) 0
        > ZADD l 0 a 0 b 0 c 0 d
        (integer) 4
        > ZRANGEBYLEX l - (c
        1) "a"
        2) "b"
        > ZRANGEBYLEX l [b + LIMIT 1 1
        1) "c"
        > ZRANGEBYLEX l + -
        (empty array)
        > ZREVRANGEBYLEX l [c (a
        1) "c"
        2) "b"
        > ZRANGE l [c - BYLEX REV
        1) "c"
        2) "b"
        3) "a"
        > ZRANGEBYLEX l b c
        (error) ERR min or max not valid string range item
        > ZRANGEBYLEX l - + WITHSCORES
        (error) ERR syntax error, WITHSCORES not supported in combination with BYLEX
        > ZLEXCOUNT l [b [c
        (integer) 2
        > ZLEXCOUNT l b c
        (error) ERR min or max not valid string range item
        > ZREMRANGEBYLEX l [b [c
        (integer) 2
        > ZREMRANGEBYLEX l b c
        (error) ERR min or max not valid string range item
        > ZREMRANGEBYSCORE z (1 2
        (integer) 1
        > ZREMRANGEBYSCORE z x 2
        (error) ERR min or max is not a float
        > ZREMRANGEBYRANK z -1 -1
        (integer) 1
        > ZREMRANGEBYRANK z 5 9
        (integer) 0
        > ZREMRANGEBYRANK z x 9
        (error) ERR value is not an integer or out of range
        > ZRANGE z 0 -1
        1) "a"
        2) "c"
        3) "d"
        > ZREMRANGEBYRANK z 0 -1
        (integer) 3
        > EXISTS z
        (integer) 0
        > SET s v
        OK
        > ZRANGE s 0 x
        (error) ERR value is not an integer or out of range
        > ZRANGE s 0 1
        (error) WRONGTYPE Operation against a key holding the wrong kind of value
        > ZCOUNT s 0 1
        (error) WRONGTYPE Operation against a key holding the wrong kind of value
        > ZREMRANGEBYRANK s 0 1
        (error) WRONGTYPE Operation against a key holding the wrong kind of value
        "#,
    );
}

#[test]
fn popping_drawing_and_scanning() {
    let store = store::start();
    check(
        store.address,
        r#"
        > ZADD z 1 a 2 b 3 c 4 d 5 e
        (integer) 5
        > ZPOPMIN z
        1) "a"
        2) "1"
        > ZPOPMAX z 2
        1) "e"
        2) "5"
        3) "d"
        4) "4"
        > ZPOPMIN z 0
        (empty array)
        > ZPOPMIN z -1
        (error) ERR value is out of range, must be positive
        > ZPOPMIN z x
        (error) ERR value is out of range, must be positive
        > ZPOPMIN z 1 1
        (error) ERR syntax error
        > ZPOPMAX z 9
        1) "c"
        2) "3"
        3) "b"
        4) "2"
        > EXISTS z
        (integer) 0
        > ZPOPMAX z
        (empty array)
        > ZPOPMIN z 2
        (empty array)
        > SET s v
        OK
        > ZPOPMIN s 0
        (error) WRONGTYPE Operation against a key holding the wrong kind of value
        > ZRANDMEMBER s
        (error) WRONGTYPE Operation against a key holding the wrong kind of value
        > ZRANDMEMBER none
        (nil)
        > ZRANDMEMBER none 3
        (empty array)
        > ZADD o 1.5 only
        (integer) 1
        > ZRANDMEMBER o
        "only"
        > ZRANDMEMBER o 5
        1) "only"
        > ZRANDMEMBER o -2 WITHSCORES
        1) "only"
        2) "1.5"
        3) "only"
        4) "1.5"
        > ZRANDMEMBER o 0
        (empty array)
        > ZRANDMEMBER o 1 WITHSCORE
        (error) ERR syntax error
        > ZRANDMEMBER o 1 WITHSCORES x
        (error) ERR syntax error
        > ZRANDMEMBER o x y
        (error) ERR value is not an integer or out of range
        > ZRANDMEMBER o -9223372036854775808
        (error) ERR value is out of range, value must between -9223372036854775807 and 9223372036854775807
        > ZRANDMEMBER o 9223372036854775807 WITHSCORES
        (error) ERR value is out of range
        > ZSCAN o 0
        1) "0"
        2) 1) "only"
           2) "1.5"
        > ZSCAN o x
        (error) ERR invalid cursor
        > ZSCAN o 0 COUNT 0
        (error) ERR syntax error
        > ZSCAN o 0 COUNT x
        (error) ERR value is not an integer or out of range
        > ZSCAN o 0 MATCH x*
        1) "0"
        2) (empty array)
        > ZSCAN o 0 TYPE zset
        (error) ERR syntax error
        > ZSCAN none 0 bad
        1) "0"
        2) (empty array)
        > ZSCAN s 0 bad
        (error) WRONGTYPE Operation against a key holding the wrong kind of value
        "#,
    );
}

#[test]
fn resp3_nests_pairs_and_has_doubles() {
    let store = store::start();
    let mut client = Client::connect(store.address).unwrap();
    client.command(&["HELLO", "3"]).unwrap();
    let exchanges = [
        ("ZADD z 1 a 2.5 b inf c", ":3\r\n"),
        ("ZSCORE z b", ",2.5\r\n"),
        ("ZSCORE z none", "_\r\n"),
        ("ZMSCORE z a none", "*2\r\n,1\r\n_\r\n"),
        ("ZADD z INCR 1 a", ",2\r\n"),
        ("ZADD z NX INCR 1 a", "_\r\n"),
        ("ZRANK z c WITHSCORE", "*2\r\n:2\r\n,inf\r\n"),
        ("ZRANK z none WITHSCORE", "_\r\n"),
        ("ZRANGE z 0 0 WITHSCORES", "*1\r\n*2\r\n$1\r\na\r\n,2\r\n"),
        ("ZRANGE z 0 0", "*1\r\n$1\r\na\r\n"),
        ("ZSCAN z 0 MATCH a", "*2\r\n$1\r\n0\r\n*2\r\n$1\r\na\r\n$1\r\n2\r\n"),
        ("ZPOPMIN z", "*2\r\n$1\r\na\r\n,2\r\n"),
        ("ZPOPMIN z 1", "*1\r\n*2\r\n$1\r\nb\r\n,2.5\r\n"),
        ("ZRANDMEMBER z 1 WITHSCORES", "*1\r\n*2\r\n$1\r\nc\r\n,inf\r\n"),
        ("ZPOPMAX none 1", "*0\r\n"),
        ("QUIT", "+OK\r\n"),
    ];
    for (command, _) in exchanges {
        client.send(format!("{command}\r\n").as_bytes()).unwrap();
    }
    let replies = String::from_utf8(client.receive_to_end().unwrap()).unwrap();
    assert_eq!(replies, exchanges.map(|(_, wire)| wire).concat());
}

#[test]
fn a_set_that_gets_too_many_members_at_once_is_large_from_then_on() {
    let store = store::start();
    let mut client = Client::connect(store.address).unwrap();
    let encoding =
        |client: &mut Client| client.command(&["OBJECT", "ENCODING", "z"]).unwrap().to_string();
    client.command(&["ZADD", "z", "1", "a"]).unwrap();
    assert_eq!(encoding(&mut client), "\"listpack\"");
    // The same member over and over counts as often as it stands there.
    let command = [&["ZADD", "z"][..], &["1", "a"].repeat(129)].concat();
    client.command(&command).unwrap();
    assert_eq!(client.command(&["ZCARD", "z"]).unwrap().to_string(), "(integer) 1");
    assert_eq!(encoding(&mut client), "\"skiplist\"");
    client.command(&["DEL", "z"]).unwrap();
    client.command(&["ZADD", "z", "1", &"a".repeat(65)]).unwrap();
    assert_eq!(encoding(&mut client), "\"skiplist\"");
}

#[test]
fn a_large_set_is_scanned_in_steps_and_once_each() {
    let store = store::start();
    let mut client = Client::connect(store.address).unwrap();
    for number in 0..1000 {
        let (score, member) = (format!("{number}.1"), format!("m{number}"));
        client.command(&["ZADD", "z", &score, &member]).unwrap();
    }
    let (mut cursor, mut found, mut steps) = ("0".to_string(), Vec::new(), 0);
    loop {
        let reply = client.command(&["ZSCAN", "z", &cursor, "COUNT", "100"]).unwrap();
        let parts = reply.as_items().unwrap();
        cursor = String::from_utf8(parts[0].as_text().unwrap().to_vec()).unwrap();
        let texts = parts[1].as_items().unwrap().iter().map(|text| text.as_text().unwrap());
        found.extend(texts.map(<[u8]>::to_vec));
        steps += 1;
        if cursor == "0" {
            break;
        }
    }
    assert!((5..=20).contains(&steps), "{steps} steps");
    assert!(found.chunks(2).any(|pair| pair == [b"m7".as_slice(), b"7.0999999999999996"]));
    let mut members: Vec<_> = found.chunks(2).map(|pair| pair[0].clone()).collect();
    members.sort();
    members.dedup();
    assert_eq!(members.len(), 1000);
}
