//! Replies: scanner and decoder agree on every border, whole and in pieces.
#![no_main]

use libfuzzer_sys::fuzz_target;
use resp::{ReplyScanner, ValueDecoder};

fuzz_target!(|data: &[u8]| {
    let Some((&cut, input)) = data.split_first() else { return };
    let cut = usize::from(cut).min(input.len());
    let (mut scanner, mut decoder) = (ReplyScanner::new(), ValueDecoder::new());
    let mut start = 0;
    for end in [cut, input.len()] {
        while start < end {
            let buffer = &input[start..end];
            let scanned = scanner.next(buffer);
            match decoder.next(buffer) {
                Ok(Some((_, consumed))) => {
                    let scanned = scanned.expect("the decoder took it").expect("complete");
                    assert_eq!(scanned.consumed, consumed);
                    assert!(consumed > 0 && consumed <= buffer.len());
                    start += consumed;
                }
                Ok(None) => {
                    assert_eq!(scanned, Ok(None));
                    break;
                }
                Err(_) => return,
            }
        }
    }
});
