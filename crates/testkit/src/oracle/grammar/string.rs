//! Strings.

use super::{Family, Row, exact};

/// Commands on strings, bit commands aside.
pub const FAMILY: Family =
    Family { name: "string", keys: &["s:0", "s:1", "s:2", "s:3", "s:4"], rows: &ROWS };

const ROWS: [Row; 24] = [
    exact("SET {key} {value}"),
    exact("SET {key} {value} [NX|XX] [GET] [EX {ttl}|PX {ttl_ms}|EXAT {at}|PXAT {at_ms}|KEEPTTL]"),
    exact("SET {key} {integer}"),
    exact("GET {key}"),
    exact("GETSET {key} {value}"),
    exact("GETDEL {key}"),
    exact("GETEX {key} [EX {ttl}|PX {ttl_ms}|EXAT {at}|PXAT {at_ms}|PERSIST]"),
    exact("SETNX {key} {value}"),
    exact("SETEX {key} {ttl} {value}"),
    exact("PSETEX {key} {ttl_ms} {value}"),
    exact("MGET {key}..."),
    exact("MSET ({key} {value})..."),
    exact("MSETNX ({key} {value})..."),
    exact("APPEND {key} {value}"),
    exact("STRLEN {key}"),
    exact("GETRANGE {key} {index} {index}"),
    exact("SUBSTR {key} {index} {index}"),
    exact("SETRANGE {key} {offset} {value}"),
    exact("INCR {key}"),
    exact("DECR {key}"),
    exact("INCRBY {key} {integer}"),
    exact("DECRBY {key} {integer}"),
    exact("INCRBYFLOAT {key} {float}"),
    exact("LCS {key} {key} [LEN|IDX] [MINMATCHLEN {limit}] [WITHMATCHLEN]"),
];
