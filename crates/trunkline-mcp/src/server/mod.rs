//! Dispatch of the protocol's methods, by the era of the request.

mod catalog;
mod context;
mod converted;
mod list_warnings;
mod lists;
mod lost_sessions;
mod nodes;
mod offers;
mod prebuilt;
mod prompts;
mod resources;
mod run;
mod saved_sessions;
mod spans;
mod subscriptions;
mod task_runner;
mod tasks;

use std::convert::identity;
use std::fmt;
use std::sync::{Arc, OnceLock};
use std::time::Duration;

use bytes::Bytes;
use http::HeaderMap;
use serde_json::Value;
use tokio::sync::Semaphore;
use trunkline::protocol::spans::are_enabled;
use trunkline::protocol::{CallFuture, Part, ProtocolMethods};
use trunkline::tool::Rendering;
use trunkline::{Call, ErrorObject, Outcome, Rpc, code};

use crate::capabilities::{ClientCapabilities, TOO_LONG};
use crate::client_info::ClientInfo;
use crate::config::McpConfig;
use crate::era::{self, Era, Transport};
use crate::error::McpError;
use crate::fault::Fault;
use crate::log_level::LogLevel;
use crate::message_queue::MessageQueue;
use crate::node_message::Membership;
use crate::nodes::SessionChange;
use crate::peer::StateKey;
use crate::protocol::{Legacy, method};
use crate::request::{Request, is_object, members, string};
use crate::session::{CarriedState, SavedSessions, Session, Sessions, SseClients};
use crate::subscription::{Notifier, Subscribers};
use crate::task_group::TaskGroup;
use crate::tool::{self, Tool};
use catalog::Catalog;
use context::{Attached, Context, is_protocol_error};
use converted::convert_arguments;
pub(crate) use nodes::record_of;
use prebuilt::{List, Notified, PrebuiltResults};
use task_runner::Tasks;

/// The operations of an [`Rpc`] as an MCP server. Cloning is cheap.
#[derive(Clone)]
pub struct Mcp(pub(crate) Arc<Server>);

pub(crate) struct Server {
    pub(crate) rpc: Rpc,
    pub(crate) settings: McpConfig,
    /// The clients that are notified of changes.
    pub(crate) subscribers: Arc<Subscribers>,
    pub(crate) sessions: Sessions,
    /// The clients of HTTP+SSE.
    pub(crate) sse_clients: OnceLock<Box<dyn SseClients>>,
    /// None for a single server.
    pub(crate) membership: Option<Arc<Membership>>,
    /// The store of the sessions of a single server, if there is one.
    pub(crate) saved: Option<Arc<SavedSessions>>,
    /// The permits of `subscriptions/listen`.
    listeners: Arc<Semaphore>,
    tasks: Tasks,
    /// Calls that outlive the requests of their clients, and tasks.
    pub(crate) detached: TaskGroup,
    /// The key of the state of calls, if none is configured.
    random_key: OnceLock<Option<StateKey>>,
    catalog: Catalog,
    results: PrebuiltResults,
}

/// The answer to a message.
pub(crate) struct Answer {
    /// Whether the request is of the stateless era.
    pub(crate) modern: bool,
    pub(crate) outcome: Result<StartedCall, Fault>,
}

/// A call that has been started.
pub(crate) struct StartedCall {
    pub(crate) future: CallFuture,
    /// The messages to its client, if the client accepts any.
    pub(crate) messages: Option<Arc<MessageQueue>>,
}

impl From<CallFuture> for StartedCall {
    fn from(future: CallFuture) -> Self {
        Self { future, messages: None }
    }
}

