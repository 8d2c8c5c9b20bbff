//! How much one node of a list holds: `list-max-listpack-size`, as Redis applies it.

use crate::limits::Limits;

/// Bytes of a node for `list-max-listpack-size` -1 to -5.
const NODE_BYTES: [usize; 5] = [4096, 8192, 16_384, 32_768, 65_536];

/// Most bytes of a node whose limit is a number of entries.
const COUNTED_NODE_BYTES: usize = 8192;

/// Most bytes and entries of one node.
#[derive(Clone, Copy, Debug)]
pub(super) struct NodeLimit {
    bytes: usize,
    entries: usize,
    is_counted: bool,
}

impl NodeLimit {
    pub(super) fn of(limits: &Limits) -> Self {
        let size = limits.list_max_listpack_size;
        if size >= 0 {
            let entries = size.unsigned_abs().max(1) as usize;
            return Self { bytes: COUNTED_NODE_BYTES, entries, is_counted: true };
        }
        let level = (size.unsigned_abs() as usize).min(NODE_BYTES.len());
        Self { bytes: NODE_BYTES[level - 1], entries: usize::MAX, is_counted: false }
    }

    /// Whether a node may have this size.
    pub(super) fn allows(self, bytes: usize, entries: usize) -> bool {
        bytes <= self.bytes && entries <= self.entries
    }

    /// Whether a value is too long for any listpack and gets a node of its own.
    pub(super) fn is_large(self, value: &[u8]) -> bool {
        value.len() > self.bytes
    }

    /// Whether a list of this size that was in nodes goes back to one listpack: at half the limit,
    /// so that a list at the edge does not change with every push and pop.
    pub(super) fn allows_return(self, bytes: usize, entries: usize) -> bool {
        if self.is_counted { entries <= self.entries / 2 } else { bytes <= self.bytes / 2 }
    }
}
