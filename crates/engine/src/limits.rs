//! Thresholds at which a value leaves its compact encoding; passed in, never read from a global.

/// Encoding thresholds, each field named after the Redis configuration parameter it holds.
///
/// The defaults are those of Redis 7.2 to 8 (`CONFIG GET *listpack*` of a fresh server).
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Limits {
    /// Most field-value pairs a hash keeps in one listpack.
    pub hash_max_listpack_entries: usize,
    /// Longest field or value, in bytes, of a hash kept in a listpack.
    pub hash_max_listpack_value: usize,
    /// Size of a list node: positive is a number of entries, -1 to -5 are 4, 8, 16, 32 and 64 KiB.
    pub list_max_listpack_size: i32,
    /// Most members a set of integers keeps in an intset.
    pub set_max_intset_entries: usize,
    /// Most members a set keeps in one listpack.
    pub set_max_listpack_entries: usize,
    /// Longest member, in bytes, of a set kept in a listpack.
    pub set_max_listpack_value: usize,
    /// Most members a sorted set keeps in one listpack.
    pub zset_max_listpack_entries: usize,
    /// Longest member, in bytes, of a sorted set kept in a listpack.
    pub zset_max_listpack_value: usize,
    /// Most bytes of one stream node; 0 is no limit.
    pub stream_node_max_bytes: usize,
    /// Most entries of one stream node; 0 is no limit.
    pub stream_node_max_entries: usize,
}

impl Default for Limits {
    fn default() -> Self {
        Self {
            hash_max_listpack_entries: 512,
            hash_max_listpack_value: 64,
            list_max_listpack_size: -2,
            set_max_intset_entries: 512,
            set_max_listpack_entries: 128,
            set_max_listpack_value: 64,
            zset_max_listpack_entries: 128,
            zset_max_listpack_value: 64,
            stream_node_max_bytes: 4096,
            stream_node_max_entries: 100,
        }
    }
}
