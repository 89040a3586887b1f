//! The calls of a turn: which are made, and what becomes of the others.

use std::sync::Arc;

use futures_util::future::BoxFuture;
use futures_util::{FutureExt, StreamExt, stream};
use serde_json::{Map, Value, json};
use tokio::time::timeout_at;
use trunkline::{ErrorObject, code};

use super::capability::Capability;
use super::execution::Executed;
use super::reply::Stop;
use super::turn::Turn;
use crate::conversation::PendingCall;
use crate::model::{self, Arguments, Message, ToolCall};

/// What becomes of a call that a model wants.
enum Fate {
    Made(BoxFuture<'static, Executed>),
    Stopped(Stop),
}

impl Turn<'_> {
    /// Makes the calls of one message, side by side. Each has a result, an error or a refusal.
    pub(super) async fn make(&mut self, calls: Vec<ToolCall>) -> Option<Stop> {
        let mut stopped = None;
        let mut ids = Vec::with_capacity(calls.len());
        let mut made = Vec::with_capacity(calls.len());
        for call in calls {
            let named = (call.id.clone(), call.name.clone(), call.arguments.clone());
            let fate = match stopped {
                Some(stop) => Fate::Stopped(stop),
                None => self.fate(call).await,
            };
            match fate {
                Fate::Made(future) => made.push(future),
                Fate::Stopped(stop) => {
                    stopped = Some(stop);
                    let refused = Executed::refused(&named.1, object(&named.2), not_made(stop));
                    made.push(futures_util::future::ready(refused).boxed());
                }
            }
            ids.push(named);
        }
        let ended = self.side_by_side(made).await;
        if ended.iter().any(Option::is_none) {
            stopped = Some(Stop::Time);
        }
        for ((id, name, arguments), executed) in ids.into_iter().zip(ended) {
            let cancelled = || Executed::refused(&name, object(&arguments), not_made(Stop::Time));
            self.record(&id, executed.unwrap_or_else(cancelled));
        }
        stopped
    }

    /// What came of each call; nothing of those that were cancelled when the time was up.
    async fn side_by_side(
        &self,
        calls: Vec<BoxFuture<'static, Executed>>,
    ) -> Vec<Option<Executed>> {
        let limit = self.agent.settings.parallel_calls.max(1);
        let mut ended: Vec<Option<Executed>> = calls.iter().map(|_| None).collect();
        let calls = calls.into_iter().enumerate();
        let calls = calls.map(|(index, call)| call.map(move |executed| (index, executed)));
        let mut running = stream::iter(calls.collect::<Vec<_>>()).buffer_unordered(limit);
        while let Ok(Some((index, executed))) = timeout_at(self.deadline, running.next()).await {
            ended[index] = Some(executed);
        }
        ended
    }

    async fn fate(&mut self, call: ToolCall) -> Fate {
        let ToolCall { name, arguments, .. } = call;
        let capability = self.capabilities.find(&name).cloned();
        let tool =
            capability.as_ref().map_or_else(|| super::excerpt(&name), |one| one.name().to_owned());
        if let Some(stop) = self.count(&tool, &arguments) {
            return Fate::Stopped(stop);
        }
        let (arguments, refusal) = match (&capability, arguments) {
            (None, arguments) => (object(&arguments), Some(self.unknown(&tool))),
            (Some(_), Arguments::Malformed { reason, .. }) => {
                (Map::new(), Some(ErrorObject::invalid_params(&reason)))
            }
            (Some(capability), Arguments::Object(arguments)) => {
                let refusal = capability.check(&arguments).err();
                (arguments, refusal)
            }
        };
        match (capability, refusal) {
            (Some(capability), None) if capability.is_confirmed => self.propose(&tool, arguments),
            (Some(capability), None) => {
                self.status(format!("Calling {tool}")).await;
                self.started(&capability, arguments)
            }
            (_, refusal) => {
                let error = refusal.unwrap_or_else(|| self.unknown(&tool));
                self.status(format!("{tool} was not called: {error}")).await;
                self.refused(&tool, arguments, error)
            }
        }
    }

    /// A call that begins when its turn among those side by side comes.
    fn started(&self, capability: &Arc<Capability>, arguments: Map<String, Value>) -> Fate {
        let (executor, capability) = (self.agent.executor.clone(), Arc::clone(capability));
        let caller = self.caller.clone();
        Fate::Made(async move { executor.call(&capability, arguments, &caller).await }.boxed())
    }

