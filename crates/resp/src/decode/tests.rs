//! Replies: every type, arrival in pieces, malformed input, and agreement of scanner and decoder.

use super::{MAX_DEPTH, Value, ValueDecoder};
use crate::args::Span;
use crate::output::OutputBuffer;
use crate::reply::{Protocol, Reply};
use crate::scan::{DecodeError, ReplyKind, ReplyScanner, Scanned};
use proptest::prelude::{
    BoxedStrategy, Just, ProptestConfig, Strategy, any, prop, prop_assert, prop_assert_eq,
    prop_oneof, proptest,
};

/// Decodes all of `input` in pieces that end at `cuts`; both readers must agree on every border.
fn decode(input: &[u8], cuts: &[usize]) -> (Vec<Value>, usize, Option<DecodeError>) {
    let (mut decoder, mut scanner) = (ValueDecoder::new(), ReplyScanner::new());
    let mut values = Vec::new();
    let mut start = 0;
    for &cut in cuts.iter().chain([&input.len()]) {
        while start < cut {
            let scanned = scanner.next(&input[start..cut]);
            match decoder.next(&input[start..cut]) {
                Ok(Some((value, consumed))) => {
                    assert_eq!(scanned.expect("scanned").expect("complete").consumed, consumed);
                    assert!(consumed > 0 && start + consumed <= cut);
                    values.push(value);
                    start += consumed;
                }
                Ok(None) => {
                    assert_eq!(scanned, Ok(None));
                    break;
                }
                Err(error) => return (values, start, Some(error)),
            }
        }
    }
    (values, start, None)
}

fn one(input: &[u8]) -> Value {
    let (values, _, error) = decode(input, &[]);
    assert_eq!((values.len(), error), (1, None), "{}", input.escape_ascii());
    values.into_iter().next().expect("one value")
}

fn kind(input: &[u8]) -> ReplyKind {
    let Scanned { consumed, kind } =
        ReplyScanner::new().next(input).expect("valid").expect("whole");
    assert_eq!(consumed, input.len());
    kind
}

#[test]
fn every_type() {
    let bulk = |text: &str| Value::Bulk(text.as_bytes().to_vec());
    for (input, value) in [
        (&b"+OK\r\n"[..], Value::Simple(b"OK".to_vec())),
        (b"+\r\n", Value::Simple(Vec::new())),
        (b"-ERR x\r\n", Value::Error(b"ERR x".to_vec())),
        (b"!5\r\nE a\r\n\r\n", Value::Error(b"E a\r\n".to_vec())),
        (b":-12\r\n", Value::Integer(-12)),
        (b"$0\r\n\r\n", bulk("")),
        (b"$12\r\nhello\r\nworld\r\n", bulk("hello\r\nworld")),
        (b"$-1\r\n", Value::Null),
        (b"_\r\n", Value::Null),
        (b"*-1\r\n", Value::NullArray),
        (b"*0\r\n", Value::Array(Vec::new())),
        (
            b"*2\r\n:1\r\n*1\r\n+a\r\n",
            Value::Array(vec![Value::Integer(1), Value::Array(vec![Value::Simple(b"a".to_vec())])]),
        ),
        (b"~1\r\n:1\r\n", Value::Set(vec![Value::Integer(1)])),
        (b">1\r\n:1\r\n", Value::Push(vec![Value::Integer(1)])),
        (b"%1\r\n$1\r\nk\r\n#t\r\n", Value::Map(vec![(bulk("k"), Value::Boolean(true))])),
        (b",-inf\r\n", double(f64::NEG_INFINITY, "-inf")),
        (b",1e3\r\n", double(1000.0, "1e3")),
        (
            b"(123456789012345678901234567890\r\n",
            Value::BigNumber(b"123456789012345678901234567890".to_vec()),
        ),
        (b"=6\r\ntxt:Hi\r\n", Value::Verbatim { format: *b"txt", text: b"Hi".to_vec() }),
        (
            b"|1\r\n+ttl\r\n:3\r\n$1\r\nv\r\n",
            Value::Attributed {
                attributes: vec![(Value::Simple(b"ttl".to_vec()), Value::Integer(3))],
                value: Box::new(bulk("v")),
            },
        ),
    ] {
        assert_eq!(one(input), value);
        let bytewise: Vec<usize> = (0..input.len()).collect();
        assert_eq!(decode(input, &bytewise), (vec![value], input.len(), None));
    }
}

