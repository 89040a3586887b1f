//! A reply as it comes.

use std::sync::Arc;
use std::time::Duration;

use tokio::time::{Instant, timeout, timeout_at};
use trunkline::client::http::Reply as HttpReply;
use trunkline::http::{EventReader, EventTooLarge, MessageEvent};

use super::accumulator::{Accumulator, Completion};
use super::config::ModelConfig;
use super::error::{ModelError, Stage};
use super::tool_call;

/// A reply that has begun: its [`text`](Self::text) as it comes, and then the whole.
#[derive(Debug)]
pub struct Reply {
    http: HttpReply,
    form: Form,
    accumulator: Accumulator,
    config: Arc<ModelConfig>,
    deadline: Instant,
    /// How many bytes of the content were given out.
    shown: usize,
    ended: bool,
}

#[derive(Debug)]
enum Form {
    Stream(EventReader),
    /// In one piece, whatever was asked for; or so it seems yet.
    Whole(Vec<u8>),
}

/// The end of a stream, which says nothing more.
const DONE: &str = "[DONE]";

/// How long the connection's end is waited for, behind a whole reply, so that it can be used again.
const REST: Duration = Duration::from_millis(20);

impl Reply {
    pub(super) fn new(http: HttpReply, config: &Arc<ModelConfig>, deadline: Instant) -> Self {
        let form = match &*http.media_type() {
            "text/event-stream" => Form::Stream(EventReader::new(config.max_reply)),
            _ => Form::Whole(Vec::new()),
        };
        let accumulator = Accumulator::new(config);
        let config = Arc::clone(config);
        Self { http, form, accumulator, config, deadline, shown: 0, ended: false }
    }

    /// The next piece of text; none at the end. Text that may turn out to be a call is held back.
    ///
    /// # Errors
    /// When the reply breaks off, is none, or takes too long.
    ///
    /// # Cancel safety
    /// Nothing is lost.
    pub async fn text(&mut self) -> Result<Option<String>, ModelError> {
        while !self.ended {
            let advanced = self.advance().await;
            advanced.map_err(|error| error.told(self.config.key.as_ref()))?;
            // What is there at the end may be a call as a whole.
            if !self.ended
                && let Some(text) = self.unshown()
            {
                return Ok(Some(text));
            }
        }
        Ok(None)
    }

    /// The whole, whose end was waited for. `is_tool` tells which names are those of tools: a text that
    /// consists of calls to them is read as such. With it comes the text that was not given out yet.
    ///
    /// # Errors
    /// When it is no reply, and when the model does not answer in it.
    pub fn finish(
        self,
        is_tool: impl Fn(&str) -> bool,
    ) -> Result<(Completion, Option<String>), ModelError> {
        let told = |error: ModelError| error.told(self.config.key.as_ref());
        let mut completion = self.accumulator.finish().map_err(told)?;
        let held = completion.content.get(self.shown..).unwrap_or_default().to_owned();
        if completion.calls.is_empty() && self.shown == 0 {
            completion.calls = tool_call::in_text(&completion.content, is_tool).map_err(told)?;
            completion.is_written = !completion.calls.is_empty();
        }
        let is_written = completion.is_written;
        if is_written {
            completion.content.clear();
        }
        let Completion { content, calls, is_cut, .. } = &mut completion;
        match calls.last_mut() {
            // Whether it was complete, nobody knows.
            Some(last) if *is_cut => last.arguments = last.arguments.cut(),
            None if !*is_cut && content.trim().is_empty() => return Err(ModelError::Empty),
            _ => {}
        }
        Ok((completion, Some(held).filter(|held| !is_written && !held.is_empty())))
    }

    /// What can be given out by now.
    fn unshown(&mut self) -> Option<String> {
        let said = self.accumulator.said();
        if said.len() == self.shown || (self.shown == 0 && tool_call::may_be_call(said)) {
            return None;
        }
        let text = said.get(self.shown..)?.to_owned();
        self.shown = said.len();
        Some(text)
    }

    async fn advance(&mut self) -> Result<(), ModelError> {
        let chunk = self.chunk().await?;
        match &mut self.form {
            // Some servers omit the empty line after the last event.
            Form::Stream(events) => events.push(chunk.as_deref().unwrap_or(b"\n\n")),
            Form::Whole(body) => {
                body.extend_from_slice(chunk.as_deref().unwrap_or_default());
                if is_stream(body) {
                    let mut events = EventReader::new(self.config.max_reply);
                    events.push(body.trim_ascii_start());
                    self.form = Form::Stream(events);
                } else {
                    if chunk.is_none() {
                        self.ended = true;
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
        if chunk.is_none() && !self.ended {
            self.ended = true;
            // Some servers leave the last event out.
            return if self.accumulator.is_finished() { Ok(()) } else { Err(ModelError::CutOff) };
        }
        Ok(())
    }

    async fn read_events(&mut self) -> Result<(), ModelError> {
        let Form::Stream(events) = &mut self.form else { return Ok(()) };
        let too_large = |EventTooLarge { limit, .. }| ModelError::TooLarge { what: "reply", limit };
        while let Some(MessageEvent { data, .. }) = events.next_event().map_err(too_large)? {
            if data.trim() == DONE {
                self.ended = true;
                // Whatever comes of it, the reply is whole.
                let _ = timeout(REST, self.http.chunk()).await;
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
