//! Cipher suites by the names that OpenSSL's command line, and so the tools that are being replaced, give them.

use rustls::crypto::ring::cipher_suite;
use rustls::{CipherSuite, SupportedCipherSuite};

use super::SettingsError;
use crate::plan::Tls;

/// One cipher suite.
struct Row {
    /// OpenSSL's name.
    name: &'static str,
    suite: SupportedCipherSuite,
}

/// Those of TLS 1.3, in the order of preference.
const CIPHERSUITES: [Row; 3] = [
    Row { name: "TLS_AES_256_GCM_SHA384", suite: cipher_suite::TLS13_AES_256_GCM_SHA384 },
    Row {
        name: "TLS_CHACHA20_POLY1305_SHA256",
        suite: cipher_suite::TLS13_CHACHA20_POLY1305_SHA256,
    },
    Row { name: "TLS_AES_128_GCM_SHA256", suite: cipher_suite::TLS13_AES_128_GCM_SHA256 },
];

/// Those of TLS 1.2, in the order of preference.
const CIPHERS: [Row; 6] = [
    Row {
        name: "ECDHE-ECDSA-AES256-GCM-SHA384",
        suite: cipher_suite::TLS_ECDHE_ECDSA_WITH_AES_256_GCM_SHA384,
    },
    Row {
        name: "ECDHE-RSA-AES256-GCM-SHA384",
        suite: cipher_suite::TLS_ECDHE_RSA_WITH_AES_256_GCM_SHA384,
    },
    Row {
        name: "ECDHE-ECDSA-CHACHA20-POLY1305",
        suite: cipher_suite::TLS_ECDHE_ECDSA_WITH_CHACHA20_POLY1305_SHA256,
    },
    Row {
        name: "ECDHE-RSA-CHACHA20-POLY1305",
        suite: cipher_suite::TLS_ECDHE_RSA_WITH_CHACHA20_POLY1305_SHA256,
    },
    Row {
        name: "ECDHE-ECDSA-AES128-GCM-SHA256",
        suite: cipher_suite::TLS_ECDHE_ECDSA_WITH_AES_128_GCM_SHA256,
    },
    Row {
        name: "ECDHE-RSA-AES128-GCM-SHA256",
        suite: cipher_suite::TLS_ECDHE_RSA_WITH_AES_128_GCM_SHA256,
    },
];

/// The suites to offer. A list for one version says nothing about the other.
pub(super) fn chosen(settings: &Tls) -> Result<Vec<SupportedCipherSuite>, SettingsError> {
    let mut suites =
        of_list("--tls-ciphersuites", settings.ciphersuites.as_deref(), &CIPHERSUITES)?;
    suites.extend(of_list("--tls-ciphers", settings.ciphers.as_deref(), &CIPHERS)?);
    Ok(suites)
}

/// OpenSSL's name of a suite.
pub(super) fn name(suite: CipherSuite) -> &'static str {
    let mut rows = CIPHERSUITES.iter().chain(&CIPHERS);
    rows.find(|row| row.suite.suite() == suite).map_or("unknown", |row| row.name)
}

fn of_list(
    option: &'static str,
    list: Option<&str>,
    rows: &[Row],
) -> Result<Vec<SupportedCipherSuite>, SettingsError> {
    let Some(list) = list else {
        return Ok(rows.iter().map(|row| row.suite).collect());
    };
    // OpenSSL takes colons, commas and spaces.
    let names = list.split([':', ',', ' ']).filter(|name| !name.is_empty());
    let suites: Vec<_> = names
        .map(|name| {
            let row = rows.iter().find(|row| row.name == name);
            row.map(|row| row.suite).ok_or_else(|| unknown(option, name, rows))
        })
        .collect::<Result<_, _>>()?;
    if suites.is_empty() { Err(unknown(option, "", rows)) } else { Ok(suites) }
}

fn unknown(option: &'static str, name: &str, rows: &[Row]) -> SettingsError {
    let known = rows.iter().map(|row| row.name).collect::<Vec<_>>().join(", ");
    SettingsError::UnknownSuite { option, name: name.to_owned(), known }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lists_choose_in_their_order() {
        let settings = Tls {
            ciphers: Some("ECDHE-RSA-AES128-GCM-SHA256:ECDHE-RSA-AES256-GCM-SHA384".into()),
            ciphersuites: Some("TLS_AES_128_GCM_SHA256".into()),
            ..Tls::default()
        };
        let names: Vec<_> =
            chosen(&settings).unwrap().iter().map(|suite| name(suite.suite())).collect();
        assert_eq!(
            names,
            [
                "TLS_AES_128_GCM_SHA256",
                "ECDHE-RSA-AES128-GCM-SHA256",
                "ECDHE-RSA-AES256-GCM-SHA384"
            ]
        );
        assert_eq!(chosen(&Tls::default()).unwrap().len(), CIPHERSUITES.len() + CIPHERS.len());
    }

    #[test]
    fn what_does_not_exist_is_named_with_what_does() {
        for list in ["AES128-SHA", "", ":"] {
            let settings = Tls { ciphers: Some(list.into()), ..Tls::default() };
            let sentence = chosen(&settings).unwrap_err().to_string();
            assert!(
                sentence.starts_with("--tls-ciphers: there is no cipher suite '"),
                "{sentence}"
            );
            assert!(sentence.contains("ECDHE-RSA-AES256-GCM-SHA384, ECDHE-"), "{sentence}");
        }
        let settings =
            Tls { ciphersuites: Some("TLS_AES_128_CCM_SHA256".into()), ..Tls::default() };
        assert!(chosen(&settings).unwrap_err().to_string().contains("TLS_AES_128_GCM_SHA256"));
    }
}
