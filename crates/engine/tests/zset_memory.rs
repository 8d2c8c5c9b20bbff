//! Bytes a member of a large sorted set, measured at the allocator: the promise is at most 60 for a
//! ten-byte member.
//!
//! Allocations are counted rounded up to jemalloc's size classes, so the figure is what a server
//! would pay.

use std::alloc::{GlobalAlloc, Layout, System};
use std::sync::atomic::{AtomicUsize, Ordering};

use engine::limits::Limits;
use engine::size_class::size_class;
use engine::zset::{AddFlags, Zset};

/// Bytes a member promised, at a million members.
const PROMISED_BYTES: usize = 60;
const MEMBERS: u64 = 1_000_000;

struct Counting;

static LIVE_BYTES: AtomicUsize = AtomicUsize::new(0);

// SAFETY: both calls are handed on to `System` as they are.
unsafe impl GlobalAlloc for Counting {
    unsafe fn alloc(&self, layout: Layout) -> *mut u8 {
        LIVE_BYTES.fetch_add(size_class(layout.size()), Ordering::Relaxed);
        // SAFETY: the caller keeps `GlobalAlloc`'s contract.
        unsafe { System.alloc(layout) }
    }

    unsafe fn dealloc(&self, pointer: *mut u8, layout: Layout) {
        LIVE_BYTES.fetch_sub(size_class(layout.size()), Ordering::Relaxed);
        // SAFETY: the caller keeps `GlobalAlloc`'s contract.
        unsafe { System.dealloc(pointer, layout) }
    }
}

#[global_allocator]
static ALLOCATOR: Counting = Counting;

/// Fills a set with ten-byte members and the scores that `score` gives; returns bytes a member,
/// measured and as reported.
fn bytes_a_member(score: impl Fn(u64) -> f64) -> (f64, f64) {
    let limits = Limits::default();
    let before = LIVE_BYTES.load(Ordering::Relaxed);
    let mut set = Zset::new();
    for index in 0..MEMBERS {
        set.add(format!("{index:010}").as_bytes(), score(index), AddFlags::default(), &limits);
    }
    let live = LIVE_BYTES.load(Ordering::Relaxed) - before;
    (live as f64 / MEMBERS as f64, set.memory_bytes() as f64 / MEMBERS as f64)
}

/// SplitMix64's output function: numbers in no order.
fn mix(index: u64) -> u64 {
    let mixed = index.wrapping_add(1).wrapping_mul(0x9E37_79B9_7F4A_7C15);
    let mixed = (mixed ^ (mixed >> 30)).wrapping_mul(0xBF58_476D_1CE4_E5B9);
    let mixed = (mixed ^ (mixed >> 27)).wrapping_mul(0x94D0_49BB_1331_11EB);
    mixed ^ (mixed >> 31)
}

#[test]
fn a_million_ten_byte_members_keep_the_promise() {
    for name in ["rising", "falling", "random"] {
        let (measured, reported) = bytes_a_member(|index| match name {
            "rising" => index as f64,
            "falling" => -(index as f64),
            _ => (mix(index) >> 11) as f64,
        });
        println!("{name} scores: {measured:.1} bytes a member measured, {reported:.1} reported");
        assert!(measured <= PROMISED_BYTES as f64, "{name}: {measured}");
        assert!(
            (measured - reported).abs() < 0.5,
            "{name}: {measured} measured, {reported} reported"
        );
    }
}
