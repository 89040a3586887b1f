//! A reply that is being received.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use tokio::time::{Instant, timeout, timeout_at};
use trunkline::client::http::Reply as HttpReply;
use trunkline::http::{EventReader, EventTooLarge, MessageEvent};

use super::accumulator::{Accumulator, Completion};
use super::config::ModelConfig;
use super::error::{ModelError, Stage, error_message};
use super::tool_call;

/// A reply that is being received: first the [`text`](Self::text) piece by piece, then the [whole](Self::finish).
#[derive(Debug)]
pub struct Reply {
    http: HttpReply,
    body: Body,
    error_field: ErrorField,
    accumulator: Accumulator,
    config: Arc<ModelConfig>,
    /// Whether the last text of the model began with reasoning without an opening tag.
    leaves_reasoning_unopened: Arc<AtomicBool>,
    deadlines: Deadlines,
    /// Whether the text is returned at the end, since the answer may follow an unopened tag.
    holds_text: bool,
    /// The end of the part of the text that was returned.
    returned: usize,
    is_ended: bool,
}

/// The times until which a reply must begin, and be complete.
#[derive(Debug, Clone, Copy)]
pub(super) struct Deadlines {
    pub(super) first_token: Instant,
    pub(super) whole: Instant,
}

#[derive(Debug)]
enum Body {
    Stream(EventReader),
    /// In one piece, unless the body turns out to be a stream.
    Whole(Vec<u8>),
}

/// The data of the last event of a stream.
const DONE: &str = "[DONE]";

/// The maximum time to wait for the end of the body after a complete reply, so that the connection can be reused.
const DRAIN_TIMEOUT: Duration = Duration::from_millis(20);

impl Reply {
    pub(super) fn new(
        http: HttpReply,
        config: &Arc<ModelConfig>,
        leaves_reasoning_unopened: &Arc<AtomicBool>,
        deadlines: Deadlines,
    ) -> Self {
        Self {
            http,
            body: Body::Whole(Vec::new()),
            error_field: ErrorField::default(),
            accumulator: Accumulator::new(config),
            config: Arc::clone(config),
            leaves_reasoning_unopened: Arc::clone(leaves_reasoning_unopened),
            deadlines,
            holds_text: leaves_reasoning_unopened.load(Ordering::Relaxed),
            returned: 0,
            is_ended: false,
        }
    }

    /// The next piece of text; `None` at the end. Text that may be a call is held back.
    ///
    /// # Errors
    /// If the reply ends early, is invalid, exceeds a limit, or times out.
    ///
    /// # Cancel safety
    /// Nothing is lost.
    pub async fn text(&mut self) -> Result<Option<String>, ModelError> {
        while !self.is_ended {
            let advanced = self.advance().await;
            advanced.map_err(|error| error.redacted(self.config.key.as_ref()))?;
            // At the end, the text is checked for calls first.
            if !self.is_ended
                && let Some(text) = self.take_text()
            {
                return Ok(Some(text));
            }
        }
        Ok(None)
    }

    /// The complete reply, and the text that was held back. To be called at the end of [`text`](Self::text). A text
    /// that consists only of calls of tools, by the names that `is_tool` accepts, is parsed as calls.
    ///
    /// # Errors
    /// If the reply is invalid or empty, or the model declines to answer.
    pub fn finish(
        self,
        is_tool: impl Fn(&str) -> bool,
    ) -> Result<(Completion, Option<String>), ModelError> {
        let redacted = |error: ModelError| error.redacted(self.config.key.as_ref());
        let is_unopened = self.accumulator.has_unopened_reasoning();
        if is_unopened || !self.accumulator.text().0.trim().is_empty() {
            self.leaves_reasoning_unopened.store(is_unopened, Ordering::Relaxed);
        }
        let mut completion = self.accumulator.finish().map_err(redacted)?;
        let returned = self.returned.saturating_sub(completion.reasoning.len());
        let held = completion.content.get(returned..).unwrap_or_default().to_owned();
        if completion.calls.is_empty() && returned == 0 {
            completion.calls =
                tool_call::calls_in_text(&completion.content, is_tool).map_err(redacted)?;
            completion.calls_in_text = !completion.calls.is_empty();
        }
        let calls_in_text = completion.calls_in_text;
        if calls_in_text {
            completion.content.clear();
        }
        let Completion { reasoning, content, calls, extra, is_truncated, .. } = &mut completion;
        match calls.last_mut() {
            // The last call may be incomplete.
            Some(last) if *is_truncated => last.arguments = last.arguments.truncated(),
            None if !*is_truncated && content.trim().is_empty() => {
                let is_reasoned = !reasoning.is_empty() || !extra.is_empty();
                return Err(if is_reasoned {
                    ModelError::OnlyReasoning
                } else {
                    ModelError::Empty
                });
            }
            _ => {}
        }
        Ok((completion, Some(held).filter(|held| !calls_in_text && !held.is_empty())))
    }

