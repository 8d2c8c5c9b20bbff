//! The data engine: shards, the key table, values and their encodings, expiry.

pub mod blob;
mod draw;
pub mod hash;
pub mod hashing;
pub mod intset;
pub mod limits;
pub mod list;
pub mod listpack;
pub mod set;
pub mod size_class;
pub mod stream;
pub mod table;
pub mod zset;

pub use table::Table;
