//! Ports for servers that tests start: none that a client's connection may get from the system, and
//! none twice in a process, so that what answers there is the server that was started.

use std::net::{Ipv4Addr, SocketAddr, TcpListener};
use std::process;
use std::sync::atomic::{AtomicU32, Ordering};

/// First port handed out. The system gives clients ports from 32768 on (Linux) or higher.
const FIRST: u16 = 10_000;
/// How many there are: the buses of cluster nodes, 10,000 above their ports, come next, still below the
/// system's.
const COUNT: u16 = 10_000;
/// Processes begin this far from each other.
const STRIDE: u32 = 157;

static HANDED_OUT: AtomicU32 = AtomicU32::new(0);

/// A loopback address whose port nobody listens on. Panics if every one is taken.
pub fn free_address() -> SocketAddr {
    for _ in 0..COUNT {
        let turn = HANDED_OUT.fetch_add(1, Ordering::Relaxed);
        let offset = process::id().wrapping_mul(STRIDE).wrapping_add(turn) % u32::from(COUNT);
        let port = FIRST + u16::try_from(offset).expect("it is below the count");
        if is_free(port) {
            return (Ipv4Addr::LOCALHOST, port).into();
        }
    }
    panic!("every port from {FIRST} on is taken");
}

/// Nobody listens on the port.
pub fn is_free(port: u16) -> bool {
    TcpListener::bind((Ipv4Addr::LOCALHOST, port)).is_ok()
}

#[cfg(test)]
mod tests {
    use super::{free_address, is_free};
    use std::net::TcpListener;

    #[test]
    fn no_port_is_handed_out_twice_or_while_taken() {
        let first = free_address();
        let listener = TcpListener::bind(first).unwrap();
        assert!(!is_free(first.port()));
        assert!((0..100).all(|_| free_address() != first));
        drop(listener);
    }
}
