//! Commands with placeholders, compiled once into encoded RESP with slots that are filled in place for each request.
//!
//! Digits and values of fixed width are patched where they stand, so that a request costs one copy and a few stores;
//! only arguments of varying width are encoded anew. Two syntaxes lead here: that of redis-benchmark
//! (`__rand_int__`) and that of resp-benchmark (`{key uniform N}`).

use std::sync::Arc;

use rand_core::RngCore;
use rand_xoshiro::Xoshiro256PlusPlus;
use resp::encode;
use thiserror::Error;

use crate::distribution::{Distribution, Turn};
use crate::plan::objects::Objects;
use crate::plan::{CommandText, Placeholders, Protocol};
use crate::script::Script;
use crate::template_text::{self, Parsed, Piece};
use objects::{ObjectChunk, ObjectSource};

pub(crate) mod objects;

/// Largest encoded command sequence, in bytes: twice the largest value that servers take.
pub const MAX_ENCODED_BYTES: usize = 2 << 30;

/// Why a command's text can't be understood.
#[derive(Debug, Clone, PartialEq, Eq, Error)]
pub enum TemplateError {
    /// No arguments at all.
    #[error("empty command")]
    Empty,
    /// A quote that is not closed.
    #[error("unbalanced quotes in command: {0}")]
    Quotes(String),
    /// A placeholder that is not closed.
    #[error("placeholder without a closing brace: {0}")]
    Unclosed(String),
    /// A placeholder that does not exist, or with the wrong words.
    #[error(
        "unknown placeholder {{{0}}}: there are {{key uniform|sequence|zipfian N}}, {{value N}}, {{rand N}}, \
         {{range N W}}; write {{{{ for a brace"
    )]
    Unknown(String),
    /// A number outside its limits.
    #[error("{{{placeholder}}}: the number must be from 1 to {most}")]
    Number {
        /// The placeholder's words.
        placeholder: String,
        /// The greatest number allowed.
        most: u64,
    },
    /// The keyspace is wider than the placeholder's twelve digits.
    #[error("the keyspace must be at most {0}")]
    Keyspace(u64),
    /// A field's length varies, and the template of an inline command has one length.
    #[error("a field of a data set can't stand in an inline command")]
    FieldInline,
    /// A script that can't be used.
    #[error("{0}")]
    Script(String),
    /// The command would be larger than [`MAX_ENCODED_BYTES`].
    #[error("the command is larger than {MAX_ENCODED_BYTES} bytes")]
    TooLarge,
}

/// A compiled command sequence.
#[derive(Debug, Clone, PartialEq)]
pub struct Template {
    chunks: Vec<Chunk>,
    draws: Vec<Distribution>,
    requests: Vec<RequestKind>,
}

/// What the reply to a request is to be taken for.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum RequestKind {
    /// Neither a hit nor a miss.
    Other,
    /// A read: a null or empty reply is a miss.
    Read,
    /// A read of a part of a string: an empty string is a miss too.
    ReadPart,
    /// A read of so many keys: each null in the reply is a miss.
    ReadMany(u32),
    /// A read whose value is compared with the expected one.
    Verify,
    /// A step of an iteration: the reply holds the next cursor.
    Scan,
    /// So many replies that are parts of a transaction, and one that tells how it ended.
    Transaction(u32),
}

impl RequestKind {
    /// True when its reply tells whether something was there.
    pub fn is_read(self) -> bool {
        matches!(self, Self::Read | Self::ReadPart | Self::ReadMany(_) | Self::Verify)
    }
}

#[derive(Debug, Clone, PartialEq)]
enum Chunk {
    /// Bytes that are copied, then patched.
    Fixed { bytes: Vec<u8>, patches: Vec<Patch> },
    /// One argument whose length is not known before its pieces are rendered.
    Variable(Vec<Piece>),
    /// A read or write of objects.
    Object(ObjectChunk),
    /// One of these encoded commands, by the number of a draw.
    OneOf { draw: usize, encoded: Arc<[Vec<u8>]> },
    /// The command, the cursor of the iteration, and what follows it.
    Scan { head: Vec<u8>, tail: Vec<u8> },
    /// A whole command from a script.
    Script(Arc<str>),
}

#[derive(Debug, Clone, Copy, PartialEq)]
struct Patch {
    offset: usize,
    width: usize,
    /// The draw whose number stands here in digits; `None` for random letters and digits.
    draw: Option<usize>,
}

