//! Where the keys of a command are: which argument positions, by the command's name, and their bytes in an encoded command.
//!
//! The positions are those that `COMMAND INFO` of Redis 8 tells. Commands that are not in these tables are asked of the server.

use std::ops::Range;

/// Which arguments of a command are keys; argument 0 is its name.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum KeyRule {
    /// None: any node will do.
    Keyless,
    /// From `first` on in steps of `step`, up to `last`; a negative `last` counts from the end, -1 being the last one.
    Range {
        /// First key.
        first: usize,
        /// Last key.
        last: i64,
        /// From key to key; at least 1.
        step: usize,
    },
    /// `stored`, if it is there, and as many from `count_at` + 1 on as argument `count_at` says.
    Counted {
        /// A key before the number.
        stored: Option<usize>,
        /// The number of keys.
        count_at: usize,
    },
    /// The first half of what follows `STREAMS`.
    Streams,
    /// These, as the server said of an example.
    At(Vec<usize>),
}

/// What routing needs to know of a command.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct CommandKeys {
    /// Where its keys are.
    pub rule: KeyRule,
    /// It only reads, so that a replica may answer.
    pub reads_only: bool,
    /// It does the same to each key, so that it can be divided by slot.
    pub divides: bool,
}

/// One key at argument 1, and only reads.
const READ_ONE: &str = "BITCOUNT BITFIELD_RO BITPOS DUMP EXPIRETIME GEODIST GEOHASH GEOPOS GEORADIUSBYMEMBER_RO \
    GEORADIUS_RO GEOSEARCH GET GETBIT GETRANGE HEXISTS HEXPIRETIME HGET HGETALL HKEYS HLEN HMGET HPEXPIRETIME HPTTL \
    HRANDFIELD HSCAN HSTRLEN HTTL HVALS LINDEX LLEN LPOS LRANGE PEXPIRETIME PTTL SCARD SISMEMBER SMEMBERS SMISMEMBER \
    SORT_RO SRANDMEMBER SSCAN STRLEN SUBSTR TTL TYPE XLEN XPENDING XRANGE XREVRANGE ZCARD ZCOUNT ZLEXCOUNT ZMSCORE \
    ZRANDMEMBER ZRANGE ZRANGEBYLEX ZRANGEBYSCORE ZRANK ZREVRANGE ZREVRANGEBYLEX ZREVRANGEBYSCORE ZREVRANK ZSCAN ZSCORE \
    JSON.GET JSON.TYPE TS.GET TS.RANGE BF.EXISTS BF.MEXISTS CF.EXISTS VSIM VCARD VEMB";
/// One key at argument 1, and writes.
const WRITE_ONE: &str = "APPEND BITFIELD DECR DECRBY DELIFEQ EXPIRE EXPIREAT GEOADD GETDEL GETEX GETSET HDEL HEXPIRE \
    HEXPIREAT HGETDEL HGETEX HINCRBY HINCRBYFLOAT HMSET HPERSIST HPEXPIRE HPEXPIREAT HSET HSETEX HSETNX INCR INCRBY \
    INCRBYFLOAT LINSERT LPOP LPUSH LPUSHX LREM LSET LTRIM MOVE PERSIST PEXPIRE PEXPIREAT PFADD PSETEX RESTORE RPOP RPUSH \
    RPUSHX SADD SET SETBIT SETEX SETNX SETRANGE SORT SPOP SPUBLISH SREM XACK XADD XAUTOCLAIM XCLAIM XDEL XSETID XTRIM \
    ZADD ZINCRBY ZPOPMAX ZPOPMIN ZREM ZREMRANGEBYLEX ZREMRANGEBYRANK ZREMRANGEBYSCORE JSON.SET JSON.DEL TS.ADD BF.ADD \
    BF.MADD CF.ADD VADD GEORADIUS GEORADIUSBYMEMBER";
/// Only keys, from argument 1 on, and only reads.
const READ_ALL: &str = "PFCOUNT SDIFF SINTER SUNION";
/// Only keys, from argument 1 on, and writes.
const WRITE_ALL: &str = "PFMERGE SDIFFSTORE SINTERSTORE SUNIONSTORE WATCH";
/// Keys at arguments 1 and 2.
const PAIR: &str =
    "BLMOVE BRPOPLPUSH COPY GEOSEARCHSTORE LMOVE RENAME RENAMENX RPOPLPUSH SMOVE ZRANGESTORE";
