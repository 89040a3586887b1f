//! Declarations of operations for MCP.

use std::sync::Arc;

use serde_json::{Map, Value};
use trunkline::tool::ToolOperation;
use trunkline::{ErrorObject, Operation};

use crate::completion::{Completes, Completion, CompletionForm, CompletionParams};
use crate::model::{Icon, Prompt, Resource, ResourceTemplate};
use crate::resource::{ListsResources, MissingIf, ResourcePage};
use crate::subscription::{OnSubscribe, SubscribedResource, SubscriptionFuture};
use crate::task::TaskSupport;
use crate::tool::{ExactSchemas, ToolIcons, ToolMeta};

/// Offers an operation to clients of MCP as a resource, a prompt or a completion. It stays callable by its own name, and
/// may be a tool as well. Extractors, state, layers and access rules apply in the same way.
///
/// Operations that are made for users or for lists ([`prompt`](Self::prompt), [`completes`](Self::completes),
/// [`resource_list`](Self::resource_list)) are not offered to language models, unless they are tools.
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
pub trait McpOperation: ToolOperation {
    /// Sets extension data, as [`Operation::extension`] does.
    #[must_use]
    fn with_extension<T: Send + Sync + 'static>(self, value: T) -> Self;

    /// Offers the operation as a resource. It is called without params, and its result is the content: text, JSON, or
    /// [`Contents`](crate::Contents). If the result is `null`, the resource does not exist.
    #[must_use]
    fn resource(self, resource: Resource) -> Self {
        self.with_extension(resource)
    }

    /// Offers the operation as resources whose URIs match a template. The params are the values of the variables, by
    /// name. The result is that of a [resource](Self::resource).
    #[must_use]
    fn resource_template(self, template: ResourceTemplate) -> Self {
        self.with_extension(template)
    }

    /// Declares that the operation lists resources that are known only at run time, usually those of a template. It is
    /// called without params for each page of `resources/list` that contains some of them, and its result is an array of
    /// [`Resource`]s. If access rules refuse the call, the list lacks them. When the resources change, call
    /// [`Notifier::resource_list_changed`](crate::Notifier::resource_list_changed).
    #[must_use]
    fn resource_list(self) -> Self {
        self.with_extension(ListsResources::AsResult).for_users()
    }

    /// The same for an operation whose result has another form: `resources` reads them from the JSON text of a result. The
    /// operation is called again for further ones, at most 100 times for a page.
    #[must_use]
    fn resource_list_by(
        self,
        resources: impl Fn(&[u8]) -> ResourcePage + Send + Sync + 'static,
    ) -> Self {
        self.with_extension(ListsResources::By(Arc::new(resources)))
    }

    /// Declares the errors of the operation which mean that the resource does not exist.
    #[must_use]
    fn resource_missing_if(self, is_missing: fn(&ErrorObject) -> bool) -> Self {
        self.with_extension(MissingIf(is_missing))
    }

    /// Sets a function that is called when a client subscribes to a resource of the operation and may read it. The client
    /// receives the reply after it; an error refuses the subscription. The function may be called repeatedly for the same
    /// resource. Without it, the service notifies of changes with [`Mcp::resource_updated`](crate::Mcp::resource_updated).
    #[must_use]
    fn on_subscribe(
        self,
        subscribe: impl Fn(SubscribedResource) -> SubscriptionFuture + Send + Sync + 'static,
    ) -> Self {
        self.with_extension(OnSubscribe(Box::new(subscribe)))
    }

    /// Offers the operation as a prompt. The params are the arguments, by name, and the result is text (one message of the
    /// user), messages, or a [`PromptResult`](crate::PromptResult).
    #[must_use]
    fn prompt(self, prompt: Prompt) -> Self {
        self.with_extension(prompt).for_users()
    }

    /// Declares that the operation completes arguments of prompts or variables of templates. The params are
    /// [`CompletionParams`](crate::CompletionParams), and the result is an array of texts, or
    /// [`CompletionValues`](crate::CompletionValues).
    #[must_use]
    fn completes(self, completions: impl IntoIterator<Item = Completion>) -> Self {
        let completions = completions.into_iter().collect();
        self.with_extension(Completes { completions, form: CompletionForm::AsResult }).for_users()
    }

    /// The same for an operation with other params and results: `params` returns the params of a call, by name, or `None`
    /// if no value is known; `values` reads the values from the JSON text of its result. Values that do not contain the
    /// text so far are omitted.
    #[must_use]
    fn completes_by(
        self,
        completions: impl IntoIterator<Item = Completion>,
        params: fn(&CompletionParams) -> Option<Value>,
        values: fn(result: &[u8]) -> Vec<String>,
    ) -> Self {
        let completions = completions.into_iter().collect();
        self.with_extension(Completes { completions, form: CompletionForm::By { params, values } })
    }

    /// Declares that calls of the tool become tasks if they do not end soon ([`TaskConfig::after`](crate::TaskConfig)) or
    /// the handler calls [`Peer::start_task`](crate::Peer::start_task): the client receives the id of the task and polls
    /// for the result (extension `io.modelcontextprotocol/tasks` of 2026-07-28).
    #[must_use]
    fn task(self, support: TaskSupport) -> Self {
        self.with_extension(support)
    }

    /// Lists the schemas of the tool unchanged, instead of in the [form that all hosts of models
    /// accept](crate::tools::model_input).
    #[must_use]
    fn exact_schemas(self) -> Self {
        self.with_extension(ExactSchemas)
    }

    /// Sets the icons of the tool.
    #[must_use]
    fn tool_icons(self, icons: impl IntoIterator<Item = Icon>) -> Self {
        self.with_extension(ToolIcons(icons.into_iter().collect()))
    }

    /// Sets `_meta` of the tool in lists of tools.
    #[must_use]
    fn tool_meta(self, meta: Map<String, Value>) -> Self {
        self.with_extension(ToolMeta(meta))
    }
}

impl<S> McpOperation for Operation<S> {
    fn with_extension<T: Send + Sync + 'static>(self, value: T) -> Self {
        self.extension(value)
    }
}