#[test]
fn kinds_for_the_load() {
    let span = |start, end| Span { start, end };
    assert_eq!(kind(b"+OK\r\n"), ReplyKind::Ok);
    assert_eq!(kind(b"+PONG\r\n"), ReplyKind::Simple(span(1, 5)));
    assert_eq!(kind(b"-ERR no\r\n"), ReplyKind::Error(span(1, 7)));
    assert_eq!(kind(b":1\r\n"), ReplyKind::Integer(1));
    assert_eq!(kind(b":1000\r\n"), ReplyKind::Integer(1000));
    assert_eq!(kind(b"$3\r\nabc\r\n"), ReplyKind::Bulk(3));
    assert_eq!(kind(&[b"$64\r\n", &[b'x'; 64][..], b"\r\n"].concat()), ReplyKind::Bulk(64));
    assert_eq!(kind(b"=6\r\ntxt:Hi\r\n"), ReplyKind::Bulk(2));
    assert_eq!(kind(b"$-1\r\n"), ReplyKind::Null);
    assert_eq!(kind(b"*-1\r\n"), ReplyKind::Null);
    assert_eq!(kind(b"*0\r\n"), ReplyKind::Array(0));
    assert_eq!(kind(b"*2\r\n*1\r\n:1\r\n:2\r\n"), ReplyKind::Array(2));
    assert_eq!(kind(b"%1\r\n:1\r\n:2\r\n"), ReplyKind::Map(1));
    assert_eq!(kind(b">2\r\n+a\r\n+b\r\n"), ReplyKind::Push(2));
    assert_eq!(kind(b"|1\r\n+a\r\n%1\r\n:1\r\n:2\r\n:7\r\n"), ReplyKind::Integer(7));
    assert_eq!(kind(b"|1\r\n+a\r\n:1\r\n*1\r\n$1\r\nx\r\n"), ReplyKind::Array(1));
    assert_eq!(kind(b"|0\r\n+OK\r\n"), ReplyKind::Ok);
}

#[test]
fn malformed() {
    let error = |input: &[u8]| decode(input, &[]).2;
    assert_eq!(error(b"HTTP/1.1"), Some(DecodeError::UnknownType(b'H')));
    assert_eq!(error(b":x\r\n"), Some(DecodeError::InvalidNumber));
    assert_eq!(error(b":\r\n"), Some(DecodeError::InvalidNumber));
    assert_eq!(error(b"$-2\r\n"), Some(DecodeError::InvalidNumber));
    assert_eq!(error(b"$?\r\n"), Some(DecodeError::InvalidNumber));
    assert_eq!(error(b"%-1\r\n"), Some(DecodeError::InvalidNumber));
    assert_eq!(error(b"#x\r\n"), Some(DecodeError::InvalidNumber));
    assert_eq!(error(b",x\r\n"), Some(DecodeError::InvalidNumber));
    assert_eq!(error(b"=2\r\nab\r\n"), Some(DecodeError::InvalidNumber));
    assert_eq!(error(b"$536870913\r\n"), Some(DecodeError::TooLong));
    assert_eq!(error(b"*2147483648\r\n"), Some(DecodeError::TooLong));
    assert_eq!(error(&[b'+'; (1 << 20) + 2]), Some(DecodeError::TooLong));
    assert_eq!(error(b"$1\r\nabc"), Some(DecodeError::MissingLineEnd));
    assert_eq!(error(b"+a\rb\r\n"), Some(DecodeError::MissingLineEnd));
    assert_eq!(error(b"*1000000\r\n"), None);
    let deepest = [b"*1\r\n".repeat(MAX_DEPTH), b":1\r\n".to_vec()].concat();
    assert_eq!(error(&deepest), None);
    assert_eq!(error(&[b"*1\r\n", &deepest[..]].concat()), Some(DecodeError::TooDeep));
}

fn write(value: &Value, reply: &mut Reply<'_>) {
    let pairs = |pairs: &[(Value, Value)], reply: &mut Reply<'_>| {
        for (key, value) in pairs {
            write(key, reply);
            write(value, reply);
        }
    };
    let elements = |elements: &[Value], reply: &mut Reply<'_>| {
        elements.iter().for_each(|value| write(value, reply));
    };
    match value {
        Value::Simple(text) => reply.simple(text),
        Value::Error(text) => reply.error(text),
        Value::Integer(value) => reply.integer(*value),
        Value::Bulk(bytes) => reply.bulk(bytes),
        Value::Null => reply.null(),
        Value::NullArray => reply.null_array(),
        Value::Double { value, .. } => reply.double(*value),
        Value::Boolean(value) => reply.boolean(*value),
        Value::BigNumber(digits) => reply.big_number(digits),
        Value::Verbatim { format, text } => reply.verbatim(*format, text),
        Value::Array(values) => {
            reply.array(values.len());
            elements(values, reply);
        }
        Value::Set(values) => {
            reply.set(values.len());
            elements(values, reply);
        }
        Value::Push(values) => {
            reply.push(values.len());
            elements(values, reply);
        }
        Value::Map(values) => {
            reply.map(values.len());
            pairs(values, reply);
        }
        Value::Attributed { attributes, value } => {
            assert!(reply.attribute(attributes.len()));
            pairs(attributes, reply);
            write(value, reply);
        }
    }
}

