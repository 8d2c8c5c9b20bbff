//! Publishing and subscribing: what subscribers see, across workers, and what becomes of slow ones.

use std::time::Duration;

use server::settings::OutputLimit;

use crate::{Wire, address, start, wait_until};

#[test]
fn messages_reach_those_who_listen() {
    let server = start(|_| {});
    let mut listener = Wire::to(&server);
    let mut other = Wire::to(&server);
    let mut sender = Wire::to(&server);
    sender.say("PUBLISH a hello", ":0\r\n");
    listener.say(
        "SUBSCRIBE a b a",
        "*3\r\n$9\r\nsubscribe\r\n$1\r\na\r\n:1\r\n*3\r\n$9\r\nsubscribe\r\n$1\r\nb\r\n:2\r\n\
         *3\r\n$9\r\nsubscribe\r\n$1\r\na\r\n:2\r\n",
    );
    listener.say("PSUBSCRIBE a*", "*3\r\n$10\r\npsubscribe\r\n$2\r\na*\r\n:3\r\n");
    listener.say("SSUBSCRIBE a", "*3\r\n$10\r\nssubscribe\r\n$1\r\na\r\n:1\r\n");
    other.send(b"HELLO 3\r\nPSUBSCRIBE *\r\n");
    wait_until("both listen", || server.server().pubsub.pattern_count() == 2);
    sender.say("PUBLISH a hello", ":3\r\n");
    listener.expect("*3\r\n$7\r\nmessage\r\n$1\r\na\r\n$5\r\nhello\r\n");
    listener.expect("*4\r\n$8\r\npmessage\r\n$2\r\na*\r\n$1\r\na\r\n$5\r\nhello\r\n");
    sender.say("SPUBLISH a there", ":1\r\n");
    listener.expect("*3\r\n$8\r\nsmessage\r\n$1\r\na\r\n$5\r\nthere\r\n");
    sender.say(
        "PUBSUB NUMSUB a b none",
        "*6\r\n$1\r\na\r\n:1\r\n$1\r\nb\r\n:1\r\n$4\r\nnone\r\n:0\r\n",
    );
    sender.say("PUBSUB NUMPAT", ":2\r\n");
    sender.say("PUBSUB CHANNELS [b]", "*1\r\n$1\r\nb\r\n");
    sender.say("PUBSUB SHARDCHANNELS", "*1\r\n$1\r\na\r\n");
    sender.say("PUBSUB SHARDNUMSUB a", "*2\r\n$1\r\na\r\n:1\r\n");
    listener.say(
        "GET a",
        "-ERR Can't execute 'get': only (P|S)SUBSCRIBE / (P|S)UNSUBSCRIBE / PING / QUIT / RESET \
         are allowed in this context\r\n",
    );
    listener.say("PING", "*2\r\n$4\r\npong\r\n$0\r\n\r\n");
    listener.say("PING x", "*2\r\n$4\r\npong\r\n$1\r\nx\r\n");
    listener.say("UNSUBSCRIBE b none", "*3\r\n$11\r\nunsubscribe\r\n$1\r\nb\r\n:2\r\n*3\r\n$11\r\nunsubscribe\r\n$4\r\nnone\r\n:2\r\n");
    listener.say("UNSUBSCRIBE", "*3\r\n$11\r\nunsubscribe\r\n$1\r\na\r\n:1\r\n");
    listener.say("UNSUBSCRIBE", "*3\r\n$11\r\nunsubscribe\r\n$-1\r\n:1\r\n");
    listener.say("PUNSUBSCRIBE", "*3\r\n$12\r\npunsubscribe\r\n$2\r\na*\r\n:0\r\n");
    listener.say("SUNSUBSCRIBE", "*3\r\n$12\r\nsunsubscribe\r\n$1\r\na\r\n:0\r\n");
    listener.say("PING", "+PONG\r\n");
    listener.say("SET a 1", "+OK\r\n");
    listener.say("SUBSCRIBE a", "*3\r\n$9\r\nsubscribe\r\n$1\r\na\r\n:1\r\n");
    listener.say("RESET", "+RESET\r\n");
    listener.say("QUIT", "+OK\r\n");
    assert_eq!(listener.rest(), b"");
    drop(other);
    wait_until("nobody listens", || server.server().pubsub.pattern_count() == 0);
    assert!(server.server().pubsub.channels.is_empty());
    sender.say("PUBLISH a hello", ":0\r\n");
}

