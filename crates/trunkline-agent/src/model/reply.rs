//! A reply that is being received.

use std::sync::Arc;
use std::time::Duration;

use tokio::time::{Instant, timeout, timeout_at};
use trunkline::client::http::Reply as HttpReply;
use trunkline::http::{EventReader, EventTooLarge, MessageEvent};

use super::accumulator::{Accumulator, Completion};
use super::config::ModelConfig;
use super::error::{ModelError, Stage};
use super::tool_call;

/// A reply that is being received: first the [`text`](Self::text) piece by piece, then the [whole](Self::finish).
#[derive(Debug)]
pub struct Reply {
    http: HttpReply,
    body: Body,
    accumulator: Accumulator,
    config: Arc<ModelConfig>,
    deadline: Instant,
    /// The number of bytes of the content that were returned.
    returned: usize,
    is_ended: bool,
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
    pub(super) fn new(http: HttpReply, config: &Arc<ModelConfig>, deadline: Instant) -> Self {
        let body = match &*http.media_type() {
            "text/event-stream" => Body::Stream(EventReader::new(config.max_reply)),
            _ => Body::Whole(Vec::new()),
        };
        let accumulator = Accumulator::new(config);
        let config = Arc::clone(config);
        Self { http, body, accumulator, config, deadline, returned: 0, is_ended: false }
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
        let mut completion = self.accumulator.finish().map_err(redacted)?;
        let held = completion.content.get(self.returned..).unwrap_or_default().to_owned();
        if completion.calls.is_empty() && self.returned == 0 {
            completion.calls =
                tool_call::calls_in_text(&completion.content, is_tool).map_err(redacted)?;
            completion.calls_in_text = !completion.calls.is_empty();
        }
        let calls_in_text = completion.calls_in_text;
        if calls_in_text {
            completion.content.clear();
        }
        let Completion { content, calls, is_truncated, .. } = &mut completion;
        match calls.last_mut() {
            // The last call may be incomplete.
            Some(last) if *is_truncated => last.arguments = last.arguments.truncated(),
            None if !*is_truncated && content.trim().is_empty() => return Err(ModelError::Empty),
            _ => {}
        }
        Ok((completion, Some(held).filter(|held| !calls_in_text && !held.is_empty())))
    }

    /// The text that can be returned now.
    fn take_text(&mut self) -> Option<String> {
        let visible = self.accumulator.visible_text();
        if visible.len() == self.returned || (self.returned == 0 && tool_call::may_be_call(visible))
        {
            return None;
        }
        let text = visible.get(self.returned..)?.to_owned();
        self.returned = visible.len();
        Some(text)
    }

    async fn advance(&mut self) -> Result<(), ModelError> {
        let chunk = self.chunk().await?;
        match &mut self.body {
            // Some servers omit the empty line after the last event.
            Body::Stream(events) => events.push(chunk.as_deref().unwrap_or(b"\n\n")),
            Body::Whole(body) => {
                body.extend_from_slice(chunk.as_deref().unwrap_or_default());
                if is_stream(body) {
                    let mut events = EventReader::new(self.config.max_reply);
                    events.push(body.trim_ascii_start());
                    self.body = Body::Stream(events);
                } else {
                    if chunk.is_none() {
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
        while let Some(MessageEvent { data, .. }) = events.next_event().map_err(too_large)? {
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
        let ModelConfig { idle_timeout, timeout, .. } = *self.config;
        let until = self.deadline.min(Instant::now() + idle_timeout);
        match timeout_at(until, self.http.chunk()).await {
            Ok(chunk) => Ok(chunk?),
            Err(_) if until == self.deadline => Err(ModelError::timeout(Stage::Whole, timeout)),
            Err(_) => Err(ModelError::timeout(Stage::Idle, idle_timeout)),
        }
    }
}

/// Whether a body that begins with these bytes is a stream of events, whatever its media type: some servers declare
/// `text/plain`.
fn is_stream(beginning: &[u8]) -> bool {
    const FIELDS: [&[u8]; 5] = [b"data:", b"event:", b"id:", b"retry:", b":"];
    let beginning = beginning.trim_ascii_start();
    FIELDS.into_iter().any(|field| beginning.starts_with(field))
}
