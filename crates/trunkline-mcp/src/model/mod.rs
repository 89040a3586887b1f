//! The types of the protocol, as servers and clients write and read them: tools, prompts, resources, content, input,
//! and what is accepted although it deviates from the specification.

#[macro_use]
mod setters;
mod block;
mod completion;
mod contents;
mod down_level;
mod input;
mod lenient;
mod metadata;
mod prompt;
mod received;
mod resource;
mod root;
mod task;
mod tool;

pub use block::{Block, BlockKind};
pub use completion::{CompletionTarget, CompletionValues};
pub use contents::{Contents, ResourceContents, ResourceData};
pub(crate) use down_level::down_level;
pub use input::InputRequest;
pub(crate) use input::InputRequests;
pub use metadata::{Annotations, Icon, Role, Theme};
pub use prompt::{Prompt, PromptArgument, PromptMessage, PromptResult};
pub use received::Received;
pub(crate) use resource::Caching;
pub use resource::{Resource, ResourceTemplate};
pub use root::Root;
pub(crate) use task::TaskMembers;
pub use task::TaskState;
pub use tool::{Tool, ToolAnnotations, ToolResult};

#[cfg(test)]
mod tests;
