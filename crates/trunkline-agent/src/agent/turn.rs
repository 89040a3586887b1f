//! A turn: what is said, asked, called and answered.

use std::collections::HashMap;
use std::sync::Arc;
use std::time::Duration;

use serde_json::{Map, Value};
use tokio::time::{Instant, timeout_at};

use super::caller::Caller;
use super::capability::{Capabilities, Capability, Origin};
use super::context::{room, size, tokens};
use super::error::Error;
use super::event::{Event, PATIENCE};
use super::execution::{Budget, Executor};
use super::reply::{ChatReply, Metadata, Pending, Step, Stop, Usage};
use crate::conversation::PendingCall;
use crate::model::{self, Completion, Message, Model, ModelError, ToolCall};

/// A turn that is not over.
pub(super) struct Turn<'a> {
    pub(super) executor: &'a Executor,
    pub(super) model: &'a Model,
    pub(super) caller: &'a Caller,
    pub(super) capabilities: Arc<Capabilities>,
    /// What the model is told: its task, what was said before, and what this turn adds.
    pub(super) messages: Vec<Message>,
    /// Where those of this turn begin.
    pub(super) begun_at: usize,
    began: Instant,
    pub(super) deadline: Instant,
    /// How many times each call was made.
    pub(super) made: HashMap<String, u32>,
    pub(super) calls: u32,
    /// Whether the model has called as endpoints have it. Then it does not call by writing.
    pub(super) has_called: bool,
    pub(super) response: String,
    status_updates: Vec<String>,
    pub(super) steps: Vec<Step>,
    pub(super) usage: Usage,
    /// The size of the last prompt, which the next one repeats.
    pub(super) sent_tokens: u64,
    pub(super) metadata: Metadata,
    pub(super) pending: Option<Proposal>,
    /// For its steps together.
    pub(super) budget: Budget,
}

/// A call that the user is asked to confirm.
pub(super) struct Proposal {
    pub(super) capability: Arc<Capability>,
    pub(super) arguments: Map<String, Value>,
}

