//! One connection's requests in order, with their bytes until they are answered: what is still to be written, whose reply
//! comes next, and what is to be sent again when the connection breaks. No I/O here.

use std::collections::VecDeque;

use resp::{DecodeError, ReplyKind, ReplyScanner, Scanned};

use super::request::Request;

/// Bytes of answered requests that may lie in front of the others before these are moved up.
const SLACK_BYTES: usize = 64 << 10;
/// Most bytes of one reply, as in sessions without a cluster.
const REPLY_BYTES_MAX: usize = 1 << 30;

/// What was put into a pipe.
#[derive(Debug)]
pub(super) enum Sent {
    /// A command that comes first on every connection.
    Prefix,
    /// What makes a node take the request behind it though the slot is not its own yet.
    Asking,
    /// A request of the load.
    Request(Request),
}

/// A reply, and what it answers.
#[derive(Debug)]
pub(super) struct Answer {
    /// What was sent; `None` for out-of-band data, which answers nothing.
    pub(super) sent: Option<Sent>,
    /// The reply; spans are offsets into the input given.
    pub(super) kind: ReplyKind,
    /// Bytes of the input that it takes.
    pub(super) consumed: usize,
    /// Bytes of what was sent, for [`Pipe::passed`].
    pub(super) length: usize,
}

/// Requests on their way over one connection.
#[derive(Debug, Default)]
pub(super) struct Pipe {
    bytes: Vec<u8>,
    /// Where the bytes of the first request without a reply begin.
    head: usize,
    /// How far the bytes have been written.
    written: usize,
    waiting: VecDeque<(Sent, usize)>,
    scanner: ReplyScanner,
    /// The beginning of a reply whose rest has not come.
    partial: Vec<u8>,
}

impl Pipe {
    /// Puts something in at the end.
    pub(super) fn push(&mut self, sent: Sent, bytes: &[u8]) {
        if self.waiting.is_empty() && self.written == self.bytes.len() {
            self.bytes.clear();
            (self.head, self.written) = (0, 0);
        } else if self.head > SLACK_BYTES && self.head > self.bytes.len() / 2 {
            self.bytes.drain(..self.head);
            self.written -= self.head;
            self.head = 0;
        }
        self.bytes.extend_from_slice(bytes);
        self.waiting.push_back((sent, bytes.len()));
    }

    /// What is to be written next.
    pub(super) fn unwritten(&self) -> &[u8] {
        &self.bytes[self.written..]
    }

    /// Takes note that this many bytes have been written.
    pub(super) fn wrote(&mut self, count: usize) {
        self.written += count;
    }

    /// True when nothing waits for a reply.
    pub(super) fn is_idle(&self) -> bool {
        self.waiting.is_empty()
    }

    /// What waits for a reply, in order.
    pub(super) fn waiting(&self) -> impl Iterator<Item = &Request> {
        self.waiting.iter().filter_map(|(sent, _)| match sent {
            Sent::Request(request) => Some(request),
            Sent::Prefix | Sent::Asking => None,
        })
    }

    /// The beginning of a reply that came before; what comes now is to be put behind it.
    pub(super) fn take_partial(&mut self) -> Vec<u8> {
        std::mem::take(&mut self.partial)
    }

    /// Keeps what [`Pipe::next`] did not take.
    pub(super) fn keep_partial(&mut self, rest: &[u8]) {
        self.partial.extend_from_slice(rest);
    }

    /// The next reply in `input`; `None` when it is not all there, or nothing is.
    ///
    /// # Errors
    /// What is no reply; [`NextError::Unasked`] for a reply that nothing waits for.
    pub(super) fn next(&mut self, input: &[u8]) -> Result<Option<Answer>, NextError> {
        let found = match self.scanner.next(input) {
            Ok(Some(found)) => found,
            Ok(None) if input.len() > REPLY_BYTES_MAX => {
                return Err(NextError::Garbage(DecodeError::TooLong));
            }
            Ok(None) => return Ok(None),
            Err(error) => return Err(NextError::Garbage(error)),
        };
        let Scanned { kind, consumed } = found;
        if matches!(kind, ReplyKind::Push(_)) {
            return Ok(Some(Answer { sent: None, kind, consumed, length: 0 }));
        }
        let Some((sent, length)) = self.waiting.pop_front() else {
            return Err(NextError::Unasked);
        };
        self.head += length;
        Ok(Some(Answer { sent: Some(sent), kind, consumed, length }))
    }

