//! Server addresses in one word: `redis://user:password@host:port/db`.
//!
//! Read as the original reads them, with its words for what is wrong.

use super::flags::{Options, number, port};
use crate::flags::Stop;

/// Takes what `text` says into the options.
///
/// # Errors
/// The original's sentence for an unknown scheme, for broken percent encoding and for a port out of range.
pub fn apply(options: &mut Options, text: &str) -> Result<(), String> {
    let (scheme, rest) = text.split_once("://").ok_or("Invalid URI scheme")?;
    match scheme.to_ascii_lowercase().as_str() {
        "redis" | "valkey" => {}
        "rediss" | "valkeys" => {
            options.unavailable.get_or_insert(format!("{scheme}://"));
        }
        _ => return Err("Invalid URI scheme".into()),
    }
    let rest = match rest.split_once('@') {
        None => rest,
        Some((credentials, rest)) => {
            let password = match credentials.split_once(':') {
                None => credentials,
                Some((user, password)) => {
                    options.user = Some(percent_decoded(user)?).filter(|user| !user.is_empty());
                    password
                }
            };
            options.password = Some(percent_decoded(password)?);
            rest
        }
    };
    let (place, database) = rest.split_once('/').unwrap_or((rest, ""));
    if !place.is_empty() {
        let (host, port_text) =
            match place.strip_prefix('[').and_then(|inner| inner.split_once(']')) {
                Some((host, after)) => (host, after.strip_prefix(':')),
                None => match place.split_once(':') {
                    Some((host, port_text)) => (host, Some(port_text)),
                    None => (place, None),
                },
            };
        options.host = host.into();
        if let Some(port_text) = port_text {
            options.port = port(number(port_text)).map_err(|stop| match stop {
                Stop::Refused(sentence) => sentence,
                _ => String::new(),
            })?;
        }
    }
    if !database.is_empty() {
        options.database = number(database);
    }
    Ok(())
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

    fn read(text: &str) -> Result<Options, String> {
        let mut options = Options::default();
        apply(&mut options, text).map(|()| options)
    }

    #[test]
    fn all_parts_are_read() {
        let options = read("REDIS://me:p%40ss@example.com:7000/5").unwrap();
        assert_eq!(
            (options.user.as_deref(), options.password.as_deref()),
            (Some("me"), Some("p@ss"))
        );
        assert_eq!(
            (options.host.as_str(), options.port, options.database),
            ("example.com", 7000, 5)
        );
        let options = read("valkey://secret@[::1]:7001").unwrap();
        assert_eq!((options.user, options.password.as_deref()), (None, Some("secret")));
        assert_eq!((options.host.as_str(), options.port), ("::1", 7001));
        assert_eq!(read("redis://").unwrap(), Options::default());
        assert_eq!(read("redis:///3").unwrap().database, 3);
        assert_eq!(read("rediss://host").unwrap().unavailable.as_deref(), Some("rediss://"));
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
            assert_eq!(read(text).unwrap_err(), sentence, "{text}");
        }
    }
}
