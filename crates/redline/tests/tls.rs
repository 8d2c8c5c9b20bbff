//! TLS of the whole programs against a real Redis server: what is measured, what is told, and what never leaves in clear.

use std::process::{Command, Output, Stdio};
use std::thread;
use std::time::Duration;

use serde_json::Value;
use testkit::schema;
use testkit::tap::Tap;
use testkit::tls::{Certificates, TlsPeer};

use crate::store;

const NO_CLIENTS: [&str; 2] = ["--tls-auth-clients", "no"];

/// The output of a program of the family.
fn run(applet: &str, words: &[&str]) -> Output {
    let mut command = Command::new(store::BINARY);
    command.arg(applet).args(words).env_remove("REDISCLI_AUTH").env_remove("REDLINE_PASSWORD");
    command.current_dir(std::env::temp_dir()).output().unwrap()
}

/// Standard output and standard error of a program that ended with this status.
fn ended(output: &Output, status: i32) -> (String, String) {
    let text = |bytes: &[u8]| String::from_utf8(bytes.to_vec()).unwrap();
    let (stdout, stderr) = (text(&output.stdout), text(&output.stderr));
    assert_eq!(output.status.code(), Some(status), "{stdout}\n{stderr}");
    assert!(!stderr.contains("panicked"), "{stderr}");
    (stdout, stderr)
}

fn bench(url: &str, more: &[&str]) -> Output {
    let short = [
        url,
        "--duration",
        "100ms",
        "--warm-up",
        "20ms",
        "--keys",
        "1000",
        "-c",
        "8",
        "--tests",
        "set,get",
        "--no-json",
    ];
    run("bench", &[&short[..], more].concat())
}

#[test]
fn bench_measures_an_encrypted_server_and_names_what_was_agreed() {
    let certificates = Certificates::make();
    let Some(server) = TlsPeer::start(&certificates, "server", &NO_CLIENTS) else { return };
    server.plain.client().command(&["CONFIG", "SET", "requirepass", "a-password"]).unwrap();
    let tap = Tap::before(server.port);
    let authority = certificates.path("ca.pem");
    let url = format!("rediss://:a-password@localhost:{}", tap.port());
    let more = ["--cacert", &authority, "--protocol", "3", "--format", "json"];
    let (stdout, _) = ended(&bench(&url, &more), 0);
    let schema: Value = serde_json::from_str(include_str!("../../report/schema.json")).unwrap();
    let result: Value = serde_json::from_str(&stdout).unwrap();
    assert_eq!(schema::complaints(&schema, &result), Vec::<String>::new());
    assert_eq!(result["steps"][0]["tls"], "TLSv1.3 TLS_AES_256_GCM_SHA384");
    assert_eq!(result["target"]["url"], format!("rediss://localhost:{}", tap.port()));
    assert_eq!(result["target"]["server_name"], "redis");
    assert_eq!(result["plan"][0]["targets"][0]["tls"]["ca_file"], authority);
    assert!(tap.sent().len() > 10_000);
    for clear in ["AUTH", "a-password", "HELLO", "SET", "GET", "redline:", "INFO"] {
        // Three letters may turn up in so much noise by chance.
        assert!(clear.len() < 4 || !tap.has_seen(clear), "{clear}");
    }
    let suites = ["--cacert", &authority, "--tls-ciphersuites", "TLS_AES_128_GCM_SHA256"];
    let (stdout, _) = ended(&bench(&url, &suites), 0);
    let unwrapped = stdout.split_whitespace().collect::<Vec<_>>().join(" ");
    assert!(unwrapped.contains("TLSv1.3 TLS_AES_128_GCM_SHA256"), "{stdout}");
}

