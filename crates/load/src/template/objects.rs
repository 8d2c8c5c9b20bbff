//! Commands on objects: numbered keys and values made on the way, in the words of the target's protocol.
//!
//! A request costs the digits of its key and one copy of its value; nothing is allocated.

use std::sync::Arc;

use rand_core::{RngCore, SeedableRng};
use rand_xoshiro::Xoshiro256PlusPlus;

use super::{RequestKind, TemplateError};
use crate::distribution::{Distribution, Zipf, uniform};
use crate::memcache;
use crate::plan::Protocol;
use crate::plan::objects::{
    Fetch, ImportedItem, KeyPattern, NumberRange, ObjectCommand, Objects, Part, Store,
    ValueContent, ValueSize,
};
use crate::template_text::Piece;

/// Random bytes beyond the longest value, so that values begin at many places among them.
const POOL_MARGIN_BYTES: usize = 64 << 10;
/// Seed of those bytes; where a value begins, and what is changed in it, comes from the connection's own stream.
const POOL_SEED: u64 = 0x5eed_0b1e;

/// The objects of a plan, prepared: shared by all its commands.
#[derive(Debug, PartialEq)]
pub(crate) struct ObjectSource {
    protocol: Protocol,
    prefix: Vec<u8>,
    minimum: u64,
    maximum: u64,
    size: SizeLaw,
    /// Where random values are cut from; empty: values are made of `x`.
    pool: Vec<u8>,
    imported: Vec<ImportedItem>,
    generate_keys: bool,
}

#[derive(Debug, PartialEq)]
enum SizeLaw {
    Fixed(u64),
    Drawn(Distribution),
    Spread { least: u64, most: u64 },
}

/// One request on objects.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct ObjectChunk {
    source: Arc<ObjectSource>,
    request: Request,
    /// The draws of its keys.
    keys: Vec<usize>,
    /// The draw of the imported item that is written or compared with.
    item: Option<usize>,
}

#[derive(Debug, Clone, Copy, PartialEq)]
enum Request {
    Store { expiry: Option<NumberRange>, offset: u64 },
    Fetch { offset: u64 },
}

impl ObjectSource {
    pub(crate) fn new(objects: &Objects, protocol: Protocol) -> Self {
        let range = |least: u64, most: u64| Distribution::Range { least, count: most - least + 1 };
        let (size, longest) = match &objects.value_size {
            ValueSize::Fixed { bytes } => (SizeLaw::Fixed(*bytes), *bytes),
            ValueSize::Range { least, most } => (SizeLaw::Drawn(range(*least, *most)), *most),
            ValueSize::Spread { least, most } => {
                (SizeLaw::Spread { least: *least, most: *most }, *most)
            }
            ValueSize::List(sizes) => {
                let mut sum = 0;
                let sums = sizes.iter().map(|size| {
                    sum += u64::from(size.weight);
                    (sum, size.bytes)
                });
                let longest = sizes.iter().map(|size| size.bytes).max().unwrap_or(0);
                (SizeLaw::Drawn(Distribution::Weighted(sums.collect())), longest)
            }
        };
        let mut pool = Vec::new();
        if objects.value_content == ValueContent::Random && objects.imported.is_empty() {
            pool.resize(longest as usize + POOL_MARGIN_BYTES, 0);
            Xoshiro256PlusPlus::seed_from_u64(POOL_SEED).fill_bytes(&mut pool);
        }
        Self {
            protocol,
            prefix: objects.key_prefix.0.clone(),
            minimum: objects.key_minimum,
            maximum: objects.key_maximum,
            size,
            pool,
            imported: objects.imported.clone(),
            generate_keys: objects.generate_keys,
        }
    }

    /// True when keys are those of the imported items.
    fn has_imported_keys(&self) -> bool {
        !self.imported.is_empty() && !self.generate_keys
    }

