//! Many connections, slow ones and idle ones: nobody is lost, and nobody costs more than is his.

use std::sync::atomic::Ordering;
use std::time::{Duration, Instant};

use server::Running;

use crate::{Wire, address, start, wait_until};

fn loads(server: &Running) -> Vec<usize> {
    let counts = &server.server().worker_connections;
    counts.iter().map(|count| count.load(Ordering::Relaxed)).collect()
}

#[test]
fn connections_spread_evenly_and_all_are_served() {
    for threads in [2, 4] {
        let server = start(|settings| settings.threads = threads);
        let mut wires: Vec<Wire> = (0..50).map(|_| Wire::to(&server)).collect();
        wires.iter_mut().for_each(|wire| wire.say("PING", "+PONG\r\n"));
        let loads = loads(&server);
        assert_eq!(loads.iter().sum::<usize>(), 50);
        let (fewest, most) = (loads.iter().min().unwrap(), loads.iter().max().unwrap());
        assert!(most - fewest <= 1, "{loads:?}");
        for round in 0..20 {
            wires.iter_mut().for_each(|wire| wire.send(b"INCR counter\r\nPING\r\n"));
            let last = (round + 1) * 50;
            let mut highest = 0;
            for wire in &mut wires {
                let line = read_line(wire);
                highest = highest.max(line[1..].parse::<u64>().unwrap());
                wire.expect("+PONG\r\n");
            }
            assert_eq!(highest, last);
        }
    }
}

fn read_line(wire: &mut Wire) -> String {
    let mut line = Vec::new();
    let mut byte = [0];
    while !line.ends_with(b"\r\n") {
        std::io::Read::read_exact(&mut wire.0, &mut byte).unwrap();
        line.push(byte[0]);
    }
    String::from_utf8_lossy(&line[..line.len() - 2]).into_owned()
}

#[test]
fn ten_thousand_connections_come_and_go_and_the_steady_one_stays() {
    let server = start(|_| {});
    let mut steady = Wire::to(&server);
    for number in 0..10_000 {
        let mut passing = Wire::to(&server);
        if number % 3 == 0 {
            passing.send(b"PING\r\n");
        }
        if number % 100 == 0 {
            steady.say("PING", "+PONG\r\n");
        }
    }
    wait_until("all are gone", || server.server().clients.len() == 1);
    wait_until("and counted out", || loads(&server).iter().sum::<usize>() == 1);
    steady.say("PING", "+PONG\r\n");
}

#[test]
fn a_client_that_never_reads_holds_one_pause_of_output() {
    let server = start(|settings| settings.threads = 1);
    let mut wire = Wire::to(&server);
    let value = "v".repeat(10_000);
    wire.send(format!("*3\r\n$3\r\nSET\r\n$1\r\nk\r\n$10000\r\n{value}\r\n").as_bytes());
    wire.expect("+OK\r\n");
    let before_bytes = resident_bytes();
    // Replies of a gigabyte are asked for; the server stops reading once nobody takes them.
    let requests = "GET k\r\n".repeat(1000);
    let mut greedy = Wire::to(&server);
    greedy.0.set_write_timeout(Some(Duration::from_millis(300))).unwrap();
    let asked = (0..100)
        .take_while(|_| std::io::Write::write_all(&mut greedy.0, requests.as_bytes()).is_ok());
    let asked = asked.count();
    let held = || {
        let clients = server.server().clients.list();
        clients.iter().map(|client| client.output_bytes.load(Ordering::Relaxed)).max()
    };
    wait_until("the server waits", || held() > Some(0));
    assert!(held() < Some(1 << 20), "{:?}", held());
    wire.say("PING", "+PONG\r\n");
    let grown_bytes = resident_bytes().saturating_sub(before_bytes);
    assert!(grown_bytes < 64 << 20, "{grown_bytes} bytes after {asked}000 requests");
    drop(greedy);
    wait_until("it is gone", || server.server().clients.len() == 1);
    wire.say("PING", "+PONG\r\n");
}

/// Memory of this process that is in use, in bytes; 0 where the system does not tell.
fn resident_bytes() -> usize {
    let pages = std::fs::read_to_string("/proc/self/statm").unwrap_or_default();
    let pages: usize = pages.split(' ').nth(1).and_then(|text| text.parse().ok()).unwrap_or(0);
    pages * 4096
}

#[test]
fn idle_clients_are_disconnected_after_the_timeout() {
    let server = start(|settings| settings.timeout_s = 1);
    let started = Instant::now();
    let mut idle = Wire::to(&server);
    let mut busy = Wire::to(&server);
    idle.say("PING", "+PONG\r\n");
    busy.say("PING", "+PONG\r\n");
    while server.server().clients.len() > 1 {
        assert!(started.elapsed() < Duration::from_secs(10));
        busy.say("PING", "+PONG\r\n");
        std::thread::sleep(Duration::from_millis(50));
    }
    // The server counts in whole milliseconds.
    assert!(started.elapsed() >= Duration::from_millis(990), "{:?}", started.elapsed());
    assert_eq!(idle.rest(), b"");
    busy.say("PING", "+PONG\r\n");
}

#[test]
fn one_client_too_many_is_told_so() {
    let server = start(|settings| settings.clients_max = 2);
    let mut first = Wire::to(&server);
    let mut second = Wire::to(&server);
    first.say("PING", "+PONG\r\n");
    second.say("PING", "+PONG\r\n");
    assert_eq!(Wire::to(&server).rest(), b"-ERR max number of clients reached\r\n");
    drop(second);
    wait_until("there is room again", || server.server().clients.len() == 1);
    Wire::to(&server).say("PING", "+PONG\r\n");
}

#[test]
fn a_server_that_is_shut_down_closes_everything() {
    let server = start(|_| {});
    let address = address(&server);
    let mut other = Wire::to(&server);
    let mut wire = Wire::to(&server);
    other.say("PING", "+PONG\r\n");
    wire.send(b"SHUTDOWN NOSAVE\r\n");
    assert_eq!(wire.rest(), b"");
    assert_eq!(other.rest(), b"");
    server.wait();
    assert!(std::net::TcpStream::connect(address).is_err());
}
