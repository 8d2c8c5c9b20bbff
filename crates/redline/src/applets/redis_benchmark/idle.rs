//! `-I`: connections that send nothing, held until the program is ended; for finding out what a server pays for them.

use std::io::{self, Read};
use std::net::TcpStream;
use std::os::unix::net::UnixStream;
use std::time::Duration;

use load::plan::Address;

use super::server_config::no_connection;

/// How often the number of connections is shown.
const INTERVAL: Duration = Duration::from_millis(250);

/// Opens connections and shows how many live, for as long as any does. `show` prints.
///
/// # Errors
/// The sentence to end with: a connection that can't be made, or that none is left; or what `show` failed with.
pub fn hold(
    address: &Address,
    connections: usize,
    mut show: impl FnMut(&str) -> io::Result<()>,
) -> Result<(), IdleEnd> {
    show(&format!(
        "Creating {connections} idle connections and waiting forever (Ctrl+C when done)\n"
    ))?;
    let mut open = (0..connections)
        .map(|_| connect(address))
        .collect::<Result<Vec<_>, _>>()
        .map_err(|source| IdleEnd::Sentence(no_connection(address, &source)))?;
    loop {
        open.retain_mut(|stream| is_open(stream.as_mut()));
        if open.is_empty() {
            return Err(IdleEnd::Sentence("All clients disconnected... aborting.".into()));
        }
        show(&format!("clients: {}\r", open.len()))?;
        std::thread::sleep(INTERVAL);
    }
}

/// Why it ended.
#[derive(Debug)]
pub enum IdleEnd {
    /// A sentence for standard error.
    Sentence(String),
    /// Standard output is gone.
    Output(io::Error),
}

impl From<io::Error> for IdleEnd {
    fn from(error: io::Error) -> Self {
        Self::Output(error)
    }
}

fn connect(address: &Address) -> io::Result<Box<dyn Read>> {
    match address {
        Address::Tcp { host, port } => {
            let stream = TcpStream::connect((host.as_str(), *port))?;
            stream.set_nonblocking(true)?;
            Ok(Box::new(stream))
        }
        Address::Unix { path } => {
            let stream = UnixStream::connect(path)?;
            stream.set_nonblocking(true)?;
            Ok(Box::new(stream))
        }
    }
}

/// False when the server has closed the connection. What it sends unasked is of no interest.
fn is_open(stream: &mut dyn Read) -> bool {
    match stream.read(&mut [0; 512]) {
        Ok(count) => count > 0,
        Err(error) => {
            matches!(error.kind(), io::ErrorKind::WouldBlock | io::ErrorKind::Interrupted)
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn it_counts_until_none_is_left() {
        let listener = std::net::TcpListener::bind("127.0.0.1:0").unwrap();
        let port = listener.local_addr().unwrap().port();
        let server = std::thread::spawn(move || {
            let accepted: Vec<_> = (0..3).map(|_| listener.accept().unwrap()).collect();
            std::thread::sleep(Duration::from_millis(100));
            drop(accepted);
        });
        let mut shown = String::new();
        let address = Address::Tcp { host: "127.0.0.1".into(), port };
        let end = hold(&address, 3, |text| {
            shown.push_str(text);
            Ok(())
        });
        server.join().unwrap();
        assert!(
            matches!(end, Err(IdleEnd::Sentence(text)) if text == "All clients disconnected... aborting.")
        );
        let start =
            "Creating 3 idle connections and waiting forever (Ctrl+C when done)\nclients: 3\r";
        assert!(shown.starts_with(start), "{shown}");
    }
}