/// Keys from argument 1 on, and a timeout at the end.
const BLOCKING: &str = "BLPOP BRPOP BZPOPMAX BZPOPMIN";
/// No keys.
const KEYLESS: &str = "ACL ASKING AUTH BGREWRITEAOF BGSAVE CLIENT CLUSTER COMMAND CONFIG DBSIZE DEBUG DISCARD ECHO EXEC \
    FLUSHALL FLUSHDB FUNCTION HELLO INFO KEYS LASTSAVE LATENCY LOLWUT MODULE MONITOR MULTI PING PUBLISH PUBSUB QUIT \
    RANDOMKEY READONLY READWRITE RESET ROLE SAVE SCAN SCRIPT SELECT SLOWLOG SUBSCRIBE SWAPDB TIME UNWATCH WAIT WAITAOF";
/// The number of keys at argument 1, and only reads.
const COUNTED_READ: &str = "SINTERCARD ZDIFF ZINTER ZINTERCARD ZUNION";
/// The number of keys at argument 1, and writes.
const COUNTED_WRITE: &str = "LMPOP ZMPOP";
/// The number of keys at argument 2.
const COUNTED_SECOND: &str = "BLMPOP BZMPOP EVAL EVALSHA FCALL";
/// As those, and only reads.
const COUNTED_SECOND_READ: &str = "EVALSHA_RO EVAL_RO FCALL_RO";
/// A key to store in at argument 1, then the number of keys.
const COUNTED_STORE: &str = "ZDIFFSTORE ZINTERSTORE ZUNIONSTORE";

impl CommandKeys {
    /// What is known of the command with this name, in any case.
    pub fn of(name: &[u8]) -> Option<Self> {
        let is_in = |names: &str| {
            names.split_ascii_whitespace().any(|known| known.as_bytes().eq_ignore_ascii_case(name))
        };
        let range =
            |first, last, step, reads_only| plain(KeyRule::Range { first, last, step }, reads_only);
        let counted =
            |stored, count_at, reads_only| plain(KeyRule::Counted { stored, count_at }, reads_only);
        let tables: [(&str, Self); 13] = [
            (READ_ONE, range(1, 1, 1, true)),
            (WRITE_ONE, range(1, 1, 1, false)),
            (READ_ALL, range(1, -1, 1, true)),
            (WRITE_ALL, range(1, -1, 1, false)),
            (PAIR, range(1, 2, 1, false)),
            (BLOCKING, range(1, -2, 1, false)),
            (KEYLESS, plain(KeyRule::Keyless, false)),
            (COUNTED_READ, counted(None, 1, true)),
            (COUNTED_WRITE, counted(None, 1, false)),
            (COUNTED_SECOND, counted(None, 2, false)),
            (COUNTED_SECOND_READ, counted(None, 2, true)),
            (COUNTED_STORE, counted(Some(1), 2, false)),
            ("BITOP", range(2, -1, 1, false)),
        ];
        if let Some((_, keys)) = tables.into_iter().find(|(names, _)| is_in(names)) {
            return Some(keys);
        }
        let divided = |keys: Self| Self { divides: true, ..keys };
        match name.to_ascii_uppercase().as_slice() {
            b"MGET" | b"EXISTS" | b"TOUCH" => Some(divided(range(1, -1, 1, true))),
            b"DEL" | b"UNLINK" => Some(divided(range(1, -1, 1, false))),
            b"MSET" => Some(divided(range(1, -1, 2, false))),
            b"MSETNX" => Some(range(1, -1, 2, false)),
            b"OBJECT" | b"MEMORY" => Some(range(2, 2, 1, true)),
            b"XGROUP" | b"XINFO" => Some(range(2, 2, 1, false)),
            b"XREAD" => Some(plain(KeyRule::Streams, true)),
            b"XREADGROUP" => Some(plain(KeyRule::Streams, false)),
            _ => None,
        }
    }

