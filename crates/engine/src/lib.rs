//! The data engine: shards, the key table, values and their encodings, expiry.

pub mod hashing;
pub mod table;
pub mod zset;

pub use table::Table;