/// Commands whose reply tells whether something was there. A null or empty reply is a miss.
const READ_COMMANDS: [&str; 33] = [
    "GET",
    "GETDEL",
    "GETEX",
    "HGET",
    "HGETALL",
    "HKEYS",
    "HRANDFIELD",
    "HVALS",
    "LINDEX",
    "LPOP",
    "LPOS",
    "LRANGE",
    "RPOP",
    "SINTER",
    "SMEMBERS",
    "SPOP",
    "SRANDMEMBER",
    "SUNION",
    "XRANGE",
    "XREAD",
    "XREVRANGE",
    "ZPOPMAX",
    "ZPOPMIN",
    "ZRANDMEMBER",
    "ZRANGE",
    "ZRANGEBYLEX",
    "ZRANGEBYSCORE",
    "ZRANK",
    "ZREVRANGE",
    "ZREVRANGEBYLEX",
    "ZREVRANGEBYSCORE",
    "ZREVRANK",
    "ZSCORE",
];

impl Template {
    /// Compiles a sequence of commands that is sent as one. The fields of a data set must have the same
    /// number of rows, as [`crate::plan::Plan::check`] sees to.
    ///
    /// # Errors
    /// The first thing in the text that can't be understood or is outside its limits.
    pub fn compile(
        commands: &[CommandText],
        placeholders: &Placeholders,
    ) -> Result<Self, TemplateError> {
        let objects = ObjectSource::new(&Objects::default(), Protocol::Resp2);
        Self::compile_with(commands, placeholders, &Arc::new(objects))
    }

    /// As [`Template::compile`], for commands on these objects.
    pub(crate) fn compile_with(
        commands: &[CommandText],
        placeholders: &Placeholders,
        objects: &Arc<ObjectSource>,
    ) -> Result<Self, TemplateError> {
        if let [CommandText::Script(text)] = commands {
            return Self::of_script(text);
        }
        let mut parser = template_text::Parser::new(placeholders, objects)?;
        let mut builder = Builder::default();
        let mut requests = Vec::with_capacity(commands.len());
        for command in commands {
            requests.push(builder.command(parser.parse(command)?)?);
        }
        Ok(Self { chunks: builder.finish(), draws: parser.finish(), requests })
    }

    /// As [`Template::compile_with`], between `MULTI` and `EXEC`: all of it is one request.
    pub(crate) fn compile_transaction(
        commands: &[CommandText],
        placeholders: &Placeholders,
        objects: &Arc<ObjectSource>,
    ) -> Result<Self, TemplateError> {
        let mut wrapped = vec![CommandText::arguments(["MULTI"])];
        wrapped.extend_from_slice(commands);
        wrapped.push(CommandText::arguments(["EXEC"]));
        let mut template = Self::compile_with(&wrapped, placeholders, objects)?;
        template.requests = vec![RequestKind::Transaction(commands.len() as u32 + 1)];
        Ok(template)
    }

    /// What the reply to each request of the sequence is to be taken for.
    pub fn requests(&self) -> &[RequestKind] {
        &self.requests
    }

    /// Loads the script once to see whether it can be: before any connection is made.
    fn of_script(text: &str) -> Result<Self, TemplateError> {
        Script::new(text, 0, 0, 1).map_err(TemplateError::Script)?;
        Ok(Self {
            chunks: vec![Chunk::Script(text.into())],
            draws: Vec::new(),
            requests: vec![RequestKind::Other],
        })
    }

    /// True when a number counts up over all connections. A script is taken at its word.
    pub fn has_sequence(&self) -> bool {
        let in_script =
            |chunk: &Chunk| matches!(chunk, Chunk::Script(text) if text.contains("sequence"));
        self.draws.iter().any(Distribution::is_shared_sequence) || self.chunks.iter().any(in_script)
    }

