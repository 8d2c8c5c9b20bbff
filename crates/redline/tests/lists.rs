//! Lists at their edges: what Valkey 9.1 answers, which speaks as Redis 7.2 and later do.

use crate::store;
use testkit::client::Client;
use testkit::script::check;

#[test]
fn at_their_edges() {
    store::check_beside_valkey(SESSION);
}

#[test]
fn encodings() {
    let limits = ["--list-max-listpack-size", "4"];
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
# what is pushed is returned
> RPUSH l a 1 -7 ""
(integer) 4
> LPUSH l x y
(integer) 6
> LRANGE l 0 -1
1) "y"
2) "x"
3) "a"
4) "1"
5) "-7"
6) ""
> LRANGE l -100 1
1) "y"
2) "x"
> LRANGE l 3 2
(empty array)
> LRANGE l 1 a
(error) ERR value is not an integer or out of range
> LRANGE none 0 -1
(empty array)
> LLEN l
(integer) 6
> LLEN none
(integer) 0
> LINDEX l 0
"y"
> LINDEX l -1
""
> LINDEX l 6
(nil)
> LINDEX l -7
(nil)
> LINDEX none a
(nil)
> LINDEX l a
(error) ERR value is not an integer or out of range
# only onto a list that is there
> LPUSHX none a
(integer) 0
> RPUSHX l z
(integer) 7
> LPUSHX l w
(integer) 8
> EXISTS none
(integer) 0
# popping, with a count and without
> LPOP l
"w"
> RPOP l
"z"
> LPOP l 0
(empty array)
> LPOP l 2
1) "y"
2) "x"
> RPOP l 2
1) ""
2) "-7"
> RPOP l 100
1) "1"
2) "a"
> EXISTS l
(integer) 0
> LPOP l
(nil)
> LPOP l 1
(nil array)
> LPOP l 0
(nil array)
> LPOP l -1
(error) ERR value is out of range, must be positive
> LPOP l a
(error) ERR value is out of range, must be positive
> LPOP l 1 1
(error) ERR wrong number of arguments for 'lpop' command
# changing and inserting
> LSET none 0 a
(error) ERR no such key
> LSET none a a
(error) ERR no such key
> RPUSH l a b a c a
(integer) 5
> LSET l 5 x
(error) ERR index out of range
> LSET l -6 x
(error) ERR index out of range
> LSET l a x
(error) ERR value is not an integer or out of range
> LSET l -1 z
OK
> LINSERT l NEAR a x
(error) ERR syntax error
> LINSERT l before b x
(integer) 6
> LINSERT l AFTER z y
(integer) 7
> LINSERT l AFTER none y
(integer) -1
> LINSERT none AFTER a y
(integer) 0
> LRANGE l 0 -1
1) "a"
2) "x"
3) "b"
4) "a"
5) "c"
6) "z"
7) "y"
# removing
> LREM l 1 a
(integer) 1
> LREM l -1 a
(integer) 1
> LREM l 0 none
(integer) 0
> LREM l a a
(error) ERR value is not an integer or out of range
> LREM none 0 a
(integer) 0
> LREM l -9223372036854775808 a
(error) ERR value is out of range, value must between -9223372036854775807 and 9223372036854775807
> LRANGE l 0 -1
1) "x"
2) "b"
3) "c"
4) "z"
5) "y"
> LTRIM l 1 -2
OK
> LTRIM l a 1
(error) ERR value is not an integer or out of range
> LTRIM none 0 1
OK
> LRANGE l 0 -1
1) "b"
2) "c"
3) "z"
> LTRIM l 5 9
OK
> EXISTS l
(integer) 0
# finding
> RPUSH l a b c 1 2 3 c c
(integer) 8
> LPOS l c
(integer) 2
> LPOS l none
(nil)
> LPOS l c RANK 2
(integer) 6
> LPOS l c RANK -1
(integer) 7
> LPOS l c COUNT 0
1) (integer) 2
2) (integer) 6
3) (integer) 7
> LPOS l c COUNT 2 RANK -1
1) (integer) 7
2) (integer) 6
> LPOS l c COUNT 0 MAXLEN 3
1) (integer) 2
> LPOS l 1 COUNT 5
1) (integer) 3
> LPOS l none COUNT 5
(empty array)
> LPOS none c
(nil)
> LPOS none c COUNT 1
(empty array)
> LPOS l c RANK 0
(error) ERR RANK can't be zero: use 1 to start from the first match, 2 from the second ... or use negative to start from the end of the list
> LPOS l c RANK -9223372036854775808
(error) ERR value is out of range, value must between -9223372036854775807 and 9223372036854775807
> LPOS l c COUNT -1
(error) ERR COUNT can't be negative
> LPOS l c COUNT a
(error) ERR COUNT can't be negative
> LPOS l c MAXLEN -1
(error) ERR MAXLEN can't be negative
> LPOS l c MAXLEN
(error) ERR syntax error
> LPOS l c NONE 1
(error) ERR syntax error
# moving
> DEL l m
(integer) 1
> RPUSH l a b c
(integer) 3
> LMOVE l m LEFT RIGHT
"a"
> LMOVE l m RIGHT LEFT
"c"
> RPOPLPUSH l m
"b"
> RPOPLPUSH l m
(nil)
> LRANGE m 0 -1
1) "b"
2) "c"
3) "a"
> EXISTS l
(integer) 0
> LMOVE m m LEFT RIGHT
"b"
> LMOVE m m LEFT LEFT
"c"
> LRANGE m 0 -1
1) "c"
2) "a"
3) "b"
> LMOVE none m UP LEFT
(error) ERR syntax error
> LMOVE none m LEFT RIGHT
(nil)
# other types
> SET s v
OK
> LPUSH s a
(error) WRONGTYPE Operation against a key holding the wrong kind of value
> LPUSHX s a
(error) WRONGTYPE Operation against a key holding the wrong kind of value
> LPOP s
(error) WRONGTYPE Operation against a key holding the wrong kind of value
> LPOP s 0
(error) WRONGTYPE Operation against a key holding the wrong kind of value
> LPOP s a
(error) ERR value is out of range, must be positive
> LLEN s
(error) WRONGTYPE Operation against a key holding the wrong kind of value
> LRANGE s 0 a
(error) ERR value is not an integer or out of range
> LSET s a a
(error) WRONGTYPE Operation against a key holding the wrong kind of value
> LINSERT s NEAR a b
(error) ERR syntax error
> LMOVE m s LEFT LEFT
(error) WRONGTYPE Operation against a key holding the wrong kind of value
> LMOVE s m LEFT LEFT
(error) WRONGTYPE Operation against a key holding the wrong kind of value
> LLEN m
(integer) 3
"#;

const ENCODINGS: &str = r#"
> DEL l
(integer) 0
> RPUSH l a b c d
(integer) 4
> OBJECT ENCODING l
"listpack"
> LINSERT l BEFORE none x
(integer) -1
> OBJECT ENCODING l
"quicklist"
> LTRIM l 0 2
OK
> OBJECT ENCODING l
"quicklist"
> LTRIM l 0 1
OK
> OBJECT ENCODING l
"listpack"
> RPUSH l c d e
(integer) 5
> OBJECT ENCODING l
"quicklist"
> LPOP l 2
1) "a"
2) "b"
> OBJECT ENCODING l
"quicklist"
> RPOPLPUSH l l
"e"
> OBJECT ENCODING l
"quicklist"
> LREM l 1 d
(integer) 1
> OBJECT ENCODING l
"listpack"
"#;

const RESP3: [(&str, &str); 4] = [
    ("LPOP l", "(nil)"),
    ("LPOP l 1", "(nil)"),
    ("RPUSH l a b", "(integer) 2"),
    ("RPOP l 9", "1) \"b\"\n2) \"a\""),
];