    /// From the server's answer on a command that is not in the tables: its first and last key and the step between
    /// them, as `COMMAND INFO` gives them.
    pub fn told(first: i64, last: i64, step: i64, reads_only: bool) -> Self {
        let rule = match (usize::try_from(first), usize::try_from(step)) {
            (Ok(first @ 1..), Ok(step @ 1..)) => KeyRule::Range { first, last, step },
            _ => KeyRule::Keyless,
        };
        plain(rule, reads_only)
    }
}

fn plain(rule: KeyRule, reads_only: bool) -> CommandKeys {
    CommandKeys { rule, reads_only, divides: false }
}

impl KeyRule {
    /// Puts the positions of the keys among these arguments into `keys`.
    pub fn positions(&self, bytes: &[u8], arguments: &[Range<usize>], keys: &mut Vec<usize>) {
        keys.clear();
        let count = arguments.len();
        let number = |at: usize| -> usize {
            let digits = arguments.get(at).map(|span| &bytes[span.clone()]).unwrap_or_default();
            std::str::from_utf8(digits).ok().and_then(|text| text.parse().ok()).unwrap_or(0)
        };
        match self {
            Self::Keyless => {}
            Self::Range { first, last, step } => {
                let end = match usize::try_from(*last) {
                    Ok(last) => (last + 1).min(count),
                    Err(_) => (count as i64 + 1 + last).clamp(0, count as i64) as usize,
                };
                keys.extend((*first..end).step_by(*step));
            }
            Self::Counted { stored, count_at } => {
                keys.extend(stored.filter(|at| *at < count));
                let end = (count_at + 1).saturating_add(number(*count_at)).min(count);
                keys.extend((count_at + 1..end).filter(|_| end > count_at + 1));
            }
            Self::Streams => {
                let is_word =
                    |span: &Range<usize>| bytes[span.clone()].eq_ignore_ascii_case(b"STREAMS");
                if let Some(word) = arguments.iter().position(is_word) {
                    let keys_here = (count - word - 1) / 2;
                    keys.extend(word + 1..word + 1 + keys_here);
                }
            }
            Self::At(positions) => keys.extend(positions.iter().filter(|at| **at < count)),
        }
    }
}

/// Puts the spans of the arguments of the encoded command at the start of `bytes` into `arguments`, and returns how many
/// bytes the command takes. A command that is no array is a line, whose words are its arguments.
pub fn arguments(bytes: &[u8], arguments: &mut Vec<Range<usize>>) -> usize {
    arguments.clear();
    if bytes.first() != Some(&b'*') {
        let end = line_end(bytes, 0);
        let mut at = 0;
        for word in bytes[..end].split(|byte| *byte == b' ') {
            if !word.is_empty() {
                arguments.push(at..at + word.len());
            }
            at += word.len() + 1;
        }
        return (end + 2).min(bytes.len());
    }
    let (count, mut at) = length(bytes, 1);
    for _ in 0..count {
        let (bytes_here, start) = length(bytes, at + 1);
        let end = (start + bytes_here).min(bytes.len());
        arguments.push(start..end);
        at = end + 2;
    }
    at.min(bytes.len())
}

/// The span of one argument of a single encoded command, counted from its name; `None` for lines and where there is none.
pub fn argument(bytes: &[u8], nth: usize) -> Option<Range<usize>> {
    if bytes.first() != Some(&b'*') {
        return None;
    }
    let (count, mut at) = length(bytes, 1);
    if nth >= count {
        return None;
    }
    for _ in 0..nth {
        let (bytes_here, start) = length(bytes, at + 1);
        at = start + bytes_here + 2;
    }
    let (bytes_here, start) = length(bytes, at + 1);
    (start + bytes_here <= bytes.len()).then(|| start..start + bytes_here)
}

/// The number that begins at `at`, and where the next line begins.
fn length(bytes: &[u8], at: usize) -> (usize, usize) {
    let digits = bytes[at.min(bytes.len())..].iter().take_while(|byte| byte.is_ascii_digit());
    let (mut value, mut taken) = (0usize, 0);
    for digit in digits {
        value = value.saturating_mul(10).saturating_add(usize::from(digit - b'0'));
        taken += 1;
    }
    (value, (at + taken + 2).min(bytes.len()))
}

fn line_end(bytes: &[u8], from: usize) -> usize {
    bytes[from..].windows(2).position(|pair| pair == b"\r\n").map_or(bytes.len(), |at| from + at)
}