impl Mcp {
    /// Creates a server for the operations of a service. Clients of channels and sessions, and those that have sent
    /// `subscriptions/listen`, are notified when [dynamic operations](trunkline::DynamicOperations) change; others
    /// request the lists again.
    ///
    /// # Errors
    /// The first static operation that cannot be offered. A dynamic one that cannot be offered is left out and logged.
    pub fn new(rpc: Rpc, settings: McpConfig) -> Result<Self, McpError> {
        let results =
            PrebuiltResults::new(&settings, rpc.has_dynamic_operations() || settings.list_changes);
        let catalog = Catalog::new(&rpc, &results)?;
        let (subscribers, random_key) = <(Arc<Subscribers>, _)>::default();
        let sessions = Sessions::new(settings.sessions, settings.session_idle);
        let membership =
            settings.nodes.clone().map(|nodes| Membership::new(nodes).ok_or(McpError::Random));
        let membership = membership.transpose()?.map(Arc::new);
        let saved = settings.session_store.clone().filter(|_| membership.is_none());
        let saved = saved.map(|store| Arc::new(SavedSessions::new(store, 2 * settings.sessions)));
        let listeners = Arc::new(Semaphore::new(settings.listeners.min(Semaphore::MAX_PERMITS)));
        let task_config = settings.tasks.clone();
        let detached = TaskGroup::default();
        let tasks = Tasks::new(task_config, Arc::clone(&subscribers), &settings.closing, &detached);
        let server = Arc::new(Server {
            rpc,
            settings,
            subscribers,
            sessions,
            sse_clients: OnceLock::new(),
            membership,
            saved,
            listeners,
            tasks,
            detached,
            random_key,
            catalog,
            results,
        });
        if server.rpc.has_dynamic_operations() {
            let listener = Arc::downgrade(&server);
            server.rpc.on_change(move || {
                if let Some(server) = listener.upgrade() {
                    server.refresh();
                }
            });
            // Changes before the listener was registered.
            server.refresh();
        }
        Ok(Self(server))
    }

    /// The service with MCP's methods in addition to its operations, for endpoints of plain JSON-RPC. There,
    /// an unknown tool is error -32001.
    #[must_use]
    pub fn rpc(&self) -> Rpc {
        self.0.rpc.clone().with_protocol_methods(Arc::new(McpMethods(self.clone())))
    }

    /// Cancels [`McpConfig::closing`], and waits for calls whose clients have disconnected, and for tasks. Those that
    /// do not end within `timeout` are dropped; returns their number. Call it when, or after, the server over HTTP
    /// stops.
    pub async fn stop(&self, timeout: Duration) -> usize {
        self.0.settings.closing.cancel();
        self.0.detached.stop(timeout).await
    }

    /// The number of sessions of Streamable HTTP on this server.
    #[must_use]
    pub fn session_count(&self) -> usize {
        self.0.sessions.len()
    }

    /// The names of the listed tools, in the order of their registration.
    #[must_use]
    pub fn tools(&self) -> Vec<String> {
        self.0.catalog.tool_names()
    }

    /// Notifies the clients that have subscribed to a resource that it has changed. A client that does not read its
    /// notifications receives one for several changes.
    pub fn resource_updated(&self, uri: &str) {
        self.notifier().resource_updated(uri);
    }

    /// Notifies the clients of changes, without keeping the server alive.
    #[must_use]
    pub fn notifier(&self) -> Notifier {
        Notifier::new(&self.0.subscribers)
    }
}

impl Server {
    /// Whether clients are notified of changed lists.
    fn lists_change(&self) -> bool {
        self.rpc.has_dynamic_operations() || self.settings.list_changes
    }

    fn refresh(&self) {
        let changes = self.catalog.refresh(&self.rpc, &self.results);
        self.subscribers.notify_changes(changes);
    }

    /// Answers one message. If this returns a fault, nothing has been run.
    pub(crate) fn answer(
        self: &Arc<Self>,
        mut call: Call,
        transport: Transport<'_>,
        session: Option<&Arc<Session>>,
    ) -> Answer {
        let observation = call.take_observation();
        let Answer { modern, outcome } = self.begin(call, transport, session);
        let outcome = match (outcome, observation) {
            (Ok(started), Some(observation)) => {
                let future = started.future.map(move |outcome| {
                    observation.end(&outcome);
                    outcome
                });
                Ok(StartedCall { future, ..started })
            }
            (Err(fault), Some(observation)) => {
                observation.end(&Outcome::error(fault.error()));
                Err(fault)
            }
            (outcome, None) => outcome,
        };
        Answer { modern, outcome }
    }

