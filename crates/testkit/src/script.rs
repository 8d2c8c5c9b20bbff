//! Scripts: a test is a session, commands and the replies expected, as one would see it in
//! `redis-cli`. One function runs them all, so a change of an API edits one place, not every test.
//!
//! ```text
//! > SET a 1
//! OK
//! > LRANGE l 0 -1
//! 1) "x"
//! 2) "y"
//! other> PING
//! PONG
//! ```
//!
//! A word before `>` names a further connection. Arguments are quoted as in `redis-cli`. Blank lines
//! and lines that begin with `#` count for nothing.

use crate::client::Client;
use std::collections::BTreeMap;
use std::io;
use std::net::SocketAddr;

/// One command of a script and the reply that it expects.
#[derive(Debug, PartialEq, Eq)]
struct Exchange<'a> {
    connection: &'a str,
    command: &'a str,
    expected: Vec<&'a str>,
}

/// Plays `script` to the server at `address`. Panics where a reply is not the expected one, with the
/// session as it went, ready to be pasted.
pub fn check(address: SocketAddr, script: &str) {
    let exchanges = parse(script);
    let played = play(address, &exchanges).expect("the server answers each command");
    let expected: Vec<String> = exchanges.iter().map(|one| one.expected.join("\n")).collect();
    let wrong = exchanges.iter().zip(&played).zip(&expected).find(|((_, got), want)| got != want);
    if let Some(((exchange, got), want)) = wrong {
        let command = exchange.command;
        panic!("at `{command}`\nexpected:\n{want}\ngot:\n{got}\n\n{}", show(&exchanges, &played));
    }
}

/// The session that the commands of `script` give at `address`, whatever the script expects: what to
/// compare between servers. Fails if a connection does.
pub fn transcript(address: SocketAddr, script: &str) -> io::Result<String> {
    let exchanges = parse(script);
    let played = play(address, &exchanges)?;
    Ok(show(&exchanges, &played))
}

fn parse(script: &str) -> Vec<Exchange<'_>> {
    let mut exchanges: Vec<Exchange<'_>> = Vec::new();
    let first = script.lines().find(|line| !line.trim().is_empty()).unwrap_or_default();
    let indent = first.len() - first.trim_start().len();
    for line in script.lines() {
        let line = line.get(indent..).unwrap_or_else(|| line.trim_start()).trim_end();
        if line.is_empty() || line.starts_with('#') {
            continue;
        }
        if let Some((connection, command)) = line.split_once("> ")
            && connection.chars().all(|letter| letter.is_ascii_alphanumeric())
        {
            exchanges.push(Exchange { connection, command, expected: Vec::new() });
            continue;
        }
        let exchange = exchanges.last_mut().expect("a script begins with a command");
        exchange.expected.push(line);
    }
    exchanges
}

fn play(address: SocketAddr, exchanges: &[Exchange<'_>]) -> io::Result<Vec<String>> {
    let mut clients: BTreeMap<&str, Client> = BTreeMap::new();
    let mut replies = Vec::new();
    for exchange in exchanges {
        if !clients.contains_key(exchange.connection) {
            clients.insert(exchange.connection, Client::connect(address)?);
        }
        let client = clients.get_mut(exchange.connection).expect("it was just put there");
        let arguments = text::quote::split(exchange.command.as_bytes())
            .unwrap_or_else(|_| panic!("quotes do not close in `{}`", exchange.command));
        let reply = client.command(&arguments)?.to_string();
        // Space at the end of a line would be lost in an editor.
        replies.push(reply.lines().map(str::trim_end).collect::<Vec<_>>().join("\n"));
    }
    Ok(replies)
}

fn show(exchanges: &[Exchange<'_>], replies: &[String]) -> String {
    let mut session = String::new();
    for (exchange, reply) in exchanges.iter().zip(replies) {
        session.push_str(&format!("{}> {}\n{reply}\n", exchange.connection, exchange.command));
    }
    session
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::peer::Peer;

    const SCRIPT: &str = r#"
        > SET a "x y"
        OK
        > GET a
        "x y"
        # a second connection
        other> RPUSH l 1 2
        (integer) 2

        > LRANGE l 0 -1
        1) "1"
        2) "2"
        > NOSUCH
        (error) ERR unknown command 'NOSUCH', with args beginning with:
        > GET none
        (nil)
    "#;

    #[test]
    fn a_script_is_read() {
        let exchanges = parse(SCRIPT);
        assert_eq!(exchanges.len(), 6);
        assert_eq!(exchanges[2].connection, "other");
        assert_eq!(exchanges[3].expected, ["1) \"1\"", "2) \"2\""]);
    }

    #[test]
    fn a_script_is_played() {
        let Some(redis) = Peer::redis() else { return };
        check(redis.address, SCRIPT);
        let session = transcript(redis.address, "> GET a").unwrap();
        assert_eq!(session, "> GET a\n\"x y\"\n");
        let failed = std::panic::catch_unwind(|| check(redis.address, "> GET a\n\"z\""));
        assert!(failed.is_err());
    }
}
