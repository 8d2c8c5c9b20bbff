//! Whole runs against a fake server with known behaviour: counts, clocks, pacing, stops and every way to fail.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};

use load::plan::{
    Address, CommandText, ErrorPolicy, MixEntry, Pacing, Pipeline, PipelineMode, Plan, Share, Stop,
    Target, WarmUp,
};
use load::{Control, RunError, RunFailure, run};
use report::StepResult;
use testkit::fake_server::{Answer, FakeServer};

const OK: &[u8] = b"+OK\r\n";

fn plan(server: &FakeServer) -> Plan {
    Plan {
        targets: vec![Target::tcp("127.0.0.1", server.port())],
        connections: 4,
        threads: 2,
        mix: vec![MixEntry::new("GET", vec![CommandText::Line("GET {key uniform 1000}".into())])],
        ..Plan::default()
    }
}

fn requests(count: u64) -> Stop {
    Stop { requests: Some(count), ..Stop::default() }
}

fn milliseconds(duration_ms: u64) -> Stop {
    Stop { duration_ms: Some(duration_ms), ..Stop::default() }
}

fn carry_out(plan: &Plan) -> Result<StepResult, RunFailure> {
    run(plan, &Control::new())
}

#[test]
fn the_number_of_requests_is_exact_for_every_share_mode_and_depth() {
    for share in [Share::Even, Share::FirstCome] {
        for (mode, depth) in
            [(PipelineMode::Window, 1), (PipelineMode::Window, 5), (PipelineMode::Batch, 16)]
        {
            let server = FakeServer::ok();
            let plan = Plan {
                pipeline: Pipeline { depth, mode },
                stop: Stop { share, ..requests(1_003) },
                ..plan(&server)
            };
            let step = carry_out(&plan).unwrap();
            assert_eq!(step.requests, 1_003, "{share:?} {mode:?} {depth}");
            assert_eq!(step.totals.service.count(), 1_003);
            assert_eq!(server.requests(), 1_003);
            assert_eq!(step.series.iter().map(|point| point.count).sum::<u64>(), 1_003);
            assert_eq!((step.unanswered, step.interrupted), (0, false));
            assert_eq!(step.bytes_in, 1_003 * OK.len() as u64);
            assert!(step.requests_per_s() > 0.0 && step.duration_ns > 0);
        }
    }
}

#[test]
fn known_delays_are_measured() {
    for delay in [Duration::from_micros(500), Duration::from_millis(15), Duration::from_millis(200)]
    {
        let server = FakeServer::start(move |_| Answer::After(delay, OK.to_vec()));
        let plan = Plan { connections: 1, threads: 1, stop: requests(5), ..plan(&server) };
        let service = carry_out(&plan).unwrap().totals.service;
        let least = delay.as_nanos() as u64;
        // The server's delay is a floor; above it lie two trips through the kernel, and the noise of a busy machine.
        assert!(service.min_ns() >= least, "{delay:?}: {}", service.min_ns());
        assert!(service.min_ns() <= least + 20_000_000, "{delay:?}: {}", service.min_ns());
    }
}

#[test]
fn a_stall_shows_in_response_times_and_not_in_service_times() {
    let (stall_at, stall_for) = (Duration::from_millis(1_500), Duration::from_millis(500));
    let server = FakeServer::start(move |request| {
        let since = request.started.elapsed();
        if since >= stall_at && since < stall_at + stall_for {
            return Answer::After(stall_at + stall_for - since, OK.to_vec());
        }
        Answer::Reply(OK.to_vec())
    });
    let plan = Plan {
        pacing: Pacing::Constant { rate_rps: 1_000.0 },
        stop: milliseconds(3_000),
        ..plan(&server)
    };
    let step = carry_out(&plan).unwrap();
    let (service, response) = (&step.totals.service, &step.totals.response);
    assert!((2_990..=3_010).contains(&(step.requests + step.unanswered)), "{}", step.requests);
    // Of 3000 requests due, 500 were due during the stall: the longest 30 waited 470 ms and more.
    assert!(response.percentile_ns(99.0) >= 300_000_000, "{}", response.percentile_ns(99.0));
    // Only the requests in flight when it began waited that long after they were sent.
    assert!(service.percentile_ns(99.0) <= 100_000_000, "{}", service.percentile_ns(99.0));
    assert!(service.max_ns() >= 300_000_000);
    assert!(step.generator.max_backlog >= 50, "{}", step.generator.max_backlog);
}

