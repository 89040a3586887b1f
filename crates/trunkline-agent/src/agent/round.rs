//! The calls of a turn: which are made, and what becomes of the others.

use std::sync::Arc;

use futures_util::future::{BoxFuture, join};
use futures_util::{FutureExt, StreamExt, stream};
use serde_json::{Map, Value, json};
use tokio::sync::mpsc::unbounded_channel;
use tokio::time::timeout_at;
use trunkline::{ErrorObject, code};

use super::capability::{Capability, Origin};
use super::error::shortened;
use super::event::Event;
use super::execution::Executed;
use super::reply::Stop;
use super::turn::{Proposal, Turn};
use crate::conversation::PendingCall;
use crate::model::{self, Arguments, Message, ToolCall, cut};

/// A call that a model wants, as it is told of.
struct Wanted {
    id: String,
    tool: String,
    /// Those that can be passed on.
    arguments: Map<String, Value>,
    fate: Fate,
}

enum Fate {
    Made(Arc<Capability>),
    Refused(ErrorObject),
    Stopped(Stop),
}

/// Deeper ones would be too deep for those who read them within a conversation, or a reply.
const DEEPEST_ARGUMENTS: usize = 64;

impl Turn<'_> {
    /// Makes the calls of one message, side by side. Each has a result, an error or a refusal.
    pub(super) async fn make(&mut self, calls: Vec<ToolCall>, origin: Origin) -> Option<Stop> {
        let mut stopped = None;
        let mut all = Vec::with_capacity(calls.len());
        for call in calls {
            let wanted = self.wanted(call, origin, stopped);
            if let Fate::Stopped(stop) = wanted.fate {
                stopped = Some(stop);
            }
            all.push(wanted);
        }
        self.carry_out(all).await.or(stopped)
    }

    /// Makes a call that waited, if it is still what was proposed.
    pub(super) async fn make_confirmed(&mut self, call: PendingCall) -> Option<Stop> {
        let PendingCall { tool, identity, arguments, .. } = call;
        let id = model::id();
        let arguments = Arguments::Object(arguments);
        let call = ToolCall { id: id.clone(), name: tool.clone(), arguments };
        let tool_calls = vec![call.called()];
        self.messages.push(Message::Assistant { content: String::new(), tool_calls });
        let (arguments, fault) = self.passed_on(call.arguments);
        let capability = self.capabilities.of_operation(&identity.operation).cloned();
        let fate = match (capability, fault) {
            (None, _) => Fate::Refused(self.unknown(&tool)),
            (Some(capability), _) if capability.identity() != identity => {
                Fate::Refused(refused("the tool has changed since the call was proposed"))
            }
            (Some(_), Some(fault)) => Fate::Refused(fault),
            (Some(capability), None) => match capability.check(&arguments) {
                Ok(()) => Fate::Made(capability),
                Err(error) => Fate::Refused(error),
            },
        };
        self.carry_out(vec![Wanted { id, tool, arguments, fate }]).await
    }

    fn wanted(&mut self, call: ToolCall, origin: Origin, stopped: Option<Stop>) -> Wanted {
        let ToolCall { id, name, arguments } = call;
        let capability = self.capabilities.called(&name).cloned();
        let tool =
            capability.as_ref().map_or_else(|| shortened(&name), |one| one.name().to_owned());
        let stop = stopped.or_else(|| self.count(&tool, &arguments));
        let (arguments, fault) = self.passed_on(arguments);
        let fate = match (stop, capability, fault) {
            (Some(stop), ..) => Fate::Stopped(stop),
            (None, None, _) => Fate::Refused(self.unknown(&tool)),
            (None, Some(_), Some(fault)) => Fate::Refused(fault),
            (None, Some(capability), None) => match capability.check(&arguments) {
                Err(error) => Fate::Refused(error),
                Ok(()) if capability.needs_confirmation(&arguments, origin) => {
                    self.propose(capability, &arguments)
                }
                Ok(()) => Fate::Made(capability),
            },
        };
        Wanted { id, tool, arguments, fate }
    }

    /// The arguments, or none, and what is wrong with them.
    fn passed_on(&self, arguments: Arguments) -> (Map<String, Value>, Option<ErrorObject>) {
        let fault = match arguments {
            Arguments::Malformed { reason, .. } => ErrorObject::invalid_params(&reason),
            Arguments::Object(object)
                if object.values().map(depth).max() >= Some(DEEPEST_ARGUMENTS) =>
            {
                let reason = format!("the arguments are nested deeper than {DEEPEST_ARGUMENTS}");
                ErrorObject::invalid_params(&reason)
            }
            Arguments::Object(object) if !self.budget.take(json!(object).to_string().len()) => {
                refused("the arguments and results of this turn are over their limit together")
            }
            Arguments::Object(object) => return (object, None),
        };
        (Map::new(), Some(fault))
    }

    /// Makes the calls that are to be made, tells of all, and records what came of them.
    async fn carry_out(&mut self, all: Vec<Wanted>) -> Option<Stop> {
        for wanted in &all {
            self.announce(wanted).await;
        }
        let ended = self.side_by_side(&all).await;
        let mut stopped = None;
        for (wanted, executed) in all.into_iter().zip(ended) {
            let Wanted { id, tool, arguments, fate } = wanted;
            let executed = match (executed, fate) {
                (Some(executed), _) => executed,
                (None, Fate::Refused(error)) => Executed::refused(&tool, arguments, error),
                (None, Fate::Stopped(stop)) => Executed::refused(&tool, arguments, not_made(stop)),
                (None, Fate::Made(_)) => {
                    stopped = Some(Stop::Time);
                    let cancelled = Executed::refused(&tool, arguments, not_made(Stop::Time));
                    self.tell(|| cancelled.event(&id)).await;
                    cancelled
                }
            };
            self.record(&id, executed);
        }
        stopped
    }

    /// Tells of a call, and of those that are not made, why.
    async fn announce(&mut self, wanted: &Wanted) {
        let Wanted { id, tool, arguments, fate } = wanted;
        let refusal = match fate {
            Fate::Made(_) => {
                self.status(format!("Calling {tool}")).await;
                None
            }
            Fate::Refused(error) => {
                self.status(format!("{tool} was not called: {error}")).await;
                Some(error.clone())
            }
            Fate::Stopped(stop) => Some(not_made(*stop)),
        };
        self.tell(|| Event::call(id, tool, arguments)).await;
        if let Some(error) = refusal {
            self.tell(|| Executed::refused(tool, arguments.clone(), error).event(id)).await;
        }
    }

    /// What came of each call that is to be made; nothing of those that were cancelled when the time was up.
    async fn side_by_side(&self, all: &[Wanted]) -> Vec<Option<Executed>> {
        let limit = self.executor.config.parallel_calls.max(1);
        let mut ended: Vec<Option<Executed>> = all.iter().map(|_| None).collect();
        let made = all.iter().enumerate();
        let made = made.filter_map(|(index, wanted)| Some((index, self.started(wanted)?)));
        let made = made.map(|(index, call)| call.map(move |executed| (index, executed)));
        let mut running = stream::iter(made.collect::<Vec<_>>()).buffer_unordered(limit);
        // The others go on while those who listen are waited for.
        let (sender, mut waiting) = unbounded_channel();
        let running = async move {
            while let Some(call) = running.next().await {
                let _ = sender.send(call);
            }
        };
        let telling = async {
            while let Some((index, executed)) = waiting.recv().await {
                self.tell(|| executed.event(&all[index].id)).await;
                ended[index] = Some(executed);
            }
        };
        // The sender goes with the calls, and with it ends what is told.
        let _ = join(timeout_at(self.deadline, running), telling).await;
        ended
    }

    /// A call that begins when its turn among those side by side comes.
    fn started(&self, wanted: &Wanted) -> Option<BoxFuture<'static, Executed>> {
        let Fate::Made(capability) = &wanted.fate else { return None };
        let (executor, capability) = (self.executor.clone(), Arc::clone(capability));
        let (caller, budget) = (self.caller.clone(), self.budget.clone());
        let arguments = wanted.arguments.clone();
        let call = async move { executor.call(&capability, arguments, &caller, &budget).await };
        Some(call.boxed())
    }

    /// One call at a time is confirmed.
    fn propose(&mut self, capability: Arc<Capability>, arguments: &Map<String, Value>) -> Fate {
        let reason = match &self.pending {
            None => "it was not made: the user is asked to confirm it first",
            Some(_) => "it was not made: another call waits to be confirmed first",
        };
        self.pending.get_or_insert_with(|| Proposal { capability, arguments: arguments.clone() });
        let error = ErrorObject::new(code::REFUSED, "Not confirmed");
        Fate::Refused(error.with_data(&json!({ "reason": reason })))
    }

    fn unknown(&self, tool: &str) -> ErrorObject {
        const MOST: usize = 50;
        let tools: Vec<_> = self.capabilities.iter().map(|one| one.offered()).take(MOST).collect();
        let data = json!({ "tool": shortened(tool), "tools": tools });
        ErrorObject::new(code::TOOL_NOT_FOUND, "Tool not found").with_data(&data)
    }

    /// How many calls of a message are looked at: the last one tells that there are too many.
    pub(super) fn most_calls(&self) -> usize {
        let left = self.executor.config.max_calls.saturating_sub(self.calls);
        usize::try_from(left).unwrap_or(usize::MAX).saturating_add(1)
    }

    /// Whether there are more calls, or more of the same, than there may be.
    fn count(&mut self, tool: &str, arguments: &Arguments) -> Option<Stop> {
        let config = &self.executor.config;
        self.calls += 1;
        if self.calls > config.max_calls {
            return Some(Stop::Calls);
        }
        let text = match arguments {
            Arguments::Object(object) => json!(object).to_string(),
            Arguments::Malformed { text, .. } => text.clone(),
        };
        let times = self.made.entry(format!("{tool} {text}")).or_default();
        *times += 1;
        (*times > config.max_repeats).then_some(Stop::Repetition)
    }

    fn record(&mut self, id: &str, executed: Executed) {
        let Executed { step, shown, .. } = executed;
        let content = cut(shown, self.capabilities.offered().shown_bytes);
        self.messages.push(Message::Tool { tool_call_id: id.to_owned(), content });
        if step.result.is_some() {
            self.metadata.tool_used = Some(step.tool.clone());
        }
        self.steps.push(step);
    }
}

/// How many arrays and objects are in one another.
fn depth(value: &Value) -> usize {
    match value {
        Value::Array(values) => 1 + values.iter().map(depth).max().unwrap_or(0),
        Value::Object(members) => 1 + members.values().map(depth).max().unwrap_or(0),
        _ => 0,
    }
}

/// A call that is not made.
fn refused(reason: &str) -> ErrorObject {
    ErrorObject::new(code::REFUSED, "Not called").with_data(&json!({ "reason": reason }))
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
