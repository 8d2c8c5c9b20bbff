//! One listpack entry: its value, and its bytes.
//!
//! An entry is an encoding byte (with a length or the value's first bits), the rest of the value,
//! and a back length that lets a reader step backwards. The encodings are those of the listpack
//! specification that Redis publishes.

use text::integer::{decimal_len, parse_i64};

/// Byte that ends a listpack.
pub(super) const END: u8 = 0xFF;

const STRING_32: u8 = 0xF0;
const INT_16: u8 = 0xF1;
const INT_24: u8 = 0xF2;
const INT_32: u8 = 0xF3;
const INT_64: u8 = 0xF4;

/// The value of one entry.
///
/// Text that is a canonical decimal `i64` is always held as [`Entry::Int`]: make an entry from
/// bytes with [`Entry::from`], which looks. [`Entry::Bytes`] made by hand must not hold such text.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Entry<'a> {
    /// An integer, whose text is its shortest decimal form.
    Int(i64),
    /// Any other bytes.
    Bytes(&'a [u8]),
}

impl<'a> Entry<'a> {
    /// The value as text; `buffer` holds the digits of an integer.
    #[must_use]
    pub fn text<'b>(self, buffer: &'b mut itoa::Buffer) -> &'b [u8]
    where
        'a: 'b,
    {
        match self {
            Entry::Int(value) => buffer.format(value).as_bytes(),
            Entry::Bytes(bytes) => bytes,
        }
    }

    /// Length of the text in bytes.
    #[must_use]
    pub fn text_len(self) -> usize {
        match self {
            Entry::Int(value) => decimal_len(value),
            Entry::Bytes(bytes) => bytes.len(),
        }
    }

    /// A copy of the text.
    #[must_use]
    pub fn to_vec(self) -> Vec<u8> {
        self.text(&mut itoa::Buffer::new()).to_vec()
    }

    /// Whether the text is `text`.
    #[must_use]
    pub fn is_text(self, text: &[u8]) -> bool {
        match self {
            Entry::Int(value) => parse_i64(text) == Some(value),
            Entry::Bytes(bytes) => bytes == text,
        }
    }

    /// The value as an integer, if its text is a canonical one.
    #[must_use]
    pub fn as_int(self) -> Option<i64> {
        match self {
            Entry::Int(value) => Some(value),
            Entry::Bytes(bytes) => parse_i64(bytes),
        }
    }
}

impl<'a> From<&'a [u8]> for Entry<'a> {
    fn from(text: &'a [u8]) -> Self {
        parse_i64(text).map_or(Entry::Bytes(text), Entry::Int)
    }
}

impl<'a, const N: usize> From<&'a [u8; N]> for Entry<'a> {
    fn from(text: &'a [u8; N]) -> Self {
        Entry::from(text.as_slice())
    }
}

impl From<i64> for Entry<'_> {
    fn from(value: i64) -> Self {
        Entry::Int(value)
    }
}

/// The bytes of an entry up to its back length: `head`, then `payload`.
pub(super) struct Encoded<'a> {
    head: [u8; 9],
    head_len: usize,
    payload: &'a [u8],
}

impl<'a> Encoded<'a> {
    pub(super) fn new(entry: Entry<'a>) -> Self {
        match entry {
            Entry::Int(value) => Self::integer(value),
            Entry::Bytes(bytes) => Self::string(bytes),
        }
    }

    fn integer(value: i64) -> Self {
        let mut head = [0; 9];
        let low = value.to_le_bytes();
        let head_len = if (0..=0x7F).contains(&value) {
            head[0] = low[0];
            1
        } else if (-0x1000..=0xFFF).contains(&value) {
            head[0] = 0xC0 | (low[1] & 0x1F);
            head[1] = low[0];
            2
        } else {
            let (code, width) = if (-0x8000..=0x7FFF).contains(&value) {
                (INT_16, 2)
            } else if (-0x80_0000..=0x7F_FFFF).contains(&value) {
                (INT_24, 3)
            } else if i32::try_from(value).is_ok() {
                (INT_32, 4)
            } else {
                (INT_64, 8)
            };
            head[0] = code;
            head[1..=width].copy_from_slice(&low[..width]);
            width + 1
        };
        Self { head, head_len, payload: &[] }
    }

    fn string(bytes: &'a [u8]) -> Self {
        let mut head = [0; 9];
        let len = bytes.len();
        let low = (len as u32).to_le_bytes();
        let head_len = if len < 0x40 {
            head[0] = 0x80 | low[0];
            1
        } else if len < 0x1000 {
            head[0] = 0xE0 | low[1];
            head[1] = low[0];
            2
        } else {
            head[0] = STRING_32;
            head[1..5].copy_from_slice(&low);
            5
        };
        Self { head, head_len, payload: bytes }
    }

    /// Bytes of the entry without its back length.
    fn body_len(&self) -> usize {
        self.head_len + self.payload.len()
    }

    /// Bytes of the whole entry.
    pub(super) fn size(&self) -> usize {
        let body = self.body_len();
        body + back_size(body)
    }

