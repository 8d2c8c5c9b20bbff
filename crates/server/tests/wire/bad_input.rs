//! Input that is no request, or half of one, or too large: the server says what Redis says, closes,
//! and goes on serving everybody else.

use testkit::peer::Peer;

use crate::{Wire, start};

/// Input, and all that comes back until the connection is closed. Recorded from Redis 7.0.
fn malformed() -> Vec<(Vec<u8>, &'static str)> {
    let long = |first: &str, byte: u8| {
        let mut bytes = first.as_bytes().to_vec();
        bytes.resize(70_000, byte);
        bytes
    };
    let mut cases: Vec<(Vec<u8>, &'static str)> = [
        ("*a\r\n", "-ERR Protocol error: invalid multibulk length\r\n"),
        ("*99999999999999999999\r\n", "-ERR Protocol error: invalid multibulk length\r\n"),
        ("*\r\n", "-ERR Protocol error: invalid multibulk length\r\n"),
        ("*1\r\n+PING\r\n", "-ERR Protocol error: expected '$', got '+'\r\n"),
        ("*1\r\n\r\n", "-ERR Protocol error: expected '$', got '\r'\r\n"),
        ("*1\r\n$x\r\n", "-ERR Protocol error: invalid bulk length\r\n"),
        ("*1\r\n$-1\r\n", "-ERR Protocol error: invalid bulk length\r\n"),
        ("*1\r\n$\r\n", "-ERR Protocol error: invalid bulk length\r\n"),
        ("*1\r\n$536870913\r\n", "-ERR Protocol error: invalid bulk length\r\n"),
        ("*1\r\n$99999999999999999999\r\n", "-ERR Protocol error: invalid bulk length\r\n"),
        ("GET \"abc\r\n", "-ERR Protocol error: unbalanced quotes in request\r\n"),
        ("GET 'abc\r\n", "-ERR Protocol error: unbalanced quotes in request\r\n"),
        ("GET \"abc\"d\r\n", "-ERR Protocol error: unbalanced quotes in request\r\n"),
        ("PING\r\n*1\r\n$x\r\nPING\r\n", "+PONG\r\n-ERR Protocol error: invalid bulk length\r\n"),
        ("*0\r\n*-1\r\n\r\nPING\n\r\nQUIT\r\n", "+PONG\r\n+OK\r\n"),
        ("*1\r\n$4\r\nPINGxx*1\r\n$4\r\nQUIT\r\n", "+PONG\r\n+OK\r\n"),
        (
            "*1\r\n$0\r\n\r\nQUIT\r\n",
            "-ERR unknown command '', with args beginning with: \r\n+OK\r\n",
        ),
    ]
    .into_iter()
    .map(|(input, output)| (input.as_bytes().to_vec(), output))
    .collect();
    cases.extend([
        (long("a", b'a'), "-ERR Protocol error: too big inline request\r\n"),
        (long("*", b'1'), "-ERR Protocol error: too big mbulk count string\r\n"),
        (long("*1\r\n$", b'1'), "-ERR Protocol error: too big bulk count string\r\n"),
    ]);
    cases
}

/// What Redis answers with a carriage return in it, it answers with a space.
fn as_sent(expected: &str) -> String {
    expected.replace("got '\r'", "got ' '")
}

fn answer(wire: &mut Wire, input: &[u8]) -> String {
    wire.send(input);
    String::from_utf8_lossy(&wire.rest()).into_owned()
}

#[test]
fn malformed_requests_are_answered_as_redis_does_and_closed() {
    let server = start(|_| {});
    let peer = Peer::redis();
    for (input, expected) in malformed() {
        let shown = String::from_utf8_lossy(&input[..input.len().min(60)]).into_owned();
        let expected = as_sent(expected);
        assert_eq!(answer(&mut Wire::to(&server), &input), expected, "{shown:?}");
        if let Some(peer) = &peer {
            assert_eq!(answer(&mut Wire::at(peer.address), &input), expected, "Redis: {shown:?}");
        }
    }
    Wire::to(&server).say("PING", "+PONG\r\n");
}

