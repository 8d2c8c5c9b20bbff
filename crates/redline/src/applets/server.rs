//! `redline server`: the store on its own, with the habits of `redis-server`.

use std::ffi::OsString;
use std::process::ExitCode;

use anyhow::{Context, bail};
use server::Settings;
use server::settings::IoBackend;

use super::Applet;

/// The row of the server.
pub const APPLET: Applet = Applet {
    name: "server",
    links: &["redis-server"],
    summary: "the store: redline server [redis.conf] [--port 6379 ...]",
    run,
};

fn run(_program: &str, arguments: Vec<OsString>) -> anyhow::Result<ExitCode> {
    let mut settings = Settings::default();
    for pair in arguments.chunks(2) {
        let [name, value] = pair else { bail!("every option needs a value") };
        let value = value.to_str().context("a value is no text")?;
        match name.to_str() {
            Some("--port") => settings.port = value.parse()?,
            Some("--threads") => settings.threads = value.parse()?,
            Some("--io-backend") if value == "uring" => settings.io_backend = IoBackend::Uring,
            Some("--io-backend") if value == "poll" => settings.io_backend = IoBackend::Poll,
            _ => bail!("unknown option {}", name.display()),
        }
    }
    server::start(settings)?.wait();
    Ok(ExitCode::SUCCESS)
}
