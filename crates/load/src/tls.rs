//! TLS of the generator's connections: the settings of a plan made into something that begins sessions.
//!
//! Files are read once a target, not once a connection, and what is wrong with them is said before anything is sent.
//! Sessions are never resumed: each handshake is a whole one, as in the tools that are being replaced, so that
//! figures with a connection for each batch compare.

mod encrypted;
mod error;
mod suites;
mod trust;

use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use rustls::client::{ClientConnection, Resumption};
use rustls::crypto::{CryptoProvider, ring};
use rustls::pki_types::pem::PemObject;
use rustls::pki_types::{CertificateDer, PrivateKeyDer, ServerName};
use rustls::sign::CertifiedKey;
use rustls::version::{TLS12, TLS13};
use rustls::{ClientConfig, SignatureScheme, SupportedProtocolVersion};

pub(crate) use encrypted::Encrypted;
pub use encrypted::Negotiated;
pub use error::{HandshakeError, SettingsError};

use crate::plan::{Address, Target, Tls, TlsVersion};

/// Begins sessions to one target. Cloning is cheap, and clones share what the files held.
#[derive(Debug, Clone)]
pub(crate) struct Connector {
    config: Arc<ClientConfig>,
    identity: Arc<Identity>,
    name: ServerName<'static>,
}

impl Connector {
    /// The connector of a target; `None` for one that is not encrypted.
    pub(crate) fn new(target: &Target) -> Result<Option<Self>, SettingsError> {
        let Some(settings) = &target.tls else {
            return Ok(None);
        };
        let name = server_name(settings, &target.address)?;
        let provider = Arc::new(CryptoProvider {
            cipher_suites: suites::chosen(settings)?,
            ..ring::default_provider()
        });
        let identity = Arc::new(Identity::read(settings, &provider)?);
        let verifier = trust::verifier(settings, &provider)?;
        let mut config = ClientConfig::builder_with_provider(provider)
            .with_protocol_versions(&versions(settings))
            .map_err(|_| SettingsError::NothingToOffer)?
            .dangerous()
            .with_custom_certificate_verifier(verifier)
            .with_client_cert_resolver(Arc::clone(&identity) as _);
        config.resumption = Resumption::disabled();
        Ok(Some(Self { config: Arc::new(config), identity, name }))
    }

    /// Begins a session, which has sent nothing yet.
    pub(crate) fn session(&self) -> Result<ClientConnection, HandshakeError> {
        let mut session = ClientConnection::new(Arc::clone(&self.config), self.name.clone())
            .map_err(HandshakeError::new)?;
        // A batch is taken whole, so that it becomes as few records as can be; sockets that are full are seen
        // by those who write.
        session.set_buffer_limit(None);
        Ok(session)
    }

    /// Whether a server has asked for a certificate that is not there.
    pub(crate) fn lacks_certificate(&self) -> bool {
        self.identity.certificate.is_none() && self.identity.was_asked.load(Ordering::Relaxed)
    }
}

/// Who we are: the certificate shown to servers that ask for one, and whether one did.
#[derive(Debug)]
struct Identity {
    certificate: Option<Arc<CertifiedKey>>,
    was_asked: AtomicBool,
}

impl Identity {
    fn read(settings: &Tls, provider: &CryptoProvider) -> Result<Self, SettingsError> {
        let certificate = match (&settings.certificate, &settings.key) {
            (Some(certificate), Some(key)) => {
                let chain = certificates("--cert", Path::new(certificate))?;
                let certified = CertifiedKey::from_der(chain, private_key(key)?, provider);
                Some(Arc::new(
                    certified.map_err(|error| SettingsError::pair(certificate, key, &error))?,
                ))
            }
            (None, None) => None,
            _ => return Err(SettingsError::CertificateWithoutKey),
        };
        Ok(Self { certificate, was_asked: AtomicBool::new(false) })
    }
}

impl rustls::client::ResolvesClientCert for Identity {
    fn resolve(
        &self,
        _issuers: &[&[u8]],
        _schemes: &[SignatureScheme],
    ) -> Option<Arc<CertifiedKey>> {
        self.was_asked.store(true, Ordering::Relaxed);
        self.certificate.clone()
    }

    fn has_certs(&self) -> bool {
        // Also without one: else nobody would learn that it was asked for.
        true
    }
}

/// The name that is sent and looked for: the one that is given, or the host of the address.
fn server_name(settings: &Tls, address: &Address) -> Result<ServerName<'static>, SettingsError> {
    let name = match (&settings.sni, address) {
        (Some(name), _) => name.as_str(),
        (None, Address::Tcp { host, .. }) => host.as_str(),
        (None, Address::Unix { .. }) => "localhost",
    };
    ServerName::try_from(name.to_owned())
        .map_err(|_| SettingsError::ServerName { name: name.to_owned() })
}

fn versions(settings: &Tls) -> Vec<&'static SupportedProtocolVersion> {
    let all = [(TlsVersion::Tls13, &TLS13), (TlsVersion::Tls12, &TLS12)];
    let is_wanted = |version| settings.versions.is_empty() || settings.versions.contains(version);
    all.iter().filter(|(version, _)| is_wanted(version)).map(|(_, known)| *known).collect()
}

/// All certificates of a PEM file, at least one. `option` is what the file was named by.
fn certificates(
    option: &'static str,
    path: &Path,
) -> Result<Vec<CertificateDer<'static>>, SettingsError> {
    let text = read(option, path)?;
    let found: Result<Vec<_>, _> = CertificateDer::pem_slice_iter(&text).collect();
    let nothing = || SettingsError::NoCertificate { option, path: path.display().to_string() };
    match found {
        Ok(found) if !found.is_empty() => Ok(found),
        _ => Err(nothing()),
    }
}

/// The first private key of a PEM file, of whatever form.
fn private_key(path: &str) -> Result<PrivateKeyDer<'static>, SettingsError> {
    let text = read("--key", Path::new(path))?;
    PrivateKeyDer::from_pem_slice(&text).map_err(|_| {
        // PKCS#8 says so in the label, older forms in a header.
        let is_encrypted = text.windows(9).any(|window| window == b"ENCRYPTED");
        match is_encrypted {
            true => SettingsError::EncryptedKey { path: path.to_owned() },
            false => SettingsError::NoKey { path: path.to_owned() },
        }
    })
}

/// Longest PEM file that is read, in bytes: a system's bundle of CAs has some 250 KB.
const MAX_FILE_BYTES: u64 = 16 << 20;

fn read(option: &'static str, path: &Path) -> Result<Vec<u8>, SettingsError> {
    let unreadable = |reason: String| SettingsError::Unreadable {
        option,
        path: path.display().to_string(),
        reason,
    };
    let length = std::fs::metadata(path).map_err(|error| unreadable(error.to_string()))?.len();
    if length > MAX_FILE_BYTES {
        return Err(unreadable(format!("it has more than {} MiB", MAX_FILE_BYTES >> 20)));
    }
    std::fs::read(path).map_err(|error| unreadable(error.to_string()))
}
