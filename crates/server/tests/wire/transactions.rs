//! Transactions: what each client sees, and that nobody ever sees half of one.

use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::time::{Duration, Instant};

use rand_core::{RngCore, SeedableRng};
use rand_xoshiro::Xoshiro256PlusPlus;
use testkit::client::Client;
use testkit::reply::Value;

use crate::{Wire, address, start, wait_until};

#[test]
fn a_transaction_runs_at_once_or_not_at_all() {
    let server = start(|_| {});
    let mut wire = Wire::to(&server);
    wire.say("EXEC", "-ERR EXEC without MULTI\r\n");
    wire.say("DISCARD", "-ERR DISCARD without MULTI\r\n");
    wire.say("MULTI", "+OK\r\n");
    wire.say("MULTI", "-ERR MULTI calls can not be nested\r\n");
    wire.say("WATCH a", "-ERR WATCH inside MULTI is not allowed\r\n");
    wire.say("SET a 1", "+QUEUED\r\n");
    wire.say("LPUSH a 1", "+QUEUED\r\n");
    wire.say("SELECT 1", "+QUEUED\r\n");
    wire.say("MSET a 2 b 3", "+QUEUED\r\n");
    wire.say("MGET a b", "+QUEUED\r\n");
    wire.say("DBSIZE", "+QUEUED\r\n");
    wire.say(
        "EXEC",
        "*6\r\n+OK\r\n-WRONGTYPE Operation against a key holding the wrong kind of value\r\n+OK\r\n\
         +OK\r\n*2\r\n$1\r\n2\r\n$1\r\n3\r\n:2\r\n",
    );
    wire.say("GET b", "$1\r\n3\r\n");
    wire.say("MULTI", "+OK\r\n");
    wire.say("GET", "-ERR wrong number of arguments for 'get' command\r\n");
    wire.say("SET a 9", "+QUEUED\r\n");
    let broken = "-EXECABORT Transaction discarded because of previous errors.\r\n";
    wire.say("EXEC", broken);
    wire.say("MULTI", "+OK\r\n");
    wire.say("SHUTDOWN", "-ERR Command not allowed inside a transaction\r\n");
    wire.say("EXEC", broken);
    wire.say("GET a", "$1\r\n2\r\n");
    wire.say("MULTI", "+OK\r\n");
    wire.say("EXEC", "*0\r\n");
    // Everything that looks at all shards works under the locks of all of them.
    wire.say("MULTI", "+OK\r\n");
    for command in ["INFO", "FLUSHALL", "KEYS *", "SCAN 0", "RANDOMKEY", "CONFIG RESETSTAT"] {
        wire.say(command, "+QUEUED\r\n");
    }
    wire.send(b"EXEC\r\n");
    wire.expect("*6\r\n");
    assert!(wire.text().contains("# Keyspace"));
    wire.expect("+OK\r\n*0\r\n*2\r\n$1\r\n0\r\n*0\r\n$-1\r\n+OK\r\n");
}

