//! Where replies of memcached end, whole and in pieces.

use super::*;

/// The kinds of all replies in `input`, given one byte more at a time.
fn kinds(protocol: Protocol, input: &[u8]) -> Vec<ReplyKind> {
    let mut scanner = Scanner::new(protocol);
    let (mut start, mut found) = (0, Vec::new());
    for end in 1..=input.len() {
        while let Some(reply) = scanner.next(&input[start..end]).unwrap() {
            found.push(reply.kind);
            start += reply.consumed;
        }
    }
    assert_eq!(start, input.len());
    found
}

#[test]
fn text_replies_end_where_they_should() {
    let input = b"STORED\r\nEND\r\nVALUE k 0 5\r\na\r\nEN\r\nEND\r\n\
        VALUE a 0 1\r\n1\r\nVALUE b 7 0\r\n\r\nEND\r\nSERVER_ERROR out of memory\r\n";
    let error = ReplyKind::Error(Span { start: 0, end: 26 });
    assert_eq!(
        kinds(Protocol::MemcacheText, input),
        [ReplyKind::Ok, ReplyKind::Null, ReplyKind::Bulk(5), ReplyKind::Array(2), error]
    );
    assert_eq!(value(Protocol::MemcacheText, b"VALUE k 0 3\r\nabc\r\nEND\r\n"), Some(&b"abc"[..]));
}

#[test]
fn meta_replies_end_where_they_should() {
    let input = b"HD\r\nEN\r\nVA 2\r\nhi\r\nVA 1 O1\r\nx\r\nVA 1 O1\r\ny\r\nMN\r\nMN\r\nNS\r\n";
    assert_eq!(
        kinds(Protocol::MemcacheMeta, input),
        [
            ReplyKind::Ok,
            ReplyKind::Null,
            ReplyKind::Bulk(2),
            ReplyKind::Array(2),
            ReplyKind::Null,
            ReplyKind::Error(Span { start: 0, end: 2 }),
        ]
    );
    assert_eq!(value(Protocol::MemcacheMeta, b"VA 2\r\nhi\r\n"), Some(&b"hi"[..]));
}

fn binary(opcode: u8, status: u16, extras: u8, body: &[u8]) -> Vec<u8> {
    let mut bytes = vec![0; HEADER_BYTES];
    bytes[0] = REPLY_MAGIC;
    bytes[1] = opcode;
    bytes[4] = extras;
    bytes[6..8].copy_from_slice(&status.to_be_bytes());
    bytes[8..12].copy_from_slice(&(body.len() as u32).to_be_bytes());
    [bytes, body.to_vec()].concat()
}

#[test]
fn binary_replies_end_where_they_should() {
    let get = binary(OP_GET, 0, 4, b"\0\0\0\0abc");
    let input = [
        binary(OP_SET, 0, 0, b""),
        get.clone(),
        binary(OP_GET, 1, 0, b"Not found"),
        binary(OP_GETQ, 0, 4, b"\0\0\0\0a"),
        binary(OP_GETQ, 0, 4, b"\0\0\0\0b"),
        binary(OP_NOOP, 0, 0, b""),
        binary(OP_SET, 3, 0, b"Too large"),
    ]
    .concat();
    let error = ReplyKind::Error(Span { start: 24, end: 33 });
    assert_eq!(
        kinds(Protocol::MemcacheBinary, &input),
        [ReplyKind::Ok, ReplyKind::Bulk(3), ReplyKind::Null, ReplyKind::Array(2), error]
    );
    assert_eq!(value(Protocol::MemcacheBinary, &get), Some(&b"abc"[..]));
}

#[test]
fn what_is_no_reply_is_named() {
    for (protocol, input) in [
        (Protocol::MemcacheText, &b"+OK\r\n"[..]),
        (Protocol::MemcacheText, b"VALUE k 0 x\r\n"),
        (Protocol::MemcacheText, b"VALUE k 0 1\r\nabcd"),
        (Protocol::MemcacheText, b"STORED\n"),
        (Protocol::MemcacheBinary, b"STORED\r\n"),
    ] {
        assert!(Scanner::new(protocol).next(input).is_err(), "{}", input.escape_ascii());
    }
    let long = vec![b'A'; MAX_LINE_BYTES + 1];
    assert_eq!(Scanner::new(Protocol::MemcacheText).next(&long), Err(DecodeError::TooLong));
}

proptest::proptest! {
    #[test]
    fn any_bytes_are_a_reply_an_error_or_not_all_there(
        input in proptest::collection::vec(proptest::prelude::any::<u8>(), 0..200),
    ) {
        for protocol in [Protocol::MemcacheText, Protocol::MemcacheBinary] {
            if let Ok(Some(reply)) = Scanner::new(protocol).next(&input) {
                proptest::prop_assert!(reply.consumed <= input.len());
            }
        }
    }
}
