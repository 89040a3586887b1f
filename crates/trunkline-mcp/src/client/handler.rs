//! Requests and notifications of the server, and the trait that handles them.

use futures_util::future::BoxFuture;
use serde::Deserialize;
use serde_json::value::RawValue;
use serde_json::{Map, Value, json};
use trunkline::{BoxError, ErrorObject};

use super::message::raw;
use crate::log_level::LogLevel;
use crate::model::Root;

/// Handles the requests and notifications of a server.
///
/// The client declares the capabilities of the [`features`](Self::features). All methods have a default: requests
/// are refused, and notifications ignored. Methods for notifications are called in the order of arrival and must not
/// block.
///
/// The methods for requests are the same for servers of both eras: before 2026-07-28, the server sends a request, and
/// the client a response; since then, the result of a call lists the requests, and the client repeats the call with
/// the answers.
pub trait ClientHandler: Send + Sync {
    /// The features that the handler provides.
    fn features(&self) -> HandlerFeatures {
        HandlerFeatures::default()
    }

    /// Obtains information from the user ("Elicitation"). The defaults of a form's schema are added to the accepted
    /// content by the client.
    fn elicit(&self, elicitation: Elicitation) -> BoxFuture<'_, Result<Elicited, HandlerError>> {
        drop(elicitation);
        unsupported()
    }

    /// Obtains a message from a language model ("Sampling").
    fn sample(&self, sampling: Sampling) -> BoxFuture<'_, Result<Sampled, HandlerError>> {
        drop(sampling);
        unsupported()
    }

    /// Returns the folders and files that the server may use ("Roots").
    fn roots(&self) -> BoxFuture<'_, Result<Vec<Root>, HandlerError>> {
        unsupported()
    }

    /// Receives a log message.
    fn log(&self, message: LogMessage) {
        drop(message);
    }

    /// Receives a change of a list or of a subscribed resource. Cached results have been removed before.
    fn changed(&self, change: Change) {
        drop(change);
    }
}

/// The features of a [`ClientHandler`].
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
#[non_exhaustive]
pub struct HandlerFeatures {
    /// Elicitation with forms.
    pub forms: bool,
    /// Elicitation with URLs that the user visits.
    pub urls: bool,
    /// Sampling.
    pub sampling: bool,
    /// Sampling with tools.
    pub sampling_tools: bool,
    /// Roots.
    pub roots: bool,
    /// Changes of the lists of tools, resources and prompts. A stream is kept open for them.
    pub list_changes: bool,
}

impl HandlerFeatures {
    /// Whether the server may send requests.
    pub(super) fn has_requests(self) -> bool {
        self.forms || self.urls || self.sampling || self.roots
    }

    /// The capabilities that the client declares.
    pub(super) fn capabilities(self) -> Value {
        let mut capabilities = Map::new();
        let mut elicitation = Map::new();
        for (mode, is_supported) in [("form", self.forms), ("url", self.urls)] {
            if is_supported {
                elicitation.insert(mode.to_owned(), json!({}));
            }
        }
        if !elicitation.is_empty() {
            capabilities.insert("elicitation".to_owned(), elicitation.into());
        }
        if self.sampling {
            let tools = if self.sampling_tools { json!({ "tools": {} }) } else { json!({}) };
            capabilities.insert("sampling".to_owned(), tools);
        }
        if self.roots {
            capabilities.insert("roots".to_owned(), json!({}));
        }
        capabilities.into()
    }
}

/// A request for information from the user.
#[derive(Debug, Clone)]
#[non_exhaustive]
pub enum Elicitation {
    /// The user fills in a form. Secrets must not be requested this way.
    #[non_exhaustive]
    Form {
        /// The purpose, to be shown to the user. Not trusted.
        message: String,
        /// The JSON Schema of the content: an object with members of primitive types.
        schema: Box<RawValue>,
    },
    /// The user visits a URL, which the client must show and not open without consent.
    #[non_exhaustive]
    Url {
        /// The purpose, to be shown to the user. Not trusted.
        message: String,
        /// The URL.
        url: String,
    },
}

/// The answer to an [`Elicitation`].
#[derive(Debug, Clone, PartialEq)]
pub enum Elicited {
    /// The user has consented, with the content of a form. The content for a URL is ignored.
    Accept(Map<String, Value>),
    /// The user has refused.
    Decline,
    /// The user has made no choice.
    Cancel,
}

