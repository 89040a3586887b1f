//! A turn: the user's message, model requests, tool calls and the answer.

use std::collections::HashMap;
use std::sync::Arc;
use std::time::Duration;

use serde_json::{Map, Value};
use tokio::time::{Instant, timeout_at};

use super::caller::Caller;
use super::capability::{Capabilities, Capability, Origin};
use super::context::{max_request_bytes, size, tokens};
use super::error::Error;
use super::event::{Event, SEND_TIMEOUT};
use super::execution::{Budget, Executor};
use super::reply::{ChatReply, Metadata, Pending, Step, Stop, Usage};
use crate::conversation::PendingCall;
use crate::model::{self, Completion, Message, Model, ModelError, ToolCall};
use crate::spans;

/// A running turn.
pub(super) struct Turn<'a> {
    pub(super) executor: &'a Executor,
    pub(super) model: &'a Model,
    pub(super) caller: &'a Caller,
    pub(super) capabilities: Arc<Capabilities>,
    /// The conversation sent to the model: the instructions, earlier turns, and this turn.
    pub(super) messages: Vec<Message>,
    /// The index of the first message of this turn.
    pub(super) first_message: usize,
    started_at: Instant,
    pub(super) deadline: Instant,
    /// The number of times each call was requested.
    pub(super) request_counts: HashMap<String, u32>,
    pub(super) calls: u32,
    /// Whether the model has used tool calls of the API. Then calls in its text are not executed.
    pub(super) uses_native_calls: bool,
    /// The number of times that the model is asked again after a reply without an answer.
    repeats_left: u32,
    pub(super) response: String,
    status_updates: Vec<String>,
    pub(super) steps: Vec<Step>,
    pub(super) usage: Usage,
    /// The tokens of the last prompt, which the next one repeats.
    pub(super) sent_tokens: u64,
    pub(super) metadata: Metadata,
    pub(super) pending: Option<Proposal>,
    /// The budget of all steps together.
    pub(super) budget: Budget,
}

/// A call that the user is asked to confirm.
pub(super) struct Proposal {
    pub(super) capability: Arc<Capability>,
    pub(super) arguments: Map<String, Value>,
    /// The message with the call.
    pub(super) message: Option<Message>,
}

/// The result of a turn.
pub(super) struct TurnResult {
    pub(super) reply: ChatReply,
    /// The messages to save.
    pub(super) messages: Vec<Message>,
    pub(super) pending: Option<PendingCall>,
}

impl<'a> Turn<'a> {
    pub(super) fn begin(
        executor: &'a Executor,
        model: &'a Model,
        caller: &'a Caller,
        capabilities: Arc<Capabilities>,
        history: Vec<Message>,
    ) -> Self {
        let started_at = Instant::now();
        let mut messages = vec![Message::System { content: executor.config.instructions.clone() }];
        messages.extend(history);
        let metadata = Metadata { model: model.name().to_owned(), ..Metadata::default() };
        Self {
            executor,
            model,
            caller,
            capabilities,
            first_message: messages.len(),
            messages,
            started_at,
            deadline: started_at + executor.config.timeout,
            request_counts: HashMap::new(),
            calls: 0,
            uses_native_calls: false,
            repeats_left: MAX_REPEATED_REQUESTS,
            response: String::new(),
            status_updates: Vec::new(),
            steps: Vec::new(),
            usage: Usage::default(),
            sent_tokens: 0,
            metadata,
            pending: None,
            budget: Budget::new(executor.config.max_steps_bytes),
        }
    }

    /// Runs the turn, starting with the confirmed call, if there is one.
    pub(super) async fn run(
        &mut self,
        message: Option<String>,
        confirmed: Option<PendingCall>,
    ) -> Result<(), Error> {
        let content = message.unwrap_or_else(|| "I confirm the call.".to_owned());
        self.messages.push(Message::User { content });
        if let Some(call) = confirmed
            && let Some(stop) = self.execute_confirmed(call).await
        {
            self.stop(stop).await;
            return Ok(());
        }
        self.converse().await
    }

    /// Returns the reply and the messages to save.
    pub(super) fn finish(mut self) -> Result<TurnResult, Error> {
        let pending = self.pending.take();
        let pending = match pending {
            Some(Proposal { capability, arguments, message }) => Some(PendingCall {
                token: token()?,
                tool: capability.name().to_owned(),
                identity: capability.identity(),
                arguments,
                message,
            }),
            None => None,
        };
        self.metadata.total_ms = millis(self.started_at.elapsed());
        let messages = self.messages.split_off(self.first_message);
        let reply = ChatReply {
            response: self.response,
            conversation_id: String::new(),
            status_updates: self.status_updates,
            steps: self.steps,
            usage: self.usage,
            metadata: self.metadata,
            pending: pending.as_ref().map(|PendingCall { token, tool, arguments, .. }| Pending {
                confirm: token.clone(),
                tool: tool.clone(),
                arguments: arguments.clone(),
            }),
        };
        Ok(TurnResult { reply, messages, pending })
    }

