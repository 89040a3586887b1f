//! Reasons why a server cannot be created, such as operations that cannot be offered to clients.

use crate::tool::ToolError;

/// The reason why a server cannot be created, or an operation cannot be offered as a tool, a resource, a prompt or a
/// completion.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum McpError {
    /// An invalid tool.
    #[error(transparent)]
    Tool(#[from] ToolError),
    /// An invalid URI of a resource, or one of two resources.
    #[error("resource `{uri}`: {reason}")]
    Resource {
        /// The URI.
        uri: String,
        /// The reason.
        reason: &'static str,
    },
    /// An invalid or duplicate template, or an invalid input schema of its operation.
    #[error("resource template `{template}`: {reason}")]
    Template {
        /// The template.
        template: String,
        /// The reason.
        reason: String,
    },
    /// An invalid or duplicate name of a prompt, or an invalid input schema of its operation.
    #[error("prompt `{name}`: {reason}")]
    Prompt {
        /// The name.
        name: String,
        /// The reason.
        reason: String,
    },
    /// A completion of something that does not exist, or a duplicate one.
    #[error("completion of `{argument}` of `{of}`: {reason}")]
    Completion {
        /// The prompt or the template.
        of: String,
        /// The argument or the variable.
        argument: String,
        /// The reason.
        reason: &'static str,
    },
    /// The random number generator of the system has failed. It distinguishes this node from others.
    #[error("the system random number generator failed")]
    Random,
}
