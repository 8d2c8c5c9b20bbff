//! The commands on connections and on the server, as bytes. Recorded from Redis 7.0 and, for what is
//! newer, Valkey 9.1.

use crate::{Wire, start, wait_until};

const HELLO_2: &str = "*14\r\n$6\r\nserver\r\n$5\r\nredis\r\n$7\r\nversion\r\n";
const HELLO_3: &str = "%7\r\n$6\r\nserver\r\n$5\r\nredis\r\n$7\r\nversion\r\n";
const HELLO_REST: &str =
    "$4\r\nmode\r\n$10\r\nstandalone\r\n$4\r\nrole\r\n$6\r\nmaster\r\n$7\r\nmodules\r\n*0\r\n";

fn hello(protocol: u8, id: u64) -> String {
    let head = if protocol == 3 { HELLO_3 } else { HELLO_2 };
    let version = server::server::REDIS_VERSION;
    let length = version.len();
    format!(
        "{head}${length}\r\n{version}\r\n$5\r\nproto\r\n:{protocol}\r\n$2\r\nid\r\n:{id}\r\n{HELLO_REST}"
    )
}

#[test]
fn connections_say_hello_and_goodbye() {
    let server = start(|_| {});
    let mut wire = Wire::to(&server);
    wire.say("PING", "+PONG\r\n");
    wire.say("PING a", "$1\r\na\r\n");
    wire.say("PING a b", "-ERR wrong number of arguments for 'ping' command\r\n");
    wire.say("HELLO", &hello(2, 1));
    wire.say("HELLO 3 SETNAME me", &hello(3, 1));
    wire.say("CLIENT GETNAME", "$2\r\nme\r\n");
    wire.say("HELLO 4", "-NOPROTO unsupported protocol version\r\n");
    wire.say("HELLO x", "-ERR Protocol version is not an integer or out of range\r\n");
    wire.say("HELLO 2 AUTH a", "-ERR Syntax error in HELLO option 'AUTH'\r\n");
    wire.say(
        "HELLO 2 AUTH a b",
        "-WRONGPASS invalid username-password pair or user is disabled.\r\n",
    );
    wire.say("HELLO 2 AUTH default anything", &hello(2, 1));
    wire.say("SELECT 16", "-ERR DB index is out of range\r\n");
    wire.say("SELECT x", "-ERR value is not an integer or out of range\r\n");
    wire.say("SELECT 15", "+OK\r\n");
    wire.say("SET a 1", "+OK\r\n");
    wire.say("HELLO 3", &hello(3, 1));
    wire.say("CLIENT SETNAME x", "+OK\r\n");
    wire.say("RESET", "+RESET\r\n");
    wire.say("CLIENT GETNAME", "$-1\r\n");
    wire.say("GET a", "$-1\r\n");
    wire.say("quit now", "+OK\r\n");
    assert_eq!(wire.rest(), b"");
}

#[test]
fn passwords_are_asked_for() {
    let server = start(|settings| settings.password = b"secret".to_vec());
    let wrong = "-WRONGPASS invalid username-password pair or user is disabled.\r\n";
    let mut wire = Wire::to(&server);
    wire.say("PING", "-NOAUTH Authentication required.\r\n");
    wire.say(
        "HELLO 3",
        "-NOAUTH HELLO must be called with the client already authenticated, otherwise the HELLO \
         <proto> AUTH <user> <pass> option can be used to authenticate the client and select the \
         RESP protocol version at the same time\r\n",
    );
    wire.say("AUTH wrong", wrong);
    wire.say("AUTH other secret", wrong);
    wire.say("AUTH a b c", "-ERR syntax error\r\n");
    wire.say("AUTH default secret", "+OK\r\n");
    wire.say("PING", "+PONG\r\n");
    wire.say("RESET", "+RESET\r\n");
    wire.say("PING", "-NOAUTH Authentication required.\r\n");
    wire.say("HELLO 3 AUTH default secret", &hello(3, 1));
    wire.say("AUTH wrong", wrong);
    wire.say("PING", "+PONG\r\n");
    let unguarded = start(|_| {});
    let mut open = Wire::to(&unguarded);
    open.say(
        "AUTH x",
        "-ERR AUTH <password> called without any password configured for the default user. Are \
         you sure your configuration is correct?\r\n",
    );
}

