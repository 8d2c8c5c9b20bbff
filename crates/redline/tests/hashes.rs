//! Hashes at their edges: what Valkey 9.1 answers, which speaks as Redis 7.2 and later do.

use crate::store;
use testkit::client::Client;
use testkit::script::check;

#[test]
fn at_their_edges() {
    store::check_beside_valkey(SESSION);
}

#[test]
fn encodings() {
    let limits = ["--hash-max-listpack-entries", "3", "--hash-max-listpack-value", "5"];
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
# setting and getting
> HSET h f v
(integer) 1
> HSET h f w g 1 f x
(integer) 1
> HSET h f
(error) ERR wrong number of arguments for 'hset' command
> HSET h f v g
(error) ERR wrong number of arguments for 'hset' command
> HMSET h a 1 b 2
OK
> HMSET h a 1 b
(error) ERR wrong number of arguments for 'hmset' command
> HSETNX h f y
(integer) 0
> HSETNX h new y
(integer) 1
> HSETNX other f v
(integer) 1
> HGET h f
"x"
> HGET h none
(nil)
> HGET none f
(nil)
> HMGET h f none g
1) "x"
2) (nil)
3) "1"
> HMGET none f g
1) (nil)
2) (nil)
> HLEN h
(integer) 5
> HLEN none
(integer) 0
> HEXISTS h f
(integer) 1
> HEXISTS h none
(integer) 0
> HEXISTS none f
(integer) 0
> HSTRLEN h f
(integer) 1
> HSTRLEN h none
(integer) 0
> HSTRLEN none f
(integer) 0
> HSET h n -1234
(integer) 1
> HSTRLEN h n
(integer) 5
> HGETALL h
 1) "f"
 2) "x"
 3) "g"
 4) "1"
 5) "a"
 6) "1"
 7) "b"
 8) "2"
 9) "new"
10) "y"
11) "n"
12) "-1234"
> HKEYS h
1) "f"
2) "g"
3) "a"
4) "b"
5) "new"
6) "n"
> HVALS h
1) "x"
2) "1"
3) "1"
4) "2"
5) "y"
6) "-1234"
> HGETALL none
(empty array)
> HKEYS none
(empty array)
> HVALS none
(empty array)
> HRANDFIELD other
"f"
> HRANDFIELD other 0
(empty array)
> HRANDFIELD other 5 WITHVALUES
1) "f"
2) "v"
> HRANDFIELD other -2
1) "f"
2) "f"
> HRANDFIELD other -2 WITHVALUES
1) "f"
2) "v"
3) "f"
4) "v"
> HRANDFIELD other a
(error) ERR value is not an integer or out of range
> HRANDFIELD other 1 NONE
(error) ERR syntax error
> HRANDFIELD other 1 WITHVALUES 1
(error) ERR syntax error
> HRANDFIELD other -9223372036854775808
(error) ERR value is out of range, value must between -9223372036854775807 and 9223372036854775807
> HRANDFIELD other 9223372036854775807 WITHVALUES
(error) ERR value is out of range
> HRANDFIELD none
(nil)
> HRANDFIELD none 1
(empty array)
# removing
> HDEL h none
(integer) 0
> HDEL h f none g f
(integer) 2
> HDEL none f
(integer) 0
> HDEL other f
(integer) 1
> EXISTS other
(integer) 0
# counting
> HINCRBY c n 5
(integer) 5
> HINCRBY c n -10
(integer) -5
> HINCRBY c n a
(error) ERR value is not an integer or out of range
> HINCRBY c n 1.5
(error) ERR value is not an integer or out of range
> HINCRBY c n 9223372036854775807
(integer) 9223372036854775802
> HINCRBY c n 9223372036854775807
(error) ERR increment or decrement would overflow
> HSET c t "1 "
(integer) 1
> HINCRBY c t 1
(error) ERR hash value is not an integer
> HINCRBYFLOAT c t 1
(error) ERR hash value is not a float
> HINCRBYFLOAT c n 1
"9223372036854775803"
> HINCRBYFLOAT c f 0.1
"0.1"
> HINCRBYFLOAT c f 0.2
"0.3"
> HINCRBYFLOAT c f -1e3
"-999.70000000000000001"
> HINCRBYFLOAT c f 3.0e-10
"-999.69999999969999999"
> HINCRBYFLOAT c f inf
(error) ERR value is NaN or Infinity
> HINCRBYFLOAT c f nan
(error) ERR value is not a valid float
> HINCRBYFLOAT c f a
(error) ERR value is not a valid float
> HSET c i inf
(integer) 1
> HINCRBYFLOAT c i 1
(error) ERR increment would produce NaN or Infinity
> HINCRBYFLOAT none2 f a
(error) ERR value is not a valid float
> EXISTS none2
(integer) 0
# scanning
> DEL h
(integer) 1
> HSET h f1 a f2 b g1 c 7 d
(integer) 4
> HSCAN h 0
1) "0"
2) 1) "f1"
   2) "a"
   3) "f2"
   4) "b"
   5) "g1"
   6) "c"
   7) "7"
   8) "d"
