//! TLS against a real Redis server: what works, what is refused and in which words, and that nothing goes in clear.

use std::io::{Read, Write};
use std::net::TcpListener;
use std::time::Duration;

use load::connect::ask;
use load::plan::connections::OnLoss;
use load::plan::{
    CommandText, MixEntry, Pipeline, PipelineMode, Plan, Stop, Target, Tls, TlsVersion,
};
use load::stream::Stream;
use load::{Control, RunError, run};
use testkit::fake_server::FakeServer;
use testkit::tap::Tap;
use testkit::tls::{Certificates, TlsPeer};

/// A target on loopback that trusts the test's CA.
fn target(certificates: &Certificates, port: u16) -> Target {
    let tls = Tls { ca_file: Some(certificates.path("ca.pem")), ..Tls::default() };
    Target { tls: Some(tls), ..Target::tcp("127.0.0.1", port) }
}

/// The target with its settings changed.
fn with(target: &Target, change: impl FnOnce(&mut Tls)) -> Target {
    let mut changed = target.clone();
    change(changed.tls.as_mut().unwrap());
    changed
}

fn plan(target: Target) -> Plan {
    Plan {
        targets: vec![target],
        connections: 4,
        threads: 2,
        mix: vec![MixEntry::new("SET", vec![CommandText::Line("SET {key uniform 100} v".into())])],
        stop: Stop { requests: Some(1_000), ..Stop::default() },
        ..Plan::default()
    }
}

fn error(target: &Target) -> String {
    ask(target, &["PING"]).unwrap_err().to_string()
}

fn has_all(sentence: &str, parts: &[&str]) {
    assert!(parts.iter().all(|part| sentence.contains(part)), "{sentence}");
}

#[test]
fn a_run_is_encrypted_with_every_version_and_suite() {
    let certificates = Certificates::make();
    let Some(server) = TlsPeer::start(&certificates, "server", &["--tls-auth-clients", "no"])
    else {
        return;
    };
    let target = target(&certificates, server.port);
    for (version, agreed) in [
        (TlsVersion::Tls13, "TLSv1.3 TLS_AES_256_GCM_SHA384"),
        (TlsVersion::Tls12, "TLSv1.2 ECDHE-ECDSA-AES256-GCM-SHA384"),
    ] {
        let step =
            run(&plan(with(&target, |tls| tls.versions = vec![version])), &Control::new()).unwrap();
        assert_eq!((step.requests, step.totals.error_count()), (1_000, 0));
        assert_eq!(step.tls.as_deref(), Some(agreed));
        assert_eq!(step.bytes_in, 5_000);
    }
    for (suites, ciphers, agreed) in [
        (Some("TLS_AES_128_GCM_SHA256"), None, "TLSv1.3 TLS_AES_128_GCM_SHA256"),
        (None, Some("ECDHE-ECDSA-CHACHA20-POLY1305"), "TLSv1.2 ECDHE-ECDSA-CHACHA20-POLY1305"),
    ] {
        let target = with(&target, |tls| {
            tls.ciphersuites = suites.map(String::from);
            tls.ciphers = ciphers.map(String::from);
            if ciphers.is_some() {
                tls.versions = vec![TlsVersion::Tls12];
            }
        });
        assert_eq!(Stream::open(&target).unwrap().negotiated().unwrap().to_string(), agreed);
    }
}

