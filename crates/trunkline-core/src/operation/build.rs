//! Validation of registrations.

use std::collections::HashMap;
use std::panic::Location;

use super::Operation;
use crate::call::RegisteredOperation;
use crate::limits::LimitError;

/// The source location of a registration, displayed as `file:line:column`.
pub type SourceLocation = &'static Location<'static>;

/// The reason why a router cannot be built. Locations are displayed as `file:line:column`.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum BuildError {
    /// Two operations have the same name.
    #[error("method `{name}` is registered twice: at {first} and at {second}")]
    Duplicate {
        /// The name.
        name: String,
        /// The earlier registration.
        first: &'static Location<'static>,
        /// The later one.
        second: &'static Location<'static>,
    },
    /// Names that begin with `rpc.` are reserved (JSON-RPC 2.0, section 8).
    #[error("method `{name}`, registered at {location}, begins with `rpc.`, which is reserved")]
    Reserved {
        /// The name.
        name: String,
        /// The registration.
        location: &'static Location<'static>,
    },
    /// The pattern of a layer matches no method that was registered before the layer.
    #[error("no method registered before {location} matches the pattern `{pattern}` of this layer")]
    UnmatchedLayer {
        /// The pattern.
        pattern: String,
        /// The location of the layer.
        location: &'static Location<'static>,
    },
    /// The pattern of a rule of `Router::authorize` matches no method.
    #[error("no method matches the pattern `{pattern}` of the rules given at {location}")]
    UnmatchedRule {
        /// The pattern.
        pattern: String,
        /// The location of the rules.
        location: &'static Location<'static>,
    },
    /// The name of a method is the one that metrics use for unknown methods.
    #[error(
        "method `{name}`, registered at {location}, has the name that metrics use for unknown methods"
    )]
    ReservedMetricName {
        /// The name.
        name: String,
        /// The registration.
        location: &'static Location<'static>,
    },
    /// Two params of an operation have the same name.
    #[error("method `{name}`, registered at {location}, declares the param `{param}` twice")]
    DuplicateParam {
        /// The name of the method.
        name: String,
        /// The name of the param.
        param: &'static str,
        /// The registration.
        location: &'static Location<'static>,
    },
    /// Two operations have the same tool name.
    #[error(
        "tool `{tool}` is used by method `{first}` and method `{second}`, registered at {location}"
    )]
    DuplicateTool {
        /// The name of the tool.
        tool: String,
        /// The method that was registered first.
        first: String,
        /// The method that was registered later.
        second: String,
        /// The later registration.
        location: &'static Location<'static>,
    },
    /// A tool name is invalid (MCP, "Tool Names").
    #[error(
        "invalid tool name `{tool}`, registered at {location}: expected 1 to 128 of the characters A-Z a-z 0-9 _ - ."
    )]
    ToolName {
        /// The name of the tool.
        tool: String,
        /// The registration.
        location: &'static Location<'static>,
    },
    /// The same dynamic operations were added more than once, to this router or to another.
    #[error(
        "the dynamic operations added under `{namespace}` at {location} are already part of a router"
    )]
    AlreadyMounted {
        /// The namespace.
        namespace: String,
        /// The location where they were added again.
        location: &'static Location<'static>,
    },
    /// A router that replaces dynamic operations has dynamic operations itself.
    #[error(
        "the dynamic operations added under `{namespace}` at {location} cannot be part of other dynamic operations"
    )]
    NestedDynamic {
        /// The namespace.
        namespace: String,
        /// The location where they were added.
        location: &'static Location<'static>,
    },
    /// A limit has an invalid value.
    #[error(transparent)]
    Limit(#[from] LimitError),
}

/// The method of every router that returns its OpenRPC document.
pub const DISCOVER: &str = "rpc.discover";

/// Checks operations that are added to `others`, which have been checked.
pub(crate) fn check<'a>(
    others: impl IntoIterator<Item = &'a RegisteredOperation>,
    operations: &[Operation],
) -> Result<(), BuildError> {
    let mut locations: HashMap<&str, SourceLocation> = HashMap::new();
    let mut tools: HashMap<&str, &str> = HashMap::new();
    for other in others {
        locations.insert(other.name(), other.location);
        if let Some(tool) = &other.description().tool {
            tools.insert(tool, other.name());
        }
    }
    for operation in operations {
        check_one(operation)?;
        let (name, location) = (&*operation.description.name, operation.location);
        if let Some(first) = locations.insert(name, location) {
            return Err(BuildError::Duplicate { name: name.to_owned(), first, second: location });
        }
        if let Some(tool) = &operation.description.tool
            && let Some(first) = tools.insert(tool, name)
        {
            let (tool, first, second) = (tool.clone(), first.to_owned(), name.to_owned());
            return Err(BuildError::DuplicateTool { tool, first, second, location });
        }
    }
    Ok(())
}

fn check_one(operation: &Operation) -> Result<(), BuildError> {
    let location = operation.location;
    let name = &operation.description.name;
    if name.starts_with("rpc.") {
        return Err(BuildError::Reserved { name: name.clone(), location });
    }
    if name == "unknown" {
        return Err(BuildError::ReservedMetricName { name: name.clone(), location });
    }
    if let Some(tool) = &operation.description.tool
        && !is_tool_name(tool)
    {
        return Err(BuildError::ToolName { tool: tool.clone(), location });
    }
    let params = &operation.description.params;
    for (index, param) in params.iter().enumerate() {
        if params[..index].contains(param) {
            return Err(BuildError::DuplicateParam { name: name.clone(), param, location });
        }
    }
    Ok(())
}

fn is_tool_name(name: &str) -> bool {
    let is_part = |byte: u8| byte.is_ascii_alphanumeric() || b"_-.".contains(&byte);
    (1..=128).contains(&name.len()) && name.bytes().all(is_part)
}
