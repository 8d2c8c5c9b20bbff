//! One argument of a command as plan data: bytes that read as text in JSON wherever they are text.

use serde::{Deserialize, Deserializer, Serialize, Serializer};

/// The bytes of one command argument. In JSON it is a string when it is UTF-8, else an array of byte values.
#[derive(Clone, Default, PartialEq, Eq, Hash)]
pub struct Argument(pub Vec<u8>);

impl Argument {
    /// The bytes.
    pub fn as_bytes(&self) -> &[u8] {
        &self.0
    }
}

impl AsRef<[u8]> for Argument {
    fn as_ref(&self) -> &[u8] {
        &self.0
    }
}

impl From<&str> for Argument {
    fn from(text: &str) -> Self {
        Self(text.as_bytes().to_vec())
    }
}

impl From<String> for Argument {
    fn from(text: String) -> Self {
        Self(text.into_bytes())
    }
}

impl From<Vec<u8>> for Argument {
    fn from(bytes: Vec<u8>) -> Self {
        Self(bytes)
    }
}

impl std::fmt::Debug for Argument {
    fn fmt(&self, formatter: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(formatter, "{:?}", String::from_utf8_lossy(&self.0))
    }
}

#[derive(Serialize, Deserialize)]
#[serde(untagged)]
enum Encoded {
    Text(String),
    Bytes(Vec<u8>),
}

impl Serialize for Argument {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        match std::str::from_utf8(&self.0) {
            Ok(text) => serializer.serialize_str(text),
            Err(_) => self.0.serialize(serializer),
        }
    }
}

impl<'de> Deserialize<'de> for Argument {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        Ok(Self(match Encoded::deserialize(deserializer)? {
            Encoded::Text(text) => text.into_bytes(),
            Encoded::Bytes(bytes) => bytes,
        }))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn text_and_bytes_survive_json() {
        for (bytes, json) in [(&b"key:1"[..], "\"key:1\""), (&[0xff, 0, 65][..], "[255,0,65]")] {
            let argument = Argument(bytes.to_vec());
            assert_eq!(serde_json::to_string(&argument).unwrap(), json);
            assert_eq!(serde_json::from_str::<Argument>(json).unwrap(), argument);
        }
    }
}
