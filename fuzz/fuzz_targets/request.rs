//! Requests: arrival in two pieces gives the commands and the error that arrival at once gives.
#![no_main]

use libfuzzer_sys::fuzz_target;
use resp::{Args, Limits, Parsed, ProtocolError, RequestParser};

/// The commands of `input`, of which the first `cut` bytes come first.
fn parse(input: &[u8], cut: usize) -> (Vec<Vec<Vec<u8>>>, Option<ProtocolError>) {
    let (mut parser, limits) = (RequestParser::new(), Limits::default());
    let (mut commands, mut start, mut spans) = (Vec::new(), 0, Vec::new());
    for end in [cut, input.len()] {
        loop {
            let buffer = &input[start..end];
            spans.clear();
            let (consumed, bytes) = match parser.next(&limits, buffer, &mut spans) {
                Ok(Parsed::Complete { consumed }) => (consumed, buffer),
                Ok(Parsed::CompleteUnquoted { consumed }) => (consumed, parser.unquoted()),
                Ok(Parsed::Empty { consumed }) => (consumed, buffer),
                Ok(Parsed::Incomplete { .. }) => break,
                Err(error) => return (commands, Some(error)),
            };
            assert!(consumed > 0 && consumed <= buffer.len());
            if !spans.is_empty() {
                commands.push(Args::new(bytes, &spans).iter().map(<[u8]>::to_vec).collect());
            }
            start += consumed;
        }
    }
    (commands, None)
}

fuzz_target!(|data: &[u8]| {
    let Some((&cut, input)) = data.split_first() else { return };
    let cut = usize::from(cut).min(input.len());
    assert_eq!(parse(input, cut), parse(input, input.len()));
});
