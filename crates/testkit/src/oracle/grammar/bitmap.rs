//! Bitmaps.

use super::{Family, Row, exact};

/// Commands on bits of strings.
pub const FAMILY: Family =
    Family { name: "bitmap", keys: &["b:0", "b:1", "b:2", "b:3"], rows: &ROWS };

const ROWS: [Row; 14] = [
    exact("SETBIT {key} {limit} (0|1)"),
    exact("SETBIT {key} {limit} (0|1|2)"),
    exact("SETBIT {key} (0|7|63|100|5000|4294967296|-1|x) (0|1)"),
    exact("GETBIT {key} {limit}"),
    exact("GETBIT {key} (0|7|63|100|5000|4294967296|-1|x)"),
    exact("SET {key} {value}"),
    exact("APPEND {key} {value}"),
    exact("BITCOUNT {key}"),
    exact("BITCOUNT {key} {index} {index} [BYTE|BIT|bit]"),
    exact("BITPOS {key} (0|1) [{index}]"),
    exact("BITPOS {key} (0|1|2) {index} {index} [BYTE|BIT]"),
    exact("BITOP (AND|OR|XOR|NOT|and|NAND) {key} {key}..."),
    exact("BITOP NOT {key} {key}"),
    exact("GET {key}"),
];
