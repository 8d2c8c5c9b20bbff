//! `-I`: connections that send nothing, held until the program is ended; for finding out what a server pays for them.

use std::io::{self, Read};
use std::time::Duration;

use load::RunError;
use load::plan::Target;
use load::stream::{Dialer, Stream};

use super::server_config::{no_connection, no_encryption};

/// How often the number of connections is shown.
const INTERVAL: Duration = Duration::from_millis(250);

/// Opens connections and shows how many live, for as long as any does. `show` prints.
///
/// # Errors
/// The sentence to end with: a connection that can't be made, or that none is left; or what `show` failed with.
pub fn hold(
    target: &Target,
    connections: usize,
    mut show: impl FnMut(&str) -> io::Result<()>,
) -> Result<(), IdleEnd> {
    show(&format!(
        "Creating {connections} idle connections and waiting forever (Ctrl+C when done)\n"
    ))?;
    let mut open = connect(target, connections).map_err(|error| {
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

fn connect(target: &Target, connections: usize) -> Result<Vec<Stream>, RunError> {
    let dialer = Dialer::new(target)?;
    let connect = |_| {
        let stream = dialer.dial()?;
        stream.set_nonblocking(true)?;
        Ok(stream)
    };
    (0..connections).map(connect).collect()
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
        let end = hold(&Target::tcp("127.0.0.1", port), 3, |text| {
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
