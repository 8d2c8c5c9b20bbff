//! Memory in use, as the allocator counts it.

use tikv_jemalloc_ctl::{epoch, stats};

/// The version of jemalloc that the allocator's crate brings.
pub const ALLOCATOR_VERSION: &str = "5.3.0";

/// The allocator's figures for the whole process, in bytes.
#[derive(Clone, Copy, Default, PartialEq, Eq, Debug)]
pub struct AllocatorBytes {
    /// Allocated and not freed.
    pub allocated: u64,
    /// In pages with something allocated in them.
    pub active: u64,
    /// In pages that are mapped and may be in memory.
    pub resident: u64,
}

/// The allocator's figures now; all zero where it was built without statistics, or where another
/// allocator is in use.
pub fn allocator_bytes() -> AllocatorBytes {
    // The statistics stand still until the epoch is advanced.
    if epoch::advance().is_err() {
        return AllocatorBytes::default();
    }
    AllocatorBytes {
        allocated: stats::allocated::read().unwrap_or(0) as u64,
        active: stats::active::read().unwrap_or(0) as u64,
        resident: stats::resident::read().unwrap_or(0) as u64,
    }
}

/// Bytes allocated and not freed by the whole process.
pub fn used_bytes() -> u64 {
    allocator_bytes().allocated
}

/// Bytes of the process that are in memory, as the system counts them; `None` where it does not
/// tell.
pub fn resident_set_bytes() -> Option<u64> {
    let statm = std::fs::read_to_string("/proc/self/statm").ok()?;
    let pages: u64 = statm.split(' ').nth(1)?.parse().ok()?;
    Some(pages * rustix::param::page_size() as u64)
}

/// Bytes of memory of the machine; `None` where the system does not tell.
pub fn machine_bytes() -> Option<u64> {
    let meminfo = std::fs::read_to_string("/proc/meminfo").ok()?;
    let line = meminfo.lines().find_map(|line| line.strip_prefix("MemTotal:"))?;
    line.trim().strip_suffix(" kB")?.trim().parse::<u64>().ok().map(|kib| kib << 10)
}