> HSCAN h 0 MATCH f*
1) "0"
2) 1) "f1"
   2) "a"
   3) "f2"
   4) "b"
> HSCAN h 0 MATCH 7 COUNT 1
1) "0"
2) 1) "7"
   2) "d"
> HSCAN h 0 NOVALUES
1) "0"
2) 1) "f1"
   2) "f2"
   3) "g1"
   4) "7"
> HSCAN h 0 MATCH none*
1) "0"
2) (empty array)
> HSCAN h 5
1) "0"
2) 1) "f1"
   2) "a"
   3) "f2"
   4) "b"
   5) "g1"
   6) "c"
   7) "7"
   8) "d"
> HSCAN none 0 NONE
1) "0"
2) (empty array)
> HSCAN h 0 NONE
(error) ERR syntax error
> HSCAN h 0 COUNT
(error) ERR syntax error
> HSCAN h 0 COUNT 0
(error) ERR syntax error
> HSCAN h 0 COUNT a
(error) ERR value is not an integer or out of range
> HSCAN h 0 MATCH
(error) ERR syntax error
> HSCAN h a
(error) ERR invalid cursor
> HSCAN h -1
(error) ERR invalid cursor
# other types
> SET s v
OK
> HSET s f v
(error) WRONGTYPE Operation against a key holding the wrong kind of value
> HSET s f
(error) ERR wrong number of arguments for 'hset' command
> HGET s f
(error) WRONGTYPE Operation against a key holding the wrong kind of value
> HMGET s f
(error) WRONGTYPE Operation against a key holding the wrong kind of value
> HGETALL s
(error) WRONGTYPE Operation against a key holding the wrong kind of value
> HDEL s f
(error) WRONGTYPE Operation against a key holding the wrong kind of value
> HINCRBY s f a
(error) ERR value is not an integer or out of range
> HINCRBY s f 1
(error) WRONGTYPE Operation against a key holding the wrong kind of value
> HINCRBYFLOAT s f 1
(error) WRONGTYPE Operation against a key holding the wrong kind of value
> HSCAN s 0 NONE
(error) WRONGTYPE Operation against a key holding the wrong kind of value
> HRANDFIELD s 1
(error) WRONGTYPE Operation against a key holding the wrong kind of value
"#;

const ENCODINGS: &str = r#"
> HSET h a 1 b 2 c 3
(integer) 3
> OBJECT ENCODING h
"listpack"
> HSET h a 1 b 2
(integer) 0
> OBJECT ENCODING h
"listpack"
> HSET h d 4
(integer) 1
> OBJECT ENCODING h
"hashtable"
> HDEL h d c b
(integer) 3
> OBJECT ENCODING h
"hashtable"
> DEL h
(integer) 1
> HSET h a 1 a 2 a 3 a 4
(integer) 1
> OBJECT ENCODING h
"hashtable"
> HGETALL h
1) "a"
2) "4"
> DEL h
(integer) 1
> HSETNX h a 12345
(integer) 1
> OBJECT ENCODING h
"listpack"
> HSETNX h a 123456
(integer) 0
> OBJECT ENCODING h
"listpack"
> HINCRBY h a 1000000
(integer) 1012345
> OBJECT ENCODING h
"hashtable"
> HGETALL h
1) "a"
2) "1012345"
"#;

const RESP3: [(&str, &str); 14] = [
    ("HSET other f v", "(integer) 1"),
    ("HGETALL other", "1# \"f\" => \"v\""),
    ("HKEYS other", "1) \"f\""),
    ("HVALS other", "1) \"v\""),
    ("HGETALL none", "(empty hash)"),
    ("HKEYS none", "(empty array)"),
    ("HGET h none", "(nil)"),
    ("HINCRBYFLOAT other x 1.5", "\"1.5\""),
    ("HRANDFIELD none", "(nil)"),
    ("HRANDFIELD none 2", "(empty array)"),
    ("HRANDFIELD other 5", "1) \"f\"\n2) \"x\""),
    ("HRANDFIELD other 5 WITHVALUES", "1) 1) \"f\"\n   2) \"v\"\n2) 1) \"x\"\n   2) \"1.5\""),
    ("HDEL other x", "(integer) 1"),
    (
        "HRANDFIELD other -3 WITHVALUES",
        "1) 1) \"f\"\n   2) \"v\"\n2) 1) \"f\"\n   2) \"v\"\n3) 1) \"f\"\n   2) \"v\"",
    ),
];
