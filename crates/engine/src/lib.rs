//! The data engine: shards, the key table, values and their encodings, expiry.

pub mod blob;
pub mod db;
mod draw;
pub mod entry;
pub mod hash;
pub mod hashing;
pub mod intset;
pub mod keyspace;
pub mod limits;
pub mod list;
pub mod listpack;
pub mod set;
pub mod size_class;
pub mod stream;
pub mod table;
pub mod zset;

pub use db::{Clock, Collection, Db, Expiry, Key, WrongType};
pub use entry::{Entry, Kind, StringRef, Value, ValueRef};
pub use keyspace::{Keyspace, ShardSet, Whole};
pub use limits::Limits;
pub use table::Table;
