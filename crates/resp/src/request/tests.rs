//! Requests: Redis's errors and limits, and that arrival in pieces changes nothing.

use super::{Limits, Parsed, ProtocolError, RequestParser, Span};
use crate::args::Args;
use proptest::prelude::{
    ProptestConfig, Strategy, any, prop, prop_assert, prop_assert_eq, proptest,
};

type Commands = Vec<Vec<Vec<u8>>>;

/// Parses `input` given in pieces that end at `cuts`, moved to a fresh buffer each time, as a
/// connection does; the commands, the unconsumed rest, and the error if there was one.
fn parse(
    limits: &Limits,
    input: &[u8],
    cuts: &[usize],
) -> (Commands, Vec<u8>, Option<ProtocolError>) {
    let mut parser = RequestParser::new();
    let mut commands = Vec::new();
    let mut buffer: Vec<u8> = Vec::new();
    let mut from = 0;
    for &cut in cuts.iter().chain([&input.len()]) {
        buffer = [&buffer[..], &input[from..cut]].concat();
        from = cut;
        loop {
            let mut spans = vec![Span { start: 7, end: 9 }];
            let parsed = match parser.next(limits, &buffer, &mut spans) {
                Ok(parsed) => parsed,
                Err(error) => return (commands, buffer, Some(error)),
            };
            let (bytes, consumed) = match parsed {
                Parsed::Complete { consumed } => (&buffer[..], consumed),
                Parsed::CompleteUnquoted { consumed } => (parser.unquoted(), consumed),
                Parsed::Empty { consumed } => (&[][..], consumed),
                Parsed::Incomplete { needed } => {
                    assert!(needed > 0 && spans.len() == 1);
                    break;
                }
            };
            assert!(consumed > 0 && consumed <= buffer.len());
            let args = Args::new(bytes, &spans[1..]);
            if !args.is_empty() {
                commands.push(args.iter().map(<[u8]>::to_vec).collect());
            }
            buffer.drain(..consumed);
        }
    }
    (commands, buffer, None)
}

fn whole(input: &[u8]) -> (Commands, Vec<u8>, Option<ProtocolError>) {
    parse(&Limits::default(), input, &[])
}

fn bytewise(limits: &Limits, input: &[u8]) -> (Commands, Vec<u8>, Option<ProtocolError>) {
    parse(limits, input, &(0..input.len()).collect::<Vec<_>>())
}

fn words(commands: &[&[&str]]) -> Commands {
    let bytes = |word: &&str| word.as_bytes().to_vec();
    commands.iter().map(|command| command.iter().map(bytes).collect()).collect()
}

#[test]
fn commands_of_both_kinds() {
    let input = b"*1\r\n$4\r\nPING\r\nPING\r\n  set k  v\n\r\n\n*0\r\n*-1\r\n*-7\r\n\
        *3\r\n$3\r\nSET\r\n$0\r\n\r\n$12\r\nhello\r\nworld\r\nset \"a b\" '\\''\r\n";
    let expected = words(&[
        &["PING"],
        &["PING"],
        &["set", "k", "v"],
        &["SET", "", "hello\r\nworld"],
        &["set", "a b", "'"],
    ]);
    assert_eq!(whole(input), (expected.clone(), Vec::new(), None));
    for cut in 0..input.len() {
        assert_eq!(parse(&Limits::default(), input, &[cut]).0, expected, "cut at {cut}");
    }
    assert_eq!(bytewise(&Limits::default(), input).0, expected);
}

#[test]
fn line_ends_are_taken_as_loosely_as_redis_does() {
    assert_eq!(whole(b"*1\rX$4\rYPINGzz").0, words(&[&["PING"]]));
    assert_eq!(whole(b"*1\r\n$4\r\nPINGzz").0, words(&[&["PING"]]));
    assert_eq!(whole(b"PING\0 x\r\n").0, words(&[&["PING"]]));
}

#[test]
fn errors_have_the_texts_of_redis() {
    let long = |start: &str| [start.as_bytes(), &[b'1'; 65537]].concat();
    for (input, text) in [
        (b"*x\r\n".to_vec(), "invalid multibulk length"),
        (b"*\r\n".to_vec(), "invalid multibulk length"),
        (b"*+1\r\n".to_vec(), "invalid multibulk length"),
        (b"*01\r\n".to_vec(), "invalid multibulk length"),
        (b"*2147483648\r\n".to_vec(), "invalid multibulk length"),
        (long("*"), "too big mbulk count string"),
        (long("*1\r\n$"), "too big bulk count string"),
        (b"*1\r\n:4\r\n".to_vec(), "expected '$', got ':'"),
        (b"*1\r\n$-1\r\n".to_vec(), "invalid bulk length"),
        (b"*1\r\n$04\r\n".to_vec(), "invalid bulk length"),
        (b"*1\r\n$536870913\r\n".to_vec(), "invalid bulk length"),
        (b"*1\r\n$99999999999999999999\r\n".to_vec(), "invalid bulk length"),
        (long("PING"), "too big inline request"),
        (b"get \"x\r\n".to_vec(), "unbalanced quotes in request"),
    ] {
        let error = whole(&input).2.expect(text);
        assert_eq!(error.to_string(), format!("Protocol error: {text}"));
        assert_eq!(error.reply(), error.to_string().into_bytes());
        if input.len() < 100 {
            assert_eq!(bytewise(&Limits::default(), &input).2, Some(error));
        }
    }
    assert_eq!(
        ProtocolError::ExpectedDollar(0xff).reply(),
        b"Protocol error: expected '$', got '\xff'"
    );
}

