//! A question to the model, and what it takes.

use tokio::time::Instant;

use super::context::tokens;
use super::reply::Stop;
use super::turn::{Turn, millis};
use crate::model::{Completion, Message, ModelError, ToolCall, Usage};

impl Turn<'_> {
    /// Why the model is not asked again, if it is not.
    pub(super) fn exhausted(&self) -> Option<Stop> {
        let settings = &self.agent.settings;
        if self.metadata.model_calls >= settings.max_steps {
            Some(Stop::Steps)
        } else if self.usage.counted_tokens >= settings.max_tokens {
            Some(Stop::Tokens)
        } else {
            None
        }
    }

    /// Asks the model, and passes on what it says.
    pub(super) async fn ask(&mut self) -> Result<Completion, ModelError> {
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
        // What it says is known now as a whole.
        self.response.clear();
        // Some servers write the count, and do not count.
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
            // It stays if the time is up before the rest is there.
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

    fn estimate(&self, completion: &Completion) -> Usage {
        let said: usize = self.messages.iter().map(Message::bytes).sum();
        let read = said + self.capabilities.offered().bytes;
        let of_call = |call: &ToolCall| call.called().function.arguments.len() + call.name.len();
        let written =
            completion.content.len() + completion.calls.iter().map(of_call).sum::<usize>();
        let (prompt_tokens, completion_tokens) = (tokens(read), tokens(written));
        let total_tokens = prompt_tokens + completion_tokens;
        Usage { prompt_tokens, completion_tokens, total_tokens, cached_tokens: 0 }
    }
}
