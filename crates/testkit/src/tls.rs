//! TLS for tests: certificates made on the spot, and a real Redis server that speaks it.

use std::fs;
use std::io;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicU32, Ordering};

use rcgen::{
    BasicConstraints, CertificateParams, CertifiedIssuer, DnType, ExtendedKeyUsagePurpose, IsCa,
    KeyPair, KeyUsagePurpose, date_time_ymd,
};

use crate::peer::{self, Peer, QUIET_SERVER};
use crate::ports;

/// Tries with another port.
const START_ATTEMPTS: usize = 3;

static FOLDERS: AtomicU32 = AtomicU32::new(0);

/// Certificates in files of a folder of their own, which goes with this: two CAs, servers and a client.
///
/// | files | what they hold |
/// |---|---|
/// | `ca.pem` | the CA of all others but `self-signed` and `stranger` |
/// | `other-ca.pem` | another CA |
/// | `server.pem`, `.key` | a server named `redline.test`, `localhost`, 127.0.0.1 and ::1 |
/// | `expired.pem`, `.key` | the same, expired in 2020 |
/// | `elsewhere.pem`, `.key` | a server named `elsewhere.test` only |
/// | `self-signed.pem`, `.key` | a server that is its own CA, as `openssl req -x509` makes them |
/// | `client.pem`, `.key` | a client |
/// | `stranger.pem`, `.key` | a client of the other CA |
#[derive(Debug)]
pub struct Certificates {
    folder: PathBuf,
}

impl Certificates {
    /// Makes them all.
    pub fn make() -> Self {
        let nth = FOLDERS.fetch_add(1, Ordering::Relaxed);
        let folder = std::env::temp_dir().join(format!("redline-tls-{}-{nth}", std::process::id()));
        fs::create_dir_all(&folder).expect("a temporary folder can be made");
        let made = Self { folder };
        let (authority, other) = (authority("Redline test CA"), authority("Another test CA"));
        made.write("ca.pem", &authority.pem());
        made.write("other-ca.pem", &other.pem());
        let names = ["redline.test", "localhost", "127.0.0.1", "::1"];
        made.signed("server", &server(&names), &authority);
        let mut expired = server(&names);
        (expired.not_before, expired.not_after) =
            (date_time_ymd(2019, 1, 1), date_time_ymd(2020, 1, 1));
        made.signed("expired", &expired, &authority);
        made.signed("elsewhere", &server(&["elsewhere.test"]), &authority);
        let mut own = server(&names);
        own.is_ca = IsCa::Ca(BasicConstraints::Unconstrained);
        own.extended_key_usages.clear();
        let key = KeyPair::generate().expect("a key can be made");
        made.write("self-signed.pem", &own.self_signed(&key).expect("it can be signed").pem());
        made.write("self-signed.key", &key.serialize_pem());
        let mut client = params("client", &[]);
        client.extended_key_usages = vec![ExtendedKeyUsagePurpose::ClientAuth];
        made.signed("client", &client, &authority);
        made.signed("stranger", &client, &other);
        made
    }

    /// The path of one of the files.
    pub fn path(&self, name: &str) -> String {
        self.folder.join(name).display().to_string()
    }

    /// The folder of all files.
    pub fn folder(&self) -> &Path {
        &self.folder
    }

    /// Puts another file there, and returns its path.
    pub fn write(&self, name: &str, content: &str) -> String {
        fs::write(self.folder.join(name), content).expect("a temporary folder takes files");
        self.path(name)
    }

    fn signed(&self, name: &str, params: &CertificateParams, issuer: &Issuer) {
        let key = KeyPair::generate().expect("a key can be made");
        let certificate = params.signed_by(&key, issuer).expect("it can be signed");
        self.write(&format!("{name}.pem"), &certificate.pem());
        self.write(&format!("{name}.key"), &key.serialize_pem());
    }
}

impl Drop for Certificates {
    fn drop(&mut self) {
        // What is left in a temporary folder does no harm.
        let _ = fs::remove_dir_all(&self.folder);
    }
}

/// A real Redis server that speaks TLS on one port, and plainly on another for whoever watches it.
#[derive(Debug)]
pub struct TlsPeer {
    /// The server, at its plain port.
    pub plain: Peer,
    /// The port that speaks TLS.
    pub port: u16,
}

impl TlsPeer {
    /// Starts one that shows the certificate of this name; `more` are further arguments. `None` if this machine has no
    /// `redis-server`, or one without TLS.
    pub fn start(certificates: &Certificates, name: &str, more: &[&str]) -> Option<Self> {
        let Some(program) = peer::find("redis-server", "REDLINE_REDIS_SERVER") else {
            // The usual guard says so, or fails where that must not be.
            return Peer::redis().and(None);
        };
        let mut problem = None;
        // Somebody may take the free port first.
        for _ in 0..START_ATTEMPTS {
            match Self::start_program(&program, certificates, name, more) {
                Ok(peer) => return Some(peer),
                Err(error) => problem = Some(error),
            }
        }
        panic!("a Redis server with TLS does not start: {problem:?}");
    }

    fn start_program(
        program: &Path,
        certificates: &Certificates,
        name: &str,
        more: &[&str],
    ) -> io::Result<Self> {
        let port = ports::free_address().port();
        let (port_text, certificate, key, authority) = (
            port.to_string(),
            certificates.path(&format!("{name}.pem")),
            certificates.path(&format!("{name}.key")),
            certificates.path("ca.pem"),
        );
        let mut arguments = QUIET_SERVER.to_vec();
        arguments.extend(["--tls-port", &port_text, "--tls-cert-file", &certificate]);
        arguments.extend(["--tls-key-file", &key, "--tls-ca-cert-file", &authority]);
        arguments.extend(more);
        Ok(Self { plain: Peer::start(program, &arguments)?, port })
    }
}

type Issuer = CertifiedIssuer<'static, KeyPair>;

fn authority(name: &str) -> Issuer {
    let mut authority = params(name, &[]);
    authority.is_ca = IsCa::Ca(BasicConstraints::Unconstrained);
    authority.key_usages = vec![KeyUsagePurpose::KeyCertSign, KeyUsagePurpose::DigitalSignature];
    let key = KeyPair::generate().expect("a key can be made");
    CertifiedIssuer::self_signed(authority, key).expect("it can be signed")
}

fn server(names: &[&str]) -> CertificateParams {
    let mut server = params("server", names);
    server.extended_key_usages = vec![ExtendedKeyUsagePurpose::ServerAuth];
    server
}

fn params(common_name: &str, names: &[&str]) -> CertificateParams {
    let names: Vec<String> = names.iter().map(|name| (*name).to_owned()).collect();
    let mut params = CertificateParams::new(names).expect("the names are good");
    params.distinguished_name.push(DnType::CommonName, common_name);
    params
}