fn double(value: f64, text: &str) -> Value {
    Value::Double { value, text: text.as_bytes().to_vec() }
}

/// A double with the text that our server writes for it.
fn written_double(value: f64) -> Value {
    let mut out = OutputBuffer::new();
    Reply::new(&mut out, Protocol::Resp3).double(value);
    let bytes = out.to_vec();
    Value::Double { value, text: bytes[1..bytes.len() - 2].to_vec() }
}

/// Any value of RESP3.
fn value() -> BoxedStrategy<Value> {
    let leaf = prop_oneof![
        "[ -~]{0,12}".prop_map(|text| Value::Simple(text.into_bytes())),
        "ERR [ -~]{0,12}".prop_map(|text| Value::Error(text.into_bytes())),
        any::<i64>().prop_map(Value::Integer),
        (0i64..20).prop_map(Value::Integer),
        prop::collection::vec(any::<u8>(), 0..130).prop_map(Value::Bulk),
        Just(Value::Null),
        any::<f64>().prop_map(written_double),
        any::<bool>().prop_map(Value::Boolean),
        "-?[1-9][0-9]{0,40}".prop_map(|digits| Value::BigNumber(digits.into_bytes())),
        "[ -~]{0,12}".prop_map(|t| Value::Verbatim { format: *b"txt", text: t.into_bytes() }),
    ];
    leaf.prop_recursive(4, 40, 6, |inner| {
        let list = || prop::collection::vec(inner.clone(), 0..6);
        let pairs = || prop::collection::vec((inner.clone(), inner.clone()), 0..4);
        prop_oneof![
            list().prop_map(Value::Array),
            list().prop_map(Value::Set),
            list().prop_map(Value::Push),
            pairs().prop_map(Value::Map),
            (pairs(), inner.clone()).prop_map(|(attributes, value)| Value::Attributed {
                attributes,
                value: Box::new(value)
            }),
        ]
    })
    .boxed()
}

/// Bytes that come close to being replies.
fn nearly() -> impl Strategy<Value = Vec<u8>> {
    let token = prop::sample::select(vec![
        &b"*"[..],
        b"$",
        b"\r\n",
        b"\r",
        b"0",
        b"1",
        b"2",
        b"-1",
        b"*1\r\n",
        b"*2\r\n",
        b"$1\r\na\r\n",
        b"+OK\r\n",
        b"-E\r\n",
        b":1\r\n",
        b"%1\r\n",
        b"|1\r\n",
        b"_\r\n",
        b"#t\r\n",
        b"=5\r\ntxt:a\r\n",
        b"!1\r\na\r\n",
        b">1\r\n",
        b"~2\r\n",
        b",1\r\n",
        b"x",
    ]);
    prop::collection::vec(token, 0..40).prop_map(|tokens| tokens.concat())
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(200))]
    #[test]
    fn written_replies_come_back_however_cut(
        values in prop::collection::vec(value(), 1..4),
        cuts in prop::collection::vec(any::<prop::sample::Index>(), 0..8),
    ) {
        let mut out = OutputBuffer::new();
        let mut reply = Reply::new(&mut out, Protocol::Resp3);
        values.iter().for_each(|value| write(value, &mut reply));
        let input = out.to_vec();
        let mut cuts: Vec<usize> = cuts.iter().map(|cut| cut.index(input.len())).collect();
        cuts.sort_unstable();
        let expected = (values, input.len(), None);
        prop_assert_eq!(&decode(&input, &cuts), &expected);
        let bytewise: Vec<usize> = (0..input.len()).collect();
        prop_assert_eq!(&decode(&input, &bytewise), &expected);
    }

    #[test]
    fn any_input_gives_the_same_in_pieces(input in nearly()) {
        let (values, _, error) = decode(&input, &[]);
        let bytewise: Vec<usize> = (0..input.len()).collect();
        let (pieces, _, pieces_error) = decode(&input, &bytewise);
        prop_assert_eq!(values, pieces);
        prop_assert_eq!(error, pieces_error);
    }

    #[test]
    fn random_bytes_never_panic(input in prop::collection::vec(any::<u8>(), 0..200)) {
        let (_, consumed, _) = decode(&input, &[]);
        prop_assert!(consumed <= input.len());
    }
}
