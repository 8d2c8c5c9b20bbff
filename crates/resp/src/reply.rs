//! Writes replies in RESP2 or RESP3, whichever the connection speaks.
//!
//! In RESP2 the newer types appear as Redis lets them: maps as flat arrays, sets and pushes as
//! arrays, doubles, big numbers and verbatim texts as bulk strings, booleans as 1 and 0.

use crate::output::OutputBuffer;
use std::sync::Arc;

/// The longest header, in bytes: type, sign, digits of a 64-bit number, line end.
const MAX_HEADER: usize = 24;
/// What a deferred header reserves: enough for one digit, the commonest case.
const DEFERRED_LEN: usize = 4;

/// The protocol version that a connection has chosen with HELLO.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum Protocol {
    /// Version 2, with which every connection starts.
    #[default]
    Resp2,
    /// Version 3.
    Resp3,
}

/// The aggregate types, in terms of RESP3.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Aggregate {
    /// Elements in order.
    Array,
    /// Pairs of key and value; the count is that of the pairs.
    Map,
    /// Distinct elements.
    Set,
    /// Out-of-band data.
    Push,
}

/// The place of a header whose count is not known yet.
#[derive(Debug)]
#[must_use = "a deferred header must be finished"]
pub struct Deferred {
    offset: usize,
    kind: Aggregate,
}

/// Appends replies to the output of a connection.
#[derive(Debug)]
pub struct Reply<'a> {
    out: &'a mut OutputBuffer,
    protocol: Protocol,
}

impl<'a> Reply<'a> {
    /// A writer behind what `out` holds already.
    #[inline]
    pub fn new(out: &'a mut OutputBuffer, protocol: Protocol) -> Self {
        Self { out, protocol }
    }

    /// The protocol that is written.
    #[inline]
    pub fn protocol(&self) -> Protocol {
        self.protocol
    }

    /// What follows is written in `protocol` (HELLO).
    pub fn set_protocol(&mut self, protocol: Protocol) {
        self.protocol = protocol;
    }

    /// The buffer written to.
    pub fn output(&mut self) -> &mut OutputBuffer {
        self.out
    }

    /// `+OK`.
    #[inline]
    pub fn ok(&mut self) {
        self.out.bytes.extend_from_slice(b"+OK\r\n");
    }

    /// Replies that are in wire form already.
    #[inline]
    pub fn raw(&mut self, bytes: &[u8]) {
        self.out.raw(bytes);
    }

    /// A status; `text` holds no line end.
    pub fn simple(&mut self, text: &[u8]) {
        self.line(b'+', text);
    }

    /// An error; `text` starts with its code (`ERR …`). As in Redis, line ends at its end are cut, and
    /// become spaces elsewhere.
    pub fn error(&mut self, text: &[u8]) {
        let is_line_end = |byte: &u8| matches!(byte, b'\r' | b'\n');
        let start = text.iter().take_while(|byte| is_line_end(byte)).count();
        let end = text.iter().rposition(|byte| !is_line_end(byte)).map_or(start, |last| last + 1);
        let bytes = &mut self.out.bytes;
        bytes.push(b'-');
        bytes.extend(text[start..end].iter().map(|b| if is_line_end(b) { b' ' } else { *b }));
        bytes.extend_from_slice(b"\r\n");
    }

    /// An integer.
    #[inline]
    pub fn integer(&mut self, value: i64) {
        if let digit @ 0..=9 = value {
            self.out.bytes.extend_from_slice(&[b':', b'0' + digit as u8, b'\r', b'\n']);
        } else {
            self.line(b':', itoa::Buffer::new().format(value).as_bytes());
        }
    }

    /// A count of something, as an integer.
    #[inline]
    pub fn count(&mut self, value: usize) {
        self.integer(i64::try_from(value).unwrap_or(i64::MAX));
    }

    /// A binary-safe string.
    #[inline]
    pub fn bulk(&mut self, value: &[u8]) {
        let bytes = &mut self.out.bytes;
        bytes.reserve(value.len() + MAX_HEADER + 2);
        push_header(bytes, b'$', value.len());
        bytes.extend_from_slice(value);
        bytes.extend_from_slice(b"\r\n");
    }

