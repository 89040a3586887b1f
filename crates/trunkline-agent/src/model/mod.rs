//! A client of an endpoint that speaks OpenAI's chat completions: Ollama, llama.cpp, vLLM, and hosted ones.
//!
//! Servers differ in what they leave out and where they put it, so replies are read tolerantly: as a stream
//! or in one piece, whichever was asked for; with ids or without; with arguments as text or as an object.

mod accumulator;
mod chunk;
mod error;
mod message;
mod reply;
mod retry;
mod settings;
mod tool_call;

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use bytes::Bytes;
use http::{HeaderMap, HeaderValue, StatusCode, header};
use schemars::transform::{RecursiveTransform, Transform};
use serde::Serialize;
use serde_json::json;
use tokio::time::{Instant, timeout_at};
use trunkline::Schema;
use trunkline::client::Http;
use trunkline::client::http::{self as client_http, Reply as HttpReply, Url, UrlError};

pub use accumulator::Completion;
pub use chunk::Usage;
pub use error::{ModelError, Stage};
pub(crate) use message::cut;
pub use message::{Called, CalledFunction, Message};
pub use reply::Reply;
pub use settings::Settings;
pub(crate) use tool_call::id;
pub use tool_call::{Arguments, ToolCall};

use retry::{Retries, Retry};

/// A language model behind an endpoint. Cloning is cheap; clones share their connections.
#[derive(Debug, Clone)]
pub struct Model {
    inner: Arc<Inner>,
}

#[derive(Debug)]
struct Inner {
    http: Http,
    settings: Arc<Settings>,
    /// The server has refused to stream: it is not asked again.
    refuses_streams: AtomicBool,
}

/// A tool that a model may call.
#[derive(Debug, Clone)]
pub struct Tool {
    /// 1 to 64 of the characters `A-Z a-z 0-9 _ -`.
    pub name: String,
    /// What it does.
    pub description: String,
    /// What its arguments are.
    pub input: Schema,
}

impl Model {
    /// A model. Nothing connects before it is asked.
    ///
    /// # Errors
    /// [`ModelError::Address`] when the base is no URL that can be posted to.
    pub fn new(settings: Settings) -> Result<Self, ModelError> {
        let shown = settings.shown_url();
        let address = |reason: String| ModelError::Address { url: shown.clone(), reason };
        let url = settings.endpoint().parse::<Url>();
        let url = url.map_err(|error| address(refused(error, &shown)))?;
        if settings.exposes_key() {
            tracing::warn!(
                url = shown,
                "whoever is on the way to this URL can read the key: use https"
            );
        }
        let http = client_http::HttpClientConfig {
            bearer: settings.key.clone(),
            max_reply: settings.max_reply,
            connect_timeout: settings.connect_timeout,
            ..Default::default()
        };
        let http = Http::with_config(url, http).map_err(|error| address(error.to_string()))?;
        let refuses_streams = AtomicBool::new(!settings.stream);
        let settings = Arc::new(settings);
        Ok(Self { inner: Arc::new(Inner { http, settings, refuses_streams }) })
    }

    /// The model's name.
    #[must_use]
    pub fn name(&self) -> &str {
        &self.inner.settings.model
    }

    /// Asks for the next message of a conversation.
    ///
    /// What was not begun is asked for again, a few times and no longer than the settings allow: when there
    /// was no connection, and when the server is busy (429, 503). Nothing else is.
    ///
    /// # Errors
    /// When no reply begins.
    ///
    /// # Cancel safety
    /// Dropping the future closes the connection.
    pub async fn ask(&self, messages: &[Message], tools: &[Tool]) -> Result<Reply, ModelError> {
        let begun = self.begin(messages, tools).await;
        begun.map_err(|error| error.told(self.inner.settings.key.as_ref()))
    }

