//! Replies as text, in each form that redis-cli prints them in. Pure functions: a value in, bytes out.

use resp::Value;
use text::quote::push_repr;

use super::options::{Options, Output};

/// A reply with all that stands around it, ready to be written.
///
/// `is_verbatim` is for commands whose reply is a text for people (INFO, CLIENT LIST): it is printed as it is in every form.
pub fn reply(value: &Value, options: &Options, is_verbatim: bool) -> Vec<u8> {
    let mut out = Vec::new();
    if is_verbatim {
        raw(&mut out, value, &options.element_delimiter);
        return out;
    }
    match options.output {
        Output::Standard => standard(&mut out, value, 0),
        Output::Raw => {
            raw(&mut out, value, &options.element_delimiter);
            out.extend_from_slice(&options.reply_delimiter);
        }
        Output::Csv => {
            csv(&mut out, value);
            out.push(b'\n');
        }
        Output::Json | Output::QuotedJson => {
            json(&mut out, value, options.output == Output::QuotedJson);
            out.push(b'\n');
        }
    }
    out
}

/// A message that keys which the client tracks have changed, as people read it; `None` for any other value.
pub fn invalidation(value: &Value) -> Option<Vec<u8>> {
    let Value::Push(elements) = value else { return None };
    let [kind, keys] = elements.as_slice() else { return None };
    if kind.as_bytes() != Some(b"invalidate") {
        return None;
    }
    let mut out = b"-> invalidate: ".to_vec();
    match keys {
        Value::Array(keys) => joined(&mut out, keys, b", ", |out, key| {
            push_repr(out, key.as_bytes().unwrap_or_default());
        }),
        _ => out.extend_from_slice(b"(nil)"),
    }
    out.push(b'\n');
    Some(out)
}

/// With types and indices, one element a line; nested lines are `indent` columns in.
pub fn standard(out: &mut Vec<u8>, value: &Value, indent: usize) {
    match value {
        Value::Error(message) => line(out, &[b"(error) ", message]),
        Value::Simple(text) | Value::Verbatim { text, .. } => line(out, &[text]),
        Value::Integer(number) => line(out, &[b"(integer) ", number.to_string().as_bytes()]),
        Value::Double { text, .. } => line(out, &[b"(double) ", text]),
        Value::BigNumber(digits) => line(out, &[digits]),
        Value::Bulk(text) => {
            push_repr(out, text);
            out.push(b'\n');
        }
        Value::Null | Value::NullArray => line(out, &[b"(nil)"]),
        Value::Boolean(true) => line(out, &[b"(true)"]),
        Value::Boolean(false) => line(out, &[b"(false)"]),
        Value::Array(elements) => list(out, elements, indent, b')', b"(empty array)"),
        Value::Set(elements) => list(out, elements, indent, b'~', b"(empty set)"),
        Value::Push(elements) => list(out, elements, indent, b')', b"(empty push)"),
        Value::Map(pairs) => map(out, pairs, indent),
        Value::Attributed { value, .. } => standard(out, value, indent),
    }
}

/// Values only; `delimiter` stands between elements.
fn raw(out: &mut Vec<u8>, value: &Value, delimiter: &[u8]) {
    match value {
        Value::Null | Value::NullArray => {}
        Value::Error(message) => line(out, &[message]),
        Value::Simple(text)
        | Value::Bulk(text)
        | Value::BigNumber(text)
        | Value::Verbatim { text, .. }
        | Value::Double { text, .. } => out.extend_from_slice(text),
        Value::Integer(number) => out.extend_from_slice(number.to_string().as_bytes()),
        Value::Boolean(true) => out.extend_from_slice(b"(true)"),
        Value::Boolean(false) => out.extend_from_slice(b"(false)"),
        Value::Array(elements) | Value::Set(elements) | Value::Push(elements) => {
            joined(out, elements, delimiter, |out, element| raw(out, element, delimiter));
        }
        Value::Map(pairs) => joined(out, pairs, delimiter, |out, (key, value)| {
            raw(out, key, delimiter);
            out.push(b' ');
            raw(out, value, delimiter);
        }),
        Value::Attributed { value, .. } => raw(out, value, delimiter),
    }
}

