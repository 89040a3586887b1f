//! A client of OpenAI-compatible chat completion endpoints: Ollama, llama.cpp, vLLM, and hosted ones.
//!
//! Servers deviate from the specification, so replies are parsed leniently: as a stream or in one piece, whichever
//! was requested; with or without ids; with arguments as text or as an object.

mod accumulator;
mod chunk;
mod config;
mod error;
mod message;
mod reply;
mod retry;
mod tool;
mod tool_call;

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use bytes::Bytes;
use http::{HeaderMap, HeaderValue, StatusCode, header};
use serde::Serialize;
use serde_json::json;
use tokio::time::{Instant, timeout_at};
use trunkline::client::Http;
use trunkline::client::http::{self as client_http, Reply as HttpReply, Url, UrlError, redact_url};
use trunkline::protocol::spans::{self, Work};

pub use accumulator::Completion;
pub use chunk::Usage;
pub use config::ModelConfig;
pub use error::{ModelError, Stage};
pub(crate) use message::truncate;
pub use message::{FunctionCall, Message, MessageToolCall};
pub use reply::Reply;
pub use tool::Tool;
pub(crate) use tool_call::id;
pub use tool_call::{Arguments, ToolCall};

use retry::{Retries, Retry};

/// A language model at an endpoint. Cloning is cheap; clones share their connections.
#[derive(Debug, Clone)]
pub struct Model {
    inner: Arc<Inner>,
}

#[derive(Debug)]
struct Inner {
    http: Http,
    url: Url,
    config: Arc<ModelConfig>,
    /// Whether the server has rejected streaming; then no further streams are requested.
    rejects_streams: AtomicBool,
}

impl Model {
    /// Creates a model, which connects with its first request.
    ///
    /// # Errors
    /// [`ModelError::Address`] if the URL is invalid.
    pub fn new(config: ModelConfig) -> Result<Self, ModelError> {
        let shown = redact_url(&config.url);
        let address = |reason: String| ModelError::Address { url: shown.clone(), reason };
        let url = config.endpoint().parse::<Url>();
        let url = url.map_err(|error| address(invalid_url_reason(error, &shown)))?;
        if config.exposes_key() {
            tracing::warn!(url = shown, "the key is sent to this URL unencrypted; use https");
        }
        let http = client_http::HttpClientConfig {
            bearer: config.key.clone(),
            max_reply: config.max_reply,
            connect_timeout: config.connect_timeout,
            ..Default::default()
        };
        let http =
            Http::with_config(url.clone(), http).map_err(|error| address(error.to_string()))?;
        let rejects_streams = AtomicBool::new(!config.stream);
        let config = Arc::new(config);
        Ok(Self { inner: Arc::new(Inner { http, url, config, rejects_streams }) })
    }

    /// The model's name.
    #[must_use]
    pub fn name(&self) -> &str {
        &self.inner.config.model
    }

    /// Begins the span of a request.
    pub(crate) fn span(&self) -> Work {
        let url = &self.inner.url;
        spans::model(self.name(), url.host(), url.port())
    }

    /// Requests the next message of a conversation.
    ///
    /// A request is retried, within the limits of the configuration, if the connection fails or the server is busy
    /// (429, 503). Other failures are not retried.
    ///
    /// # Errors
    /// If the request fails before a reply begins.
    ///
    /// # Cancel safety
    /// Dropping the future closes the connection.
    pub async fn ask(&self, messages: &[Message], tools: &[Tool]) -> Result<Reply, ModelError> {
        let reply = self.send(messages, tools).await;
        reply.map_err(|error| error.redacted(self.inner.config.key.as_ref()))
    }

    async fn send(&self, messages: &[Message], tools: &[Tool]) -> Result<Reply, ModelError> {
        let Inner { config, rejects_streams, .. } = &*self.inner;
        let deadline = Instant::now() + config.timeout;
        let mut retries = Retries::new(config, deadline);
        let mut streamed = !rejects_streams.load(Ordering::Relaxed);
        loop {
            let body = self.body(messages, tools, streamed);
            match self.post(body, streamed, deadline).await {
                Ok(reply) if reply.status.is_success() => {
                    // A success without streaming shows that streaming was rejected.
                    rejects_streams.fetch_or(!streamed, Ordering::Relaxed);
                    return Ok(Reply::new(reply, config, deadline));
                }
                Ok(reply) => {
                    let error = ErrorReply::read(reply, config, deadline).await;
                    if streamed && error.rejects_streaming() {
                        streamed = false;
                        continue;
                    }
                    retries.wait(error.into()).await?;
                }
                Err(error) => retries.wait(Retry::new(error)).await?,
            }
        }
    }

