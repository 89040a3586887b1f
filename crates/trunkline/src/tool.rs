//! The form in which language models read the results of operations.

use std::borrow::Cow;

use trunkline_core::call::Description;
use trunkline_core::error::ErrorObject;
use trunkline_core::operation::Operation;

/// The form in which a language model reads the results of an operation.
#[derive(Debug, Clone, Copy, Default)]
pub enum Rendering {
    /// Their JSON text.
    #[default]
    Json,
    /// Text that a function renders from each outcome, including errors. Clients receive it instead of the structured
    /// result, unless they are configured to.
    Text(RenderText),
    /// Content blocks as MCP defines them: the result is an array of them.
    Blocks,
    /// Nothing: the result is that of a tool as MCP defines it, an object with `content`, `structuredContent`,
    /// `isError` and `_meta`.
    ToolResult,
}

/// Shortens a result, as JSON text, for a language model that receives it as structured content. `None` if it is short.
/// An extension of the description of an operation.
#[derive(Debug, Clone, Copy)]
pub struct Abbreviate(pub fn(result: &[u8]) -> Option<Vec<u8>>);

/// Renders an outcome as text for a language model, from the JSON text of the arguments (an object) and of
/// the result or the error.
pub type RenderText = fn(arguments: &[u8], outcome: Result<&[u8], &ErrorObject>) -> String;

impl Rendering {
    /// The rendering of an operation's results.
    #[must_use]
    pub fn of(description: &Description) -> Self {
        description.extensions.get().copied().unwrap_or_default()
    }
}

/// Marks an operation that lists of tools omit.
#[derive(Debug, Clone, Copy)]
struct Unlisted;

/// Whether lists of tools contain the operation. One that they omit can still be called.
#[must_use]
pub fn is_listed(description: &Description) -> bool {
    description.extensions.get::<Unlisted>().is_none()
}

/// The description of a tool for language models, which is never empty: that of the operation, its title, or a text made
/// of `name`, the name of the tool. The APIs of some models refuse an empty description.
#[must_use]
pub fn tool_text<'a>(description: &'a Description, name: &str) -> Cow<'a, str> {
    let texts = [&description.text, &description.title];
    let text = texts.into_iter().flatten().find(|text| !text.trim().is_empty());
    text.map_or_else(|| Cow::Owned(name_as_text(name)), |text| Cow::Borrowed(text.as_str()))
}

/// A name as text: `Up get item` for `up__get-item`.
fn name_as_text(name: &str) -> String {
    let parts = name.split(|c: char| !c.is_alphanumeric()).filter(|part| !part.is_empty());
    let text = parts.collect::<Vec<_>>().join(" ");
    let mut letters = text.chars();
    match letters.next() {
        Some(first) => first.to_uppercase().chain(letters).collect(),
        None => "Tool".to_owned(),
    }
}

/// Marks an operation for users.
#[derive(Debug, Clone, Copy)]
struct ForUsers;

/// Whether language models may be offered the operation, as a tool or by its own name.
#[must_use]
pub fn is_for_models(description: &Description) -> bool {
    description.tool.is_some() || description.extensions.get::<ForUsers>().is_none()
}

/// The param with the confirmation code of a call, which layers take out before the operation runs. No operation should
/// have a param of this name.
pub const CONFIRMATION_PARAM: &str = "trunkline_confirm";

/// An extension of calls that a user has confirmed already, such as those of the agent. Layers that ask for a
/// confirmation let them pass.
#[derive(Debug, Clone, Copy)]
pub struct Confirmed;

/// Sets the form in which language models read the results of an operation. Default: [`Rendering::Json`].
pub trait ToolOperation: Sized {
    /// Renders results and errors as text, which clients receive instead of the structured result.
    #[must_use]
    fn render_text(self, render: RenderText) -> Self;

    /// Shortens results that a language model receives as structured content, as [`render_text`](Self::render_text) does
    /// in the text.
    #[must_use]
    fn abbreviate(self, abbreviate: fn(result: &[u8]) -> Option<Vec<u8>>) -> Self;

    /// Omits the operation from lists of tools. It can still be called, for example to explain why it is
    /// unavailable.
    #[must_use]
    fn unlisted(self) -> Self;

    /// Declares that users select the operation, such as a prompt. Language models are offered it only if it is a tool.
    #[must_use]
    fn for_users(self) -> Self;

    /// Declares that the result is an array of content blocks, as MCP defines them: text, images, audio,
    /// resources.
    #[must_use]
    fn blocks(self) -> Self;

    /// Declares that the result is that of a tool as MCP defines it. MCP clients receive its members unchanged. In an
    /// output schema, the property `structuredContent` is the schema that lists of tools contain.
    #[must_use]
    fn tool_result(self) -> Self;
}

impl<S> ToolOperation for Operation<S> {
    fn render_text(self, render: RenderText) -> Self {
        self.extension(Rendering::Text(render))
    }

    fn abbreviate(self, abbreviate: fn(result: &[u8]) -> Option<Vec<u8>>) -> Self {
        self.extension(Abbreviate(abbreviate))
    }

    fn unlisted(self) -> Self {
        self.extension(Unlisted)
    }

    fn for_users(self) -> Self {
        self.extension(ForUsers)
    }

    fn blocks(self) -> Self {
        self.extension(Rendering::Blocks)
    }

    fn tool_result(self) -> Self {
        self.extension(Rendering::ToolResult)
    }
}

#[cfg(test)]
mod tests {
    use super::name_as_text;

    #[test]
    fn names_as_texts() {
        for (name, expected) in [
            ("up__get_item-now", "Up get item now"),
            ("q", "Q"),
            ("repo.search", "Repo search"),
            ("éa", "Éa"),
            ("__", "Tool"),
            ("", "Tool"),
        ] {
            assert_eq!(name_as_text(name), expected, "{name}");
        }
    }
}