    /// The value that the reply to the request rendered last must hold, where that is known.
    pub(crate) fn expected<'a>(&'a self, scratch: &Scratch) -> Option<&'a [u8]> {
        let values = &scratch.values;
        self.chunks.iter().find_map(|chunk| match chunk {
            Chunk::Object(object) => object.expected(values),
            _ => None,
        })
    }

    /// Appends the encoded commands to `out`.
    pub fn render(
        &self,
        random: &mut Xoshiro256PlusPlus,
        turn: impl Into<Turn>,
        scratch: &mut Scratch,
        out: &mut Vec<u8>,
    ) {
        let turn = turn.into();
        scratch.values.resize(self.draws.len(), 0);
        for (value, draw) in scratch.values.iter_mut().zip(&self.draws) {
            *value = draw.draw(random, turn);
        }
        for chunk in &self.chunks {
            match chunk {
                Chunk::Fixed { bytes, patches } => {
                    let start = out.len();
                    out.extend_from_slice(bytes);
                    for patch in patches {
                        let slot = &mut out[start + patch.offset..][..patch.width];
                        match patch.draw {
                            Some(draw) => write_digits(scratch.values[draw], slot),
                            None => write_alphanumerics(random, slot),
                        }
                    }
                }
                Chunk::Object(object) => {
                    object.render(&scratch.values, random, &mut scratch.argument, out);
                }
                Chunk::OneOf { draw, encoded } => {
                    out.extend_from_slice(&encoded[scratch.values[*draw] as usize]);
                }
                Chunk::Scan { head, tail } => {
                    out.extend_from_slice(head);
                    encode::argument(out, itoa::Buffer::new().format(scratch.cursor).as_bytes());
                    out.extend_from_slice(tail);
                }
                Chunk::Script(text) => scratch.run_script(text, random, turn, out),
                Chunk::Variable(pieces) => {
                    scratch.argument.clear();
                    for piece in pieces {
                        append_piece(piece, &scratch.values, random, &mut scratch.argument);
                    }
                    encode::argument(out, &scratch.argument);
                }
            }
        }
    }
}

/// Space that rendering reuses from request to request.
#[derive(Debug, Default)]
pub struct Scratch {
    values: Vec<u64>,
    argument: Vec<u8>,
    /// Where the next step of an iteration begins.
    pub(crate) cursor: u64,
    script: Option<Script>,
    failure: Option<String>,
}

impl Scratch {
    /// Why the script could not go on; nothing that it was to append is there then.
    pub fn failure(&self) -> Option<&str> {
        self.failure.as_deref()
    }

    /// The virtual machine is made with the first command, seeded from the connection's stream.
    fn run_script(
        &mut self,
        text: &str,
        random: &mut Xoshiro256PlusPlus,
        turn: Turn,
        out: &mut Vec<u8>,
    ) {
        let script = match self.script.take() {
            Some(script) => Ok(script),
            None => Script::new(text, random.next_u64(), turn.index, turn.connections),
        };
        let start = out.len();
        let appended = script.and_then(|script| {
            let appended = script.append(out);
            self.script = Some(script);
            appended
        });
        if let Err(failure) = appended {
            out.truncate(start);
            self.failure = Some(failure);
        }
    }
}

#[derive(Default)]
struct Builder {
    chunks: Vec<Chunk>,
    bytes: Vec<u8>,
    patches: Vec<Patch>,
}

impl Builder {
    /// Appends a command and says what its reply is to be taken for.
    fn command(&mut self, command: Parsed) -> Result<RequestKind, TemplateError> {
        let read = |is_read: bool| if is_read { RequestKind::Read } else { RequestKind::Other };
        let (chunk, kind) = match command {
            Parsed::Inline(pieces) => {
                self.inline(&pieces)?;
                return Ok(RequestKind::Other);
            }
            Parsed::Arguments(arguments) => {
                let kind = read(is_read(&arguments));
                self.multibulk(arguments)?;
                return Ok(kind);
            }
            Parsed::Object(object) => {
                let kind = object.kind();
                (Chunk::Object(object), kind)
            }
            Parsed::OneOf { draw, encoded, are_reads } => {
                (Chunk::OneOf { draw, encoded }, read(are_reads))
            }
            Parsed::Scan { head, tail } => (Chunk::Scan { head, tail }, RequestKind::Scan),
        };
        self.close_fixed();
        self.chunks.push(chunk);
        Ok(kind)
    }

    fn inline(&mut self, pieces: &[Piece]) -> Result<(), TemplateError> {
        for piece in pieces {
            if piece.fixed_width().is_none() {
                return Err(TemplateError::FieldInline);
            }
            self.fixed_piece(piece)?;
        }
        self.bytes.extend_from_slice(b"\r\n");
        Ok(())
    }

    fn multibulk(&mut self, arguments: Vec<Vec<Piece>>) -> Result<(), TemplateError> {
        self.bytes.extend_from_slice(format!("*{}\r\n", arguments.len()).as_bytes());
        for pieces in arguments {
            let Some(length) = pieces.iter().map(Piece::fixed_width).sum::<Option<usize>>() else {
                self.close_fixed();
                self.chunks.push(Chunk::Variable(pieces));
                continue;
            };
            self.bytes.extend_from_slice(format!("${length}\r\n").as_bytes());
            for piece in &pieces {
                self.fixed_piece(piece)?;
            }
            self.bytes.extend_from_slice(b"\r\n");
        }
        Ok(())
    }