#[test]
fn servers_are_found_out() {
    let certificates = Certificates::make();
    for (shown, change, parts) in [
        (
            "server",
            (|tls, certificates| tls.ca_file = Some(certificates.path("other-ca.pem")))
                as fn(&mut Tls, &Certificates),
            &["CA that is not trusted", "--cacert"][..],
        ),
        ("expired", |_, _| (), &["expired ", " days ago"]),
        ("elsewhere", |_, _| (), &["is for elsewhere.test, not for 127.0.0.1", "--sni"]),
        (
            "server",
            |tls, _| tls.sni = Some("wrong.test".into()),
            &["redline.test, localhost, 127.0.0.1", "not for wrong.test"],
        ),
        ("server", |tls, _| tls.ca_file = None, &["CA"]),
    ] {
        let Some(server) = TlsPeer::start(&certificates, shown, &["--tls-auth-clients", "no"])
        else {
            return;
        };
        let tap = Tap::before(server.port);
        let mut target = target(&certificates, tap.port());
        target.password = Some("a-password-that-must-not-be-seen".into());
        let refused = with(&target, |tls| change(tls, &certificates));
        has_all(&error(&refused), parts);
        assert!(!tap.has_seen("AUTH") && !tap.has_seen("PING") && !tap.has_seen("password"));
        assert_eq!(tap.sent().first(), Some(&0x16), "a handshake begins");
        target.password = None;
        let unverified = with(&refused, |tls| tls.insecure = true);
        let reply = ask(&Target { password: None, ..unverified }, &["PING"]);
        assert_eq!(reply.unwrap(), b"+PONG\r\n", "{shown}");
    }
}

#[test]
fn names_and_trust_can_be_given() {
    let certificates = Certificates::make();
    let no = &["--tls-auth-clients", "no"];
    let Some(elsewhere) = TlsPeer::start(&certificates, "elsewhere", no) else { return };
    let by_name = with(&target(&certificates, elsewhere.port), |tls| {
        tls.sni = Some("elsewhere.test".into());
    });
    assert_eq!(ask(&by_name, &["PING"]).unwrap(), b"+PONG\r\n");
    let by_folder = with(&by_name, |tls| {
        tls.ca_file = None;
        tls.ca_directory = Some(certificates.folder().display().to_string());
    });
    assert_eq!(ask(&by_folder, &["PING"]).unwrap(), b"+PONG\r\n");

    let Some(own) = TlsPeer::start(&certificates, "self-signed", no) else { return };
    let named = with(&target(&certificates, own.port), |tls| {
        tls.ca_file = Some(certificates.path("self-signed.pem"));
    });
    assert_eq!(ask(&named, &["PING"]).unwrap(), b"+PONG\r\n");
    has_all(&error(&with(&named, |tls| tls.sni = Some("x.test".into()))), &["not for x.test"]);
    let other = with(&named, |tls| tls.ca_file = Some(certificates.path("ca.pem")));
    has_all(&error(&other), &["no TLS connection to 127.0.0.1:"]);
}

#[test]
fn clients_are_known_by_their_certificate() {
    let certificates = Certificates::make();
    for protocols in ["TLSv1.2", "TLSv1.3"] {
        let arguments = ["--tls-auth-clients", "yes", "--tls-protocols", protocols];
        let Some(server) = TlsPeer::start(&certificates, "server", &arguments) else { return };
        let target = target(&certificates, server.port);
        let shown = |name: &str| {
            with(&target, |tls| {
                tls.certificate = Some(certificates.path(&format!("{name}.pem")));
                tls.key = Some(certificates.path(&format!("{name}.key")));
            })
        };
        assert_eq!(ask(&shown("client"), &["PING"]).unwrap(), b"+PONG\r\n");
        has_all(&error(&target), &["wants a client certificate", "--cert and --key"]);
        has_all(&error(&shown("stranger")), &["refuses the client certificate", "CA it trusts"]);
        let mut mixed = shown("client");
        mixed.tls.as_mut().unwrap().key = Some(certificates.path("stranger.key"));
        has_all(&error(&mixed), &["client.pem", "stranger.key", "does not belong"]);
        let step = run(&plan(shown("client")), &Control::new()).unwrap();
        assert!(step.tls.unwrap().starts_with(protocols));
        let failure = run(&plan(target), &Control::new()).unwrap_err();
        assert!(matches!(failure.error, RunError::Tls { .. }), "{failure}");
    }
}

