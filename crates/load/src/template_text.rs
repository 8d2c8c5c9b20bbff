//! The two syntaxes of commands with placeholders, parsed into one form: arguments made of pieces.

use std::sync::Arc;

use crate::argument::Argument;
use crate::distribution::Distribution;
use crate::plan::objects::{OneOf, Scan};
use crate::plan::{CommandText, Placeholders};
use crate::template::objects::{self, ObjectChunk, ObjectSource};
use crate::template::{self, TemplateError};

/// Most keys that `{key …}` tells apart: it has ten digits.
const MAX_KEYS: u64 = 10_000_000_000;
/// Largest keyspace of `__rand_int__`: it has twelve digits.
const MAX_KEYSPACE: u64 = 1_000_000_000_000;
/// Longest `{value N}`, 1 GiB, as redis-benchmark's `-d` allows.
const MAX_VALUE_BYTES: u64 = 1 << 30;
/// Digits of `{key …}`.
const KEY_WIDTH: usize = 10;
/// `__rand_int__` and `__rand_1st__` are as long as what replaces them.
const RAND_WIDTH: usize = 12;
const RAND_INT: &[u8] = b"__rand_int__";
const DATA: &[u8] = b"__data__";
const FIELD: &[u8] = b"__field:";
/// The same number everywhere in a command sequence, one for each name.
const RAND_SHARED: [&[u8]; 9] = [
    b"__rand_1st__",
    b"__rand_2nd__",
    b"__rand_3rd__",
    b"__rand_4th__",
    b"__rand_5th__",
    b"__rand_6th__",
    b"__rand_7th__",
    b"__rand_8th__",
    b"__rand_9th__",
];

/// A part of an argument.
#[derive(Debug, Clone, PartialEq)]
pub(crate) enum Piece {
    /// Sent as it is.
    Literal(Vec<u8>),
    /// The number of a draw in `width` digits.
    Digits { draw: usize, width: usize },
    /// Random letters and digits.
    Random { bytes: usize },
    /// The value of a field in the row that a draw has chosen.
    Field { draw: usize, values: Arc<[Argument]> },
    /// The number of a draw, moved up and capped, in as many digits as it has.
    Integer { draw: usize, plus: u64, at_most: u64 },
    /// The key of an object.
    Key { draw: usize, source: Arc<ObjectSource> },
    /// The value of an object: that of an imported item, or one whose length may follow a key.
    Value { key: Option<usize>, item: Option<usize>, source: Arc<ObjectSource> },
}

impl Piece {
    /// Its width in bytes, where that is always the same.
    pub(crate) fn fixed_width(&self) -> Option<usize> {
        match self {
            Self::Literal(literal) => Some(literal.len()),
            Self::Digits { width, .. } => Some(*width),
            Self::Random { bytes } => Some(*bytes),
            Self::Integer { .. } | Self::Field { .. } | Self::Key { .. } | Self::Value { .. } => {
                None
            }
        }
    }
}

/// A parsed command.
pub(crate) enum Parsed {
    /// Sent as an array of arguments.
    Arguments(Vec<Vec<Piece>>),
    /// Sent as one line.
    Inline(Vec<Piece>),
    /// A read or write of objects.
    Object(ObjectChunk),
    /// One of these encoded commands, by the number of a draw; and whether all of them only read.
    OneOf { draw: usize, encoded: Arc<[Vec<u8>]>, are_reads: bool },
    /// `SCAN` with a cursor that is known when it is sent, and what follows the cursor, encoded.
    Scan { head: Vec<u8>, tail: Vec<u8> },
}

/// Parses the commands of one sequence, which share draws.
pub(crate) struct Parser<'a> {
    placeholders: &'a Placeholders,
    objects: &'a Arc<ObjectSource>,
    draws: Vec<Distribution>,
    /// Draws of `__rand_int__`, whose sequence steps by their number.
    rand_ints: Vec<usize>,
    shared: [Option<usize>; RAND_SHARED.len()],
    /// The draw of the row that all fields come from.
    row: Option<usize>,
    /// The columns named so far, which every mention shares.
    columns: Vec<(&'a str, Arc<[Argument]>)>,
}

