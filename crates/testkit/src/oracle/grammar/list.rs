//! Lists.

use super::{Family, Row, exact};

/// Commands on lists that do not block.
pub const FAMILY: Family = Family { name: "list", keys: &["l:0", "l:1", "l:2"], rows: &ROWS };

const ROWS: [Row; 20] = [
    exact("LPUSH {key} {element}..."),
    exact("RPUSH {key} {element}..."),
    exact("RPUSH {key} {element}..."),
    exact("LPUSHX {key} {element}..."),
    exact("RPUSHX {key} {element}..."),
    exact("LPOP {key} [{count}]"),
    exact("RPOP {key} [{count}]"),
    exact("LLEN {key}"),
    exact("LINDEX {key} {index}"),
    exact("LRANGE {key} {index} {index}"),
    exact("LRANGE {key} 0 -1"),
    exact("LSET {key} {index} {element}"),
    exact("LTRIM {key} {index} {index}"),
    exact("LREM {key} {index} {element}"),
    exact("LINSERT {key} (BEFORE|AFTER|before|NEAR) {element} {element}"),
    exact("LPOS {key} {element} [RANK {index}] [COUNT {count}] [MAXLEN {count}]"),
    exact("LMOVE {key} {key} (LEFT|RIGHT) (LEFT|RIGHT|UP)"),
    exact("RPOPLPUSH {key} {key}"),
    exact("LMPOP {keys_number} {key} {key} (LEFT|RIGHT) [COUNT {count}]"),
    exact("OBJECT ENCODING {key}"),
];
