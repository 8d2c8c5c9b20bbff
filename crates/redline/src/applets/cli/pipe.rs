//! `--pipe`: sends protocol from standard input as it is, and counts the replies.
//!
//! What is sent and what comes back are both waited for at once: a server whose replies nobody reads would stop reading.

use std::io;
use std::os::fd::AsFd as _;
use std::process::ExitCode;
use std::time::{Duration, Instant};

use resp::Value;

use super::connection::{Connection, LinkError, Readiness};
use super::options::Options;

/// Bytes read from standard input at once. Small enough to be taken by the buffers of a socket whose far end is awake.
const CHUNK_BYTES: usize = 16 << 10;
/// Length of the text that marks the last reply.
const MARK_BYTES: usize = 20;

/// Counts of replies, and what ends them.
struct Replies {
    mark: Vec<u8>,
    count: u64,
    errors: u64,
    /// The reply to the mark has come.
    is_complete: bool,
}

/// Sends all of standard input and waits for the last reply.
///
/// # Errors
/// Standard input can't be read.
pub fn run(options: &Options) -> anyhow::Result<ExitCode> {
    let mut connection = match Connection::open(options) {
        Ok(connection) => connection,
        Err(error) => {
            eprintln!("{error}");
            return Ok(ExitCode::FAILURE);
        }
    };
    let timeout = match options.pipe_timeout_s {
        0 => None,
        seconds => Some(Duration::from_secs(seconds)),
    };
    let mut replies = Replies { mark: mark(), count: 0, errors: 0, is_complete: false };
    let input = io::stdin();
    let end = transfer(&mut connection, &input, &mut replies)?
        .and_then(|()| last_reply(&mut connection, timeout, &mut replies));
    if let Err(error) = end {
        eprintln!("Error: {error}");
        return Ok(ExitCode::FAILURE);
    }
    println!("errors: {}, replies: {}", replies.errors, replies.count);
    Ok(if replies.errors > 0 { ExitCode::FAILURE } else { ExitCode::SUCCESS })
}

/// Sends what standard input holds, then the mark, and takes the replies that come meanwhile.
fn transfer(
    connection: &mut Connection,
    input: &io::Stdin,
    replies: &mut Replies,
) -> io::Result<Result<(), LinkError>> {
    let mut chunk = vec![0; CHUNK_BYTES];
    loop {
        match connection.wait_for(&[input.as_fd()], None) {
            Ok(Readiness::Server) => {
                if let Err(error) = connection.fill().and_then(|()| replies.take(connection)) {
                    return Ok(Err(error));
                }
                continue;
            }
            Ok(_) => {}
            Err(error) => return Ok(Err(error)),
        }
        // Past the buffer of the standard library, of which a wait for readiness knows nothing.
        let count = rustix::io::read(input, &mut chunk)?;
        if count == 0 {
            break;
        }
        if let Err(error) = write_all(connection, &chunk[..count], replies) {
            return Ok(Err(error));
        }
    }
    // A line end first: the input may have broken off within a line.
    let mut last = b"\r\n".to_vec();
    resp::encode::command(&mut last, &[b"ECHO".as_slice(), &replies.mark]);
    if let Err(error) = write_all(connection, &last, replies) {
        return Ok(Err(error));
    }
    println!("All data transferred. Waiting for the last reply...");
    Ok(Ok(()))
}

/// Writes all of it, and reads whenever the server has something to say.
fn write_all(
    connection: &mut Connection,
    mut bytes: &[u8],
    replies: &mut Replies,
) -> Result<(), LinkError> {
    while !bytes.is_empty() {
        let written = connection.write_or_read(bytes)?;
        bytes = &bytes[written..];
        replies.take(connection)?;
    }
    Ok(())
}

fn last_reply(
    connection: &mut Connection,
    timeout: Option<Duration>,
    replies: &mut Replies,
) -> Result<(), LinkError> {
    let mut heard_at = Instant::now();
    while !replies.is_complete {
        let left = timeout.map(|timeout| timeout.saturating_sub(heard_at.elapsed()));
        if connection.wait_for(&[], left)? == Readiness::TimedOut {
            let seconds = timeout.unwrap_or_default().as_secs();
            eprintln!("No replies for {seconds} seconds: exiting.");
            replies.errors += 1;
            return Ok(());
        }
        connection.fill()?;
        replies.take(connection)?;
        heard_at = Instant::now();
    }
    println!("Last reply received from server.");
    Ok(())
}

impl Replies {
    /// Counts what has been received.
    fn take(&mut self, connection: &mut Connection) -> Result<(), LinkError> {
        while let Some(value) = connection.received()? {
            match value {
                Value::Bulk(text) if text == self.mark => self.is_complete = true,
                Value::Push(_) => {}
                Value::Error(message) => {
                    eprintln!("{}", String::from_utf8_lossy(&message));
                    self.errors += 1;
                    self.count += 1;
                }
                _ => self.count += 1,
            }
        }
        Ok(())
    }
}

/// A text that no other reply will be.
fn mark() -> Vec<u8> {
    let since = std::time::SystemTime::now().duration_since(std::time::UNIX_EPOCH);
    let seed = since.unwrap_or_default().as_nanos() as u64 ^ u64::from(std::process::id()) << 32;
    let mut state = seed;
    let byte = |_| {
        // SplitMix64: any well-mixed sequence would do.
        state = state.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut mixed = state;
        mixed = (mixed ^ (mixed >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        mixed = (mixed ^ (mixed >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        b'a' + ((mixed ^ (mixed >> 31)) % 26) as u8
    };
    (0..MARK_BYTES).map(byte).collect()
}
