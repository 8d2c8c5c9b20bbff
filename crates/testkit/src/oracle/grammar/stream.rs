//! Streams. Ids are given, never taken from the clock, and trimming is exact: what `~` leaves depends
//! on how a server cuts its nodes.

use super::{Family, Row, exact};

/// Commands on streams without groups.
pub const FAMILY: Family = Family { name: "stream", keys: &["x:0", "x:1", "x:2"], rows: &ROWS };

const ROWS: [Row; 15] = [
    exact("XADD {key} {new_id} ({field} {value})..."),
    exact("XADD {key} {new_id} ({field} {value})..."),
    exact("XADD {key} {new_id} f {value}"),
    exact(
        "XADD {key} [NOMKSTREAM] [MAXLEN [=] {count}|MINID [=] {id}] {new_id} ({field} {value})...",
    ),
    exact("XADD {key} {new_id} {field}..."),
    exact("XLEN {key}"),
    exact("XRANGE {key} {id} {id} [COUNT {count}]"),
    exact("XRANGE {key} - + [COUNT {count}]"),
    exact("XREVRANGE {key} {id} {id} [COUNT {count}]"),
    exact("XREVRANGE {key} + - [COUNT {count}]"),
    exact("XDEL {key} {id}..."),
    exact("XTRIM {key} MAXLEN [=] {count} [LIMIT {limit}]"),
    exact("XTRIM {key} MINID [=] {id}"),
    exact("XREAD [COUNT {count}] STREAMS {key} {key} {id} {id}"),
    exact("OBJECT ENCODING {key}"),
];