    /// Writes the whole entry into `target`, which is [`Encoded::size`] long.
    pub(super) fn write(&self, target: &mut [u8]) {
        let body = self.body_len();
        target[..self.head_len].copy_from_slice(&self.head[..self.head_len]);
        target[self.head_len..body].copy_from_slice(self.payload);
        write_back(&mut target[body..], body);
    }

    /// Whether `bytes`, which start at an entry, start with this one.
    #[inline]
    pub(super) fn leads(&self, bytes: &[u8]) -> bool {
        bytes[0] == self.head[0]
            && bytes.starts_with(&self.head[..self.head_len])
            && bytes[self.head_len..].starts_with(self.payload)
    }
}

/// Bytes of the entry at the start of `bytes`, without its back length.
#[inline]
pub(super) fn body_len(bytes: &[u8]) -> usize {
    match bytes[0] {
        0x00..=0x7F => 1,
        code @ 0x80..=0xBF => 1 + usize::from(code & 0x3F),
        0xC0..=0xDF => 2,
        code @ 0xE0..=0xEF => 2 + (usize::from(code & 0x0F) << 8 | usize::from(bytes[1])),
        STRING_32 => 5 + u32::from_le_bytes([bytes[1], bytes[2], bytes[3], bytes[4]]) as usize,
        INT_16 => 3,
        INT_24 => 4,
        INT_32 => 5,
        _ => 9,
    }
}

/// Bytes of the whole entry at the start of `bytes`.
#[inline]
pub(super) fn size(bytes: &[u8]) -> usize {
    let body = body_len(bytes);
    body + back_size(body)
}

/// The value of the entry at the start of `bytes`.
#[inline]
pub(super) fn decode(bytes: &[u8]) -> Entry<'_> {
    match bytes[0] {
        code @ 0x00..=0x7F => Entry::Int(i64::from(code)),
        code @ 0x80..=0xBF => Entry::Bytes(&bytes[1..=usize::from(code & 0x3F)]),
        code @ 0xC0..=0xDF => {
            let unsigned = u16::from(code & 0x1F) << 8 | u16::from(bytes[1]);
            Entry::Int(i64::from((unsigned << 3).cast_signed() >> 3))
        }
        0xE0..=0xEF => Entry::Bytes(&bytes[2..body_len(bytes)]),
        STRING_32 => Entry::Bytes(&bytes[5..body_len(bytes)]),
        INT_16 => Entry::Int(i64::from(i16::from_le_bytes([bytes[1], bytes[2]]))),
        INT_24 => {
            let wide = i32::from_le_bytes([0, bytes[1], bytes[2], bytes[3]]);
            Entry::Int(i64::from(wide >> 8))
        }
        INT_32 => {
            let value = i32::from_le_bytes([bytes[1], bytes[2], bytes[3], bytes[4]]);
            Entry::Int(i64::from(value))
        }
        _ => {
            let mut value = [0; 8];
            value.copy_from_slice(&bytes[1..9]);
            Entry::Int(i64::from_le_bytes(value))
        }
    }
}

/// Bytes of the back length of an entry whose body is `body` bytes.
///
/// Redis moves to the next width one value early (16383, not 16384), and readers that know the
/// body length rely on it.
#[inline]
pub(super) fn back_size(body: usize) -> usize {
    match body {
        0..=127 => 1,
        128..16_383 => 2,
        16_383..2_097_151 => 3,
        2_097_151..268_435_455 => 4,
        _ => 5,
    }
}

/// Size of the entry that ends where `bytes` end, back length included.
#[inline]
pub(super) fn size_before(bytes: &[u8]) -> usize {
    let mut body = 0;
    for (group, byte) in bytes.iter().rev().take(5).enumerate() {
        body |= usize::from(byte & 0x7F) << (7 * group);
        if byte & 0x80 == 0 {
            break;
        }
    }
    body + back_size(body)
}

/// Writes the back length of a body into `target`: groups of seven bits, the highest first and
/// all but it marked, so that it reads from its end.
fn write_back(target: &mut [u8], body: usize) {
    let size = back_size(body);
    for (index, byte) in target[..size].iter_mut().enumerate() {
        let group = (body >> (7 * (size - 1 - index))) as u8 & 0x7F;
        *byte = if index == 0 { group } else { group | 0x80 };
    }
}

/// Why an entry of untrusted bytes was refused, or its size and whether it is in its shortest form.
pub(super) fn check(bytes: &[u8]) -> Option<(usize, bool)> {
    let head = match *bytes.first()? {
        0x00..=0xBF => 1,
        0xC0..=0xEF => 2,
        STRING_32 | INT_32 => 5,
        INT_16 => 3,
        INT_24 => 4,
        INT_64 => 9,
        _ => return None,
    };
    if bytes.len() < head {
        return None;
    }
    let body = body_len(bytes);
    let size = body.checked_add(back_size(body))?;
    if bytes.len() < size {
        return None;
    }
    let mut back = [0; 5];
    write_back(&mut back, body);
    if bytes[body..size] != back[..size - body] {
        return None;
    }
    let entry = match decode(bytes) {
        Entry::Bytes(text) => Entry::from(text),
        entry @ Entry::Int(_) => entry,
    };
    let shortest = Encoded::new(entry);
    Some((size, shortest.size() == size && shortest.leads(bytes)))
}