    /// Returns the messages to save of a failed turn; `None` if it has no steps.
    pub(super) fn take_failed_messages(&mut self, error: &Error) -> Option<Vec<Message>> {
        if self.steps.is_empty() {
            return None;
        }
        let mut messages = self.messages.split_off(self.first_message);
        let reason = match error {
            Error::Model { source, .. } => source.to_string(),
            error => error.to_string(),
        };
        messages.push(Message::assistant(format!("(The turn failed: {reason}.)")));
        Some(messages)
    }

    /// Adds the executed calls to an error.
    pub(super) fn with_steps(self, error: Error, conversation_id: Option<String>) -> Error {
        match error {
            Error::Model { source, .. } => {
                Error::Model { source, steps: self.steps, conversation_id }
            }
            error => error,
        }
    }

    async fn converse(&mut self) -> Result<(), Error> {
        loop {
            if let Some(stop) = self.exhausted() {
                self.stop(stop).await;
                return Ok(());
            }
            let completion = match timeout_at(self.deadline, self.ask()).await {
                Ok(Err(error)) if self.repeats_left > 0 && error.is_without_answer() => {
                    self.repeats_left -= 1;
                    continue;
                }
                Ok(completion) => completion?,
                Err(_) => {
                    self.stop(Stop::Time).await;
                    return Ok(());
                }
            };
            if completion.calls.is_empty() {
                self.finish_answer(completion).await;
                return Ok(());
            }
            let Completion { reasoning, content, mut calls, extra, calls_in_text, .. } = completion;
            let origin = if calls_in_text { Origin::Text } else { Origin::Native };
            self.uses_native_calls |= origin == Origin::Native;
            calls.truncate(self.max_processed_calls());
            let tool_calls = calls.iter().map(ToolCall::to_message_call).collect();
            // Models expect their reasoning with the calls that it led to.
            let content = reasoning + &content;
            let model = self.model.name().to_owned();
            self.messages.push(Message::Assistant { content, tool_calls, extra, model });
            if let Some(stop) = self.execute(calls, origin).await {
                self.stop(stop).await;
                return Ok(());
            }
            if let Some(Proposal { capability, .. }) = &self.pending {
                let tool = capability.name();
                let response = format!(
                    "Confirmation required: `{tool}` may change or delete data. Confirm the call, or tell \
                me what to do instead."
                );
                self.respond(response).await;
                return Ok(());
            }
        }
    }

    /// The limit of the turn that is reached, if any.
    fn exhausted(&self) -> Option<Stop> {
        let config = &self.executor.config;
        if self.metadata.model_calls >= config.max_steps {
            Some(Stop::Steps)
        } else if self.usage.counted_tokens >= config.max_tokens {
            Some(Stop::Tokens)
        } else {
            None
        }
    }

    /// Sends a request to the model, and its reply as events.
    async fn ask(&mut self) -> Result<Completion, ModelError> {
        let omitted = self.fit_context();
        if omitted > 0 {
            let turns = if omitted == 1 { "turn" } else { "turns" };
            self.status(format!("Context full: {omitted} earlier {turns} omitted")).await;
        }
        self.status(format!("Asking {}", self.model.name())).await;
        let since = Instant::now();
        self.metadata.model_calls += 1;
        let span = self.model.span();
        let completion = self.read().await;
        self.metadata.model_ms += millis(since.elapsed());
        let completion = completion.inspect_err(|error| span.fail(error.kind()))?;
        // The reply is complete now.
        self.response.clear();
        // Some servers report a usage of 0.
        let reported = completion.usage.filter(|usage| usage.total_tokens > 0);
        self.usage.estimated |= reported.is_none();
        if let Some(usage) = reported {
            spans::record_tokens(&span, usage.prompt_tokens, usage.completion_tokens);
        }
        let usage = reported.unwrap_or_else(|| self.estimate(&completion));
        self.usage.add(usage, self.sent_tokens);
        self.sent_tokens = usage.prompt_tokens;
        Ok(completion)
    }

