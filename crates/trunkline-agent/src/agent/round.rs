//! The tool calls of one model message: which are executed, and the results of the others.

use std::sync::Arc;

use futures_util::future::{BoxFuture, join};
use futures_util::{FutureExt, StreamExt, stream};
use serde_json::{Map, Value, json};
use tokio::sync::mpsc::unbounded_channel;
use tokio::time::timeout_at;
use trunkline::{ErrorObject, code};

use super::capability::{Capability, Origin};
use super::error::truncate_name;
use super::event::Event;
use super::execution::CallOutcome;
use super::reply::Stop;
use super::turn::{Proposal, Turn};
use crate::conversation::PendingCall;
use crate::model::{self, Arguments, Message, ToolCall, depth, truncate};

/// A requested call, and the decision about it.
struct PlannedCall {
    id: String,
    tool: String,
    /// The arguments; empty if they are invalid.
    arguments: Map<String, Value>,
    decision: Decision,
}

enum Decision {
    Execute(Arc<Capability>),
    Refuse(ErrorObject),
    Stop(Stop),
}

/// The maximum nesting of arguments. Deeper values could not be parsed inside a conversation or a reply.
const MAX_ARGUMENT_DEPTH: usize = 64;

impl Turn<'_> {
    /// Executes the calls of one message concurrently. Each gets a result, an error or a refusal.
    pub(super) async fn execute(&mut self, calls: Vec<ToolCall>, origin: Origin) -> Option<Stop> {
        let mut stopped = None;
        let mut all = Vec::with_capacity(calls.len());
        for call in calls {
            let planned = self.plan(call, origin, stopped);
            if let Decision::Stop(stop) = planned.decision {
                stopped = Some(stop);
            }
            all.push(planned);
        }
        self.execute_planned(all).await.or(stopped)
    }

    /// Executes a confirmed call, if its operation has not changed since the call was proposed.
    pub(super) async fn execute_confirmed(&mut self, call: PendingCall) -> Option<Stop> {
        let PendingCall { tool, identity, arguments, message, .. } = call;
        let id = model::id();
        let arguments = Arguments::Object(arguments);
        let call = ToolCall::new(id.clone(), &tool, arguments.clone());
        let anew = || Message::with_calls(String::new(), vec![call.to_message_call()]);
        self.messages.push(message.map_or_else(anew, |message| message.with_call_id(&id)));
        let (arguments, error) = self.check_arguments(arguments);
        let capability = self.capabilities.find_operation(&identity.operation).cloned();
        let decision = match (capability, error) {
            (None, _) => Decision::Refuse(self.unknown_tool(&tool)),
            (Some(capability), _) if capability.identity() != identity => {
                Decision::Refuse(refusal("the tool has changed since the call was proposed"))
            }
            (Some(_), Some(error)) => Decision::Refuse(error),
            (Some(capability), None) => match capability.check(&arguments) {
                Ok(()) => Decision::Execute(capability),
                Err(error) => Decision::Refuse(error),
            },
        };
        self.execute_planned(vec![PlannedCall { id, tool, arguments, decision }]).await
    }

    fn plan(&mut self, call: ToolCall, origin: Origin, stopped: Option<Stop>) -> PlannedCall {
        let ToolCall { id, name, arguments, .. } = call;
        let capability = self.capabilities.find_by_model_name(&name).cloned();
        let tool =
            capability.as_ref().map_or_else(|| truncate_name(&name), |one| one.name().to_owned());
        let stop = stopped.or_else(|| self.count_call(&tool, &arguments));
        let (arguments, error) = self.check_arguments(arguments);
        let arguments = match &capability {
            Some(capability) => capability.convert(arguments),
            None => arguments,
        };
        let decision = match (stop, capability, error) {
            (Some(stop), ..) => Decision::Stop(stop),
            (None, None, _) => Decision::Refuse(self.unknown_tool(&tool)),
            (None, Some(_), Some(error)) => Decision::Refuse(error),
            (None, Some(capability), None) => match capability.check(&arguments) {
                Err(error) => Decision::Refuse(error),
                Ok(()) if capability.needs_confirmation(&arguments, origin) => {
                    self.propose(capability, &id, &arguments)
                }
                Ok(()) => Decision::Execute(capability),
            },
        };
        PlannedCall { id, tool, arguments, decision }
    }

    /// Checks the size and the nesting of arguments. Arguments with an error are replaced by an empty object.
    fn check_arguments(&self, arguments: Arguments) -> (Map<String, Value>, Option<ErrorObject>) {
        let error = match arguments {
            Arguments::Malformed { reason, .. } => ErrorObject::invalid_params(&reason),
            Arguments::Object(object)
                if object.values().map(depth).max() >= Some(MAX_ARGUMENT_DEPTH) =>
            {
                let reason =
                    format!("the arguments are nested deeper than {MAX_ARGUMENT_DEPTH} levels");
                ErrorObject::invalid_params(&reason)
            }
            Arguments::Object(object) if !self.budget.take(json!(object).to_string().len()) => {
                refusal("the arguments and results of this turn exceed their total limit")
            }
            Arguments::Object(object) => return (object, None),
        };
        (Map::new(), Some(error))
    }

    /// Executes the accepted calls, sends the events of all calls, and records the outcomes.
    async fn execute_planned(&mut self, all: Vec<PlannedCall>) -> Option<Stop> {
        for planned in &all {
            self.announce(planned).await;
        }
        let outcomes = self.run_concurrently(&all).await;
        let mut stopped = None;
        for (planned, outcome) in all.into_iter().zip(outcomes) {
            let PlannedCall { id, tool, arguments, decision } = planned;
            let outcome = match (outcome, decision) {
                (Some(outcome), _) => outcome,
                (None, Decision::Refuse(error)) => CallOutcome::refused(&tool, arguments, error),
                (None, Decision::Stop(stop)) => {
                    CallOutcome::refused(&tool, arguments, stop_error(stop))
                }
                (None, Decision::Execute(_)) => {
                    stopped = Some(Stop::Time);
                    let cancelled = CallOutcome::refused(&tool, arguments, stop_error(Stop::Time));
                    self.send(|| cancelled.event(&id)).await;
                    cancelled
                }
            };
            self.record(&id, outcome);
        }
        stopped
    }

    /// Sends the event of a call and, if it is not executed, that of its refusal.
    async fn announce(&mut self, planned: &PlannedCall) {
        let PlannedCall { id, tool, arguments, decision } = planned;
        let refusal = match decision {
            Decision::Execute(_) => {
                self.status(format!("Calling {tool}")).await;
                None
            }
            Decision::Refuse(error) => {
                self.status(format!("{tool} was not called: {error}")).await;
                Some(error.clone())
            }
            Decision::Stop(stop) => Some(stop_error(*stop)),
        };
        self.send(|| Event::call(id, tool, arguments)).await;
        if let Some(error) = refusal {
            self.send(|| CallOutcome::refused(tool, arguments.clone(), error).event(id)).await;
        }
    }

    /// Executes the accepted calls. Returns `None` for refused calls, and for those cancelled by the timeout.
    async fn run_concurrently(&self, all: &[PlannedCall]) -> Vec<Option<CallOutcome>> {
        let limit = self.executor.config.parallel_calls.max(1);
        let mut outcomes: Vec<Option<CallOutcome>> = all.iter().map(|_| None).collect();
        let calls = all.iter().enumerate();
        let calls = calls.filter_map(|(index, planned)| Some((index, self.start(planned)?)));
        let calls = calls.map(|(index, call)| call.map(move |outcome| (index, outcome)));
        let mut running = stream::iter(calls.collect::<Vec<_>>()).buffer_unordered(limit);
        // A slow receiver of events does not delay the other calls.
        let (sender, mut completed) = unbounded_channel();
        let running = async move {
            while let Some(call) = running.next().await {
                let _ = sender.send(call);
            }
        };
        let report = async {
            while let Some((index, outcome)) = completed.recv().await {
                self.send(|| outcome.event(&all[index].id)).await;
                outcomes[index] = Some(outcome);
            }
        };
        // The sender is dropped after the last call, which ends the loop over the outcomes.
        let _ = join(timeout_at(self.deadline, running), report).await;
        outcomes
    }

    /// The future of an accepted call. It starts when it is polled.
    fn start(&self, planned: &PlannedCall) -> Option<BoxFuture<'static, CallOutcome>> {
        let Decision::Execute(capability) = &planned.decision else { return None };
        let (executor, capability) = (self.executor.clone(), Arc::clone(capability));
        let (caller, budget) = (self.caller.clone().confirmed(), self.budget.clone());
        let arguments = planned.arguments.clone();
        let call = async move { executor.call(&capability, arguments, &caller, &budget).await };
        Some(call.boxed())
    }

    /// Proposes a call to the user, unless another one is pending.
    fn propose(
        &mut self,
        capability: Arc<Capability>,
        id: &str,
        arguments: &Map<String, Value>,
    ) -> Decision {
        let reason = match &self.pending {
            None => "the user must confirm the call first",
            Some(_) => "another call is waiting for the user's confirmation",
        };
        let message = self.messages.last().map(|message| message.with_only_call(id));
        let arguments = arguments.clone();
        self.pending.get_or_insert_with(|| Proposal { capability, arguments, message });
        let error = ErrorObject::new(code::REFUSED, "Not confirmed");
        Decision::Refuse(error.with_data(&json!({ "reason": reason })))
    }

    fn unknown_tool(&self, tool: &str) -> ErrorObject {
        const MAX_TOOLS: usize = 50;
        let tools: Vec<_> =
            self.capabilities.iter().map(|one| one.model_name()).take(MAX_TOOLS).collect();
        let data = json!({ "tool": truncate_name(tool), "tools": tools });
        ErrorObject::new(code::TOOL_NOT_FOUND, "Tool not found").with_data(&data)
    }

    /// The number of calls of a message to process: one more than allowed, so that the limit is reported.
    pub(super) fn max_processed_calls(&self) -> usize {
        let left = self.executor.config.max_calls.saturating_sub(self.calls);
        usize::try_from(left).unwrap_or(usize::MAX).saturating_add(1)
    }

    /// Counts a call. Returns the limit that it exceeds.
    fn count_call(&mut self, tool: &str, arguments: &Arguments) -> Option<Stop> {
        let config = &self.executor.config;
        self.calls += 1;
        if self.calls > config.max_calls {
            return Some(Stop::Calls);
        }
        let text = match arguments {
            Arguments::Object(object) => json!(object).to_string(),
            Arguments::Malformed { text, .. } => text.clone(),
        };
        let times = self.request_counts.entry(format!("{tool} {text}")).or_default();
        *times += 1;
        (*times > config.max_repeats).then_some(Stop::Repetition)
    }

    fn record(&mut self, id: &str, outcome: CallOutcome) {
        let CallOutcome { step, text, .. } = outcome;
        let content = truncate(text, self.capabilities.catalog().result_bytes);
        self.messages.push(Message::Tool { tool_call_id: id.to_owned(), content });
        if step.result.is_some() {
            self.metadata.tool_used = Some(step.tool.clone());
        }
        self.steps.push(step);
    }
}

/// The error of a call that is not executed.
fn refusal(reason: &str) -> ErrorObject {
    ErrorObject::new(code::REFUSED, "Not called").with_data(&json!({ "reason": reason }))
}

fn stop_error(stop: Stop) -> ErrorObject {
    let (code, message, reason) = match stop {
        Stop::Time => {
            (code::TIMEOUT, "Call timed out", "the turn timed out; the call may have had an effect")
        }
        Stop::Repetition => (code::REFUSED, "Not called", "the same call was repeated too often"),
        _ => (code::REFUSED, "Not called", "a limit of the turn was reached"),
    };
    ErrorObject::new(code, message).with_data(&json!({ "reason": reason }))
}
