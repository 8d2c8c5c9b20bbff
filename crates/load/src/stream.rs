//! A connection to a target that blocks: TCP, Unix socket or TLS behind one type.
//!
//! Whoever wants to talk to a server one command at a time begins here. Nothing is sent by it but the handshake of TLS:
//! `AUTH` and the like are for those who use it, or for [`crate::connect`], which puts the commands of a plan in front.

use std::io::{self, Read, Write};
use std::net::{SocketAddr, TcpStream, ToSocketAddrs};
use std::os::fd::{AsFd, BorrowedFd};
use std::os::unix::net::UnixStream;
use std::path::PathBuf;
use std::time::Duration;

use crate::error::RunError;
use crate::plan::{Address, Target};
use crate::tls::{Connector, Encrypted, HandshakeError, Negotiated};

/// Longest wait for a connection to be accepted, and for each answer of a handshake.
const CONNECT_TIMEOUT: Duration = Duration::from_secs(10);

/// Makes connections to one target: the files that TLS needs are read once.
#[derive(Debug, Clone)]
pub struct Dialer {
    address: Address,
    connector: Option<Connector>,
    patience: Duration,
}

/// A blocking connection. It closes when it is dropped.
#[derive(Debug)]
pub struct Stream {
    kind: Kind,
    peer: Peer,
}

#[derive(Debug)]
enum Kind {
    Plain(Socket),
    // A session is large, and plain streams should not be.
    Encrypted(Box<Encrypted<Socket>>),
}

/// A socket that blocks.
#[derive(Debug)]
pub(crate) enum Socket {
    Tcp(TcpStream),
    Unix(UnixStream),
}

/// A place that connections can be made to without resolving it again.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum Peer {
    Tcp(SocketAddr),
    Unix(PathBuf),
}

impl Dialer {
    /// A dialer of this target, whose files of certificates and keys have been read.
    ///
    /// # Errors
    /// [`RunError::TlsSettings`].
    pub fn new(target: &Target) -> Result<Self, RunError> {
        Ok(Self {
            address: target.address.clone(),
            connector: Connector::new(target)?,
            patience: CONNECT_TIMEOUT,
        })
    }

    /// The same with another longest wait for a connection to be accepted, and for each answer of a handshake.
    pub fn within(self, patience: Duration) -> Self {
        Self { patience, ..self }
    }

    /// Makes a connection; with TLS the handshake is over when it returns. Reads and writes wait for ever
    /// until [`Stream::set_read_timeout`] says otherwise.
    ///
    /// # Errors
    /// [`RunError::Resolve`], [`RunError::Connect`], [`RunError::Tls`].
    pub fn dial(&self) -> Result<Stream, RunError> {
        let (socket, peer) = connect(&self.address, self.patience)?;
        let Some(connector) = &self.connector else {
            return Ok(Stream { kind: Kind::Plain(socket), peer });
        };
        let failed = |source| RunError::Tls { address: self.address.to_string(), source };
        let mut encrypted = Encrypted::new(connector, socket).map_err(failed)?;
        encrypted.socket().set_read_timeout(Some(self.patience))?;
        encrypted.handshake().map_err(|error| match error.kind() {
            io::ErrorKind::WouldBlock | io::ErrorKind::TimedOut => {
                failed(HandshakeError::Silent(self.patience))
            }
            io::ErrorKind::ConnectionReset | io::ErrorKind::BrokenPipe => {
                failed(HandshakeError::Closed)
            }
            _ => RunError::lost(&self.address, error),
        })?;
        encrypted.socket().set_read_timeout(None)?;
        Ok(Stream { kind: Kind::Encrypted(Box::new(encrypted)), peer })
    }

    /// The first place that the address leads to.
    pub(crate) fn resolve(&self) -> Result<Peer, RunError> {
        match &self.address {
            Address::Unix { path } => Ok(Peer::Unix(path.into())),
            Address::Tcp { host, port } => {
                let error =
                    |source| RunError::Resolve { address: self.address.to_string(), source };
                let mut found = (host.as_str(), *port).to_socket_addrs().map_err(error)?;
                let none = || error(io::Error::from(io::ErrorKind::NotFound));
                found.next().map(Peer::Tcp).ok_or_else(none)
            }
        }
    }

    pub(crate) fn connector(&self) -> Option<&Connector> {
        self.connector.as_ref()
    }
}

impl Stream {
    /// Makes a single connection: [`Dialer::new`] and [`Dialer::dial`].
    ///
    /// # Errors
    /// Those of both.
    pub fn open(target: &Target) -> Result<Self, RunError> {
        Dialer::new(target)?.dial()
    }

    /// How long a read waits: `None` for ever. A read that has waited in vain fails with
    /// [`io::ErrorKind::WouldBlock`] or [`io::ErrorKind::TimedOut`], and nothing is lost.
    ///
    /// # Errors
    /// What the system says.
    pub fn set_read_timeout(&self, timeout: Option<Duration>) -> io::Result<()> {
        self.socket().set_read_timeout(timeout)
    }

