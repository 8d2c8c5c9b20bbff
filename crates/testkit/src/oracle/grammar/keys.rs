//! The keyspace: commands that work on keys of any type, expiry, and a few of the connection.

use super::{Family, Row, exact, judged};
use crate::oracle::judge::Rule;

/// Commands on keys.
pub const FAMILY: Family = Family {
    name: "keys",
    keys: &["k:0", "k:1", "k:2", "k:3", "k:4", "k:5", "", "k\x00\n"],
    rows: &ROWS,
};

/// Tolerance in seconds, and in milliseconds, for times that both servers count from their own now.
const SECONDS: Rule = Rule::Near(2);
const MILLISECONDS: Rule = Rule::Near(2000);

const ROWS: [Row; 45] = [
    exact("SET {key} {value} [EX {ttl}]"),
    exact("SET {any} {value}"),
    exact("RPUSH {key} {element}..."),
    exact("HSET {key} ({field} {value})..."),
    exact("SADD {key} {member}..."),
    exact("ZADD {key} ({score} {member})..."),
    exact("XADD {key} {new_id} f v"),
    exact("DEL {any}..."),
    exact("UNLINK {any}..."),
    exact("EXISTS {any}..."),
    exact("TOUCH {any}..."),
    exact("TYPE {any}"),
    exact("EXPIRE {any} {ttl} [NX|XX|GT|LT]"),
    exact("EXPIRE {any} {ttl}"),
    exact("PEXPIRE {any} {ttl_ms} [NX|XX|GT|LT]"),
    exact("EXPIREAT {any} {at} [NX|XX|GT|LT]"),
    exact("PEXPIREAT {any} {at_ms} [NX|XX|GT|LT]"),
    judged("TTL {any}", SECONDS),
    judged("PTTL {any}", MILLISECONDS),
    judged("EXPIRETIME {any}", SECONDS),
    judged("PEXPIRETIME {any}", MILLISECONDS),
    exact("PERSIST {any}"),
    exact("RENAME {any} {any}"),
    exact("RENAMENX {any} {any}"),
    exact("COPY {any} {any} [DB {limit}] [REPLACE]"),
    exact("MOVE {any} {limit}"),
    exact("DBSIZE"),
    exact("SELECT (0|0|0|1|15|16|-1|x)"),
    exact("SWAPDB (0|1|x) (0|1|99)"),
    judged("KEYS {pattern}", Rule::Unordered),
    judged("SCAN 0 [MATCH {pattern}] [COUNT {limit}]", Rule::Scan),
    judged("SCAN 0 [COUNT {limit}] [TYPE (string|list|hash|set|zset|stream)]", Rule::Scan),
    judged("RANDOMKEY", Rule::Shape),
    exact("OBJECT ENCODING {any}"),
    judged("OBJECT IDLETIME {any}", SECONDS),
    exact("OBJECT FREQ {any}"),
    exact("OBJECT NOSUCH {any}"),
    exact("PING [{value}]"),
    exact("ECHO {value}"),
    exact("NOSUCHCOMMAND {value}..."),
    exact("FLUSHDB [ASYNC|SYNC|NOW]"),
    exact("CLIENT GETNAME"),
    exact("CLIENT SETNAME (conn|x y)"),
    exact("CONFIG GET (maxmemory|nothing|hash-max-listpack-value)"),
    exact("AUTH {value}"),
];
