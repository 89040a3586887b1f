//! From registrations to a registry, or the reason why not.

use std::collections::HashMap;
use std::panic::Location;
use std::sync::Arc;

use super::operation::{LayerFn, Operation};
use super::registry::{Registered, Registry};
use super::reply::Json;
use crate::blocking::Pool;
use crate::limits::LimitError;
use crate::openrpc::{Info, OpenRpc};

/// Where a method or a layer was registered, as `file:line:column`.
pub type Place = &'static Location<'static>;

/// Why a router cannot be built.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum BuildError {
    /// Two operations have one name.
    #[error("method `{name}` is registered twice: at {first} and at {second}")]
    Duplicate {
        /// The name.
        name: String,
        /// The earlier registration.
        first: Place,
        /// The later one.
        second: Place,
    },
    /// Names that begin with `rpc.` are the protocol's (JSON-RPC 2.0, section 8).
    #[error("method `{name}`, registered at {place}, begins with `rpc.`, which is reserved")]
    Reserved {
        /// The name.
        name: String,
        /// The registration.
        place: Place,
    },
    /// A layer's pattern matches none of the methods registered before it, so it would do nothing.
    #[error("no method registered before {place} matches the pattern `{pattern}` of this layer")]
    NothingMatches {
        /// The pattern.
        pattern: String,
        /// The layer's place.
        place: Place,
    },
    /// A rule of [`Router::authorize`](crate::Router::authorize) is for no method that there is.
    #[error("no method matches the pattern `{pattern}` of the rules given at {place}")]
    NoMethod {
        /// The pattern.
        pattern: String,
        /// Where the rules were given.
        place: Place,
    },
    /// A method is called as the metrics call those that do not exist.
    #[error(
        "method `{name}`, registered at {place}, is called as all unknown methods are in metrics"
    )]
    UnknownName {
        /// The name.
        name: String,
        /// The registration.
        place: Place,
    },
    /// Two params of one operation have one name.
    #[error("method `{name}`, registered at {place}, declares the param `{param}` twice")]
    DuplicateParam {
        /// The method's name.
        name: String,
        /// The param's name.
        param: &'static str,
        /// The registration.
        place: Place,
    },
    /// A variadic param takes all positions that are left, so nothing can follow it.
    #[error(
        "param `{param}` of method `{name}`, registered at {place}, is variadic but not the last"
    )]
    VariadicNotLast {
        /// The method's name.
        name: String,
        /// The param's name.
        param: &'static str,
        /// The registration.
        place: Place,
    },
    /// Two operations are offered as one tool.
    #[error("tool `{tool}` is method `{first}` and method `{second}`, registered at {place}")]
    DuplicateTool {
        /// The tool's name.
        tool: String,
        /// The method of the earlier registration.
        first: String,
        /// The method of the later one.
        second: String,
        /// The later registration.
        place: Place,
    },
    /// A tool's name is one that clients may refuse (MCP, "Tool Names").
    #[error(
        "tool `{tool}`, registered at {place}, is named otherwise than with 1 to 128 of A-Z a-z 0-9 _ - ."
    )]
    ToolName {
        /// The tool's name.
        tool: String,
        /// The registration.
        place: Place,
    },
    /// A limit has a value that cannot work.
    #[error(transparent)]
    Limit(#[from] LimitError),
}

/// What every router answers by itself.
pub(super) const DISCOVER: &str = "rpc.discover";

/// The registry of `operations` and of `rpc.discover`, which describes them.
pub(super) fn registry(
    operations: Vec<Operation>,
    built_in: Vec<LayerFn>,
    info: &Info,
    pool: &Pool,
) -> Result<Registry, BuildError> {
    let mut places: HashMap<String, Place> = HashMap::new();
    let mut tools: HashMap<String, String> = HashMap::new();
    let mut registered = Vec::with_capacity(operations.len());
    for operation in operations {
        check(&operation)?;
        let name = operation.description.name.clone();
        if let Some(first) = places.insert(name.clone(), operation.place) {
            return Err(BuildError::Duplicate { name, first, second: operation.place });
        }
        if let Some(tool) = &operation.description.tool
            && let Some(first) = tools.insert(tool.clone(), name.clone())
        {
            let (tool, place) = (tool.clone(), operation.place);
            return Err(BuildError::DuplicateTool { tool, first, second: name, place });
        }
        registered.push(Arc::new(Registered::new(operation, pool)));
    }
    let openrpc = OpenRpc::new(info, registered.iter().map(|operation| operation.description()));
    let answer = openrpc.answer();
    let mut discover = Operation::new(DISCOVER, move || Json(answer.clone()))
        .description("Describes this service as an OpenRPC document.");
    discover.layers = built_in;
    registered.push(Arc::new(Registered::new(discover, pool)));
    Ok(Registry::new(registered, openrpc))
}

fn check(operation: &Operation) -> Result<(), BuildError> {
    let place = operation.place;
    let name = &operation.description.name;
    if name.starts_with("rpc.") {
        return Err(BuildError::Reserved { name: name.clone(), place });
    }
    if name == "unknown" {
        return Err(BuildError::UnknownName { name: name.clone(), place });
    }
    if let Some(tool) = &operation.description.tool
        && !is_tool_name(tool)
    {
        return Err(BuildError::ToolName { tool: tool.clone(), place });
    }
    let params = &operation.description.params;
    for (index, param) in params.iter().enumerate() {
        if params[..index].contains(param) {
            return Err(BuildError::DuplicateParam { name: name.clone(), param, place });
        }
    }
    Ok(())
}

fn is_tool_name(name: &str) -> bool {
    let is_part = |byte: u8| byte.is_ascii_alphanumeric() || b"_-.".contains(&byte);
    (1..=128).contains(&name.len()) && name.bytes().all(is_part)
}
