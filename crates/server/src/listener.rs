//! The acceptor: one thread that takes connections and gives each to the worker with the fewest.
//!
//! Fifty connections on two workers are twenty-five and twenty-five; letting the kernel spread them
//! over several listening sockets leaves some workers idle and others crowded.

use std::io;
use std::net::{SocketAddr, TcpListener, ToSocketAddrs};
use std::os::fd::{AsFd, AsRawFd, OwnedFd};
use std::os::unix::net::UnixListener;
use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::Ordering;
use std::thread::JoinHandle;
use std::time::Duration;

use async_channel::Sender;
use rustix::event::{PollFd, PollFlags};
use socket2::{Domain, Protocol, SockAddr, SockRef, Socket, TcpKeepalive, Type};

use crate::client::{self, ClientInfo};
use crate::server::Server;
use crate::settings::Settings;

/// Time to wait after the system refuses a connection (out of descriptors, say), so that the
/// refusals do not take a whole core.
const REFUSED_PAUSE: Duration = Duration::from_millis(20);

/// A connection as the worker serves it.
pub type Stream = compio::net::TcpStream;

const TOO_MANY_CLIENTS: &[u8] = b"-ERR max number of clients reached\r\n";
const PROTECTED: &[u8] = b"-DENIED Redis is running in protected mode because protected mode is \
enabled and no password is set for the default user. In this mode connections are only accepted \
from the loopback interface. If you want to connect from external computers to Redis you may adopt \
one of the following solutions: 1) Just disable protected mode sending the command 'CONFIG SET \
protected-mode no' from the loopback interface by connecting to Redis from the same host the server \
is running, however MAKE SURE Redis is not publicly accessible from internet if you do so. Use \
CONFIG REWRITE to make this change permanent. 2) Alternatively you can just disable the protected \
mode by editing the Redis configuration file, and setting the protected mode option to 'no', and \
then restarting the server. 3) If you started the server manually just for testing, restart it with \
the '--protected-mode no' option. 4) Set up an authentication password for the default user. NOTE: \
You only need to do one of the above things in order for the server to start accepting connections \
from the outside.\r\n";

/// A connection on its way from the acceptor to its worker.
pub struct Accepted {
    stream: std::net::TcpStream,
    address: Option<SocketAddr>,
    local_address: String,
    id: u64,
}

/// A connection that has reached its worker. However it ends, by its client, by an error, or with
/// its worker, dropping this takes it out of the server's list and count before the socket closes.
pub struct Adopted {
    /// The client's public side, in the server's list.
    pub client: Arc<ClientInfo>,
    /// The socket, attached to the worker's runtime.
    pub stream: Stream,
    server: Arc<Server>,
}

impl Accepted {
    /// Attaches the connection to the runtime of worker `worker_index`, on whose thread this runs.
    ///
    /// # Errors
    /// The runtime refuses the descriptor.
    pub fn adopt(self, server: &Arc<Server>, worker_index: usize) -> io::Result<Adopted> {
        let descriptor = self.stream.as_raw_fd();
        let stream = Stream::from_std(self.stream)?;
        let client = Arc::new(ClientInfo::new(
            self.id,
            self.address,
            self.local_address,
            descriptor,
            worker_index,
        ));
        server.clients.add(Arc::clone(&client));
        server.worker_stats[worker_index].connections.add(1);
        Ok(Adopted { client, stream, server: Arc::clone(server) })
    }
}

impl Drop for Adopted {
    fn drop(&mut self) {
        // The number of the descriptor may be another connection's as soon as the socket is closed.
        self.client.note_closed();
        self.server.clients.remove(self.client.id);
        let count = &self.server.worker_connections[self.client.worker_index];
        count.fetch_sub(1, Ordering::Relaxed);
    }
}

/// The sockets that a server listens on.
pub struct Listeners {
    tcp: Vec<TcpListener>,
    unix: Option<(UnixListener, String)>,
}

/// Why a server cannot listen.
#[derive(Debug, thiserror::Error)]
#[error("could not listen on {address}: {source}")]
pub struct ListenError {
    /// What was asked for, as it was asked for: `*:6379`, or the path of a Unix socket.
    pub address: String,
    /// Whether it is a Unix socket.
    pub is_unix: bool,
    /// What the system said.
    pub source: io::Error,
}

