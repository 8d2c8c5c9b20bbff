//! Redis Cluster's key slots: CRC16 of the key, or of its hash tag, modulo 16384.

/// How many slots a cluster has.
pub const SLOT_COUNT: u16 = 16384;

/// CRC16/XMODEM (polynomial 0x1021, initial value 0): the variant that the cluster specification
/// names.
const TABLE: [u16; 256] = table();

/// The cluster slot of `key`: of the bytes between the first `{` and the next `}` when there are
/// any, else of the whole key.
pub fn key_slot(key: &[u8]) -> u16 {
    crc16(hash_tag(key)) % SLOT_COUNT
}

/// CRC16/XMODEM of `bytes`.
pub fn crc16(bytes: &[u8]) -> u16 {
    bytes.iter().fold(0, |crc: u16, &byte| (crc << 8) ^ TABLE[usize::from((crc >> 8) as u8 ^ byte)])
}

fn hash_tag(key: &[u8]) -> &[u8] {
    let Some(open) = memchr::memchr(b'{', key) else { return key };
    let tail = &key[open + 1..];
    match memchr::memchr(b'}', tail) {
        Some(close) if close > 0 => &tail[..close],
        _ => key,
    }
}

const fn table() -> [u16; 256] {
    let mut table = [0; 256];
    let mut index = 0;
    while index < 256 {
        let mut crc = (index as u16) << 8;
        let mut bit = 0;
        while bit < 8 {
            crc = if crc & 0x8000 != 0 { (crc << 1) ^ 0x1021 } else { crc << 1 };
            bit += 1;
        }
        table[index] = crc;
        index += 1;
    }
    table
}

#[cfg(test)]
mod tests {
    use super::{crc16, key_slot};

    /// The check value of the specification, and `CLUSTER KEYSLOT` answers of a real server.
    #[test]
    fn known_slots() {
        assert_eq!(crc16(b"123456789"), 0x31c3);
        for (key, slot) in [
            ("", 0),
            ("foo", 12182),
            ("bar", 5061),
            ("somekey", 11058),
            ("foo{hash_tag}", 2515),
            ("bar{hash_tag}", 2515),
            ("{user1000}.following", 3443),
            ("foo{}{bar}", 8363),
            ("foo{{bar}}zap", 4015),
            ("foo{bar}{zap}", 5061),
        ] {
            assert_eq!(key_slot(key.as_bytes()), slot, "{key}");
        }
    }
}
