//! Sets at their edges: what Valkey 9.1 answers, which speaks as Redis 7.2 and later do.

use crate::store;
use testkit::client::Client;
use testkit::script::check;

#[test]
fn at_their_edges() {
    store::check_beside_valkey(SESSION);
}

#[test]
fn encodings() {
    let limits = [
        "--set-max-intset-entries",
        "3",
        "--set-max-listpack-entries",
        "4",
        "--set-max-listpack-value",
        "5",
    ];
    check(store::start_with(&limits).address, ENCODINGS);
}

#[test]
fn in_resp3() {
    let store = store::start();
    let mut client = Client::connect(store.address).unwrap();
    client.command(&["HELLO", "3"]).unwrap();
    for (command, expected) in RESP3 {
        let words: Vec<&str> = command.split(' ').collect();
        assert_eq!(client.command(&words).unwrap().to_string(), expected, "{command}");
    }
}

const SESSION: &str = r#"
# adding and asking
> SADD s a b a
(integer) 2
> SADD s b c
(integer) 1
> SCARD s
(integer) 3
> SCARD none
(integer) 0
> SISMEMBER s a
(integer) 1
> SISMEMBER s none
(integer) 0
> SISMEMBER none a
(integer) 0
> SMISMEMBER s a none c
1) (integer) 1
2) (integer) 0
3) (integer) 1
> SMISMEMBER none a b
1) (integer) 0
2) (integer) 0
> SMEMBERS s
1) "a"
2) "b"
3) "c"
> SMEMBERS none
(empty array)
> SREM s a none a
(integer) 1
> SREM none a
(integer) 0
> SMEMBERS s
1) "b"
2) "c"
> DEL s
(integer) 1
# at random
> SADD s a
(integer) 1
> SRANDMEMBER s
"a"
> SRANDMEMBER s 5
1) "a"
> SRANDMEMBER s -3
1) "a"
2) "a"
3) "a"
> SRANDMEMBER s 0
(empty array)
> SRANDMEMBER s a
(error) ERR value is not an integer or out of range
> SRANDMEMBER s 1 1
(error) ERR syntax error
> SRANDMEMBER s -9223372036854775808
(error) ERR value is out of range, value must between -9223372036854775807 and 9223372036854775807
> SRANDMEMBER none
(nil)
> SRANDMEMBER none 3
(empty array)
> SPOP none
(nil)
> SPOP none 3
(empty array)
> SPOP none -1
(error) ERR value is out of range, must be positive
> SPOP none a
(error) ERR value is out of range, must be positive
> SPOP none 1 1
(error) ERR syntax error
> SPOP s
"a"
> EXISTS s
(integer) 0
> SADD s a
(integer) 1
> SPOP s 1
1) "a"
> EXISTS s
(integer) 0
# numbers are in order
> SADD n 3 -1 20 7
(integer) 4
> SMEMBERS n
1) "-1"
2) "3"
3) "7"
4) "20"
> OBJECT ENCODING n
"intset"
> SADD n 01
(integer) 1
> OBJECT ENCODING n
"listpack"
> SMEMBERS n
1) "-1"
2) "3"
3) "7"
4) "20"
5) "01"
# moving
> SADD s a b
(integer) 2
> SMOVE s t a
(integer) 1
> SMOVE s t none
(integer) 0
> SMOVE none t a
(integer) 0
> SMOVE s s b
(integer) 1
> SMOVE s t b
(integer) 1
> EXISTS s
(integer) 0
> SMEMBERS t
1) "a"
2) "b"
# several
> SADD x a b c d
(integer) 4
> SADD y c
(integer) 1
> SADD z a c e
(integer) 3
> SINTER x y z
1) "c"
> SINTER x none
(empty array)
> SDIFF x y z
1) "b"
2) "d"
> SDIFF x
1) "a"
2) "b"
3) "c"
4) "d"
> SDIFF x x
(empty array)
> SDIFF none x
(empty array)
> SUNION y none
1) "c"
> SINTERSTORE to x y z
(integer) 1
> SMEMBERS to
1) "c"
> SDIFFSTORE to x y
(integer) 3
> SMEMBERS to
1) "a"
2) "b"
3) "d"
> SUNIONSTORE to y none
(integer) 1
> SMEMBERS to
1) "c"
> SET to v
OK
> SINTERSTORE to x none
(integer) 0
> EXISTS to
(integer) 0
> SET to v
OK
> SUNIONSTORE to y
(integer) 1
> TYPE to
set
> SUNIONSTORE x x y z
(integer) 5
> SCARD x
(integer) 5
# scanning
> SADD c a1 a2 b1
(integer) 3
> SSCAN c 0
1) "0"
2) 1) "a1"
   2) "a2"
   3) "b1"
