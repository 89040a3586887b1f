//! Operations as tools.

mod arguments;
mod list;
mod result;

use std::collections::BTreeMap;
use std::sync::Arc;

use serde_json::{Value, json};
use trunkline::Schema;
use trunkline::protocol::{Description, Registered};
use trunkline::tool::Rendering;

pub(crate) use list::write_list;
pub(crate) use result::{failure, write_result};

use crate::param_headers::{self, InvalidParamHeader, ParamHeader};
use arguments::Arguments;

/// Tools by name, and in the order of their registration.
#[derive(Debug)]
pub(crate) struct Tools {
    tools: Vec<Arc<Tool>>,
    by_name: BTreeMap<String, Arc<Tool>>,
}

/// An operation that language models may call.
#[derive(Debug)]
pub(crate) struct Tool {
    operation: Arc<Registered>,
    input: Schema,
    arguments: Arguments,
    pub(crate) mirrored: Vec<ParamHeader>,
}

/// Why an operation cannot be offered as a tool.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum ToolError {
    /// Its input schema is none, or refers to what is not there.
    #[error("tool `{tool}`: its input schema cannot be used: {reason}")]
    Schema {
        /// The tool's name.
        tool: String,
        /// What is wrong.
        reason: String,
    },
    /// MCP wants arguments to be an object.
    #[error("tool `{tool}`: its input schema does not say \"type\": \"object\"")]
    NotAnObject {
        /// The tool's name.
        tool: String,
    },
    /// An `x-mcp-header` that clients would refuse the tool for (2026-07-28, "x-mcp-header").
    #[error("tool `{tool}`: `x-mcp-header` of `{param}` {reason}")]
    Header {
        /// The tool's name.
        tool: String,
        /// The param, as a path through the schema.
        param: String,
        /// What is wrong.
        reason: &'static str,
    },
}

impl FromIterator<Tool> for Tools {
    fn from_iter<T: IntoIterator<Item = Tool>>(tools: T) -> Self {
        let tools: Vec<_> = tools.into_iter().map(Arc::new).collect();
        let entry = |tool: &Arc<Tool>| (tool.name().to_owned(), Arc::clone(tool));
        Self { by_name: tools.iter().map(entry).collect(), tools }
    }
}

impl Tools {
    pub(crate) fn find(&self, name: &str) -> Option<&Arc<Tool>> {
        self.by_name.get(name)
    }

    pub(crate) fn iter(&self) -> impl Iterator<Item = &Tool> {
        self.tools.iter().map(|tool| &**tool)
    }
}

impl ToolError {
    /// Why a tool of this name and input schema could not be offered, for those who make tools of what
    /// they read; none if it can be.
    #[must_use]
    pub fn of(tool: &str, input: &Schema) -> Option<Self> {
        read(tool, input).err()
    }
}

/// What is read of an input schema.
fn read(tool: &str, input: &Schema) -> Result<(Arguments, Vec<ParamHeader>), ToolError> {
    if input.as_value().get("type").is_none_or(|kind| kind != "object") {
        return Err(ToolError::NotAnObject { tool: tool.to_owned() });
    }
    let arguments = Arguments::of(input)
        .map_err(|reason| ToolError::Schema { tool: tool.to_owned(), reason })?;
    let mirrored =
        param_headers::find(input.as_value()).map_err(|InvalidParamHeader { param, reason }| {
            ToolError::Header { tool: tool.to_owned(), param, reason }
        })?;
    Ok((arguments, mirrored))
}

impl Tool {
    /// The tool that the operation is, if it is one.
    pub(crate) fn of(operation: &Arc<Registered>) -> Option<Result<Self, ToolError>> {
        let description = operation.description();
        let name = description.tool.as_deref()?;
        let input = description.input.clone().unwrap_or_else(|| undeclared(description));
        let operation = Arc::clone(operation);
        Some(read(name, &input).map(|(arguments, mirrored)| Self {
            operation,
            input,
            arguments,
            mirrored,
        }))
    }

    pub(crate) fn name(&self) -> &str {
        self.description().tool.as_deref().unwrap_or_default()
    }

    pub(crate) fn description(&self) -> &Description {
        self.operation.description()
    }

    pub(crate) fn operation(&self) -> Arc<Registered> {
        Arc::clone(&self.operation)
    }

    pub(crate) fn rendering(&self) -> Rendering {
        Rendering::of(self.description())
    }

    /// What is wrong with the JSON text of arguments, worded for a model.
    pub(crate) fn check(&self, arguments: &[u8]) -> Result<(), String> {
        self.arguments.check(self.name(), arguments)
    }
}

/// The input schema of an operation that declares none: the names of its params.
fn undeclared(description: &Description) -> Schema {
    let properties = description.params.iter().map(|name| ((*name).to_owned(), json!({})));
    let properties: serde_json::Map<String, Value> = properties.collect();
    let mut schema = json!({ "type": "object" });
    if !properties.is_empty() {
        schema["properties"] = properties.into();
    }
    schema.into()
}