#[test]
fn replies_can_be_switched_off() {
    let server = start(|_| {});
    let mut wire = Wire::to(&server);
    wire.send(b"CLIENT REPLY SKIP\r\nPING\r\nPING 1\r\nCLIENT REPLY OFF\r\nPING 2\r\n");
    wire.send(b"CLIENT REPLY SKIP\r\nPING 3\r\nNOSUCH\r\nCLIENT REPLY ON\r\nPING 4\r\n");
    wire.expect("$1\r\n1\r\n+OK\r\n$1\r\n4\r\n");
    wire.send(b"CLIENT REPLY OFF\r\nRESET\r\nPING\r\n");
    wire.expect("+RESET\r\n+PONG\r\n");
}

#[test]
fn the_list_tells_the_truth_about_each_client() {
    let server = start(|_| {});
    let mut other = Wire::to(&server);
    other.say("CLIENT SETNAME other", "+OK\r\n");
    other.say("SELECT 3", "+OK\r\n");
    other.say("CLIENT NO-EVICT ON", "+OK\r\n");
    other.say("CLIENT SETINFO LIB-NAME tests", "+OK\r\n");
    other.say("CLIENT SETINFO lib-ver 1.0", "+OK\r\n");
    other.say("GET x", "$-1\r\n");
    let mut wire = Wire::to(&server);
    wire.say("HELLO 3", &hello(3, 2));
    wire.send(b"CLIENT LIST\r\n");
    let list = wire.text();
    let lines: Vec<&str> = list.strip_prefix("txt:").unwrap().lines().collect();
    assert_eq!(lines.len(), 2, "{list}");
    let port = other.0.local_addr().unwrap().port();
    let server_port = other.0.peer_addr().unwrap().port();
    let start = format!("id=1 addr=127.0.0.1:{port} laddr=127.0.0.1:{server_port} fd=");
    assert!(lines[0].starts_with(&start), "{list}");
    for field in [
        " name=other ",
        " flags=e ",
        " db=3 ",
        " cmd=get ",
        " user=default ",
        " resp=2 ",
        " lib-name=tests ",
        " lib-ver=1.0 ",
        " tot-cmds=6",
    ] {
        assert!(lines[0].contains(field), "{field}: {list}");
    }
    for field in ["id=2 ", " flags=N ", " cmd=client|list ", " resp=3 ", " tot-cmds=1"] {
        assert!(lines[1].contains(field), "{field}: {list}");
    }
    let names: Vec<&str> =
        lines[0].split(' ').map(|field| field.split_once('=').unwrap().0).collect();
    assert_eq!(
        names.join(" "),
        "id addr laddr fd name age idle flags db sub psub ssub multi watch qbuf qbuf-free argv-mem \
         multi-mem rbs rbp obl oll omem tot-mem events cmd user redir resp lib-name lib-ver \
         io-thread tot-net-in tot-net-out tot-cmds"
    );
    wire.send(b"CLIENT LIST ID 1 7\r\n");
    assert_eq!(wire.text().lines().count(), 1);
    wire.say("CLIENT LIST TYPE pubsub", "=4\r\ntxt:\r\n");
}