> SSCAN c 0 MATCH a*
1) "0"
2) 1) "a1"
   2) "a2"
> SSCAN c 0 COUNT 1
1) "0"
2) 1) "a1"
   2) "a2"
   3) "b1"
> SSCAN c 0 NOVALUES
(error) ERR NOVALUES option can only be used in HSCAN
> SSCAN none 0 NONE
1) "0"
2) (empty array)
> SSCAN c 0 NONE
(error) ERR syntax error
> SSCAN c 0 COUNT 0
(error) ERR syntax error
> SSCAN c a
(error) ERR invalid cursor
# other types
> SET str v
OK
> SADD str a
(error) WRONGTYPE Operation against a key holding the wrong kind of value
> SREM str a
(error) WRONGTYPE Operation against a key holding the wrong kind of value
> SISMEMBER str a
(error) WRONGTYPE Operation against a key holding the wrong kind of value
> SMISMEMBER str a
(error) WRONGTYPE Operation against a key holding the wrong kind of value
> SPOP str
(error) WRONGTYPE Operation against a key holding the wrong kind of value
> SPOP str 0
(error) WRONGTYPE Operation against a key holding the wrong kind of value
> SPOP str a
(error) ERR value is out of range, must be positive
> SRANDMEMBER str a
(error) ERR value is not an integer or out of range
> SSCAN str 0 NONE
(error) WRONGTYPE Operation against a key holding the wrong kind of value
> SMOVE none str a
(integer) 0
> SMOVE c str a
(error) WRONGTYPE Operation against a key holding the wrong kind of value
> SMOVE c str none
(error) WRONGTYPE Operation against a key holding the wrong kind of value
> SINTER none str
(error) WRONGTYPE Operation against a key holding the wrong kind of value
> SUNION none str
(error) WRONGTYPE Operation against a key holding the wrong kind of value
> SDIFFSTORE to none str
(error) WRONGTYPE Operation against a key holding the wrong kind of value
"#;

const ENCODINGS: &str = r#"
> DEL s
(integer) 0
> SADD s 1 2 3
(integer) 3
> OBJECT ENCODING s
"intset"
> SADD s 1 2 3
(integer) 0
> OBJECT ENCODING s
"intset"
> SADD s 4
(integer) 1
> OBJECT ENCODING s
"hashtable"
> DEL s
(integer) 1
> SADD s 1 2 3 4
(integer) 4
> OBJECT ENCODING s
"listpack"
> DEL s
(integer) 1
> SADD s 1 2 a
(integer) 3
> OBJECT ENCODING s
"listpack"
> SADD s b
(integer) 1
> OBJECT ENCODING s
"listpack"
> SADD s c
(integer) 1
> OBJECT ENCODING s
"hashtable"
> SINTERSTORE to s s
(integer) 5
> OBJECT ENCODING to
"hashtable"
> SREM s c
(integer) 1
> SINTERSTORE to s
(integer) 4
> OBJECT ENCODING to
"listpack"
> SREM s a b
(integer) 2
> SINTERSTORE to s
(integer) 2
> OBJECT ENCODING to
"intset"
> DEL s
(integer) 1
> SADD s a
(integer) 1
> OBJECT ENCODING s
"listpack"
> SADD s 123456
(integer) 1
> OBJECT ENCODING s
"hashtable"
"#;

const RESP3: [(&str, &str); 12] = [
    ("SADD s b c", "(integer) 2"),
    ("SMEMBERS s", "1~ \"b\"\n2~ \"c\""),
    ("SMEMBERS none", "(empty set)"),
    ("SRANDMEMBER s 9", "1) \"b\"\n2) \"c\""),
    ("SRANDMEMBER none 9", "(empty array)"),
    ("SPOP none", "(nil)"),
    ("SPOP none 1", "(empty set)"),
    ("SPOP s 0", "(empty set)"),
    ("SPOP s 9", "1~ \"b\"\n2~ \"c\""),
    ("EXISTS s", "(integer) 0"),
    ("SINTER none", "(empty set)"),
    ("SUNION none", "(empty set)"),
];
