//! A replica that only looks: asks for replication, drops the snapshot and prints the commands that follow.

use std::io::{self, Write as _};
use std::process::ExitCode;

use resp::Value;

use super::connection::{Connection, LinkError};
use super::format;
use super::options::Options;

/// Length of the mark that ends a snapshot of unknown length.
const MARK_BYTES: usize = 40;
/// Longest line in front of a snapshot; nothing sensible is near it.
const MAX_LINE_BYTES: usize = 1024;

/// What the server sends in front of a snapshot.
pub enum Payload {
    /// So many bytes.
    Length(u64),
    /// Everything up to this mark.
    Mark([u8; MARK_BYTES]),
}

/// `--replica`: prints commands until the connection ends.
///
/// # Errors
/// Standard output can't be written to.
pub fn run(options: &Options) -> anyhow::Result<ExitCode> {
    let mut connection = match Connection::open(options) {
        Ok(connection) => connection,
        Err(error) => {
            eprintln!("{error}");
            return Ok(ExitCode::FAILURE);
        }
    };
    if let Err(error) = connection.send(&["SYNC"]) {
        eprintln!("Error: {error}");
        return Ok(ExitCode::FAILURE);
    }
    let error = stream(&mut connection)?;
    eprintln!("Error: {error}");
    Ok(ExitCode::FAILURE)
}

/// Takes what follows a SYNC that was sent, for as long as the connection lasts. The result is what ended it.
///
/// # Errors
/// Standard output can't be written to.
pub fn stream(connection: &mut Connection) -> io::Result<LinkError> {
    let payload = match payload(connection) {
        Ok(payload) => payload,
        Err(error) => return Ok(error),
    };
    match &payload {
        Payload::Length(bytes) => {
            eprintln!("SYNC with master, discarding {bytes} bytes of bulk transfer...");
        }
        Payload::Mark(_) => {
            eprintln!("SYNC with master, discarding bytes of bulk transfer until EOF marker...");
        }
    }
    if let Err(error) = transfer(connection, &payload, |_| Ok(())) {
        return Ok(error);
    }
    eprintln!("SYNC done. Logging commands from master.");
    let mut out = io::stdout().lock();
    loop {
        let value = match connection.read() {
            Ok(value) => value,
            Err(error) => return Ok(error),
        };
        let mut text = Vec::new();
        format::csv(&mut text, &value);
        text.push(b'\n');
        out.write_all(&text)?;
        out.flush()?;
        if matches!(value, Value::Error(_)) {
            return Ok(LinkError::Closed);
        }
    }
}

/// Reads the line in front of a snapshot. Servers keep a waiting replica alive with line ends.
///
/// # Errors
/// The connection's own, and [`LinkError::Io`] with what the server said instead.
pub fn payload(connection: &mut Connection) -> Result<Payload, LinkError> {
    let refused = |text: String| LinkError::Io(io::Error::other(text));
    let mut line = Vec::new();
    loop {
        let byte = connection.bytes(1)?[0];
        match byte {
            b'\n' if line.is_empty() => continue,
            b'\n' => break,
            _ if line.len() >= MAX_LINE_BYTES => return Err(LinkError::Closed),
            _ => line.push(byte),
        }
    }
    let text = String::from_utf8_lossy(&line).trim_end().to_owned();
    if let Some(message) = text.strip_prefix('-') {
        return Err(refused(format!("SYNC with master failed: {message}")));
    }
    if let Some(mark) = text.strip_prefix("$EOF:") {
        let mark = mark.as_bytes().try_into().map_err(|_| refused("SYNC mark is cut".into()))?;
        return Ok(Payload::Mark(mark));
    }
    match text.strip_prefix('$').and_then(|digits| digits.parse().ok()) {
        Some(bytes) => Ok(Payload::Length(bytes)),
        None => Err(refused(format!("no answer to SYNC: {text}"))),
    }
}

/// Reads a snapshot and hands it to `take` in pieces, without its mark. The result is its length in bytes.
///
/// # Errors
/// The connection's own, and what `take` says.
pub fn transfer(
    connection: &mut Connection,
    payload: &Payload,
    mut take: impl FnMut(&[u8]) -> io::Result<()>,
) -> Result<u64, LinkError> {
    let mut taken = 0;
    match payload {
        Payload::Length(bytes) => {
            while taken < *bytes {
                let wanted = usize::try_from(bytes - taken).unwrap_or(usize::MAX);
                let piece = connection.bytes(wanted)?;
                taken += piece.len() as u64;
                take(&piece)?;
            }
        }
        Payload::Mark(mark) => {
            // The last bytes seen stay here until it is sure that they do not begin the mark.
            let mut held = Vec::new();
            while !held.ends_with(mark) {
                held.extend_from_slice(&connection.bytes(usize::MAX)?);
                if held.ends_with(mark) {
                    break;
                }
                let sure = held.len().saturating_sub(MARK_BYTES);
                take(&held[..sure])?;
                taken += sure as u64;
                held.drain(..sure);
            }
            let rest = held.len() - MARK_BYTES;
            take(&held[..rest])?;
            taken += rest as u64;
        }
    }
    Ok(taken)
}