    /// A binary-safe string that shares its bytes with the data set when it is large.
    pub fn bulk_shared(&mut self, value: &Arc<Vec<u8>>) {
        push_header(&mut self.out.bytes, b'$', value.len());
        self.out.shared(value);
        self.out.bytes.extend_from_slice(b"\r\n");
    }

    /// A binary-safe string of at most 99 bytes, which `write` appends: for texts that are made on
    /// the spot, without a buffer of their own.
    #[inline]
    pub fn bulk_written(&mut self, write: impl FnOnce(&mut Vec<u8>)) {
        const HEADER: &[u8; 5] = b"$00\r\n";
        let bytes = &mut self.out.bytes;
        let start = bytes.len();
        bytes.extend_from_slice(HEADER);
        let text = bytes.len();
        write(bytes);
        let len = bytes.len() - text;
        debug_assert!(len < 100, "{len} bytes need a longer header");
        let ones = b'0' + (len % 10) as u8;
        if len < 10 {
            bytes[start + 1] = ones;
            bytes.copy_within(start + 3.., start + 2);
            bytes.pop();
        } else {
            bytes[start + 1] = b'0' + (len / 10) as u8;
            bytes[start + 2] = ones;
        }
        bytes.extend_from_slice(b"\r\n");
    }

    /// An integer in the form of a bulk string, as GET replies for a counter.
    #[inline]
    pub fn bulk_integer(&mut self, value: i64) {
        self.bulk(itoa::Buffer::new().format(value).as_bytes());
    }

    /// No value, where a string would stand.
    #[inline]
    pub fn null(&mut self) {
        self.out.bytes.extend_from_slice(match self.protocol {
            Protocol::Resp2 => b"$-1\r\n",
            Protocol::Resp3 => b"_\r\n",
        });
    }

    /// No value, where an array would stand.
    pub fn null_array(&mut self) {
        self.out.bytes.extend_from_slice(match self.protocol {
            Protocol::Resp2 => b"*-1\r\n",
            Protocol::Resp3 => b"_\r\n",
        });
    }

    /// The header of an array; `count` elements are to follow.
    #[inline]
    pub fn array(&mut self, count: usize) {
        push_header(&mut self.out.bytes, b'*', count);
    }

    /// The header of a map; `pairs` times a key and a value are to follow.
    pub fn map(&mut self, pairs: usize) {
        self.aggregate(Aggregate::Map, pairs);
    }

    /// The header of a set; `count` elements are to follow.
    pub fn set(&mut self, count: usize) {
        self.aggregate(Aggregate::Set, count);
    }

    /// The header of out-of-band data; `count` elements are to follow.
    pub fn push(&mut self, count: usize) {
        self.aggregate(Aggregate::Push, count);
    }

    /// The header of attributes: `pairs` times a key and a value are to follow, then the reply
    /// that they belong to. RESP2 has none: when the result is `false`, write none of it.
    #[must_use]
    pub fn attribute(&mut self, pairs: usize) -> bool {
        let known = self.protocol == Protocol::Resp3;
        if known {
            push_header(&mut self.out.bytes, b'|', pairs);
        }
        known
    }

    /// The header of an aggregate of any kind; a map's `count` is that of its pairs.
    pub fn aggregate(&mut self, kind: Aggregate, count: usize) {
        let (marker, count) = self.header(kind, count);
        push_header(&mut self.out.bytes, marker, count);
    }

    /// Leaves room for the header of an aggregate whose count is found out while it is written;
    /// [`finish`](Self::finish) puts it there. Deferred aggregates may be nested.
    pub fn deferred(&mut self, kind: Aggregate) -> Deferred {
        let offset = self.out.bytes.len();
        self.out.bytes.extend_from_slice(&[0; DEFERRED_LEN]);
        Deferred { offset, kind }
    }

    /// Writes the header that `deferred` left open, now that its `count` is known.
    pub fn finish(&mut self, deferred: Deferred, count: usize) {
        let (marker, count) = self.header(deferred.kind, count);
        let mut header = Vec::with_capacity(MAX_HEADER);
        push_header(&mut header, marker, count);
        self.out.splice(deferred.offset, DEFERRED_LEN, &header);
    }

