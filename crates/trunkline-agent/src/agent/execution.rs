//! One call on behalf of a caller.

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
    /// The text for the model, which is cut to fit its context.
    pub(super) shown: String,
    error: Option<ErrorObject>,
}

/// The number of bytes of arguments and results that may still be passed on. Clones share it.
#[derive(Debug, Clone)]
pub(super) struct Budget {
    left: Arc<AtomicUsize>,
    limit: usize,
}

impl Budget {
    pub(super) fn new(limit: usize) -> Self {
        Self { left: Arc::new(AtomicUsize::new(limit)), limit }
    }

    /// The initial number.
    pub(super) fn limit(&self) -> usize {
        self.limit
    }

    /// Takes a number of bytes; false, and none are taken, if fewer are left.
    pub(super) fn take(&self, bytes: usize) -> bool {
        let left = |left: usize| left.checked_sub(bytes);
        self.left.fetch_update(Ordering::Relaxed, Ordering::Relaxed, left).is_ok()
    }
}

impl Executor {
    pub(super) fn new(rpc: Rpc, settings: &Arc<Settings>) -> Self {
        Self { rpc, settings: Arc::clone(settings), last_id: Arc::default() }
    }

    pub(super) fn rpc(&self) -> &Rpc {
        &self.rpc
    }

    pub(super) fn settings(&self) -> &Settings {
        &self.settings
    }

    /// Makes a call whose arguments were checked. What comes of it is taken from the budget.
    pub(super) async fn call(
        &self,
        capability: &Capability,
        arguments: Map<String, Value>,
        caller: &Caller,
        budget: &Budget,
    ) -> Executed {
        let since = Instant::now();
        let outcome = self.outcome(capability, &arguments, caller).await;
        let ms = u64::try_from(since.elapsed().as_millis()).unwrap_or(u64::MAX);
        let (result, shown) = match self.too_large(&outcome, budget) {
            Some(error) => {
                let shown = told(&error);
                (Err(error), shown)
            }
            None => (result(&outcome), shown(capability, &arguments, &outcome)),
        };
        let (result, error) = match result {
            Ok(result) => (Some(result), None),
            Err(error) => (None, Some(error)),
        };
        let told = error.as_ref().map(StepError::from);
        let step = Step { tool: capability.name().to_owned(), arguments, result, error: told, ms };
        Executed { step, shown, error }
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

    /// The error in the place of what is too large to be passed on.
    fn too_large(&self, outcome: &Outcome, budget: &Budget) -> Option<ErrorObject> {
        const ONE: &str = "the result is over the limit: ask for less";
        const ALL: &str =
            "the results of this turn are over their limit, all of them together: ask for less";
        let limit = self.settings.max_result_bytes;
        let bytes = match outcome.as_result() {
            Ok(json) => json.len(),
            Err(error) => error.data().map_or(0, |data| data.get().len()),
        };
        let (reason, limit) = match () {
            () if bytes > limit => (ONE, limit),
            () if !budget.take(bytes) => (ALL, budget.limit()),
            () => return None,
        };
        Some(match outcome.as_result() {
            Ok(_) => ErrorObject::new(code::REPLY_TOO_LARGE, "Reply too large")
                .with_data(&json!({ "reason": reason, "limit_bytes": limit })),
            // What the call has ended in is worth more than what else it tells.
            Err(error) => ErrorObject::new(error.code(), error.message().to_owned()),
        })
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

    /// What tells of it.
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

/// An outcome as a model is shown it.
fn shown(capability: &Capability, arguments: &Map<String, Value>, outcome: &Outcome) -> String {
    let outcome = outcome.as_result();
    match (Rendering::of(capability.operation().description()), outcome) {
        (Rendering::Text(render), outcome) => {
            render(&serde_json::to_vec(arguments).unwrap_or_default(), outcome)
        }
        (_, Ok(json)) => String::from_utf8_lossy(json).into_owned(),
        (_, Err(error)) => told(error),
    }
}

/// An error as a model is told it.
fn told(error: &ErrorObject) -> String {
    let data = error.data().map(|data| format!(" {}", data.get())).unwrap_or_default();
    format!("Error: {} ({}){data}", error.message(), error.code())
}

fn result(outcome: &Outcome) -> Result<Box<RawValue>, ErrorObject> {
    let json = outcome.as_result().map_err(Clone::clone)?;
    serde_json::from_slice(json).map_err(|error| ErrorObject::internal_error(&error))
}
