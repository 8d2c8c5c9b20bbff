//! An encrypted stream over a socket that blocks, or over one that does not.
//!
//! What is written at once is encrypted at once, into as few records as hold it, and goes out in one write where the socket
//! takes it. Nothing leaves in clear: before the handshake is over, what is written waits.

use std::fmt;
use std::io::{self, Read, Write};

use rustls::ProtocolVersion;
use rustls::client::ClientConnection;

use super::{Connector, HandshakeError, suites};

/// Most bytes that are encrypted before the socket is asked again whether it takes any.
const WRITE_BYTES: usize = 256 << 10;

/// What client and server have agreed on.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Negotiated {
    /// `TLSv1.2` or `TLSv1.3`.
    pub version: &'static str,
    /// OpenSSL's name of the cipher suite.
    pub suite: &'static str,
}

impl fmt::Display for Negotiated {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(formatter, "{} {}", self.version, self.suite)
    }
}

/// A stream over the socket `S`.
#[derive(Debug)]
pub(crate) struct Encrypted<S> {
    connector: Connector,
    session: ClientConnection,
    socket: S,
    /// Something that the server meant for us has come: it did not hang up on the handshake.
    was_served: bool,
}

impl<S: Read + Write> Encrypted<S> {
    /// A stream that has not sent anything.
    pub(crate) fn new(connector: &Connector, socket: S) -> Result<Self, HandshakeError> {
        let session = connector.session()?;
        Ok(Self { connector: connector.clone(), session, socket, was_served: false })
    }

    /// The handshake, for sockets that block.
    pub(crate) fn handshake(&mut self) -> io::Result<()> {
        while self.session.is_handshaking() {
            self.flush()?;
            if !self.session.is_handshaking() {
                break;
            }
            match self.receive() {
                Ok(Received { count: 0, .. }) => {
                    return Err(self.closed().unwrap_or(HandshakeError::Closed).into_io());
                }
                Err(error) if error.kind() != io::ErrorKind::Interrupted => return Err(error),
                _ => {}
            }
        }
        self.flush()
    }

    /// Reads what has come, waiting for something if nothing has: for sockets that block.
    pub(crate) fn read_some(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        loop {
            match self.take(buffer) {
                Err(error) if error.kind() == io::ErrorKind::WouldBlock => {}
                taken => return taken,
            }
            self.receive()?;
        }
    }

    /// Fills the buffer, or empties the socket into it: for sockets that do not block. As with a plain socket, less
    /// than a full buffer means that the rest will be announced.
    pub(crate) fn read_all(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        let mut filled = 0;
        let mut is_empty = false;
        loop {
            match self.take(&mut buffer[filled..]) {
                Ok(0) => return Ok(filled),
                Ok(count) => filled += count,
                Err(error) if error.kind() == io::ErrorKind::WouldBlock && !is_empty => {
                    match self.receive() {
                        Ok(received) => is_empty = received.is_short,
                        Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
                        // It shows again at the next read, when nothing is in front of it.
                        Err(_) if filled > 0 => return Ok(filled),
                        Err(error) => return Err(error),
                    }
                    continue;
                }
                Err(_) if filled > 0 => return Ok(filled),
                Err(error) => return Err(error),
            }
            if filled == buffer.len() {
                return Ok(filled);
            }
        }
    }

