//! Transactions: their commands among others, as far as one connection can show them.

use super::{Family, Row, exact};

/// Transactions over a few keys of any type.
pub const FAMILY: Family =
    Family { name: "transactions", keys: &["m:0", "m:1", "m:2", "m:3"], rows: &ROWS };

const ROWS: [Row; 35] = [
    exact("MULTI"),
    exact("MULTI"),
    exact("MULTI"),
    exact("EXEC"),
    exact("EXEC"),
    exact("EXEC"),
    exact("DISCARD"),
    exact("WATCH {any}..."),
    exact("WATCH {key}"),
    exact("UNWATCH"),
    exact("SET {key} {value}"),
    exact("SET {key} {value} [NX|XX] [GET] [EX {ttl}|KEEPTTL]"),
    exact("GET {any}"),
    exact("INCR {key}"),
    exact("APPEND {key} {value}"),
    exact("MSET ({key} {value})..."),
    exact("MGET {any}..."),
    exact("DEL {key}..."),
    exact("UNLINK {any}"),
    exact("EXPIRE {key} (100|-1|0)"),
    exact("PERSIST {key}"),
    exact("RENAME {key} {key}"),
    exact("RENAMENX {key} {key}"),
    exact("RPUSH {key} {element}..."),
    exact("LPOP {key} [{count}]"),
    exact("LRANGE {key} 0 -1"),
    exact("LMOVE {key} {key} (LEFT|RIGHT) (LEFT|RIGHT)"),
    exact("SADD {key} {member}"),
    exact("SINTERSTORE {key} {any} {key}"),
    exact("HSET {key} {field} {value}"),
    exact("TYPE {any}"),
    exact("SELECT (0|1|16)"),
    exact("DBSIZE"),
    exact("FLUSHDB"),
    exact("NOSUCHCOMMAND {value}"),
];
