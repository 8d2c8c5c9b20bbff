//! Strings, as a session shows them: option conflicts, which of two errors wins, limits, encodings.

use crate::store;
use testkit::script::check;

#[test]
fn setting_and_getting() {
    store::check_beside_valkey(
        r#"
        > SET k v NX XX
        (error) ERR syntax error
        > SET k v XX NX
        (error) ERR syntax error
        > SET k v NX NX
        OK
        > SET k v2 NX NX GET
        "v"
        > SET k v XX XX
        OK
        > SET k v EX 10 EX 20
        OK
        > TTL k
        (integer) 20
        > SET k v EX 10 PX 20
        (error) ERR syntax error
        > SET k v EX 10 KEEPTTL
        (error) ERR syntax error
        > SET k v KEEPTTL KEEPTTL
        OK
        > TTL k
        (integer) 20
        > SET k v PERSIST
        (error) ERR syntax error
        > SET k v EX
        (error) ERR syntax error
        > SET k v EX x
        (error) ERR value is not an integer or out of range
        > SET k v EX 0
        (error) ERR invalid expire time in 'set' command
        > SET k v EX -1
        (error) ERR invalid expire time in 'set' command
        > SET k v PX 0
        (error) ERR invalid expire time in 'set' command
        > SET k v EXAT 0
        (error) ERR invalid expire time in 'set' command
        > SET k v EX 9223372036854775807
        (error) ERR invalid expire time in 'set' command
        > SET k v EX 9223372036854775
        (error) ERR invalid expire time in 'set' command
        > SET k v PX 9223372036854775807
        (error) ERR invalid expire time in 'set' command
        > SET k v EX x NX XX
        (error) ERR syntax error
        > SET k v PXAT 1
        OK
        > GET k
        (nil)
        > EXISTS k
        (integer) 0
        > SET k v
        OK
        > SET k 5 GET
        "v"
        > OBJECT ENCODING k
        "int"
        > SET missing v GET XX
        (nil)
        > SET missing v XX
        (nil)
        > SET k v GET NX
        "5"
        > SET k v NX
        (nil)
        > RPUSH l a
        (integer) 1
        > SET l v GET
        (error) WRONGTYPE Operation against a key holding the wrong kind of value
        > SET l v GET EX x
        (error) ERR value is not an integer or out of range
        > SET l v GET EX 0
        (error) ERR invalid expire time in 'set' command
        > SET l v NX GET
        (error) WRONGTYPE Operation against a key holding the wrong kind of value
        > SET l v XX
        OK
        > SET k v FOO
        (error) ERR syntax error
        > SETNX k w
        (integer) 0
        > SETNX n w
        (integer) 1
        > SETEX k 0 v
        (error) ERR invalid expire time in 'setex' command
        > SETEX k -1 v
        (error) ERR invalid expire time in 'setex' command
        > SETEX k x v
        (error) ERR value is not an integer or out of range
        > SETEX k 9223372036854775807 v
        (error) ERR invalid expire time in 'setex' command
        > PSETEX k 0 v
        (error) ERR invalid expire time in 'psetex' command
        > PSETEX k 9223372036854775807 v
        (error) ERR invalid expire time in 'psetex' command
        > SETEX k 100 v
        OK
        > TTL k
        (integer) 100
        > GETSET k w
        "v"
        > TTL k
        (integer) -1
        > GETSET none w
        (nil)
        > RPUSH l2 a
        (integer) 1
        > GETSET l2 w
        (error) WRONGTYPE Operation against a key holding the wrong kind of value
        > GETDEL l2
        (error) WRONGTYPE Operation against a key holding the wrong kind of value
        > GETDEL none
        "w"
        > GETDEL none
        (nil)
        > GETEX k EX 10 PERSIST
        (error) ERR syntax error
        > GETEX k PERSIST PERSIST
        "w"
        > GETEX k KEEPTTL
        (error) ERR syntax error
        > GETEX k EX
        (error) ERR syntax error
        > GETEX nokey EX 0
        (error) ERR invalid expire time in 'getex' command
        > GETEX k EX 100
        "w"
        > TTL k
        (integer) 100
        > GETEX k PERSIST
        "w"
        > TTL k
        (integer) -1
        > GETEX l2
        (error) WRONGTYPE Operation against a key holding the wrong kind of value
        > GETEX k EXAT 1
        "w"
        > EXISTS k
        (integer) 0
        > MSET a 1 b
        (error) ERR wrong number of arguments for 'mset' command
        > MSETNX a 1 b
        (error) ERR wrong number of arguments for 'msetnx' command
        > MSET a 1 a 2
        OK
        > GET a
        "2"
        > MSETNX x 1 a 2
        (integer) 0
        > EXISTS x
        (integer) 0
        > MSETNX x 1 x 2
        (integer) 1
        > GET x
        "2"
        > MGET a x nokey l2 a
        1) "2"
        2) "2"
        3) (nil)
        4) (nil)
        5) "2"
        "#,
    );
}