impl<'a> Parser<'a> {
    pub(crate) fn new(
        placeholders: &'a Placeholders,
        objects: &'a Arc<ObjectSource>,
    ) -> Result<Self, TemplateError> {
        if placeholders.keyspace.is_some_and(|keyspace| keyspace > MAX_KEYSPACE) {
            return Err(TemplateError::Keyspace(MAX_KEYSPACE));
        }
        Ok(Self {
            placeholders,
            objects,
            draws: Vec::new(),
            rand_ints: Vec::new(),
            shared: [None; 9],
            row: None,
            columns: Vec::new(),
        })
    }

    pub(crate) fn parse(&mut self, command: &CommandText) -> Result<Parsed, TemplateError> {
        let arguments = match command {
            CommandText::Arguments(arguments) => {
                arguments.iter().map(|argument| self.argument(argument.as_bytes())).collect()
            }
            CommandText::Inline(line) => return Ok(Parsed::Inline(self.argument(line.as_bytes()))),
            CommandText::Line(line) => self.line(line)?,
            CommandText::Store(store) => {
                return Ok(Parsed::Object(ObjectChunk::store(
                    self.objects,
                    *store,
                    &mut self.draws,
                )));
            }
            CommandText::Fetch(fetch) => {
                return Ok(Parsed::Object(ObjectChunk::fetch(
                    self.objects,
                    *fetch,
                    &mut self.draws,
                )));
            }
            CommandText::Objects(command) => {
                objects::pieces(self.objects, command, &mut self.draws)?
            }
            CommandText::OneOf(one_of) => return Ok(self.one_of(one_of)),
            CommandText::Scan(scan) => return Ok(scan_parts(scan)),
            CommandText::Script(_) => {
                let reason = "a script stands alone in its entry";
                return Err(TemplateError::Script(reason.into()));
            }
        };
        if arguments.is_empty() {
            return Err(TemplateError::Empty);
        }
        Ok(Parsed::Arguments(arguments))
    }

    fn one_of(&mut self, one_of: &OneOf) -> Parsed {
        let encode = |command: &Vec<Argument>| {
            let mut bytes = Vec::new();
            resp::encode::command(&mut bytes, command);
            bytes
        };
        let below = one_of.commands.len() as u64;
        let draw = self.add_draw(if one_of.random {
            Distribution::Uniform { below }
        } else {
            Distribution::Sequence { below, step: 1, position: 0 }
        });
        let is_read = |command: &Vec<Argument>| {
            command.first().is_some_and(|name| template::is_read_command(name.as_bytes()))
        };
        Parsed::OneOf {
            draw,
            encoded: one_of.commands.iter().map(encode).collect(),
            are_reads: one_of.commands.iter().all(is_read),
        }
    }

    /// The draws of the sequence.
    pub(crate) fn finish(mut self) -> Vec<Distribution> {
        let count = self.rand_ints.len() as u64;
        for (nth, draw) in self.rand_ints.iter().enumerate() {
            self.draws[*draw].set_step(count, nth as u64);
        }
        self.draws
    }

    /// An argument in the syntax of redis-benchmark: literals and names in double underscores.
    fn argument(&mut self, text: &[u8]) -> Vec<Piece> {
        let mut pieces = Vec::new();
        let mut literal = Vec::new();
        let mut rest = text;
        while let Some(byte) = rest.first() {
            let taken = if *byte == b'_' { self.name(rest, &mut literal, &mut pieces) } else { 0 };
            if taken == 0 {
                literal.push(*byte);
                rest = &rest[1..];
            } else {
                rest = &rest[taken..];
            }
        }
        push_literal(&mut pieces, &mut literal);
        pieces
    }

    /// Takes a name in double underscores from the start of `text`; returns its length, or 0 when there is none.
    fn name(&mut self, text: &[u8], literal: &mut Vec<u8>, pieces: &mut Vec<Piece>) -> usize {
        if text.starts_with(DATA) {
            literal.extend_from_slice(self.placeholders.data.as_bytes());
            return DATA.len();
        }
        if let Some(length) = self.field(text, literal, pieces) {
            return length;
        }
        let Some(keyspace) = self.placeholders.keyspace else {
            return 0;
        };
        let draw = if text.starts_with(RAND_INT) {
            let draw = self.keyspace_draw(keyspace);
            self.rand_ints.push(draw);
            draw
        } else if let Some(nth) = RAND_SHARED.iter().position(|name| text.starts_with(name)) {
            match self.shared[nth] {
                Some(draw) => draw,
                None => {
                    let draw = self.keyspace_draw(keyspace);
                    self.shared[nth] = Some(draw);
                    draw
                }
            }
        } else {
            return 0;
        };
        push_literal(pieces, literal);
        pieces.push(Piece::Digits { draw, width: RAND_WIDTH });
        RAND_WIDTH
    }

