//! Bad input: whatever arrives, the store answers as Redis does or closes, and loses no other client.

use crate::store;
use std::io::{Read, Write};
use std::net::{Shutdown, SocketAddr, TcpStream};
use std::time::Duration;
use testkit::peer::Peer;
use testkit::reply::Value;

/// Requests that are wrong, empty or cut off, each sent on a connection of its own and then ended.
fn requests() -> Vec<Vec<u8>> {
    let fixed: [&[u8]; 38] = [
        b"",
        b"\r\n",
        b"\n",
        b"   \r\n",
        b"PING",
        b"PING\n",
        b"PING\r\n\r\n\r\nPING\r\n",
        b"*0\r\n",
        b"*-1\r\nPING\r\n",
        b"*\r\n",
        b"*abc\r\n",
        b"*1.5\r\n",
        b"*2147483648\r\n",
        b"*-10\r\nPING\r\n",
        b"*1\r\nPING\r\n",
        b"*1\r\n\r\n",
        b"*1\r\n$\r\n",
        b"*1\r\n$-1\r\n",
        b"*1\r\n$abc\r\n",
        b"*1\r\n$536870913\r\n",
        b"*1\r\n$9223372036854775808\r\n",
        b"*1\r\n$4\r\nPINGxx",
        b"*1\r\n$0\r\n\r\n",
        b"*2\r\n$3\r\nGET\r\n",
        b"*1\r\n$4\r\nPI",
        b"*01\r\n$04\r\nPING\r\n",
        b"*1\r\n$4\r\nPING\r\n*x\r\n",
        b"\x00\x00\r\n",
        b"\xff\xfe\xfd\r\n",
        b"SET a \"b\r\n",
        b"SET a \"b\"c\r\n",
        b"SET a 'b\\'c'\r\nGET a\r\n",
        b"SET a \"\\x41\\n\"\r\nGET a\r\n",
        b"$4\r\nPING\r\n",
        b"POST / HTTP/1.1\r\nHost: a\r\n\r\nSET a b\r\n",
        b"GET / HTTP/1.1\r\nHost: a\r\n\r\n",
        b"PING\r\nhost:\r\nPING\r\n",
        b"*1\r\n$4\r\npOsT\r\n*1\r\n$4\r\nPING\r\n",
    ];
    let mut requests: Vec<Vec<u8>> = fixed.iter().map(|bytes| bytes.to_vec()).collect();
    // Just under and over the limit of a line that has no end in sight.
    requests.push([b"*".as_slice(), &[b'1'; 70_000]].concat());
    requests.push([b"*1\r\n$".as_slice(), &[b'1'; 70_000]].concat());
    requests.push(vec![b'a'; 70_000]);
    requests.push([b"PING ".as_slice(), &[b'a'; 60_000], b"\r\n"].concat());
    requests
}

/// What a server sends in answer to `request` until it closes, the client having ended its side. A
/// reset after a protocol error cuts off nothing that was received before.
fn answer(address: SocketAddr, request: &[u8]) -> Vec<u8> {
    let mut stream = TcpStream::connect(address).expect("the server takes connections");
    stream.set_read_timeout(Some(Duration::from_secs(10))).expect("the socket takes a limit");
    // A server that has seen enough may close while we still write.
    let _ = stream.write_all(request);
    let _ = stream.shutdown(Shutdown::Write);
    let mut bytes = Vec::new();
    let mut chunk = [0; 4096];
    while let Ok(length @ 1..) = stream.read(&mut chunk) {
        bytes.extend_from_slice(&chunk[..length]);
    }
    bytes
}

#[test]
fn bad_requests_are_answered_as_redis_does() {
    let Some(real) = Peer::redis() else { return };
    let ours = store::start();
    let mut witness = ours.client();
    for request in requests() {
        let shown = request[..request.len().min(40)].escape_ascii().to_string();
        let theirs = answer(real.address, &request);
        let got = answer(ours.address, &request);
        assert_eq!(got.escape_ascii().to_string(), theirs.escape_ascii().to_string(), "{shown}");
        let pong = witness.command(&["PING"]).expect("no other client is lost");
        assert_eq!(pong, Value::Simple(b"PONG".to_vec()));
    }
}

#[test]
fn keys_and_values_may_be_any_bytes() {
    let store = store::start();
    let mut client = store.client();
    let long = vec![b'k'; 100_000];
    for key in [b"".as_slice(), b"\x00\xff\r\n", &long] {
        let value = [key, b"\r\n$-1\r\n"].concat();
        let set = client.command(&[b"SET".as_slice(), key, &value]).expect("it answers");
        assert_eq!(set, Value::Simple(b"OK".to_vec()));
        assert_eq!(
            client.command(&[b"GET".as_slice(), key]).expect("it answers"),
            Value::Bulk(value)
        );
    }
}
