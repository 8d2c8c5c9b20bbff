//! Memory in use, as the allocator counts it.

/// Bytes allocated and not freed by the whole process, as of the allocator's last refresh, which
/// this asks for.
pub fn used_bytes() -> u64 {
    // The statistics stand still until the epoch is advanced; either fails only where the
    // allocator was built without statistics, and then nothing is known.
    if tikv_jemalloc_ctl::epoch::advance().is_err() {
        return 0;
    }
    tikv_jemalloc_ctl::stats::allocated::read().unwrap_or(0) as u64
}