#[test]
fn with_the_newer_protocol_a_listener_does_all_else_too() {
    let server = start(|_| {});
    let mut wire = Wire::to(&server);
    wire.send(b"HELLO 3 SETNAME x\r\n");
    wire.expect("%7\r\n");
    let mut other = Wire::to(&server);
    other.send(b"CLIENT LIST ID 1\r\n");
    assert!(other.text().contains(" sub=0 psub=0 ssub=0 "));
    wire.send(b"SUBSCRIBE a\r\nPUBLISH a one\r\nGET k\r\n");
    let mut seen = Vec::new();
    let end = b">3\r\n$7\r\nmessage\r\n$1\r\na\r\n$3\r\none\r\n";
    let mut byte = [0];
    while !seen.ends_with(end) {
        std::io::Read::read_exact(&mut wire.0, &mut byte).unwrap();
        seen.push(byte[0]);
    }
    let seen = String::from_utf8(seen).unwrap();
    let order =
        [">3\r\n$9\r\nsubscribe\r\n$1\r\na\r\n:1\r\n", ":1\r\n", "_\r\n", ">3\r\n$7\r\nmessage"];
    let places: Vec<_> = order.iter().map(|text| seen.rfind(text).expect(text)).collect();
    assert!(places.is_sorted(), "{seen}");
    other.send(b"CLIENT LIST ID 1\r\n");
    let line = other.text();
    assert!(line.contains(" flags=P ") && line.contains(" sub=1 psub=0 ssub=0 "), "{line}");
    wire.say("MULTI", "+OK\r\n");
    wire.say("SUBSCRIBE b", "+QUEUED\r\n");
    wire.say("SSUBSCRIBE b", "+QUEUED\r\n");
    wire.say(
        "EXEC",
        "*2\r\n>3\r\n$9\r\nsubscribe\r\n$1\r\nb\r\n:2\r\n\
         -ERR SSUBSCRIBE isn't allowed for a DENY BLOCKING client\r\n",
    );
}

#[test]
fn every_listener_hears_everything_in_one_order() {
    const PUBLISHERS: usize = 4;
    const MESSAGES: usize = 500;
    let server = start(|settings| settings.threads = 3);
    let at = address(&server);
    let mut listeners: Vec<Wire> = (0..6).map(|_| Wire::to(&server)).collect();
    for listener in &mut listeners {
        listener.say("SUBSCRIBE c", "*3\r\n$9\r\nsubscribe\r\n$1\r\nc\r\n:1\r\n");
    }
    std::thread::scope(|scope| {
        for publisher in 0..PUBLISHERS {
            scope.spawn(move || {
                let mut wire = Wire::at(at);
                for number in 0..MESSAGES {
                    wire.say(&format!("PUBLISH c {publisher}:{number:05}"), ":6\r\n");
                }
            });
        }
    });
    let message_bytes = "*3\r\n$7\r\nmessage\r\n$1\r\nc\r\n$7\r\n0:00000\r\n".len();
    let mut heard = listeners.iter_mut().map(|listener| {
        let mut bytes = vec![0; PUBLISHERS * MESSAGES * message_bytes];
        std::io::Read::read_exact(&mut listener.0, &mut bytes).unwrap();
        bytes
    });
    let first = heard.next().unwrap();
    for publisher in 0..PUBLISHERS {
        let marker = format!("\n{publisher}:");
        let text = String::from_utf8_lossy(&first);
        let numbers: Vec<&str> =
            text.match_indices(&marker).map(|(at, _)| &text[at + 3..at + 8]).collect();
        assert!(numbers.len() == MESSAGES && numbers.is_sorted());
    }
    assert!(heard.all(|other| other == first));
}

#[test]
fn a_listener_that_does_not_read_is_cut_off() {
    let server = start(|settings| {
        settings.output_limits.pubsub =
            OutputLimit { hard_bytes: 1 << 20, soft_bytes: 0, soft_seconds: 0 };
    });
    let mut slow = Wire::to(&server);
    slow.say("SUBSCRIBE c", "*3\r\n$9\r\nsubscribe\r\n$1\r\nc\r\n:1\r\n");
    let mut sender = Wire::to(&server);
    sender.0.set_read_timeout(Some(Duration::from_secs(20))).unwrap();
    let message = "m".repeat(50_000);
    for _ in 0..4000 {
        sender.send(format!("PUBLISH c {message}\r\n").as_bytes());
        let mut reply = [0; 4];
        std::io::Read::read_exact(&mut sender.0, &mut reply).unwrap();
        if &reply == b":0\r\n" {
            break;
        }
    }
    wait_until("it is cut off", || server.server().clients.len() == 1);
    sender.say("PUBLISH c x", ":0\r\n");
}
