//! `--prometheus-port`: the figures of the runs so far at `/metrics`, in the text format of Prometheus 0.0.4.
//!
//! Nothing that identifies the server or the user is among them: no address, no path, no credential.

use std::io::{Read as _, Write as _};
use std::net::{SocketAddr, TcpListener, TcpStream};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::{Duration, SystemTime, UNIX_EPOCH};

use report::histogram::Histogram;

use super::options::Options;
use super::progress::Beat;

/// Longest wait for a client to send its request or to take the answer: scrapes are answered one after the other.
const CLIENT_TIMEOUT: Duration = Duration::from_secs(1);
/// Longest request that is read, in bytes.
const MAX_REQUEST_BYTES: usize = 8 << 10;
/// The bounds of the latency histogram when none are asked for, in seconds: those of the original.
const BOUNDS_S: [f64; 26] = [
    0.0001, 0.00025, 0.0005, 0.00075, 0.001, 0.0015, 0.002, 0.003, 0.004, 0.005, 0.0075, 0.01,
    0.015, 0.02, 0.03, 0.05, 0.075, 0.1, 0.25, 0.5, 1.0, 2.5, 5.0, 10.0, 30.0, 60.0,
];

/// The endpoint. It serves until the program ends.
pub struct Prometheus {
    figures: Arc<Mutex<Figures>>,
    /// Where it listens.
    pub address: SocketAddr,
}

/// What is served.
#[derive(Debug)]
struct Figures {
    labels: Vec<(String, String)>,
    bounds_s: Vec<f64>,
    runs: u32,
    test_time_s: u64,
    started_at_unix_s: f64,
    /// Counts of the runs that are over.
    before: Counts,
    /// Counts of the run that goes on.
    current: Counts,
    beat: Beat,
    latencies: Histogram,
}

/// What only grows.
#[derive(Debug, Clone, Copy, Default)]
struct Counts {
    operations: u64,
    in_bytes: u64,
    out_bytes: u64,
    connection_errors: u64,
}

impl Prometheus {
    /// Listens and serves on a thread of its own.
    ///
    /// # Errors
    /// A sentence: the address can't be listened at.
    pub fn start(port: u16, options: &Options) -> Result<Self, String> {
        let host = &options.prometheus_bind_addr;
        let shown =
            |error: std::io::Error| format!("cannot serve Prometheus at {host}:{port}: {error}");
        let ip: std::net::IpAddr =
            host.parse().map_err(|_| format!("cannot serve Prometheus at {host}: no address"))?;
        let listener = TcpListener::bind((ip, port)).map_err(shown)?;
        let address = listener.local_addr().map_err(shown)?;
        let now = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default();
        let figures = Arc::new(Mutex::new(Figures {
            labels: options.prometheus_labels.clone(),
            bounds_s: options.prometheus_buckets.clone().unwrap_or_else(|| BOUNDS_S.to_vec()),
            runs: options.run_count,
            test_time_s: options.test_time_s.unwrap_or(0),
            started_at_unix_s: now.as_secs_f64(),
            before: Counts::default(),
            current: Counts::default(),
            beat: Beat::default(),
            latencies: Histogram::new(),
        }));
        let shared = Arc::clone(&figures);
        std::thread::Builder::new()
            .name("prometheus".into())
            .spawn(move || {
                for stream in listener.incoming().flatten() {
                    // A client that goes away is its own affair.
                    let _ = answer(stream, &shared);
                }
            })
            .map_err(shown)?;
        Ok(Self { figures, address })
    }

    /// Takes over a beat.
    pub fn update(&self, beat: &Beat) {
        let mut figures = lock(&self.figures);
        if beat.run != figures.beat.run {
            let current = std::mem::take(&mut figures.current);
            figures.before.add(&current);
        }
        figures.current = Counts {
            operations: beat.operations,
            in_bytes: beat.bytes.0,
            out_bytes: beat.bytes.1,
            connection_errors: beat.connection_errors,
        };
        figures.beat = beat.clone();
    }