    fn body(&self, messages: &[Message], tools: &[Tool], streamed: bool) -> Bytes {
        let config = &self.inner.config;
        let body = Body {
            model: &config.model,
            messages,
            tools: tools.iter().map(Tool::to_json).collect(),
            stream: streamed,
            stream_options: streamed.then(|| json!({ "include_usage": true })),
            temperature: config.temperature,
        };
        Bytes::from(serde_json::to_vec(&body).expect("texts and schemas serialise into memory"))
    }

    async fn post(
        &self,
        body: Bytes,
        streamed: bool,
        deadline: Instant,
    ) -> Result<HttpReply, ModelError> {
        let Inner { http, config, .. } = &*self.inner;
        let accept =
            if streamed { "text/event-stream, application/json" } else { "application/json" };
        let headers = HeaderMap::from_iter([(header::ACCEPT, HeaderValue::from_static(accept))]);
        let until = deadline.min(Instant::now() + config.first_byte_timeout);
        match timeout_at(until, http.post(headers, body)).await {
            Ok(reply) => reply.map_err(ModelError::from),
            Err(_) if until == deadline => Err(ModelError::timeout(Stage::Whole, config.timeout)),
            Err(_) => Err(ModelError::timeout(Stage::FirstByte, config.first_byte_timeout)),
        }
    }
}

/// The reason why a URL is invalid. It quotes from the URL, so it is computed for the redacted URL.
fn invalid_url_reason(error: UrlError, shown: &str) -> String {
    match error {
        UrlError::UserInfo => "user or password in the URL; set the key separately (command line: \
             `TRUNKLINE_AGENT_KEY`)"
            .to_owned(),
        error => shown.parse::<Url>().err().unwrap_or(error).to_string(),
    }
}

#[derive(Serialize)]
struct Body<'a> {
    model: &'a str,
    messages: &'a [Message],
    #[serde(skip_serializing_if = "Vec::is_empty")]
    tools: Vec<serde_json::Value>,
    stream: bool,
    #[serde(skip_serializing_if = "Option::is_none")]
    stream_options: Option<serde_json::Value>,
    #[serde(skip_serializing_if = "Option::is_none")]
    temperature: Option<f32>,
}

/// An error status, and the text of the reply.
struct ErrorReply {
    status: StatusCode,
    headers: HeaderMap,
    text: String,
}

/// The maximum number of bytes to read of an error text.
const MAX_ERROR_BYTES: usize = 4 << 10;

/// The maximum time to wait for an error text.
const ERROR_TEXT_TIMEOUT: Duration = Duration::from_secs(5);

impl ErrorReply {
    async fn read(mut reply: HttpReply, config: &ModelConfig, deadline: Instant) -> Self {
        let mut text = Vec::new();
        let deadline = deadline.min(Instant::now() + ERROR_TEXT_TIMEOUT.min(config.idle_timeout));
        while text.len() < MAX_ERROR_BYTES {
            // The text is informative only, so a failure to read it is ignored.
            let Ok(Ok(Some(chunk))) = timeout_at(deadline, reply.chunk()).await else { break };
            text.extend_from_slice(&chunk[..chunk.len().min(MAX_ERROR_BYTES)]);
        }
        let text = String::from_utf8_lossy(&text).into_owned();
        Self { status: reply.status, headers: reply.headers, text }
    }

    /// Whether the server rejects streaming, or streaming with tools. Servers use different statuses for that.
    fn rejects_streaming(&self) -> bool {
        const STATUSES: [StatusCode; 6] = [
            StatusCode::BAD_REQUEST,
            StatusCode::NOT_FOUND,
            StatusCode::METHOD_NOT_ALLOWED,
            StatusCode::UNSUPPORTED_MEDIA_TYPE,
            StatusCode::UNPROCESSABLE_ENTITY,
            StatusCode::NOT_IMPLEMENTED,
        ];
        // `upstream` does not count.
        let text = self.text.to_ascii_lowercase();
        let mut words = text.split(|c: char| !c.is_ascii_alphanumeric());
        let is_named = |word| matches!(word, "stream" | "streams" | "streamed" | "streaming");
        STATUSES.contains(&self.status) && words.any(is_named)
    }
}

impl From<ErrorReply> for Retry {
    fn from(reply: ErrorReply) -> Self {
        let ErrorReply { status, headers, text } = reply;
        Self::from_status(status, &headers, error::error_message(&text))
    }
}