#[test]
fn rates_are_kept() {
    for rate_rps in [51.0, 149.0, 1_000.0, 10_000.0] {
        let server = FakeServer::ok();
        let plan = Plan {
            pacing: Pacing::Constant { rate_rps },
            pipeline: Pipeline { depth: 64, mode: PipelineMode::Window },
            stop: milliseconds(1_000),
            ..plan(&server)
        };
        let step = carry_out(&plan).unwrap();
        let due = step.requests + step.unanswered;
        assert!((due as f64 - rate_rps).abs() <= rate_rps * 0.005 + 1.0, "{rate_rps}: {due}");
        assert_eq!(step.target_rate_rps, Some(rate_rps));
    }
}

#[test]
fn the_same_seed_sends_the_same_bytes_on_each_connection_whatever_the_threads() {
    let sent = |threads: u32, seed: u64| {
        let server = FakeServer::ok();
        let line = |text: &str| vec![CommandText::Line(text.into())];
        let plan = Plan {
            threads,
            seed,
            connections: 6,
            mix: vec![
                MixEntry::new("SET", line("SET {key zipfian 100000} {value 20}")),
                MixEntry::new("GET", line("GET {key sequence 100000}")),
            ],
            stop: requests(600),
            ..plan(&server)
        };
        carry_out(&plan).unwrap();
        let mut received = server.received();
        // Threads connect side by side, so the server's order is not the plan's.
        received.sort();
        received
    };
    let one = sent(1, 9);
    assert_eq!(one, sent(3, 9));
    assert_ne!(one, sent(3, 10));
    assert!(one.windows(2).all(|pair| pair[0] != pair[1]), "two connections sent the same");
}

#[test]
fn errors_are_counted_by_class_and_the_run_goes_on() {
    let server = FakeServer::start(|request| {
        Answer::Reply(match request.number % 4 {
            0 => b"-MOVED 1 127.0.0.1:1\r\n".to_vec(),
            1 => b"-OOM command not allowed\r\n".to_vec(),
            2 => b"$-1\r\n".to_vec(),
            _ => b"$1\r\nx\r\n".to_vec(),
        })
    });
    let step = carry_out(&Plan { stop: requests(400), ..plan(&server) }).unwrap();
    assert_eq!(step.requests, 400);
    assert_eq!(step.totals.errors.get("MOVED"), Some(&100));
    assert_eq!(step.totals.errors.get("OOM"), Some(&100));
    assert_eq!((step.totals.hits, step.totals.misses), (100, 100));
    assert_eq!(step.totals.service.count(), 200);
}

#[test]
fn a_plan_may_stop_at_the_first_error() {
    let server = FakeServer::start(|request| {
        Answer::Reply(if request.number == 50 { b"-NOAUTH no\r\n".to_vec() } else { OK.to_vec() })
    });
    let plan = Plan { errors: ErrorPolicy::Stop, stop: requests(10_000), ..plan(&server) };
    let failure = carry_out(&plan).unwrap_err();
    let text = format!("127.0.0.1:{} answered GET with an error: NOAUTH no", server.port());
    assert_eq!(failure.to_string(), text);
    assert!(failure.partial.unwrap().requests >= 50);
}

#[test]
fn a_server_that_dies_leaves_what_was_measured() {
    let server = FakeServer::start(|request| {
        if request.number == 500 { Answer::Die(Vec::new()) } else { Answer::Reply(OK.to_vec()) }
    });
    let failure = carry_out(&Plan { stop: milliseconds(20_000), ..plan(&server) }).unwrap_err();
    assert!(
        matches!(failure.error, RunError::Closed { .. } | RunError::Lost { .. }),
        "{:?}",
        failure.error
    );
    let partial = failure.partial.unwrap();
    // The other connections may get a few more answers while it dies.
    assert!((400..=600).contains(&partial.requests), "{}", partial.requests);
    assert!(partial.duration_ns < 10_000_000_000);
}

