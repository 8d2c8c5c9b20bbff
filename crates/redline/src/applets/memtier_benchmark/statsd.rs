//! Figures for StatsD, a UDP packet a second, and the two events for Graphite. Both are for watching only: a receiver that is
//! not there is said once and does not stop a run.

use std::io::{Read as _, Write as _};
use std::net::{TcpStream, ToSocketAddrs as _, UdpSocket};
use std::time::Duration;

use report::histogram::Histogram;

use super::options::Options;
use super::progress::Beat;

/// Longest wait for Graphite.
const GRAPHITE_TIMEOUT: Duration = Duration::from_secs(2);

/// Where figures go.
pub struct Statsd {
    socket: UdpSocket,
    /// `prefix.label.`, in front of each name.
    stem: String,
    percentiles: Vec<f64>,
    graphite: (String, u16),
    label: String,
}

impl Statsd {
    /// Finds the receiver.
    ///
    /// # Errors
    /// A sentence: the host has no address, or the system gives no socket.
    pub fn open(host: &str, options: &Options) -> Result<Self, String> {
        let address = (host, options.statsd_port)
            .to_socket_addrs()
            .ok()
            .and_then(|mut found| found.next())
            .ok_or_else(|| format!("cannot resolve the StatsD host {host}"))?;
        let any = if address.is_ipv4() { "0.0.0.0:0" } else { "[::]:0" };
        let socket = UdpSocket::bind(any)
            .and_then(|socket| socket.connect(address).map(|()| socket))
            .map_err(|error| format!("cannot send to StatsD at {host}: {error}"))?;
        let label = name_part(&options.statsd_run_label);
        Ok(Self {
            socket,
            stem: format!("{}.{label}.", options.statsd_prefix),
            percentiles: options.print_percentiles.clone(),
            graphite: (host.to_string(), options.graphite_port),
            label,
        })
    }

    /// Sends the figures of a beat. Lost packets are not missed: UDP promises nothing.
    pub fn send(&self, beat: &Beat, last_second: Option<&Histogram>) {
        let _ = self.socket.send(self.packet(beat, last_second).as_bytes());
    }

    /// Sends zeros for what would else stand still in a graph after the end.
    pub fn send_end(&self) {
        let names = ["ops_sec", "ops_sec_avg", "bytes_sec", "bytes_sec_avg", "progress_pct"];
        let lines: Vec<String> =
            names.iter().map(|name| format!("{}{name}:0|g", self.stem)).collect();
        let _ = self.socket.send(lines.join("\n").as_bytes());
    }

    /// Tells Graphite that the benchmark started or ended.
    ///
    /// # Errors
    /// A sentence for standard error.
    pub fn event(&self, what: &str, tag: &str) -> Result<(), String> {
        let (host, port) = &self.graphite;
        let body = serde_json::json!({
            "what": what,
            "tags": format!("memtier,{tag}"),
            "data": format!("run label {}", self.label),
        })
        .to_string();
        let request = format!(
            "POST /events/ HTTP/1.1\r\nHost: {host}:{port}\r\nContent-Type: application/json\r\nContent-Length: {}\r\n\
             Connection: close\r\n\r\n{body}",
            body.len()
        );
        let send = || -> std::io::Result<()> {
            let address = (host.as_str(), *port)
                .to_socket_addrs()?
                .next()
                .ok_or(std::io::ErrorKind::NotFound)?;
            let mut stream = TcpStream::connect_timeout(&address, GRAPHITE_TIMEOUT)?;
            stream.set_read_timeout(Some(GRAPHITE_TIMEOUT))?;
            stream.set_write_timeout(Some(GRAPHITE_TIMEOUT))?;
            stream.write_all(request.as_bytes())?;
            // The first bytes of the answer are enough to know that it came.
            stream.read(&mut [0; 64]).map(|_| ())
        };
        send().map_err(|error| {
            format!("warning: Graphite at {host}:{port} did not take the event '{what}': {error}")
        })
    }

    fn packet(&self, beat: &Beat, last_second: Option<&Histogram>) -> String {
        let mut lines = Vec::new();
        let mut add = |name: &str, value: String, kind: &str| {
            lines.push(format!("{}{name}:{value}|{kind}", self.stem));
        };
        add("ops_sec", format!("{:.0}", beat.rate), "g");
        add("ops_sec_avg", format!("{:.0}", beat.rate_average), "g");
        add("bytes_sec", format!("{:.0}", beat.bytes_rate), "g");
        add("bytes_sec_avg", format!("{:.0}", beat.bytes_rate_average), "g");
        add("latency_ms", format!("{:.3}", beat.latency_ms), "ms");
        add("latency_avg_ms", format!("{:.3}", beat.latency_average_ms), "ms");
        add("connections", beat.connections.to_string(), "g");
        add("progress_pct", format!("{:.2}", beat.percent.min(100.0)), "g");
        if beat.connection_errors > 0 {
            add("connection_errors", beat.connection_errors.to_string(), "g");
        }
        if let Some(latencies) = last_second {
            for percentile in &self.percentiles {
                let name = format!("latency_p{}", percentile.to_string().replace('.', "_"));
                let ms = latencies.percentile_ns(*percentile) as f64 / 1e6;
                add(&name, format!("{ms:.3}"), "g");
            }
        }
        lines.join("\n")
    }
}

/// A label as a part of a name: what StatsD reads as punctuation becomes a dash.
fn name_part(label: &str) -> String {
    label.replace(|letter: char| letter.is_whitespace() || ":|@.".contains(letter), "-")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_packet_has_the_names_of_the_original() {
        let receiver = UdpSocket::bind("127.0.0.1:0").unwrap();
        receiver.set_read_timeout(Some(Duration::from_secs(5))).unwrap();
        let options = Options {
            statsd_port: receiver.local_addr().unwrap().port(),
            statsd_run_label: "a b".into(),
            ..Options::new()
        };
        let statsd = Statsd::open("127.0.0.1", &options).unwrap();
        let mut latencies = Histogram::new();
        latencies.record(2_000_000, 10);
        let beat = Beat { rate: 1234.4, connections: 7, ..Beat::default() };
        statsd.send(&beat, Some(&latencies));
        let mut packet = [0; 4096];
        let length = receiver.recv(&mut packet).unwrap();
        let text = String::from_utf8(packet[..length].to_vec()).unwrap();
        let lines: Vec<&str> = text.lines().collect();
        assert_eq!(lines[0], "memtier.a-b.ops_sec:1234|g");
        assert!(lines.contains(&"memtier.a-b.connections:7|g"));
        assert!(lines.contains(&"memtier.a-b.latency_ms:0.000|ms"));
        assert!(lines.contains(&"memtier.a-b.latency_p99_9:2.000|g"));
        assert!(!text.contains("connection_errors"));
        statsd.send_end();
        let length = receiver.recv(&mut packet).unwrap();
        assert!(packet[..length].starts_with(b"memtier.a-b.ops_sec:0|g\n"));
    }
}