#[test]
fn limits() {
    let closed = Limits { authenticated: false, ..Limits::default() };
    let error = |input: &[u8]| parse(&closed, input, &[]).2.map(|error| error.to_string());
    assert_eq!(
        error(b"*11\r\n").as_deref(),
        Some("Protocol error: unauthenticated multibulk length")
    );
    assert_eq!(error(b"*10\r\n"), None);
    assert_eq!(
        error(b"*1\r\n$16385\r\n").as_deref(),
        Some("Protocol error: unauthenticated bulk length")
    );
    assert_eq!(error(b"*1\r\n$16384\r\n"), None);
    let small = Limits { max_bulk_len: 4, ..Limits::default() };
    assert_eq!(parse(&small, b"*1\r\n$4\r\nPING\r\n", &[]).0.len(), 1);
    assert_eq!(parse(&small, b"*1\r\n$5\r\n", &[]).2, Some(ProtocolError::InvalidBulkLength));
    let huge = Limits { max_bulk_len: usize::MAX, ..Limits::default() };
    assert_eq!(
        parse(&huge, b"*1\r\n$4294967296\r\n", &[]).2,
        Some(ProtocolError::InvalidBulkLength)
    );
}

#[test]
fn the_hint_is_what_the_body_needs() {
    let mut parser = RequestParser::new();
    let mut spans = Vec::new();
    let head = b"*2\r\n$3\r\nGET\r\n$1000\r\n";
    let parsed = parser.next(&Limits::default(), head, &mut spans);
    assert_eq!(parsed, Ok(Parsed::Incomplete { needed: 1002 }));
    assert!(parser.is_partial());
    let all = [&head[..], &[b'k'; 1000], b"\r\n"].concat();
    let parsed = parser.next(&Limits::default(), &all, &mut spans);
    assert_eq!(parsed, Ok(Parsed::Complete { consumed: all.len() }));
    assert_eq!(spans.len(), 2);
    assert!(!parser.is_partial());
}

fn command() -> impl Strategy<Value = Vec<Vec<u8>>> {
    prop::collection::vec(prop::collection::vec(any::<u8>(), 0..120), 1..12)
}

/// Bytes that come close to being requests.
fn nearly() -> impl Strategy<Value = Vec<u8>> {
    let token = prop::sample::select(vec![
        &b"*"[..],
        b"$",
        b"\r\n",
        b"\r",
        b"\n",
        b"0",
        b"1",
        b"2",
        b"3",
        b"12",
        b"-1",
        b"*1\r\n",
        b"$1\r\n",
        b"*2\r\n$1\r\n",
        b"a",
        b"\"",
        b"'",
        b"\\x41",
        b" ",
        b"\0",
        b"GET",
        b":",
    ]);
    prop::collection::vec(token, 0..40).prop_map(|tokens| tokens.concat())
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(200))]
    #[test]
    fn encoded_commands_come_back_however_cut(
        commands in prop::collection::vec(command(), 1..6),
        mut cuts in prop::collection::vec(any::<prop::sample::Index>(), 0..8),
    ) {
        let mut input = Vec::new();
        for command in &commands {
            input.extend_from_slice(format!("*{}\r\n", command.len()).as_bytes());
            for argument in command {
                input.extend_from_slice(format!("${}\r\n", argument.len()).as_bytes());
                input.extend_from_slice(argument);
                input.extend_from_slice(b"\r\n");
            }
        }
        let mut cuts: Vec<usize> = cuts.drain(..).map(|cut| cut.index(input.len())).collect();
        cuts.sort_unstable();
        let expected = (commands, Vec::new(), None);
        prop_assert_eq!(&parse(&Limits::default(), &input, &cuts), &expected);
        prop_assert_eq!(&bytewise(&Limits::default(), &input), &expected);
    }

    #[test]
    fn any_input_gives_the_same_in_pieces(input in nearly(), authenticated in any::<bool>()) {
        let limits = Limits { authenticated, ..Limits::default() };
        let whole = parse(&limits, &input, &[]);
        let pieces = bytewise(&limits, &input);
        prop_assert_eq!(&whole.0, &pieces.0);
        prop_assert_eq!(whole.2, pieces.2);
    }

    #[test]
    fn random_bytes_never_panic(input in prop::collection::vec(any::<u8>(), 0..200)) {
        let (_, rest, _) = whole(&input);
        prop_assert!(rest.len() <= input.len());
    }
}
