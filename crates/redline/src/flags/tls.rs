//! The options of TLS, which every personality has under the same names: rows for its table, and what they come to.
//!
//! Options that have a [`TlsChoice`] implement [`HasTls`], put the rows ([`tls`], [`sni`], [`ca_file`] ...) into their table,
//! call [`TlsChoice::turn_on`] for `rediss://`, and give [`TlsChoice::settings`] to their `load::plan::Target`. What can't be
//! read or does not fit together is found by `load` before anything is sent, and its sentence names the option.

use load::plan::{Tls, TlsVersion};

use super::{Flag, option, switch};

/// What the options of TLS have asked for so far.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct TlsChoice {
    is_on: bool,
    /// The settings, which count if TLS is on.
    pub wanted: Tls,
}

impl TlsChoice {
    /// Asks for TLS.
    pub fn turn_on(&mut self) {
        self.is_on = true;
    }

    /// The settings for a target. `None` without `--tls`, whatever else is set: as in the originals, the other options
    /// alone ask for nothing.
    pub fn settings(&self) -> Option<Tls> {
        self.is_on.then(|| self.wanted.clone())
    }
}

/// Options with those of TLS among them.
pub trait HasTls {
    /// Those of TLS.
    fn tls_choice(&mut self) -> &mut TlsChoice;
}

/// `--tls`.
pub const fn tls<O: HasTls>() -> Flag<O> {
    switch(&["--tls"], "Encrypt the connections by TLS", |options, _| {
        options.tls_choice().turn_on();
        Ok(())
    })
}

/// `--sni`.
pub const fn sni<O: HasTls>() -> Flag<O> {
    option(
        &["--sni"],
        "<host>",
        "Name to ask the server for and to look for in its certificate (default: the host)",
        |options, value| {
            options.tls_choice().wanted.sni = Some(value.into());
            Ok(())
        },
    )
}

/// `--cacert`.
pub const fn ca_file<O: HasTls>() -> Flag<O> {
    option(
        &["--cacert"],
        "<file>",
        "CA certificates to verify the server with (default: the system's)",
        |options, value| {
            options.tls_choice().wanted.ca_file = Some(value.into());
            Ok(())
        },
    )
}

/// `--cacertdir`.
pub const fn ca_directory<O: HasTls>() -> Flag<O> {
    option(
        &["--cacertdir"],
        "<dir>",
        "Directory of CA certificates, in files named *.pem or *.crt",
        |options, value| {
            options.tls_choice().wanted.ca_directory = Some(value.into());
            Ok(())
        },
    )
}

/// `--insecure`.
pub const fn insecure<O: HasTls>() -> Flag<O> {
    switch(
        &["--insecure"],
        "Do not verify the server's certificate: anybody may answer",
        |options, _| {
            options.tls_choice().wanted.insecure = true;
            Ok(())
        },
    )
}

/// `--cert`.
pub const fn certificate<O: HasTls>() -> Flag<O> {
    option(&["--cert"], "<file>", "Client certificate to show to the server", |options, value| {
        options.tls_choice().wanted.certificate = Some(value.into());
        Ok(())
    })
}

/// `--key`.
pub const fn key<O: HasTls>() -> Flag<O> {
    option(&["--key"], "<file>", "Private key of the client certificate", |options, value| {
        options.tls_choice().wanted.key = Some(value.into());
        Ok(())
    })
}

/// `--tls-ciphers`.
pub const fn ciphers<O: HasTls>() -> Flag<O> {
    option(
        &["--tls-ciphers"],
        "<list>",
        "Cipher suites for TLS 1.2, the preferred one first, with colons between",
        |options, value| {
            options.tls_choice().wanted.ciphers = Some(value.into());
            Ok(())
        },
    )
}

/// `--tls-ciphersuites`.
pub const fn ciphersuites<O: HasTls>() -> Flag<O> {
    option(
        &["--tls-ciphersuites"],
        "<list>",
        "Cipher suites for TLS 1.3, likewise",
        |options, value| {
            options.tls_choice().wanted.ciphersuites = Some(value.into());
            Ok(())
        },
    )
}

/// Versions from a list as memtier_benchmark's `--tls-protocols` takes it: `TLSv1.2,TLSv1.3`. `TLSv1` and `TLSv1.1` are passed
/// over when a newer one is beside them.
///
/// # Errors
/// A sentence on a name that is none, or on a list with nothing but broken versions.
pub fn versions(list: &str) -> Result<Vec<TlsVersion>, String> {
    let mut versions = Vec::new();
    for name in list.split(',').map(str::trim).filter(|name| !name.is_empty()) {
        match name.to_ascii_lowercase().as_str() {
            "tlsv1" | "tlsv1.0" | "tlsv1.1" => {}
            "tlsv1.2" => versions.push(TlsVersion::Tls12),
            "tlsv1.3" => versions.push(TlsVersion::Tls13),
            _ => {
                return Err(format!(
                    "'{name}' is no version of TLS; there are TLSv1.2 and TLSv1.3"
                ));
            }
        }
    }
    if versions.is_empty() {
        return Err(
            "TLS before 1.2 is broken and not supported; there are TLSv1.2 and TLSv1.3".into()
        );
    }
    Ok(versions)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[derive(Default)]
    struct Options(TlsChoice);

    impl HasTls for Options {
        fn tls_choice(&mut self) -> &mut TlsChoice {
            &mut self.0
        }
    }

    #[test]
    fn rows_set_what_they_name_and_count_with_tls_only() {
        const ROWS: [Flag<Options>; 8] = [
            sni(),
            ca_file(),
            ca_directory(),
            insecure(),
            certificate(),
            key(),
            ciphers(),
            ciphersuites(),
        ];
        let mut options = Options::default();
        ROWS.iter().for_each(|row| (row.apply)(&mut options, row.names[0]).unwrap());
        assert_eq!(options.0.settings(), None);
        (tls::<Options>().apply)(&mut options, "").unwrap();
        let named = |name: &str| Some(name.to_owned());
        let expected = Tls {
            sni: named("--sni"),
            ca_file: named("--cacert"),
            ca_directory: named("--cacertdir"),
            certificate: named("--cert"),
            key: named("--key"),
            insecure: true,
            ciphers: named("--tls-ciphers"),
            ciphersuites: named("--tls-ciphersuites"),
            versions: Vec::new(),
        };
        assert_eq!(options.0.settings(), Some(expected));
    }

    #[test]
    fn old_versions_are_passed_over() {
        use TlsVersion::{Tls12, Tls13};

        assert_eq!(versions("TLSv1,TLSv1.1,TLSv1.2,TLSv1.3"), Ok(vec![Tls12, Tls13]));
        assert_eq!(versions(" tlsv1.3 "), Ok(vec![Tls13]));
        assert!(versions("TLSv1.1").unwrap_err().contains("broken"));
        assert!(versions("SSLv3").unwrap_err().contains("'SSLv3'"));
        assert!(versions("").is_err());
    }
}