    async fn begin(&self, messages: &[Message], tools: &[Tool]) -> Result<Reply, ModelError> {
        let Inner { settings, refuses_streams, .. } = &*self.inner;
        let deadline = Instant::now() + settings.timeout;
        let mut retries = Retries::new(settings, deadline);
        let mut streamed = !refuses_streams.load(Ordering::Relaxed);
        loop {
            let body = self.body(messages, tools, streamed);
            match self.post(body, streamed, deadline).await {
                Ok(reply) if reply.status.is_success() => {
                    // That it was the stream which was refused is known now.
                    refuses_streams.fetch_or(!streamed, Ordering::Relaxed);
                    return Ok(Reply::new(reply, settings, deadline));
                }
                Ok(reply) => {
                    let refusal = Refusal::read(reply, settings, deadline).await;
                    if streamed && refusal.is_of_streams() {
                        streamed = false;
                        continue;
                    }
                    retries.wait(refusal.into()).await?;
                }
                Err(error) => retries.wait(Retry::of(error)).await?,
            }
        }
    }

    fn body(&self, messages: &[Message], tools: &[Tool], streamed: bool) -> Bytes {
        let settings = &self.inner.settings;
        let body = Body {
            model: &settings.model,
            messages,
            tools: tools.iter().map(Tool::offered).collect(),
            stream: streamed,
            stream_options: streamed.then(|| json!({ "include_usage": true })),
            temperature: settings.temperature,
        };
        Bytes::from(serde_json::to_vec(&body).expect("texts and schemas serialise into memory"))
    }

    async fn post(
        &self,
        body: Bytes,
        streamed: bool,
        deadline: Instant,
    ) -> Result<HttpReply, ModelError> {
        let Inner { http, settings, .. } = &*self.inner;
        let accept =
            if streamed { "text/event-stream, application/json" } else { "application/json" };
        let headers = HeaderMap::from_iter([(header::ACCEPT, HeaderValue::from_static(accept))]);
        let until = deadline.min(Instant::now() + settings.first_byte_timeout);
        match timeout_at(until, http.post(headers, body)).await {
            Ok(reply) => reply.map_err(ModelError::from),
            Err(_) if until == deadline => Err(ModelError::timeout(Stage::Whole, settings.timeout)),
            Err(_) => Err(ModelError::timeout(Stage::FirstByte, settings.first_byte_timeout)),
        }
    }
}

impl Tool {
    /// About how much of a model's attention it takes, in bytes.
    #[must_use]
    pub fn bytes(&self) -> usize {
        self.name.len() + self.description.len() + self.input.as_value().to_string().len()
    }

    /// The same for a small context: the first sentence of its description, and a schema without
    /// descriptions, titles, defaults and examples.
    #[must_use]
    pub fn brief(&self) -> Self {
        let end = self.description.find(". ").map_or(self.description.len(), |end| end + 1);
        let description = self.description[..end].chars().take(BRIEF).collect();
        let annotated = schemars::Schema::try_from(self.input.as_value().clone());
        let input = annotated.map_or_else(
            |_| self.input.clone(),
            |mut schema| {
                RecursiveTransform(without_annotations).transform(&mut schema);
                Schema::from(schema.to_value())
            },
        );
        Self { name: self.name.clone(), description, input }
    }

    fn offered(&self) -> Offered<'_> {
        let Self { name, description, input } = self;
        let function = OfferedFunction { name, description, parameters: input.as_value() };
        Offered { kind: "function", function }
    }
}

/// The maximum length of a brief description in characters.
const BRIEF: usize = 160;

fn without_annotations(schema: &mut schemars::Schema) {
    for name in ["$schema", "$comment", "title", "description", "default", "examples"] {
        schema.remove(name);
    }
}

/// Why an address is none. Reasons repeat what is wrong, so they are those of what may be shown.
fn refused(error: UrlError, shown: &str) -> String {
    match error {
        UrlError::UserInfo => {
            "it holds a user or a password; give the key of its own, as a setting \
                               (of the command: TRUNKLINE_AGENT_KEY)"
                .to_owned()
        }
        error => shown.parse::<Url>().err().unwrap_or(error).to_string(),
    }
}

