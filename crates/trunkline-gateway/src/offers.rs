//! The operations of an upstream.

use std::sync::{Arc, Weak};
use std::time::Duration;

use serde_json::Value;
use serde_json::value::RawValue;
use trunkline::tool::ToolOperation;
use trunkline::{Operation, Params, RawParams, RpcError};
use trunkline_mcp::uri::uri_variables;
use trunkline_mcp::{
    Completion, CompletionParams, CompletionTarget, McpOperation, Resource, ResourceTemplate,
    ResourceUri,
};

use crate::caller::Caller;
use crate::error::UpstreamError;
use crate::running_call::Subject;
use crate::tools::{OfferedPrompt, OfferedTool, Selection, with_hints};
use crate::upstream::Upstream;

impl Upstream {
    /// The operations of these tools, and of all resources and prompts.
    pub(crate) fn offer<'s>(
        self: &Arc<Self>,
        selection: &'s Selection,
        tools: impl Iterator<Item = &'s Arc<OfferedTool>>,
    ) -> Vec<Operation> {
        let tools = tools.map(|tool| self.operation(tool));
        let resources = selection.resources.iter().map(|resource| self.resource(resource));
        let templates = selection.templates.iter().map(|template| self.template(template));
        let prompts = selection.prompts.iter().map(|prompt| self.prompt(prompt));
        let operations = tools.chain(resources).chain(templates).chain(prompts);
        if !selection.has_completions {
            return operations.collect();
        }
        let prompts = selection.prompts.iter().filter_map(|prompt| self.prompt_completion(prompt));
        let templates = &selection.templates;
        let templates = templates.iter().filter_map(|template| self.template_completion(template));
        operations.chain(prompts).chain(templates).collect()
    }

    fn operation(self: &Arc<Self>, tool: &Arc<OfferedTool>) -> Operation {
        let definition = &tool.tool;
        let (upstream, called) = (Arc::clone(self), Arc::clone(tool));
        let run = move |caller: Caller, RawParams(arguments): RawParams| {
            let (upstream, called) = (Arc::clone(&upstream), Arc::clone(&called));
            async move { upstream.call(caller, &called, arguments).await }
        };
        let mut operation = Operation::new(&*tool.exposed, run)
            .input_schema(tool.input_schema.clone())
            .output_schema(tool.output_schema())
            .errors::<UpstreamError>()
            .timeout(self.limit())
            .tool(&*tool.prefixed)
            .revision(&*tool.digest.0)
            .tool_result();
        if let Some(title) = definition.display_name() {
            operation = operation.title(title);
        }
        if let Some(text) = definition.description.as_ref().filter(|text| !text.trim().is_empty()) {
            operation = operation.description(&**text);
        }
        if !self.config.rewrite_schemas {
            operation = operation.exact_schemas();
        }
        with_hints(operation, &definition.annotations)
    }

    fn resource(self: &Arc<Self>, resource: &Resource) -> Operation {
        let (upstream, uri) = (Arc::clone(self), Arc::<str>::from(&*resource.uri));
        let read = move |caller: Caller| {
            let (upstream, uri) = (Arc::clone(&upstream), Arc::clone(&uri));
            async move { upstream.read(caller, uri).await }
        };
        let name = format!("resources.{}", self.name.exposed(&resource.uri));
        let operation = self.subscribing(Operation::new(name, read).resource(resource.clone()));
        self.reading(operation, resource.description.as_deref())
    }

    fn template(self: &Arc<Self>, template: &ResourceTemplate) -> Operation {
        let upstream = Arc::clone(self);
        let read = move |caller: Caller, ResourceUri(uri): ResourceUri, RawParams(_): RawParams| {
            let upstream = Arc::clone(&upstream);
            async move { upstream.read(caller, uri).await }
        };
        let name = format!("templates.{}", self.name.exposed(&template.uri_template));
        let operation = Operation::new(name, read).resource_template(template.clone());
        let operation = self.subscribing(operation);
        self.reading(operation, template.description.as_deref())
    }

    fn prompt(self: &Arc<Self>, offered: &OfferedPrompt) -> Operation {
        let (upstream, prompt) = (Arc::clone(self), offered.name.clone());
        let get = move |caller: Caller, RawParams(arguments): RawParams| {
            let (upstream, prompt) = (Arc::clone(&upstream), prompt.clone());
            async move { upstream.get_prompt(caller, &prompt, arguments).await }
        };
        let operation = Operation::new(format!("prompts.{}", offered.exposed), get);
        let description = offered.prompt.description.as_deref();
        self.reading(operation.prompt(offered.prompt.clone()), description)
    }

    /// The operation that completes the arguments of a prompt.
    fn prompt_completion(self: &Arc<Self>, offered: &OfferedPrompt) -> Option<Operation> {
        let prompt = offered.prompt.name.as_str();
        let arguments = offered.prompt.arguments.iter().map(|argument| argument.name.as_str());
        let completions: Vec<_> =
            arguments.map(|argument| Completion::prompt(prompt, argument)).collect();
        let (upstream, name) = (Arc::clone(self), offered.name.clone());
        let complete = move |Params(params): Params<CompletionParams>| {
            let (upstream, name) = (Arc::clone(&upstream), name.clone());
            async move { upstream.complete(&CompletionTarget::Prompt(name), &params).await }
        };
        let operation =
            Operation::new(format!("completions.prompts.{}", offered.exposed), complete);
        self.completing(operation, completions)
    }

    /// The operation that completes the variables of a template.
    fn template_completion(self: &Arc<Self>, template: &ResourceTemplate) -> Option<Operation> {
        let (upstream, text) = (Arc::clone(self), template.uri_template.clone());
        let variables = uri_variables(&text).into_iter();
        let completions: Vec<_> =
            variables.map(|variable| Completion::template(&*text, variable)).collect();
        let name = format!("completions.templates.{}", self.name.exposed(&text));
        let complete = move |Params(params): Params<CompletionParams>| {
            let (upstream, text) = (Arc::clone(&upstream), text.clone());
            async move { upstream.complete(&CompletionTarget::Resource(text), &params).await }
        };
        self.completing(Operation::new(name, complete), completions)
    }

    fn completing(&self, operation: Operation, all: Vec<Completion>) -> Option<Operation> {
        let operation = operation.input::<CompletionParams>().completes(all.clone());
        (!all.is_empty()).then(|| self.reading(operation, Some("Completes an argument.")))
    }

    /// Passes subscriptions to resources on.
    fn subscribing(self: &Arc<Self>, operation: Operation) -> Operation {
        let upstream = Arc::downgrade(self);
        operation.on_subscribe(move |resource| {
            let upstream = Weak::clone(&upstream);
            Box::pin(async move {
                // An upstream that has gone does not change.
                let Some(upstream) = upstream.upgrade() else { return Ok(()) };
                upstream.subscribe(resource).await.map_err(RpcError::into_error_object)
            })
        })
    }

    /// Declares what operations of resources and prompts have in common.
    fn reading(&self, operation: Operation, description: Option<&str>) -> Operation {
        let operation = operation.errors::<UpstreamError>().timeout(self.limit()).read_only();
        match description {
            Some(description) => operation.description(description),
            None => operation,
        }
    }

    /// The timeout of operations. That of the request has a better message.
    fn limit(&self) -> Duration {
        self.config.call_timeout.saturating_add(Duration::from_secs(1))
    }

    /// Calls a tool. Returns the result as received.
    async fn call(
        &self,
        caller: Caller,
        tool: &Arc<OfferedTool>,
        arguments: Option<Box<RawValue>>,
    ) -> Result<Box<RawValue>, UpstreamError> {
        // Positional params are empty here, since the operations declare no names.
        let arguments = arguments.filter(|arguments| arguments.get().starts_with('{'));
        let arguments = arguments.unwrap_or_else(empty_object);
        let subject = subject(&caller, "tools/call", &tool.tool.name, Some(&arguments));
        let tool = Arc::clone(tool);
        self.request(caller, subject, move |connection, options| {
            Box::pin(async move { connection.call(&tool.tool, &arguments, options).await })
        })
        .await
    }

    async fn read(&self, caller: Caller, uri: Arc<str>) -> Result<Box<RawValue>, UpstreamError> {
        let subject = subject(&caller, "resources/read", &uri, None);
        self.request(caller, subject, move |connection, options| {
            Box::pin(async move { connection.read(&uri, options).await })
        })
        .await
    }

    async fn get_prompt(
        &self,
        caller: Caller,
        name: &str,
        arguments: Option<Box<RawValue>>,
    ) -> Result<Box<RawValue>, UpstreamError> {
        let arguments = arguments.filter(|arguments| arguments.get().starts_with('{'));
        let subject = subject(&caller, "prompts/get", name, arguments.as_deref());
        let arguments = arguments.map(|arguments| serde_json::from_str(arguments.get()));
        let arguments = arguments.transpose().map_err(|error| UpstreamError::Arguments {
            upstream: self.name.clone(),
            reason: error.to_string(),
        })?;
        let (name, arguments) = (name.to_owned(), arguments.unwrap_or_default());
        self.request(caller, subject, move |connection, options| {
            Box::pin(async move { connection.prompt(&name, &arguments, options).await })
        })
        .await
    }
}

fn subject(
    caller: &Caller,
    method: &'static str,
    name: &str,
    arguments: Option<&RawValue>,
) -> Subject {
    let arguments = arguments.and_then(|arguments| serde_json::from_str(arguments.get()).ok());
    Subject {
        owner: caller.owner.clone(),
        method,
        name: name.to_owned(),
        arguments: arguments.unwrap_or(Value::Null),
    }
}

fn empty_object() -> Box<RawValue> {
    serde_json::from_str("{}").expect("the text is an object")
}
