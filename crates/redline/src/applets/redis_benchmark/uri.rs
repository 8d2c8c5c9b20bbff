//! What a server address in one word (`-u`) means for the options.

use super::flags::Options;
use crate::applets::server_uri;

/// Takes what `text` says into the options.
///
/// # Errors
/// The original's sentence for what is wrong with it.
pub fn apply(options: &mut Options, text: &str) -> Result<(), String> {
    let uri = server_uri::parse(text)?;
    if uri.is_tls {
        options.tls.turn_on();
    }
    if uri.password.is_some() {
        (options.user, options.password) = (uri.user, uri.password);
    }
    if let Some(host) = uri.host {
        options.host = host;
    }
    if let Some(port) = uri.port {
        options.port = port;
    }
    if let Some(database) = uri.database {
        options.database = database;
    }
    Ok(())
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
        assert!(read("rediss://host").unwrap().tls.settings().is_some());
    }
}
