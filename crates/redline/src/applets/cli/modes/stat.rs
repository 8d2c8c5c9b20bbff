//! `--stat`: a row of the server's own figures an interval, read from `INFO`.

use std::io::Write;
use std::time::Duration;

use resp::Value;

use super::ModeError;
use super::byte_text::byte_text;
use super::patient::Patient;

/// Time between two rows without `-i`.
const INTERVAL: Duration = Duration::from_secs(1);
/// Rows under one head.
const ROWS_A_HEAD: usize = 20;
const HEAD: &str = "\
------- data ------ --------------------- load -------------------- - child -\n\
keys       mem      clients blocked requests            connections          \n";

/// The figures of one `INFO`.
#[derive(Debug, Clone, Copy)]
pub struct Info<'a> {
    text: &'a str,
}

impl<'a> Info<'a> {
    /// Reads the text of the reply.
    pub fn new(text: &'a str) -> Self {
        Self { text }
    }

    /// The text of a field, by its whole name.
    pub fn field(&self, name: &str) -> Option<&'a str> {
        self.fields().find(|(field, _)| *field == name).map(|(_, value)| value)
    }

    /// The number of a field.
    pub fn number(&self, name: &str) -> Option<u64> {
        self.field(name)?.parse().ok()
    }

    /// Keys in all databases.
    pub fn keys(&self) -> u64 {
        self.fields()
            .filter(|(field, _)| {
                field.strip_prefix("db").is_some_and(|number| number.parse::<u32>().is_ok())
            })
            .filter_map(|(_, value)| {
                value.strip_prefix("keys=")?.split(',').next()?.parse::<u64>().ok()
            })
            .fold(0, u64::saturating_add)
    }

    fn fields(&self) -> impl Iterator<Item = (&'a str, &'a str)> + use<'a> {
        self.text.lines().filter_map(|line| line.split_once(':'))
    }
}

/// A row, with its end of line. `requests_before` is the count of requests of the row before.
pub fn row(info: Info<'_>, requests_before: Option<u64>) -> String {
    // A server that has no such figure is told from one that has 0.
    let number = |name| info.number(name).map_or_else(|| "-".to_owned(), |value| value.to_string());
    let requests = info.number("total_commands_processed");
    // A count that fell is that of a server that was started again.
    let since = requests
        .zip(requests_before)
        .map_or(0, |(now, before)| now.checked_sub(before).unwrap_or(now));
    let child = match (
        info.number("rdb_bgsave_in_progress").unwrap_or(0) > 0,
        info.number("aof_rewrite_in_progress").unwrap_or(0) > 0,
        info.number("loading").unwrap_or(0) > 0,
    ) {
        (true, true, _) => "SAVE+AOF",
        (true, false, _) => "SAVE",
        (false, true, _) => "AOF",
        (false, false, true) => "LOAD",
        (false, false, false) => "",
    };
    format!(
        "{:<11}{:<8} {:<8}{:<8}{:<19} {:<12}{child}\n",
        info.keys(),
        info.number("used_memory").map_or_else(|| "-".to_owned(), byte_text),
        number("connected_clients"),
        number("blocked_clients"),
        format!("{} (+{since})", number("total_commands_processed")),
        number("total_connections_received"),
    )
}

/// Prints rows for ever.
///
/// # Errors
/// All kinds of [`ModeError`].
pub fn run(
    interval: Option<Duration>,
    server: &mut Patient<'_>,
    out: &mut impl Write,
) -> Result<(), ModeError> {
    let mut rows = 0;
    let mut requests = None;
    loop {
        let reply = server.ask(&["INFO"])?;
        let text = match &reply {
            Value::Error(message) => {
                let message = String::from_utf8_lossy(message);
                return Err(ModeError::Sentence(format!("ERROR: {message}")));
            }
            value => String::from_utf8_lossy(value.as_bytes().unwrap_or_default()),
        };
        let info = Info::new(&text);
        if rows % ROWS_A_HEAD == 0 {
            out.write_all(HEAD.as_bytes())?;
        }
        out.write_all(row(info, requests).as_bytes())?;
        out.flush()?;
        requests = info.number("total_commands_processed");
        rows += 1;
        std::thread::sleep(interval.unwrap_or(INTERVAL));
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::{any, prop_assert, proptest};

    use super::{HEAD, Info, row};

    const TEXT: &str = "# Server\r\nos:x\r\n# Clients\r\nconnected_clients:1\r\nblocked_clients:0\r\n\
        # Memory\r\nused_memory:1101004\r\nused_memory_peak:9\r\n# Persistence\r\nloading:0\r\n\
        rdb_bgsave_in_progress:0\r\naof_rewrite_in_progress:0\r\n# Stats\r\n\
        total_connections_received:9\r\ntotal_commands_processed:779\r\n\
        # Keyspace\r\ndb0:keys=198,expires=0\r\ndb12:keys=2,expires=0\r\ndbx:keys=5\r\n";

    #[test]
    fn a_row_as_the_original_prints_it() {
        assert_eq!(
            row(Info::new(TEXT), Some(778)),
            "200        1.05M    1       0       779 (+1)            9           \n"
        );
        assert!(row(Info::new(TEXT), None).contains("779 (+0) "));
        assert!(row(Info::new(TEXT), Some(2_000)).contains("779 (+779) "));
        let head = HEAD.lines().last().unwrap();
        for (column, text) in [("mem", "1.05M"), ("requests", "779 (+1)"), ("connections", "9  ")] {
            assert_eq!(head.find(column), row(Info::new(TEXT), Some(778)).find(text), "{column}");
        }
    }

    #[test]
    fn children() {
        let child = |fields: &str| row(Info::new(fields), None).trim_end().to_owned();
        assert!(child("rdb_bgsave_in_progress:1\r\n").ends_with(" SAVE"));
        assert!(child("aof_rewrite_in_progress:1\r\n").ends_with(" AOF"));
        assert!(
            child("rdb_bgsave_in_progress:1\r\naof_rewrite_in_progress:1\r\n")
                .ends_with(" SAVE+AOF")
        );
        assert!(child("loading:1\r\n").ends_with(" LOAD"));
    }

    #[test]
    fn what_the_server_does_not_tell_is_a_dash() {
        assert_eq!(
            row(Info::new(""), None),
            "0          -        -       -       - (+0)              -           \n"
        );
    }

    proptest! {
        #[test]
        fn any_text_makes_one_row(text in "((db[0-9]{1,3}:keys=|loading:|used_memory:|x:)[0-9a-z,]{0,22}[\r\n:]{0,3}){0,8}", before in any::<u64>()) {
            let row = row(Info::new(&text), Some(before));
            prop_assert!(row.ends_with('\n') && row.lines().count() == 1, "{:?}", row);
        }

        #[test]
        fn keys_add_up(first in any::<u64>(), second in any::<u64>()) {
            let text = format!("db0:keys={first},expires=0\r\ndb1:keys={second}\r\n");
            prop_assert!(Info::new(&text).keys() == first.saturating_add(second));
        }
    }
}
