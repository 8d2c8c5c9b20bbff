//! The data engine: shards, the key table, values and their encodings, expiry.