    /// Takes some or all of the bytes. Those that are taken are on their way, or go by [`Encrypted::flush`].
    pub(crate) fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        // Only what the socket has no room for waits; what the handshake holds back has its place in the session.
        self.flush()?;
        let taken =
            if self.session.is_handshaking() { bytes.len() } else { bytes.len().min(WRITE_BYTES) };
        let taken = self.session.writer().write(&bytes[..taken])?;
        match self.flush() {
            Err(error) if error.kind() != io::ErrorKind::WouldBlock => Err(error),
            _ => Ok(taken),
        }
    }

    /// Sends what is encrypted and has not gone out.
    pub(crate) fn flush(&mut self) -> io::Result<()> {
        while self.session.wants_write() {
            match self.session.write_tls(&mut self.socket) {
                Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
                Err(error) if error.kind() == io::ErrorKind::WouldBlock => return Err(error),
                Err(error) => return Err(self.why(error)),
                Ok(_) => {}
            }
        }
        Ok(())
    }

    /// Whether something is encrypted and has not gone out.
    pub(crate) fn owes(&self) -> bool {
        self.session.wants_write()
    }

    /// Whether decrypted bytes are there that nobody has read.
    pub(crate) fn has_buffered(&mut self) -> bool {
        let read = self.session.process_new_packets();
        read.is_ok_and(|state| state.plaintext_bytes_to_read() > 0)
    }

    /// What was agreed on; `None` before the handshake is over.
    pub(crate) fn negotiated(&self) -> Option<Negotiated> {
        let version = match self.session.protocol_version()? {
            ProtocolVersion::TLSv1_2 => "TLSv1.2",
            ProtocolVersion::TLSv1_3 => "TLSv1.3",
            _ => "TLS",
        };
        let suite = suites::name(self.session.negotiated_cipher_suite()?.suite());
        Some(Negotiated { version, suite })
    }

    /// The socket below.
    pub(crate) fn socket(&self) -> &S {
        &self.socket
    }

    /// The socket below, to register it somewhere; reading or writing it breaks the session.
    pub(crate) fn socket_mut(&mut self) -> &mut S {
        &mut self.socket
    }

    /// The same session over another form of the socket.
    pub(crate) fn map<T>(
        self,
        change: impl FnOnce(S) -> io::Result<T>,
    ) -> io::Result<Encrypted<T>> {
        let Self { connector, session, socket, was_served } = self;
        Ok(Encrypted { connector, session, socket: change(socket)?, was_served })
    }

    /// Decrypted bytes that are there; 0 at the end.
    fn take(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        match self.session.reader().read(buffer) {
            Ok(0) if !buffer.is_empty() => self.end(),
            Ok(count) => {
                self.was_served = true;
                Ok(count)
            }
            // Many servers, Redis among them, close without a farewell.
            Err(error) if error.kind() == io::ErrorKind::UnexpectedEof => self.end(),
            Err(error) => Err(error),
        }
    }

    /// One read of the socket, decrypted.
    fn receive(&mut self) -> io::Result<Received> {
        let mut counting = Counting { socket: &mut self.socket, is_short: false };
        let count = match self.session.read_tls(&mut counting) {
            Ok(count) => count,
            Err(error)
                if matches!(
                    error.kind(),
                    io::ErrorKind::WouldBlock
                        | io::ErrorKind::Interrupted
                        | io::ErrorKind::TimedOut
                ) =>
            {
                return Err(error);
            }
            Err(error) => return Err(self.closed().map_or(error, HandshakeError::into_io)),
        };
        let is_short = counting.is_short;
        if let Err(error) = self.session.process_new_packets() {
            // The server is told why, if it still listens.
            let _ = self.session.write_tls(&mut self.socket);
            return Err(self.meaning(error).into_io());
        }
        if self.session.wants_write() {
            match self.flush() {
                Err(error) if error.kind() != io::ErrorKind::WouldBlock => return Err(error),
                _ => {}
            }
        }
        Ok(Received { count, is_short })
    }

    fn meaning(&self, error: rustls::Error) -> HandshakeError {
        match HandshakeError::new(error) {
            // TLS 1.2 has one alert for much.
            HandshakeError::NothingInCommon(_) | HandshakeError::CertificateRefused(_)
                if self.connector.lacks_certificate() =>
            {
                HandshakeError::CertificateWanted
            }
            meaning => meaning,
        }
    }

    fn end(&self) -> io::Result<usize> {
        self.closed().map_or(Ok(0), |error| Err(error.into_io()))
    }

    /// What it means that the server hung up, where that means more than the end.
    fn closed(&self) -> Option<HandshakeError> {
        if self.was_served {
            None
        } else if self.connector.lacks_certificate() {
            Some(HandshakeError::CertificateWanted)
        } else if self.session.is_handshaking() {
            Some(HandshakeError::Closed)
        } else {
            None
        }
    }

    /// Why a write failed: what the server said before it hung up, if it said anything.
    fn why(&mut self, error: io::Error) -> io::Error {
        loop {
            match self.session.read_tls(&mut self.socket) {
                Ok(1..) => {}
                _ => return self.closed().map_or(error, HandshakeError::into_io),
            }
            if let Err(error) = self.session.process_new_packets() {
                return self.meaning(error).into_io();
            }
        }
    }
}

/// What one read of the socket brought.
struct Received {
    count: usize,
    /// Less than there was room for, so that the socket is empty.
    is_short: bool,
}

/// A socket that knows whether the last read emptied it.
struct Counting<'a, S> {
    socket: &'a mut S,
    is_short: bool,
}

impl<S: Read> Read for Counting<'_, S> {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        let count = self.socket.read(buffer)?;
        self.is_short = count < buffer.len();
        Ok(count)
    }
}
