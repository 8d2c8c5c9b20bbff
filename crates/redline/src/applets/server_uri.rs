//! Server addresses in one word: `redis://user:password@host:port/db`.
//!
//! Read as the originals read them, with their words for what is wrong. Every personality applies the parts to options of its own.

use super::redis_benchmark::flags::number;

/// What an address says; a part that is left out is `None`.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct ServerUri {
    /// The scheme asks for TLS.
    pub is_tls: bool,
    /// User name, not empty.
    pub user: Option<String>,
    /// Password.
    pub password: Option<String>,
    /// Host name or address; IPv6 without brackets.
    pub host: Option<String>,
    /// Port.
    pub port: Option<u16>,
    /// Database.
    pub database: Option<i64>,
}

/// Takes an address apart.
///
/// # Errors
/// The original's sentence for an unknown scheme, for broken percent encoding and for a port out of range.
pub fn parse(text: &str) -> Result<ServerUri, String> {
    let (scheme, rest) = text.split_once("://").ok_or("Invalid URI scheme")?;
    let mut uri = ServerUri::default();
    match scheme.to_ascii_lowercase().as_str() {
        "redis" | "valkey" => {}
        "rediss" | "valkeys" => uri.is_tls = true,
        _ => return Err("Invalid URI scheme".into()),
    }
    let rest = match rest.split_once('@') {
        None => rest,
        Some((credentials, rest)) => {
            let password = match credentials.split_once(':') {
                None => credentials,
                Some((user, password)) => {
                    uri.user = Some(percent_decoded(user)?).filter(|user| !user.is_empty());
                    password
                }
            };
            uri.password = Some(percent_decoded(password)?);
            rest
        }
    };
    let (place, database) = rest.split_once('/').unwrap_or((rest, ""));
    if !place.is_empty() {
        let (host, port) = match place.strip_prefix('[').and_then(|inner| inner.split_once(']')) {
            Some((host, after)) => (host, after.strip_prefix(':')),
            None => match place.split_once(':') {
                Some((host, port)) => (host, Some(port)),
                None => (place, None),
            },
        };
        uri.host = Some(host.into());
        if let Some(port) = port {
            let port = u16::try_from(number(port)).map_err(|_| "Invalid server port.")?;
            uri.port = Some(port);
        }
    }
    if !database.is_empty() {
        uri.database = Some(number(database));
    }
    Ok(uri)
}

fn percent_decoded(text: &str) -> Result<String, String> {
    let mut decoded = Vec::with_capacity(text.len());
    let mut bytes = text.bytes();
    while let Some(byte) = bytes.next() {
        if byte != b'%' {
            decoded.push(byte);
            continue;
        }
        let (Some(high), Some(low)) = (bytes.next(), bytes.next()) else {
            return Err("Incomplete URI encoding".into());
        };
        let digit = |byte: u8| char::from(byte).to_digit(16);
        let (Some(high), Some(low)) = (digit(high), digit(low)) else {
            return Err("Illegal character in URI encoding".into());
        };
        decoded.push((high * 16 + low) as u8);
    }
    Ok(String::from_utf8_lossy(&decoded).into_owned())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn all_parts_are_read() {
        let uri = parse("REDIS://me:p%40ss@example.com:7000/5").unwrap();
        assert_eq!((uri.user.as_deref(), uri.password.as_deref()), (Some("me"), Some("p@ss")));
        assert_eq!((uri.host.as_deref(), uri.port), (Some("example.com"), Some(7000)));
        assert_eq!((uri.database, uri.is_tls), (Some(5), false));
        let uri = parse("valkey://secret@[::1]:7001").unwrap();
        assert_eq!((uri.user, uri.password.as_deref()), (None, Some("secret")));
        assert_eq!((uri.host.as_deref(), uri.port), (Some("::1"), Some(7001)));
        assert_eq!(parse("redis://").unwrap(), ServerUri::default());
        assert_eq!(parse("redis:///3").unwrap().database, Some(3));
        assert!(parse("rediss://host").unwrap().is_tls);
    }

    #[test]
    fn what_is_wrong_is_said_as_the_original_says_it() {
        for (text, sentence) in [
            ("foo://x", "Invalid URI scheme"),
            ("localhost", "Invalid URI scheme"),
            ("redis://u:p%zz@h", "Illegal character in URI encoding"),
            ("redis://u:p%4@h", "Incomplete URI encoding"),
            ("redis://h:70000", "Invalid server port."),
        ] {
            assert_eq!(parse(text).unwrap_err(), sentence, "{text}");
        }
    }
}