    /// The text that can be returned now.
    fn take_text(&mut self) -> Option<String> {
        let (text, start) = self.accumulator.text();
        let start = start?;
        let holds = self.holds_text && !self.accumulator.has_unopened_reasoning();
        let begin = self.returned.max(start);
        if holds
            || begin == text.len()
            || (begin == start && tool_call::may_be_call(&text[start..]))
        {
            return None;
        }
        self.returned = text.len();
        Some(text[begin..].to_owned())
    }

    async fn advance(&mut self) -> Result<(), ModelError> {
        let chunk = self.chunk().await?;
        self.error_field.read(chunk.as_deref().unwrap_or(b"\n"))?;
        match &mut self.body {
            // Some servers omit the empty line after the last event.
            Body::Stream(events) => events.push(chunk.as_deref().unwrap_or(b"\n\n")),
            Body::Whole(body) => {
                body.extend_from_slice(chunk.as_deref().unwrap_or_default());
                if is_stream(body, &self.http.media_type()) {
                    let mut events = EventReader::new(self.config.max_reply);
                    events.push(body.trim_ascii_start());
                    if chunk.is_none() {
                        events.push(b"\n\n");
                    }
                    self.body = Body::Stream(events);
                } else {
                    if chunk.is_none() {
                        if body.trim_ascii().is_empty() {
                            return Err(ModelError::CutOff);
                        }
                        self.is_ended = true;
                        let text = std::str::from_utf8(body);
                        let text =
                            text.map_err(|error| ModelError::malformed(error.to_string()))?;
                        self.accumulator.add(text)?;
                    }
                    return Ok(());
                }
            }
        }
        self.read_events().await?;
        if chunk.is_none() && !self.is_ended {
            self.is_ended = true;
            // Some servers omit the last event.
            return if self.accumulator.is_finished() { Ok(()) } else { Err(ModelError::CutOff) };
        }
        Ok(())
    }

    async fn read_events(&mut self) -> Result<(), ModelError> {
        let Body::Stream(events) = &mut self.body else { return Ok(()) };
        let too_large = |EventTooLarge { limit, .. }| ModelError::TooLarge { what: "reply", limit };
        while let Some(MessageEvent { name, data, .. }) = events.next_event().map_err(too_large)? {
            if name == "error" {
                return Err(ModelError::Failed { reason: error_message(&data) });
            }
            if data.trim() == DONE {
                self.is_ended = true;
                // The reply is complete, so errors are ignored.
                let _ = timeout(DRAIN_TIMEOUT, self.http.chunk()).await;
                break;
            }
            self.accumulator.add(&data)?;
        }
        Ok(())
    }

    async fn chunk(&mut self) -> Result<Option<bytes::Bytes>, ModelError> {
        let ModelConfig { first_token_timeout, token_timeout, timeout, .. } = *self.config;
        let (until, stage, after) = match self.accumulator.has_output() {
            true => (Instant::now() + token_timeout, Stage::Token, token_timeout),
            false => (self.deadlines.first_token, Stage::FirstToken, first_token_timeout),
        };
        let Deadlines { whole, .. } = self.deadlines;
        match timeout_at(until.min(whole), self.http.chunk()).await {
            Ok(chunk) => Ok(chunk?),
            Err(_) if until < whole => Err(ModelError::timeout(stage, after)),
            Err(_) => Err(ModelError::timeout(Stage::Whole, timeout)),
        }
    }
}

/// A field of a stream in which llama.cpp has reported failures. The standard does not define it.
#[derive(Debug, Default)]
struct ErrorField {
    /// The beginning of the current line.
    line: Vec<u8>,
}

impl ErrorField {
    /// Reads the next bytes of a body. Fails at the end of a line with the field.
    fn read(&mut self, bytes: &[u8]) -> Result<(), ModelError> {
        const MAX_LINE_BYTES: usize = 4 << 10;
        for part in bytes.split_inclusive(|&byte| byte == b'\n') {
            let free = MAX_LINE_BYTES - self.line.len();
            self.line.extend_from_slice(&part[..part.len().min(free)]);
            if !part.ends_with(b"\n") {
                break;
            }
            if let Some(error) = self.line.strip_prefix(b"error:") {
                let reason = error_message(String::from_utf8_lossy(error).trim());
                return Err(ModelError::Failed { reason });
            }
            self.line.clear();
        }
        Ok(())
    }
}

/// Whether a body that begins with these bytes is a stream of events. Some servers declare a stream as `text/plain`, or
/// JSON as a stream.
fn is_stream(beginning: &[u8], media_type: &str) -> bool {
    const FIELDS: [&[u8]; 6] = [b"data:", b"event:", b"id:", b"retry:", b"error:", b":"];
    let beginning = beginning.trim_ascii_start();
    match beginning.first() {
        None | Some(b'{' | b'[') => false,
        Some(_) if media_type == "text/event-stream" => true,
        Some(_) => FIELDS.into_iter().any(|field| beginning.starts_with(field)),
    }
}
