//! What a person can do about a run that failed.

use load::RunError;

/// The error in one sentence, with what to do.
pub fn sentence(error: &RunError) -> String {
    let error_text = error.to_string();
    match advice(error) {
        "" => error_text,
        advice => format!("{}; {advice}", error_text.trim_end_matches('.')),
    }
}

fn advice(error: &RunError) -> &'static str {
    match error {
        // Those of TLS say themselves what to do.
        RunError::Plan(_)
        | RunError::Script(_)
        | RunError::TlsSettings(_)
        | RunError::Tls { .. } => "",
        RunError::Resolve { .. } => "check the host's name",
        RunError::Connect { .. } => {
            "start a server there, name another (redline bench redis://host:6379), or name none to \
             measure the embedded store"
        }
        RunError::Refused { command, .. } if command == "AUTH" => {
            "check --user and --password, or the environment's REDLINE_PASSWORD and REDISCLI_AUTH"
        }
        RunError::Refused { message, .. } | RunError::ErrorReply { message, .. } => {
            if message.starts_with("NOAUTH") || message.contains("Authentication required") {
                "give a password by --password or REDLINE_PASSWORD"
            } else if message.starts_with("MOVED") {
                "the server is a node of a cluster: --cluster loads all of it"
            } else if message.starts_with("CROSSSLOT") {
                "the keys of one command must share a hash tag, as in {user1}:a {user1}:b"
            } else if message.starts_with("READONLY") {
                "name the primary instead of a replica"
            } else {
                // The server's text says why.
                ""
            }
        }
        RunError::Closed { .. } | RunError::Lost { .. } => {
            "the server may have ended or refused more clients: look into its log; a port that speaks TLS needs --tls"
        }
        RunError::Garbage { .. } | RunError::Unasked { .. } => {
            "check that a Redis-compatible server listens there; a port that speaks TLS needs --tls"
        }
        RunError::NoCluster { .. } => "leave out --cluster to measure this server alone",
        RunError::Silent { .. } => {
            "the server hangs or is overloaded; --timeout sets how long to wait"
        }
        RunError::System(_) => "fewer --connections or --threads need less of it",
    }
}
