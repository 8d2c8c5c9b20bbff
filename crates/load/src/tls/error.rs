//! What goes wrong with TLS, each in one sentence that says what to do.
//!
//! The options are named as redis-cli, redis-benchmark and memtier_benchmark all have them.

use std::io;
use std::net::IpAddr;
use std::time::Duration;

use rustls::pki_types::UnixTime;
use rustls::{AlertDescription, CertificateError, Error, InconsistentKeys, OtherError};
use thiserror::Error;

/// Why settings of TLS can't be used. Found before anything is sent.
#[derive(Debug, Clone, PartialEq, Eq, Error)]
pub enum SettingsError {
    /// A file or directory can't be read.
    #[error("cannot read {path}, named by {option}: {reason}")]
    Unreadable {
        /// The option that names it.
        option: &'static str,
        /// Its path.
        path: String,
        /// What the system said.
        reason: String,
    },
    /// A file, or all files of a directory, without a certificate.
    #[error("{path}, named by {option}, holds no certificate in PEM form")]
    NoCertificate {
        /// The option that names it.
        option: &'static str,
        /// Its path.
        path: String,
    },
    /// A file without a key.
    #[error("{path}, named by --key, holds no private key in PEM form (PKCS#8, PKCS#1 or SEC1)")]
    NoKey {
        /// Its path.
        path: String,
    },
    /// A key that needs a passphrase.
    #[error(
        "the private key in {path} is encrypted: make a copy without a passphrase, by 'openssl pkey -in {path} -out \
         PLAIN', and name that by --key"
    )]
    EncryptedKey {
        /// Its path.
        path: String,
    },
    /// A key that is none of the certificate's.
    #[error(
        "the private key {key} does not belong to the certificate {certificate}: --cert and --key must be a pair"
    )]
    KeyMismatch {
        /// Path of the certificate.
        certificate: String,
        /// Path of the key.
        key: String,
    },
    /// A key or certificate of a kind that can't be used.
    #[error("the certificate {certificate} with the key {key} cannot be used: {reason}")]
    UnusablePair {
        /// Path of the certificate.
        certificate: String,
        /// Path of the key.
        key: String,
        /// What is wrong with it.
        reason: String,
    },
    /// One of the two without the other.
    #[error("a client certificate needs both --cert and --key")]
    CertificateWithoutKey,
    /// A cipher suite that does not exist here.
    #[error("{option}: there is no cipher suite '{name}' here; there are {known}")]
    UnknownSuite {
        /// The option.
        option: &'static str,
        /// The name.
        name: String,
        /// Names that exist, with commas.
        known: String,
    },
    /// Versions and cipher suites that exclude each other.
    #[error("no cipher suite is left for the versions of TLS that are allowed")]
    NothingToOffer,
    /// The system has no CA certificates where they use to be.
    #[error(
        "this system has no CA certificates to verify the server with: name a file of them by --cacert"
    )]
    NoRoots,
    /// Text that can't be the name of a server.
    #[error("'{name}' is no name that a server's certificate could hold: give its name by --sni")]
    ServerName {
        /// The text.
        name: String,
    },
}

impl SettingsError {
    /// What is wrong with a certificate and a key.
    pub(super) fn pair(certificate: &str, key: &str, error: &Error) -> Self {
        let (certificate, key) = (certificate.to_owned(), key.to_owned());
        match error {
            Error::InconsistentKeys(InconsistentKeys::KeyMismatch) => {
                Self::KeyMismatch { certificate, key }
            }
            error => Self::UnusablePair { certificate, key, reason: error.to_string() },
        }
    }
}

/// Why no encrypted connection came about, or why it ended. Nothing was sent in clear.
#[derive(Debug, Clone, PartialEq, Eq, Error)]
pub enum HandshakeError {
    /// The certificate's chain ends at a CA that is not trusted.
    #[error(
        "its certificate comes from a CA that is not trusted here: name the right CA's certificate by --cacert"
    )]
    UnknownIssuer,
    /// The certificate is too old.
    #[error(
        "its certificate expired {0}: it must be renewed on the server (or this machine's clock be set right)"
    )]
    Expired(String),
    /// The certificate is too young.
    #[error("its certificate is not valid yet: check the clocks of server and client")]
    NotValidYet,
    /// The certificate is for others.
    #[error(
        "its certificate is for {names}, not for {expected}: connect by a name that it holds, or give that by --sni"
    )]
    WrongHost {
        /// The name that was looked for.
        expected: String,
        /// The names it holds, with commas.
        names: String,
    },
    /// The certificate has no names that count.
    #[error(
        "its certificate names no host as a subject alternative name, so nobody can tell whose it is: make one that does, or \
         do without verification"
    )]
    NoHost,
    /// Something else about the certificate.
    #[error("its certificate cannot be trusted: {0}")]
    Certificate(String),
    /// Another protocol than TLS came.
    #[error("what listens there does not speak TLS: name its TLS port, or connect without TLS")]
    NotTls,
    /// Nothing came.
    #[error("no answer to the TLS handshake within {} s: name the server's TLS port, or connect without TLS", .0.as_secs())]
    Silent(Duration),
    /// The server hung up.
    #[error(
        "the server closed the connection in the TLS handshake: check that the port speaks TLS, and which versions and \
         client certificates it accepts"
    )]
    Closed,
    /// The server wants to know who we are.
    #[error("the server wants a client certificate: give one by --cert and --key")]
    CertificateWanted,
    /// The server does not trust us.
    #[error(
        "the server refuses the client certificate ({0}): give one by --cert and --key whose CA it trusts"
    )]
    CertificateRefused(String),
    /// The two have no version or cipher suite in common.
    #[error("server and client have no TLS version and cipher suite in common ({0}): allow others")]
    NothingInCommon(String),
    /// Anything else.
    #[error("the TLS session failed: {0}")]
    Other(String),
}