    /// The law of the number of a key, or of the index of the item whose key it is.
    pub(crate) fn key_law(&self, pattern: KeyPattern) -> Distribution {
        if self.has_imported_keys() {
            let count = self.imported.len() as u64;
            return match pattern {
                KeyPattern::Sequential | KeyPattern::Parallel => {
                    Distribution::Sequence { below: count, step: 1, position: 0 }
                }
                _ => law(pattern, 0, count - 1),
            };
        }
        law(pattern, self.minimum, self.maximum)
    }

    /// The law of the index of the item whose value is written; `None` when values are made up.
    pub(crate) fn item_law(&self, pattern: KeyPattern) -> Option<Distribution> {
        let below = self.imported.len() as u64;
        match pattern {
            _ if below == 0 => None,
            KeyPattern::Sequential | KeyPattern::Parallel => {
                Some(Distribution::Sequence { below, step: 1, position: 0 })
            }
            _ => Some(Distribution::Uniform { below }),
        }
    }

    /// Appends the key that a draw has chosen.
    pub(crate) fn append_key(&self, drawn: u64, out: &mut Vec<u8>) {
        if self.has_imported_keys() {
            out.extend_from_slice(self.imported[drawn as usize].key.as_bytes());
        } else {
            out.extend_from_slice(&self.prefix);
            out.extend_from_slice(itoa::Buffer::new().format(drawn).as_bytes());
        }
    }

    /// How long the next value is: that of the item, or drawn, or by the number of the key.
    pub(crate) fn value_length(
        &self,
        key: Option<u64>,
        item: Option<u64>,
        random: &mut Xoshiro256PlusPlus,
    ) -> usize {
        if let Some(item) = item {
            return self.imported[item as usize].value.0.len();
        }
        let length = match &self.size {
            SizeLaw::Fixed(bytes) => *bytes,
            SizeLaw::Drawn(law) => law.draw(random, 0.into()),
            SizeLaw::Spread { least, most } => {
                let width = u128::from(self.maximum - self.minimum);
                let at = match key {
                    Some(key) => u128::from(key - self.minimum),
                    None => u128::from(uniform(random, self.maximum - self.minimum + 1)),
                };
                least + (u128::from(most - least) * at / width.max(1)) as u64
            }
        };
        length as usize
    }

    /// Appends a value of that length.
    pub(crate) fn append_value(
        &self,
        length: usize,
        item: Option<u64>,
        random: &mut Xoshiro256PlusPlus,
        out: &mut Vec<u8>,
    ) {
        if let Some(item) = item {
            out.extend_from_slice(self.imported[item as usize].value.as_bytes());
            return;
        }
        let start = out.len();
        if self.pool.is_empty() {
            out.resize(start + length, b'x');
            return;
        }
        let from = uniform(random, (self.pool.len() - length + 1) as u64) as usize;
        out.extend_from_slice(&self.pool[from..from + length]);
        // Values that begin at the same place still differ.
        let bits = random.next_u64().to_le_bytes();
        let changed = length.min(bits.len());
        let at = start + (length - changed) / 2;
        out[at..at + changed].copy_from_slice(&bits[..changed]);
    }

    /// An item of the import.
    pub(crate) fn item(&self, index: u64) -> Option<&ImportedItem> {
        self.imported.get(index as usize)
    }

    fn longest_value(&self) -> u64 {
        match &self.size {
            SizeLaw::Fixed(bytes) => *bytes,
            SizeLaw::Spread { most, .. } => *most,
            SizeLaw::Drawn(Distribution::Range { least, count }) => least + count - 1,
            SizeLaw::Drawn(Distribution::Weighted(sums)) => {
                sums.iter().map(|(_, bytes)| *bytes).max().unwrap_or(0)
            }
            SizeLaw::Drawn(_) => 0,
        }
    }
}

fn law(pattern: KeyPattern, least: u64, most: u64) -> Distribution {
    let count = most - least + 1;
    match pattern {
        KeyPattern::Random => Distribution::Range { least, count },
        KeyPattern::Sequential => Distribution::OwnSequence { least, count, step: 1, position: 0 },
        KeyPattern::Parallel => Distribution::OwnPart { least, count, step: 1, position: 0 },
        KeyPattern::Zipf { exponent } => {
            Distribution::RangeZipf { least, zipf: Zipf::new(count, exponent) }
        }
        KeyPattern::Gaussian { deviation, median } => Distribution::Gaussian {
            least,
            most,
            deviation: deviation.unwrap_or(count as f64 / 6.0),
            median: median.unwrap_or(least as f64 + (most - least) as f64 / 2.0),
        },
    }
}