#[test]
fn garbage_is_named() {
    let server = FakeServer::start(|_| Answer::Reply(b"HTTP/1.1 400 Bad Request\r\n\r\n".to_vec()));
    let failure = carry_out(&Plan { stop: requests(100), ..plan(&server) }).unwrap_err();
    let text =
        format!("127.0.0.1:{} does not speak the protocol: unknown reply type H", server.port());
    assert_eq!(failure.to_string(), text);
}

#[test]
fn refused_connections_name_the_address() {
    let port = testkit::ports::free_address().port();
    let plan = Plan { targets: vec![Target::tcp("127.0.0.1", port)], ..Plan::default() };
    let failure = carry_out(&plan).unwrap_err();
    assert!(failure.partial.is_none());
    assert!(
        failure.to_string().starts_with(&format!("cannot connect to 127.0.0.1:{port}: ")),
        "{failure}"
    );

    let target = Target {
        address: Address::Unix { path: "/nonexistent/socket".into() },
        ..Target::default()
    };
    let failure = carry_out(&Plan { targets: vec![target], ..Plan::default() }).unwrap_err();
    assert!(
        failure.to_string().starts_with("cannot connect to /nonexistent/socket: "),
        "{failure}"
    );
}

#[test]
fn refused_commands_before_the_load_are_named_without_their_arguments() {
    let server = FakeServer::start(|request| {
        let is_auth = request.bytes.windows(4).any(|window| window == b"AUTH");
        Answer::Reply(if is_auth { b"-WRONGPASS invalid\r\n".to_vec() } else { OK.to_vec() })
    });
    let mut plan = plan(&server);
    plan.targets[0].password = Some("secret".into());
    let failure = carry_out(&plan).unwrap_err();
    let text = format!("127.0.0.1:{} refused AUTH: WRONGPASS invalid", server.port());
    assert_eq!(failure.to_string(), text);
}

#[test]
fn what_comes_before_the_load_is_sent_in_order_and_not_counted() {
    let server = FakeServer::ok();
    let mut plan = Plan { connections: 1, stop: requests(3), ..plan(&server) };
    plan.targets[0].password = Some("p".into());
    plan.targets[0].user = Some("u".into());
    plan.targets[0].database = 2;
    plan.prefix = vec![vec!["CLIENT".into(), "TRACKING".into(), "on".into()]];
    let step = carry_out(&plan).unwrap();
    assert_eq!(step.requests, 3);
    let text = String::from_utf8(server.received().remove(0)).unwrap();
    let sent = "*3\r\n$4\r\nAUTH\r\n$1\r\nu\r\n$1\r\np\r\n*2\r\n$6\r\nSELECT\r\n$1\r\n2\r\n*3\r\n$6\r\nCLIENT\r\n";
    assert!(text.starts_with(sent), "{text}");
}

#[test]
fn a_timed_run_ends_on_time_when_no_reply_comes() {
    let server = FakeServer::start(|_| Answer::Silence);
    let begun = Instant::now();
    let step = carry_out(&Plan { stop: milliseconds(300), ..plan(&server) }).unwrap();
    assert!(begun.elapsed() < Duration::from_secs(5));
    assert_eq!((step.requests, step.unanswered), (0, 4));
    assert!(step.duration_ns >= 300_000_000);
}

#[test]
fn a_counted_run_ends_when_the_reply_timeout_says_so() {
    let server = FakeServer::start(|_| Answer::Silence);
    let plan = Plan { reply_timeout_ms: Some(200), stop: requests(10), ..plan(&server) };
    let failure = carry_out(&plan).unwrap_err();
    assert!(matches!(failure.error, RunError::Silent { .. }), "{failure}");
}

