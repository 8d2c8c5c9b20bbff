//! A listener on the wire: forwards connections to a server, keeps the bytes that clients sent, and may make answers late.

use std::io::{self, Read, Write};
use std::net::{Ipv4Addr, Shutdown, TcpListener, TcpStream};
use std::sync::{Arc, Mutex, PoisonError};
use std::thread;
use std::time::Duration;

/// Forwards to one server until the test's process ends; clients connect to [`Tap::port`].
#[derive(Debug)]
pub struct Tap {
    port: u16,
    sent: Arc<Mutex<Vec<u8>>>,
}

impl Tap {
    /// A tap in front of the server on this loopback port.
    pub fn before(port: u16) -> Self {
        Self::late(port, Duration::ZERO)
    }

    /// A tap that holds back each read of the server's answers for this long.
    pub fn late(port: u16, delay: Duration) -> Self {
        let listener = TcpListener::bind((Ipv4Addr::LOCALHOST, 0)).expect("loopback has ports");
        let own = listener.local_addr().expect("it is bound").port();
        let sent = Arc::new(Mutex::new(Vec::new()));
        let kept = Arc::clone(&sent);
        thread::spawn(move || {
            for client in listener.incoming().map_while(Result::ok) {
                let kept = Arc::clone(&kept);
                // A server that is gone shows to the client as a closed connection.
                let _ = TcpStream::connect((Ipv4Addr::LOCALHOST, port))
                    .and_then(|server| forward(client, server, kept, delay));
            }
        });
        Self { port: own, sent }
    }

    /// Where clients connect.
    pub fn port(&self) -> u16 {
        self.port
    }

    /// What clients have sent so far, all connections together.
    pub fn sent(&self) -> Vec<u8> {
        self.sent.lock().unwrap_or_else(PoisonError::into_inner).clone()
    }

    /// Whether these bytes were among what clients sent.
    pub fn has_seen(&self, text: &str) -> bool {
        self.sent().windows(text.len()).any(|window| window == text.as_bytes())
    }
}

fn forward(
    client: TcpStream,
    server: TcpStream,
    kept: Arc<Mutex<Vec<u8>>>,
    delay: Duration,
) -> io::Result<()> {
    let (back_from, back_to) = (server.try_clone()?, client.try_clone()?);
    thread::spawn(move || {
        pump(client, server, |bytes| {
            kept.lock().unwrap_or_else(PoisonError::into_inner).extend_from_slice(bytes);
        })
    });
    thread::spawn(move || pump(back_from, back_to, |_| thread::sleep(delay)));
    Ok(())
}

/// Copies until either side ends.
fn pump(mut from: TcpStream, mut to: TcpStream, see: impl Fn(&[u8])) {
    let mut buffer = [0; 16 << 10];
    while let Ok(count @ 1..) = from.read(&mut buffer) {
        see(&buffer[..count]);
        if to.write_all(&buffer[..count]).is_err() {
            break;
        }
    }
    // The other direction may still have something.
    let _ = to.shutdown(Shutdown::Write);
}