#[test]
fn watched_keys_break_a_transaction_when_they_change() {
    let server = start(|_| {});
    let mut wire = Wire::to(&server);
    let mut other = Wire::to(&server);
    let null = "*-1\r\n";
    wire.say("MSET a 1 b 1 c 1", "+OK\r\n");
    wire.say("SADD s x", ":1\r\n");
    for (change, reply, outcome) in [
        ("SET a 1", "+OK\r\n", null),
        ("GET a", "$1\r\n1\r\n", "*1\r\n+PONG\r\n"),
        ("DEL nothing a", ":1\r\n", null),
        ("SET a 1", "+OK\r\n", null),
        ("RENAME c a", "+OK\r\n", null),
        ("SINTERSTORE d a s", "-WRONGTYPE", "*1\r\n+PONG\r\n"),
        ("SUNIONSTORE d s s", ":1\r\n", "*1\r\n+PONG\r\n"),
        ("SUNIONSTORE a s s", ":1\r\n", null),
        ("MSETNX a 1 b 2", ":0\r\n", "*1\r\n+PONG\r\n"),
        ("EXPIRE a 100", ":1\r\n", null),
        ("FLUSHALL", "+OK\r\n", null),
        ("FLUSHALL", "+OK\r\n", "*1\r\n+PONG\r\n"),
    ] {
        wire.say("WATCH a a", "+OK\r\n");
        wire.say("MULTI", "+OK\r\n");
        wire.say("PING", "+QUEUED\r\n");
        other.send(format!("{change}\r\n").as_bytes());
        other.expect(reply);
        if reply.starts_with('-') {
            other.expect(" Operation against a key holding the wrong kind of value\r\n");
        }
        wire.say("EXEC", outcome);
    }
    wire.say("WATCH a", "+OK\r\n");
    other.say("SET a 1", "+OK\r\n");
    wire.say("UNWATCH", "+OK\r\n");
    wire.say("MULTI", "+OK\r\n");
    wire.say("EXEC", "*0\r\n");
    // One's own change counts, another database's does not, and nor do those of the transaction.
    wire.say("WATCH a", "+OK\r\n");
    other.say("SELECT 1", "+OK\r\n");
    other.say("SET a 5", "+OK\r\n");
    wire.say("MULTI", "+OK\r\n");
    wire.say("SET a 6", "+QUEUED\r\n");
    wire.say("EXEC", "*1\r\n+OK\r\n");
    wire.say("WATCH a", "+OK\r\n");
    wire.say("SET a 6", "+OK\r\n");
    wire.say("MULTI", "+OK\r\n");
    wire.say("HELLO 3 x", "+QUEUED\r\n");
    wire.say("EXEC", null);
    // A key that expires counts; one that was not there does not.
    wire.say("SET a 1 PX 20", "+OK\r\n");
    wire.say("WATCH a none", "+OK\r\n");
    std::thread::sleep(Duration::from_millis(40));
    wire.say("MULTI", "+OK\r\n");
    wire.say("EXEC", null);
    wire.say("WATCH a", "+OK\r\n");
    wire.say("RESET", "+RESET\r\n");
    assert_eq!(server.server().observers.watched_keys(), 0);
}

#[test]
fn clients_show_what_they_queue_and_watch() {
    let server = start(|_| {});
    let mut wire = Wire::to(&server);
    let mut other = Wire::to(&server);
    wire.say("WATCH a b", "+OK\r\n");
    wire.say("MULTI", "+OK\r\n");
    wire.say("GET a", "+QUEUED\r\n");
    other.send(b"CLIENT LIST ID 1\r\n");
    let line = other.text();
    assert!(line.contains(" flags=x ") && line.contains(" multi=1 watch=2 "), "{line}");
    drop(wire);
    wait_until("it is gone", || server.server().clients.len() == 1);
    wait_until("and watches nothing", || server.server().observers.watched_keys() == 0);
}

#[test]
fn a_transaction_that_needs_memory_is_refused_without_it() {
    let server = start(|_| {});
    let mut wire = Wire::to(&server);
    wire.say("MULTI", "+OK\r\n");
    wire.say("SET a 1", "+QUEUED\r\n");
    server.server().is_out_of_memory.store(true, Ordering::Relaxed);
    wire.say(
        "EXEC",
        "-EXECABORT Transaction discarded because of: OOM command not allowed when used memory > \
         'maxmemory'.\r\n",
    );
    wire.say("DISCARD", "-ERR DISCARD without MULTI\r\n");
}

/// Accounts that money is moved between.
const ACCOUNTS: u64 = 12;
const START_BALANCE: i64 = 1000;
const MOVERS: u64 = 6;
const DURATION: Duration = Duration::from_millis(1500);