#[test]
fn a_stopped_run_returns_what_it_has() {
    let server = FakeServer::ok();
    let control = Arc::new(Control::new());
    let is_done = Arc::new(AtomicBool::new(false));
    let watcher = {
        let (control, is_done) = (Arc::clone(&control), Arc::clone(&is_done));
        std::thread::spawn(move || {
            let deadline = Instant::now() + Duration::from_secs(20);
            while control.snapshot().requests == 0 && Instant::now() < deadline {
                std::thread::sleep(Duration::from_millis(5));
            }
            let seen = control.snapshot();
            control.stop();
            is_done.store(true, Ordering::SeqCst);
            seen
        })
    };
    let step = run(&Plan { stop: Stop::default(), ..plan(&server) }, &control).unwrap();
    assert!(is_done.load(Ordering::SeqCst));
    let seen = watcher.join().unwrap();
    assert!(step.interrupted && step.requests >= seen.requests && seen.requests > 0);
    assert!(seen.latency_sum_ns > 0);
}

#[test]
fn warm_up_is_not_measured() {
    let server = FakeServer::ok();
    let warm_up = WarmUp { requests: 200, duration_ms: 0 };
    let step = carry_out(&Plan { warm_up, stop: requests(100), ..plan(&server) }).unwrap();
    assert_eq!(step.requests, 100);
    assert!(server.requests() >= 300, "{}", server.requests());

    let server = FakeServer::ok();
    let warm_up = WarmUp { requests: 0, duration_ms: 200 };
    let step = carry_out(&Plan { warm_up, stop: requests(100), ..plan(&server) }).unwrap();
    assert_eq!(step.requests, 100);
    assert!(server.requests() > 100);
}

#[test]
fn without_keep_alive_each_batch_has_its_connection() {
    let server = FakeServer::ok();
    let plan = Plan {
        keep_alive: false,
        pipeline: Pipeline { depth: 2, mode: PipelineMode::Batch },
        prefix: vec![vec!["PING".into()]],
        stop: requests(40),
        ..plan(&server)
    };
    let step = carry_out(&plan).unwrap();
    assert_eq!(step.requests, 40);
    assert_eq!(server.connections(), 20);
    assert_eq!(server.requests(), 60);
}

#[test]
fn large_replies_and_requests_pass_in_pieces() {
    let reply = [b"$300000\r\n".to_vec(), vec![b'x'; 300_000], b"\r\n".to_vec()].concat();
    let server = FakeServer::start(move |_| Answer::Reply(reply.clone()));
    let set = vec![CommandText::Line("SET k {value 400000}".into())];
    let plan = Plan {
        mix: vec![MixEntry::new("SET", set)],
        pipeline: Pipeline { depth: 4, mode: PipelineMode::Window },
        stop: requests(40),
        ..plan(&server)
    };
    let step = carry_out(&plan).unwrap();
    assert_eq!(step.requests, 40);
    assert!(step.bytes_in >= 40 * 300_000 && step.bytes_out >= 40 * 400_000);
}

#[test]
fn one_question_gets_its_reply() {
    let server = FakeServer::start(|_| Answer::Reply(b"$5\r\nhello\r\n".to_vec()));
    let reply = load::connect::ask(&Target::tcp("127.0.0.1", server.port()), &["INFO"]).unwrap();
    assert_eq!(reply, b"$5\r\nhello\r\n");
    let server = FakeServer::start(|_| Answer::Reply(b"-NOPERM no\r\n".to_vec()));
    let reply = load::connect::ask(&Target::tcp("127.0.0.1", server.port()), &["CONFIG"]).unwrap();
    assert_eq!(reply, b"-NOPERM no\r\n");
}

#[test]
fn unix_sockets_carry_load_too() {
    use std::io::{Read, Write};

    let path = std::env::temp_dir().join(format!("load-run-{}.sock", std::process::id()));
    let listener = std::os::unix::net::UnixListener::bind(&path).unwrap();
    let server = std::thread::spawn(move || {
        let (mut stream, _) = listener.accept().unwrap();
        let mut chunk = [0; 4096];
        while let Ok(count @ 1..) = stream.read(&mut chunk) {
            let commands = chunk[..count].iter().filter(|byte| **byte == b'*').count();
            stream.write_all(&OK.repeat(commands)).unwrap();
        }
    });
    let plan = Plan {
        targets: vec![Target::unix(path.to_str().unwrap())],
        connections: 1,
        stop: requests(100),
        ..Plan::default()
    };
    let step = carry_out(&plan);
    std::fs::remove_file(&path).unwrap();
    assert_eq!(step.unwrap().requests, 100);
    server.join().unwrap();
}
