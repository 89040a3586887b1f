use futures_util::Stream;
use http::HeaderMap;
use serde::Deserialize;
use serde_json::Value;
use serde_json::value::RawValue;

use super::client::Client;
use super::connection::{CallOptions, RequestParts};
use super::error::Error;
use super::input::{self, Outcome};
use super::list::{Item, List, name_of};
use super::message::Params;
use super::server_task::Task;
use super::tool_result::ToolResult;
use crate::param_headers::{self, InvalidParamHeader, ParamHeader};
use crate::protocol::error_code::HEADER_MISMATCH;
use crate::protocol::method;

/// A tool of a server. Its texts and hints are the server's, and not trusted.
#[derive(Debug, Clone)]
#[non_exhaustive]
pub struct Tool {
    /// The name that calls use.
    pub name: String,
    /// The title for display.
    pub title: Option<String>,
    /// The description, or the title if it is missing.
    pub description: String,
    /// The hint that the tool changes nothing.
    pub is_read_only: Option<bool>,
    /// The hint that the tool may delete or overwrite something.
    pub is_destructive: Option<bool>,
    /// The hint that a repeated call has no further effect.
    pub is_idempotent: Option<bool>,
    /// The hint that the tool uses external systems.
    pub is_open_world: Option<bool>,
    /// The JSON Schema of the arguments, as received. References are not fetched.
    pub input_schema: Box<RawValue>,
    /// The JSON Schema of the structured content, as received. Results are not checked.
    pub output_schema: Option<Box<RawValue>>,
    /// The whole object, as received.
    pub object: Box<RawValue>,
    param_headers: Result<Vec<ParamHeader>, InvalidParamHeader>,
}

/// The result of a tool, or the task that will have it.
#[derive(Debug)]
pub enum StartedTool {
    /// The result.
    Complete(ToolResult),
    /// The task.
    Task(Task),
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct ToolMembers {
    name: String,
    title: Option<String>,
    description: Option<String>,
    input_schema: Box<RawValue>,
    output_schema: Option<Box<RawValue>>,
    annotations: Option<Annotations>,
}

#[derive(Deserialize, Default)]
#[serde(rename_all = "camelCase")]
struct Annotations {
    title: Option<String>,
    read_only_hint: Option<bool>,
    destructive_hint: Option<bool>,
    idempotent_hint: Option<bool>,
    open_world_hint: Option<bool>,
}

impl Client {
    /// Lists all tools.
    ///
    /// Tools whose `x-mcp-header` is invalid are rejected, since servers of 2026-07-28 must be sent these headers over
    /// HTTP ("Custom Headers from Tool Parameters").
    ///
    /// # Errors
    /// When a request fails, a page is malformed, or the list is too long.
    pub async fn list_tools(&self) -> Result<List<Tool>, Error> {
        self.list().await
    }

    /// The tools, page by page.
    pub fn tool_pages(&self) -> impl Stream<Item = Result<List<Tool>, Error>> + Send + use<> {
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
    pub async fn call_tool(&self, tool: &Tool, arguments: &RawValue) -> Result<ToolResult, Error> {
        self.call_tool_with(tool, arguments, CallOptions::default()).await
    }

    /// Like [`call_tool`](Self::call_tool), with options.
    ///
    /// # Errors
    /// As for [`call_tool`](Self::call_tool).
    pub async fn call_tool_with(
        &self,
        tool: &Tool,
        arguments: &RawValue,
        options: CallOptions,
    ) -> Result<ToolResult, Error> {
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
        tool: &Tool,
        arguments: &RawValue,
        options: CallOptions,
    ) -> Result<StartedTool, Error> {
        const METHOD: &str = method::TOOLS_CALL;
        let params =
            Params { name: Some(&tool.name), arguments: Some(arguments), ..Params::default() };
        let headers = tool.headers(arguments);
        let mut parts = RequestParts { params, headers, options, level: None };
        let first = input::request_or_task(&self.core, METHOD, &mut parts).await;
        let outcome = match first {
            // The schema may have changed ("Client Behavior").
            Err(error) if error.code() == Some(HEADER_MISMATCH) => {
                self.core.inbox().cache.remove(method::TOOLS_LIST);
                let tools = self.list_tools().await?.items;
                let Some(known) = tools.iter().find(|known| known.name == tool.name) else {
                    return Err(error);
                };
                parts.headers = known.headers(arguments);
                input::request_or_task(&self.core, METHOD, &mut parts).await?
            }
            first => first?,
        };
        Ok(match outcome {
            Outcome::Complete(result, _) => StartedTool::Complete(ToolResult::read(result)?),
            Outcome::Task(created) => {
                StartedTool::Task(Task::created(self, created, parts.options.handler)?)
            }
        })
    }
}

impl Tool {
    /// The headers that repeat arguments.
    fn headers(&self, arguments: &RawValue) -> HeaderMap {
        let mut headers = HeaderMap::new();
        for param in self.param_headers.iter().flatten() {
            if let Some(value) = param.value(arguments) {
                headers.insert(param.name(), value);
            }
        }
        headers
    }

    fn parse(object: Box<RawValue>) -> Result<Self, serde_json::Error> {
        let members: ToolMembers = serde_json::from_str(object.get())?;
        let schema: Value = serde_json::from_str(members.input_schema.get())?;
        let annotations = members.annotations.unwrap_or_default();
        let title = members.title.or(annotations.title);
        Ok(Self {
            name: members.name,
            description: members.description.or_else(|| title.clone()).unwrap_or_default(),
            title,
            is_read_only: annotations.read_only_hint,
            is_destructive: annotations.destructive_hint,
            is_idempotent: annotations.idempotent_hint,
            is_open_world: annotations.open_world_hint,
            input_schema: members.input_schema,
            output_schema: members.output_schema,
            object,
            param_headers: param_headers::find(&schema),
        })
    }
}

impl Item for Tool {
    const METHOD: &'static str = method::TOOLS_LIST;
    const MEMBER: &'static str = "tools";

    fn read(object: Box<RawValue>, is_strict: bool) -> Result<Self, (String, String)> {
        let name = name_of(&object, "name");
        let tool = Self::parse(object).map_err(|error| (name, error.to_string()))?;
        match &tool.param_headers {
            // Only the stateless era repeats arguments in headers.
            Err(error) if is_strict => Err((tool.name, error.to_string())),
            _ => Ok(tool),
        }
    }
}
