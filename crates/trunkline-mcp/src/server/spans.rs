//! Spans of requests. The span of a call of an operation is opened by the layers of the operation.

use std::sync::Arc;

use trunkline::Call;
use trunkline::protocol::spans::{self, McpRequest};

use super::context::Context;
use super::{Server, StartedCall};
use crate::era::{Era, Transport};
use crate::fault::Fault;
use crate::protocol::{MODERN, method};
use crate::request::string;

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
        let request = McpRequest {
            method: name,
            tool: tool.map(|tool| tool.name().to_owned()),
            version: match context.era {
                Era::Modern => MODERN,
                Era::Legacy => context.revision().as_str(),
            },
            session: match context.transport {
                Transport::Http(fields) => fields.session_id().map(str::to_owned),
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
        let open = |request: &McpRequest| spans::mcp(request, id.as_deref(), parent);
        if calls_operation(name) {
            call.extensions_mut().insert(request.clone());
            let started = self.dispatch(call, context);
            if let Err(fault) = &started {
                open(&request).fail_with_code(fault.error().code());
            }
            return started;
        }
        let work = open(&request);
        let started = self.dispatch(call, context);
        if let Err(fault) = &started {
            work.fail_with_code(fault.error().code());
        }
        started
    }
}

fn calls_operation(name: &str) -> bool {
    matches!(
        name,
        method::TOOLS_CALL | method::RESOURCES_READ | method::PROMPTS_GET | method::COMPLETE
    )
}
