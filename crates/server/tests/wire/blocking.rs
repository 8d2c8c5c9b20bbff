//! Commands that wait: who is served, in which order, with what, and what ends a wait.

use std::sync::atomic::Ordering;
use std::time::{Duration, Instant};

use server::Running;

use crate::{Wire, address, start, wait_until};

fn wait_for_blocked(server: &Running, count: usize) {
    let blocked = &server.server().blocked_clients;
    wait_until("they wait", || blocked.load(Ordering::Relaxed) == count);
}

#[test]
fn what_is_there_is_taken_at_once() {
    let server = start(|_| {});
    let mut wire = Wire::to(&server);
    wire.say("RPUSH l 1 2 3 4 5 6", ":6\r\n");
    wire.say("ZADD z 1 a 2 b 3 c 4 d", ":4\r\n");
    wire.say("BLPOP none l 0", "*2\r\n$1\r\nl\r\n$1\r\n1\r\n");
    wire.say("BRPOP l 0", "*2\r\n$1\r\nl\r\n$1\r\n6\r\n");
    wire.say("BLMOVE l m LEFT RIGHT 0", "$1\r\n2\r\n");
    wire.say("BRPOPLPUSH l m 0", "$1\r\n5\r\n");
    wire.say("BLMPOP 0 2 none l LEFT COUNT 5", "*2\r\n$1\r\nl\r\n*2\r\n$1\r\n3\r\n$1\r\n4\r\n");
    wire.say("BZPOPMIN z 0", "*3\r\n$1\r\nz\r\n$1\r\na\r\n$1\r\n1\r\n");
    wire.say("BZPOPMAX z 0", "*3\r\n$1\r\nz\r\n$1\r\nd\r\n$1\r\n4\r\n");
    wire.say(
        "BZMPOP 0 1 z MAX COUNT 2",
        "*2\r\n$1\r\nz\r\n*2\r\n*2\r\n$1\r\nc\r\n$1\r\n3\r\n*2\r\n$1\r\nb\r\n$1\r\n2\r\n",
    );
    wire.say("EXISTS l z", ":0\r\n");
    wire.say("BLPOP l x", "-ERR timeout is not a float or out of range\r\n");
    wire.say("BLPOP l -1", "-ERR timeout is negative\r\n");
    wire.say("BLMPOP 0 0 l LEFT", "-ERR numkeys should be greater than 0\r\n");
    wire.say("BLMPOP 0 1 l LEFT COUNT 0", "-ERR count should be greater than 0\r\n");
    wire.say("SET s 1", "+OK\r\n");
    let wrong = "-WRONGTYPE Operation against a key holding the wrong kind of value\r\n";
    wire.say("BLPOP s 0", wrong);
    let started = Instant::now();
    wire.say("BLPOP l 0.05", "*-1\r\n");
    wire.say("BLMOVE l m LEFT LEFT 0.01", "$-1\r\n");
    assert!(started.elapsed() >= Duration::from_millis(55));
    wire.say("MULTI", "+OK\r\n");
    wire.say("BLPOP l 0", "+QUEUED\r\n");
    wire.say("BZPOPMIN z 0", "+QUEUED\r\n");
    wire.say("EXEC", "*2\r\n*-1\r\n*-1\r\n");
    assert_eq!(server.server().observers.awaited_keys(), 0);
}

