//! Compiled commands: the bytes they render to, and what is wrong in a text.

use proptest::{prop_assert_eq, proptest};
use rand_core::SeedableRng;

use super::*;
use crate::plan::{CommandText, Field};

fn random() -> Xoshiro256PlusPlus {
    Xoshiro256PlusPlus::seed_from_u64(11)
}

fn render_bytes(template: &Template, turn: u64) -> Vec<u8> {
    let mut out = Vec::new();
    template.render(&mut random(), turn, &mut Scratch::default(), &mut out);
    out
}

fn render(template: &Template, turn: u64, random: &mut Xoshiro256PlusPlus) -> String {
    let mut out = Vec::new();
    template.render(random, turn, &mut Scratch::default(), &mut out);
    String::from_utf8(out).unwrap()
}

/// The arguments of the one command that `text` encodes.
fn arguments(text: &str) -> Vec<String> {
    let mut parts = text.split("\r\n");
    let count: usize = parts.next().unwrap()[1..].parse().unwrap();
    let decoded: Vec<String> = (0..count)
        .map(|_| {
            let length: usize = parts.next().unwrap()[1..].parse().unwrap();
            let argument = parts.next().unwrap().to_string();
            assert_eq!(argument.len(), length);
            argument
        })
        .collect();
    assert_eq!(parts.next(), Some(""));
    assert_eq!(parts.next(), None);
    decoded
}

fn line(text: &str) -> Result<Template, TemplateError> {
    Template::compile(&[CommandText::Line(text.into())], &Placeholders::default())
}

fn keyspace(keyspace: Option<u64>, sequential: bool) -> Placeholders {
    Placeholders { keyspace, sequential, data: "xyz".into(), ..Placeholders::default() }
}

#[test]
fn digits_are_written_in_every_width() {
    for (value, width, text) in [
        (0, 12, "000000000000"),
        (7, 12, "000000000007"),
        (99_999_999, 12, "000099999999"),
        (100_000_000, 12, "000100000000"),
        (999_999_999_999, 12, "999999999999"),
        (1_234_567_890, 10, "1234567890"),
        (1_234_567, 10, "0001234567"),
        (42, 3, "042"),
    ] {
        let mut slot = vec![b'0'; width];
        write_digits(value, &mut slot);
        assert_eq!(String::from_utf8(slot).unwrap(), text);
    }
    for value in (0..100_000_000u32).step_by(9_973) {
        assert_eq!(eight_digits(value), format!("{value:08}").as_bytes());
    }
}

#[test]
fn a_command_without_placeholders_is_sent_as_it_is() {
    let template =
        Template::compile(&[CommandText::arguments(["SET", "a b", ""])], &keyspace(Some(5), false))
            .unwrap();
    assert_eq!(render(&template, 0, &mut random()), "*3\r\n$3\r\nSET\r\n$3\r\na b\r\n$0\r\n\r\n");
    assert_eq!(template.requests(), [RequestKind::Other]);
}

#[test]
fn fields_of_a_command_come_from_one_row_and_rows_take_turns() {
    let field = |name: &str, values: [&str; 2]| Field {
        name: name.into(),
        values: values.map(Into::into).to_vec(),
    };
    let placeholders = Placeholders {
        fields: vec![field("id", ["7", "12"]), field("text", ["a b", ""])],
        ..keyspace(None, false)
    };
    let command =
        CommandText::arguments(["SET", "doc:__field:id__:x", "__field:text__", "__field:no__"]);
    let template = Template::compile(&[command], &placeholders).unwrap();
    assert!(template.has_sequence());
    let first = "*4\r\n$3\r\nSET\r\n$7\r\ndoc:7:x\r\n$3\r\na b\r\n$12\r\n__field:no__\r\n";
    let second = "*4\r\n$3\r\nSET\r\n$8\r\ndoc:12:x\r\n$0\r\n\r\n$12\r\n__field:no__\r\n";
    for (turn, expected) in [(0, first), (1, second), (2, first)] {
        assert_eq!(render(&template, turn, &mut random()), expected);
    }
    let inline = [CommandText::Inline("PING __field:id__".into())];
    assert_eq!(Template::compile(&inline, &placeholders), Err(TemplateError::FieldInline));
}

#[test]
fn rand_int_is_literal_without_a_keyspace_and_zero_with_an_empty_one() {
    let command = [CommandText::arguments(["GET", "key:__rand_int__"])];
    let literal = Template::compile(&command, &keyspace(None, false)).unwrap();
    assert!(render(&literal, 0, &mut random()).contains("key:__rand_int__"));
    let zero = Template::compile(&command, &keyspace(Some(0), false)).unwrap();
    assert!(render(&zero, 9, &mut random()).contains("key:000000000000"));
    assert_eq!(zero.requests(), [RequestKind::Read]);
}