    async fn read(&mut self) -> Result<Completion, ModelError> {
        let mut reply = self.model.ask(&self.messages, &self.capabilities.catalog().tools).await?;
        while let Some(text) = reply.text().await? {
            // A partial answer is kept if the turn times out.
            self.response.push_str(&text);
            self.token(text).await;
        }
        let is_tool = |name: &str| {
            !self.uses_native_calls && self.capabilities.find_by_model_name(name).is_some()
        };
        let (completion, rest) = reply.finish(is_tool)?;
        if let Some(text) = rest {
            self.token(text).await;
        }
        Ok(completion)
    }

    fn estimate(&self, completion: &Completion) -> model::Usage {
        let messages: usize = self.messages.iter().map(Message::bytes).sum();
        let read = messages + self.capabilities.catalog().bytes;
        let of_call =
            |call: &ToolCall| call.to_message_call().function.arguments.len() + call.name.len();
        let Completion { reasoning, content, calls, extra, .. } = completion;
        let written = reasoning.len()
            + content.len()
            + extra.bytes()
            + calls.iter().map(of_call).sum::<usize>();
        let (prompt_tokens, completion_tokens) = (tokens(read), tokens(written));
        let total_tokens = prompt_tokens + completion_tokens;
        model::Usage { prompt_tokens, completion_tokens, total_tokens, cached_tokens: 0 }
    }

    /// Omits the oldest turns until the conversation and the tools fit into the model's context. Returns the number
    /// of omitted turns. Turns are omitted as a whole, since servers reject a result without its call.
    fn fit_context(&mut self) -> usize {
        let max_bytes = max_request_bytes(self.executor.config.context_tokens);
        let mut bytes = self.capabilities.catalog().bytes + size(&self.messages);
        // The first message contains the instructions.
        let (mut end, mut turns) = (1, 0);
        while bytes > max_bytes && end < self.first_message {
            let earlier = &self.messages[end..self.first_message];
            let next = earlier.iter().skip(1).position(|one| matches!(one, Message::User { .. }));
            let turn = &earlier[..next.map_or(earlier.len(), |next| next + 1)];
            bytes -= size(turn);
            self.sent_tokens = self.sent_tokens.saturating_sub(tokens(size(turn)));
            end += turn.len();
            turns += 1;
        }
        self.messages.drain(1..end);
        self.first_message -= end - 1;
        turns
    }

    async fn finish_answer(&mut self, completion: Completion) {
        let Completion { content, extra, is_truncated, .. } = completion;
        if is_truncated {
            self.response = content;
            return self.stop(Stop::Length).await;
        }
        self.response.clone_from(&content);
        let (tool_calls, model) = (Vec::new(), self.model.name().to_owned());
        self.messages.push(Message::Assistant { content, tool_calls, extra, model });
    }

    /// Ends the turn with a text that is not from the model.
    async fn respond(&mut self, response: String) {
        self.token(response.clone()).await;
        self.response.push_str(&response);
        self.messages.push(Message::assistant(self.response.clone()));
    }

    async fn stop(&mut self, stop: Stop) {
        self.metadata.stopped = Some(stop);
        if stop == Stop::Time {
            let seconds = self.executor.config.timeout.as_secs_f32();
            let setting = "--agent-turn-ms";
            self.status(format!("Turn timed out after {seconds} s; `{setting}` extends it")).await;
        }
        let separator = if self.response.is_empty() { "" } else { "\n\n" };
        let mut sentence = format!("{separator}{}", stop.sentence());
        if let Some(Proposal { capability, .. }) = &self.pending {
            sentence.push_str(&format!(" `{}` requires your confirmation.", capability.name()));
        }
        self.respond(sentence).await;
    }

    pub(super) async fn status(&mut self, text: String) {
        self.status_updates.push(text.clone());
        self.send(|| Event::Status { text }).await;
    }

    pub(super) async fn token(&self, text: String) {
        self.send(|| Event::Token { text }).await;
    }

    /// Sends an event. A slow receiver extends a turn beyond its timeout only to receive the last events.
    pub(super) async fn send(&self, event: impl FnOnce() -> Event) {
        self.caller.events().send_until(self.deadline + SEND_TIMEOUT, event).await;
    }
}

/// The maximum number of repeated requests of a turn.
const MAX_REPEATED_REQUESTS: u32 = 2;

fn millis(duration: Duration) -> u64 {
    u64::try_from(duration.as_millis()).unwrap_or(u64::MAX)
}

/// Generates a confirmation token.
fn token() -> Result<String, Error> {
    let mut bytes = [0; 16];
    getrandom::fill(&mut bytes).map_err(|_| Error::Random)?;
    Ok(bytes.iter().map(|byte| format!("{byte:02x}")).collect())
}
