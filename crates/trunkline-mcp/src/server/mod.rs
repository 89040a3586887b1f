//! The protocol's methods: which era a request is of, and what it is answered.

mod offer;
mod texts;

use std::convert::identity;
use std::fmt;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::Arc;

use bytes::Bytes;
use http::HeaderMap;
use serde_json::{Map, Value};
use trunkline::protocol::{CallFuture, Projection};
use trunkline::{Call, ErrorObject, Outcome, Rpc, code};

use crate::audience::Audience;
use crate::capabilities::ClientCapabilities;
use crate::config::McpConfig;
use crate::era::{self, Era, Way};
use crate::fault::Fault;
use crate::log_level::LogLevel;
use crate::notify::{Outlet, Wanted};
use crate::protocol::error_code::MISSING_CAPABILITY;
use crate::protocol::{Legacy, method};
use crate::request::{Request, is_object, string};
use crate::tool::{self, Tool, ToolError};
use offer::Offer;
use texts::Texts;

/// The operations of an [`Rpc`] as an MCP server. Cloning is cheap.
#[derive(Clone)]
pub struct Mcp(pub(crate) Arc<Server>);

pub(crate) struct Server {
    pub(crate) rpc: Rpc,
    pub(crate) settings: McpConfig,
    /// Clients that have a channel of their own.
    pub(crate) audience: Audience,
    offer: Offer,
    texts: Texts,
}

/// What a message is answered.
pub(crate) struct Answer {
    /// Whether the request is of the stateless era.
    pub(crate) modern: bool,
    pub(crate) outcome: Result<Begun, Fault>,
}

/// A call that runs.
pub(crate) struct Begun {
    pub(crate) future: CallFuture,
    /// Where it may tell its client something before it ends.
    pub(crate) outlet: Option<Arc<Outlet>>,
}

impl From<CallFuture> for Begun {
    fn from(future: CallFuture) -> Self {
        Self { future, outlet: None }
    }
}

impl Mcp {
    /// Makes a server of a service's operations. Those that [come and go](trunkline::DynamicOperations) do so here,
    /// too: clients of stdio and of HTTP+SSE are told, others ask again.
    ///
    /// # Errors
    /// The first tool that cannot be offered, and why. One that may go is left out of the lists, and the
    /// log says so.
    pub fn new(rpc: Rpc, settings: McpConfig) -> Result<Self, ToolError> {
        let texts = Texts::new(&settings);
        let offer = Offer::new(&rpc, &texts)?;
        let audience = Audience::default();
        let server = Arc::new(Server { rpc, settings, audience, offer, texts });
        if server.rpc.is_changing() {
            let listener = Arc::downgrade(&server);
            server.rpc.on_change(move || {
                if let Some(server) = listener.upgrade() {
                    server.renew();
                }
            });
            // What has changed before somebody listened.
            server.renew();
        }
        Ok(Self(server))
    }

    /// The service, with MCP's methods besides its operations: for doors of plain JSON-RPC. An unknown
    /// tool is -32001 there.
    #[must_use]
    pub fn rpc(&self) -> Rpc {
        self.0.rpc.clone().projected(Arc::new(Guest(self.clone())))
    }

    /// The names of the tools that there are at the moment, in the order of their registration.
    #[must_use]
    pub fn tools(&self) -> Vec<String> {
        self.0.offer.names()
    }
}

impl Server {
    fn renew(&self) {
        self.offer.renew(&self.rpc, &self.texts);
        self.audience.tell();
    }

    /// Answers one message. Nothing of it has been run when this returns a fault.
    pub(crate) fn answer(&self, mut call: Call, way: Way<'_>) -> Answer {
        let recording = call.take_recording();
        let Answer { modern, outcome } = self.begin(call, way);
        let outcome = match (outcome, recording) {
            (Ok(begun), Some(recording)) => {
                Ok(Begun { future: recording.follow(begun.future), ..begun })
            }
            (Err(fault), Some(recording)) => {
                recording.end(&Outcome::error(fault.error()));
                Err(fault)
            }
            (outcome, None) => outcome,
        };
        Answer { modern, outcome }
    }

    fn begin(&self, call: Call, way: Way<'_>) -> Answer {
        let request = match Request::of(&call) {
            Ok(request) => request,
            Err(fault) => return Answer { modern: era::is_announced(way), outcome: Err(fault) },
        };
        match era::of(&call, &request, way) {
            Ok(era) => {
                let modern = era == Era::Modern;
                Answer { modern, outcome: self.dispatch(call, &request, era, way) }
            }
            // What is refused here has one status in both eras.
            Err(fault) => Answer { modern: true, outcome: Err(fault) },
        }
    }

