//! How two replies are compared: byte for byte, but for what Redis leaves open.

use crate::reply::Value;

/// What must agree between two replies.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Rule {
    /// Every byte.
    Exact,
    /// The elements, in any order.
    Unordered,
    /// Pairs of elements, in any order: a flat array in RESP2, a map in RESP3.
    Pairs,
    /// What a client can rely on of a random answer: its type and length, or nothing.
    Shape,
    /// Integers up to this far apart; -1 and -2 exactly.
    Near(i64),
    /// A scan followed to its end gives the same elements.
    Scan,
    /// As `Scan`, of pairs.
    ScanPairs,
    /// As `Shape`; then both servers lose what either popped, so that they stay alike.
    Popped,
}

impl Rule {
    /// Whether the command is to be followed to its end.
    pub fn is_scan(self) -> bool {
        matches!(self, Rule::Scan | Rule::ScanPairs)
    }

    /// Whether two replies agree. For the scan rules these are the collected elements.
    pub fn agrees(self, theirs: &Value, ours: &Value) -> bool {
        match self {
            _ if theirs == ours => true,
            Rule::Exact => false,
            Rule::Unordered | Rule::Scan => sorted(theirs) == sorted(ours),
            Rule::Pairs | Rule::ScanPairs => paired(theirs) == paired(ours),
            Rule::Shape | Rule::Popped => shape(theirs) == shape(ours),
            Rule::Near(tolerance) => match (theirs, ours) {
                (Value::Integer(theirs), Value::Integer(ours)) => {
                    *theirs >= 0 && *ours >= 0 && theirs.abs_diff(*ours) <= tolerance.unsigned_abs()
                }
                _ => false,
            },
        }
    }
}

fn sorted(value: &Value) -> Value {
    let sort = |items: &[Value]| {
        let mut items = items.to_vec();
        items.sort();
        items
    };
    match value {
        Value::Array(items) => Value::Array(sort(items)),
        Value::Set(items) => Value::Set(sort(items)),
        other => other.clone(),
    }
}

fn paired(value: &Value) -> Value {
    let mut pairs = match value {
        Value::Map(pairs) => pairs.clone(),
        Value::Array(items) if items.len() % 2 == 0 => {
            items.chunks(2).map(|pair| (pair[0].clone(), pair[1].clone())).collect()
        }
        other => return other.clone(),
    };
    pairs.sort();
    // Kept apart from a map that the server sent, so that the protocols are not mixed up.
    let items = pairs.into_iter().map(|(key, value)| Value::Array(vec![key, value])).collect();
    if matches!(value, Value::Map(_)) { Value::Set(items) } else { Value::Array(items) }
}

/// The reply with its texts left out, arrays down to their lengths.
fn shape(value: &Value) -> Value {
    match value {
        Value::Bulk(_) => Value::Bulk(Vec::new()),
        Value::Array(items) => Value::Array(items.iter().map(shape).collect()),
        Value::Set(items) => Value::Set(items.iter().map(shape).collect()),
        other => other.clone(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn texts(words: &[&str]) -> Value {
        Value::Array(words.iter().map(|word| Value::Bulk(word.as_bytes().to_vec())).collect())
    }

    #[test]
    fn order_counts_only_where_it_should() {
        let (ab, ba) = (texts(&["a", "b"]), texts(&["b", "a"]));
        assert!(!Rule::Exact.agrees(&ab, &ba));
        assert!(Rule::Unordered.agrees(&ab, &ba));
        assert!(!Rule::Pairs.agrees(&ab, &ba));
        assert!(Rule::Pairs.agrees(&texts(&["a", "1", "b", "2"]), &texts(&["b", "2", "a", "1"])));
        assert!(Rule::Shape.agrees(&ab, &texts(&["x", "y"])));
        assert!(!Rule::Shape.agrees(&ab, &texts(&["x"])));
    }

    #[test]
    fn times_may_be_a_little_apart_but_absence_is_exact() {
        let near =
            |theirs, ours| Rule::Near(2).agrees(&Value::Integer(theirs), &Value::Integer(ours));
        assert!(near(100, 98));
        assert!(!near(100, 97));
        assert!(!near(-1, -2));
        assert!(!near(0, -1));
    }
}