#[test]
fn conditions_on_the_value() {
    store::check_beside_valkey(
        r#"
        > SET k v IFEQ w
        (nil)
        > SET k v
        OK
        > SET k w IFEQ x
        (nil)
        > SET k w IFEQ v
        OK
        > GET k
        "w"
        > SET k x IFEQ y GET
        "w"
        > SET k x IFEQ w GET
        "w"
        > SET k x IFEQ
        (error) ERR syntax error
        > SET k x IFEQ a NX
        (error) ERR syntax error
        > SET k x XX IFEQ a
        (error) ERR syntax error
        > RPUSH l a
        (integer) 1
        > SET l x IFEQ a
        (error) WRONGTYPE Operation against a key holding the wrong kind of value
        > SET l x IFEQ a GET
        (error) WRONGTYPE Operation against a key holding the wrong kind of value
        > SET n 12
        OK
        > SET n 13 IFEQ 12 EX 100
        OK
        > TTL n
        (integer) 100
        > SET n 14 IFEQ 13 KEEPTTL
        OK
        > TTL n
        (integer) 100
        > SET n 14 IFEQ 14 IFEQ 15
        (error) ERR syntax error
        "#,
    );
}

#[test]
fn conditions_that_only_redis_has() {
    check(
        store::start().address,
        r#"
        > SET k v IFNE w
        OK
        > GET k
        "v"
        > SET k x IFNE v
        (nil)
        > SET k x IFNE w
        OK
        > SET k y IFNE w GET
        "x"
        > SET k z IFNE y GET
        "y"
        > GET k
        "y"
        > SET k z IFNE
        (error) ERR syntax error
        > SET k z IFNE a XX
        (error) ERR syntax error
        > SET k z IFNE a IFEQ b
        (error) ERR syntax error
        > RPUSH l a
        (integer) 1
        > SET l x IFNE a
        (error) WRONGTYPE Operation against a key holding the wrong kind of value
        "#,
    );
}

#[test]
fn parts_of_strings() {
    store::check_beside_valkey(
        r#"
        > APPEND k 10
        (integer) 2
        > OBJECT ENCODING k
        "int"
        > APPEND k 5
        (integer) 3
        > OBJECT ENCODING k
        "raw"
        > GET k
        "105"
        > INCR k
        (integer) 106
        > OBJECT ENCODING k
        "int"
        > APPEND e ""
        (integer) 0
        > EXISTS e
        (integer) 1
        > OBJECT ENCODING e
        "embstr"
        > APPEND k ""
        (integer) 3
        > OBJECT ENCODING k
        "raw"
        > RPUSH l a
        (integer) 1
        > APPEND l x
        (error) WRONGTYPE Operation against a key holding the wrong kind of value
        > APPEND l ""
        (error) WRONGTYPE Operation against a key holding the wrong kind of value
        > SETRANGE nokey 5 ""
        (integer) 0
        > EXISTS nokey
        (integer) 0
        > SETRANGE nokey -1 x
        (error) ERR offset is out of range
        > SETRANGE nokey x x
        (error) ERR value is not an integer or out of range
        > SETRANGE nokey 536870912 x
        (error) ERR string exceeds maximum allowed size (proto-max-bulk-len)
        > SETRANGE nokey 536870911 ""
        (integer) 0
        > SETRANGE nokey 9223372036854775807 x
        (error) ERR string exceeds maximum allowed size (proto-max-bulk-len)
        > SETRANGE nokey 9223372036854775808 x
        (error) ERR value is not an integer or out of range
        > SETRANGE l 0 ""
        (error) WRONGTYPE Operation against a key holding the wrong kind of value
        > SETRANGE l 0 x
        (error) WRONGTYPE Operation against a key holding the wrong kind of value
        > SETRANGE l 536870912 x
        (error) WRONGTYPE Operation against a key holding the wrong kind of value
        > SETRANGE k 536870912 x
        (error) ERR string exceeds maximum allowed size (proto-max-bulk-len)
        > SETRANGE k 536870912 ""
        (integer) 3
        > SETRANGE s 3 abc
        (integer) 6
        > GET s
        "\x00\x00\x00abc"
        > OBJECT ENCODING s
        "raw"
        > SETRANGE s 1 zz
        (integer) 6
        > GET s
        "\x00zzabc"
        > SETRANGE s 0 longer-than-before
        (integer) 18
        > GET s
        "longer-than-before"
        > SET i 12345
        OK
        > SETRANGE i 1 99
        (integer) 5
        > GET i
        "19945"
        > OBJECT ENCODING i
        "raw"
        > SET i 12345
        OK
        > SETRANGE i 0 ""
        (integer) 5
        > OBJECT ENCODING i
        "int"
        > STRLEN i
        (integer) 5
        > STRLEN nokey
        (integer) 0
        > STRLEN l
        (error) WRONGTYPE Operation against a key holding the wrong kind of value
        > GETRANGE i 0 -1
        "12345"
        > GETRANGE i -3 -2
        "34"
        > GETRANGE i 5 10
        ""
        > GETRANGE i 3 1
        ""
        > GETRANGE i -1 -3
        ""
        > GETRANGE i 0 -100
        "1"
        > GETRANGE i -100 -100
        "1"
        > GETRANGE i -9223372036854775808 9223372036854775807
        "12345"
        > GETRANGE i 9223372036854775807 9223372036854775807
        ""
        > GETRANGE i x 1
        (error) ERR value is not an integer or out of range
        > GETRANGE i 1 x
        (error) ERR value is not an integer or out of range
        > GETRANGE l x 1
        (error) ERR value is not an integer or out of range
        > GETRANGE l 0 1
        (error) WRONGTYPE Operation against a key holding the wrong kind of value
        > GETRANGE nokey 0 1
        ""
        > SUBSTR i 1 3
        "234"
        > SUBSTR i 1
        (error) ERR wrong number of arguments for 'substr' command
        "#,
    );
}