/// All values in one line, flat.
pub fn csv(out: &mut Vec<u8>, value: &Value) {
    match value {
        Value::Error(message) => {
            out.extend_from_slice(b"ERROR,");
            push_repr(out, message);
        }
        Value::Simple(text) | Value::Bulk(text) | Value::Verbatim { text, .. } => {
            push_repr(out, text);
        }
        Value::Integer(number) => out.extend_from_slice(number.to_string().as_bytes()),
        Value::Double { text, .. } | Value::BigNumber(text) => out.extend_from_slice(text),
        Value::Null | Value::NullArray => out.extend_from_slice(b"NULL"),
        Value::Boolean(value) => out.extend_from_slice(value.to_string().as_bytes()),
        Value::Array(elements) | Value::Set(elements) | Value::Push(elements) => {
            joined(out, elements, b",", csv);
        }
        Value::Map(pairs) => joined(out, pairs, b",", |out, (key, value)| {
            csv(out, key);
            out.push(b',');
            csv(out, value);
        }),
        Value::Attributed { value, .. } => csv(out, value),
    }
}

/// JSON in one line; `is_quoted` keeps it to ASCII.
fn json(out: &mut Vec<u8>, value: &Value, is_quoted: bool) {
    match value {
        Value::Error(message) => {
            out.extend_from_slice(b"error:");
            json_string(out, message, is_quoted);
        }
        Value::Simple(text) | Value::Bulk(text) | Value::Verbatim { text, .. } => {
            json_string(out, text, is_quoted);
        }
        Value::Integer(number) => out.extend_from_slice(number.to_string().as_bytes()),
        Value::Double { text, .. } | Value::BigNumber(text) => out.extend_from_slice(text),
        Value::Null | Value::NullArray => out.extend_from_slice(b"null"),
        Value::Boolean(value) => out.extend_from_slice(value.to_string().as_bytes()),
        Value::Array(elements) | Value::Set(elements) | Value::Push(elements) => {
            out.push(b'[');
            joined(out, elements, b",", |out, element| json(out, element, is_quoted));
            out.push(b']');
        }
        Value::Map(pairs) => {
            out.push(b'{');
            joined(out, pairs, b",", |out, (key, value)| {
                json_key(out, key, is_quoted);
                out.push(b':');
                json(out, value, is_quoted);
            });
            out.push(b'}');
        }
        Value::Attributed { value, .. } => json(out, value, is_quoted),
    }
}

/// A key of an object, which JSON wants to be a string whatever it is.
fn json_key(out: &mut Vec<u8>, key: &Value, is_quoted: bool) {
    let mut text = Vec::new();
    json(&mut text, key, is_quoted);
    match text.first() {
        Some(b'"') => out.extend_from_slice(&text),
        _ => json_string(out, &text, false),
    }
}

fn json_string(out: &mut Vec<u8>, text: &[u8], is_quoted: bool) {
    if is_quoted {
        let mut escaped = Vec::with_capacity(text.len() + 2);
        push_repr(&mut escaped, text);
        for byte in escaped {
            match byte {
                b'\\' => out.extend_from_slice(br"\\"),
                byte => out.push(byte),
            }
        }
        return;
    }
    out.push(b'"');
    for &byte in text {
        match byte {
            b'\\' | b'"' => out.extend_from_slice(&[b'\\', byte]),
            b'\n' => out.extend_from_slice(br"\n"),
            b'\r' => out.extend_from_slice(br"\r"),
            b'\t' => out.extend_from_slice(br"\t"),
            0x0c => out.extend_from_slice(br"\f"),
            0x08 => out.extend_from_slice(br"\b"),
            0..0x20 => out.extend_from_slice(format!("\\u{byte:04x}").as_bytes()),
            byte => out.push(byte),
        }
    }
    out.push(b'"');
}

fn list(out: &mut Vec<u8>, elements: &[Value], indent: usize, mark: u8, empty: &[u8]) {
    if elements.is_empty() {
        return line(out, &[empty]);
    }
    let width = elements.len().to_string().len();
    for (index, element) in elements.iter().enumerate() {
        index_of(out, index, width, indent, mark);
        standard(out, element, indent + width + 2);
    }
}