    /// A floating point number, in the form of [`text::float::push`].
    pub fn double(&mut self, value: f64) {
        match self.protocol {
            Protocol::Resp2 => self.bulk_written(|bytes| text::float::push(bytes, value)),
            Protocol::Resp3 => {
                self.out.bytes.push(b',');
                text::float::push(&mut self.out.bytes, value);
                self.out.bytes.extend_from_slice(b"\r\n");
            }
        }
    }

    /// A boolean.
    pub fn boolean(&mut self, value: bool) {
        self.out.bytes.extend_from_slice(match (self.protocol, value) {
            (Protocol::Resp2, true) => b":1\r\n",
            (Protocol::Resp2, false) => b":0\r\n",
            (Protocol::Resp3, true) => b"#t\r\n",
            (Protocol::Resp3, false) => b"#f\r\n",
        });
    }

    /// An integer of any size, given in decimal.
    pub fn big_number(&mut self, digits: &[u8]) {
        match self.protocol {
            Protocol::Resp2 => self.bulk(digits),
            Protocol::Resp3 => self.line(b'(', digits),
        }
    }

    /// A text for people; `format` is `txt` or `mkd`.
    pub fn verbatim(&mut self, format: [u8; 3], value: &[u8]) {
        match self.protocol {
            Protocol::Resp2 => self.bulk(value),
            Protocol::Resp3 => {
                let bytes = &mut self.out.bytes;
                push_header(bytes, b'=', value.len() + 4);
                bytes.extend_from_slice(&format);
                bytes.push(b':');
                bytes.extend_from_slice(value);
                bytes.extend_from_slice(b"\r\n");
            }
        }
    }

    /// The marker and count that `kind` has in the connection's protocol.
    fn header(&self, kind: Aggregate, count: usize) -> (u8, usize) {
        match (self.protocol, kind) {
            (Protocol::Resp2, Aggregate::Map) => (b'*', count * 2),
            (Protocol::Resp2, _) | (_, Aggregate::Array) => (b'*', count),
            (Protocol::Resp3, Aggregate::Map) => (b'%', count),
            (Protocol::Resp3, Aggregate::Set) => (b'~', count),
            (Protocol::Resp3, Aggregate::Push) => (b'>', count),
        }
    }

    fn line(&mut self, marker: u8, text: &[u8]) {
        let bytes = &mut self.out.bytes;
        bytes.reserve(text.len() + 3);
        bytes.push(marker);
        bytes.extend_from_slice(text);
        bytes.extend_from_slice(b"\r\n");
    }
}

/// Appends a type byte, a length and a line end; lengths of one and two digits, nearly all there
/// are, go out as one constant-size copy.
#[inline]
pub(crate) fn push_header(out: &mut Vec<u8>, marker: u8, len: usize) {
    if len < 10 {
        out.extend_from_slice(&[marker, b'0' + len as u8, b'\r', b'\n']);
    } else if len < 100 {
        let (tens, ones) = (len as u8 / 10, len as u8 % 10);
        out.extend_from_slice(&[marker, b'0' + tens, b'0' + ones, b'\r', b'\n']);
    } else {
        out.push(marker);
        out.extend_from_slice(itoa::Buffer::new().format(len).as_bytes());
        out.extend_from_slice(b"\r\n");
    }
}

#[cfg(test)]
mod tests {
    use super::{Aggregate, Protocol, Reply};
    use crate::output::{OutputBuffer, SHARED_THRESHOLD};
    use std::sync::Arc;