    /// Appends a piece of known width; its slot is filled with zeros, which [`write_digits`] relies on.
    fn fixed_piece(&mut self, piece: &Piece) -> Result<(), TemplateError> {
        let offset = self.bytes.len();
        let width = piece.fixed_width().expect("only pieces of fixed width come here");
        if offset.saturating_add(width) > MAX_ENCODED_BYTES {
            return Err(TemplateError::TooLarge);
        }
        match piece {
            Piece::Literal(literal) => {
                self.bytes.extend_from_slice(literal);
                return Ok(());
            }
            Piece::Digits { draw, .. } => {
                self.patches.push(Patch { offset, width, draw: Some(*draw) });
            }
            Piece::Random { .. }
            | Piece::Integer { .. }
            | Piece::Field { .. }
            | Piece::Key { .. }
            | Piece::Value { .. } => {
                self.patches.push(Patch { offset, width, draw: None });
            }
        }
        self.bytes.resize(offset + width, b'0');
        Ok(())
    }

    fn close_fixed(&mut self) {
        if !self.bytes.is_empty() {
            self.chunks.push(Chunk::Fixed {
                bytes: std::mem::take(&mut self.bytes),
                patches: std::mem::take(&mut self.patches),
            });
        }
    }

    fn finish(mut self) -> Vec<Chunk> {
        self.close_fixed();
        self.chunks
    }
}

fn is_read(arguments: &[Vec<Piece>]) -> bool {
    let Some([Piece::Literal(name)]) = arguments.first().map(Vec::as_slice) else {
        return false;
    };
    is_read_command(name)
}

/// True for the name of a command whose null or empty reply is a miss.
pub(crate) fn is_read_command(name: &[u8]) -> bool {
    READ_COMMANDS.iter().any(|read| read.as_bytes().eq_ignore_ascii_case(name))
}

fn append_piece(piece: &Piece, values: &[u64], random: &mut Xoshiro256PlusPlus, out: &mut Vec<u8>) {
    let start = out.len();
    match piece {
        Piece::Literal(literal) => out.extend_from_slice(literal),
        Piece::Digits { draw, width } => {
            out.resize(start + width, b'0');
            write_digits(values[*draw], &mut out[start..]);
        }
        Piece::Random { bytes } => {
            out.resize(start + bytes, b'0');
            write_alphanumerics(random, &mut out[start..]);
        }
        Piece::Field { draw, values: rows } => {
            out.extend_from_slice(rows[values[*draw] as usize].as_bytes());
        }
        Piece::Key { draw, source } => source.append_key(values[*draw], out),
        Piece::Value { key, item, source } => {
            let item = item.map(|draw| values[draw]);
            let length = source.value_length(key.map(|draw| values[draw]), item, random);
            source.append_value(length, item, random, out);
        }
        Piece::Integer { draw, plus, at_most } => {
            let value = values[*draw].saturating_add(*plus).min(*at_most);
            out.extend_from_slice(itoa::Buffer::new().format(value).as_bytes());
        }
    }
}

/// Writes the last digits of `value` into a slot that holds zeros.
fn write_digits(value: u64, slot: &mut [u8]) {
    let mut rest = value;
    let mut end = slot.len();
    while rest != 0 && end >= 8 {
        slot[end - 8..end].copy_from_slice(&eight_digits((rest % 100_000_000) as u32));
        rest /= 100_000_000;
        end -= 8;
    }
    while rest != 0 && end > 0 {
        slot[end - 1] = b'0' + (rest % 10) as u8;
        rest /= 10;
        end -= 1;
    }
}

/// Eight digits of a number below 10^8, all lanes of a word at once: fours, then pairs, then single digits.
fn eight_digits(value: u32) -> [u8; 8] {
    let fours = u64::from(value / 10_000) | u64::from(value % 10_000) << 32;
    let hundreds = ((fours * 10_486) >> 20) & 0x0000_007f_0000_007f;
    let pairs = hundreds | (fours - hundreds * 100) << 16;
    let tens = ((pairs * 103) >> 10) & 0x000f_000f_000f_000f;
    let digits = tens | (pairs - tens * 10) << 8;
    (digits + 0x3030_3030_3030_3030).to_le_bytes()
}

const ALPHANUMERICS: &[u8; 62] = b"0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz";

/// Fills the slot with random letters and digits, four from each random word: sixteen bits a letter leave no visible bias.
pub(crate) fn write_alphanumerics(random: &mut Xoshiro256PlusPlus, slot: &mut [u8]) {
    for four in slot.chunks_mut(4) {
        let mut bits = random.next_u64();
        for byte in four {
            *byte = ALPHANUMERICS[(((bits & 0xffff) * 62) >> 16) as usize];
            bits >>= 16;
        }
    }
}

#[cfg(test)]
mod tests;