    fn refused(&self, tool: &str, arguments: Map<String, Value>, error: ErrorObject) -> Fate {
        let caller = self.caller.clone();
        let refused = Executed::refused(tool, arguments, error);
        let told = async move {
            refused.tell(&caller).await;
            refused
        };
        Fate::Made(told.boxed())
    }

    /// One call at a time is confirmed.
    fn propose(&mut self, tool: &str, arguments: Map<String, Value>) -> Fate {
        let reason = match &self.pending {
            None => "it was not made: the user is asked to confirm it first",
            Some(_) => "it was not made: another call waits to be confirmed first",
        };
        self.pending.get_or_insert_with(|| (tool.to_owned(), arguments.clone()));
        let error = ErrorObject::new(code::REFUSED, "Not confirmed");
        self.refused(tool, arguments, error.with_data(&json!({ "reason": reason })))
    }

    fn unknown(&self, tool: &str) -> ErrorObject {
        const MOST: usize = 50;
        let tools: Vec<_> = self.capabilities.iter().map(|one| one.name()).take(MOST).collect();
        let data = json!({ "tool": super::excerpt(tool), "tools": tools });
        ErrorObject::new(code::TOOL_NOT_FOUND, "Tool not found").with_data(&data)
    }

    /// Whether there are more calls, or more of the same, than there may be.
    fn count(&mut self, tool: &str, arguments: &Arguments) -> Option<Stop> {
        let settings = &self.agent.settings;
        self.calls += 1;
        if self.calls > settings.max_calls {
            return Some(Stop::Calls);
        }
        let text = match arguments {
            Arguments::Object(object) => json!(object).to_string(),
            Arguments::Malformed { text, .. } => text.clone(),
        };
        let times = self.made.entry(format!("{tool} {text}")).or_default();
        *times += 1;
        (*times > settings.max_repeats).then_some(Stop::Repetition)
    }

    pub(super) async fn make_confirmed(&mut self, call: PendingCall) -> Option<Stop> {
        let PendingCall { tool, arguments, .. } = call;
        let id = model::id();
        let arguments = Arguments::Object(arguments);
        let call = ToolCall { id: id.clone(), name: tool.clone(), arguments };
        self.messages
            .push(Message::Assistant { content: String::new(), tool_calls: vec![call.called()] });
        let arguments = object(&call.arguments);
        // What is offered, and what it takes, may have changed since.
        let fate = match self.capabilities.find(&tool).cloned() {
            None => self.refused(&tool, arguments, self.unknown(&tool)),
            Some(capability) => match capability.check(&arguments) {
                Err(error) => self.refused(&tool, arguments, error),
                Ok(()) => {
                    self.status(format!("Calling {tool}, as confirmed")).await;
                    self.started(&capability, arguments)
                }
            },
        };
        let Fate::Made(made) = fate else { return None };
        match timeout_at(self.deadline, made).await {
            Ok(executed) => {
                self.record(&id, executed);
                None
            }
            Err(_) => {
                let arguments = object(&call.arguments);
                self.record(&id, Executed::refused(&tool, arguments, not_made(Stop::Time)));
                Some(Stop::Time)
            }
        }
    }

    fn record(&mut self, id: &str, executed: Executed) {
        let Executed { step, shown, .. } = executed;
        self.messages.push(Message::Tool { tool_call_id: id.to_owned(), content: shown });
        if step.result.is_some() {
            self.metadata.tool_used = Some(step.tool.clone());
        }
        self.steps.push(step);
    }
}

/// Those that can be shown.
fn object(arguments: &Arguments) -> Map<String, Value> {
    match arguments {
        Arguments::Object(object) => object.clone(),
        Arguments::Malformed { .. } => Map::new(),
    }
}

fn not_made(stop: Stop) -> ErrorObject {
    let (code, message, reason) = match stop {
        Stop::Time => (
            code::TIMEOUT,
            "Call timed out",
            "the time of the turn was up: what had begun may have had an effect",
        ),
        Stop::Repetition => (code::REFUSED, "Not called", "the same call was made before"),
        _ => (code::REFUSED, "Not called", "a limit of the turn was reached"),
    };
    ErrorObject::new(code, message).with_data(&json!({ "reason": reason }))
}