#[test]
fn every_rand_int_is_separate_and_every_rand_1st_is_the_same() {
    let template = Template::compile(
        &[
            CommandText::arguments([
                "MSET",
                "__rand_int__",
                "__data__",
                "__rand_int__",
                "__rand_1st__",
            ]),
            CommandText::arguments(["GET", "__rand_1st__", "__rand_2nd__"]),
        ],
        &keyspace(Some(1_000_000_000), false),
    )
    .unwrap();
    let text = render(&template, 0, &mut random());
    let split = text.find("*3").unwrap();
    let (first, second) = (arguments(&text[..split]), arguments(&text[split..]));
    assert_ne!(first[1], first[3]);
    assert_eq!(first[2], "xyz");
    assert_eq!(first[4], second[1]);
    assert_ne!(second[1], second[2]);
    assert_eq!(template.requests(), [RequestKind::Other, RequestKind::Read]);
}

#[test]
fn sequential_placeholders_share_one_count() {
    let template = Template::compile(
        &[CommandText::arguments(["MSET", "__rand_int__", "__rand_int__", "__rand_3rd__"])],
        &keyspace(Some(100), true),
    )
    .unwrap();
    assert!(template.has_sequence());
    let mut random = random();
    for turn in 0..3u64 {
        let numbers: Vec<u64> = arguments(&render(&template, turn, &mut random))[1..]
            .iter()
            .map(|text| text.parse().unwrap())
            .collect();
        assert_eq!(numbers, [turn * 2, turn * 2 + 1, turn]);
    }
}

#[test]
fn inline_commands_end_with_a_line_break() {
    let template =
        Template::compile(&[CommandText::Inline("PING".into())], &Placeholders::default()).unwrap();
    assert_eq!(render(&template, 0, &mut random()), "PING\r\n");
}

#[test]
fn the_line_language_makes_its_arguments() {
    let mut random = random();
    let template =
        line("zrange pre_{key uniform 1000}_suf {rand 10} {value 7} {range 5 3} '{\"a\": 1}' {tag} {{key x").unwrap();
    for turn in 0..200 {
        let got = arguments(&render(&template, turn, &mut random));
        assert_eq!(got.len(), 10, "{got:?}");
        assert!(got[1].starts_with("pre_key_0000000") && got[1].ends_with("_suf"));
        assert_eq!(got[1].len(), "pre_key_0000000000_suf".len());
        assert!(got[2].parse::<u64>().unwrap() < 10);
        assert!(got[3].len() == 7 && got[3].bytes().all(|byte| byte.is_ascii_alphanumeric()));
        let (left, right): (u64, u64) = (got[4].parse().unwrap(), got[5].parse().unwrap());
        assert!(left < 5 && right == (left + 3).min(4));
        assert_eq!(got[6..], ["{\"a\": 1}", "{tag}", "{key", "x"]);
    }
}

#[test]
fn values_are_fresh_each_time() {
    let template = line("SET k {value 64}").unwrap();
    let mut random = random();
    let first = render(&template, 0, &mut random);
    assert_ne!(first, render(&template, 1, &mut random));
}

#[test]
fn quotes_protect_spaces_and_escapes() {
    let template = line(r#"EVAL "return 'a b'\x21\n" 0 'it\'s' don't """#).unwrap();
    assert_eq!(
        arguments(&render(&template, 0, &mut random())),
        ["EVAL", "return 'a b'!\n", "0", "it's", "don't", ""]
    );
}

#[test]
fn what_is_wrong_in_a_line_is_named() {
    for (text, message) in [
        ("", "empty command"),
        ("SET \"a", "unbalanced quotes in command: SET \"a"),
        ("GET {key uniform 10", "placeholder without a closing brace: {key uniform 10"),
        ("GET {key uniform 0}", "{key uniform 0}: the number must be from 1 to 10000000000"),
        ("GET {value x}", "{value x}: the number must be from 1 to 1073741824"),
    ] {
        assert_eq!(line(text).unwrap_err().to_string(), message);
    }
    assert!(matches!(line("GET {kye uniform 9}"), Err(TemplateError::Unknown(_))));
    assert!(matches!(line("GET {key gauss 9}"), Err(TemplateError::Unknown(_))));
    let wide = keyspace(Some(1_000_000_000_001), false);
    assert!(Template::compile(&[CommandText::arguments(["PING"])], &wide).is_err());
}

proptest! {
    #[test]
    fn any_line_is_refused_or_makes_whole_commands(text in "[a-z{} \"'\\\\0-9é]{0,60}", turn in 0u64..1000) {
        if let Ok(template) = line(&text) {
            let rendered = render_bytes(&template, turn);
            let mut scanner = resp::ReplyScanner::new();
            let found = scanner.next(&rendered).unwrap().unwrap();
            prop_assert_eq!(found.consumed, rendered.len());
        }
    }

    #[test]
    fn any_argument_without_underscores_is_sent_as_it_is(bytes: Vec<u8>) {
        let plain: Vec<u8> = bytes.into_iter().filter(|byte| *byte != b'_').collect();
        let command = [CommandText::arguments([plain.clone()])];
        let template = Template::compile(&command, &keyspace(Some(10), false)).unwrap();
        let mut expected = Vec::new();
        resp::encode::command(&mut expected, &[plain]);
        prop_assert_eq!(render_bytes(&template, 0), expected);
    }
}