impl HandshakeError {
    /// What an error of the session means for those who use it.
    pub(super) fn new(error: Error) -> Self {
        match error {
            Error::InvalidCertificate(problem) => Self::certificate(problem),
            Error::InvalidMessage(_) => Self::NotTls,
            Error::AlertReceived(alert) => Self::alert(alert),
            Error::PeerIncompatible(problem) => Self::NothingInCommon(format!("{problem:?}")),
            error => Self::Other(error.to_string()),
        }
    }

    fn certificate(problem: CertificateError) -> Self {
        match problem {
            CertificateError::UnknownIssuer => Self::UnknownIssuer,
            CertificateError::ExpiredContext { time, not_after } => {
                Self::Expired(since(time, not_after))
            }
            CertificateError::Expired => Self::Expired("some time ago".into()),
            CertificateError::NotValidYet | CertificateError::NotValidYetContext { .. } => {
                Self::NotValidYet
            }
            CertificateError::NotValidForNameContext { presented, .. } if presented.is_empty() => {
                Self::NoHost
            }
            CertificateError::NotValidForNameContext { expected, presented } => Self::WrongHost {
                expected: expected.to_str().into_owned(),
                names: names(&presented),
            },
            // Version 1 has no alternative names.
            CertificateError::Other(OtherError(cause))
                if matches!(cause.downcast_ref(), Some(webpki::Error::UnsupportedCertVersion)) =>
            {
                Self::NoHost
            }
            problem => Self::Certificate(problem.to_string()),
        }
    }

    fn alert(alert: AlertDescription) -> Self {
        let text = format!("{alert:?}");
        match alert {
            AlertDescription::CertificateRequired => Self::CertificateWanted,
            AlertDescription::UnknownCA
            | AlertDescription::BadCertificate
            | AlertDescription::UnsupportedCertificate
            | AlertDescription::CertificateRevoked
            | AlertDescription::CertificateExpired
            | AlertDescription::CertificateUnknown
            | AlertDescription::AccessDenied => Self::CertificateRefused(text),
            AlertDescription::HandshakeFailure
            | AlertDescription::ProtocolVersion
            | AlertDescription::InsufficientSecurity => Self::NothingInCommon(text),
            _ => Self::Other(format!("the server's alert is {text}")),
        }
    }

    /// The same as an error of a stream, from which [`HandshakeError::of`] gets it back.
    pub(crate) fn into_io(self) -> io::Error {
        io::Error::new(io::ErrorKind::InvalidData, self)
    }

    /// The error of TLS in an error of a stream.
    pub(crate) fn of(error: &io::Error) -> Option<&Self> {
        error.get_ref()?.downcast_ref()
    }
}

/// The names of a certificate for people. The session's library describes them as `DnsName("a.example")`.
fn names(presented: &[String]) -> String {
    let bare = |name: &String| {
        let inner = name.split_once('(').map_or(name.as_str(), |(_, inner)| inner);
        let inner = inner.trim_end_matches(')').trim_matches('"');
        inner.parse::<IpAddr>().map_or_else(|_| inner.to_owned(), |address| address.to_string())
    };
    presented.iter().map(bare).collect::<Vec<_>>().join(", ")
}

fn since(now: UnixTime, then: UnixTime) -> String {
    let seconds = now.as_secs().saturating_sub(then.as_secs());
    let (count, unit) = match seconds {
        0..3600 => (seconds / 60, "minute"),
        3600..86_400 => (seconds / 3600, "hour"),
        _ => (seconds / 86_400, "day"),
    };
    format!("{count} {unit}{} ago", if count == 1 { "" } else { "s" })
}
