//! Execution of operations for methods that wrap them.

use std::collections::{BTreeMap, BTreeSet};
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::Arc;

use serde_json::{Map, Value};
use trunkline::access::Principal;
use trunkline::layers::timeout::ClientWait;
use trunkline::protocol::{CallFuture, Part};
use trunkline::tool::CONFIRMATION_PARAM as CONFIRMATION;
use trunkline::{Call, ErrorObject, Outcome};

use super::context::{Attached, Context, Envelope, Origin};
use super::{Server, StartedCall};
use crate::capabilities::{ClientCapabilities, TOO_LONG};
use crate::era::{Era, Transport};
use crate::fault::Fault;
use crate::log_level::LogLevel;
use crate::message_queue::MessageQueue;
use crate::model::InputRequests;
use crate::notify::RequestedNotifications;
use crate::peer::{Connection, Ended, Peer, RoundState, Rounds, StateKey, run_round};
use crate::request::{members, string};
use crate::session::Session;

impl Server {
    /// Adds the values that handlers extract to the extensions of a call that has not been redirected.
    ///
    /// # Errors
    /// The client has sent responses or a state that are malformed, expired, or of another request.
    pub(super) fn attach(
        &self,
        call: &mut Call,
        context: Context<'_>,
        method: &'static str,
    ) -> Result<Attached, Fault> {
        let Context { request, era, transport, session } = context;
        let level = session.map_or(LogLevel::Info, |session| session.level());
        let messages = match transport {
            Transport::Http(fields) => RequestedNotifications::of(call, request, era, level)
                .filter(|_| fields.accepts_events()),
            Transport::Channel => RequestedNotifications::of(call, request, era, level),
            Transport::JsonRpc | Transport::Batch => None,
        };
        let heartbeat = self.settings.heartbeat;
        let messages = messages.map(|requested| requested.attach(call, heartbeat));
        let rounds = match era {
            Era::Modern => self.attach_rounds(call, context, method)?,
            Era::Legacy => {
                if let (Some(session), Some(messages)) = (session, &messages) {
                    self.attach_peer(call, session, messages);
                }
                None
            }
        };
        Ok(Attached { era, messages, rounds, task: None })
    }

    /// Adds a client that receives requests during the call.
    fn attach_peer(&self, call: &mut Call, session: &Session, messages: &Arc<MessageQueue>) {
        let capabilities = session.capabilities();
        let wait = ClientWait::default();
        if !capabilities.as_map().is_empty() {
            call.extensions_mut().insert(capabilities.clone());
            call.extensions_mut().insert(wait.clone());
        }
        call.extensions_mut().insert(Peer::connected(Connection {
            queue: Arc::clone(messages),
            requests: Arc::clone(&session.requests),
            capabilities,
            timeout: self.settings.client_timeout,
            wait,
            version: session.version(),
            ended: session.ended.clone(),
        }));
    }

    /// Adds the responses that the client has sent so far. `None` if it has declared no capabilities, like most clients.
    fn attach_rounds(
        &self,
        call: &mut Call,
        context: Context<'_>,
        method: &'static str,
    ) -> Result<Option<(Arc<Rounds>, Origin)>, Fault> {
        let Context { request, session, .. } = context;
        let declared = request.meta.client_capabilities.map(|part| call.text(part));
        let Some(declared) = declared.filter(|text| *text != b"{}") else {
            return Ok(None);
        };
        let capabilities = ClientCapabilities::parse(declared).ok_or(Fault::Params(TOO_LONG))?;
        let [state, new_responses, uri] = members(call, ["requestState", "inputResponses", "uri"])?
            .map(|part| part.filter(|part| call.text(*part) != b"null"));
        let part = |part: Option<Part>| part.map(|part| call.bytes(part));
        let mut origin = Origin {
            principal: Principal::of(call.extensions()).cloned(),
            method,
            parts: [part(request.name), part(uri), part(request.arguments)],
            round: 0,
        };
        let mut responses = BTreeMap::new();
        let mut requests = BTreeSet::new();
        if let Some(state) = state {
            let text = string(call, Some(state)).ok_or(Fault::Params(BAD_STATE))?;
            let key = self.state_key().ok_or(Fault::Params(BAD_STATE))?;
            let state = key.open(&text, &origin.binding()).map_err(|error| {
                tracing::debug!(%error, "a request state is refused");
                Fault::Params(BAD_STATE)
            })?;
            (origin.round, responses, requests) = (state.round, state.responses, state.requests);
        }
        if let Some(part) = new_responses {
            let new: BTreeMap<String, Map<String, Value>> = serde_json::from_slice(call.text(part))
                .map_err(|_| Fault::Params("`inputResponses` must be an object of objects"))?;
            // The user has not seen a call that is confirmed before the request. Other responses may be sent in advance.
            let counts = |key: &String| requests.contains(key) || key != CONFIRMATION;
            let new = new.into_iter().filter(|(key, _)| counts(key));
            responses.extend(new.map(|(key, response)| (key, response.into())));
        }
        call.extensions_mut().insert(capabilities.clone());
        let session = session.map(|session| session.requests.session);
        let rounds = Arc::new(Rounds::new(capabilities, session, responses));
        call.extensions_mut().insert(rounds.wait.clone());
        call.extensions_mut().insert(Peer::in_rounds(Arc::clone(&rounds)));
        Ok(Some((rounds, origin)))
    }

