//! A hash tag for every slot: what `{tag}` in a command is replaced by, so that its key lies on a given node.

use text::slot::{SLOT_COUNT, crc16};

/// What is replaced.
pub const PLACEHOLDER: &[u8] = b"{tag}";
/// Letters and digits: nothing that ends a tag or needs quotes.
const ALPHABET: &[u8; 62] = b"0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz";

/// One tag of three characters for each slot, so that commands keep their length.
#[derive(Debug, Clone)]
pub struct Tags {
    tags: Box<[[u8; 3]]>,
}

impl Tags {
    /// The table; takes some milliseconds.
    pub fn new() -> Self {
        let mut tags = vec![[0; 3]; usize::from(SLOT_COUNT)];
        let mut missing = tags.len();
        for first in ALPHABET {
            for second in ALPHABET {
                for third in ALPHABET {
                    let tag = [*first, *second, *third];
                    let slot = usize::from(crc16(&tag) % SLOT_COUNT);
                    if tags[slot] == [0; 3] {
                        tags[slot] = tag;
                        missing -= 1;
                    }
                }
                if missing == 0 {
                    return Self { tags: tags.into() };
                }
            }
        }
        Self { tags: tags.into() }
    }

    /// Replaces every placeholder in `bytes` by the tag of this slot.
    pub fn put(&self, slot: u16, bytes: &mut [u8]) {
        let tag = self.tags[usize::from(slot % SLOT_COUNT)];
        let mut from = 0;
        while let Some(at) = memchr::memmem::find(&bytes[from..], PLACEHOLDER) {
            let start = from + at + 1;
            bytes[start..start + tag.len()].copy_from_slice(&tag);
            from = start + tag.len();
        }
    }
}

#[cfg(test)]
mod tests {
    use text::slot::key_slot;

    use super::*;

    #[test]
    fn every_slot_has_a_tag_that_leads_to_it() {
        let tags = Tags::new();
        for slot in 0..SLOT_COUNT {
            let mut key = b"key:{tag}:000000000001".to_vec();
            tags.put(slot, &mut key);
            assert_eq!(key_slot(&key), slot);
        }
    }

    #[test]
    fn all_placeholders_are_replaced_and_nothing_else() {
        let tags = Tags::new();
        let mut bytes = b"{tag}a{tags}{tag}".to_vec();
        tags.put(7, &mut bytes);
        assert_eq!(&bytes[5..12], b"a{tags}");
        assert_eq!(bytes[..5], bytes[12..]);
        assert_eq!(key_slot(&bytes), 7);
    }
}