impl Elicited {
    /// The result as in the specification (`ElicitResult`). The answer to a form has content, even if that is empty.
    pub(super) fn into_result(self, is_form: bool) -> Box<RawValue> {
        raw(&match self {
            Self::Accept(content) if is_form => json!({ "action": "accept", "content": content }),
            Self::Accept(_) => json!({ "action": "accept" }),
            Self::Decline => json!({ "action": "decline" }),
            Self::Cancel => json!({ "action": "cancel" }),
        })
    }
}

/// A request for a message from a language model.
#[derive(Debug, Clone, Deserialize)]
#[serde(rename_all = "camelCase")]
#[non_exhaustive]
pub struct Sampling {
    /// The conversation, as received.
    pub messages: Vec<Value>,
    /// The system prompt.
    pub system_prompt: Option<String>,
    /// The maximum number of tokens of the answer.
    pub max_tokens: u64,
    /// The whole params, as received.
    #[serde(skip, default = "null")]
    pub params: Box<RawValue>,
}

fn null() -> Box<RawValue> {
    RawValue::NULL.to_owned()
}

/// The answer to a [`Sampling`].
#[derive(Debug, Clone)]
#[non_exhaustive]
pub struct Sampled {
    /// The result, an object as in the specification (`CreateMessageResult`).
    pub result: Box<RawValue>,
}

impl Sampled {
    /// A text by the assistant.
    #[must_use]
    pub fn text(model: &str, text: &str) -> Self {
        let content = json!({ "type": "text", "text": text });
        let (role, stop_reason) = ("assistant", "endTurn");
        let result =
            json!({ "role": role, "content": content, "model": model, "stopReason": stop_reason });
        Self { result: raw(&result) }
    }

    /// A result as in the specification, which is passed on unchanged.
    #[must_use]
    pub fn from_result(result: Box<RawValue>) -> Self {
        Self { result }
    }
}

/// A log message of the server.
#[derive(Debug, Clone, Deserialize)]
#[non_exhaustive]
pub struct LogMessage {
    /// The severity.
    pub level: LogLevel,
    /// The name of the logger.
    pub logger: Option<String>,
    /// The content, as received.
    pub data: Value,
}

/// A change that a server has notified of.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub enum Change {
    /// The list of tools.
    Tools,
    /// The list of resources.
    Resources,
    /// The list of prompts.
    Prompts,
    /// The resource with this URI.
    Resource(String),
}

/// Why a request of the server has no answer.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum HandlerError {
    /// The handler does not support the request.
    #[error("the client does not support this request")]
    Unsupported,
    /// The request or its answer is invalid.
    #[error("{0}")]
    Invalid(String),
    /// Several requests with [handlers](super::CallOptions::handler) are running, or one and a cancelled one, and the
    /// transport does not show to which of them the request of the server belongs.
    #[error("several requests may be running; it is unknown which of them this request belongs to")]
    Ambiguous,
    /// The user has refused.
    #[error("the user refused the request: {0}")]
    Refused(String),
    /// The handler did not answer within [`handler_timeout`](super::McpClientConfig::handler_timeout).
    #[error("the client did not answer in time")]
    Timeout,
    /// The client answers as many requests as [`max_requests`](super::McpClientConfig::max_requests) allows.
    #[error("the client answers too many requests")]
    Busy,
    /// The handler has failed. The server does not receive the cause.
    #[error("the client failed to answer")]
    Failed(#[source] BoxError),
}

impl HandlerError {
    pub(super) fn object(&self) -> ErrorObject {
        let code = match self {
            Self::Unsupported => -32601,
            Self::Invalid(_) => -32602,
            // The code in the examples of the specification ("Sampling").
            Self::Refused(_) => -1,
            Self::Ambiguous | Self::Timeout | Self::Busy | Self::Failed(_) => -32603,
        };
        ErrorObject::new(code, self.to_string())
    }
}

fn unsupported<T: Send + 'static>() -> BoxFuture<'static, Result<T, HandlerError>> {
    Box::pin(std::future::ready(Err(HandlerError::Unsupported)))
}

/// A handler without features.
#[derive(Debug, Clone, Copy, Default)]
pub(super) struct NoHandler;

impl ClientHandler for NoHandler {}
