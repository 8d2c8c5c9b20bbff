//! A small blocking client for tests and measurements: a connection, commands, raw bytes.

use crate::reply::{self, Problem, Value};
use std::io::{self, Read, Write};
use std::net::{SocketAddr, TcpStream};
use std::time::Duration;

/// How long a reply may take before a test gives up.
const REPLY_PATIENCE: Duration = Duration::from_secs(20);

/// One connection to a server.
#[derive(Debug)]
pub struct Client {
    stream: TcpStream,
    /// Bytes received and not yet read as replies.
    input: Vec<u8>,
    /// Pushes that arrived between replies, oldest first.
    pub pushes: Vec<Value>,
}

impl Client {
    /// Connects. Fails as `TcpStream::connect` does.
    pub fn connect(address: SocketAddr) -> io::Result<Self> {
        let stream = TcpStream::connect(address)?;
        stream.set_nodelay(true)?;
        stream.set_read_timeout(Some(REPLY_PATIENCE))?;
        Ok(Client { stream, input: Vec::new(), pushes: Vec::new() })
    }

    /// Sends one command and waits for its reply. An error reply is a value, not an `Err`.
    pub fn command<A: AsRef<[u8]>>(&mut self, arguments: &[A]) -> io::Result<Value> {
        self.send(&encode(arguments))?;
        self.receive()
    }

    /// Sends all commands at once and waits for their replies, in order.
    pub fn pipeline<C: AsRef<[A]>, A: AsRef<[u8]>>(
        &mut self,
        commands: &[C],
    ) -> io::Result<Vec<Value>> {
        let mut bytes = Vec::new();
        for command in commands {
            bytes.extend(encode(command.as_ref()));
        }
        self.send(&bytes)?;
        commands.iter().map(|_| self.receive()).collect()
    }

    /// Sends bytes as they are.
    pub fn send(&mut self, bytes: &[u8]) -> io::Result<()> {
        self.stream.write_all(bytes)
    }

    /// The next reply; pushes before it are kept in `pushes`. `UnexpectedEof` if the server closed,
    /// `InvalidData` if it sent what is no reply.
    pub fn receive(&mut self) -> io::Result<Value> {
        loop {
            match reply::read(&self.input) {
                Ok((value, length)) => {
                    self.input.drain(..length);
                    match value {
                        Value::Push(_) => self.pushes.push(value),
                        value => return Ok(value),
                    }
                }
                Err(Problem::Incomplete) => self.fill()?,
                Err(Problem::Malformed) => return Err(io::ErrorKind::InvalidData.into()),
            }
        }
    }

    /// Everything that the server sends until it closes the connection.
    pub fn receive_to_end(&mut self) -> io::Result<Vec<u8>> {
        let mut bytes = std::mem::take(&mut self.input);
        self.stream.read_to_end(&mut bytes)?;
        Ok(bytes)
    }

    fn fill(&mut self) -> io::Result<()> {
        let mut chunk = [0; 16 * 1024];
        let length = loop {
            match self.stream.read(&mut chunk) {
                // With a time limit, a read ends so when the machine was suspended.
                Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
                result => break result?,
            }
        };
        if length == 0 {
            return Err(io::ErrorKind::UnexpectedEof.into());
        }
        self.input.extend_from_slice(&chunk[..length]);
        Ok(())
    }
}

/// The bytes of one command, as every client library sends it.
pub fn encode<A: AsRef<[u8]>>(arguments: &[A]) -> Vec<u8> {
    let mut bytes = format!("*{}\r\n", arguments.len()).into_bytes();
    for argument in arguments {
        let argument = argument.as_ref();
        bytes.extend_from_slice(format!("${}\r\n", argument.len()).as_bytes());
        bytes.extend_from_slice(argument);
        bytes.extend_from_slice(b"\r\n");
    }
    bytes
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::net::TcpListener;

    #[test]
    fn replies_and_pushes_are_kept_apart() {
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let address = listener.local_addr().unwrap();
        let server = std::thread::spawn(move || {
            let (mut stream, _) = listener.accept().unwrap();
            let mut request = [0; 14];
            stream.read_exact(&mut request).unwrap();
            stream.write_all(b">2\r\n+a\r\n+b\r\n+PO").unwrap();
            stream.write_all(b"NG\r\n").unwrap();
            request
        });
        let mut client = Client::connect(address).unwrap();
        assert_eq!(client.command(&["PING"]).unwrap(), Value::Simple(b"PONG".to_vec()));
        assert_eq!(client.pushes.len(), 1);
        assert_eq!(&server.join().unwrap(), b"*1\r\n$4\r\nPING\r\n");
        assert_eq!(client.receive().unwrap_err().kind(), io::ErrorKind::UnexpectedEof);
    }
}
