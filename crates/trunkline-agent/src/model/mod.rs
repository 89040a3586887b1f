//! A client of OpenAI-compatible chat completion endpoints: Ollama, llama.cpp, vLLM, and hosted ones.
//!
//! Servers deviate from the specification, so replies are parsed leniently: as a stream or in one piece, whichever
//! was requested; with or without ids; with arguments as text or as an object.

mod accumulator;
mod answer;
mod chunk;
mod config;
mod error;
mod extra;
mod message;
mod reply;
mod retry;
mod tool;
mod tool_call;

use std::collections::HashSet;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, PoisonError, RwLock};
use std::time::Duration;

use bytes::Bytes;
use http::{HeaderMap, HeaderValue, StatusCode, header};
use serde::Serialize;
use serde_json::{Value, json};
use tokio::time::{Instant, timeout_at};
use trunkline::client::Http;
use trunkline::client::http::{
    self as client_http, Bearer, Reply as HttpReply, Url, UrlError, redact_url,
};
use trunkline::protocol::spans::Work;

use crate::spans;

pub use accumulator::Completion;
pub use chunk::Usage;
pub use config::ModelConfig;
pub use error::{ModelError, Stage};
pub use extra::ExtraMembers;
pub(crate) use extra::depth;
pub(crate) use message::truncate;
pub use message::{FunctionCall, Message, MessageToolCall};
pub use reply::Reply;
pub use tool::Tool;
pub(crate) use tool_call::id;
pub use tool_call::{Arguments, ToolCall};

use reply::Deadlines;
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
    /// The same with the current key.
    current: RwLock<Arc<ModelConfig>>,
    /// Whether the server has rejected streaming; then no further streams are requested.
    rejects_streams: AtomicBool,
    /// Whether the server has rejected extra members that it has sent; then no further ones are sent.
    rejects_extra: AtomicBool,
    /// Whether the last text of the model began with reasoning whose opening tag is in the prompt; then the next one is
    /// held back until the reasoning ends.
    leaves_reasoning_unopened: Arc<AtomicBool>,
}

