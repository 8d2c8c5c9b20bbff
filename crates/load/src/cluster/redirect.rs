//! What a node's error reply means for the request: go elsewhere, come again, or take it as the answer.

/// The meaning of an error reply.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Refusal<'reply> {
    /// The slot is served by another node.
    Moved {
        /// The slot.
        slot: u16,
        /// Host, empty for the one that answered, and port.
        address: (&'reply str, u16),
    },
    /// This one time the request is to go to another node, behind an `ASKING`.
    Ask {
        /// Host, empty for the one that answered, and port.
        address: (&'reply str, u16),
    },
    /// Some of its keys have been moved and some have not: later it will go through.
    TryAgain,
    /// The node will not serve for now; the class of its error.
    Unserving(&'static str),
    /// The answer to the request itself.
    Answer,
}

/// Errors of nodes that can't serve for now: the cluster has lost slots, data are being read, a replica that has lost its
/// primary, or a primary that has become a replica.
const UNSERVING: [&str; 4] = ["CLUSTERDOWN", "LOADING", "MASTERDOWN", "READONLY"];

impl<'reply> Refusal<'reply> {
    /// Reads the text of an error reply, from its class on.
    pub fn read(text: &'reply [u8]) -> Self {
        let Ok(text) = std::str::from_utf8(text) else { return Self::Answer };
        let mut words = text.split_ascii_whitespace();
        let class = words.next().unwrap_or_default();
        match class {
            "MOVED" | "ASK" => {
                let slot = words.next().and_then(|word| word.parse::<u16>().ok());
                match (slot, words.next().and_then(host_and_port)) {
                    (Some(slot), Some(address)) if class == "MOVED" => {
                        Self::Moved { slot, address }
                    }
                    (Some(_), Some(address)) => Self::Ask { address },
                    _ => Self::Answer,
                }
            }
            "TRYAGAIN" => Self::TryAgain,
            _ => UNSERVING
                .iter()
                .find(|known| **known == class)
                .map_or(Self::Answer, |class| Self::Unserving(class)),
        }
    }
}

/// `host:port`, where the host may be an IPv6 address without brackets, or empty.
pub fn host_and_port(text: &str) -> Option<(&str, u16)> {
    let (host, port) = text.rsplit_once(':')?;
    Some((host, port.parse().ok().filter(|port| *port > 0)?))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_error_has_its_meaning() {
        let moved = |host, port| Refusal::Moved { slot: 3999, address: (host, port) };
        for (text, expected) in [
            ("MOVED 3999 127.0.0.1:6381", moved("127.0.0.1", 6381)),
            ("MOVED 3999 :6381", moved("", 6381)),
            ("MOVED 3999 fe80::1:6381", moved("fe80::1", 6381)),
            ("MOVED 3999", Refusal::Answer),
            ("MOVED 3999 host:0", Refusal::Answer),
            ("ASK 12 h:1", Refusal::Ask { address: ("h", 1) }),
            ("TRYAGAIN Multiple keys request during rehashing of slot", Refusal::TryAgain),
            ("CLUSTERDOWN Hash slot not served", Refusal::Unserving("CLUSTERDOWN")),
            ("LOADING Redis is loading", Refusal::Unserving("LOADING")),
            ("READONLY You can't write", Refusal::Unserving("READONLY")),
            ("CROSSSLOT Keys in request", Refusal::Answer),
            ("ERR no", Refusal::Answer),
            ("", Refusal::Answer),
        ] {
            assert_eq!(Refusal::read(text.as_bytes()), expected, "{text}");
        }
        assert_eq!(Refusal::read(b"\xff"), Refusal::Answer);
    }
}
