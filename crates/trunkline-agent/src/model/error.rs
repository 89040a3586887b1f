use std::fmt;
use std::time::Duration;

use http::StatusCode;
use serde::Deserialize;
use trunkline::client::TransportError;
use trunkline::client::http::Bearer;
use trunkline::protocol::excerpt;

/// Why a model has not answered.
#[derive(Debug, Clone, thiserror::Error)]
#[non_exhaustive]
pub enum ModelError {
    /// The base is no URL that can be posted to.
    #[error("{url:?} is no endpoint of a model: {reason}")]
    Address {
        /// What was given, without what may be secret in it: a user, a password and a query.
        url: String,
        /// What is wrong with it.
        reason: String,
    },
    /// There is no connection to the endpoint.
    #[error("the model's endpoint cannot be reached")]
    Unreachable(#[source] TransportError),
    /// The connection broke, or what came is no HTTP.
    #[error("the connection to the model broke")]
    Broken(#[source] TransportError),
    /// It took too long.
    #[error("the model took longer than {} ms {stage}", after.as_millis())]
    Timeout {
        /// For what.
        stage: Stage,
        /// How long it might take.
        after: Duration,
    },
    /// The endpoint wants another key, or one at all.
    #[error("the model's endpoint refuses the key, or the lack of one (HTTP {status})")]
    Unauthorized {
        /// The status.
        status: StatusCode,
    },
    /// The endpoint is too busy, and was asked often enough.
    #[error("the model's endpoint is too busy (HTTP {status})")]
    Busy {
        /// The status.
        status: StatusCode,
        /// When to ask again, if it says.
        retry_after: Option<Duration>,
    },
    /// The endpoint refuses the request, or has failed in it.
    #[error("the model's endpoint answered HTTP {status}: {reason}")]
    Refused {
        /// The status.
        status: StatusCode,
        /// What it says.
        reason: String,
    },
    /// The endpoint has failed in the midst of a reply, and says so in it.
    #[error("the model failed: {reason}")]
    Failed {
        /// What it says.
        reason: String,
    },
    /// The model does not want to answer, or its endpoint does not let it.
    #[error("the model refuses to answer: {reason}")]
    Declined {
        /// What it says.
        reason: String,
    },
    /// There is neither a text nor a call in the reply.
    #[error("the model gave no answer")]
    Empty,
    /// The reply has more bytes than allowed.
    #[error("there are more than {limit} bytes in the model's {what}")]
    TooLarge {
        /// What has: its reply as a whole, the text in it, or the calls.
        what: &'static str,
        /// The limit of bytes.
        limit: usize,
    },
    /// The reply is no chat completion.
    #[error("the model's reply is no chat completion: {reason}")]
    Malformed {
        /// What is wrong.
        reason: String,
    },
    /// The reply ended before it was complete.
    #[error("the model's reply broke off")]
    CutOff,
}

/// What took too long.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[non_exhaustive]
pub enum Stage {
    /// Until the reply began.
    FirstByte,
    /// Until it went on.
    Idle,
    /// All of it.
    Whole,
}

impl fmt::Display for Stage {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::FirstByte => "to begin its reply",
            Self::Idle => "to go on with its reply",
            Self::Whole => "for its reply",
        })
    }
}

impl ModelError {
    pub(super) fn timeout(stage: Stage, after: Duration) -> Self {
        Self::Timeout { stage, after }
    }

    pub(super) fn malformed(reason: impl Into<String>) -> Self {
        Self::Malformed { reason: reason.into() }
    }

    /// As it is told to people: short, and without the key, which servers repeat in what they say.
    pub(super) fn told(mut self, key: Option<&Bearer>) -> Self {
        if let Self::Refused { reason, .. }
        | Self::Failed { reason }
        | Self::Declined { reason }
        | Self::Malformed { reason } = &mut self
        {
            if let Some(key) = key {
                *reason = key.redact(reason);
            }
            *reason = excerpt(reason, TOLD).into_owned();
        }
        self
    }

    /// One word for programs.
    #[must_use]
    pub fn kind(&self) -> &'static str {
        match self {
            Self::Address { .. } => "address",
            Self::Unreachable(_) => "unreachable",
            Self::Broken(_) => "broken",
            Self::Timeout { .. } => "timeout",
            Self::Unauthorized { .. } => "unauthorized",
            Self::Busy { .. } => "busy",
            Self::Refused { .. } | Self::Declined { .. } => "refused",
            Self::Failed { .. } => "failed",
            Self::Empty => "empty",
            Self::TooLarge { .. } => "too_large",
            Self::Malformed { .. } => "malformed",
            Self::CutOff => "cut_off",
        }
    }
}

impl From<TransportError> for ModelError {
    fn from(error: TransportError) -> Self {
        match error {
            TransportError::TooLarge { limit, .. } => Self::TooLarge { what: "reply", limit },
            error if error.is_unsent() => Self::Unreachable(error),
            error => Self::Broken(error),
        }
    }
}

/// The most characters of what a server says.
const TOLD: usize = 300;

/// What the text of an error says to people: servers wrap it in one object or two.
pub(super) fn said(text: &str) -> String {
    #[derive(Deserialize)]
    #[serde(untagged)]
    enum Said {
        Nested { error: Inner },
        Flat { message: String },
        Detail { detail: String },
    }
    #[derive(Deserialize)]
    #[serde(untagged)]
    enum Inner {
        Object { message: String },
        Text(String),
    }
    let said = match serde_json::from_str(text) {
        Ok(
            Said::Nested { error: Inner::Object { message } | Inner::Text(message) }
            | Said::Flat { message }
            | Said::Detail { detail: message },
        ) => message,
        Err(_) => text.trim().to_owned(),
    };
    if said.is_empty() { "it says nothing more".to_owned() } else { said }
}
