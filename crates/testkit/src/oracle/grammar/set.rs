//! Sets.

use super::{Family, Row, exact, judged};
use crate::oracle::judge::Rule;

/// Commands on sets.
pub const FAMILY: Family = Family { name: "set", keys: &["t:0", "t:1", "t:2", "t:3"], rows: &ROWS };

const ROWS: [Row; 21] = [
    exact("SADD {key} {member}..."),
    exact("SADD {key} {member}..."),
    exact("SADD {key} {integer}..."),
    exact("SREM {key} {member}..."),
    exact("SCARD {key}"),
    exact("SISMEMBER {key} {member}"),
    exact("SMISMEMBER {key} {member}..."),
    judged("SMEMBERS {key}", Rule::Unordered),
    judged("SPOP {key}", Rule::Popped),
    judged("SPOP {key} {count}", Rule::Popped),
    judged("SRANDMEMBER {key} [{count}]", Rule::Shape),
    judged("SSCAN {key} 0 [MATCH {pattern}] [COUNT {limit}]", Rule::Scan),
    exact("SMOVE {key} {key} {member}"),
    judged("SINTER {key}...", Rule::Unordered),
    judged("SUNION {key}...", Rule::Unordered),
    judged("SDIFF {key}...", Rule::Unordered),
    exact("SINTERSTORE {key} {key}..."),
    exact("SUNIONSTORE {key} {key}..."),
    exact("SDIFFSTORE {key} {key}..."),
    exact("SINTERCARD {keys_number} {key} {key} [LIMIT {count}]"),
    exact("OBJECT ENCODING {key}"),
];