/// A turn that is over.
pub(super) struct Finished {
    pub(super) reply: ChatReply,
    /// What is kept of it.
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
        let began = Instant::now();
        let mut messages = vec![Message::System { content: executor.config.instructions.clone() }];
        messages.extend(history);
        let metadata = Metadata { model: model.name().to_owned(), ..Metadata::default() };
        Self {
            executor,
            model,
            caller,
            capabilities,
            begun_at: messages.len(),
            messages,
            began,
            deadline: began + executor.config.timeout,
            made: HashMap::new(),
            calls: 0,
            has_called: false,
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

    /// Runs it: first what was confirmed, if anything was.
    pub(super) async fn run(
        &mut self,
        message: Option<String>,
        confirmed: Option<PendingCall>,
    ) -> Result<(), Error> {
        let said = message.unwrap_or_else(|| "I confirm the call.".to_owned());
        self.messages.push(Message::User { content: said });
        if let Some(call) = confirmed
            && let Some(stop) = self.make_confirmed(call).await
        {
            self.stop(stop).await;
            return Ok(());
        }
        self.converse().await
    }

    /// The reply, and what is kept.
    pub(super) fn finish(mut self) -> Result<Finished, Error> {
        let pending = self.pending.take();
        let pending = match pending {
            Some(Proposal { capability, arguments }) => Some(PendingCall {
                token: token()?,
                tool: capability.name().to_owned(),
                identity: capability.identity(),
                arguments,
            }),
            None => None,
        };
        self.metadata.total_ms = millis(self.began.elapsed());
        let messages = self.messages.split_off(self.begun_at);
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
        Ok(Finished { reply, messages, pending })
    }

    /// What is kept of a turn that has failed: none if nothing was done in it.
    pub(super) fn broken_off(&mut self, error: &Error) -> Option<Vec<Message>> {
        if self.steps.is_empty() {
            return None;
        }
        let mut messages = self.messages.split_off(self.begun_at);
        let reason = match error {
            Error::Model { source, .. } => source.to_string(),
            error => error.to_string(),
        };
        messages.push(Message::assistant(format!("(I could not go on: {reason}.)")));
        Some(messages)
    }

    /// The error, with the calls that were made before it.
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
            let Completion { content, mut calls, is_written, is_cut, .. } =
                match timeout_at(self.deadline, self.ask()).await {
                    Ok(completion) => completion?,
                    Err(_) => {
                        self.stop(Stop::Time).await;
                        return Ok(());
                    }
                };
            if calls.is_empty() {
                self.answered(content, is_cut).await;
                return Ok(());
            }
            let origin = if is_written { Origin::Written } else { Origin::Called };
            self.has_called |= origin == Origin::Called;
            calls.truncate(self.most_calls());
            let tool_calls = calls.iter().map(ToolCall::called).collect();
            self.messages.push(Message::Assistant { content, tool_calls });
            if let Some(stop) = self.make(calls, origin).await {
                self.stop(stop).await;
                return Ok(());
            }
            if let Some(Proposal { capability, .. }) = &self.pending {
                let tool = capability.name();
                let response = format!(
                    "I would call `{tool}` now, which may change or remove data. Confirm it, or tell me \
                     what to do instead."
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

    /// Asks the model, and passes on its reply as events.
    async fn ask(&mut self) -> Result<Completion, ModelError> {
        let left_out = self.fit();
        if left_out > 0 {
            let turns = if left_out == 1 { "turn" } else { "turns" };
            self.status(format!("The context is full: {left_out} earlier {turns} left out")).await;
        }
        self.status(format!("Asking {}", self.model.name())).await;
        let since = Instant::now();
        self.metadata.model_calls += 1;
        let asked = self.read().await;
        self.metadata.model_ms += millis(since.elapsed());
        let completion = asked?;
        // The reply is complete now.
        self.response.clear();
        // Some servers report a usage of 0.
        let reported = completion.usage.filter(|usage| usage.total_tokens > 0);
        self.usage.estimated |= reported.is_none();
        let usage = reported.unwrap_or_else(|| self.estimate(&completion));
        self.usage.add(usage, self.sent_tokens);
        self.sent_tokens = usage.prompt_tokens;
        Ok(completion)
    }

    async fn read(&mut self) -> Result<Completion, ModelError> {
        let mut reply = self.model.ask(&self.messages, &self.capabilities.offered().tools).await?;
        while let Some(text) = reply.text().await? {
            // The part is kept if the time is up before the rest arrives.
            self.response.push_str(&text);
            self.token(text).await;
        }
        let is_called = |name: &str| !self.has_called && self.capabilities.called(name).is_some();
        let (completion, rest) = reply.finish(is_called)?;
        if let Some(text) = rest {
            self.token(text).await;
        }
        Ok(completion)
    }

    fn estimate(&self, completion: &Completion) -> model::Usage {
        let said: usize = self.messages.iter().map(Message::bytes).sum();
        let read = said + self.capabilities.offered().bytes;
        let of_call = |call: &ToolCall| call.called().function.arguments.len() + call.name.len();
        let written =
            completion.content.len() + completion.calls.iter().map(of_call).sum::<usize>();
        let (prompt_tokens, completion_tokens) = (tokens(read), tokens(written));
        let total_tokens = prompt_tokens + completion_tokens;
        model::Usage { prompt_tokens, completion_tokens, total_tokens, cached_tokens: 0 }
    }

    /// Leaves out the oldest turns of those before this one, until what is left and the tools fit into the
    /// model's context. It leaves out whole turns: a result without its call, which servers refuse, is never
    /// sent. Returns the number of turns.
    fn fit(&mut self) -> usize {
        let room = room(self.executor.config.context_tokens);
        let mut bytes = self.capabilities.offered().bytes + size(&self.messages);
        // The first message has the instructions.
        let (mut end, mut turns) = (1, 0);
        while bytes > room && end < self.begun_at {
            let earlier = &self.messages[end..self.begun_at];
            let next = earlier.iter().skip(1).position(|one| matches!(one, Message::User { .. }));
            let turn = &earlier[..next.map_or(earlier.len(), |next| next + 1)];
            bytes -= size(turn);
            self.sent_tokens = self.sent_tokens.saturating_sub(tokens(size(turn)));
            end += turn.len();
            turns += 1;
        }
        self.messages.drain(1..end);
        self.begun_at -= end - 1;
        turns
    }

    async fn answered(&mut self, content: String, is_cut: bool) {
        if is_cut {
            self.response = content;
            return self.stop(Stop::Length).await;
        }
        self.response.clone_from(&content);
        self.messages.push(Message::assistant(content));
    }

    /// Ends the turn with a sentence that no model has written.
    async fn respond(&mut self, response: String) {
        self.token(response.clone()).await;
        self.response.push_str(&response);
        self.messages.push(Message::assistant(self.response.clone()));
    }

    async fn stop(&mut self, stop: Stop) {
        self.metadata.stopped = Some(stop);
        let gap = if self.response.is_empty() { "" } else { "\n\n" };
        let mut sentence = format!("{gap}{}", stop.sentence());
        if let Some(Proposal { capability, .. }) = &self.pending {
            sentence.push_str(&format!(" `{}` waits for you to confirm it.", capability.name()));
        }
        self.respond(sentence).await;
    }

    pub(super) async fn status(&mut self, text: String) {
        self.status_updates.push(text.clone());
        self.tell(|| Event::Status { text }).await;
    }

    pub(super) async fn token(&self, text: String) {
        self.tell(|| Event::Token { text }).await;
    }

    /// Tells what happens. Those who do not read make the turn no longer than it may be, but for a moment in
    /// which they are told how it ended.
    pub(super) async fn tell(&self, event: impl FnOnce() -> Event) {
        self.caller.events().send_until(self.deadline + PATIENCE, event).await;
    }
}

fn millis(duration: Duration) -> u64 {
    u64::try_from(duration.as_millis()).unwrap_or(u64::MAX)
}

/// A random token that confirms a call.
fn token() -> Result<String, Error> {
    let mut bytes = [0; 16];
    getrandom::fill(&mut bytes).map_err(|_| Error::Random)?;
    Ok(bytes.iter().map(|byte| format!("{byte:02x}")).collect())
}