    /// Whether reads and writes fail with [`io::ErrorKind::WouldBlock`] instead of waiting.
    ///
    /// # Errors
    /// What the system says.
    pub fn set_nonblocking(&self, is_nonblocking: bool) -> io::Result<()> {
        match self.socket() {
            Socket::Tcp(socket) => socket.set_nonblocking(is_nonblocking),
            Socket::Unix(socket) => socket.set_nonblocking(is_nonblocking),
        }
    }

    /// Whether bytes are here that have been decrypted and not read. Look before polling [`AsFd::as_fd`] for readiness:
    /// the system knows nothing of them.
    pub fn has_buffered(&mut self) -> bool {
        match &mut self.kind {
            Kind::Plain(_) => false,
            Kind::Encrypted(stream) => stream.has_buffered(),
        }
    }

    /// What TLS has agreed on; `None` for a connection that is not encrypted.
    pub fn negotiated(&self) -> Option<Negotiated> {
        match &self.kind {
            Kind::Plain(_) => None,
            Kind::Encrypted(stream) => stream.negotiated(),
        }
    }

    /// The place it leads to.
    pub(crate) fn peer(&self) -> &Peer {
        &self.peer
    }

    /// The same connection over another form of its socket: `plain` makes one that is not encrypted, `encrypted` the other.
    pub(crate) fn convert<T, U>(
        self,
        change: impl FnOnce(Socket) -> io::Result<T>,
        plain: impl FnOnce(T) -> U,
        encrypted: impl FnOnce(Box<Encrypted<T>>) -> U,
    ) -> io::Result<U> {
        match self.kind {
            Kind::Plain(socket) => change(socket).map(plain),
            Kind::Encrypted(stream) => stream.map(change).map(Box::new).map(encrypted),
        }
    }

    fn socket(&self) -> &Socket {
        match &self.kind {
            Kind::Plain(socket) => socket,
            Kind::Encrypted(stream) => stream.socket(),
        }
    }
}

impl Read for Stream {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        match &mut self.kind {
            Kind::Plain(socket) => socket.read(buffer),
            Kind::Encrypted(stream) => stream.read_some(buffer),
        }
    }
}

impl Write for Stream {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        match &mut self.kind {
            Kind::Plain(socket) => socket.write(bytes),
            Kind::Encrypted(stream) => stream.write(bytes),
        }
    }

    fn flush(&mut self) -> io::Result<()> {
        match &mut self.kind {
            Kind::Plain(_) => Ok(()),
            Kind::Encrypted(stream) => stream.flush(),
        }
    }
}

impl AsFd for Stream {
    fn as_fd(&self) -> BorrowedFd<'_> {
        match self.socket() {
            Socket::Tcp(socket) => socket.as_fd(),
            Socket::Unix(socket) => socket.as_fd(),
        }
    }
}

impl Socket {
    fn set_read_timeout(&self, timeout: Option<Duration>) -> io::Result<()> {
        match self {
            Self::Tcp(socket) => socket.set_read_timeout(timeout),
            Self::Unix(socket) => socket.set_read_timeout(timeout),
        }
    }
}

impl Read for Socket {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        match self {
            Self::Tcp(socket) => socket.read(buffer),
            Self::Unix(socket) => socket.read(buffer),
        }
    }
}

impl Write for Socket {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        match self {
            Self::Tcp(socket) => socket.write(bytes),
            Self::Unix(socket) => socket.write(bytes),
        }
    }

    fn write_vectored(&mut self, slices: &[io::IoSlice<'_>]) -> io::Result<usize> {
        match self {
            Self::Tcp(socket) => socket.write_vectored(slices),
            Self::Unix(socket) => socket.write_vectored(slices),
        }
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

/// Makes a connection that is not encrypted.
fn connect(address: &Address, patience: Duration) -> Result<(Socket, Peer), RunError> {
    let connect_error = |source| RunError::Connect { address: address.to_string(), source };
    match address {
        Address::Unix { path } => {
            let socket = UnixStream::connect(path).map_err(connect_error)?;
            Ok((Socket::Unix(socket), Peer::Unix(path.into())))
        }
        Address::Tcp { host, port } => {
            let resolve_error = |source| RunError::Resolve { address: address.to_string(), source };
            let found = (host.as_str(), *port).to_socket_addrs().map_err(resolve_error)?;
            let mut last = resolve_error(io::Error::from(io::ErrorKind::NotFound));
            for at in found {
                match TcpStream::connect_timeout(&at, patience) {
                    Ok(socket) => {
                        socket.set_nodelay(true)?;
                        return Ok((Socket::Tcp(socket), Peer::Tcp(at)));
                    }
                    Err(source) => last = connect_error(source),
                }
            }
            Err(last)
        }
    }
}