#[test]
fn clients_can_be_killed_from_another_worker_and_by_themselves() {
    let server = start(|_| {});
    let clients = || server.server().clients.len();
    let mut wire = Wire::to(&server);
    wire.say("PING", "+PONG\r\n");
    let mut victim = Wire::to(&server);
    victim.say("CLIENT ID", ":2\r\n");
    wire.say("CLIENT KILL ID 2", ":1\r\n");
    assert_eq!(victim.rest(), b"");
    wait_until("it is gone", || clients() == 1);
    wire.say("CLIENT KILL ID 2", ":0\r\n");
    wire.say("CLIENT KILL TYPE normal MAXAGE 1000 SKIPME no", ":0\r\n");
    wire.say("CLIENT KILL 127.0.0.1:1", "-ERR No such client\r\n");
    wire.say("CLIENT KILL ID 0 ID 1", "-ERR client-id should be greater than 0\r\n");
    wire.say("CLIENT KILL TYPE x ID 1", "-ERR Unknown client type 'x'\r\n");
    wire.say("CLIENT KILL USER nobody ID 1", "-ERR No such user 'nobody'\r\n");
    let mut victim = Wire::to(&server);
    victim.say("PING", "+PONG\r\n");
    let address = victim.0.local_addr().unwrap();
    wire.say(&format!("CLIENT KILL {address}"), "+OK\r\n");
    assert_eq!(victim.rest(), b"");
    let own = wire.0.local_addr().unwrap();
    wire.send(format!("CLIENT KILL {own}\r\nPING\r\n").as_bytes());
    assert_eq!(wire.rest(), b"+OK\r\n");
    wait_until("all are gone", || clients() == 0);
}

#[test]
fn databases_are_counted_and_emptied() {
    let server = start(|_| {});
    let mut wire = Wire::to(&server);
    for (line, expected) in [
        ("DBSIZE", ":0\r\n"),
        ("SET a 1", "+OK\r\n"),
        ("SELECT 9", "+OK\r\n"),
        ("DBSIZE", ":0\r\n"),
        ("MSET b 1 c 2", "+OK\r\n"),
        ("DBSIZE", ":2\r\n"),
        ("FLUSHDB SYNC ASYNC", "-ERR syntax error\r\n"),
        ("FLUSHDB ASYNC", "+OK\r\n"),
        ("DBSIZE", ":0\r\n"),
        ("SELECT 0", "+OK\r\n"),
        ("DBSIZE", ":1\r\n"),
        ("FLUSHALL", "+OK\r\n"),
        ("DBSIZE", ":0\r\n"),
        ("SHUTDOWN ABORT", "-ERR No shutdown in progress.\r\n"),
        ("SHUTDOWN SAVE NOSAVE", "-ERR syntax error\r\n"),
    ] {
        wire.say(line, expected);
    }
}

#[test]
fn the_server_knows_its_commands() {
    let server = start(|_| {});
    let mut wire = Wire::to(&server);
    let spec = "*1\r\n*6\r\n$5\r\nflags\r\n*2\r\n+RO\r\n+access\r\n$12\r\nbegin_search\r\n*4\r\n$4\r\n\
                type\r\n$5\r\nindex\r\n$4\r\nspec\r\n*2\r\n$5\r\nindex\r\n:1\r\n$9\r\nfind_keys\r\n\
                *4\r\n$4\r\ntype\r\n$5\r\nrange\r\n$4\r\nspec\r\n*6\r\n$7\r\nlastkey\r\n:0\r\n$7\r\n\
                keystep\r\n:1\r\n$5\r\nlimit\r\n:0\r\n";
    let get = format!(
        "*10\r\n$3\r\nget\r\n:2\r\n*2\r\n+readonly\r\n+fast\r\n:1\r\n:1\r\n:1\r\n*3\r\n+@read\r\n\
         +@string\r\n+@fast\r\n*0\r\n{spec}*0\r\n"
    );
    wire.say("COMMAND INFO nosuch GET get|x", &format!("*3\r\n$-1\r\n{get}$-1\r\n"));
    let list = "*10\r\n$11\r\nclient|list\r\n:-2\r\n*4\r\n+admin\r\n+noscript\r\n+loading\r\n+stale\r\n\
                :0\r\n:0\r\n:0\r\n*4\r\n+@admin\r\n+@slow\r\n+@dangerous\r\n+@connection\r\n*1\r\n$23\
                \r\nnondeterministic_output\r\n*0\r\n*0\r\n";
    wire.say("COMMAND INFO client|list", &format!("*1\r\n{list}"));
    wire.say("COMMAND GETKEYS MSET a 1 b 2", "*2\r\n$1\r\na\r\n$1\r\nb\r\n");
    wire.say("COMMAND GETKEYS nosuch a", "-ERR Invalid command specified\r\n");
    wire.say("COMMAND GETKEYS ping", "-ERR The command has no key arguments\r\n");
    wire.say("COMMAND GETKEYS get", "-ERR Invalid number of arguments specified for command\r\n");
    wire.say("COMMAND GETKEYSANDFLAGS SET a 1", "*1\r\n*2\r\n$1\r\na\r\n*2\r\n+OW\r\n+update\r\n");
    wire.say("COMMAND LIST FILTERBY PATTERN getr*", "*1\r\n$8\r\ngetrange\r\n");
    wire.say("COMMAND FOO", "-ERR unknown subcommand 'FOO'. Try COMMAND HELP.\r\n");
    wire.say("COMMAND DOCS nosuch", "*0\r\n");
    let count = server.server().commands.iter().len();
    wire.say("COMMAND COUNT", &format!(":{count}\r\n"));
    // All of it, in both protocols, is one well-formed reply each.
    let mut client = testkit::client::Client::connect(crate::address(&server)).unwrap();
    for protocol in ["2", "3"] {
        client.command(&["HELLO", protocol]).unwrap();
        for command in [&["COMMAND"][..], &["COMMAND", "DOCS"], &["COMMAND", "LIST"]] {
            let reply = client.command(command).unwrap();
            assert!(!matches!(reply, testkit::reply::Value::Error(_)), "{reply:?}");
        }
        client.command(&["PING"]).unwrap();
    }
}