    fn written(protocol: Protocol, write: impl FnOnce(&mut Reply<'_>)) -> String {
        let mut out = OutputBuffer::new();
        write(&mut Reply::new(&mut out, protocol));
        String::from_utf8(out.to_vec()).expect("text")
    }

    /// The two wire forms of what `write` writes.
    fn both(write: impl Fn(&mut Reply<'_>)) -> (String, String) {
        (written(Protocol::Resp2, &write), written(Protocol::Resp3, &write))
    }

    fn pair(resp2: &str, resp3: &str) -> (String, String) {
        (resp2.to_owned(), resp3.to_owned())
    }

    #[test]
    fn forms_in_both_protocols() {
        let same = |text: &str| pair(text, text);
        assert_eq!(both(|r| r.ok()), same("+OK\r\n"));
        assert_eq!(both(|r| r.simple(b"PONG")), same("+PONG\r\n"));
        assert_eq!(both(|r| r.error(b"ERR a\r\nb\n")), same("-ERR a  b\r\n"));
        assert_eq!(both(|r| r.error(b"\r\n")), same("-\r\n"));
        for value in [0, 9, 10, -1, i64::MIN, i64::MAX] {
            assert_eq!(both(|r| r.integer(value)), same(&format!(":{value}\r\n")));
        }
        for len in [0, 1, 9, 10, 64, 99, 100, 12345] {
            let text = "v".repeat(len);
            assert_eq!(both(|r| r.bulk(text.as_bytes())), same(&format!("${len}\r\n{text}\r\n")));
        }
        assert_eq!(both(|r| r.bulk_integer(-12)), same("$3\r\n-12\r\n"));
        assert_eq!(both(|r| r.null()), pair("$-1\r\n", "_\r\n"));
        assert_eq!(both(|r| r.null_array()), pair("*-1\r\n", "_\r\n"));
        assert_eq!(both(|r| r.array(3)), same("*3\r\n"));
        assert_eq!(both(|r| r.map(50)), pair("*100\r\n", "%50\r\n"));
        assert_eq!(both(|r| r.set(2)), pair("*2\r\n", "~2\r\n"));
        assert_eq!(both(|r| r.push(3)), pair("*3\r\n", ">3\r\n"));
        assert_eq!(
            both(|r| assert!(r.attribute(1) == (r.protocol() == Protocol::Resp3))),
            pair("", "|1\r\n")
        );
        assert_eq!(both(|r| r.double(0.5)), pair("$3\r\n0.5\r\n", ",0.5\r\n"));
        for text in ["", "1", "123456789", "1234567890", &"x".repeat(99)] {
            let written = same(&format!("${}\r\n{text}\r\n", text.len()));
            assert_eq!(both(|r| r.bulk_written(|out| out.extend(text.bytes()))), written);
        }
        assert_eq!(both(|r| r.double(f64::INFINITY)), pair("$3\r\ninf\r\n", ",inf\r\n"));
        assert_eq!(both(|r| r.boolean(true)), pair(":1\r\n", "#t\r\n"));
        assert_eq!(both(|r| r.boolean(false)), pair(":0\r\n", "#f\r\n"));
        assert_eq!(both(|r| r.big_number(b"12")), pair("$2\r\n12\r\n", "(12\r\n"));
        assert_eq!(both(|r| r.verbatim(*b"txt", b"Hi")), pair("$2\r\nHi\r\n", "=6\r\ntxt:Hi\r\n"));
    }

    #[test]
    fn deferred_headers_nest_and_keep_shared_values_in_place() {
        let large = Arc::new(vec![b'x'; SHARED_THRESHOLD]);
        for inner_count in [0usize, 9, 10, 200] {
            let mut out = OutputBuffer::new();
            let mut reply = Reply::new(&mut out, Protocol::Resp3);
            reply.ok();
            let outer = reply.deferred(Aggregate::Array);
            reply.bulk_shared(&large);
            let inner = reply.deferred(Aggregate::Map);
            for _ in 0..inner_count {
                reply.integer(1);
                reply.bulk_shared(&large);
            }
            reply.finish(inner, inner_count);
            reply.finish(outer, 1234);

            let value = [format!("${SHARED_THRESHOLD}\r\n").as_bytes(), &large, b"\r\n"].concat();
            let mut expected = b"+OK\r\n*1234\r\n".to_vec();
            expected.extend_from_slice(&value);
            expected.extend_from_slice(format!("%{inner_count}\r\n").as_bytes());
            for _ in 0..inner_count {
                expected.extend_from_slice(b":1\r\n");
                expected.extend_from_slice(&value);
            }
            assert!(out.to_vec() == expected, "{inner_count}");
            assert_eq!(out.len_bytes(), expected.len());
        }
    }
}
