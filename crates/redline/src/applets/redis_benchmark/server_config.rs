//! The two settings of the server that the report shows, asked for before any load; also the first contact, which finds
//! out that there is no server, or that it will not have us.

use std::io;

use load::RunError;
use load::connect::ask;
use load::plan::{Address, Target};
use resp::{Value, ValueDecoder};

/// What the report shows of the server.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ServerConfig {
    /// Its `save` setting.
    pub save: String,
    /// Its `appendonly` setting.
    pub appendonly: String,
}

/// Asks the server. `None` when it would not say.
///
/// # Errors
/// The sentence to end with: no connection, or no access.
pub fn fetch(target: &Target) -> Result<Option<ServerConfig>, String> {
    let (Some(save), Some(appendonly)) = (setting(target, "save")?, setting(target, "appendonly")?)
    else {
        return Ok(None);
    };
    Ok(Some(ServerConfig { save, appendonly }))
}

fn setting(target: &Target, name: &str) -> Result<Option<String>, String> {
    let refused =
        |message: &str| format!("Node {} replied with error:\n{message}", place(&target.address));
    let reply = match ask(target, &["CONFIG", "GET", name]) {
        Ok(reply) => reply,
        Err(RunError::Connect { source, .. } | RunError::Resolve { source, .. }) => {
            return Err(no_connection(&target.address, &source));
        }
        Err(RunError::Refused { message, .. }) => return Err(refused(&message)),
        Err(error @ (RunError::Tls { .. } | RunError::TlsSettings(_))) => {
            return Err(no_encryption(&error));
        }
        Err(_) => return Ok(None),
    };
    let text = |bytes: &[u8]| String::from_utf8_lossy(bytes).into_owned();
    match ValueDecoder::new().next(&reply) {
        Ok(Some((Value::Error(message), _))) if message.starts_with(b"NOAUTH") => {
            Err(refused(&text(&message)))
        }
        Ok(Some((Value::Array(elements), _))) => {
            Ok(elements.get(1).and_then(Value::as_bytes).map(text))
        }
        _ => Ok(None),
    }
}

/// The sentence for a server that can't be reached.
pub fn no_connection(address: &Address, source: &io::Error) -> String {
    format!("Could not connect to Redis at {}: {}", place(address), system_text(source))
}

/// The sentence for a connection that can't be encrypted: the original's words, and then ours, which say what to do.
pub fn no_encryption(error: &RunError) -> String {
    match error {
        RunError::Tls { source, .. } => format!("Could not negotiate a TLS connection: {source}"),
        error => error.to_string(),
    }
}

/// An address as the original prints it.
fn place(address: &Address) -> String {
    match address {
        Address::Tcp { host, port } => format!("{host}:{port}"),
        Address::Unix { path } => path.clone(),
    }
}

/// The system's own words for an error, without what the standard library puts around them.
pub fn system_text(error: &io::Error) -> String {
    let text = error.to_string();
    let text = text.strip_prefix("failed to lookup address information: ").unwrap_or(&text);
    text.split(" (os error ").next().unwrap_or(text).to_string()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_missing_server_is_told_in_the_original_s_words() {
        let listener = std::net::TcpListener::bind("127.0.0.1:0").unwrap();
        let port = listener.local_addr().unwrap().port();
        drop(listener);
        let sentence = fetch(&Target::tcp("127.0.0.1", port)).unwrap_err();
        assert_eq!(
            sentence,
            format!("Could not connect to Redis at 127.0.0.1:{port}: Connection refused")
        );
        let sentence = fetch(&Target::unix("/nonexistent/socket")).unwrap_err();
        assert_eq!(
            sentence,
            "Could not connect to Redis at /nonexistent/socket: No such file or directory"
        );
    }
}
