//! One call on behalf of a caller.

use std::sync::Arc;
use std::sync::atomic::{AtomicI64, Ordering};
use std::time::Instant;

use serde_json::value::RawValue;
use serde_json::{Map, Value, json};
use tower::Service;
use trunkline::{Call, ErrorObject, Id, Outcome, Rendering, Rpc, code};

use super::caller::Caller;
use super::capability::Capability;
use super::event::Event;
use super::reply::{Step, StepError};
use super::settings::Settings;

/// Makes calls. Cloning is cheap.
#[derive(Debug, Clone)]
pub(super) struct Executor {
    rpc: Rpc,
    settings: Arc<Settings>,
    /// Each call has an id of its own, which the history shows.
    last_id: Arc<AtomicI64>,
}

/// A call that has ended, or was not made.
#[derive(Debug)]
pub(super) struct Executed {
    pub(super) step: Step,
    /// What the model is shown of it.
    pub(super) shown: String,
    error: Option<ErrorObject>,
}

impl Executor {
    pub(super) fn new(rpc: Rpc, settings: &Arc<Settings>) -> Self {
        Self { rpc, settings: Arc::clone(settings), last_id: Arc::default() }
    }

    pub(super) fn rpc(&self) -> &Rpc {
        &self.rpc
    }

    /// Makes a call whose arguments were checked, and tells of it.
    pub(super) async fn call(
        &self,
        capability: &Capability,
        arguments: Map<String, Value>,
        caller: &Caller,
    ) -> Executed {
        let tool = capability.name().to_owned();
        let event = || Event::ToolCall { tool: tool.clone(), arguments: arguments.clone() };
        caller.events().send(event).await;
        let since = Instant::now();
        let outcome = self.outcome(capability, &arguments, caller).await;
        let ms = u64::try_from(since.elapsed().as_millis()).unwrap_or(u64::MAX);
        let shown = self.shown(capability, &arguments, &outcome);
        let executed = match self.result(&outcome) {
            Ok(result) => {
                let step = Step { tool, arguments, result: Some(result), error: None, ms };
                Executed { step, shown, error: None }
            }
            Err(error) => {
                let told = Some(StepError::from(&error));
                let step = Step { tool, arguments, result: None, error: told, ms };
                Executed { step, shown, error: Some(error) }
            }
        };
        executed.tell(caller).await;
        executed
    }

    async fn outcome(
        &self,
        capability: &Capability,
        arguments: &Map<String, Value>,
        caller: &Caller,
    ) -> Outcome {
        let id = Id::from(self.last_id.fetch_add(1, Ordering::Relaxed) + 1);
        let mut call = match Call::request(&id, capability.operation().name(), arguments) {
            Ok(call) => call,
            Err(error) => return Outcome::error(error),
        };
        *call.extensions_mut() = caller.extensions();
        let Ok(outcome) = Service::call(&mut self.rpc.clone(), call).await;
        outcome
    }

    fn result(&self, outcome: &Outcome) -> Result<Box<RawValue>, ErrorObject> {
        let limit = self.settings.max_result_bytes;
        let json = outcome.as_result().map_err(Clone::clone)?;
        if json.len() > limit {
            return Err(too_large(limit));
        }
        serde_json::from_slice(json).map_err(|error| ErrorObject::internal_error(&error))
    }

    fn shown(
        &self,
        capability: &Capability,
        arguments: &Map<String, Value>,
        outcome: &Outcome,
    ) -> String {
        let limit = self.settings.max_result_bytes;
        let outcome = match outcome.as_result() {
            Ok(json) if json.len() > limit => {
                return format!("Error: the result has more than {limit} bytes; ask for less.");
            }
            outcome => outcome,
        };
        let text = match (capability.operation().description().rendering, outcome) {
            (Rendering::Words(words), outcome) => {
                words(&serde_json::to_vec(arguments).unwrap_or_default(), outcome)
            }
            (_, Ok(json)) => String::from_utf8_lossy(json).into_owned(),
            (_, Err(error)) => told(error),
        };
        cut(text, self.settings.max_shown_bytes)
    }
}

impl Executed {
    /// A call that was not made.
    pub(super) fn refused(tool: &str, arguments: Map<String, Value>, error: ErrorObject) -> Self {
        let shown = told(&error);
        let told = Some(StepError::from(&error));
        let step = Step { tool: tool.to_owned(), arguments, result: None, error: told, ms: 0 };
        Self { step, shown, error: Some(error) }
    }

    pub(super) async fn tell(&self, caller: &Caller) {
        caller.events().send(|| Event::ToolResult(Box::new(self.step.clone()))).await;
    }

    pub(super) fn into_result(self) -> Result<Step, ErrorObject> {
        match self.error {
            Some(error) => Err(error),
            None => Ok(self.step),
        }
    }
}

/// An error as a model is told it.
fn told(error: &ErrorObject) -> String {
    let data = error.data().map(|data| format!(" {}", data.get())).unwrap_or_default();
    format!("Error: {} ({}){data}", error.message(), error.code())
}

fn too_large(limit: usize) -> ErrorObject {
    let reason = "the result is over the limit: ask for less";
    ErrorObject::new(code::REPLY_TOO_LARGE, "Reply too large")
        .with_data(&json!({ "reason": reason, "limit_bytes": limit }))
}

/// The text, or its beginning with a mark.
pub(super) fn cut(mut text: String, limit: usize) -> String {
    let bytes = text.len();
    if bytes > limit {
        let end = (0..=limit).rev().find(|&end| text.is_char_boundary(end)).unwrap_or(0);
        text.truncate(end);
        text.push_str(&format!("\n[cut: {end} of {bytes} bytes are shown]"));
    }
    text
}