#[test]
fn files_are_checked_before_anything_is_sent() {
    let certificates = Certificates::make();
    let server = FakeServer::ok();
    let target = target(&certificates, server.port());
    let encrypted = certificates.write(
        "encrypted.key",
        "-----BEGIN ENCRYPTED PRIVATE KEY-----\nMIIB\n-----END ENCRYPTED PRIVATE KEY-----\n",
    );
    let empty = certificates.write("empty", "nothing\n");
    let pair = |tls: &mut Tls, certificate: &str, key: &str| {
        (tls.certificate, tls.key) = (Some(certificate.into()), Some(key.into()));
    };
    let client = certificates.path("client.pem");
    let missing = certificates.path("missing.pem");
    for (settings, parts) in [
        (
            with(&target, |tls| tls.ca_file = Some(missing.clone())),
            &["missing.pem", "--cacert"][..],
        ),
        (with(&target, |tls| tls.ca_file = Some(empty.clone())), &["no certificate in PEM form"]),
        (
            with(&target, |tls| tls.ca_directory = Some(missing.clone())),
            &["missing.pem", "--cacertdir", "No such file"],
        ),
        (with(&target, |tls| pair(tls, &client, &encrypted)), &["encrypted", "openssl pkey -in"]),
        (with(&target, |tls| pair(tls, &client, &empty)), &["no private key in PEM form"]),
        (with(&target, |tls| pair(tls, &missing, &empty)), &["missing.pem", "--cert"]),
        (with(&target, |tls| tls.certificate = Some(client.clone())), &["both --cert and --key"]),
        (with(&target, |tls| tls.sni = Some("no name".into())), &["'no name'", "--sni"]),
        (
            with(&target, |tls| tls.ciphers = Some("RC4-SHA".into())),
            &["--tls-ciphers", "'RC4-SHA'", "ECDHE-RSA-AES256-GCM-SHA384"],
        ),
    ] {
        let failure = ask(&settings, &["PING"]).unwrap_err();
        assert!(matches!(failure, RunError::TlsSettings(_)), "{failure}");
        has_all(&failure.to_string(), parts);
    }
    assert_eq!(server.connections(), 0);
}

/// Runs openssl; false, aloud, where there is none.
fn openssl(words: &[&str]) -> bool {
    let output = std::process::Command::new("openssl").args(words).output();
    let Ok(output) = output else {
        eprintln!("SKIPPED: no openssl on PATH");
        return false;
    };
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    true
}

#[test]
fn keys_come_in_all_their_forms() {
    let certificates = Certificates::make();
    let path = |name: &str| certificates.path(name);
    if !openssl(&["ec", "-in", &path("client.key"), "-out", &path("sec1.key")]) {
        return;
    }
    let new = ["req", "-x509", "-newkey", "rsa:2048", "-nodes", "-days", "2", "-subj", "/CN=rsa"];
    let names = ["-addext", "subjectAltName=IP:127.0.0.1"];
    let files = ["-keyout", &path("rsa.key"), "-out", &path("rsa.pem")];
    openssl(&[&new[..], &names, &files].concat());
    openssl(&["rsa", "-traditional", "-in", &path("rsa.key"), "-out", &path("pkcs1.key")]);
    let locked = ["-aes256", "-passout", "pass:secret", "-out", &path("locked.key")];
    openssl(&[&["rsa", "-traditional", "-in", &path("rsa.key")][..], &locked].concat());
    for (key, label) in [
        ("sec1.key", "BEGIN EC PRIVATE KEY"),
        ("rsa.key", "BEGIN PRIVATE KEY"),
        ("pkcs1.key", "BEGIN RSA PRIVATE KEY"),
        ("locked.key", "Proc-Type: 4,ENCRYPTED"),
    ] {
        assert!(std::fs::read_to_string(path(key)).unwrap().contains(label), "{key}");
    }
    // The server's own certificate is the CA of its clients, too.
    let own = ["--tls-auth-clients", "yes", "--tls-ca-cert-file", &path("rsa.pem")];
    let Some(server) = TlsPeer::start(&certificates, "rsa", &own) else { return };
    let shown = |key: &str| {
        with(&target(&certificates, server.port), |tls| {
            tls.ca_file = Some(path("rsa.pem"));
            (tls.certificate, tls.key) = (Some(path("rsa.pem")), Some(path(key)));
        })
    };
    for key in ["rsa.key", "pkcs1.key"] {
        let target = with(&shown(key), |tls| tls.versions = vec![TlsVersion::Tls12]);
        assert_eq!(ask(&target, &["PING"]).unwrap(), b"+PONG\r\n");
        let agreed = Stream::open(&target).unwrap().negotiated().unwrap();
        assert_eq!(agreed.suite, "ECDHE-RSA-AES256-GCM-SHA384");
    }
    has_all(&error(&shown("locked.key")), &["locked.key is encrypted", "--key"]);
    let Some(server) = TlsPeer::start(&certificates, "server", &[]) else { return };
    let shown = with(&target(&certificates, server.port), |tls| {
        (tls.certificate, tls.key) = (Some(path("client.pem")), Some(path("sec1.key")));
    });
    assert_eq!(ask(&shown, &["PING"]).unwrap(), b"+PONG\r\n");
}

