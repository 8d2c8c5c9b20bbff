//! The options of TLS of `redline bench`, named as in redis-cli.

use clap::Args;
use load::plan::{Target, Tls};

/// How connections are encrypted. They count for targets of `rediss://`, and for all with `--tls`.
#[derive(Debug, Clone, Default, Args)]
pub struct TlsArguments {
    /// Encrypt the connections to all targets, as rediss:// does for one
    #[arg(long)]
    tls: bool,
    /// Name to ask the server for and to look for in its certificate [default: the host]
    #[arg(long, value_name = "HOST")]
    sni: Option<String>,
    /// CA certificates to verify the server with [default: the system's]
    #[arg(long, value_name = "FILE")]
    cacert: Option<String>,
    /// Directory of CA certificates, in files named *.pem or *.crt
    #[arg(long, value_name = "DIR")]
    cacertdir: Option<String>,
    /// Client certificate to show to the server
    #[arg(long, value_name = "FILE", requires = "key")]
    cert: Option<String>,
    /// Private key of the client certificate
    #[arg(long, value_name = "FILE", requires = "cert")]
    key: Option<String>,
    /// Do not verify the server's certificate: anybody may answer
    #[arg(long)]
    insecure: bool,
    /// Cipher suites for TLS 1.2, the preferred one first, with colons between
    #[arg(long, value_name = "LIST")]
    tls_ciphers: Option<String>,
    /// Cipher suites for TLS 1.3, likewise
    #[arg(long, value_name = "LIST")]
    tls_ciphersuites: Option<String>,
}

impl TlsArguments {
    /// Whether any of them is given.
    pub fn is_asked(&self) -> bool {
        self.tls || self.settings() != Tls::default()
    }

    /// Encrypts the targets that are to be encrypted.
    ///
    /// # Errors
    /// A sentence on settings for no target.
    pub fn complete(&self, targets: &mut [Target]) -> Result<(), String> {
        let settings = self.settings();
        for target in &mut *targets {
            if self.tls || target.tls.is_some() {
                target.tls = Some(settings.clone());
            }
        }
        let is_used = targets.iter().any(|target| target.tls.is_some());
        if self.is_asked() && !is_used {
            return Err("options of TLS need --tls, or a target of rediss://".into());
        }
        Ok(())
    }

    fn settings(&self) -> Tls {
        Tls {
            sni: self.sni.clone(),
            ca_file: self.cacert.clone(),
            ca_directory: self.cacertdir.clone(),
            certificate: self.cert.clone(),
            key: self.key.clone(),
            insecure: self.insecure,
            ciphers: self.tls_ciphers.clone(),
            ciphersuites: self.tls_ciphersuites.clone(),
            versions: Vec::new(),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn settings_go_to_the_targets_that_are_encrypted() {
        let arguments = TlsArguments { insecure: true, ..TlsArguments::default() };
        let encrypted = Target { tls: Some(Tls::default()), ..Target::tcp("a", 1) };
        let mut targets = [Target::tcp("b", 1), encrypted];
        arguments.complete(&mut targets).unwrap();
        assert_eq!(targets[0].tls, None);
        assert!(targets[1].tls.as_ref().unwrap().insecure);
        assert!(arguments.complete(&mut targets[..1]).unwrap_err().contains("need --tls"));
        let all = TlsArguments { tls: true, ..arguments };
        all.complete(&mut targets).unwrap();
        assert!(targets.iter().all(|target| target.tls.is_some()));
    }
}
