//! The server that the options name.

use std::net::ToSocketAddrs as _;

use load::plan::{Protocol as PlanProtocol, Target, Tls};

use super::super::server_uri;
use super::options::{Family, Options, Protocol};
use crate::flags::tls::versions;

/// Takes over what a URI says, so that configuration and plan agree.
///
/// # Errors
/// A sentence that says what is wrong with it.
pub fn apply_uri(options: &mut Options) -> Result<(), String> {
    let Some(text) = &options.uri else { return Ok(()) };
    let uri = server_uri::parse(text)?;
    options.host = uri.host.unwrap_or_else(|| options.host.clone());
    options.port = uri.port.unwrap_or(options.port);
    options.tls |= uri.is_tls;
    if let Some(password) = uri.password {
        let user = uri.user.unwrap_or_else(|| "default".into());
        options.authenticate = Some(format!("{user}:{password}"));
    }
    if let Some(database) = uri.database {
        options.select_db = u32::try_from(database)
            .map_err(|_| "the database of --uri is no number that SELECT takes")?;
    }
    Ok(())
}

/// The target of the load.
///
/// # Errors
/// A sentence: the host has no address of the family asked for, or an option is not to be had.
pub fn target(options: &Options) -> Result<Target, String> {
    let mut target = match &options.unix_socket {
        Some(path) => Target::unix(path),
        None => Target::tcp(host(options)?, options.port),
    };
    if let Some(credentials) = &options.authenticate {
        let (user, password) = match credentials.split_once(':') {
            Some((user, password)) if options.protocol != Protocol::MemcacheText => {
                (Some(user.to_string()).filter(|user| !user.is_empty()), password)
            }
            _ => (None, credentials.as_str()),
        };
        target.user = user;
        target.password = Some(password.to_string());
    }
    target.database = options.select_db;
    target.protocol = match options.protocol {
        Protocol::Redis | Protocol::Resp2 => PlanProtocol::Resp2,
        Protocol::Resp3 => PlanProtocol::Resp3,
        Protocol::MemcacheText => PlanProtocol::MemcacheText,
        Protocol::MemcacheBinary => PlanProtocol::MemcacheBinary,
        Protocol::MemcacheMeta => PlanProtocol::MemcacheMeta,
    };
    if options.tls {
        target.tls = Some(tls(options)?);
    }
    Ok(target)
}

/// The host; with `-4` or `-6` its first address of that family.
fn host(options: &Options) -> Result<String, String> {
    if options.family == Family::Any {
        return Ok(options.host.clone());
    }
    let wanted = |address: &std::net::SocketAddr| match options.family {
        Family::Any => true,
        Family::Ipv4 => address.is_ipv4(),
        Family::Ipv6 => address.is_ipv6(),
    };
    let found = (options.host.as_str(), options.port).to_socket_addrs();
    let found = found.map_err(|error| format!("cannot resolve {}: {error}", options.host))?;
    let mut found = found.filter(wanted);
    let version = if options.family == Family::Ipv4 { 4 } else { 6 };
    let none = || format!("{} has no IPv{version} address", options.host);
    Ok(found.next().ok_or_else(none)?.ip().to_string())
}

fn tls(options: &Options) -> Result<Tls, String> {
    let versions = match &options.tls_protocols {
        Some(list) => versions(list).map_err(|wrong| format!("--tls-protocols: {wrong}"))?,
        None => Vec::new(),
    };
    Ok(Tls {
        sni: options.sni.clone().or_else(|| {
            // The plan's host is an address then, and the certificate is of the name.
            (options.family != Family::Any).then(|| options.host.clone())
        }),
        ca_file: options.cacert.clone(),
        certificate: options.cert.clone(),
        key: options.key.clone(),
        insecure: options.tls_skip_verify,
        versions,
        ..Tls::default()
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_uri_gives_the_address_and_what_it_names() {
        let mut options =
            Options { uri: Some("rediss://me:pw@[::1]:7000/3".into()), ..Options::new() };
        apply_uri(&mut options).unwrap();
        assert_eq!((options.host.as_str(), options.port, options.select_db), ("::1", 7000, 3));
        assert_eq!((options.authenticate.as_deref(), options.tls), (Some("me:pw"), true));
        let mut options = Options { uri: Some("http://x".into()), ..Options::new() };
        assert!(apply_uri(&mut options).is_err());
    }

    #[test]
    fn credentials_are_split_where_the_protocol_has_users() {
        let options = |credentials: &str, protocol| Options {
            authenticate: Some(credentials.into()),
            protocol,
            ..Options::new()
        };
        let with_user = target(&options("me:a:b", Protocol::Redis)).unwrap();
        assert_eq!(
            (with_user.user.as_deref(), with_user.password.as_deref()),
            (Some("me"), Some("a:b"))
        );
        let without = target(&options("secret", Protocol::Redis)).unwrap();
        assert_eq!((without.user, without.password.as_deref()), (None, Some("secret")));
    }
}