#[cfg(test)]
mod tests {
    use proptest::prelude::{any, prop, proptest};

    use super::*;

    fn keys(words: &str) -> Option<Vec<String>> {
        let words: Vec<&str> = words.split(' ').collect();
        let mut bytes = Vec::new();
        resp::encode::command(&mut bytes, &words);
        let mut spans = Vec::new();
        assert_eq!(arguments(&bytes, &mut spans), bytes.len());
        let mut positions = Vec::new();
        CommandKeys::of(words[0].as_bytes())?.rule.positions(&bytes, &spans, &mut positions);
        Some(positions.into_iter().map(|at| words[at].to_owned()).collect())
    }

    #[test]
    fn keys_are_where_the_server_says() {
        for (command, expected) in [
            ("GET k", "k"),
            ("set k v EX 5", "k"),
            ("HSET h f v", "h"),
            ("MSET a 1 b 2", "a b"),
            ("MGET a b c", "a b c"),
            ("BLPOP a b 0", "a b"),
            ("BLPOP 0", ""),
            ("RENAME a b", "a b"),
            ("BITOP AND d a b", "d a b"),
            ("EVAL s 2 a b c", "a b"),
            ("EVAL s 0 c", ""),
            ("EVAL s 99 a", "a"),
            ("EVAL s x a", ""),
            ("ZUNIONSTORE d 2 a b WEIGHTS 1 2", "d a b"),
            ("ZUNION 1 a WITHSCORES", "a"),
            ("XREAD COUNT 2 STREAMS a b 0 0", "a b"),
            ("XREADGROUP GROUP g c STREAMS a >", "a"),
            ("XREAD COUNT 2", ""),
            ("OBJECT ENCODING k", "k"),
            ("PING", ""),
            ("GET", ""),
        ] {
            let expected: Vec<String> =
                expected.split(' ').filter(|key| !key.is_empty()).map(String::from).collect();
            assert_eq!(keys(command), Some(expected), "{command}");
        }
        assert_eq!(keys("NOSUCHCOMMAND a"), None);
    }

    #[test]
    fn names_stand_in_one_table_only() {
        let all = [
            READ_ONE,
            WRITE_ONE,
            READ_ALL,
            WRITE_ALL,
            PAIR,
            BLOCKING,
            KEYLESS,
            COUNTED_READ,
            COUNTED_WRITE,
            COUNTED_SECOND,
            COUNTED_SECOND_READ,
            COUNTED_STORE,
        ];
        let mut names: Vec<&str> =
            all.iter().flat_map(|names| names.split_ascii_whitespace()).collect();
        let count = names.len();
        names.sort_unstable();
        names.dedup();
        assert_eq!(names.len(), count);
    }

    #[test]
    fn lines_have_words() {
        let mut spans = Vec::new();
        assert_eq!(arguments(b"GET  key\r\nPING\r\n", &mut spans), 10);
        assert_eq!(spans, [0..3, 5..8]);
        assert_eq!(argument(b"PING\r\n", 0), None);
    }

    #[test]
    fn what_the_server_tells_is_a_rule() {
        let keys = CommandKeys::told(1, -1, 2, true);
        assert_eq!(keys.rule, KeyRule::Range { first: 1, last: -1, step: 2 });
        assert_eq!(CommandKeys::told(0, 0, 0, false).rule, KeyRule::Keyless);
    }

    proptest! {
        #[test]
        fn arguments_come_back(words in prop::collection::vec(prop::collection::vec(any::<u8>(), 0..20), 1..8)) {
            let mut bytes = Vec::new();
            resp::encode::command(&mut bytes, &words);
            let mut spans = Vec::new();
            assert_eq!(arguments(&bytes, &mut spans), bytes.len());
            for (nth, word) in words.iter().enumerate() {
                assert_eq!(&bytes[spans[nth].clone()], word.as_slice());
                assert_eq!(argument(&bytes, nth), Some(spans[nth].clone()));
            }
            assert_eq!(argument(&bytes, words.len()), None);
        }

        #[test]
        fn no_bytes_cause_a_panic(bytes in prop::collection::vec(any::<u8>(), 0..64)) {
            arguments(&bytes, &mut Vec::new());
            argument(&bytes, 1);
        }
    }
}