    /// Runs a redirected call through the layers of its operation. `write` creates the result of the wrapping method
    /// from the outcome, outside of the layers.
    pub(super) fn run_operation(
        self: &Arc<Self>,
        call: Call,
        attached: Attached,
        write: impl FnOnce(Outcome, &Envelope) -> Outcome + Send + 'static,
    ) -> StartedCall {
        let Attached { era, messages, rounds, task } = attached;
        let envelope = self.envelope(era);
        let future = self.rpc.run(call).map(move |outcome| {
            let written = catch_unwind(AssertUnwindSafe(|| write(outcome, &envelope)));
            written.unwrap_or_else(|_| {
                Outcome::error(ErrorObject::internal(&"the rendering of the outcome panicked"))
            })
        });
        let Some((rounds, origin)) = rounds else {
            return StartedCall { future, messages };
        };
        let call = match future.into_outcome() {
            Ok(outcome) => return StartedCall { future: CallFuture::ready(outcome), messages },
            Err(call) => call,
        };
        let (server, queue) = (Arc::clone(self), messages.clone());
        let future = CallFuture::from_future(async move {
            let task_after = task.as_ref().map(|_| server.settings.tasks.after);
            let call = match run_round(call, &rounds, task_after).await {
                Ended::Outcome(outcome) => return outcome,
                Ended::Requests(requests) => {
                    return server.input_required(&rounds, origin, &requests);
                }
                Ended::Task(call) => call,
            };
            if let Some(queue) = queue {
                queue.end();
            }
            match task {
                Some(task) => {
                    // Suspends the timeout and the concurrency limit: tasks have their own limits.
                    let waiting = rounds.wait.begin();
                    let call = CallFuture::from_future(async move {
                        let _waiting = waiting;
                        let Ok(outcome) = call.await;
                        outcome
                    });
                    server.start_task(task, call).await
                }
                None => Outcome::error(ErrorObject::internal(&"a call without a task became one")),
            }
        });
        StartedCall { future, messages }
    }

    pub(super) fn envelope(&self, era: Era) -> Envelope {
        Envelope { era, tail: self.results.tail(era) }
    }

    /// The result that requests input of the client.
    fn input_required(&self, rounds: &Rounds, origin: Origin, requests: &InputRequests) -> Outcome {
        if origin.round >= self.settings.rounds {
            let reason = format!("the call has requested input {} times", origin.round);
            return Outcome::error(ErrorObject::internal(&reason));
        }
        // Responses to requests that this call has not made are not returned to the client.
        let responses = rounds.used_responses();
        let keys = requests.keys().cloned().collect();
        let state = RoundState { round: origin.round + 1, responses, requests: keys };
        let lifetime = self.settings.state_lifetime;
        let seal = |key: &StateKey| key.seal(state, origin.binding(), lifetime);
        let Some(state) = self.state_key().and_then(seal) else {
            let cause = "the system random number generator failed";
            return Outcome::error(ErrorObject::internal(&cause));
        };
        let info: &[u8] = &self.results.tail(Era::Modern);
        Outcome::from_writer(|json| {
            json.extend_from_slice(b"{\"resultType\":\"input_required\",\"inputRequests\":");
            serde_json::to_writer(&mut *json, requests).expect("JSON values serialise");
            json.extend_from_slice(b",\"requestState\":\"");
            json.extend_from_slice(state.as_bytes());
            json.push(b'"');
            json.extend_from_slice(info);
        })
    }

    /// The configured key, or a random one. `None` if the random number generator of the system fails.
    fn state_key(&self) -> Option<&StateKey> {
        match &self.settings.state_key {
            Some(key) => Some(key),
            None => self.random_key.get_or_init(StateKey::random).as_ref(),
        }
    }
}

const BAD_STATE: &str = "`requestState` is invalid, has expired, or belongs to another request; repeat the request without it";