#[test]
fn counters_and_encodings() {
    store::check_beside_valkey(
        r#"
        > SET n 9223372036854775807
        OK
        > INCR n
        (error) ERR increment or decrement would overflow
        > INCRBY n 1
        (error) ERR increment or decrement would overflow
        > DECR n
        (integer) 9223372036854775806
        > DECRBY n -9223372036854775808
        (error) ERR decrement would overflow
        > DECRBY n -2
        (error) ERR increment or decrement would overflow
        > SET n -9223372036854775808
        OK
        > DECR n
        (error) ERR increment or decrement would overflow
        > INCRBY n -1
        (error) ERR increment or decrement would overflow
        > INCRBY n x
        (error) ERR value is not an integer or out of range
        > INCRBY n 1.5
        (error) ERR value is not an integer or out of range
        > INCRBY n 9223372036854775808
        (error) ERR value is not an integer or out of range
        > INCRBY n " 1"
        (error) ERR value is not an integer or out of range
        > RPUSH l a
        (integer) 1
        > INCR l
        (error) WRONGTYPE Operation against a key holding the wrong kind of value
        > INCRBY l x
        (error) ERR value is not an integer or out of range
        > INCRBYFLOAT l x
        (error) WRONGTYPE Operation against a key holding the wrong kind of value
        > INCRBYFLOAT l 1
        (error) WRONGTYPE Operation against a key holding the wrong kind of value
        > SET s "10 "
        OK
        > INCR s
        (error) ERR value is not an integer or out of range
        > SET s 010
        OK
        > INCR s
        (error) ERR value is not an integer or out of range
        > SET s 3.0
        OK
        > INCR s
        (error) ERR value is not an integer or out of range
        > INCRBYFLOAT s 1.5
        "4.5"
        > GET s
        "4.5"
        > OBJECT ENCODING s
        "embstr"
        > INCRBYFLOAT s 0.5
        "5"
        > OBJECT ENCODING s
        "embstr"
        > INCR s
        (integer) 6
        > OBJECT ENCODING s
        "int"
        > INCRBYFLOAT s inf
        (error) ERR increment would produce NaN or Infinity
        > INCRBYFLOAT s nan
        (error) ERR value is not a valid float
        > INCRBYFLOAT s 1e308
        "99999999999999999996685879655845645660560099847415567207797047994921734868838061872100126921888539320446747225054013223152134749593960583597420814430196418767959100019603190778663109604507106667939153395788938914560543563061268364901618630217086589253444881623791300855757318142424510452728255046343928578048"
        > INCRBYFLOAT s x
        (error) ERR value is not a valid float
        > INCRBYFLOAT s " 1"
        (error) ERR value is not a valid float
        > INCRBYFLOAT s ""
        (error) ERR value is not a valid float
        > SET t abc
        OK
        > INCRBYFLOAT t 1
        (error) ERR value is not a valid float
        > INCRBYFLOAT t x
        (error) ERR value is not a valid float
        > INCR t
        (error) ERR value is not an integer or out of range
        > SET f 0.1
        OK
        > INCRBYFLOAT f 0.2
        "0.3"
        > INCRBYFLOAT f -0.3
        "0"
        > INCRBYFLOAT new 3.0e3
        "3000"
        > SET ttl 5 EX 100
        OK
        > INCR ttl
        (integer) 6
        > TTL ttl
        (integer) 100
        > INCRBYFLOAT ttl 1
        "7"
        > TTL ttl
        (integer) 100
        > APPEND ttl 1
        (integer) 2
        > TTL ttl
        (integer) 100
        > SETRANGE ttl 0 9
        (integer) 2
        > TTL ttl
        (integer) 100
        > DECR fresh
        (integer) -1
        > OBJECT ENCODING fresh
        "int"
        > SET e v
        OK
        > OBJECT ENCODING e
        "embstr"
        > SET e aaaaaaaaaabbbbbbbbbbccccccccccddddddddddeeee
        OK
        > OBJECT ENCODING e
        "embstr"
        > SET e 12345678901234567890
        OK
        > OBJECT ENCODING e
        "embstr"
        > SET e -1
        OK
        > OBJECT ENCODING e
        "int"
        > SET e -0
        OK
        > OBJECT ENCODING e
        "embstr"
        "#,
    );
}