#[test]
fn certificates_without_names_need_to_be_taken_as_they_are() {
    let certificates = Certificates::make();
    let path = |name: &str| certificates.path(name);
    let new = ["req", "-x509", "-newkey", "rsa:2048", "-nodes", "-days", "2", "-subj", "/CN=plain"];
    let files = ["-keyout", &path("plain.key"), "-out", &path("plain.pem")];
    if !openssl(&[&new[..], &files].concat()) {
        return;
    }
    let request =
        ["req", "-new", "-key", &path("plain.key"), "-subj", "/CN=old", "-out", &path("old")];
    openssl(&request);
    // Without a file of extensions this is of X.509 version 1.
    let sign = ["x509", "-req", "-in", &path("old"), "-signkey", &path("plain.key"), "-days", "2"];
    openssl(&[&sign[..], &["-out", &path("old.pem")]].concat());
    std::fs::copy(path("plain.key"), path("old.key")).unwrap();
    for name in ["plain", "old"] {
        let no = ["--tls-auth-clients", "no"];
        let Some(server) = TlsPeer::start(&certificates, name, &no) else { return };
        let named = with(&target(&certificates, server.port), |tls| {
            tls.ca_file = Some(path(&format!("{name}.pem")));
        });
        has_all(&error(&named), &["names no host"]);
        let taken = with(&named, |tls| tls.insecure = true);
        assert_eq!(ask(&taken, &["PING"]).unwrap(), b"+PONG\r\n", "{name}");
    }
}

#[test]
fn who_does_not_speak_tls_is_named() {
    let certificates = Certificates::make();
    // Answers at once with what is no TLS.
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let port = listener.local_addr().unwrap().port();
    std::thread::spawn(move || {
        for client in listener.incoming().map_while(Result::ok) {
            let mut client = client;
            let _ = client.read(&mut [0; 512]);
            let _ = client.write_all(b"-ERR unknown command\r\n");
        }
    });
    has_all(&error(&target(&certificates, port)), &["does not speak TLS", "without TLS"]);
    // Hangs up at once.
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let port = listener.local_addr().unwrap().port();
    std::thread::spawn(move || {
        for client in listener.incoming().map_while(Result::ok) {
            let mut client = client;
            let _ = client.read(&mut [0; 512]);
        }
    });
    has_all(&error(&target(&certificates, port)), &["closed the connection in the TLS handshake"]);
}

#[test]
fn deep_pipelines_large_values_and_new_connections_work() {
    let certificates = Certificates::make();
    let Some(server) = TlsPeer::start(&certificates, "server", &["--tls-auth-clients", "no"])
    else {
        return;
    };
    let line = |text: &str| vec![MixEntry::new("X", vec![CommandText::Line(text.into())])];
    let plain = plan(target(&certificates, server.port));
    let deep = Plan {
        connections: 50,
        pipeline: Pipeline { depth: 64, mode: PipelineMode::Batch },
        stop: Stop { requests: Some(32_000), ..Stop::default() },
        ..plain.clone()
    };
    let large = Plan {
        mix: line("SET {key uniform 3} {value 1048576}"),
        pipeline: Pipeline { depth: 4, mode: PipelineMode::Window },
        stop: Stop { requests: Some(100), ..Stop::default() },
        ..plain.clone()
    };
    let read = Plan { mix: line("GET {key uniform 3}"), ..large.clone() };
    let fresh = Plan {
        keep_alive: false,
        connections: 8,
        pipeline: Pipeline { depth: 2, mode: PipelineMode::Batch },
        stop: Stop { requests: Some(400), ..Stop::default() },
        ..plain.clone()
    };
    let fresh_large = Plan {
        mix: line("SET {key uniform 3} {value 1048576}"),
        stop: Stop { requests: Some(40), ..Stop::default() },
        ..fresh.clone()
    };
    for (nth, plan) in [deep, large, read, fresh, fresh_large].into_iter().enumerate() {
        let plan = Plan { reply_timeout_ms: Some(30_000), ..plan };
        let step = run(&plan, &Control::new()).unwrap();
        let expected = plan.stop.requests.unwrap();
        assert_eq!((step.requests, step.totals.error_count()), (expected, 0), "plan {nth}");
        assert_eq!(step.unanswered, 0);
    }
}

