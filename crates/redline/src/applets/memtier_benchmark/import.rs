//! `--data-import`: the CSV of memcached's dumps, `dumpflags, time, exptime, nbytes, nsuffix, it_flags, clsid, nkey, key, data`.
//!
//! Key and data may stand in quotes, in which quotes are doubled and anything else, line ends too, is taken as it is.

use load::plan::objects::ImportedItem;

/// Largest file, in bytes.
pub const MAX_BYTES: u64 = 4 << 30;
/// Most items of a file.
const MAX_ITEMS: usize = 100_000_000;
/// How every file begins.
const HEADER: &[u8] = b"dumpflags, time, exptime";
/// memcached counts the line end behind a value.
const LINE_END_BYTES: u64 = 2;

/// The items of a file. Without `keeps_expiry` they have no time to live.
///
/// # Errors
/// A sentence that names the line.
pub fn items(file: &[u8], keeps_expiry: bool) -> Result<Vec<ImportedItem>, String> {
    if !file.starts_with(HEADER) {
        return Err("line 1 is not the header of a dump (dumpflags, time, exptime, ...)".into());
    }
    let start = file.iter().position(|byte| *byte == b'\n').map_or(file.len(), |at| at + 1);
    let mut reader = Reader { rest: &file[start..], line: 2 };
    let mut items = Vec::new();
    while !reader.rest.is_empty() {
        let line = reader.line;
        let item = reader.item(keeps_expiry).map_err(|wrong| format!("line {line}: {wrong}"))?;
        items.push(item);
        if items.len() > MAX_ITEMS {
            return Err(format!("there are more than {MAX_ITEMS} items"));
        }
    }
    if items.is_empty() { Err("there is no item".into()) } else { Ok(items) }
}

struct Reader<'a> {
    rest: &'a [u8],
    line: usize,
}

impl Reader<'_> {
    fn item(&mut self, keeps_expiry: bool) -> Result<ImportedItem, String> {
        let mut numbers = [0u64; 8];
        for number in &mut numbers {
            let field = self.field()?;
            let text = String::from_utf8_lossy(&field).into_owned();
            *number = text.trim().parse().map_err(|_| format!("'{text}' is no number"))?;
        }
        let [_, _, expiry_s, value_bytes, _, flags, _, key_bytes] = numbers;
        let key = self.field()?;
        let value = self.field()?;
        if key.len() as u64 != key_bytes {
            return Err(format!("the key has {} bytes, not {key_bytes}", key.len()));
        }
        if (value.len() as u64) + LINE_END_BYTES != value_bytes {
            let told = value_bytes.saturating_sub(LINE_END_BYTES);
            return Err(format!("the value has {} bytes, not {told}", value.len()));
        }
        let small = |number: u64, what: &str| {
            u32::try_from(number).map_err(|_| format!("the {what} {number} is too large"))
        };
        Ok(ImportedItem {
            key: key.into(),
            value: value.into(),
            expiry_s: if keeps_expiry { small(expiry_s, "expiry")? } else { 0 },
            flags: small(flags, "number of flags")?,
        })
    }

    /// The next field, and the separator behind it.
    fn field(&mut self) -> Result<Vec<u8>, String> {
        let spaces = self.rest.iter().take_while(|byte| **byte == b' ').count();
        self.rest = &self.rest[spaces..];
        let mut field = Vec::new();
        if let Some(inner) = self.rest.strip_prefix(b"\"") {
            self.rest = inner;
            loop {
                let quote = self.rest.iter().position(|byte| *byte == b'"');
                let quote = quote.ok_or("a quote is not closed")?;
                field.extend_from_slice(&self.rest[..quote]);
                self.rest = &self.rest[quote + 1..];
                match self.rest.strip_prefix(b"\"") {
                    Some(behind) => {
                        field.push(b'"');
                        self.rest = behind;
                    }
                    None => break,
                }
            }
            self.line += field.iter().filter(|byte| **byte == b'\n').count();
        } else {
            let end = self.rest.iter().position(|byte| matches!(byte, b',' | b'\r' | b'\n'));
            let end = end.unwrap_or(self.rest.len());
            field.extend_from_slice(&self.rest[..end]);
            self.rest = &self.rest[end..];
        }
        self.separator()?;
        Ok(field)
    }

    fn separator(&mut self) -> Result<(), String> {
        let length = match self.rest {
            [] => 0,
            [b',', ..] => 1,
            [b'\r', b'\n', ..] => 2,
            [b'\n', ..] => 1,
            _ => return Err("something stands behind a quoted field".into()),
        };
        self.line += usize::from(self.rest[..length].ends_with(b"\n"));
        self.rest = &self.rest[length..];
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const HEAD: &str =
        "dumpflags, time, exptime, nbytes, nsuffix, it_flags, clsid, nkey, key, data\n";

    fn read(rows: &str) -> Result<Vec<ImportedItem>, String> {
        items(format!("{HEAD}{rows}").as_bytes(), true)
    }

    #[test]
    fn keys_and_values_may_be_quoted() {
        let items =
            read("0, 1, 60, 5, 1, 7, 1, 3, \"a,b\", \"x\"\"y\"\n0, 1, 0, 4, 1, 0, 1, 1, k, vv\r\n")
                .unwrap();
        assert_eq!(items[0].key.as_bytes(), b"a,b");
        assert_eq!(items[0].value.as_bytes(), b"x\"y");
        assert_eq!((items[0].expiry_s, items[0].flags), (60, 7));
        assert_eq!(items[1].value.as_bytes(), b"vv");
        let items = read("0, 1, 0, 4, 1, 0, 1, 1, \"k\", \"\n\n\"").unwrap();
        assert_eq!(items[0].value.as_bytes(), b"\n\n");
    }

    #[test]
    fn what_is_wrong_is_said_with_its_line() {
        for (rows, sentence) in [
            ("", "there is no item"),
            ("0, 1, 0, 4, 1, 0, 1, 1, k, vv\nx, 1", "line 3: 'x' is no number"),
            ("0, 1, 0, 9, 1, 0, 1, 1, k, vv\n", "line 2: the value has 2 bytes, not 7"),
            ("0, 1, 0, 4, 1, 0, 1, 1, \"k, vv\n", "line 2: a quote is not closed"),
        ] {
            assert_eq!(read(rows).unwrap_err(), sentence);
        }
        assert!(items(b"a,b\n", true).is_err());
    }
}
