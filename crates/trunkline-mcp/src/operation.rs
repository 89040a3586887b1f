//! Declarations of operations for MCP.

use serde_json::{Map, Value};
use trunkline::Operation;

use crate::completion::{Completes, Completion};
use crate::content::{Icon, Prompt, Resource, ResourceTemplate};
use crate::resource::ListsResources;
use crate::tool::{ToolIcons, ToolMeta};

/// Offers an operation to clients of MCP as a resource, a prompt or a completion. It stays callable by its own name, and
/// may be a tool as well. Extractors, state, layers and access rules apply in the same way.
///
/// ```
/// # use trunkline::{Operation, Params, Router};
/// # use trunkline_mcp::{Mcp, McpConfig, McpOperation, Prompt, Resource, ResourceTemplate};
/// #[derive(serde::Deserialize)]
/// struct Page { name: String }
///
/// let router = Router::new()
///     .operation(Operation::new("docs.readme", || "Read this first.").resource(Resource::new("docs://readme", "readme")))
///     .operation(
///         Operation::new("docs.page", |Params(Page { name })| format!("The page {name}."))
///             .resource_template(ResourceTemplate::new("docs://pages/{name}", "page")),
///     )
///     .operation(Operation::new("docs.ask", || "Summarise docs://readme.").prompt(Prompt::new("summary")));
/// # Mcp::new(router.build().unwrap(), McpConfig::new("test", "1")).unwrap();
/// ```
pub trait McpOperation: Sized {
    /// Offers the operation as a resource. It is called without params, and its result is the content: text, JSON, or
    /// [`Contents`](crate::Contents). If the result is `null`, the resource does not exist.
    #[must_use]
    fn resource(self, resource: Resource) -> Self;

    /// Offers the operation as resources whose URIs match a template. The params are the values of the variables, by
    /// name. The result is that of a [resource](Self::resource).
    #[must_use]
    fn resource_template(self, template: ResourceTemplate) -> Self;

    /// Declares that the operation lists resources that are known only at run time, usually those of a template. It is
    /// called without params for each `resources/list`, and its result is an array of [`Resource`]s. If access rules
    /// refuse the call, the list lacks them.
    #[must_use]
    fn resource_list(self) -> Self;

    /// Offers the operation as a prompt. The params are the arguments, by name, and the result is text (one message of the
    /// user), messages, or a [`PromptResult`](crate::PromptResult).
    #[must_use]
    fn prompt(self, prompt: Prompt) -> Self;

    /// Declares that the operation completes arguments of prompts or variables of templates. The params are
    /// [`CompletionParams`](crate::CompletionParams), and the result is an array of texts, or
    /// [`CompletionValues`](crate::CompletionValues).
    #[must_use]
    fn completes(self, completions: impl IntoIterator<Item = Completion>) -> Self;

    /// Sets the icons of the tool.
    #[must_use]
    fn tool_icons(self, icons: impl IntoIterator<Item = Icon>) -> Self;

    /// Sets `_meta` of the tool in lists of tools.
    #[must_use]
    fn tool_meta(self, meta: Map<String, Value>) -> Self;
}

impl<S> McpOperation for Operation<S> {
    fn resource(self, resource: Resource) -> Self {
        self.extension(resource)
    }

    fn resource_template(self, template: ResourceTemplate) -> Self {
        self.extension(template)
    }

    fn resource_list(self) -> Self {
        self.extension(ListsResources)
    }

    fn prompt(self, prompt: Prompt) -> Self {
        self.extension(prompt)
    }

    fn completes(self, completions: impl IntoIterator<Item = Completion>) -> Self {
        self.extension(Completes(completions.into_iter().collect()))
    }

    fn tool_icons(self, icons: impl IntoIterator<Item = Icon>) -> Self {
        self.extension(ToolIcons(icons.into_iter().collect()))
    }

    fn tool_meta(self, meta: Map<String, Value>) -> Self {
        self.extension(ToolMeta(meta))
    }
}