fn map(out: &mut Vec<u8>, pairs: &[(Value, Value)], indent: usize) {
    if pairs.is_empty() {
        return line(out, &[b"(empty hash)"]);
    }
    let width = pairs.len().to_string().len();
    for (index, (key, value)) in pairs.iter().enumerate() {
        index_of(out, index, width, indent, b'#');
        standard(out, key, indent + width + 2);
        // The line end behind the key: its value follows in the same line.
        out.pop();
        out.extend_from_slice(b" => ");
        let start = out.len();
        let inner = indent + width + 2;
        standard(out, value, inner);
        // A value of several lines begins in one of its own.
        let body = out.len() - 1;
        if out[start..body].contains(&b'\n') {
            let gap = format!("\n{:inner$}", "");
            out.splice(start..start, gap.into_bytes());
        }
    }
}

/// The index in front of an element, counted from 1. The first one stands behind what the element belongs to.
fn index_of(out: &mut Vec<u8>, index: usize, width: usize, indent: usize, mark: u8) {
    let indent = if index == 0 { 0 } else { indent };
    let text = format!("{:indent$}{:width$}{} ", "", index + 1, char::from(mark));
    out.extend_from_slice(text.as_bytes());
}

fn joined<T>(
    out: &mut Vec<u8>,
    elements: &[T],
    delimiter: &[u8],
    mut push: impl FnMut(&mut Vec<u8>, &T),
) {
    for (index, element) in elements.iter().enumerate() {
        if index > 0 {
            out.extend_from_slice(delimiter);
        }
        push(out, element);
    }
}

fn line(out: &mut Vec<u8>, parts: &[&[u8]]) {
    parts.iter().for_each(|part| out.extend_from_slice(part));
    out.push(b'\n');
}

#[cfg(test)]
mod tests {
    use super::*;

    fn shown(wire: &str) -> String {
        let value = resp::ValueDecoder::new().next(wire.as_bytes()).unwrap().unwrap().0;
        let mut out = Vec::new();
        standard(&mut out, &value, 0);
        String::from_utf8(out).unwrap()
    }

    #[test]
    fn nested_values_are_indented_below_their_index() {
        assert_eq!(
            shown("*2\r\n:1\r\n*2\r\n$1\r\na\r\n*1\r\n_\r\n"),
            "1) (integer) 1\n2) 1) \"a\"\n   2) 1) (nil)\n"
        );
        let ten = format!("*10\r\n{}", ":0\r\n".repeat(10));
        assert!(shown(&ten).starts_with(" 1) (integer) 0\n 2) "), "{}", shown(&ten));
        assert_eq!(shown("~1\r\n#t\r\n"), "1~ (true)\n");
        assert_eq!(shown("%0\r\n"), "(empty hash)\n");
    }

    #[test]
    fn a_value_of_several_lines_begins_below_its_key() {
        assert_eq!(
            shown("%2\r\n+a\r\n*1\r\n:9\r\n+b\r\n*1\r\n*2\r\n:1\r\n:2\r\n"),
            "1# a => 1) (integer) 9\n2# b => \n   1) 1) (integer) 1\n      2) (integer) 2\n"
        );
    }

    #[test]
    fn an_invalidation_names_its_keys() {
        let value = |wire: &[u8]| resp::ValueDecoder::new().next(wire).unwrap().unwrap().0;
        let keys = value(b">2\r\n$10\r\ninvalidate\r\n*2\r\n$1\r\na\r\n$1\r\nb\r\n");
        assert_eq!(invalidation(&keys).unwrap(), b"-> invalidate: \"a\", \"b\"\n");
        assert_eq!(invalidation(&value(b"*0\r\n")), None);
    }

    #[test]
    fn quoted_json_doubles_every_backslash() {
        let mut out = Vec::new();
        json(&mut out, &Value::Bulk(b"\xff\"".to_vec()), true);
        assert_eq!(out, br#""\\xff\\"""#);
    }
}