#[test]
fn debug_is_for_those_whom_the_configuration_allows() {
    let refused = "-ERR DEBUG command not allowed. If the enable-debug-command option is set to \
                   \"local\", you can run it from a local connection, otherwise you need to set this \
                   option in the configuration file, and then restart the server.\r\n";
    let closed = start(|_| {});
    Wire::to(&closed).say("DEBUG SLEEP 0", refused);
    let server = start(|settings| settings.debug_command = server::settings::Allowed::Local);
    let mut wire = Wire::to(&server);
    for (line, expected) in [
        ("DEBUG SLEEP 0", "+OK\r\n"),
        (
            "DEBUG SLEEP",
            "-ERR unknown subcommand or wrong number of arguments for 'SLEEP'. Try DEBUG HELP.\r\n",
        ),
        ("DEBUG ERROR 'CODE a text'", "-CODE a text\r\n"),
        ("DEBUG SET-ACTIVE-EXPIRE 0", "+OK\r\n"),
        ("DEBUG OBJECT key:1", "-ERR no such key\r\n"),
        ("SET key:1 mine", "+OK\r\n"),
        ("DEBUG POPULATE 3 key 12", "+OK\r\n"),
        ("DBSIZE", ":3\r\n"),
        ("GET key:1", "$4\r\nmine\r\n"),
        ("GET key:2", "$12\r\nvalue:2\0\0\0\0\0\r\n"),
        ("DEBUG PROTOCOL push", "-ERR RESP2 is not supported by this command\r\n"),
        ("DEBUG PROTOCOL attrib", "$39\r\nSome real reply following the attribute\r\n"),
        ("DEBUG PROTOCOL map", "*6\r\n:0\r\n:0\r\n:1\r\n:1\r\n:2\r\n:0\r\n"),
        ("DEBUG PROTOCOL double", "$5\r\n3.141\r\n"),
    ] {
        wire.say(line, expected);
    }
    assert!(!server.server().settings().active_expire);
    wire.say("HELLO 3", &hello(3, 1));
    for (line, expected) in [
        (
            "DEBUG PROTOCOL push",
            ">2\r\n$16\r\nserver-cpu-usage\r\n:42\r\n\
             $40\r\nSome real reply following the push reply\r\n",
        ),
        ("DEBUG PROTOCOL map", "%3\r\n:0\r\n#f\r\n:1\r\n#t\r\n:2\r\n#f\r\n"),
        ("DEBUG PROTOCOL bignum", "(1234567999999999999999999999999999999\r\n"),
        ("DEBUG PROTOCOL verbatim", "=29\r\ntxt:This is a verbatim\nstring\r\n"),
    ] {
        wire.say(line, expected);
    }
}
