//! The one binary: applets and personalities.

#[global_allocator]
static ALLOCATOR: tikv_jemallocator::Jemalloc = tikv_jemallocator::Jemalloc;

fn main() -> anyhow::Result<()> {
    let mut settings = server::Settings::default();
    let args: Vec<String> = std::env::args().collect();
    for pair in args[2..].chunks(2) {
        match pair[0].as_str() {
            "--port" => settings.port = pair[1].parse()?,
            "--threads" => settings.threads = pair[1].parse()?,
            "--io" => {
                settings.io_backend = match pair[1].as_str() {
                    "uring" => server::settings::IoBackend::Uring,
                    _ => server::settings::IoBackend::Poll,
                }
            }
            _ => {}
        }
    }
    server::start(settings)?.wait();
    Ok(())
}
