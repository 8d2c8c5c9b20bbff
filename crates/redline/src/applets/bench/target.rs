//! Server addresses as people write them: `redis://user:password@host:port/db`, `host:port`, paths of Unix sockets.

use load::plan::{Address, Target, Tls};

/// The port of a server that names none.
const DEFAULT_PORT: u16 = 6379;

/// Reads an address.
///
/// # Errors
/// A sentence on what cannot be read, without the credentials in it.
pub fn parse(text: &str) -> Result<Target, String> {
    let (scheme, rest) = match text.split_once("://") {
        Some((scheme, rest)) => (scheme, rest),
        None if text.starts_with('/') => ("unix", text),
        None => ("redis", text),
    };
    match scheme.to_ascii_lowercase().as_str() {
        "redis" | "valkey" => tcp(rest),
        "unix" | "redis+unix" | "valkey+unix" | "redis-socket" => unix(rest),
        "rediss" | "valkeys" => {
            tcp(rest).map(|target| Target { tls: Some(Tls::default()), ..target })
        }
        _ => {
            Err(format!("'{scheme}' is no scheme of a server; use redis://, rediss:// or unix://"))
        }
    }
}

/// The address as a URL without credentials, for results.
pub fn url(target: &Target) -> String {
    let database = match target.database {
        0 => String::new(),
        database => format!("/{database}"),
    };
    match &target.address {
        Address::Tcp { .. } => {
            let scheme = if target.tls.is_some() { "rediss" } else { "redis" };
            format!("{scheme}://{}{database}", target.address)
        }
        Address::Unix { path } if target.database == 0 => format!("unix://{path}"),
        Address::Unix { path } => format!("unix://{path}?db={}", target.database),
    }
}

/// Whether the server is on this machine, so that it shares the cores with the generator.
pub fn is_local(target: &Target) -> bool {
    match &target.address {
        Address::Unix { .. } => true,
        Address::Tcp { host, .. } => {
            host == "localhost"
                || host.parse::<std::net::IpAddr>().is_ok_and(|address| address.is_loopback())
        }
    }
}

fn tcp(rest: &str) -> Result<Target, String> {
    // A password may hold an '@': the last one ends the credentials.
    let (credentials, place) = match rest.rsplit_once('@') {
        Some((credentials, place)) => (Some(credentials), place),
        None => (None, rest),
    };
    let (place, query) = place.split_once('?').unwrap_or((place, ""));
    let (place, database) = place.split_once('/').unwrap_or((place, ""));
    let (host, port) = match place.strip_prefix('[').and_then(|inner| inner.split_once(']')) {
        Some((host, "")) => (host, None),
        Some((host, after)) => (host, after.strip_prefix(':').or(Some(""))),
        None => match place.rsplit_once(':') {
            Some((host, _)) if host.contains(':') => {
                return Err("an IPv6 address needs brackets: [::1]:6379".into());
            }
            Some((host, port)) => (host, Some(port)),
            None => (place, None),
        },
    };
    let port = match port {
        None => DEFAULT_PORT,
        Some(text) => text
            .parse::<u16>()
            .ok()
            .filter(|port| *port > 0)
            .ok_or_else(|| format!("'{text}' is no port; one is from 1 to 65535"))?,
    };
    if host.contains(char::is_whitespace) {
        return Err(format!("'{host}' is no host name"));
    }
    let mut target = Target::tcp(if host.is_empty() { "127.0.0.1" } else { host }, port);
    if !database.is_empty() {
        target.database = number(database)?;
    }
    finish(target, credentials, query)
}

fn unix(rest: &str) -> Result<Target, String> {
    let (rest, query) = rest.split_once('?').unwrap_or((rest, ""));
    let (credentials, path) = match rest.find('/').map(|slash| rest.split_at(slash)) {
        Some(("", path)) => (None, path),
        Some((before, path)) if before.ends_with('@') => (Some(&before[..before.len() - 1]), path),
        _ => return Err("a Unix socket needs a path from the root: unix:///run/redis.sock".into()),
    };
    finish(Target::unix(path), credentials, query)
}

