//! How connections come and go under load: planned reconnections, losses, staircases; and results by second and connection.

use std::time::{Duration, Instant};

use load::plan::connections::{Connections, OnLoss, Staircase};
use load::plan::objects::NumberRange;
use load::plan::{
    CommandText, Detail, MixEntry, Pacing, Pipeline, PipelineMode, Plan, Stop, Target,
};
use load::{Control, RunError, RunFailure, run};
use report::StepResult;
use testkit::fake_server::{Answer, FakeServer};

const OK: &[u8] = b"+OK\r\n";
const RECONNECT: OnLoss = OnLoss::Reconnect { attempts: 5, wait_ms: 1, backoff_factor: 2.0 };

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
fn a_connection_is_made_anew_after_its_number_of_requests() {
    for depth in [1, 4] {
        let server = FakeServer::ok();
        let plan = Plan {
            lifetime: Connections { reconnect_every: 10, ..Connections::default() },
            pipeline: Pipeline { depth, mode: PipelineMode::Window },
            stop: requests(400),
            ..plan(&server)
        };
        let step = carry_out(&plan).unwrap();
        assert_eq!((step.requests, step.unanswered), (400, 0));
        assert_eq!(server.connections(), 40);
        assert_eq!((step.lifetime.connection_errors, step.lifetime.reconnections), (0, 36));
    }
}

#[test]
fn a_lost_connection_is_counted_and_made_anew_where_the_plan_says_so() {
    let closing = |request: &testkit::fake_server::Request<'_>| {
        if request.number % 100 == 99 {
            Answer::Close(Vec::new())
        } else {
            Answer::Reply(OK.to_vec())
        }
    };
    let server = FakeServer::start(closing);
    let lifetime = Connections { on_loss: RECONNECT, ..Connections::default() };
    let plan = Plan { lifetime, stop: requests(1_000), ..plan(&server) };
    let step = carry_out(&plan).unwrap();
    let lost = step.lifetime.connection_errors;
    assert!((9..=10).contains(&lost), "{lost}");
    assert_eq!(step.totals.lost, lost);
    assert_eq!((step.requests, step.unanswered), (1_000 - lost, lost));
    let by_second: u64 = step.series.iter().map(|point| point.connection_errors).sum();
    assert_eq!(by_second, lost);

    let server = FakeServer::start(closing);
    let failure = carry_out(&Plan { lifetime: Connections::default(), ..plan.clone() });
    drop(server);
    assert!(failure.is_err());
}

#[test]
fn a_server_that_stays_away_ends_the_run_after_the_last_attempt() {
    let server = FakeServer::start(|request| {
        if request.number == 200 { Answer::Die(Vec::new()) } else { Answer::Reply(OK.to_vec()) }
    });
    let lifetime = Connections { on_loss: RECONNECT, ..Connections::default() };
    let begun = Instant::now();
    let failure =
        carry_out(&Plan { lifetime, stop: milliseconds(20_000), ..plan(&server) }).unwrap_err();
    assert!(matches!(
        failure.error,
        RunError::Connect { .. } | RunError::Lost { .. } | RunError::Closed { .. }
    ));
    // Waits of 1, 2, 4, 8 and 16 ms.
    assert!(begun.elapsed() < Duration::from_secs(10));
    let partial = failure.partial.unwrap();
    assert!(partial.requests >= 150 && partial.lifetime.connection_errors >= 5);
}

#[test]
fn a_silent_connection_is_a_lost_one() {
    let server = FakeServer::start(|request| {
        if request.number == 50 { Answer::Silence } else { Answer::Reply(OK.to_vec()) }
    });
    let lifetime = Connections { on_loss: RECONNECT, ..Connections::default() };
    let plan = Plan {
        connections: 1,
        threads: 1,
        lifetime,
        reply_timeout_ms: Some(150),
        stop: requests(100),
        ..plan(&server)
    };
    let step = carry_out(&plan).unwrap();
    assert_eq!((step.requests, step.lifetime.connection_errors, server.connections()), (99, 1, 2));
}