#[test]
fn longest_common_subsequences() {
    store::check_beside_valkey(
        r#"
        > MSET a ohmytext b mynewtext
        OK
        > LCS a b
        "mytext"
        > LCS a b LEN
        (integer) 6
        > LCS a b IDX
        1) "matches"
        2) 1) 1) 1) (integer) 4
                 2) (integer) 7
              2) 1) (integer) 5
                 2) (integer) 8
           2) 1) 1) (integer) 2
                 2) (integer) 3
              2) 1) (integer) 0
                 2) (integer) 1
        3) "len"
        4) (integer) 6
        > LCS a b IDX MINMATCHLEN 4
        1) "matches"
        2) 1) 1) 1) (integer) 4
                 2) (integer) 7
              2) 1) (integer) 5
                 2) (integer) 8
        3) "len"
        4) (integer) 6
        > LCS a b IDX MINMATCHLEN 4 WITHMATCHLEN
        1) "matches"
        2) 1) 1) 1) (integer) 4
                 2) (integer) 7
              2) 1) (integer) 5
                 2) (integer) 8
              3) (integer) 4
        3) "len"
        4) (integer) 6
        > LCS a b IDX MINMATCHLEN -1 WITHMATCHLEN
        1) "matches"
        2) 1) 1) 1) (integer) 4
                 2) (integer) 7
              2) 1) (integer) 5
                 2) (integer) 8
              3) (integer) 4
           2) 1) 1) (integer) 2
                 2) (integer) 3
              2) 1) (integer) 0
                 2) (integer) 1
              3) (integer) 2
        3) "len"
        4) (integer) 6
        > LCS a b IDX LEN
        (error) ERR If you want both the length and indexes, please just use IDX.
        > LCS a b WITHMATCHLEN
        "mytext"
        > LCS a b LEN WITHMATCHLEN MINMATCHLEN 4
        (integer) 6
        > LCS a b MINMATCHLEN
        (error) ERR syntax error
        > LCS a b MINMATCHLEN x
        (error) ERR value is not an integer or out of range
        > LCS a b FOO
        (error) ERR syntax error
        > LCS a nokey
        ""
        > LCS nokey none IDX
        1) "matches"
        2) (empty array)
        3) "len"
        4) (integer) 0
        > LCS nokey none LEN
        (integer) 0
        > LCS a a IDX
        1) "matches"
        2) 1) 1) 1) (integer) 0
                 2) (integer) 7
              2) 1) (integer) 0
                 2) (integer) 7
        3) "len"
        4) (integer) 8
        > LCS a
        (error) ERR wrong number of arguments for 'lcs' command
        > RPUSH l x
        (integer) 1
        > LCS a l
        (error) ERR The specified keys must contain string values
        > LCS l a FOO
        (error) ERR The specified keys must contain string values
        "#,
    );
}