    /// Takes a `__field:NAME__` that is known from the start of `text`; returns its length.
    fn field(
        &mut self,
        text: &[u8],
        literal: &mut Vec<u8>,
        pieces: &mut Vec<Piece>,
    ) -> Option<usize> {
        let rest = text.strip_prefix(FIELD)?;
        let name_len = rest.windows(2).position(|pair| pair == b"__")?;
        let name = &rest[..name_len];
        let field = self.placeholders.fields.iter().find(|field| field.name.as_bytes() == name)?;
        let rows = field.values.len() as u64;
        if rows == 0 {
            return None;
        }
        let draw = match self.row {
            Some(draw) => draw,
            None => self.add_draw(Distribution::Sequence { below: rows, step: 1, position: 0 }),
        };
        self.row = Some(draw);
        push_literal(pieces, literal);
        let known = self.columns.iter().find(|(name, _)| *name == field.name);
        let values = match known {
            Some((_, values)) => Arc::clone(values),
            None => {
                let values: Arc<[Argument]> = field.values.clone().into();
                self.columns.push((&field.name, Arc::clone(&values)));
                values
            }
        };
        pieces.push(Piece::Field { draw, values });
        Some(FIELD.len() + name_len + 2)
    }

    fn keyspace_draw(&mut self, keyspace: u64) -> usize {
        let below = keyspace.max(1);
        self.add_draw(if self.placeholders.sequential {
            Distribution::Sequence { below, step: 1, position: 0 }
        } else {
            Distribution::Uniform { below }
        })
    }

    fn add_draw(&mut self, draw: Distribution) -> usize {
        self.draws.push(draw);
        self.draws.len() - 1
    }

    /// A line in the syntax of resp-benchmark: words, quotes, placeholders in braces.
    fn line(&mut self, line: &str) -> Result<Vec<Vec<Piece>>, TemplateError> {
        let mut words = Words::default();
        let bytes = line.as_bytes();
        let mut at = 0;
        while at < bytes.len() {
            match (bytes[at], words.quote) {
                (b' ' | b'\t' | b'\r' | b'\n', None) => words.end_word(),
                (quote @ (b'"' | b'\''), None) if !words.in_word => words.open_quote(quote),
                (byte, Some(quote)) if byte == quote => words.quote = None,
                (b'\\', Some(_)) => at += words.escape(&bytes[at + 1..]),
                (b'{', _) if bytes.get(at + 1) == Some(&b'{') => {
                    words.push(b'{');
                    at += 1;
                }
                (b'{', _) if starts_placeholder(&bytes[at + 1..]) => {
                    let end = line[at..]
                        .find('}')
                        .ok_or_else(|| TemplateError::Unclosed(line[at..].into()))?;
                    self.braces(&line[at + 1..at + end], &mut words)?;
                    at += end;
                }
                (byte, _) => words.push(byte),
            }
            at += 1;
        }
        if words.quote.is_some() {
            return Err(TemplateError::Quotes(line.into()));
        }
        words.end_word();
        Ok(words.done)
    }

