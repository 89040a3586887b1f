//! Requests and notifications of the server, and the trait that handles them.

use futures_util::future::BoxFuture;
use serde_json::{Value, json};
use trunkline::{BoxError, ErrorObject};

use crate::model::{
    CreateMessageRequest, CreateMessageResult, ElicitRequest, ElicitResult, LogMessage, Root,
};

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
    /// content by the client. The content for a URL is ignored.
    fn elicit(&self, request: ElicitRequest) -> BoxFuture<'_, Result<ElicitResult, HandlerError>> {
        drop(request);
        unsupported()
    }

    /// Obtains a message from a language model ("Sampling").
    fn sample(
        &self,
        request: CreateMessageRequest,
    ) -> BoxFuture<'_, Result<CreateMessageResult, HandlerError>> {
        drop(request);
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
        let mut capabilities = json!({});
        for (is_supported, capability, part) in [
            (self.forms, "elicitation", Some("form")),
            (self.urls, "elicitation", Some("url")),
            (self.sampling, "sampling", None),
            (self.sampling && self.sampling_tools, "sampling", Some("tools")),
            (self.roots, "roots", None),
        ] {
            match part {
                _ if !is_supported => {}
                Some(part) => capabilities[capability][part] = json!({}),
                None => capabilities[capability] = json!({}),
            }
        }
        capabilities
    }
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
