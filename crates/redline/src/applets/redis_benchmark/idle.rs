//! `-I`: connections that send nothing, held until the program is ended; for finding out what a server pays for them.

use std::io::{self, Read};
use std::time::Duration;

use load::RunError;
use load::plan::Target;
use load::stream::{Dialer, Stream};

use super::server_config::{no_connection, no_encryption};

/// How often the number of connections is shown.
const INTERVAL: Duration = Duration::from_millis(250);

/// Opens connections, to each server in turn, and shows how many live, for as long as any does. `show` prints.
///
/// # Errors
/// The sentence to end with: a connection that can't be made, or that none is left; or what `show` failed with.
pub fn hold(
    targets: &[Target],
    connections: usize,
    mut show: impl FnMut(&str) -> io::Result<()>,
) -> Result<(), IdleEnd> {
    show(&format!(
        "Creating {connections} idle connections and waiting forever (Ctrl+C when done)\n"
    ))?;
    let mut open = connect(targets, connections).map_err(|(target, error)| {
        IdleEnd::Sentence(match error {
            RunError::Connect { source, .. } | RunError::Resolve { source, .. } => {
                no_connection(&target.address, &source)
            }
            error => no_encryption(&error),
        })
    })?;
    loop {
        open.retain_mut(is_open);
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

/// Makes the connections, to each server in turn; an error comes with the server.
fn connect(targets: &[Target], connections: usize) -> Result<Vec<Stream>, (&Target, RunError)> {
    let mut dialers = Vec::new();
    for target in targets {
        dialers.push((target, Dialer::new(target).map_err(|error| (target, error))?));
    }
    let connect = |(target, dialer): &(_, Dialer)| {
        let connect = || {
            let stream = dialer.dial()?;
            stream.set_nonblocking(true)?;
            Ok(stream)
        };
        connect().map_err(|error| (*target, error))
    };
    dialers.iter().cycle().take(connections).map(connect).collect()
}

/// False when the server has closed the connection. What it sends unasked is of no interest.
fn is_open(stream: &mut Stream) -> bool {
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
        let end = hold(&[Target::tcp("127.0.0.1", port)], 3, |text| {
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
