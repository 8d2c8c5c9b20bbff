//! The hash function of every table in the engine, seeded once per process.
//!
//! A seed that an attacker cannot know is what keeps chosen keys from falling into one bucket
//! (the reason Redis moved to SipHash); it is set at first use and never changes, so that hashes
//! may be kept while the process lives.

use std::hash::{BuildHasher, Hasher};
use std::sync::LazyLock;

use foldhash::quality::RandomState;

static STATE: LazyLock<RandomState> = LazyLock::new(RandomState::default);

/// The 64-bit hash of `bytes`. Equal bytes have equal hashes within one process only.
#[inline]
pub fn hash_bytes(bytes: &[u8]) -> u64 {
    let mut hasher = STATE.build_hasher();
    hasher.write(bytes);
    hasher.finish()
}

#[cfg(test)]
mod tests {
    use super::hash_bytes;

    #[test]
    fn equal_bytes_hash_alike_and_near_ones_do_not() {
        assert_eq!(hash_bytes(b"key:1"), hash_bytes(b"key:1"));
        assert_ne!(hash_bytes(b"key:1"), hash_bytes(b"key:2"));
        assert_ne!(hash_bytes(b""), hash_bytes(b"\0"));
    }
}
