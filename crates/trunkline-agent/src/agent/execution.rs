//! Execution of one call on behalf of a caller.

use std::sync::Arc;
use std::sync::atomic::{AtomicI64, AtomicUsize, Ordering};
use std::time::Instant;

use serde_json::value::RawValue;
use serde_json::{Map, Value, json};
use tower::Service;
use trunkline::tool::Rendering;
use trunkline::{Call, ErrorObject, Id, Outcome, Rpc, code};

use super::caller::Caller;
use super::capability::Capability;
use super::config::AgentConfig;
use super::content::{blocks_text, tool_result_text};
use super::event::Event;
use super::reply::{Step, StepError};

/// Executes calls. Cloning is cheap.
#[derive(Debug, Clone)]
pub(super) struct Executor {
    pub(super) rpc: Rpc,
    pub(super) config: Arc<AgentConfig>,
    /// The last id. Each call has a different one, which the history records.
    last_id: Arc<AtomicI64>,
}

/// The outcome of a call that was executed or refused.
#[derive(Debug)]
pub(super) struct CallOutcome {
    pub(super) step: Step,
    /// The text for the model, to be truncated to fit its context.
    pub(super) text: String,
    error: Option<ErrorObject>,
}

/// The remaining size in bytes of arguments and results. Clones share it.
#[derive(Debug, Clone)]
pub(super) struct Budget {
    left: Arc<AtomicUsize>,
    limit: usize,
}

impl Budget {
    pub(super) fn new(limit: usize) -> Self {
        Self { left: Arc::new(AtomicUsize::new(limit)), limit }
    }

    /// Takes a number of bytes; returns false, and takes none, if fewer are left.
    pub(super) fn take(&self, bytes: usize) -> bool {
        let left = |left: usize| left.checked_sub(bytes);
        self.left.fetch_update(Ordering::Relaxed, Ordering::Relaxed, left).is_ok()
    }
}

impl Executor {
    pub(super) fn new(rpc: Rpc, config: &Arc<AgentConfig>) -> Self {
        Self { rpc, config: Arc::clone(config), last_id: Arc::default() }
    }

    /// Executes a call with validated arguments. The result counts towards the budget.
    pub(super) async fn call(
        &self,
        capability: &Capability,
        arguments: Map<String, Value>,
        caller: &Caller,
        budget: &Budget,
    ) -> CallOutcome {
        let since = Instant::now();
        let outcome = self.outcome(capability, &arguments, caller).await;
        let ms = u64::try_from(since.elapsed().as_millis()).unwrap_or(u64::MAX);
        let (result, text) = match self.too_large(&outcome, budget) {
            Some(error) => {
                let text = error_text(&error);
                (Err(error), text)
            }
            None => (result(&outcome), result_text(capability, &arguments, &outcome)),
        };
        let (result, error) = match result {
            Ok(result) => (Some(result), None),
            Err(error) => (None, Some(error)),
        };
        let step_error = error.as_ref().map(StepError::from);
        let step =
            Step { tool: capability.name().to_owned(), arguments, result, error: step_error, ms };
        CallOutcome { step, text, error }
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
        *call.extensions_mut() = caller.extensions().clone();
        let Ok(outcome) = Service::call(&mut self.rpc.clone(), call).await;
        outcome
    }

    /// The error that replaces an outcome above a limit.
    fn too_large(&self, outcome: &Outcome, budget: &Budget) -> Option<ErrorObject> {
        const RESULT: &str = "the result exceeds the limit; request less data";
        const TOTAL: &str = "the results of this turn exceed their total limit; request less data";
        let limit = self.config.max_result_bytes;
        let bytes = match outcome.as_result() {
            Ok(json) => json.len(),
            Err(error) => error.data().map_or(0, |data| data.get().len()),
        };
        let (reason, limit) = match () {
            () if bytes > limit => (RESULT, limit),
            () if !budget.take(bytes) => (TOTAL, budget.limit),
            () => return None,
        };
        Some(match outcome.as_result() {
            Ok(_) => ErrorObject::new(code::REPLY_TOO_LARGE, "Reply too large")
                .with_data(&json!({ "reason": reason, "limit_bytes": limit })),
            // The error is kept without its data.
            Err(error) => ErrorObject::new(error.code(), error.message().to_owned()),
        })
    }
}

impl CallOutcome {
    /// A call that was not executed.
    pub(super) fn refused(tool: &str, arguments: Map<String, Value>, error: ErrorObject) -> Self {
        let text = error_text(&error);
        let step_error = Some(StepError::from(&error));
        let step =
            Step { tool: tool.to_owned(), arguments, result: None, error: step_error, ms: 0 };
        Self { step, text, error: Some(error) }
    }

    /// The event of the outcome.
    pub(super) fn event(&self, call_id: &str) -> Event {
        let step = Box::new(self.step.clone());
        Event::ToolResult { call_id: call_id.to_owned(), step }
    }

    pub(super) fn into_result(self) -> Result<Step, ErrorObject> {
        match self.error {
            Some(error) => Err(error),
            None => Ok(self.step),
        }
    }
}

/// Renders an outcome for the model.
fn result_text(
    capability: &Capability,
    arguments: &Map<String, Value>,
    outcome: &Outcome,
) -> String {
    let outcome = outcome.as_result();
    match (Rendering::of(capability.operation().description()), outcome) {
        (Rendering::Text(render), outcome) => {
            render(&serde_json::to_vec(arguments).unwrap_or_default(), outcome)
        }
        (rendering, Ok(json)) => {
            let text = match rendering {
                Rendering::Blocks => blocks_text(json),
                Rendering::ToolResult => tool_result_text(json),
                _ => None,
            };
            text.unwrap_or_else(|| String::from_utf8_lossy(json).into_owned())
        }
        (_, Err(error)) => error_text(error),
    }
}

/// Renders an error for the model.
fn error_text(error: &ErrorObject) -> String {
    let data = error.data().map(|data| format!(" {}", data.get())).unwrap_or_default();
    format!("Error: {} ({}){data}", error.message(), error.code())
}

fn result(outcome: &Outcome) -> Result<Box<RawValue>, ErrorObject> {
    let json = outcome.as_result().map_err(Clone::clone)?;
    serde_json::from_slice(json).map_err(|error| ErrorObject::internal_error(&error))
}