#[test]
fn a_server_that_loads_its_data_is_asked_again() {
    let server = FakeServer::start(|request| {
        let is_hello = request.bytes.windows(5).any(|window| window == b"HELLO");
        Answer::Reply(match (is_hello, request.connection) {
            (true, 1) => b"-LOADING the dataset\r\n".to_vec(),
            _ if request.number == 20 => return Answer::Close(Vec::new()),
            _ => OK.to_vec(),
        })
    });
    let lifetime = Connections { on_loss: RECONNECT, ..Connections::default() };
    let plan = Plan {
        connections: 1,
        threads: 1,
        prefix: vec![vec!["HELLO".into(), "2".into()]],
        lifetime,
        stop: requests(50),
        ..plan(&server)
    };
    let step = carry_out(&plan).unwrap();
    // Two requests have no reply: the one that was cut off, and the one sent behind the refused command.
    assert_eq!((step.requests, step.lifetime.connection_errors, server.connections()), (48, 2, 3));
    assert_eq!(step.totals.lost, 2);
}

#[test]
fn a_staircase_adds_connections_step_by_step() {
    let server = FakeServer::ok();
    let staircase = Staircase { start: 1, step: 1, step_ms: 300 };
    let plan = Plan {
        lifetime: Connections { staircase: Some(staircase), ..Connections::default() },
        pacing: Pacing::Constant { rate_rps: 400.0 },
        detail: Detail { clients: true, ..Detail::default() },
        stop: milliseconds(1_500),
        ..plan(&server)
    };
    let step = carry_out(&plan).unwrap();
    assert_eq!(step.lifetime.active, [4, 4]);
    // Each connection sends 100 a second from its own start on, and what came before is not made up for.
    let mut counts: Vec<(u64, u64)> = step
        .clients
        .iter()
        .map(|client| (u64::from(client.client * 2 + client.thread), client.commands[0].count))
        .collect();
    counts.sort_unstable();
    for (index, count) in counts {
        let expected = 150 - 30 * index;
        assert!(count.abs_diff(expected) <= 12, "connection {index}: {count}, not {expected}");
    }
    assert!(step.unanswered <= 8, "{}", step.unanswered);
}

#[test]
fn seconds_and_connections_add_up_to_the_whole() {
    let server = FakeServer::start(|request| {
        Answer::Reply(if request.number % 2 == 0 {
            b"$-1\r\n".to_vec()
        } else {
            b"$1\r\nx\r\n".to_vec()
        })
    });
    let plan = Plan {
        detail: Detail { command_seconds: true, clients: true },
        pacing: Pacing::Constant { rate_rps: 500.0 },
        stop: milliseconds(2_200),
        ..plan(&server)
    };
    let step = carry_out(&plan).unwrap();
    let whole = &step.totals;
    let seconds = &step.commands[0].series;
    assert!(seconds.len() >= 2, "{}", seconds.len());
    assert_eq!(seconds.iter().map(|point| point.latencies.count()).sum::<u64>(), whole.count);
    assert_eq!(seconds.iter().map(|point| point.hits).sum::<u64>(), whole.hits);
    assert_eq!(seconds.iter().map(|point| point.bytes_in).sum::<u64>(), whole.bytes_in);
    assert_eq!(seconds.iter().map(|point| point.bytes_out).sum::<u64>(), whole.bytes_out);
    for (point, of_all) in seconds.iter().zip(&step.series) {
        assert_eq!(point.latencies.percentile_ns(99.0), of_all.p99_ns);
    }
    assert_eq!(step.clients.len(), 4);
    let of_clients = step.clients.iter().map(|client| &client.commands[0]);
    assert_eq!(of_clients.clone().map(|command| command.count).sum::<u64>(), whole.count);
    let places: Vec<(u32, u32)> =
        step.clients.iter().map(|client| (client.thread, client.client)).collect();
    assert_eq!(places, [(0, 0), (0, 1), (1, 0), (1, 1)]);
    for command in of_clients {
        let own: u64 = command.series.iter().map(|point| point.latencies.count()).sum();
        assert_eq!(own, command.count);
    }
    assert_eq!(whole.bytes_in, step.bytes_in);
    assert_eq!(whole.bytes_out, step.bytes_out);
}

#[test]
fn a_jitter_keeps_connections_apart_at_the_start() {
    let server = FakeServer::ok();
    let jitter = NumberRange { least: 30_000, most: 40_000 };
    let plan = Plan {
        threads: 1,
        lifetime: Connections { start_jitter_us: Some(jitter), ..Connections::default() },
        stop: requests(40),
        ..plan(&server)
    };
    let begun = Instant::now();
    let step = carry_out(&plan).unwrap();
    assert!(begun.elapsed() >= Duration::from_millis(90));
    assert!(Duration::from_nanos(step.duration_ns) < begun.elapsed() - Duration::from_millis(90));
}