#[test]
fn those_who_wait_are_served_in_their_order_before_the_next_command() {
    for backend in [server::settings::IoBackend::Auto, server::settings::IoBackend::Poll] {
        let server = start(|settings| settings.io_backend = backend);
        let mut first = Wire::to(&server);
        let mut second = Wire::to(&server);
        let mut pusher = Wire::to(&server);
        first.send(b"BLPOP other l 0\r\nPING\r\n");
        wait_for_blocked(&server, 1);
        second.send(b"BLMPOP 0 1 l RIGHT COUNT 2\r\n");
        wait_for_blocked(&server, 2);
        pusher.send(b"CLIENT LIST ID 1\r\n");
        assert!(pusher.text().contains(" flags=b "));
        // Another type is not what they wait for.
        pusher.send(b"SET l x\r\nDEL l\r\nRPUSH l a b c d\r\nLRANGE l 0 -1\r\n");
        pusher.expect("+OK\r\n:1\r\n:4\r\n*1\r\n$1\r\nb\r\n");
        first.expect("*2\r\n$1\r\nl\r\n$1\r\na\r\n+PONG\r\n");
        second.expect("*2\r\n$1\r\nl\r\n*2\r\n$1\r\nd\r\n$1\r\nc\r\n");
        // A chain: what one moves, another waits for.
        pusher.say("DEL l", ":1\r\n");
        first.send(b"BLMOVE l m LEFT LEFT 0\r\n");
        wait_for_blocked(&server, 1);
        second.send(b"BRPOP m 0\r\n");
        wait_for_blocked(&server, 2);
        // Within a transaction nobody is served; what is left behind it counts.
        pusher.say("MULTI", "+OK\r\n");
        for command in ["RPUSH l gone", "DEL l", "RPUSH l there", "LLEN l"] {
            pusher.say(command, "+QUEUED\r\n");
        }
        pusher.say("EXEC", "*4\r\n:1\r\n:1\r\n:1\r\n:1\r\n");
        first.expect("$5\r\nthere\r\n");
        second.expect("*2\r\n$1\r\nm\r\n$5\r\nthere\r\n");
        pusher.say("EXISTS l m", ":0\r\n");
        first.send(b"BZPOPMAX z 0\r\n");
        wait_for_blocked(&server, 1);
        pusher.say("ZADD z 1 a 2 b", ":2\r\n");
        first.expect("*3\r\n$1\r\nz\r\n$1\r\nb\r\n$1\r\n2\r\n");
        // Who is gone takes nothing.
        second.send(b"BLPOP l 0\r\n");
        wait_for_blocked(&server, 1);
        drop(second);
        wait_for_blocked(&server, 0);
        pusher.say("RPUSH l x", ":1\r\n");
        pusher.say("LLEN l", ":1\r\n");
        assert_eq!(server.server().observers.awaited_keys(), 0);
    }
}

/// Every job that is pushed is taken once, by whoever, across workers.
#[test]
fn a_queue_between_many_loses_and_repeats_nothing() {
    const JOBS: usize = 2000;
    const TAKERS: usize = 6;
    let server = start(|settings| settings.threads = 3);
    let at = address(&server);
    let mut taken: Vec<usize> = std::thread::scope(|scope| {
        let takers: Vec<_> = (0..TAKERS)
            .map(|taker| {
                scope.spawn(move || {
                    let mut client = testkit::client::Client::connect(at).unwrap();
                    let mut jobs = Vec::new();
                    loop {
                        let reply = match taker % 2 {
                            0 => client.command(&["BLPOP", "jobs:0", "jobs:1", "0"]),
                            _ => client.command(&["BRPOP", "jobs:1", "jobs:0", "0"]),
                        };
                        let reply = reply.unwrap();
                        let job = reply.as_items().unwrap()[1].as_text().unwrap();
                        match std::str::from_utf8(job).unwrap().parse() {
                            Ok(job) => jobs.push(job),
                            Err(_) => return jobs,
                        }
                    }
                })
            })
            .collect();
        let pushers: Vec<_> = (0..2)
            .map(|pusher| {
                scope.spawn(move || {
                    let mut client = testkit::client::Client::connect(at).unwrap();
                    for job in (pusher..JOBS).step_by(2) {
                        let key = format!("jobs:{}", job % 3 % 2);
                        client.command(&["RPUSH", &key, &job.to_string()]).unwrap();
                    }
                })
            })
            .collect();
        pushers.into_iter().for_each(|pusher| pusher.join().unwrap());
        let mut client = testkit::client::Client::connect(at).unwrap();
        // Who takes from either end of a list that is empty but for these finds all jobs taken.
        let deadline = Instant::now() + Duration::from_secs(20);
        while client.command(&["EXISTS", "jobs:0", "jobs:1"]).unwrap().to_string() != "(integer) 0"
        {
            assert!(Instant::now() < deadline);
        }
        for _ in 0..TAKERS {
            client.command(&["RPUSH", "jobs:0", "end"]).unwrap();
        }
        takers.into_iter().flat_map(|taker| taker.join().unwrap()).collect()
    });
    taken.sort_unstable();
    assert!(taken.into_iter().eq(0..JOBS));
}
