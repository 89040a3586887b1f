//! Operations as tools.

mod list;
mod portable;
mod representation;
mod result;

use std::collections::BTreeMap;
use std::sync::Arc;

use serde_json::{Map, Value, json};
use trunkline::Schema;
use trunkline::protocol::{Description, RegisteredOperation};
use trunkline::tool::{Rendering, is_listed};

pub use list::model_input;
pub(crate) use list::{Form, list_entry};
pub(crate) use representation::Representations;
pub use representation::{ClientResults, Results};
pub(crate) use result::{error_text, failure, write_members, write_result};

use crate::arguments::Arguments;
use crate::model::Icon;
use crate::name::shortened;
use crate::param_headers::{self, InvalidParamHeader, ParamHeader};
use crate::task::TaskSupport;

/// Tools by name, and in the order of their registration.
#[derive(Debug, Default)]
pub(crate) struct Tools {
    tools: Vec<Arc<Tool>>,
    /// Those that lists contain by another name have both.
    by_name: BTreeMap<String, Arc<Tool>>,
}

/// An operation that language models may call.
#[derive(Debug)]
pub(crate) struct Tool {
    operation: Arc<RegisteredOperation>,
    /// The name in lists, if it is not the name itself.
    short_name: Option<String>,
    input: Schema,
    arguments: Arguments,
    pub(crate) mirrored: Vec<ParamHeader>,
}

/// The icons of a tool. An extension of the description of its operation.
#[derive(Debug)]
pub(crate) struct ToolIcons(pub(crate) Vec<Icon>);

/// `_meta` of a tool. An extension of the description of its operation.
#[derive(Debug)]
pub(crate) struct ToolMeta(pub(crate) Map<String, Value>);

/// Marks a tool whose schemas lists contain unchanged. An extension of the description of its operation.
#[derive(Debug)]
pub(crate) struct ExactSchemas;

/// The reason why an operation cannot be offered as a tool.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum ToolError {
    /// The input schema is invalid.
    #[error("tool `{tool}`: invalid input schema: {reason}")]
    Schema {
        /// The tool's name.
        tool: String,
        /// The reason.
        reason: String,
    },
    /// The input schema is not that of an object, which MCP requires.
    #[error("tool `{tool}`: the input schema must have \"type\": \"object\"")]
    NotAnObject {
        /// The tool's name.
        tool: String,
    },
    /// An invalid `x-mcp-header`, for which clients refuse the tool (2026-07-28, "x-mcp-header").
    #[error("tool `{tool}`: `x-mcp-header` of `{param}` {reason}")]
    Header {
        /// The tool's name.
        tool: String,
        /// The param, as a path through the schema.
        param: String,
        /// The reason.
        reason: &'static str,
    },
}

impl Tools {
    /// Tools. Those that lists cannot contain, since another one has their name there, are logged. `is_taken` is whether a
    /// tool elsewhere has a name.
    pub(crate) fn new(
        tools: impl IntoIterator<Item = Tool>,
        is_taken: impl Fn(&str) -> bool,
    ) -> Self {
        let tools: Vec<_> = tools.into_iter().map(Arc::new).collect();
        let entry = |tool: &Arc<Tool>| (tool.name().to_owned(), Arc::clone(tool));
        let mut all = Self { by_name: tools.iter().map(entry).collect(), ..Self::default() };
        for tool in tools {
            let name = tool.listed_name();
            let is_own = |other: &Tool| other.name() == tool.name();
            let is_other = all.find(name).is_some_and(|other| !is_own(other));
            if is_other || is_taken(name) {
                let tool = tool.name();
                tracing::warn!("tool `{tool}` is not listed: another tool has the name `{name}`");
                continue;
            }
            if let Some(name) = &tool.short_name {
                all.by_name.insert(name.clone(), Arc::clone(&tool));
            }
            all.tools.push(tool);
        }
        all
    }

    /// The tool of a name, or of a name in lists.
    pub(crate) fn find(&self, name: &str) -> Option<&Arc<Tool>> {
        self.by_name.get(name)
    }

    /// Whether calls of a tool become tasks.
    pub(crate) fn has_tasks(&self) -> bool {
        self.tools.iter().any(|tool| tool.task_support().is_some())
    }

    /// The names that lists contain in a short form, and this form.
    pub(crate) fn shortened(&self) -> impl Iterator<Item = (&str, &str)> {
        self.listed().filter_map(|tool| Some((tool.name(), tool.short_name.as_deref()?)))
    }

    /// The tools that lists contain.
    pub(crate) fn listed(&self) -> impl Iterator<Item = &Tool> {
        self.tools.iter().map(|tool| &**tool).filter(|tool| is_listed(tool.description()))
    }
}

impl ToolError {
    /// The error of a tool with this name and input schema, or none if it can be offered. For programs that build
    /// tools from files.
    #[must_use]
    pub fn of(tool: &str, input: &Schema) -> Option<Self> {
        read(tool, input).err()
    }
}

/// Compiles an input schema.
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
    /// The tool of an operation, if it has one. Lists contain names of at most `max_name` characters.
    pub(crate) fn of(
        operation: &Arc<RegisteredOperation>,
        max_name: usize,
    ) -> Option<Result<Self, ToolError>> {
        let description = operation.description();
        let name = description.tool.as_deref()?;
        let input = description.input.clone().unwrap_or_else(|| schema_of_names(description));
        let operation = Arc::clone(operation);
        let short_name = shortened(name, max_name);
        Some(read(name, &input).map(|(arguments, mirrored)| Self {
            operation,
            short_name,
            input,
            arguments,
            mirrored,
        }))
    }

    pub(crate) fn name(&self) -> &str {
        self.description().tool.as_deref().unwrap_or_default()
    }

    /// The name in lists.
    pub(crate) fn listed_name(&self) -> &str {
        self.short_name.as_deref().unwrap_or_else(|| self.name())
    }

    pub(crate) fn description(&self) -> &Description {
        self.operation.description()
    }

    pub(crate) fn operation(&self) -> Arc<RegisteredOperation> {
        Arc::clone(&self.operation)
    }

    /// Whether its calls become tasks. `None` if they do not.
    pub(crate) fn task_support(&self) -> Option<TaskSupport> {
        self.description().extensions.get().copied()
    }

    pub(crate) fn rendering(&self) -> Rendering {
        Rendering::of(self.description())
    }

    /// Checks the JSON text of arguments. The error is a message for a model.
    pub(crate) fn check(&self, arguments: &[u8]) -> Result<(), String> {
        self.arguments.check(self.listed_name(), arguments)
    }
}

/// The input schema of an operation that declares none: the names of its params.
fn schema_of_names(description: &Description) -> Schema {
    let properties = description.params.iter().map(|name| ((*name).to_owned(), json!({})));
    let properties: Map<String, Value> = properties.collect();
    let mut schema = json!({ "type": "object" });
    if !properties.is_empty() {
        schema["properties"] = properties.into();
    }
    schema.into()
}