    /// Adds the latencies of a second that is over.
    pub fn add_second(&self, latencies: &Histogram) {
        lock(&self.figures).latencies.merge(latencies);
    }
}

impl Counts {
    fn add(&mut self, other: &Self) {
        self.operations += other.operations;
        self.in_bytes += other.in_bytes;
        self.out_bytes += other.out_bytes;
        self.connection_errors += other.connection_errors;
    }
}

impl Figures {
    fn render(&self) -> String {
        let mut all = self.before;
        all.add(&self.current);
        let mut text = String::new();
        let version = ("version", env!("CARGO_PKG_VERSION"));
        self.sample(&mut text, "build_info", "gauge", "Version of the program", &[version], "1");
        let started = format!("{:.3}", self.started_at_unix_s);
        self.sample(
            &mut text,
            "start_time_seconds",
            "gauge",
            "Start of the program",
            &[],
            &started,
        );
        for (name, help, value) in [
            ("ops_total", "Replies of all runs", all.operations),
            ("sent_bytes_total", "Bytes sent", all.out_bytes),
            ("received_bytes_total", "Bytes received", all.in_bytes),
            ("connection_errors_total", "Connections lost or not made", all.connection_errors),
        ] {
            self.sample(&mut text, name, "counter", help, &[], &value.to_string());
        }
        for (name, help, value) in [
            ("connections", "Connections", u64::from(self.beat.connections)),
            ("threads", "Threads at work", u64::from(self.beat.threads)),
            ("run", "Number of the run, 0 before the first", u64::from(self.beat.run)),
            ("configured_runs", "Runs asked for", u64::from(self.runs)),
            (
                "config_test_time_seconds",
                "Length of a run; 0 for one by requests",
                self.test_time_s,
            ),
        ] {
            self.sample(&mut text, name, "gauge", help, &[], &value.to_string());
        }
        self.histogram(&mut text);
        text
    }

    fn sample(
        &self,
        text: &mut String,
        name: &str,
        kind: &str,
        help: &str,
        own: &[(&str, &str)],
        value: &str,
    ) {
        text.push_str(&format!("# HELP memtier_{name} {help}.\n# TYPE memtier_{name} {kind}\n"));
        text.push_str(&format!("memtier_{name}{} {value}\n", self.labels(own)));
    }

    /// Latencies of the seconds that are over.
    fn histogram(&self, text: &mut String) {
        const NAME: &str = "memtier_latency_seconds";
        text.push_str(&format!(
            "# HELP {NAME} Latencies of the seconds that are over.\n# TYPE {NAME} histogram\n"
        ));
        let mut buckets = self.latencies.buckets().peekable();
        let mut below = 0;
        for bound_s in &self.bounds_s {
            let bound_ns = (bound_s * 1e9).round() as u64;
            while let Some(bucket) = buckets.next_if(|bucket| bucket.highest_ns <= bound_ns) {
                below += bucket.count;
            }
            let labels = self.labels(&[("le", &bound_s.to_string())]);
            text.push_str(&format!("{NAME}_bucket{labels} {below}\n"));
        }
        let count = self.latencies.count();
        let sum_s = self.latencies.mean_ns() * count as f64 / 1e9;
        let (all, none) = (self.labels(&[("le", "+Inf")]), self.labels(&[]));
        text.push_str(&format!(
            "{NAME}_bucket{all} {count}\n{NAME}_sum{none} {sum_s:.6}\n{NAME}_count{none} {count}\n"
        ));
    }

    fn labels(&self, own: &[(&str, &str)]) -> String {
        let escape =
            |value: &str| value.replace('\\', "\\\\").replace('"', "\\\"").replace('\n', "\\n");
        let given = self.labels.iter().map(|(name, value)| (name.as_str(), value.as_str()));
        let labels: Vec<String> = given
            .chain(own.iter().copied())
            .map(|(name, value)| format!("{name}=\"{}\"", escape(value)))
            .collect();
        if labels.is_empty() { String::new() } else { format!("{{{}}}", labels.join(",")) }
    }
}