impl ObjectChunk {
    pub(crate) fn store(
        source: &Arc<ObjectSource>,
        store: Store,
        draws: &mut Vec<Distribution>,
    ) -> Self {
        let keys = vec![add(draws, source.key_law(store.keys))];
        let item = if source.has_imported_keys() {
            Some(keys[0])
        } else {
            source.item_law(store.keys).map(|law| add(draws, law))
        };
        let request = Request::Store { expiry: store.expiry_s, offset: store.offset };
        Self { source: Arc::clone(source), request, keys, item }
    }

    pub(crate) fn fetch(
        source: &Arc<ObjectSource>,
        fetch: Fetch,
        draws: &mut Vec<Distribution>,
    ) -> Self {
        let count = u64::from(fetch.count);
        let keys: Vec<usize> = (0..count)
            .map(|position| {
                let mut law = source.key_law(fetch.keys);
                law.set_step(count, position);
                add(draws, law)
            })
            .collect();
        let item = if source.has_imported_keys() {
            Some(keys[0])
        } else {
            source.item_law(fetch.keys).map(|law| add(draws, law))
        };
        let request = Request::Fetch { offset: fetch.offset };
        Self { source: Arc::clone(source), request, keys, item: item.filter(|_| fetch.verify) }
    }

    /// What its reply is to be taken for.
    pub(crate) fn kind(&self) -> RequestKind {
        match self.request {
            Request::Store { .. } => RequestKind::Other,
            Request::Fetch { .. } if self.item.is_some() => RequestKind::Verify,
            Request::Fetch { .. } if self.keys.len() > 1 => {
                RequestKind::ReadMany(self.keys.len() as u32)
            }
            Request::Fetch { offset } if offset > 0 => RequestKind::ReadPart,
            Request::Fetch { .. } => RequestKind::Read,
        }
    }

    /// The value that a read must find, by the draws of its request.
    pub(crate) fn expected(&self, values: &[u64]) -> Option<&[u8]> {
        let item = self.source.item(values[self.item?])?;
        Some(item.value.as_bytes())
    }

    pub(crate) fn render(
        &self,
        values: &[u64],
        random: &mut Xoshiro256PlusPlus,
        scratch: &mut Vec<u8>,
        out: &mut Vec<u8>,
    ) {
        match self.request {
            Request::Store { expiry, offset } => {
                self.render_store(expiry, offset, values, random, scratch, out);
            }
            Request::Fetch { offset } => self.render_fetch(offset, values, scratch, out),
        }
    }

    fn render_store(
        &self,
        expiry: Option<NumberRange>,
        offset: u64,
        values: &[u64],
        random: &mut Xoshiro256PlusPlus,
        key: &mut Vec<u8>,
        out: &mut Vec<u8>,
    ) {
        let source = &*self.source;
        let drawn = values[self.keys[0]];
        let item = self.item.map(|draw| values[draw]);
        key.clear();
        source.append_key(drawn, key);
        let imported = item.and_then(|item| source.item(item));
        let expiry_s = match expiry {
            Some(range) => range.least + uniform(random, range.most - range.least + 1),
            None => imported.map_or(0, |item| item.expiry_s.into()),
        };
        let length = source.value_length(Some(drawn), item, random);
        match source.protocol {
            Protocol::Resp2 | Protocol::Resp3 => {
                match (offset, expiry_s) {
                    (0, 0) => out.extend_from_slice(b"*3\r\n$3\r\nSET\r\n"),
                    (0, _) => out.extend_from_slice(b"*4\r\n$5\r\nSETEX\r\n"),
                    _ => out.extend_from_slice(b"*4\r\n$8\r\nSETRANGE\r\n"),
                }
                resp::encode::argument(out, key);
                match (offset, expiry_s) {
                    (0, 0) => {}
                    (0, _) => integer_argument(out, expiry_s),
                    _ => integer_argument(out, offset),
                }
                append_header(out, length);
                source.append_value(length, item, random, out);
                out.extend_from_slice(b"\r\n");
            }
            protocol => {
                let flags = imported.map_or(0, |item| item.flags);
                memcache::store(protocol, key, flags, expiry_s as u32, length, out);
                source.append_value(length, item, random, out);
                if protocol != Protocol::MemcacheBinary {
                    out.extend_from_slice(b"\r\n");
                }
            }
        }
    }