impl Listeners {
    /// Opens every socket that the settings ask for.
    ///
    /// # Errors
    /// One of them cannot be opened; an address with `-` before it may lack its protocol.
    pub fn open(settings: &Settings) -> Result<Listeners, ListenError> {
        let mut tcp: Vec<TcpListener> = Vec::new();
        let binds = if settings.listens_on_tcp { &settings.bind[..] } else { &[] };
        for bind in binds {
            let (shown, is_optional) = match bind.strip_prefix('-') {
                Some(host) => (host, true),
                None => (bind.as_str(), false),
            };
            let host = match shown {
                "*" => "0.0.0.0",
                "::*" => "::",
                host => host,
            };
            // Port 0 asks the system for a free one, which all addresses are to share.
            let port = tcp.first().map_or(settings.port, port_of);
            match listen_tcp(host, port, settings.tcp_backlog) {
                Ok(listener) => tcp.push(listener),
                Err(source) if is_optional && is_unavailable(&source) => {}
                Err(source) => {
                    let address = format!("{shown}:{port}");
                    return Err(ListenError { address, is_unix: false, source });
                }
            }
        }
        let unix = match &settings.unix_socket {
            None => None,
            Some(path) => {
                let listener = listen_unix(path, settings.unix_socket_mode).map_err(|source| {
                    ListenError { address: path.clone(), is_unix: true, source }
                })?;
                Some((listener, path.clone()))
            }
        };
        Ok(Listeners { tcp, unix })
    }

    /// `tcp` and `unix`, as far as there is something to listen on.
    pub fn descriptions(&self) -> Vec<&'static str> {
        let tcp = (!self.tcp.is_empty()).then_some("tcp");
        tcp.into_iter().chain(self.unix.as_ref().map(|_| "unix")).collect()
    }

    /// The TCP port, if there is one.
    pub fn port(&self) -> Option<u16> {
        self.tcp.first().map(port_of)
    }
}

/// Starts the acceptor. It ends when the server is asked to stop, and closes the workers' inboxes
/// and the listening sockets.
///
/// # Errors
/// The thread or its wake-up cannot be made.
pub fn start(
    server: Arc<Server>,
    listeners: Listeners,
    inboxes: Vec<Sender<Accepted>>,
) -> io::Result<JoinHandle<()>> {
    let (wake, waker) = std::os::unix::net::UnixStream::pair()?;
    server.on_stop(move || {
        // Closing one end makes the other readable.
        let _ = waker.shutdown(std::net::Shutdown::Both);
    });
    std::thread::Builder::new().name("redline-accept".into()).spawn(move || {
        let wake = OwnedFd::from(wake);
        while !server.is_stopping() {
            if accept_ready(&server, &listeners, &wake, &inboxes).is_err() {
                std::thread::sleep(REFUSED_PAUSE);
            }
        }
        for inbox in &inboxes {
            inbox.close();
        }
        if let Some((_, path)) = &listeners.unix {
            // Somebody else may have removed it; it is gone either way.
            let _ = std::fs::remove_file(path);
        }
    })
}

/// Waits for connections and takes all that are there.
fn accept_ready(
    server: &Server,
    listeners: &Listeners,
    wake: &OwnedFd,
    inboxes: &[Sender<Accepted>],
) -> io::Result<()> {
    let mut polled = vec![PollFd::new(wake, PollFlags::IN)];
    polled.extend(listeners.tcp.iter().map(|listener| PollFd::new(listener, PollFlags::IN)));
    polled.extend(listeners.unix.iter().map(|(unix, _)| PollFd::new(unix, PollFlags::IN)));
    match rustix::event::poll(&mut polled, None) {
        Ok(_) | Err(rustix::io::Errno::INTR) => {}
        Err(error) => return Err(error.into()),
    }
    for listener in &listeners.tcp {
        while let Some((stream, address)) = unless_would_block(listener.accept())? {
            let local_address = stream.local_addr().map_or(String::new(), |at| at.to_string());
            hand_over(server, inboxes, stream, Some(address), local_address);
        }
    }
    if let Some((listener, path)) = &listeners.unix {
        while let Some((stream, _)) = unless_would_block(listener.accept())? {
            // The runtime's TCP stream only sends, receives and closes, which is the same for both.
            let stream = std::net::TcpStream::from(OwnedFd::from(stream));
            hand_over(server, inboxes, stream, None, path.clone());
        }
    }
    Ok(())
}

