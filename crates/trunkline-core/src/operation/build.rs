//! What registrations have to be like, and the reasons why they are not.

use std::collections::HashMap;
use std::panic::Location;

use super::Operation;
use crate::call::Registered;
use crate::limits::LimitError;

/// Where something was registered, as `file:line:column`.
pub type Place = &'static Location<'static>;

/// Why a router cannot be built. Places are shown as `file:line:column`.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum BuildError {
    /// Two operations have one name.
    #[error("method `{name}` is registered twice: at {first} and at {second}")]
    Duplicate {
        /// The name.
        name: String,
        /// The earlier registration.
        first: &'static Location<'static>,
        /// The later one.
        second: &'static Location<'static>,
    },
    /// Names that begin with `rpc.` are the protocol's (JSON-RPC 2.0, section 8).
    #[error("method `{name}`, registered at {place}, begins with `rpc.`, which is reserved")]
    Reserved {
        /// The name.
        name: String,
        /// The registration.
        place: &'static Location<'static>,
    },
    /// A layer's pattern matches none of the methods registered before it, so it would do nothing.
    #[error("no method registered before {place} matches the pattern `{pattern}` of this layer")]
    NothingMatches {
        /// The pattern.
        pattern: String,
        /// The layer's place.
        place: &'static Location<'static>,
    },
    /// A rule of `Router::authorize` is for no method that there is.
    #[error("no method matches the pattern `{pattern}` of the rules given at {place}")]
    NoMethod {
        /// The pattern.
        pattern: String,
        /// Where the rules were given.
        place: &'static Location<'static>,
    },
    /// A method is called as the metrics call those that do not exist.
    #[error(
        "method `{name}`, registered at {place}, is called as all unknown methods are in metrics"
    )]
    UnknownName {
        /// The name.
        name: String,
        /// The registration.
        place: &'static Location<'static>,
    },
    /// Two params of one operation have one name.
    #[error("method `{name}`, registered at {place}, declares the param `{param}` twice")]
    DuplicateParam {
        /// The method's name.
        name: String,
        /// The param's name.
        param: &'static str,
        /// The registration.
        place: &'static Location<'static>,
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
        place: &'static Location<'static>,
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
        place: &'static Location<'static>,
    },
    /// A tool's name is one that clients may refuse (MCP, "Tool Names").
    #[error(
        "tool `{tool}`, registered at {place}, is named otherwise than with 1 to 128 of A-Z a-z 0-9 _ - ."
    )]
    ToolName {
        /// The tool's name.
        tool: String,
        /// The registration.
        place: &'static Location<'static>,
    },
    /// Operations that come and go have a place already, in this router or another.
    #[error(
        "the operations under `{namespace}`, which may change, have another place already: this one was given at {place}"
    )]
    PlaceTaken {
        /// The namespace.
        namespace: String,
        /// Where they were given a second place.
        place: &'static Location<'static>,
    },
    /// Operations that come and go are part of others that do.
    #[error(
        "the operations under `{namespace}`, which may change, are part of others that may: their place was given at {place}"
    )]
    ChangingInside {
        /// The namespace.
        namespace: String,
        /// Where they were given their place.
        place: &'static Location<'static>,
    },
    /// A limit has a value that cannot work.
    #[error(transparent)]
    Limit(#[from] LimitError),
}

/// What every router answers by itself.
pub const DISCOVER: &str = "rpc.discover";

/// Checks operations that are to join others, which have been checked.
pub(crate) fn check<'a>(
    others: impl IntoIterator<Item = &'a Registered>,
    operations: &[Operation],
) -> Result<(), BuildError> {
    let mut places: HashMap<&str, Place> = HashMap::new();
    let mut tools: HashMap<&str, &str> = HashMap::new();
    for other in others {
        places.insert(other.name(), other.place);
        if let Some(tool) = &other.description().tool {
            tools.insert(tool, other.name());
        }
    }
    for operation in operations {
        check_one(operation)?;
        let (name, place) = (&*operation.description.name, operation.place);
        if let Some(first) = places.insert(name, place) {
            return Err(BuildError::Duplicate { name: name.to_owned(), first, second: place });
        }
        if let Some(tool) = &operation.description.tool
            && let Some(first) = tools.insert(tool, name)
        {
            let (tool, first, second) = (tool.clone(), first.to_owned(), name.to_owned());
            return Err(BuildError::DuplicateTool { tool, first, second, place });
        }
    }
    Ok(())
}

fn check_one(operation: &Operation) -> Result<(), BuildError> {
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
