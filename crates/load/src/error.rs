//! Why a run failed, each in one sentence that names the server.

use std::io;

use report::model::StepResult;
use resp::DecodeError;
use thiserror::Error;

use crate::plan::{Address, PlanError};
use crate::tls::{HandshakeError, SettingsError};

/// Longest piece of a server's error text that is kept, in bytes.
const MAX_MESSAGE_BYTES: usize = 512;

/// Why a run failed, or could not begin.
#[derive(Debug, Error)]
pub enum RunError {
    /// The plan breaks a rule.
    #[error(transparent)]
    Plan(#[from] PlanError),
    /// A host name has no address.
    #[error("cannot resolve {address}: {source}")]
    Resolve {
        /// The server.
        address: String,
        /// What the resolver said.
        source: io::Error,
    },
    /// A connection could not be made.
    #[error("cannot connect to {address}: {source}")]
    Connect {
        /// The server.
        address: String,
        /// What the system said.
        source: io::Error,
    },
    /// The settings of TLS can't be used.
    #[error(transparent)]
    TlsSettings(#[from] SettingsError),
    /// No encrypted connection came about, or it ended against the rules.
    #[error("no TLS connection to {address}: {source}")]
    Tls {
        /// The server.
        address: String,
        /// Why.
        source: HandshakeError,
    },
    /// Authentication, or another command before the load, was answered with an error.
    #[error("{address} refused {command}: {message}")]
    Refused {
        /// The server.
        address: String,
        /// The command's name; never its arguments.
        command: String,
        /// The server's text.
        message: String,
    },
    /// The server closed a connection.
    #[error("{address} closed the connection")]
    Closed {
        /// The server.
        address: String,
    },
    /// A connection broke.
    #[error("connection to {address} lost: {source}")]
    Lost {
        /// The server.
        address: String,
        /// What the system said.
        source: io::Error,
    },
    /// What came is no reply of the protocol.
    #[error("{address} does not speak the protocol: {source}")]
    Garbage {
        /// The server.
        address: String,
        /// What is wrong with it.
        source: DecodeError,
    },
    /// A reply came without a request.
    #[error("{address} sent a reply that no request asked for")]
    Unasked {
        /// The server.
        address: String,
    },
    /// An error reply, in a plan that stops at the first.
    #[error("{address} answered {label} with an error: {message}")]
    ErrorReply {
        /// The server.
        address: String,
        /// The command's label.
        label: String,
        /// The server's text.
        message: String,
    },
    /// A target of a cluster's load that is no node of one.
    #[error("{address} is no node of a cluster: {message}")]
    NoCluster {
        /// The server.
        address: String,
        /// What it said, or what it did not.
        message: String,
    },
    /// A script of the mix could not go on.
    #[error("script: {0}")]
    Script(String),
    /// No reply within the plan's time limit.
    #[error("{address} has not answered for {waited_ms} ms")]
    Silent {
        /// The server.
        address: String,
        /// How long the oldest request waited.
        waited_ms: u64,
    },
    /// The system refused what the generator itself needs.
    #[error("the load generator cannot run: {0}")]
    System(#[from] io::Error),
}

impl RunError {
    /// The error of a connection that broke.
    pub(crate) fn lost(address: &Address, source: io::Error) -> Self {
        let address = address.to_string();
        match HandshakeError::of(&source) {
            Some(error) => Self::Tls { address, source: error.clone() },
            None => Self::Lost { address, source },
        }
    }
}

impl RunError {
    /// True when a connection is lost, or was not made, so that another may do better.
    pub(crate) fn is_loss(&self) -> bool {
        match self {
            Self::Connect { .. }
            | Self::Closed { .. }
            | Self::Lost { .. }
            | Self::Silent { .. }
            | Self::Tls { source: HandshakeError::Closed | HandshakeError::Silent(_), .. } => true,
            // A server that has just come up answers what comes first on a connection with this.
            Self::Refused { message, .. } => message.starts_with("LOADING"),
            _ => false,
        }
    }
}

/// A run that failed, with what was measured until then.
#[derive(Debug, Error)]
#[error("{error}")]
pub struct RunFailure {
    /// Why.
    #[source]
    pub error: RunError,
    /// What was measured; absent when no connection ever sent a request.
    pub partial: Option<Box<StepResult>>,
}

impl<E: Into<RunError>> From<E> for RunFailure {
    fn from(error: E) -> Self {
        Self { error: error.into(), partial: None }
    }
}

/// A server's error text, cut to a length that fits a sentence.
pub(crate) fn message_text(text: &[u8]) -> String {
    String::from_utf8_lossy(&text[..text.len().min(MAX_MESSAGE_BYTES)]).into_owned()
}