#[test]
fn bench_says_what_to_do() {
    let certificates = Certificates::make();
    let Some(server) = TlsPeer::start(&certificates, "server", &NO_CLIENTS) else { return };
    let url = format!("rediss://127.0.0.1:{}", server.port);
    let plain = format!("redis://127.0.0.1:{}", server.port);
    let other = certificates.path("other-ca.pem");
    for (url, more, status, sentence) in [
        (&url, &["--cacert", &other][..], 1, "is not trusted here: name the right CA"),
        (&url, &["--cacert", "/missing"], 1, "cannot read /missing, named by --cacert: No such"),
        (
            &url,
            &["--cacert", &other, "--tls-ciphers", "NULL"],
            1,
            "there is no cipher suite 'NULL'",
        ),
        (&url, &["--cert", &other], 2, "--key"),
        (&plain, &["--cacert", &other], 2, "options of TLS need --tls, or a target of rediss://"),
        (&plain, &[], 1, "a port that speaks TLS needs --tls"),
    ] {
        let (stdout, stderr) = ended(&bench(url, more), status);
        assert!(stderr.contains(sentence), "{more:?}: {stderr}");
        assert_eq!(stdout, "");
    }
}

#[test]
fn redis_benchmark_takes_the_original_s_options() {
    let certificates = Certificates::make();
    let Some(server) = TlsPeer::start(&certificates, "server", &["--tls-auth-clients", "yes"])
    else {
        return;
    };
    let tap = Tap::before(server.port);
    let port = tap.port().to_string();
    let (authority, certificate, key) = (
        certificates.path("ca.pem"),
        certificates.path("client.pem"),
        certificates.path("client.key"),
    );
    let trusting = ["--tls", "--cacert", &authority, "-p", &port, "-n", "500", "-q", "-t", "set"];
    let known = [&trusting[..], &["--cert", &certificate, "--key", &key][..]].concat();
    for more in [
        &["-P", "16"][..],
        &["-k", "0", "-c", "4"],
        &["--threads", "2", "-d", "100000"],
        &["--tls-ciphersuites", "TLS_CHACHA20_POLY1305_SHA256", "--sni", "redline.test"],
    ] {
        let (stdout, stderr) = ended(&run("redis-benchmark", &[&known[..], more].concat()), 0);
        assert!(stdout.contains("SET: ") && stdout.contains("requests per second"), "{stdout}");
        assert!(!stderr.contains("Could not"), "{stderr}");
    }
    assert!(!tap.has_seen("CONFIG") && !tap.has_seen("__rand_int__"));
    let lead = "Could not negotiate a TLS connection: ";
    for (words, sentence) in [
        (trusting.to_vec(), "the server wants a client certificate: give one by --cert and --key"),
        (
            [&known[..], &["--sni", "elsewhere.test"]].concat(),
            "its certificate is for redline.test, localhost, 127.0.0.1, ::1, not for elsewhere.test",
        ),
    ] {
        let (stdout, stderr) = ended(&run("redis-benchmark", &words), 1);
        assert!(stderr.starts_with(&format!("{lead}{sentence}")), "{stderr}");
        assert_eq!(stdout, "");
    }
    let (_, stderr) = ended(&run("redis-benchmark", &[&known[..], &["--key", "/x"]].concat()), 1);
    assert!(stderr.starts_with("cannot read /x, named by --key: No such file"), "{stderr}");
}

#[test]
fn idle_connections_are_encrypted_too() {
    let certificates = Certificates::make();
    let Some(server) = TlsPeer::start(&certificates, "server", &NO_CLIENTS) else { return };
    let tap = Tap::before(server.port);
    let url = format!("rediss://127.0.0.1:{}", tap.port());
    let authority = certificates.path("ca.pem");
    let words = ["redis-benchmark", "-u", &url, "--cacert", &authority, "-I", "-c", "2"];
    let mut idle = Command::new(store::BINARY).args(words).stdout(Stdio::null()).spawn().unwrap();
    thread::sleep(Duration::from_millis(700));
    assert!(idle.try_wait().unwrap().is_none(), "it waits for ever");
    assert_eq!(tap.sent().first(), Some(&0x16), "a handshake begins");
    assert!(tap.sent().len() > 300);
    idle.kill().unwrap();
    idle.wait().unwrap();
}
