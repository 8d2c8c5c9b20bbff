//! Hashes.

use super::{Family, Row, exact, judged};
use crate::oracle::judge::Rule;

/// Commands on hashes.
pub const FAMILY: Family = Family { name: "hash", keys: &["h:0", "h:1", "h:2"], rows: &ROWS };

const ROWS: [Row; 20] = [
    exact("HSET {key} ({field} {value})..."),
    exact("HSET {key} ({field} {value})..."),
    exact("HMSET {key} ({field} {value})..."),
    exact("HSETNX {key} {field} {value}"),
    exact("HGET {key} {field}"),
    exact("HMGET {key} {field}..."),
    judged("HGETALL {key}", Rule::Pairs),
    judged("HKEYS {key}", Rule::Unordered),
    judged("HVALS {key}", Rule::Unordered),
    exact("HDEL {key} {field}..."),
    exact("HLEN {key}"),
    exact("HEXISTS {key} {field}"),
    exact("HSTRLEN {key} {field}"),
    exact("HINCRBY {key} {field} {integer}"),
    exact("HSET {key} {field} {integer}"),
    exact("HINCRBYFLOAT {key} {field} {float}"),
    judged("HSCAN {key} 0 [MATCH {pattern}] [COUNT {limit}]", Rule::ScanPairs),
    judged("HRANDFIELD {key}", Rule::Shape),
    judged("HRANDFIELD {key} {count} [WITHVALUES]", Rule::Shape),
    exact("OBJECT ENCODING {key}"),
];
