//! Numbers of bytes as people read them: `1003B`, `4.03K`, `2.32G`.

/// Units above the byte, each 1024 of the one before.
const UNITS: [&str; 4] = ["K", "M", "G", "T"];

/// A number of bytes in the largest unit that it fills, with two places above the byte.
pub fn byte_text(bytes: u64) -> String {
    if bytes < 1024 {
        return format!("{bytes}B");
    }
    let mut amount = bytes as f64 / 1024.0;
    let mut unit = 0;
    // By the whole number, not by the fraction, which may round up to 1024.
    while bytes >> (10 * (unit + 2)) > 0 && unit + 1 < UNITS.len() {
        amount /= 1024.0;
        unit += 1;
    }
    format!("{amount:.2}{}", UNITS[unit])
}

#[cfg(test)]
mod tests {
    use super::byte_text;

    #[test]
    fn units() {
        for (bytes, text) in [
            (0, "0B"),
            (1023, "1023B"),
            (1024, "1.00K"),
            (4728, "4.62K"),
            (1024 * 1024 - 1, "1024.00K"),
            (1024 * 1024, "1.00M"),
            (3 << 30, "3.00G"),
            (5 << 40, "5.00T"),
            (5 << 50, "5120.00T"),
        ] {
            assert_eq!(byte_text(bytes), text);
        }
    }
}