    fn begin(
        self: &Arc<Self>,
        mut call: Call,
        transport: Transport<'_>,
        session: Option<&Arc<Session>>,
    ) -> Answer {
        let request = match Request::of(&call) {
            Ok(request) => request,
            Err(fault) => {
                return Answer { modern: era::is_announced(transport), outcome: Err(fault) };
            }
        };
        match era::of(&call, &request, transport) {
            Ok(era) => {
                let context = Context { request: &request, era, transport, session };
                if let Some(trace) = request.trace(&call) {
                    // Replaces that of the transport, which belongs to another trace.
                    let state = request.trace_state(&call).unwrap_or_default();
                    call.extensions_mut().insert(trace);
                    call.extensions_mut().insert(state);
                }
                let outcome = match are_enabled() {
                    true => self.dispatch_in_span(call, context),
                    false => self.dispatch(call, context),
                };
                Answer { modern: era == Era::Modern, outcome }
            }
            // A refusal here has the same status in both eras.
            Err(fault) => Answer { modern: true, outcome: Err(fault) },
        }
    }

    fn dispatch(self: &Arc<Self>, call: Call, context: Context<'_>) -> Result<StartedCall, Fault> {
        // The most frequent method.
        if call.has_method(method::TOOLS_CALL) && !call.is_notification() {
            return self.call_tool(call, context);
        }
        let Context { request, era, transport, session } = context;
        let method = call.method();
        match (call.is_notification(), transport) {
            (true, _) if method.starts_with("notifications/") => return Ok(ready(b"{}")),
            // In JSON-RPC, any method may be called by a notification.
            (false, _) | (true, Transport::JsonRpc) => {}
            // Guards in front of this server look at requests only.
            (true, Transport::Http(_) | Transport::Channel | Transport::Batch) => {
                return Err(Fault::Request(
                    "this method cannot be called by a notification; send an id",
                ));
            }
        }
        let declared = self.catalog.declared();
        if let Some(list) = List::of_method(&method)
            && list.is_declared(declared)
        {
            drop(method);
            return self.list(list, call, context);
        }
        match (&*method, era) {
            (method::TOOLS_CALL, _) => {
                drop(method);
                self.call_tool(call, context)
            }
            (method::RESOURCES_READ, _) if declared.resources => {
                drop(method);
                self.read_resource(call, context)
            }
            (method::PROMPTS_GET, _) if declared.prompts => {
                drop(method);
                self.get_prompt(call, context)
            }
            (method::COMPLETE, _) if declared.completions => {
                drop(method);
                self.complete(call, context)
            }
            (method::DISCOVER, Era::Modern) => Ok(ready(&self.catalog.discover())),
            (method::INITIALIZE, Era::Legacy) => {
                let version = negotiated(&call, request)?;
                if let Some(session) = session {
                    let [capabilities, client] = members(&call, ["capabilities", "clientInfo"])?;
                    let capabilities = capabilities.map_or(&b"{}"[..], |part| call.text(part));
                    let capabilities = ClientCapabilities::parse(capabilities);
                    let capabilities = capabilities.ok_or(Fault::Params(TOO_LONG))?;
                    let client = client.and_then(|part| ClientInfo::parse(call.text(part)));
                    let version = Some(version);
                    session.initialize(CarriedState { version, capabilities, client });
                }
                let lists = session.is_some() && self.lists_change();
                let resource_list =
                    lists || session.is_some() && self.settings.resource_list_changes;
                let notified = Notified { lists, resource_list, resources: session.is_some() };
                Ok(ready(self.results.initialize(version, declared, notified).as_bytes()))
            }
            (method::PING, Era::Legacy) => Ok(ready(b"{}")),
            (method::SET_LEVEL, Era::Legacy) => {
                let level = requested_level(&call, request)?;
                Ok(self.change_session(session, SessionChange::Level(level)))
            }
            (method::SUBSCRIBE, Era::Legacy) if declared.resources => {
                self.subscribe(&call, context)
            }
            (method::UNSUBSCRIBE, Era::Legacy) if declared.resources => {
                self.unsubscribe(&call, context)
            }
            (method::LISTEN, Era::Modern) => self.listen(&call, context),
            (method::TASKS_GET | method::TASKS_UPDATE | method::TASKS_CANCEL, Era::Modern)
                if declared.tasks =>
            {
                self.answer_task(&call, context)
            }
            // Results of the stateless era require members that results of operations lack.
            (_, Era::Legacy) if call.operation().is_some() => {
                drop(method);
                Ok(self.rpc.run(call).map(identity).into())
            }
            (name, _) => {
                let fault = Fault::UnknownMethod(name.to_owned());
                drop(method);
                self.run_unknown(call, None, fault)
            }
        }
    }