    fn render_fetch(&self, offset: u64, values: &[u64], key: &mut Vec<u8>, out: &mut Vec<u8>) {
        let source = &*self.source;
        let is_resp = !source.protocol.is_memcache();
        if is_resp {
            match self.keys.len() {
                _ if offset > 0 => out.extend_from_slice(b"*4\r\n$8\r\nGETRANGE\r\n"),
                1 => out.extend_from_slice(b"*2\r\n$3\r\nGET\r\n"),
                count => {
                    resp::encode::header(out, count + 1);
                    out.extend_from_slice(b"$4\r\nMGET\r\n");
                }
            }
        } else {
            memcache::begin_fetch(source.protocol, out);
        }
        for draw in &self.keys {
            key.clear();
            source.append_key(values[*draw], key);
            if is_resp {
                resp::encode::argument(out, key);
            } else {
                memcache::fetch_key(source.protocol, key, self.keys.len() > 1, out);
            }
        }
        if !is_resp {
            memcache::end_fetch(source.protocol, self.keys.len() > 1, out);
        } else if offset > 0 {
            integer_argument(out, offset);
            integer_argument(out, offset + source.longest_value());
        }
    }
}

/// The arguments of a command on objects, as pieces.
pub(crate) fn pieces(
    source: &Arc<ObjectSource>,
    command: &ObjectCommand,
    draws: &mut Vec<Distribution>,
) -> Result<Vec<Vec<Piece>>, TemplateError> {
    let mut keys = Vec::new();
    let mut last_item = None;
    let mut arguments = Vec::with_capacity(command.arguments.len());
    for parts in &command.arguments {
        let mut pieces = Vec::with_capacity(parts.len());
        for part in parts {
            pieces.push(match part {
                Part::Text(text) => Piece::Literal(text.0.clone()),
                Part::Key => {
                    let draw = add(draws, source.key_law(command.keys));
                    keys.push(draw);
                    last_item = source.has_imported_keys().then_some(draw);
                    Piece::Key { draw, source: Arc::clone(source) }
                }
                Part::Data => {
                    let own = || source.item_law(command.keys).map(|law| add(draws, law));
                    let item = last_item.or_else(own);
                    let key = keys.last().copied().filter(|_| !source.has_imported_keys());
                    Piece::Value { key, item, source: Arc::clone(source) }
                }
                Part::Number(NumberRange { least, most }) => {
                    let law = Distribution::Range { least: *least, count: most - least + 1 };
                    Piece::Integer { draw: add(draws, law), plus: 0, at_most: u64::MAX }
                }
            });
        }
        arguments.push(pieces);
    }
    for (position, draw) in keys.iter().enumerate() {
        draws[*draw].set_step(keys.len() as u64, position as u64);
    }
    if arguments.is_empty() { Err(TemplateError::Empty) } else { Ok(arguments) }
}

fn add(draws: &mut Vec<Distribution>, law: Distribution) -> usize {
    draws.push(law);
    draws.len() - 1
}

/// `$length` and its line end, for a string whose bytes follow.
fn append_header(out: &mut Vec<u8>, length: usize) {
    out.push(b'$');
    out.extend_from_slice(itoa::Buffer::new().format(length).as_bytes());
    out.extend_from_slice(b"\r\n");
}

fn integer_argument(out: &mut Vec<u8>, number: u64) {
    resp::encode::argument(out, itoa::Buffer::new().format(number).as_bytes());
}

#[cfg(test)]
mod tests;
