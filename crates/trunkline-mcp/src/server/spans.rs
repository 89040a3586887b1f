//! Spans of requests. The span of a call of an operation is opened by the layers of the operation.

use std::sync::Arc;

use trunkline::protocol::CallFuture;
use trunkline::protocol::spans::Work;
use trunkline::{Call, Outcome};

use super::context::Context;
use super::{Server, StartedCall};
use crate::era::{Era, Transport};
use crate::fault::Fault;
use crate::protocol::{MODERN, method};
use crate::request::string;
use crate::spans::McpRequest;

impl Server {
    /// Dispatches a request in a span, or with the attributes of the span of its operation.
    pub(super) fn dispatch_in_span(
        self: &Arc<Self>,
        mut call: Call,
        context: Context<'_>,
    ) -> Result<StartedCall, Fault> {
        let Some(name) = method::known(&call.method()) else {
            // An operation, whose layers open the span.
            return self.dispatch(call, context);
        };
        let tool = (name == method::TOOLS_CALL).then(|| string(&call, context.request.name));
        let tool = tool.flatten().and_then(|tool| self.catalog.find_tool(&tool));
        let client = context.client_info(&call);
        let client = client.as_ref().map(|client| [client.name(), client.version()]);
        let request = McpRequest {
            method: name,
            client: client.map(|client| client.map(str::to_owned)),
            tool: tool.map(|tool| tool.name().to_owned()),
            version: match context.era {
                Era::Modern => MODERN,
                Era::Legacy => context.revision().as_str(),
            },
            session: match context.transport {
                Transport::Http(fields) => fields.session_id().map(digest_of),
                Transport::JsonRpc | Transport::Channel | Transport::Batch => None,
            },
            transport: match call.extensions().endpoint() {
                "mcp-stdio" | "stdio" => "pipe",
                "unix" => "unix",
                _ => "tcp",
            },
        };
        let id = call.id().map(|id| id.as_raw().to_owned());
        let parent = context.request.trace(&call).or_else(|| call.extensions().remote_trace());
        if calls_operation(name) {
            call.extensions_mut().insert(request.call_span());
            call.extensions_mut().insert(request.clone());
            let started = self.dispatch(call, context);
            if let Err(fault) = &started {
                request.begin(id.as_deref(), parent).fail_with_code(fault.error().code());
            }
            return started;
        }
        let work = request.begin(id.as_deref(), parent);
        match self.dispatch(call, context) {
            Ok(StartedCall { future, messages }) => {
                Ok(StartedCall { future: until_the_end(work, future), messages })
            }
            Err(fault) => {
                work.fail_with_code(fault.error().code());
                Err(fault)
            }
        }
    }
}

/// Ends the span with the outcome of a request, or when the request is cancelled.
fn until_the_end(work: Work, future: CallFuture) -> CallFuture {
    let end = |work: Work, outcome: &Outcome| {
        if let Some(code) = outcome.code() {
            work.fail_with_code(code);
        }
    };
    match future.into_outcome() {
        Ok(outcome) => {
            end(work, &outcome);
            CallFuture::ready(outcome)
        }
        Err(future) if work.is_enabled() => CallFuture::from_future(async move {
            let Ok(outcome) = future.await;
            end(work, &outcome);
            outcome
        }),
        Err(future) => future,
    }
}

/// A digest that identifies a session. Without tokens, the id itself would permit to use the session.
fn digest_of(session: &str) -> String {
    let digest = ring::digest::digest(&ring::digest::SHA256, session.as_bytes());
    digest.as_ref().iter().take(8).map(|byte| format!("{byte:02x}")).collect()
}

fn calls_operation(name: &str) -> bool {
    matches!(
        name,
        method::TOOLS_CALL | method::RESOURCES_READ | method::PROMPTS_GET | method::COMPLETE
    )
}
