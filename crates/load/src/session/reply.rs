//! What a complete reply holds: the few things that a session must look into it for.

use resp::ReplyKind;

use crate::memcache;
use crate::plan::Protocol;

/// How many of a multi-key read's values are there.
pub(super) fn values(kind: ReplyKind, reply: &[u8], protocol: Protocol) -> u32 {
    match kind {
        ReplyKind::Array(count) if protocol.is_memcache() => count as u32,
        ReplyKind::Array(_) => strings(reply),
        ReplyKind::Bulk(_) => 1,
        _ => 0,
    }
}

/// The value of a read of one key; `None` when there is none.
pub(super) fn value(kind: ReplyKind, reply: &[u8], protocol: Protocol) -> Option<&[u8]> {
    match kind {
        ReplyKind::Bulk(_) if protocol.is_memcache() => memcache::value(protocol, reply),
        // The string is the end of the reply, but for its line end.
        ReplyKind::Bulk(length) => reply.get(reply.len().checked_sub(length + 2)?..reply.len() - 2),
        _ => None,
    }
}

/// The next cursor of an iteration: the first element of the reply.
pub(super) fn cursor(reply: &[u8]) -> Option<u64> {
    let text = lines(reply).nth(2)?;
    std::str::from_utf8(text).ok()?.parse().ok()
}

/// The strings among the elements of an array of strings and nulls.
fn strings(reply: &[u8]) -> u32 {
    let mut count = 0;
    let mut at = line_end(reply);
    while at < reply.len() {
        let end = at + line_end(&reply[at..]);
        let header = reply[at..end].trim_ascii_end();
        let length = header
            .strip_prefix(b"$")
            .and_then(|digits| std::str::from_utf8(digits).ok()?.parse::<usize>().ok());
        count += u32::from(length.is_some());
        at = end + length.map_or(0, |length| length + 2);
    }
    count
}

fn lines(reply: &[u8]) -> impl Iterator<Item = &[u8]> {
    reply.split(|byte| *byte == b'\n').map(|line| line.strip_suffix(b"\r").unwrap_or(line))
}

/// Length of the first line, its end included.
fn line_end(text: &[u8]) -> usize {
    text.iter().position(|byte| *byte == b'\n').map_or(text.len(), |at| at + 1)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn values_of_multi_key_reads_are_counted_without_looking_into_them() {
        let reply = b"*5\r\n$3\r\n$-1\r\n$-1\r\n$0\r\n\r\n_\r\n$4\r\n\n$9\r\r\n";
        assert_eq!(values(ReplyKind::Array(5), reply, Protocol::Resp3), 3);
        assert_eq!(values(ReplyKind::Array(2), b"", Protocol::MemcacheText), 2);
        assert_eq!(values(ReplyKind::Null, b"END\r\n", Protocol::MemcacheText), 0);
    }

    #[test]
    fn single_values_and_cursors_are_found() {
        let reply = b"$4\r\na\r\nb\r\n";
        let found = value(ReplyKind::Bulk(4), reply, Protocol::Resp2);
        assert_eq!(found, Some(&b"a\r\nb"[..]));
        assert_eq!(value(ReplyKind::Null, b"$-1\r\n", Protocol::Resp2), None);
        assert_eq!(cursor(b"*2\r\n$2\r\n17\r\n*0\r\n"), Some(17));
        assert_eq!(cursor(b"+OK\r\n"), None);
    }
}
