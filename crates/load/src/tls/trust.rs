//! Whom a connection trusts: the certificates of CAs, and what is checked of the one that a server shows.
//!
//! Chain and host name are always checked, unless nothing is. Beyond what the session's library does alone: a server's
//! own certificate in the CA file is trusted even when it says that it is a CA's, as those that `openssl req -x509` makes
//! do.

use std::path::Path;
use std::sync::Arc;

use rustls::client::danger::{HandshakeSignatureValid, ServerCertVerified, ServerCertVerifier};
use rustls::client::{verify_server_cert_signed_by_trust_anchor, verify_server_name};
use rustls::crypto::{
    CryptoProvider, WebPkiSupportedAlgorithms, verify_tls12_signature, verify_tls13_signature,
};
use rustls::pki_types::{CertificateDer, ServerName, UnixTime};
use rustls::server::ParsedCertificate;
use rustls::{
    CertificateError, DigitallySignedStruct, Error, OtherError, RootCertStore, SignatureScheme,
};

use super::{SettingsError, certificates};
use crate::plan::Tls;

/// Extensions of the files of a CA directory that are read.
const EXTENSIONS: [&str; 2] = ["pem", "crt"];
/// Most files of a CA directory that are read: a system's has some hundreds.
const MAX_FILES: usize = 10_000;

/// What decides about a server's certificate.
pub(super) fn verifier(
    settings: &Tls,
    provider: &CryptoProvider,
) -> Result<Arc<dyn ServerCertVerifier>, SettingsError> {
    let algorithms = provider.signature_verification_algorithms;
    if settings.insecure {
        return Ok(Arc::new(Anyone { algorithms }));
    }
    let (trusted, is_own) = trusted(settings)?;
    let mut roots = RootCertStore::empty();
    // What can't be read of a certificate can't be trusted either, and a system's bundle may hold such.
    roots.add_parsable_certificates(trusted.iter().cloned());
    let trusted = if is_own { trusted } else { Vec::new() };
    Ok(Arc::new(Trust { roots, trusted, algorithms }))
}

/// The certificates to trust, and whether they were named.
fn trusted(settings: &Tls) -> Result<(Vec<CertificateDer<'static>>, bool), SettingsError> {
    let mut trusted = Vec::new();
    if let Some(file) = &settings.ca_file {
        trusted.extend(certificates("--cacert", Path::new(file))?);
    }
    if let Some(directory) = &settings.ca_directory {
        trusted.extend(of_directory(directory)?);
    }
    if settings.ca_file.is_some() || settings.ca_directory.is_some() {
        return Ok((trusted, true));
    }
    // A system's store with one broken file still has the others.
    let system = rustls_native_certs::load_native_certs().certs;
    if system.is_empty() { Err(SettingsError::NoRoots) } else { Ok((system, false)) }
}

fn of_directory(path: &str) -> Result<Vec<CertificateDer<'static>>, SettingsError> {
    const OPTION: &str = "--cacertdir";
    let unreadable = |error: std::io::Error| SettingsError::Unreadable {
        option: OPTION,
        path: path.to_owned(),
        reason: error.to_string(),
    };
    let mut found = Vec::new();
    for entry in std::fs::read_dir(path).map_err(unreadable)?.take(MAX_FILES) {
        let file = entry.map_err(unreadable)?.path();
        let extension = file.extension().and_then(|extension| extension.to_str());
        if extension.is_some_and(|extension| EXTENSIONS.contains(&extension)) && file.is_file() {
            // Keys lie beside certificates in many such directories.
            match certificates(OPTION, &file) {
                Err(SettingsError::NoCertificate { .. }) => {}
                certificates => found.extend(certificates?),
            }
        }
    }
    if found.is_empty() {
        return Err(SettingsError::NoCertificate { option: OPTION, path: path.to_owned() });
    }
    Ok(found)
}

/// Checks chain and host name.
#[derive(Debug)]
struct Trust {
    roots: RootCertStore,
    /// Certificates that were named, as they are.
    trusted: Vec<CertificateDer<'static>>,
    algorithms: WebPkiSupportedAlgorithms,
}

impl Trust {
    /// A certificate that was named itself needs no chain. The library looks at its dates before it finds that it is a
    /// CA's, and only that finding is passed over.
    fn is_named(&self, shown: &CertificateDer<'_>, error: &Error) -> bool {
        let Error::InvalidCertificate(CertificateError::Other(OtherError(cause))) = error else {
            return false;
        };
        matches!(cause.downcast_ref(), Some(webpki::Error::CaUsedAsEndEntity))
            && self.trusted.iter().any(|trusted| trusted == shown)
    }
}

impl ServerCertVerifier for Trust {
    fn verify_server_cert(
        &self,
        end_entity: &CertificateDer<'_>,
        intermediates: &[CertificateDer<'_>],
        server_name: &ServerName<'_>,
        _ocsp_response: &[u8],
        now: UnixTime,
    ) -> Result<ServerCertVerified, Error> {
        let certificate = ParsedCertificate::try_from(end_entity)?;
        let chain = verify_server_cert_signed_by_trust_anchor(
            &certificate,
            &self.roots,
            intermediates,
            now,
            self.algorithms.all,
        );
        if let Err(error) = chain
            && !self.is_named(end_entity, &error)
        {
            return Err(error);
        }
        verify_server_name(&certificate, server_name)?;
        Ok(ServerCertVerified::assertion())
    }

    fn verify_tls12_signature(
        &self,
        message: &[u8],
        certificate: &CertificateDer<'_>,
        signed: &DigitallySignedStruct,
    ) -> Result<HandshakeSignatureValid, Error> {
        verify_tls12_signature(message, certificate, signed, &self.algorithms)
    }

    fn verify_tls13_signature(
        &self,
        message: &[u8],
        certificate: &CertificateDer<'_>,
        signed: &DigitallySignedStruct,
    ) -> Result<HandshakeSignatureValid, Error> {
        verify_tls13_signature(message, certificate, signed, &self.algorithms)
    }

    fn supported_verify_schemes(&self) -> Vec<SignatureScheme> {
        self.algorithms.supported_schemes()
    }
}

/// Takes every certificate, those of old versions and with old algorithms included. Signatures are not looked at either:
/// they would only prove that whoever answers has the key of what he has made up.
#[derive(Debug)]
struct Anyone {
    algorithms: WebPkiSupportedAlgorithms,
}

impl ServerCertVerifier for Anyone {
    fn verify_server_cert(
        &self,
        _end_entity: &CertificateDer<'_>,
        _intermediates: &[CertificateDer<'_>],
        _server_name: &ServerName<'_>,
        _ocsp_response: &[u8],
        _now: UnixTime,
    ) -> Result<ServerCertVerified, Error> {
        Ok(ServerCertVerified::assertion())
    }

    fn verify_tls12_signature(
        &self,
        _message: &[u8],
        _certificate: &CertificateDer<'_>,
        _signed: &DigitallySignedStruct,
    ) -> Result<HandshakeSignatureValid, Error> {
        Ok(HandshakeSignatureValid::assertion())
    }

    fn verify_tls13_signature(
        &self,
        _message: &[u8],
        _certificate: &CertificateDer<'_>,
        _signed: &DigitallySignedStruct,
    ) -> Result<HandshakeSignatureValid, Error> {
        Ok(HandshakeSignatureValid::assertion())
    }

    fn supported_verify_schemes(&self) -> Vec<SignatureScheme> {
        self.algorithms.supported_schemes()
    }
}
