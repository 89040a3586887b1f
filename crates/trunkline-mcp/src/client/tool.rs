use futures_util::Stream;
use http::HeaderMap;
use serde_json::value::RawValue;

use super::client::Client;
use super::connection::RequestParts;
use super::error::Error;
use super::input::{self, Outcome};
use super::list::{Item, List};
use super::message::Params;
use super::options::CallOptions;
use super::server_task::Task;
use crate::model::{Received, Tool, ToolResult};
use crate::param_headers::{self, InvalidParamHeader, ParamHeader};
use crate::protocol::error_code::HEADER_MISMATCH;
use crate::protocol::method;

/// The result of a tool, or the task that will have it.
#[derive(Debug)]
pub enum StartedTool {
    /// The result.
    Complete(Received<ToolResult>),
    /// The task.
    Task(Task),
}

impl Client {
    /// Lists all tools.
    ///
    /// Tools whose `x-mcp-header` is invalid are rejected, since servers of 2026-07-28 must be sent these headers over
    /// HTTP ("Custom Headers from Tool Parameters").
    ///
    /// # Errors
    /// When a request fails, a page is malformed, or the list is too long.
    pub async fn list_tools(&self) -> Result<List<Received<Tool>>, Error> {
        self.list().await
    }

    /// The tools, page by page.
    pub fn tool_pages(
        &self,
    ) -> impl Stream<Item = Result<List<Received<Tool>>, Error>> + Send + use<> {
        self.pages()
    }

    /// Calls a tool. `arguments` is an object. If the call becomes a task of the server, waits for its result.
    ///
    /// # Errors
    /// When the request fails, its result is malformed, or the server requires input that the handler does not provide.
    /// A tool that fails has a result with [`is_error`](ToolResult::is_error).
    ///
    /// # Cancel safety
    /// Dropping the future cancels the call, or its task. The tool may have run.
    pub async fn call_tool(
        &self,
        tool: &Received<Tool>,
        arguments: &RawValue,
    ) -> Result<Received<ToolResult>, Error> {
        self.call_tool_with(tool, arguments, CallOptions::default()).await
    }

    /// Like [`call_tool`](Self::call_tool), with options.
    ///
    /// # Errors
    /// As for [`call_tool`](Self::call_tool).
    pub async fn call_tool_with(
        &self,
        tool: &Received<Tool>,
        arguments: &RawValue,
        options: CallOptions,
    ) -> Result<Received<ToolResult>, Error> {
        let callback = options.task.clone();
        match Box::pin(self.start_tool(tool, arguments, options)).await? {
            StartedTool::Complete(result) => Ok(result),
            StartedTool::Task(task) => Box::pin(task.wait_or_cancel(callback)).await,
        }
    }

    /// Calls a tool. If the call becomes a task of the server, returns the task.
    ///
    /// # Errors
    /// As for [`call_tool`](Self::call_tool).
    pub async fn start_tool(
        &self,
        tool: &Received<Tool>,
        arguments: &RawValue,
        options: CallOptions,
    ) -> Result<StartedTool, Error> {
        const METHOD: &str = method::TOOLS_CALL;
        let params =
            Params { name: Some(&tool.name), arguments: Some(arguments), ..Params::default() };
        let headers = mirrored(tool, arguments);
        let hints = [tool.annotations.read_only_hint, tool.annotations.idempotent_hint];
        let is_repeatable = hints.contains(&Some(true));
        let mut parts = RequestParts { params, headers, options, level: None, is_repeatable };
        let first = input::request_or_task(&self.core, METHOD, &mut parts).await;
        let outcome = match first {
            // The schema may have changed ("Client Behavior").
            Err(error) if error.code() == Some(HEADER_MISMATCH) => {
                self.core.inbox().cache.remove(method::TOOLS_LIST);
                let tools = self.list_tools().await?.items;
                let Some(known) = tools.iter().find(|known| known.name == tool.name) else {
                    return Err(error);
                };
                parts.headers = mirrored(known, arguments);
                input::request_or_task(&self.core, METHOD, &mut parts).await?
            }
            first => first?,
        };
        Ok(match outcome {
            Outcome::Complete(result, _) => {
                let result =
                    Received::read(result).map_err(|error| Error::malformed(METHOD, error));
                StartedTool::Complete(result?)
            }
            Outcome::Task(created) => {
                StartedTool::Task(Task::created(self, created, parts.options.handler)?)
            }
        })
    }
}

/// The headers that repeat arguments.
fn mirrored(tool: &Received<Tool>, arguments: &RawValue) -> HeaderMap {
    let mut headers = HeaderMap::new();
    for param in param_headers(tool).iter().flatten() {
        if let Some(value) = param.value(arguments) {
            headers.insert(param.name(), value);
        }
    }
    headers
}

/// The params that headers repeat. Few tools have any.
fn param_headers(tool: &Tool) -> Result<Vec<ParamHeader>, InvalidParamHeader> {
    let schema = tool.input_schema.get();
    if !schema.contains(param_headers::KEYWORD) {
        return Ok(Vec::new());
    }
    param_headers::find(&serde_json::from_str(schema).unwrap_or_default())
}

impl Item for Tool {
    const METHOD: &'static str = method::TOOLS_LIST;
    const MEMBER: &'static str = "tools";
    const NAME: &'static str = "name";

    fn check(&self, is_stateless: bool) -> Result<(), String> {
        // Only the stateless era repeats arguments in headers.
        match param_headers(self) {
            Err(error) if is_stateless => Err(error.to_string()),
            _ => Ok(()),
        }
    }
}