/// The name of the member that DeepSeek requires in all messages of the model if it is in one.
const REASONING: &str = "reasoning_content";

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
            max_reply: config.max_reply,
            connect_timeout: config.connect_timeout,
            ..Default::default()
        };
        let http =
            Http::with_config(url.clone(), http).map_err(|error| address(error.to_string()))?;
        let config = Arc::new(config);
        let inner = Inner {
            http,
            url,
            current: RwLock::new(Arc::clone(&config)),
            rejects_streams: AtomicBool::new(!config.stream),
            rejects_extra: AtomicBool::new(false),
            leaves_reasoning_unopened: Arc::default(),
            config,
        };
        Ok(Self { inner: Arc::new(inner) })
    }

    /// The model's name.
    #[must_use]
    pub fn name(&self) -> &str {
        &self.inner.config.model
    }

    /// Replaces the key, for all clones and for requests that have not begun.
    pub fn replace_key(&self, key: Option<Bearer>) {
        let config = Arc::new(ModelConfig { key, ..ModelConfig::clone(&self.inner.config) });
        *self.inner.current.write().unwrap_or_else(PoisonError::into_inner) = config;
    }

    /// The configuration with the current key.
    fn current(&self) -> Arc<ModelConfig> {
        Arc::clone(&self.inner.current.read().unwrap_or_else(PoisonError::into_inner))
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
        let config = self.current();
        let reply = self.send(messages, tools, &config).await;
        reply.map_err(|error| error.redacted(config.key.as_ref()))
    }

    async fn send(
        &self,
        messages: &[Message],
        tools: &[Tool],
        config: &Arc<ModelConfig>,
    ) -> Result<Reply, ModelError> {
        let Inner { rejects_streams, rejects_extra, leaves_reasoning_unopened, .. } = &*self.inner;
        let whole = Instant::now() + config.timeout;
        let mut retries = Retries::new(config, whole);
        let mut form = Form {
            streamed: !rejects_streams.load(Ordering::Relaxed),
            with_extra: !rejects_extra.load(Ordering::Relaxed),
        };
        loop {
            let body = self.body(messages, tools, form);
            let first_token = Instant::now() + config.first_token_timeout;
            let deadlines = Deadlines { first_token, whole };
            match self.post(body, form.streamed, deadlines, config).await {
                Ok(reply) if reply.status.is_success() => {
                    // A success in another form shows that the first one was rejected.
                    rejects_streams.fetch_or(!form.streamed, Ordering::Relaxed);
                    rejects_extra.fetch_or(!form.with_extra, Ordering::Relaxed);
                    return Ok(Reply::new(reply, config, leaves_reasoning_unopened, deadlines));
                }
                Ok(reply) => {
                    let error = ErrorReply::read(reply, config, whole).await;
                    if form.streamed && error.rejects_streaming() {
                        form.streamed = false;
                        continue;
                    }
                    if form.with_extra && error.rejects_members(&self.extra_names(messages)) {
                        form.with_extra = false;
                        continue;
                    }
                    retries.wait(error.into()).await?;
                }
                Err(error) => retries.wait(Retry::new(error)).await?,
            }
        }
    }

    /// The names of the extra members of messages by this model.
    fn extra_names<'a>(&self, messages: &'a [Message]) -> HashSet<&'a str> {
        let of_message = |message: &'a Message| message.extra_by(self.name());
        messages.iter().flat_map(of_message).flat_map(ExtraMembers::names).collect()
    }

    /// The messages in the format of the API.
    fn messages(&self, messages: &[Message], with_extra: bool) -> Vec<Value> {
        let requires_reasoning = with_extra && {
            let mut extra = messages.iter().flat_map(|message| message.extra_by(self.name()));
            extra.any(|extra| extra.contains(REASONING))
        };
        let to_json = |message: &Message| {
            let mut json = message.to_json(with_extra.then(|| self.name()));
            if requires_reasoning && json["role"] == "assistant" && json.get(REASONING).is_none() {
                json[REASONING] = "".into();
            }
            json
        };
        messages.iter().map(to_json).collect()
    }

    fn body(&self, messages: &[Message], tools: &[Tool], form: Form) -> Bytes {
        let config = &self.inner.config;
        let Form { streamed, with_extra } = form;
        let body = Body {
            model: &config.model,
            messages: self.messages(messages, with_extra),
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
        deadlines: Deadlines,
        config: &ModelConfig,
    ) -> Result<HttpReply, ModelError> {
        let http = &self.inner.http;
        let accept =
            if streamed { "text/event-stream, application/json" } else { "application/json" };
        let accept = (header::ACCEPT, HeaderValue::from_static(accept));
        let key = config.key.as_ref().map(|key| (header::AUTHORIZATION, key.header()));
        let headers = HeaderMap::from_iter(key.into_iter().chain([accept]));
        let Deadlines { first_token, whole } = deadlines;
        match timeout_at(first_token.min(whole), http.post(headers, body)).await {
            Ok(reply) => reply.map_err(ModelError::from),
            Err(_) if first_token < whole => {
                Err(ModelError::timeout(Stage::FirstToken, config.first_token_timeout))
            }
            Err(_) => Err(ModelError::timeout(Stage::Whole, config.timeout)),
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

/// The form of a request. Another one is tried if the server rejects it.
#[derive(Debug, Clone, Copy)]
struct Form {
    streamed: bool,
    with_extra: bool,
}

#[derive(Serialize)]
struct Body<'a> {
    model: &'a str,
    messages: Vec<Value>,
    #[serde(skip_serializing_if = "Vec::is_empty")]
    tools: Vec<Value>,
    stream: bool,
    #[serde(skip_serializing_if = "Option::is_none")]
    stream_options: Option<Value>,
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
        let deadline = deadline.min(Instant::now() + ERROR_TEXT_TIMEOUT.min(config.token_timeout));
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

    /// Whether the server rejects a member with one of these names.
    fn rejects_members(&self, names: &HashSet<&str>) -> bool {
        const STATUSES: [StatusCode; 2] =
            [StatusCode::BAD_REQUEST, StatusCode::UNPROCESSABLE_ENTITY];
        let mut words =
            self.text.split(|c: char| !c.is_ascii_alphanumeric() && !matches!(c, '_' | '-'));
        STATUSES.contains(&self.status) && words.any(|word| names.contains(word))
    }
}

impl From<ErrorReply> for Retry {
    fn from(reply: ErrorReply) -> Self {
        let ErrorReply { status, headers, text } = reply;
        Self::from_status(status, &headers, error::error_message(&text))
    }
}
