//! The protocol's types of content: blocks, resources and prompts.

mod block;
mod contents;
mod down_level;
mod metadata;
mod prompt;
mod resource;

pub use block::{Block, BlockKind};
pub use contents::{Contents, ResourceContents, ResourceData};
pub(crate) use down_level::down_level;
pub use metadata::{Annotations, Icon, Role, Theme};
pub use prompt::{Prompt, PromptArgument, PromptMessage, PromptResult};
pub(crate) use resource::Caching;
pub use resource::{Resource, ResourceTemplate};

#[cfg(test)]
mod tests;
