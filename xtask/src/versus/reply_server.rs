//! The trivial server of `versus lab`: it answers each command with the same 64 bytes and looks at
//! nothing, so that what is measured is the load generator.

use anyhow::Result;
use rustix::event::epoll;
use std::io::{Read, Write};
use std::net::{Ipv4Addr, TcpListener, TcpStream};

/// The answer to every command.
const REPLY: &[u8] = b"$64\r\nxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxx\r\n";
/// Bytes read at a time.
const CHUNK: usize = 64 * 1024;
/// Events taken at a time.
const EVENTS: usize = 256;

/// Serves until it is killed. A command is counted by its `*`, so keys must not hold one.
pub fn serve(port: u16) -> Result<()> {
    let listener = TcpListener::bind((Ipv4Addr::LOCALHOST, port))?;
    let poll = epoll::create(epoll::CreateFlags::CLOEXEC)?;
    let accepts = epoll::EventData::new_u64(u64::MAX);
    epoll::add(&poll, &listener, accepts, epoll::EventFlags::IN)?;
    let replies = REPLY.repeat(CHUNK);
    let mut chunk = vec![0; CHUNK];
    let mut connections: Vec<Option<TcpStream>> = Vec::new();
    let mut events = Vec::with_capacity(EVENTS);
    loop {
        events.clear();
        if epoll::wait(&poll, rustix::buffer::spare_capacity(&mut events), None).is_err() {
            continue;
        }
        for event in &events {
            let token = event.data.u64();
            if token == u64::MAX {
                let (stream, _) = listener.accept()?;
                stream.set_nodelay(true)?;
                let data = epoll::EventData::new_u64(connections.len() as u64);
                epoll::add(&poll, &stream, data, epoll::EventFlags::IN)?;
                connections.push(Some(stream));
                continue;
            }
            let place = &mut connections[token as usize];
            let alive = place.as_mut().is_some_and(|stream| answer(stream, &mut chunk, &replies));
            if !alive {
                *place = None;
            }
        }
    }
}

/// Answers what has arrived; false if the client has gone. The socket blocks: a readable one is read
/// once, and a generator always reads its replies.
fn answer(stream: &mut TcpStream, chunk: &mut [u8], replies: &[u8]) -> bool {
    let Ok(length) = stream.read(chunk) else { return false };
    let commands = chunk[..length].iter().filter(|byte| **byte == b'*').count();
    length > 0 && stream.write_all(&replies[..commands * REPLY.len()]).is_ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_command_gets_one_reply() {
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let address = listener.local_addr().unwrap();
        let client = std::thread::spawn(move || {
            let mut stream = TcpStream::connect(address).unwrap();
            stream.write_all(b"*1\r\n$4\r\nPING\r\n*2\r\n$3\r\nGET\r\n$1\r\na\r\n").unwrap();
            let mut replies = vec![0; 2 * REPLY.len()];
            stream.read_exact(&mut replies).unwrap();
            replies
        });
        let (mut stream, _) = listener.accept().unwrap();
        let replies = REPLY.repeat(8);
        let mut chunk = [0; 1024];
        assert!(answer(&mut stream, &mut chunk, &replies));
        assert_eq!(client.join().unwrap(), REPLY.repeat(2));
        assert!(!answer(&mut stream, &mut chunk, &replies));
    }
}