    /// The bytes of the request that was answered last; good until the next one is put in.
    pub(super) fn passed(&self, length: usize) -> &[u8] {
        &self.bytes[self.head - length..self.head]
    }

    /// Takes everything out that waits for a reply, with its bytes, and starts over for a new connection.
    pub(super) fn empty(&mut self) -> Vec<(Request, Vec<u8>)> {
        let mut requests = Vec::new();
        let mut at = self.head;
        for (sent, length) in std::mem::take(&mut self.waiting) {
            if let Sent::Request(request) = sent {
                requests.push((request, self.bytes[at..at + length].to_vec()));
            }
            at += length;
        }
        *self = Self::default();
        requests
    }
}

/// Why a connection's input can't be used.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum NextError {
    /// It is no reply.
    Garbage(DecodeError),
    /// A reply without a request.
    Unasked,
}

#[cfg(test)]
mod tests {
    use super::*;

    fn request(command: usize) -> Sent {
        Sent::Request(Request { command, ..Request::default() })
    }

    fn command_of(answer: &Answer) -> Option<usize> {
        match &answer.sent {
            Some(Sent::Request(request)) => Some(request.command),
            _ => None,
        }
    }

    #[test]
    fn replies_meet_their_requests_and_their_bytes() {
        let mut pipe = Pipe::default();
        pipe.push(Sent::Asking, b"A");
        pipe.push(request(1), b"one");
        pipe.push(request(2), b"second");
        assert_eq!(pipe.unwritten(), b"Aonesecond");
        pipe.wrote(10);
        let input = b"+OK\r\n>1\r\n+x\r\n-MOVED 1 h:1\r\n";
        let asking = pipe.next(input).unwrap().unwrap();
        assert!(matches!(asking.sent, Some(Sent::Asking)));
        let push = pipe.next(&input[asking.consumed..]).unwrap().unwrap();
        assert!(push.sent.is_none());
        let rest = &input[asking.consumed + push.consumed..];
        let moved = pipe.next(rest).unwrap().unwrap();
        assert_eq!((command_of(&moved), moved.consumed), (Some(1), rest.len()));
        assert_eq!(pipe.passed(moved.length), b"one");
        let ReplyKind::Error(span) = moved.kind else { panic!() };
        assert_eq!(span.of(rest), b"MOVED 1 h:1");
        assert!(pipe.next(b"").unwrap().is_none());
        assert!(!pipe.is_idle());
        let left = pipe.empty();
        assert_eq!((left.len(), left[0].0.command, left[0].1.as_slice()), (1, 2, &b"second"[..]));
        assert!(pipe.is_idle() && pipe.unwritten().is_empty());
    }

    #[test]
    fn bytes_of_answered_requests_do_not_pile_up() {
        let mut pipe = Pipe::default();
        let large = vec![b'x'; 50_000];
        pipe.push(request(0), &large);
        for nth in 1..100 {
            pipe.push(request(nth), &large);
            pipe.wrote(pipe.unwritten().len());
            let answer = pipe.next(b"+OK\r\n").unwrap().unwrap();
            assert_eq!(command_of(&answer), Some(nth - 1));
            assert_eq!(pipe.passed(answer.length), large);
        }
        assert!(pipe.bytes.len() <= 300_000, "{}", pipe.bytes.len());
    }

    #[test]
    fn a_reply_without_a_request_and_garbage_are_errors() {
        let mut pipe = Pipe::default();
        assert_eq!(pipe.next(b"+OK\r\n").unwrap_err(), NextError::Unasked);
        assert!(matches!(Pipe::default().next(b"what").unwrap_err(), NextError::Garbage(_)));
    }
}
