//! Amounts of memory: the units of redis.conf, and the short form that INFO prints for people.

const UNITS: [(&[u8], u64); 8] = [
    (b"", 1),
    (b"b", 1),
    (b"k", 1000),
    (b"kb", 1024),
    (b"m", 1_000_000),
    (b"mb", 1 << 20),
    (b"g", 1_000_000_000),
    (b"gb", 1 << 30),
];

/// Reads `100`, `1k` (1000 bytes), `1kb` (1024 bytes), `5mb`, `1gb` and so on, in any letter case,
/// as redis.conf and CONFIG SET take them; the result is in bytes. A unit without a number is
/// zero, as in Redis. A negative, fractional or unknown form gives `None`, and so does an amount past `u64`
/// (where Redis wraps around).
pub fn parse(text: &[u8]) -> Option<u64> {
    let digits = text.iter().take_while(|byte| byte.is_ascii_digit()).count();
    let (number, unit) = text.split_at(digits);
    let (_, factor) = UNITS.iter().find(|(name, _)| unit.eq_ignore_ascii_case(name))?;
    let mut value: u64 = 0;
    for digit in number {
        value = value.checked_mul(10)?.checked_add(u64::from(digit - b'0'))?;
    }
    value.checked_mul(*factor)
}

/// The form of INFO's `*_human` fields: `512B`, `1.23M`; steps of 1024, two decimals.
pub fn human(bytes: u64) -> String {
    const STEPS: [char; 5] = ['K', 'M', 'G', 'T', 'P'];
    if bytes < 1024 {
        return format!("{bytes}B");
    }
    let mut scaled = bytes as f64 / 1024.0;
    let mut limit: u64 = 1 << 20;
    for (index, letter) in STEPS.iter().enumerate() {
        if bytes < limit {
            return format!("{scaled:.2}{letter}");
        }
        if index < STEPS.len() - 1 {
            scaled /= 1024.0;
            limit <<= 10;
        }
    }
    format!("{bytes}B")
}

#[cfg(test)]
mod tests {
    use super::{human, parse};

    #[test]
    fn units() {
        for (text, bytes) in [
            ("0", Some(0)),
            ("100", Some(100)),
            ("100b", Some(100)),
            ("1k", Some(1000)),
            ("1KB", Some(1024)),
            ("5Mb", Some(5 << 20)),
            ("1gb", Some(1 << 30)),
            ("2G", Some(2_000_000_000)),
            ("gb", Some(0)),
            ("-1", None),
            ("1.5gb", None),
            ("1tb", None),
            ("1 gb", None),
            ("18446744073709551615", Some(u64::MAX)),
            ("18446744073709551615k", None),
        ] {
            assert_eq!(parse(text.as_bytes()), bytes, "{text}");
        }
    }

    #[test]
    fn human_form() {
        for (bytes, text) in [
            (0, "0B"),
            (1023, "1023B"),
            (1024, "1.00K"),
            (1_289_748, "1.23M"),
            (1 << 30, "1.00G"),
            (3 << 40, "3.00T"),
            (3 << 50, "3.00P"),
            (1 << 60, "1152921504606846976B"),
        ] {
            assert_eq!(human(bytes), text);
        }
    }
}