#[test]
fn strangers_get_little_room_before_they_authenticate() {
    let server = start(|settings| settings.password = b"secret".to_vec());
    let mut cases = vec![
        ("*11\r\n", "-ERR Protocol error: unauthenticated multibulk length\r\n"),
        ("*2\r\n$4\r\nAUTH\r\n$16385\r\n", "-ERR Protocol error: unauthenticated bulk length\r\n"),
    ];
    let refused = "-NOAUTH Authentication required.\r\n+OK\r\n";
    cases.extend([("GET key\r\nQUIT\r\n", refused), ("CLIENT ID\r\nQUIT\r\n", refused)]);
    for (input, expected) in cases {
        assert_eq!(answer(&mut Wire::to(&server), input.as_bytes()), expected, "{input:?}");
    }
    // A command that authenticates lifts the limits for the next in the same packet.
    let mut wire = Wire::to(&server);
    wire.send(b"AUTH secret\r\n*3\r\n$3\r\nSET\r\n$1\r\nk\r\n$20000\r\n");
    wire.send(&[b'v'; 20_000]);
    wire.send(b"\r\n");
    wire.expect("+OK\r\n+OK\r\n");
    wire.say("STRLEN k", ":20000\r\n");
}

#[test]
fn keys_and_values_are_any_bytes() {
    let server = start(|_| {});
    let mut wire = Wire::to(&server);
    let all: Vec<u8> = (0..=255).collect();
    let mut request = b"*3\r\n$3\r\nSET\r\n$256\r\n".to_vec();
    request.extend_from_slice(&all);
    request.extend_from_slice(b"\r\n$256\r\n");
    request.extend_from_slice(&all);
    request.extend_from_slice(b"\r\n*2\r\n$6\r\nSTRLEN\r\n$256\r\n");
    request.extend_from_slice(&all);
    request.extend_from_slice(b"\r\n");
    wire.send(&request);
    wire.expect("+OK\r\n:256\r\n");
    // The empty key is a key, the empty value a value.
    wire.send(b"*3\r\n$3\r\nSET\r\n$0\r\n\r\n$0\r\n\r\n*2\r\n$3\r\nGET\r\n$0\r\n\r\nDBSIZE\r\n");
    wire.expect("+OK\r\n$0\r\n\r\n:2\r\n");
}

#[test]
fn half_a_command_and_a_close_disturb_nobody() {
    let server = start(|_| {});
    let mut steady = Wire::to(&server);
    for half in ["*", "*2", "*2\r\n$3\r\nGE", "*2\r\n$3\r\nGET\r\n$100\r\nab", "GET half"] {
        Wire::to(&server).send(half.as_bytes());
        steady.say("PING", "+PONG\r\n");
    }
    crate::wait_until("the halves are gone", || server.server().clients.len() == 1);
    steady.say("DBSIZE", ":0\r\n");
}

#[test]
fn a_command_may_arrive_byte_by_byte_and_its_neighbours_with_it() {
    let server = start(|_| {});
    let mut wire = Wire::to(&server);
    for byte in b"*3\r\n$3\r\nSET\r\n$1\r\na\r\n$2\r\nxy\r\nPING\r\n" {
        wire.send(&[*byte]);
    }
    wire.expect("+OK\r\n+PONG\r\n");
}

#[test]
fn a_batch_that_pauses_for_its_output_finds_the_half_command_behind_it() {
    let server = start(|_| {});
    let mut wire = Wire::to(&server);
    let value = "v".repeat(100_000);
    wire.send(format!("*3\r\n$3\r\nSET\r\n$3\r\nbig\r\n$100000\r\n{value}\r\n").as_bytes());
    wire.expect("+OK\r\n");
    let mut input = "*2\r\n$3\r\nGET\r\n$3\r\nbig\r\n".repeat(10);
    input.push_str("*3\r\n$3\r\nSET\r\n$1\r\nk\r\n$5\r\nhe");
    wire.send(input.as_bytes());
    for _ in 0..10 {
        wire.expect(&format!("$100000\r\n{value}\r\n"));
    }
    wire.send(b"llo\r\nGET k\r\n");
    wire.expect("+OK\r\n$5\r\nhello\r\n");
}
