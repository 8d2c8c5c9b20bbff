//! `--scan`: all keys, or those of a pattern or type, one a line.

use std::io::{self, Write as _};
use std::process::ExitCode;

use resp::Value;

use super::connection::Connection;
use super::options::{Options, Output};

/// Prints the keys until the cursor is back at its start.
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
    let mut cursor = b"0".to_vec();
    loop {
        let (next, keys) = match connection.ask(&command(&cursor, options)) {
            Ok(Value::Array(elements)) => match <[Value; 2]>::try_from(elements) {
                Ok([cursor, Value::Array(keys)]) => (cursor, keys),
                _ => return failed("Invalid element count from SCAN!"),
            },
            Ok(Value::Error(message)) => {
                return failed(&format!("ERROR: {}", String::from_utf8_lossy(&message)));
            }
            Ok(_) => return failed("Non ARRAY response from SCAN!"),
            Err(error) => return failed(&format!("Error: {error}")),
        };
        let mut text = Vec::new();
        for key in keys.iter().filter_map(Value::as_bytes) {
            match options.output {
                Output::Standard => text::quote::push_repr(&mut text, key),
                _ => text.extend_from_slice(key),
            }
            text.push(b'\n');
        }
        if let Err(error) = write(&text) {
            return match error.kind() {
                io::ErrorKind::BrokenPipe => Ok(ExitCode::FAILURE),
                _ => Err(error.into()),
            };
        }
        cursor = next.as_bytes().unwrap_or(b"0").to_vec();
        if cursor == b"0" {
            return Ok(ExitCode::SUCCESS);
        }
        std::thread::sleep(options.interval);
    }
}

fn command(cursor: &[u8], options: &Options) -> Vec<Vec<u8>> {
    let mut command = vec![b"SCAN".to_vec(), cursor.to_vec()];
    if let Some(pattern) = &options.pattern {
        command.extend([b"MATCH".to_vec(), pattern.clone()]);
    }
    command.extend([b"COUNT".to_vec(), options.count.to_string().into_bytes()]);
    if let Some(key_type) = &options.key_type {
        command.extend([b"TYPE".to_vec(), key_type.clone().into_bytes()]);
    }
    command
}

fn failed(sentence: &str) -> anyhow::Result<ExitCode> {
    eprintln!("{sentence}");
    Ok(ExitCode::FAILURE)
}

fn write(text: &[u8]) -> io::Result<()> {
    let mut out = io::stdout().lock();
    out.write_all(text)?;
    out.flush()
}