/// Gives a connection to the least loaded worker, or tells it why not.
fn hand_over(
    server: &Server,
    inboxes: &[Sender<Accepted>],
    stream: std::net::TcpStream,
    address: Option<SocketAddr>,
    local_address: String,
) {
    let settings = server.settings();
    let loads = server.worker_connections.iter().map(|count| count.load(Ordering::Relaxed));
    let total: usize = loads.clone().sum();
    if total >= settings.clients_max {
        server.clients.count_rejected();
        return turn_away(&stream, TOO_MANY_CLIENTS);
    }
    if settings.protected_mode && settings.password.is_empty() && !client::is_local(address) {
        return turn_away(&stream, PROTECTED);
    }
    if address.is_some() {
        // A connection that went away meanwhile fails here, and again at its first read.
        let _ = stream.set_nodelay(true);
        if settings.tcp_keepalive_s > 0 {
            let interval = Duration::from_secs(settings.tcp_keepalive_s.into());
            let keepalive = TcpKeepalive::new().with_time(interval).with_interval(interval / 3);
            let _ = SockRef::from(&stream).set_tcp_keepalive(&keepalive);
        }
    }
    let Some((index, _)) = loads.enumerate().min_by_key(|&(_, load)| load) else { return };
    server.worker_connections[index].fetch_add(1, Ordering::Relaxed);
    let accepted = Accepted { stream, address, local_address, id: server.clients.next_id() };
    if inboxes[index].try_send(accepted).is_err() {
        server.worker_connections[index].fetch_sub(1, Ordering::Relaxed);
    }
}

fn turn_away(stream: &std::net::TcpStream, text: &[u8]) {
    // A courtesy: if the client does not take it at once, it is not told.
    let _ = rustix::net::send(stream.as_fd(), text, rustix::net::SendFlags::DONTWAIT);
}

fn unless_would_block<T>(result: io::Result<T>) -> io::Result<Option<T>> {
    match result {
        Ok(value) => Ok(Some(value)),
        Err(error) if error.kind() == io::ErrorKind::WouldBlock => Ok(None),
        // The client gave up before it was accepted.
        Err(error) if error.kind() == io::ErrorKind::ConnectionAborted => Ok(None),
        Err(error) => Err(error),
    }
}

fn listen_tcp(host: &str, port: u16, backlog: i32) -> io::Result<TcpListener> {
    let address = (host, port)
        .to_socket_addrs()?
        .next()
        .ok_or_else(|| io::Error::new(io::ErrorKind::NotFound, "the name has no address"))?;
    let socket = Socket::new(Domain::for_address(address), Type::STREAM, Some(Protocol::TCP))?;
    if address.is_ipv6() {
        socket.set_only_v6(true)?;
    }
    socket.set_reuse_address(true)?;
    socket.bind(&SockAddr::from(address))?;
    socket.listen(backlog)?;
    socket.set_nonblocking(true)?;
    Ok(socket.into())
}

fn listen_unix(path: &str, mode: u32) -> io::Result<UnixListener> {
    // As Redis does: a socket left behind by a server that is gone must not stop this one.
    if Path::new(path).exists() {
        std::fs::remove_file(path)?;
    }
    let listener = UnixListener::bind(path)?;
    if mode != 0 {
        std::fs::set_permissions(path, std::os::unix::fs::PermissionsExt::from_mode(mode))?;
    }
    listener.set_nonblocking(true)?;
    Ok(listener)
}

fn port_of(listener: &TcpListener) -> u16 {
    listener.local_addr().map_or(0, |address| address.port())
}

/// Whether an optional address is simply not to be had on this machine.
fn is_unavailable(error: &io::Error) -> bool {
    use io::ErrorKind::{AddrNotAvailable, NotFound, Unsupported};
    matches!(error.kind(), AddrNotAvailable | NotFound | Unsupported)
        || error.raw_os_error() == Some(rustix::io::Errno::AFNOSUPPORT.raw_os_error())
}