    fn braces(&mut self, content: &str, words: &mut Words) -> Result<(), TemplateError> {
        let number = |text: &str, most: u64| match text.parse::<u64>() {
            Ok(value) if (1..=most).contains(&value) => Ok(value),
            _ => Err(TemplateError::Number { placeholder: content.into(), most }),
        };
        match content.split_ascii_whitespace().collect::<Vec<_>>()[..] {
            ["key", law, keys] => {
                let law = Distribution::named(law, number(keys, MAX_KEYS)?)
                    .ok_or_else(|| TemplateError::Unknown(content.into()))?;
                words.extend(b"key_");
                let draw = self.add_draw(law);
                words.piece(Piece::Digits { draw, width: KEY_WIDTH });
            }
            ["value", bytes] => {
                let bytes = number(bytes, MAX_VALUE_BYTES)? as usize;
                words.piece(Piece::Random { bytes });
            }
            ["rand", below] => {
                let below = number(below, u64::MAX)?;
                let draw = self.add_draw(Distribution::Uniform { below });
                words.piece(Piece::Integer { draw, plus: 0, at_most: u64::MAX });
            }
            ["range", below, width] => {
                let (below, plus) = (number(below, u64::MAX)?, number(width, u64::MAX)?);
                let draw = self.add_draw(Distribution::Uniform { below });
                words.piece(Piece::Integer { draw, plus: 0, at_most: u64::MAX });
                words.next_argument();
                words.piece(Piece::Integer { draw, plus, at_most: below - 1 });
            }
            _ => return Err(TemplateError::Unknown(content.into())),
        }
        Ok(())
    }
}

fn scan_parts(scan: &Scan) -> Parsed {
    let (mut head, mut tail) = (Vec::new(), Vec::new());
    resp::encode::header(&mut head, scan.command.len() + 1 + scan.arguments.len());
    scan.command.iter().for_each(|part| resp::encode::argument(&mut head, part.as_bytes()));
    scan.arguments.iter().for_each(|part| resp::encode::argument(&mut tail, part.as_bytes()));
    Parsed::Scan { head, tail }
}

/// A brace begins a placeholder when a bare word and a space follow: `{tag}` and `{"a":1}` are text.
fn starts_placeholder(after: &[u8]) -> bool {
    let letters = after.iter().take_while(|byte| byte.is_ascii_alphabetic()).count();
    letters > 0 && matches!(after.get(letters), Some(b' ' | b'\t'))
}

fn push_literal(pieces: &mut Vec<Piece>, literal: &mut Vec<u8>) {
    if !literal.is_empty() {
        pieces.push(Piece::Literal(std::mem::take(literal)));
    }
}

/// The words of a line as far as it has been read.
#[derive(Default)]
struct Words {
    done: Vec<Vec<Piece>>,
    pieces: Vec<Piece>,
    literal: Vec<u8>,
    in_word: bool,
    quote: Option<u8>,
}

impl Words {
    fn push(&mut self, byte: u8) {
        self.in_word = true;
        self.literal.push(byte);
    }

    fn extend(&mut self, bytes: &[u8]) {
        self.in_word = true;
        self.literal.extend_from_slice(bytes);
    }

    fn piece(&mut self, piece: Piece) {
        self.in_word = true;
        push_literal(&mut self.pieces, &mut self.literal);
        self.pieces.push(piece);
    }

    fn open_quote(&mut self, quote: u8) {
        self.in_word = true;
        self.quote = Some(quote);
    }

    /// Takes what follows a backslash inside quotes; returns how many bytes that was.
    fn escape(&mut self, after: &[u8]) -> usize {
        let hex = |byte: u8| (byte as char).to_digit(16);
        let (byte, taken) = match (self.quote, after) {
            (Some(b'"'), [b'x', high, low, ..]) if hex(*high).is_some() && hex(*low).is_some() => {
                let value = hex(*high).unwrap_or(0) * 16 + hex(*low).unwrap_or(0);
                (value as u8, 3)
            }
            (Some(b'"'), [b'n', ..]) => (b'\n', 1),
            (Some(b'"'), [b'r', ..]) => (b'\r', 1),
            (Some(b'"'), [b't', ..]) => (b'\t', 1),
            (Some(b'"'), [b'b', ..]) => (8, 1),
            (Some(b'"'), [b'a', ..]) => (7, 1),
            (Some(b'"'), [other, ..]) => (*other, 1),
            (Some(b'\''), [b'\'', ..]) => (b'\'', 1),
            _ => (b'\\', 0),
        };
        self.push(byte);
        taken
    }

    /// Ends the argument inside a word, for a placeholder that makes two.
    fn next_argument(&mut self) {
        self.end_word();
        self.in_word = true;
    }

    fn end_word(&mut self) {
        if self.in_word {
            push_literal(&mut self.pieces, &mut self.literal);
            self.done.push(std::mem::take(&mut self.pieces));
            self.in_word = false;
        }
    }
}