/// Adds what stands in front of the address and behind it.
fn finish(mut target: Target, credentials: Option<&str>, query: &str) -> Result<Target, String> {
    if let Some(credentials) = credentials {
        let (user, password) = match credentials.split_once(':') {
            Some((user, password)) => (percent_decoded(user)?, percent_decoded(password)?),
            None => (String::new(), percent_decoded(credentials)?),
        };
        target.user = Some(user).filter(|user| !user.is_empty());
        target.password = Some(password).filter(|password| !password.is_empty());
    }
    for pair in query.split('&').filter(|pair| !pair.is_empty()) {
        match pair.split_once('=') {
            Some(("db", value)) => target.database = number(value)?,
            _ => return Err(format!("'{pair}' is no parameter of an address; there is db=N")),
        }
    }
    Ok(target)
}

fn number(text: &str) -> Result<u32, String> {
    text.parse().map_err(|_| format!("'{text}' is no number of a database"))
}

fn percent_decoded(text: &str) -> Result<String, String> {
    let wrong = || "broken percent encoding in the credentials".to_owned();
    let mut decoded = Vec::with_capacity(text.len());
    let mut bytes = text.bytes();
    while let Some(byte) = bytes.next() {
        if byte != b'%' {
            decoded.push(byte);
            continue;
        }
        let mut digit = || bytes.next().and_then(|byte| (byte as char).to_digit(16));
        let (Some(high), Some(low)) = (digit(), digit()) else { return Err(wrong()) };
        decoded.push((high * 16 + low) as u8);
    }
    String::from_utf8(decoded).map_err(|_| wrong())
}

#[cfg(test)]
mod tests {
    use super::{is_local, parse, url};

    #[test]
    fn addresses_are_read_in_all_their_forms() {
        for (text, expected) in [
            ("redis://db.example.org", "redis://db.example.org:6379"),
            ("db.example.org:7000", "redis://db.example.org:7000"),
            ("redis://", "redis://127.0.0.1:6379"),
            ("valkey://h:1/5", "redis://h:1/5"),
            ("redis://[::1]:7/2", "redis://[::1]:7/2"),
            ("[::1]", "redis://[::1]:6379"),
            ("rediss://:secret@h:7/2", "rediss://h:7/2"),
            ("valkeys://h", "rediss://h:6379"),
            ("/run/redis.sock", "unix:///run/redis.sock"),
            ("redis+unix:///run/redis.sock?db=3", "unix:///run/redis.sock?db=3"),
        ] {
            assert_eq!(parse(text).map(|target| url(&target)), Ok(expected.to_owned()), "{text}");
        }
    }

    #[test]
    fn credentials_are_decoded_and_stay_out_of_the_url() {
        let target = parse("redis://al%69ce:p%40ss:w@rd@h:1").unwrap();
        assert_eq!(target.user.as_deref(), Some("alice"));
        assert_eq!(target.password.as_deref(), Some("p@ss:w@rd"));
        assert_eq!(url(&target), "redis://h:1");
        let target = parse("unix://:secret@/s").unwrap();
        assert_eq!((target.user, target.password.as_deref()), (None, Some("secret")));
        assert_eq!(parse("redis://secret@h").unwrap().password.as_deref(), Some("secret"));
    }

    #[test]
    fn what_is_wrong_is_said() {
        for (text, part) in [
            ("http://h", "scheme"),
            ("h:0", "port"),
            ("h:x", "port"),
            ("[::1]x", "port"),
            ("::1:6379", "brackets"),
            ("redis://h/x", "database"),
            ("unix://run", "path"),
            ("redis://:%4@h", "percent"),
            ("redis://h?tls=1", "parameter"),
            ("a b", "host name"),
        ] {
            let error = parse(text).unwrap_err();
            assert!(error.contains(part), "{text}: {error}");
        }
    }

    #[test]
    fn loopback_and_sockets_are_local() {
        for (text, local) in [
            ("localhost", true),
            ("127.0.0.2:1", true),
            ("[::1]", true),
            ("/s", true),
            ("h", false),
        ] {
            assert_eq!(is_local(&parse(text).unwrap()), local, "{text}");
        }
    }
}