#[derive(Serialize)]
struct Body<'a> {
    model: &'a str,
    messages: &'a [Message],
    #[serde(skip_serializing_if = "Vec::is_empty")]
    tools: Vec<Offered<'a>>,
    stream: bool,
    #[serde(skip_serializing_if = "Option::is_none")]
    stream_options: Option<serde_json::Value>,
    #[serde(skip_serializing_if = "Option::is_none")]
    temperature: Option<f32>,
}

#[derive(Serialize)]
struct Offered<'a> {
    #[serde(rename = "type")]
    kind: &'static str,
    function: OfferedFunction<'a>,
}

#[derive(Serialize)]
struct OfferedFunction<'a> {
    name: &'a str,
    description: &'a str,
    parameters: &'a serde_json::Value,
}

/// A status that is no success, and what the server says about it.
struct Refusal {
    status: StatusCode,
    headers: HeaderMap,
    text: String,
}

/// As much is read of what a server says about a refusal.
const SAID: usize = 4 << 10;

/// As long is waited for it: nothing else depends on it.
const SAYING: Duration = Duration::from_secs(5);

impl Refusal {
    async fn read(mut reply: HttpReply, settings: &Settings, deadline: Instant) -> Self {
        let mut text = Vec::new();
        let deadline = deadline.min(Instant::now() + SAYING.min(settings.idle_timeout));
        while text.len() < SAID {
            // What cannot be read of an explanation is left out.
            let Ok(Ok(Some(chunk))) = timeout_at(deadline, reply.chunk()).await else { break };
            text.extend_from_slice(&chunk[..chunk.len().min(SAID)]);
        }
        let text = String::from_utf8_lossy(&text).into_owned();
        Self { status: reply.status, headers: reply.headers, text }
    }

    /// Some servers cannot stream, or not with tools, and say so with one status or another.
    fn is_of_streams(&self) -> bool {
        const STATUSES: [StatusCode; 6] = [
            StatusCode::BAD_REQUEST,
            StatusCode::NOT_FOUND,
            StatusCode::METHOD_NOT_ALLOWED,
            StatusCode::UNSUPPORTED_MEDIA_TYPE,
            StatusCode::UNPROCESSABLE_ENTITY,
            StatusCode::NOT_IMPLEMENTED,
        ];
        // What is upstream has nothing to do with it.
        let text = self.text.to_ascii_lowercase();
        let mut words = text.split(|c: char| !c.is_ascii_alphanumeric());
        let is_named = |word| matches!(word, "stream" | "streams" | "streamed" | "streaming");
        STATUSES.contains(&self.status) && words.any(is_named)
    }
}

impl From<Refusal> for Retry {
    fn from(refusal: Refusal) -> Self {
        let Refusal { status, headers, text } = refusal;
        Self::of_status(status, &headers, error::said(&text))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[track_caller]
    fn check_brief(
        description: &str,
        input: serde_json::Value,
        expected: (&str, serde_json::Value),
    ) {
        let tool = Tool { name: "t".into(), description: description.into(), input: input.into() };
        let brief = tool.brief();
        assert_eq!((&*brief.description, brief.input.as_value()), (expected.0, &expected.1));
    }

    #[test]
    fn a_brief_tool_keeps_what_it_is_called_with() {
        let input = json!({
            "$schema": "s", "title": "T", "description": "d", "type": "object",
            "properties": {
                "description": { "type": "string", "description": "d", "default": "x" },
                "title": { "anyOf": [{ "const": "a", "title": "A" }, { "enum": ["description"] }] },
            },
            "required": ["description"],
        });
        let brief = json!({
            "type": "object",
            "properties": {
                "description": { "type": "string" },
                "title": { "anyOf": [{ "const": "a" }, { "enum": ["description"] }] },
            },
            "required": ["description"],
        });
        check_brief("Adds 1.5 and more. And so on.", input, ("Adds 1.5 and more.", brief));
        check_brief("One sentence", json!(true), ("One sentence", json!(true)));
        check_brief("", json!("no schema"), ("", json!("no schema")));
        check_brief(&"é".repeat(200), json!({}), (&"é".repeat(160), json!({})));
    }
}