    fn dispatch(
        &self,
        call: Call,
        request: &Request,
        era: Era,
        way: Way<'_>,
    ) -> Result<Begun, Fault> {
        // The method of nearly all requests.
        if call.has_method(method::TOOLS_CALL) && !call.is_notification() {
            return self.call_tool(call, request, era, way);
        }
        let method = call.method();
        match (call.is_notification(), way) {
            (true, _) if method.starts_with("notifications/") => return Ok(ready(b"{}")),
            // Any method of JSON-RPC may be a notification.
            (false, _) | (true, Way::Plain) => {}
            // What runs something is a request: guards before this server go by what requests say.
            (true, Way::Http(_) | Way::Channel(_) | Way::Batch) => {
                return Err(Fault::Request("this method is no notification: send it with an id"));
            }
        }
        match (&*method, era) {
            (method::TOOLS_CALL, _) => {
                drop(method);
                self.call_tool(call, request, era, way)
            }
            (method::TOOLS_LIST, _) => self.list_tools(&call, request, era),
            (method::DISCOVER, Era::Modern) => Ok(ready(&self.texts.discover)),
            (method::INITIALIZE, Era::Legacy) => {
                let version = negotiated(&call, request)?;
                let tells_of_tools = matches!(way, Way::Channel(_)) && self.rpc.is_changing();
                Ok(ready(self.texts.initialize(version, tells_of_tools).as_bytes()))
            }
            (method::PING, Era::Legacy) => Ok(ready(b"{}")),
            (method::SET_LEVEL, Era::Legacy) => {
                wanted_level(&call, request)?;
                Ok(ready(b"{}"))
            }
            // Results of the stateless era have members that those of operations have not.
            (_, Era::Legacy) if call.operation().is_some() => {
                drop(method);
                Ok(self.rpc.run(call).map(identity).into())
            }
            (name, _) => Err(Fault::UnknownMethod(name.to_owned())),
        }
    }

    fn list_tools(&self, call: &Call, request: &Request, era: Era) -> Result<Begun, Fault> {
        let cursor = request.cursor;
        // One page holds them all, so no cursor was given out.
        if cursor.is_some_and(|cursor| call.text(cursor) != b"null") {
            return Err(Fault::Params("the cursor is none of this server's; leave it out"));
        }
        Ok(ready(&self.offer.list(era)))
    }

    fn call_tool(
        &self,
        mut call: Call,
        request: &Request,
        era: Era,
        way: Way<'_>,
    ) -> Result<Begun, Fault> {
        let tool = self.find_tool(&call, request, way)?;
        let arguments = match request.arguments {
            Some(part) if is_object(&call, part) => Some(part),
            Some(part) if call.text(part) != b"null" => {
                return Err(Fault::Params("arguments is an object"));
            }
            _ => None,
        };
        let text = arguments.map_or(Bytes::from_static(b"{}"), |part| call.bytes(part));
        if let (Era::Modern, Way::Http(fields)) = (era, way) {
            check_mirrored(&tool, fields.all, &text)?;
        }
        if let Err(reason) = tool.check(&text) {
            let call = call.redirected(tool.operation(), arguments);
            return Ok(self.refuse(call, era, reason));
        }
        if era == Era::Modern {
            declare_capabilities(&mut call, request);
        }
        let outlet = match way {
            Way::Http(fields) => {
                Wanted::of(&call, request, era, LogLevel::Info).filter(|_| fields.accepts_events())
            }
            Way::Channel(level) => Wanted::of(&call, request, era, level),
            Way::Plain | Way::Batch => None,
        };
        let outlet = outlet.map(|wanted| wanted.open(&mut call));
        let tail = self.texts.tail(era);
        let future = self.rpc.run(call.redirected(tool.operation(), arguments));
        let future = future.map(move |outcome| {
            if is_protocol_error(&outcome, era) {
                return outcome;
            }
            let modern = era == Era::Modern;
            let write = |json: &mut Vec<u8>| {
                tool::write_result(json, &outcome, tool.rendering(), &text, modern);
            };
            // The words are the operation's own, and written outside of its layers.
            catch_unwind(AssertUnwindSafe(|| written(era, &tail, write))).unwrap_or_else(|_| {
                Outcome::error(ErrorObject::internal(&"the rendering of an outcome panicked"))
            })
        });
        Ok(Begun { future, outlet })
    }