/// Money moves between accounts in both ways that there are, blindly and after a look under `WATCH`,
/// while others count it: the sum never changes, and each transfer is made once or not at all.
#[test]
fn money_is_neither_made_nor_lost() {
    let server = start(|settings| settings.threads = 3);
    let at = address(&server);
    let mut client = Client::connect(at).unwrap();
    for account in 0..ACCOUNTS {
        let name = format!("account:{account}");
        client.command(&["SET", &name, &START_BALANCE.to_string()]).unwrap();
    }
    let is_over = AtomicBool::new(false);
    let (made, broken) = (AtomicU64::new(0), AtomicU64::new(0));
    std::thread::scope(|scope| {
        for seed in 0..MOVERS {
            let (is_over, made, broken) = (&is_over, &made, &broken);
            scope.spawn(move || {
                let mut client = Client::connect(at).unwrap();
                let mut random = Xoshiro256PlusPlus::seed_from_u64(seed);
                while !is_over.load(Ordering::Relaxed) {
                    let is_made = transfer(&mut client, &mut random);
                    if is_made { made } else { broken }.fetch_add(1, Ordering::Relaxed);
                }
            });
        }
        let end = Instant::now() + DURATION;
        let names: Vec<String> = (0..ACCOUNTS).map(|number| format!("account:{number}")).collect();
        let look: Vec<&str> = ["MGET"].into_iter().chain(names.iter().map(|n| &**n)).collect();
        let mut looks = 0;
        while Instant::now() < end || looks < 20 {
            let balances = if looks % 2 == 0 {
                client.command(&look).unwrap()
            } else {
                let gets = names.iter().map(|name| vec!["GET", name]);
                let commands: Vec<Vec<&str>> =
                    [vec!["MULTI"]].into_iter().chain(gets).chain([vec!["EXEC"]]).collect();
                client.pipeline(&commands).unwrap().pop().unwrap()
            };
            let balances = balances.as_items().expect("an array").iter().map(number);
            assert_eq!(balances.sum::<i64>(), START_BALANCE * ACCOUNTS as i64);
            looks += 1;
        }
        is_over.store(true, Ordering::Relaxed);
    });
    let transfers = number(&client.command(&["GET", "transfers"]).unwrap());
    assert_eq!(transfers as u64, made.into_inner());
    assert!(transfers > 0);
    assert!(broken.into_inner() > 0, "the watchers never met");
}

/// Moves money between two accounts; false if somebody was quicker.
fn transfer(client: &mut Client, random: &mut Xoshiro256PlusPlus) -> bool {
    let from = random.next_u64() % ACCOUNTS;
    let to = (from + 1 + random.next_u64() % (ACCOUNTS - 1)) % ACCOUNTS;
    let amount = (random.next_u64() % 50) as i64;
    let (from, to) = (format!("account:{from}"), format!("account:{to}"));
    let script = if random.next_u64().is_multiple_of(2) {
        client.command(&["WATCH", &from, &to]).unwrap();
        let balance = number(&client.command(&["GET", &from]).unwrap());
        let other = number(&client.command(&["GET", &to]).unwrap());
        let (left, right) = ((balance - amount).to_string(), (other + amount).to_string());
        vec![
            vec!["MULTI".to_string()],
            vec!["SET".into(), from, left],
            vec!["SET".into(), to, right],
            vec!["INCR".into(), "transfers".into()],
            vec!["EXEC".into()],
        ]
    } else {
        vec![
            vec!["MULTI".to_string()],
            vec!["DECRBY".into(), from, amount.to_string()],
            vec!["DBSIZE".into()],
            vec!["INCRBY".into(), to, amount.to_string()],
            vec!["INCR".into(), "transfers".into()],
            vec!["EXEC".into()],
        ]
    };
    match client.pipeline(&script).unwrap().pop().unwrap() {
        Value::Array(_) => true,
        Value::NullArray => false,
        other => panic!("EXEC answers {other}"),
    }
}

fn number(value: &Value) -> i64 {
    let text = value.as_text().expect("a number's text");
    std::str::from_utf8(text).unwrap().parse().expect("a number")
}
