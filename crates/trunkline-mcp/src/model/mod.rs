//! The types of the protocol, as servers and clients write and read them: tools, prompts, resources, content, requests to
//! clients,
//! and what is accepted although it deviates from the specification.

#[macro_use]
mod setters;
mod block;
mod completion;
mod contents;
mod down_level;
mod elicitation;
mod form;
mod implementation;
mod input;
mod lenient;
mod message;
mod metadata;
mod notification;
mod prompt;
mod received;
mod resource;
mod root;
mod sampling;
mod task;
mod tool;

pub use block::{Block, BlockKind};
pub use completion::{CompletionTarget, CompletionValues};
pub use contents::{Contents, ResourceContents, ResourceData};
pub(crate) use down_level::down_level;
pub use elicitation::{ElicitRequest, ElicitResult};
pub(crate) use form::FormSchema;
pub(crate) use implementation::Implementation;
pub use input::InputRequest;
pub(crate) use input::{InputRequests, raw};
#[cfg(feature = "oauth")]
pub(crate) use lenient::nullable;
pub(crate) use message::{Message, notification};
pub use metadata::{Annotations, Icon, Role, Theme};
pub(crate) use notification::{CancelledParams, ProgressParams};
pub use notification::{LogMessage, ProgressUpdate};
pub use prompt::{Prompt, PromptArgument, PromptMessage, PromptResult};
pub use received::Received;
pub(crate) use resource::Caching;
pub use resource::{Resource, ResourceTemplate};
pub(crate) use root::ListRootsResult;
pub use root::Root;
pub use sampling::{CreateMessageRequest, CreateMessageResult};
pub(crate) use task::TaskMembers;
pub use task::TaskState;
pub use tool::{Tool, ToolAnnotations, ToolResult};

#[cfg(test)]
mod tests;