    /// Changes a session. Without one, nothing is stored.
    fn change_session(&self, session: Option<&Arc<Session>>, change: SessionChange) -> StartedCall {
        let Some(session) = session.cloned() else { return ready(b"{}") };
        let max = self.settings.subscriptions;
        let changed = async move {
            match session.change(change, max).await {
                Ok(()) => Outcome::result(&serde_json::json!({})),
                Err(error) => Outcome::error(error),
            }
        };
        CallFuture::from_future(changed).into()
    }

    fn call_tool(self: &Arc<Self>, call: Call, context: Context<'_>) -> Result<StartedCall, Fault> {
        let Context { request, era, transport, .. } = context;
        let name = string(&call, request.name);
        let name = name.ok_or(Fault::Params("`name` must be a string: the name of the tool"))?;
        let Some(tool) = self.catalog.find_tool(&name) else {
            let code = match transport {
                Transport::JsonRpc => code::TOOL_NOT_FOUND,
                Transport::Http(_) | Transport::Channel | Transport::Batch => code::INVALID_PARAMS,
            };
            let fault = Fault::UnknownTool { name: name.into_owned(), code };
            return self.run_unknown(call, request.name, fault);
        };
        drop(name);
        let (mut call, converted) = convert_arguments(call, request, &tool.operation())?;
        let request = converted.as_ref().unwrap_or(request);
        let context = Context { request, ..context };
        let arguments = arguments(&call, request)?;
        let text = arguments.map_or(Bytes::from_static(b"{}"), |part| call.bytes(part));
        if let (Era::Modern, Transport::Http(fields)) = (era, transport) {
            check_mirrored(&tool, fields.all, &text)?;
        }
        if let Err(reason) = tool.check(&text) {
            let call = call.redirect_to(tool.operation(), arguments);
            return Ok(self.refuse(call, era, ErrorObject::invalid_params(&reason), reason));
        }
        let task = match self.prepare_task(&tool, &call, context) {
            Ok(task) => task,
            Err(error) => {
                let call = call.redirect_to(tool.operation(), arguments);
                let reason = format!("this tool runs as a task: {}", tool::error_text(&error));
                return Ok(self.refuse(call, era, error, reason));
            }
        };
        let mut attached = self.attach(&mut call, context, method::TOOLS_CALL)?;
        if let Some(task) = task {
            attached.add_task(&mut call, task);
        }
        let form = self.results.result_form(&call, context);
        let call = call.redirect_to(tool.operation(), arguments);
        Ok(self.run_operation(call, attached, move |outcome, envelope| {
            if is_protocol_error(&outcome, era) {
                return outcome;
            }
            if let (Rendering::ToolResult, Ok(result)) = (tool.rendering(), outcome.as_result())
                && let Some(outcome) =
                    envelope.write_with_meta(|json| tool::write_members(json, result, form))
            {
                return outcome;
            }
            envelope.write(|json| {
                tool::write_result(json, &outcome, &tool, &text, form);
            })
        }))
    }

    /// Reports to a model that a tool cannot be called in this way. The call passes the layers of the tool, which may
    /// refuse it first.
    fn refuse(
        self: &Arc<Self>,
        call: Call,
        era: Era,
        error: ErrorObject,
        reason: String,
    ) -> StartedCall {
        let call = call.with_refusal(error);
        self.run_operation(call, Attached::none(era), move |outcome, envelope| {
            if is_protocol_error(&outcome, era) {
                return outcome;
            }
            envelope.write(|json| tool::failure(json, &reason))
        })
    }

