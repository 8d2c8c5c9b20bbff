//! `--rdb` and `--functions-rdb`: asks for replication as a replica would, and keeps the snapshot that comes first.

use std::fs::File;
use std::io::{self, Write};
use std::process::ExitCode;

use resp::Value;

use super::connection::{Connection, LinkError};
use super::options::Options;
use super::replica::{self, Payload};
use crate::applets::redis_benchmark::server_config::system_text;

/// Saves the snapshot to the file of the options; `-` is standard output.
///
/// # Errors
/// The snapshot can't be written.
pub fn run(options: &Options) -> anyhow::Result<ExitCode> {
    let path = &options.rdb_path;
    let mut connection = match Connection::open(options) {
        Ok(connection) => connection,
        Err(error) => {
            eprintln!("{error}");
            return Ok(ExitCode::FAILURE);
        }
    };
    let mut target: Box<dyn Write> = match path.as_str() {
        "-" => Box::new(io::stdout().lock()),
        _ => match File::create(path) {
            Ok(file) => Box::new(file),
            Err(error) => {
                eprintln!("Error opening '{path}': {}", system_text(&error));
                return Ok(ExitCode::FAILURE);
            }
        },
    };
    match save(&mut connection, options, &mut target) {
        Ok(()) => Ok(ExitCode::SUCCESS),
        Err(error) => {
            eprintln!("Error: {error}");
            Ok(ExitCode::FAILURE)
        }
    }
}

fn save(
    connection: &mut Connection,
    options: &Options,
    target: &mut dyn Write,
) -> Result<(), LinkError> {
    tell(connection, &["capa", "eof"])?;
    tell(connection, &["rdb-only", "1"])?;
    if options.rdb_functions_only {
        let is_known = tell(connection, &["rdb-filter-only", "functions"])?;
        if !is_known {
            // Else all keys would come, and the file would not be what its name says.
            return Err(LinkError::Io(io::Error::other("the server can't send functions alone")));
        }
    }
    connection.send(&["SYNC"])?;
    let payload = replica::payload(connection)?;
    let path = &options.rdb_path;
    match &payload {
        Payload::Length(bytes) => {
            eprintln!("SYNC sent to master, writing {bytes} bytes to '{path}'");
        }
        Payload::Mark(_) => eprintln!(
            "SYNC sent to master, writing bytes of bulk transfer until EOF marker to '{path}'"
        ),
    }
    let bytes = replica::transfer(connection, &payload, |piece| target.write_all(piece))?;
    target.flush()?;
    match payload {
        Payload::Length(_) => eprintln!("Transfer finished with success."),
        Payload::Mark(_) => eprintln!("Transfer finished with success after {bytes} bytes"),
    }
    Ok(())
}

/// Sends `REPLCONF` with these words; `false` when the server does not know them, which is told and harmless.
fn tell(connection: &mut Connection, words: &[&str]) -> Result<bool, LinkError> {
    eprintln!("sending REPLCONF {}", words.join(" "));
    let mut command = vec!["REPLCONF"];
    command.extend_from_slice(words);
    match connection.ask(&command)? {
        Value::Error(message) => {
            let message = String::from_utf8_lossy(&message);
            eprintln!("REPLCONF {} error: {message}", words[0]);
            Ok(false)
        }
        _ => Ok(true),
    }
}
