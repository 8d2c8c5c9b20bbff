//! Which options exclude or need each other. Each rule is one sentence; the first that is broken is printed, status 2.

use super::options::{Options, Requests};
use super::ranges::Pattern;

/// Checks the rules between options.
///
/// # Errors
/// The sentence of the first rule that is broken.
pub fn check(options: &Options) -> Result<(), String> {
    let exclusive = |left: &str, right: &str| format!("{left} and {right} are mutually exclusive.");
    for (left, is_left, right, is_right) in [
        ("--test-time", options.test_time_s.is_some(), "--requests", options.requests.is_some()),
        ("--uri", options.uri.is_some(), "--host/--port", options.address_given),
        ("--uri", options.uri.is_some(), "--unix-socket", options.unix_socket.is_some()),
        (
            "--data-size-range",
            options.data_size_range.is_some(),
            "--data-size",
            options.data_size_given,
        ),
        (
            "--data-size-list",
            options.data_size_list.is_some(),
            "--data-size",
            options.data_size_given,
        ),
        (
            "--data-size-list",
            options.data_size_list.is_some(),
            "--data-size-range",
            options.data_size_range.is_some(),
        ),
        ("--command", !options.commands.is_empty(), "--ratio", options.ratio_given),
        ("--command", !options.commands.is_empty(), "--key-pattern", options.key_pattern_given),
        ("--command", !options.commands.is_empty(), "--wait-ratio", options.wait_ratio.is_some()),
        ("--command", !options.commands.is_empty(), "--multi-key-get", options.multi_key_get > 0),
        ("--command", !options.commands.is_empty(), "--data-offset", options.data_offset > 0),
        (
            "--data-offset",
            options.data_offset > 0,
            "--expiry-range",
            options.expiry_range.is_some(),
        ),
    ] {
        if is_left && is_right {
            return Err(exclusive(left, right));
        }
    }
    cluster(options)?;
    memcache(options)?;
    staircase(options)?;
    keys(options)?;
    objects(options)?;
    commands(options)
}

fn cluster(options: &Options) -> Result<(), String> {
    for (name, given) in [
        ("--unix-socket", options.unix_socket.is_some()),
        ("--reconnect-interval", options.reconnect_interval > 0),
        ("--wait-ratio", options.wait_ratio.is_some()),
        ("--data-verify", options.data_verify),
        ("--scan-incremental-iteration", options.scan_iteration),
    ] {
        if options.cluster_mode && given {
            return Err(format!("{name} cannot be used with --cluster-mode."));
        }
    }
    if options.cluster_mode && options.protocol.is_memcache() {
        return Err("--cluster-mode needs a Redis protocol.".into());
    }
    Ok(())
}

fn memcache(options: &Options) -> Result<(), String> {
    if !options.protocol.is_memcache() {
        return Ok(());
    }
    for (name, given) in [
        ("--command", !options.commands.is_empty()),
        ("--wait-ratio", options.wait_ratio.is_some()),
        ("--data-offset", options.data_offset > 0),
        ("--select-db", options.select_db > 0),
        ("--transaction", options.transaction),
    ] {
        if given {
            return Err(format!("{name} needs a Redis protocol."));
        }
    }
    Ok(())
}

fn staircase(options: &Options) -> Result<(), String> {
    let given = [
        options.clients_start.is_some(),
        options.clients_step.is_some(),
        options.step_duration_s.is_some(),
    ];
    if given.iter().all(|given| !given) {
        return Ok(());
    }
    let Some((start, _)) =
        options.clients_start.zip(options.clients_step.zip(options.step_duration_s))
    else {
        return Err(
            "--clients-start, --clients-step and --step-duration must be given together.".into()
        );
    };
    if options.requests.is_some() {
        return Err("--clients-start and --requests are mutually exclusive.".into());
    }
    if options.test_time_s.is_none() {
        return Err("--clients-start needs --test-time.".into());
    }
    if start >= options.clients {
        return Err("--clients-start must be less than --clients.".into());
    }
    Ok(())
}

fn keys(options: &Options) -> Result<(), String> {
    let (least, most) = options.keys();
    if least > most {
        return Err("--key-maximum must not be below --key-minimum.".into());
    }
    let patterns = [options.key_pattern.0, options.key_pattern.1];
    let uses = |pattern: Pattern| {
        patterns.contains(&pattern)
            || options.commands.iter().any(|command| command.pattern == pattern)
    };
    let gaussian = uses(Pattern::Gaussian);
    if (options.key_stddev > 0.0 || options.key_median > 0.0) && !gaussian {
        return Err("--key-stddev and --key-median need a key pattern G.".into());
    }
    if options.key_median > 0.0 && !(least as f64..=most as f64).contains(&options.key_median) {
        return Err("--key-median must lie between --key-minimum and --key-maximum.".into());
    }
    if options.requests == Some(Requests::AllKeys) && most - least == u64::MAX {
        return Err("--requests allkeys needs a smaller range of keys.".into());
    }
    Ok(())
}

fn objects(options: &Options) -> Result<(), String> {
    if options.data_size_spread && options.data_size_range.is_none() {
        return Err("--data-size-pattern S needs --data-size-range.".into());
    }
    if options.data_import.is_none() {
        for (name, given) in [
            ("--data-verify", options.data_verify),
            ("--generate-keys", options.generate_keys),
            ("--no-expiry", options.no_expiry),
        ] {
            if given {
                return Err(format!("{name} needs --data-import."));
            }
        }
    }
    if options.jitter_min_us > options.jitter_max_us {
        return Err("--thread-conn-start-max-jitter-micros must not be below the minimum.".into());
    }
    let waits = options.wait_ratio.is_some_and(|(_, waits)| waits > 0);
    if !waits && (options.num_slaves.is_some() || options.wait_timeout.is_some()) {
        return Err("--num-slaves and --wait-timeout need --wait-ratio.".into());
    }
    if waits && (options.num_slaves.is_none() || options.wait_timeout.is_none()) {
        return Err("--wait-ratio needs --num-slaves and --wait-timeout.".into());
    }
    Ok(())
}

/// How many words of an iterating command stand before its cursor, which is 0.
pub fn scan_words(command: &str) -> Option<usize> {
    let words: Vec<&str> = command.split_whitespace().take(3).collect();
    let before = match words.first()?.to_ascii_uppercase().as_str() {
        "SCAN" => 1,
        "HSCAN" | "SSCAN" | "ZSCAN" => 2,
        _ => return None,
    };
    (words.get(before) == Some(&"0")).then_some(before)
}

fn commands(options: &Options) -> Result<(), String> {
    if options.transaction && options.commands.is_empty() {
        return Err("--transaction needs --command.".into());
    }
    if options.scan_iteration {
        let [command] = options.commands.as_slice() else {
            return Err("--scan-incremental-iteration needs exactly one --command.".into());
        };
        if scan_words(&command.text).is_none() {
            return Err(
                "--scan-incremental-iteration needs --command=\"SCAN 0 ...\", or HSCAN, SSCAN or ZSCAN with a key."
                    .into(),
            );
        }
        if options.pipeline != 1 {
            return Err("--scan-incremental-iteration needs --pipeline 1.".into());
        }
    }
    if options.scan_max_iterations > 0 && !options.scan_iteration {
        return Err("--scan-incremental-max-iterations needs --scan-incremental-iteration.".into());
    }
    Ok(())
}