    /// Answers a request for something that does not exist. It passes the layers of unknown methods, under the name that
    /// it asks for, so that rate limits count it and access rules can refuse it.
    fn run_unknown(
        &self,
        call: Call,
        name: Option<Part>,
        fault: Fault,
    ) -> Result<StartedCall, Fault> {
        let error = fault.error();
        // A layer that answers unknown methods does not know the results of this protocol.
        let code = error.code();
        let is_unknown = move |outcome: &Outcome| outcome.code().is_none_or(|found| found == code);
        let future = self.rpc.run(call.redirect_to_unknown(name).with_refusal(error));
        match future.into_outcome() {
            Ok(outcome) if is_unknown(&outcome) => Err(fault),
            Ok(outcome) => Ok(CallFuture::ready(outcome).into()),
            Err(future) => {
                let refused = move |outcome| match is_unknown(&outcome) {
                    true => Outcome::error(fault.error()),
                    false => outcome,
                };
                Ok(future.map(refused).into())
            }
        }
    }
}

fn ready(result: &[u8]) -> StartedCall {
    CallFuture::ready(Outcome::from_writer(|json| json.extend_from_slice(result))).into()
}

/// Records a call that is refused before it is [answered](Server::answer).
pub(crate) fn record_refusal(mut call: Call, error: &ErrorObject) {
    if let Some(observation) = call.take_observation() {
        observation.end(&Outcome::error(error.clone()));
    }
}

/// The revision of the answer to an `initialize`.
pub(crate) fn negotiated(call: &Call, request: &Request) -> Result<Legacy, Fault> {
    let requested = string(call, request.protocol_version);
    let requested = requested.ok_or(Fault::Params("`protocolVersion` must be a string"))?;
    Ok(Legacy::parse(&requested).unwrap_or(Legacy::LATEST))
}

/// The level in a `logging/setLevel`. Only sessions and channels store it.
pub(crate) fn requested_level(call: &Call, request: &Request) -> Result<LogLevel, Fault> {
    let level = string(call, request.level).and_then(|level| LogLevel::parse(&level));
    level.ok_or(Fault::Params(
        "`level` must be debug, info, notice, warning, error, critical, alert or emergency",
    ))
}

/// The arguments of a request, which have been [converted](convert_arguments): an object, or nothing.
fn arguments(call: &Call, request: &Request) -> Result<Option<Part>, Fault> {
    match request.arguments {
        Some(part) if is_object(call, part) => Ok(Some(part.as_converted())),
        Some(part) if call.text(part) != b"null" => {
            Err(Fault::Params("`arguments` must be an object, or the JSON text of an object"))
        }
        _ => Ok(None),
    }
}

fn check_mirrored(tool: &Tool, headers: &HeaderMap, arguments: &[u8]) -> Result<(), Fault> {
    if tool.mirrored.is_empty() {
        return Ok(());
    }
    let arguments: Value = serde_json::from_slice(arguments).unwrap_or_default();
    tool.mirrored
        .iter()
        .try_for_each(|param| param.check(headers, &arguments))
        .map_err(Fault::HeaderMismatch)
}

/// MCP's methods at endpoints of plain JSON-RPC.
#[derive(Debug)]
struct McpMethods(Mcp);

impl ProtocolMethods for McpMethods {
    fn has(&self, method: &str) -> bool {
        matches!(
            method,
            method::INITIALIZE
                | method::SET_LEVEL
                | method::CANCELLED
                | method::INITIALIZED
                | method::PING
                | method::DISCOVER
                | method::TOOLS_CALL
                | method::TOOLS_LIST
                | method::RESOURCES_LIST
                | method::TEMPLATES_LIST
                | method::RESOURCES_READ
                | method::PROMPTS_LIST
                | method::PROMPTS_GET
                | method::COMPLETE
                | method::TASKS_GET
                | method::TASKS_UPDATE
                | method::TASKS_CANCEL
        )
    }

    fn call(&self, call: Call) -> CallFuture {
        match self.0.0.answer(call, Transport::JsonRpc, None).outcome {
            Ok(started) => started.future,
            Err(fault) => CallFuture::ready(Outcome::error(fault.error())),
        }
    }
}

impl fmt::Debug for Mcp {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Mcp").field("settings", &self.0.settings).finish_non_exhaustive()
    }
}
