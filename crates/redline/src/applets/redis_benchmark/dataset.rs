//! `--dataset`: a CSV or TSV file with a header row, from which `__field:NAME__` takes values.
//!
//! Binary values, which cannot stand in such a file, are written there in Base64 and sent decoded by
//! `__field:NAME:base64__`.

use std::path::Path;

use anyhow::Context;
use base64::Engine;
use base64::prelude::BASE64_STANDARD;
use load::argument::Argument;
use load::plan::Field;

/// Most bytes of values kept in memory; the original has no limit.
const VALUE_BYTES_MAX: usize = 4 << 30;
const PREFIX: &[u8] = b"__field:";
const DECODED: &str = ":base64";

/// The fields of the file at `path` that `command` names, as far as its first `rows_max` rows (all if 0).
///
/// # Errors
/// The file cannot be read, has no rows, or lacks a field that the command names.
pub fn load(path: &Path, rows_max: usize, command: &[Vec<u8>]) -> anyhow::Result<Vec<Field>> {
    let is_tsv = path.extension().is_some_and(|extension| extension.eq_ignore_ascii_case("tsv"));
    let mut reader = csv::ReaderBuilder::new()
        .delimiter(if is_tsv { b'\t' } else { b',' })
        .from_path(path)
        .with_context(|| format!("cannot read the data set {}", path.display()))?;
    let header = reader.byte_headers()?.clone();
    let mut fields = Vec::new();
    let mut columns = Vec::new();
    for name in names(command) {
        let column = name.strip_suffix(DECODED).unwrap_or(&name);
        let place = header.iter().position(|title| title == column.as_bytes());
        let known = || header.iter().map(String::from_utf8_lossy).collect::<Vec<_>>().join(", ");
        columns.push(place.with_context(|| {
            format!("the data set has no field '{column}'; it has: {}", known())
        })?);
        fields.push(Field { name, values: Vec::new() });
    }
    let mut bytes = 0;
    for (row, record) in reader.byte_records().enumerate() {
        if rows_max != 0 && row >= rows_max {
            break;
        }
        let record = record?;
        for (field, &column) in fields.iter_mut().zip(&columns) {
            let value = value(&record[column], field.name.ends_with(DECODED))
                .with_context(|| format!("row {}, field {}", row + 1, field.name))?;
            bytes += value.len();
            field.values.push(Argument(value));
        }
        anyhow::ensure!(
            bytes <= VALUE_BYTES_MAX,
            "the data set is larger than {VALUE_BYTES_MAX} bytes; --maxdocs takes fewer rows"
        );
    }
    anyhow::ensure!(
        fields.iter().all(|field| !field.values.is_empty()),
        "the data set has no rows"
    );
    Ok(fields)
}

/// The names of the fields in the arguments, each once.
fn names(command: &[Vec<u8>]) -> Vec<String> {
    let mut names = Vec::new();
    for argument in command {
        let mut rest = argument.as_slice();
        while let Some(at) = rest.windows(PREFIX.len()).position(|window| window == PREFIX) {
            rest = &rest[at + PREFIX.len()..];
            let Some(end) = rest.windows(2).position(|pair| pair == b"__") else { break };
            let name = String::from_utf8_lossy(&rest[..end]).into_owned();
            if !names.contains(&name) {
                names.push(name);
            }
            rest = &rest[end + 2..];
        }
    }
    names
}

fn value(text: &[u8], is_encoded: bool) -> anyhow::Result<Vec<u8>> {
    if is_encoded { Ok(BASE64_STANDARD.decode(text)?) } else { Ok(text.to_vec()) }
}

#[cfg(test)]
mod tests {
    use super::load;

    fn words(line: &str) -> Vec<Vec<u8>> {
        line.split(' ').map(|word| word.as_bytes().to_vec()).collect()
    }

    fn file(name: &str, text: &str) -> std::path::PathBuf {
        let path = std::env::temp_dir().join(format!("redline-{}-{name}", std::process::id()));
        std::fs::write(&path, text).unwrap();
        path
    }

    #[test]
    fn fields_named_by_the_command_are_read_and_others_are_not() {
        let path = file("a.csv", "id,text,vector\n1,\"a, b\",AAH/\n2,c,\n3,d,\n");
        let command =
            words("HSET doc:__field:id__ t __field:text__ v __field:vector:base64__ __field:id__");
        let fields = load(&path, 2, &command).unwrap();
        let seen: Vec<_> = fields
            .iter()
            .map(|field| (field.name.as_str(), field.values.iter().map(|v| v.0.clone()).collect()))
            .collect();
        let expected: [(&str, Vec<Vec<u8>>); 3] = [
            ("id", vec![b"1".to_vec(), b"2".to_vec()]),
            ("text", vec![b"a, b".to_vec(), b"c".to_vec()]),
            ("vector:base64", vec![vec![0, 1, 255], vec![]]),
        ];
        assert_eq!(seen, expected);
        let error = load(&path, 0, &words("GET __field:key__")).unwrap_err().to_string();
        assert_eq!(error, "the data set has no field 'key'; it has: id, text, vector");
        std::fs::remove_file(path).unwrap();
    }

    #[test]
    fn what_cannot_be_read_is_named() {
        let tsv = file("b.tsv", "id\ttext\n1\t\u{221e}\n");
        assert_eq!(load(&tsv, 0, &words("GET __field:id__")).unwrap()[0].values.len(), 1);
        let empty = file("c.csv", "id\n");
        let error = load(&empty, 0, &words("GET __field:id__")).unwrap_err().to_string();
        assert_eq!(error, "the data set has no rows");
        assert!(load(std::path::Path::new("/none.csv"), 0, &[]).is_err());
        for path in [tsv, empty] {
            std::fs::remove_file(path).unwrap();
        }
    }
}