#[test]
fn a_handshake_counts_with_a_connection_for_each_batch_only() {
    const DELAY: Duration = Duration::from_millis(60);
    let certificates = Certificates::make();
    let Some(server) = TlsPeer::start(&certificates, "server", &["--tls-auth-clients", "no"])
    else {
        return;
    };
    let tap = Tap::late(server.port, DELAY);
    let one = Plan {
        connections: 1,
        threads: 1,
        stop: Stop { requests: Some(5), ..Stop::default() },
        ..plan(target(&certificates, tap.port()))
    };
    let delay_ns = DELAY.as_nanos() as u64;
    let kept = run(&one, &Control::new()).unwrap().totals.service;
    assert!(kept.min_ns() >= delay_ns && kept.min_ns() < 2 * delay_ns, "{}", kept.min_ns());
    // The first is sent on the connection that was made before; the others have an answer to their handshake, too.
    let fresh = run(&Plan { keep_alive: false, ..one }, &Control::new()).unwrap().totals.service;
    assert_eq!(fresh.count(), 5);
    assert!(fresh.percentile_ns(50.0) >= 2 * delay_ns, "{}", fresh.percentile_ns(50.0));
}

#[test]
fn a_server_that_dies_ends_the_run_with_a_sentence() {
    let certificates = Certificates::make();
    let Some(server) = TlsPeer::start(&certificates, "server", &["--tls-auth-clients", "no"])
    else {
        return;
    };
    let endless = Plan { stop: Stop::default(), ..plan(target(&certificates, server.port)) };
    let failure = std::thread::scope(|scope| {
        let running = scope.spawn(|| run(&endless, &Control::new()));
        std::thread::sleep(Duration::from_millis(300));
        drop(server);
        running.join().unwrap().unwrap_err()
    });
    let is_end = matches!(
        failure.error,
        RunError::Closed { .. } | RunError::Lost { .. } | RunError::Connect { .. }
    );
    assert!(is_end, "{failure}");
    assert!(failure.partial.unwrap().requests > 0);
}

#[test]
fn connections_that_are_lost_are_encrypted_again() {
    let certificates = Certificates::make();
    let Some(server) = TlsPeer::start(&certificates, "server", &["--tls-auth-clients", "no"])
    else {
        return;
    };
    let tap = Tap::before(server.port);
    let mut going_on = Plan {
        mix: vec![MixEntry::new(
            "SET",
            vec![CommandText::Line("SET {key uniform 100} in-the-clear".into())],
        )],
        stop: Stop { duration_ms: Some(900), ..Stop::default() },
        ..plan(target(&certificates, tap.port()))
    };
    going_on.lifetime.on_loss = OnLoss::Reconnect { attempts: 50, wait_ms: 5, backoff_factor: 1.0 };
    let step = std::thread::scope(|scope| {
        let running = scope.spawn(|| run(&going_on, &Control::new()));
        let mut client = server.plain.client();
        for _ in 0..4 {
            std::thread::sleep(Duration::from_millis(150));
            client.command(&["CLIENT", "KILL", "TYPE", "normal"]).unwrap();
        }
        running.join().unwrap().unwrap()
    });
    assert!(step.requests > 0 && step.lifetime.reconnections > 0, "{:?}", step.lifetime);
    assert!(!tap.has_seen("in-the-clear"));
}
