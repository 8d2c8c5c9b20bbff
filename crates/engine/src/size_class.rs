//! The allocator's size classes: a buffer rounded up to its class uses memory that is paid for anyway.

/// Rounds `bytes` up to the size class that jemalloc serves it from.
///
/// Classes are multiples of 16 up to 128 bytes, then four to each doubling (160, 192, 224, 256,
/// 320, …), so growth by classes is geometric with at most a quarter of slack.
#[must_use]
pub const fn size_class(bytes: usize) -> usize {
    if bytes <= 8 {
        return 8;
    }
    if bytes <= 128 {
        return bytes.next_multiple_of(16);
    }
    let spacing = 1 << ((bytes - 1).ilog2() - 2);
    bytes.next_multiple_of(spacing)
}

#[cfg(test)]
mod tests {
    use super::size_class;

    #[test]
    fn classes_are_jemallocs() {
        let classes = [
            (1, 8),
            (9, 16),
            (17, 32),
            (112, 112),
            (113, 128),
            (129, 160),
            (256, 256),
            (257, 320),
            (4097, 5120),
            (8192, 8192),
        ];
        for (bytes, class) in classes {
            assert_eq!(size_class(bytes), class, "{bytes}");
        }
    }
}
