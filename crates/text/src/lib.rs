//! Text as Redis reads and prints it: numbers, glob patterns, quoting, memory units, cluster slots.
#![forbid(unsafe_code)]

mod big;
pub mod float;
pub mod glob;
mod grisu;
pub mod integer;
pub mod long_double;
pub mod memory;
mod number;
pub mod quote;
pub mod slot;