    /// Tells a model what is wrong with its arguments. All that looks at calls sees one of the tool, and may
    /// refuse it before.
    fn refuse(&self, call: Call, era: Era, reason: String) -> Begun {
        let tail = self.texts.tail(era);
        let future = self.rpc.run(call.refused(ErrorObject::invalid_params(&reason)));
        let future = future.map(move |outcome| {
            if is_protocol_error(&outcome, era) {
                return outcome;
            }
            written(era, &tail, |json| tool::failure(json, &reason))
        });
        future.into()
    }

    fn find_tool(&self, call: &Call, request: &Request, way: Way<'_>) -> Result<Arc<Tool>, Fault> {
        let name = string(call, request.name);
        let name = name.ok_or(Fault::Params("name is missing, or no string: which tool?"))?;
        let code = match way {
            Way::Plain => code::TOOL_NOT_FOUND,
            Way::Http(_) | Way::Channel(_) | Way::Batch => code::INVALID_PARAMS,
        };
        self.offer.find(&name).ok_or_else(|| Fault::UnknownTool { name: name.into_owned(), code })
    }
}

/// Whether an outcome is no result of a tool.
fn is_protocol_error(outcome: &Outcome, era: Era) -> bool {
    match outcome.code() {
        Some(MISSING_CAPABILITY) => era == Era::Modern,
        // A model could do nothing about it; its host can.
        Some(code::UNAUTHENTICATED | code::FORBIDDEN | code::RATE_LIMITED) => true,
        _ => false,
    }
}

/// A result whose members `write` appends, between those that all results of an era have.
fn written(era: Era, tail: &Bytes, write: impl FnOnce(&mut Vec<u8>)) -> Outcome {
    Outcome::written(|json| {
        json.extend_from_slice(match era {
            Era::Modern => b"{\"resultType\":\"complete\",".as_slice(),
            Era::Legacy => b"{",
        });
        write(json);
        json.extend_from_slice(tail);
    })
}

fn ready(result: &[u8]) -> Begun {
    CallFuture::ready(Outcome::written(|json| json.extend_from_slice(result))).into()
}

/// Tells the history of a call that is refused before it is [answered](Server::answer).
pub(crate) fn record_refusal(mut call: Call, error: &ErrorObject) {
    if let Some(recording) = call.take_recording() {
        recording.end(&Outcome::error(error.clone()));
    }
}

/// The revision that an `initialize` is answered with.
pub(crate) fn negotiated(call: &Call, request: &Request) -> Result<Legacy, Fault> {
    let wanted = string(call, request.protocol_version);
    let wanted = wanted.ok_or(Fault::Params("protocolVersion is missing, or no string"))?;
    Ok(Legacy::parse(&wanted).unwrap_or(Legacy::LATEST))
}

/// The level that a `logging/setLevel` asks for. Where there is no session it is not kept.
pub(crate) fn wanted_level(call: &Call, request: &Request) -> Result<LogLevel, Fault> {
    let level = string(call, request.level).and_then(|level| LogLevel::parse(&level));
    level.ok_or(Fault::Params(
        "level is one of debug, info, notice, warning, error, critical, alert, emergency",
    ))
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

/// Tells handlers what the client can do; most clients declare nothing.
fn declare_capabilities(call: &mut Call, request: &Request) {
    let declared = request.meta.client_capabilities.map(|part| call.text(part));
    let Some(declared) = declared.filter(|text| *text != b"{}") else {
        return;
    };
    let capabilities: Map<String, Value> = serde_json::from_slice(declared).unwrap_or_default();
    call.extensions_mut().insert(ClientCapabilities(capabilities));
}

/// MCP's methods at doors of JSON-RPC.
#[derive(Debug)]
struct Guest(Mcp);

impl Projection for Guest {
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
        )
    }

    fn call(&self, call: Call) -> CallFuture {
        match self.0.0.answer(call, Way::Plain).outcome {
            Ok(begun) => begun.future,
            Err(fault) => CallFuture::ready(Outcome::error(fault.error())),
        }
    }
}

impl fmt::Debug for Mcp {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Mcp").field("settings", &self.0.settings).finish_non_exhaustive()
    }
}
