//! From options to plans of the engine.

use load::plan::{
    Cluster, CommandText, ErrorPolicy, MixEntry, Pacing, Pipeline, PipelineMode, Plan, Share, Stop,
    Target,
};
use report::model::LatencyClock;

use super::flags::Options;

/// A plan for so many connections over these databases; without a stop rule.
pub fn plan(options: &Options, connections: u32, databases: &[u32], seed: u64) -> Plan {
    let target = |database: &u32| {
        let mut target = Target::tcp(&options.host, options.port);
        target.database = *database;
        if !options.password.is_empty() {
            target.password = Some(options.password.clone());
            target.user = Some(options.user.clone()).filter(|user| !user.is_empty());
        }
        target
    };
    let command = match options.lua {
        true => CommandText::Script(options.command.clone()),
        false => CommandText::Line(with_literal_quotes(&options.command)),
    };
    Plan {
        title: options.command.clone(),
        targets: databases.iter().map(target).collect(),
        connections,
        pipeline: Pipeline { depth: options.pipeline, mode: PipelineMode::Batch },
        keep_alive: !options.short_connection,
        mix: vec![MixEntry::new(options.command.clone(), vec![command])],
        stop: Stop { share: Share::FirstCome, ..Stop::default() },
        pacing: match options.rate_rps {
            0 => Pacing::Closed,
            rate => Pacing::Constant { rate_rps: rate as f64 },
        },
        clock: LatencyClock::WholeBatch,
        seed,
        errors: ErrorPolicy::Stop,
        cluster: options.cluster.then(Cluster::default),
        ..Plan::default()
    }
}

/// The command with each quote at the start of a word made literal: to resp-benchmark quotes are characters like
/// others, and scripts that wrote them measured what was sent.
fn with_literal_quotes(command: &str) -> String {
    let mut text = String::with_capacity(command.len());
    let (mut is_start, mut is_placeholder) = (true, false);
    for letter in command.chars() {
        match letter {
            '"' if is_start => text.push_str("'\"'"),
            '\'' if is_start => text.push_str("\"'\""),
            _ => text.push(letter),
        }
        is_placeholder = (is_placeholder || letter == '{') && letter != '}';
        is_start = letter.is_ascii_whitespace() && !is_placeholder;
    }
    text
}

/// The shares of a number of requests, as even as can be, the first ones one more.
pub fn shares(requests: u64, count: usize) -> impl Iterator<Item = u64> {
    let count = count as u64;
    (0..count).map(move |nth| requests / count + u64::from(nth < requests % count))
}

#[cfg(test)]
mod tests {
    use super::*;
    use load::generator::{Generator, Mix};

    /// The words that a command sends.
    fn sent(command: &str) -> Vec<String> {
        let options = Options { command: command.into(), ..Options::default() };
        let mix = Mix::compile(&plan(&options, 1, &[0], 1)).unwrap();
        let mut out = Vec::new();
        Generator::new(&mix, 1, 0).next(&mix, &mut out);
        let text = String::from_utf8(out).unwrap();
        text.split("\r\n").skip(2).step_by(2).map(String::from).collect()
    }

    #[test]
    fn quotes_protect_nothing_and_are_sent() {
        assert_eq!(sent("SET \"a b\" 'c"), ["SET", "\"a", "b\"", "'c"]);
        assert_eq!(sent("SET \"k\" it's\t x\\ny"), ["SET", "\"k\"", "it's", "x\\ny"]);
        assert_eq!(sent("GET \"{key sequence 9}\""), ["GET", "\"key_0000000000\""]);
    }

    #[test]
    fn options_become_the_plan() {
        let options = Options {
            password: "secret".into(),
            user: "me".into(),
            pipeline: 7,
            rate_rps: 500,
            short_connection: true,
            ..Options::default()
        };
        let made = plan(&options, 9, &[0, 3], 5);
        assert_eq!(made.targets.iter().map(|target| target.database).collect::<Vec<_>>(), [0, 3]);
        assert_eq!(made.targets[1].user.as_deref(), Some("me"));
        assert_eq!((made.connections, made.pipeline.depth, made.keep_alive), (9, 7, false));
        assert_eq!(made.pacing, Pacing::Constant { rate_rps: 500.0 });
        let anonymous = Options { user: "me".into(), ..Options::default() };
        assert_eq!(plan(&anonymous, 1, &[0], 0).targets[0].user, None);
    }

    #[test]
    fn requests_are_shared_evenly() {
        assert_eq!(shares(11, 3).collect::<Vec<_>>(), [4, 4, 3]);
        assert_eq!(shares(1, 2).collect::<Vec<_>>(), [1, 0]);
    }
}