/// Each field stands for itself, so a poisoned lock is still good.
fn lock(figures: &Mutex<Figures>) -> std::sync::MutexGuard<'_, Figures> {
    figures.lock().unwrap_or_else(PoisonError::into_inner)
}

/// Answers one request and closes.
fn answer(mut stream: TcpStream, figures: &Mutex<Figures>) -> std::io::Result<()> {
    stream.set_read_timeout(Some(CLIENT_TIMEOUT))?;
    stream.set_write_timeout(Some(CLIENT_TIMEOUT))?;
    let mut request = Vec::new();
    let mut chunk = [0; 1024];
    while !request.windows(4).any(|four| four == b"\r\n\r\n") && request.len() < MAX_REQUEST_BYTES {
        match stream.read(&mut chunk)? {
            0 => break,
            count => request.extend_from_slice(&chunk[..count]),
        }
    }
    let first = request.split(|byte| *byte == b'\r').next().unwrap_or_default();
    let mut words = first.split(|byte| *byte == b' ');
    let (method, path) = (words.next().unwrap_or_default(), words.next().unwrap_or_default());
    let path = path.split(|byte| *byte == b'?').next().unwrap_or_default();
    let (status, kind, body) = match (method, path) {
        (b"GET", b"/metrics") => {
            ("200 OK", "text/plain; version=0.0.4; charset=utf-8", lock(figures).render())
        }
        (b"GET", _) => ("404 Not Found", "text/plain", "The figures are at /metrics.\n".into()),
        _ => ("501 Not Implemented", "text/plain", "Only GET is understood.\n".into()),
    };
    write!(
        stream,
        "HTTP/1.1 {status}\r\nContent-Type: {kind}\r\nContent-Length: {}\r\nConnection: close\r\n\r\n{body}",
        body.len()
    )
}

#[cfg(test)]
mod tests {
    use super::*;

    fn fetch(address: SocketAddr, request: &str) -> String {
        let mut stream = TcpStream::connect(address).unwrap();
        stream.write_all(request.as_bytes()).unwrap();
        let mut reply = String::new();
        stream.read_to_string(&mut reply).unwrap();
        reply
    }

    #[test]
    fn figures_of_all_runs_are_served() {
        let options = Options {
            prometheus_labels: vec![("env".into(), "a\"b".into())],
            prometheus_buckets: Some(vec![0.001, 1.0]),
            ..Options::new()
        };
        let endpoint = Prometheus::start(0, &options).unwrap();
        endpoint.update(&Beat { run: 1, operations: 10, ..Beat::default() });
        endpoint.update(&Beat { run: 2, operations: 5, ..Beat::default() });
        let mut second = Histogram::new();
        second.record(500_000, 3);
        second.record(2_000_000, 2);
        endpoint.add_second(&second);
        let reply = fetch(endpoint.address, "GET /metrics HTTP/1.1\r\n\r\n");
        assert!(reply.starts_with("HTTP/1.1 200 OK\r\nContent-Type: text/plain; version=0.0.4"));
        for line in [
            "memtier_ops_total{env=\"a\\\"b\"} 15",
            "memtier_run{env=\"a\\\"b\"} 2",
            "memtier_latency_seconds_bucket{env=\"a\\\"b\",le=\"0.001\"} 3",
            "memtier_latency_seconds_bucket{env=\"a\\\"b\",le=\"+Inf\"} 5",
            "memtier_latency_seconds_count{env=\"a\\\"b\"} 5",
        ] {
            assert!(reply.lines().any(|given| given == line), "{line}\n{reply}");
        }
        assert!(fetch(endpoint.address, "GET / HTTP/1.1\r\n\r\n").starts_with("HTTP/1.1 404 "));
        assert!(
            fetch(endpoint.address, "POST /metrics HTTP/1.1\r\n\r\n").starts_with("HTTP/1.1 501 ")
        );
    }
}
