//! Sorted sets. Ranges by text are defined for members of one score only: they have keys of their own.

use super::{Family, Row, exact, judged, newest};
use crate::oracle::judge::Rule;

/// Commands on sorted sets that do not block.
pub const FAMILY: Family = Family { name: "zset", keys: &["z:0", "z:1", "z:2"], rows: &ROWS };

const ROWS: [Row; 45] = [
    exact("ZADD {key} ({score} {member})..."),
    exact("ZADD {key} ({score} {member})..."),
    exact("ZADD {key} [NX|XX] [GT|LT] [CH] [INCR] ({score} {member})..."),
    exact("ZADD {key} [NX|XX] [GT|LT] INCR {score} {member}"),
    exact("ZINCRBY {key} {score} {member}"),
    exact("ZREM {key} {member}..."),
    exact("ZCARD {key}"),
    exact("ZSCORE {key} {member}"),
    exact("ZMSCORE {key} {member}..."),
    exact("ZRANK {key} {member}"),
    exact("ZREVRANK {key} {member}"),
    newest("ZRANK {key} {member} WITHSCORE"),
    newest("ZREVRANK {key} {member} WITHSCORE"),
    exact("ZRANGE {key} {index} {index} [REV] [WITHSCORES]"),
    exact(
        "ZRANGE {key} {score_bound} {score_bound} BYSCORE [REV] [LIMIT {limit} {count}] [WITHSCORES]",
    ),
    exact("ZRANGE {key} 0 -1 WITHSCORES"),
    exact("ZREVRANGE {key} {index} {index} [WITHSCORES]"),
    exact("ZRANGEBYSCORE {key} {score_bound} {score_bound} [WITHSCORES] [LIMIT {limit} {count}]"),
    exact(
        "ZREVRANGEBYSCORE {key} {score_bound} {score_bound} [WITHSCORES] [LIMIT {limit} {count}]",
    ),
    exact("ZCOUNT {key} {score_bound} {score_bound}"),
    exact("ZPOPMIN {key} [{count}]"),
    exact("ZPOPMAX {key} [{count}]"),
    judged("ZSCAN {key} 0 [MATCH {pattern}] [COUNT {limit}]", Rule::ScanPairs),
    judged("ZRANDMEMBER {key} [{count}]", Rule::Shape),
    exact("ZREMRANGEBYRANK {key} {index} {index}"),
    exact("ZREMRANGEBYSCORE {key} {score_bound} {score_bound}"),
    exact("ZADD {lexkey} (0 {member})..."),
    exact("ZADD {lexkey} (0 {member})..."),
    exact("ZRANGE {lexkey} {lex_bound} {lex_bound} BYLEX [REV] [LIMIT {limit} {count}]"),
    exact("ZRANGEBYLEX {lexkey} {lex_bound} {lex_bound} [LIMIT {limit} {count}]"),
    exact("ZREVRANGEBYLEX {lexkey} {lex_bound} {lex_bound} [LIMIT {limit} {count}]"),
    exact("ZLEXCOUNT {lexkey} {lex_bound} {lex_bound}"),
    exact("ZREMRANGEBYLEX {lexkey} {lex_bound} {lex_bound}"),
    exact("ZRANGESTORE {key} {key} {index} {index} [REV]"),
    exact(
        "ZRANGESTORE {key} {key} {score_bound} {score_bound} BYSCORE [REV] [LIMIT {limit} {count}]",
    ),
    exact(
        "ZUNION {keys_number} {key} {key} [WEIGHTS {weight} {weight}] [AGGREGATE (SUM|MIN|MAX)] [WITHSCORES]",
    ),
    exact(
        "ZINTER {keys_number} {key} {key} [WEIGHTS {weight} {weight}] [AGGREGATE (SUM|MIN|MAX)] [WITHSCORES]",
    ),
    exact("ZDIFF {keys_number} {key} {key} [WITHSCORES]"),
    exact(
        "ZUNIONSTORE {key} {keys_number} {key} {key} [WEIGHTS {weight} {weight}] [AGGREGATE (SUM|MIN|MAX)]",
    ),
    exact(
        "ZINTERSTORE {key} {keys_number} {key} {key} [WEIGHTS {weight} {weight}] [AGGREGATE (SUM|MIN|MAX)]",
    ),
    exact("ZDIFFSTORE {key} {keys_number} {key} {key}"),
    exact("ZINTERCARD {keys_number} {key} {key} [LIMIT {count}]"),
    exact("ZMPOP {keys_number} {key} {key} (MIN|MAX) [COUNT {count}]"),
    exact("ZUNION 2 {key} any:set"),
    exact("OBJECT ENCODING {key}"),
];
