//! The operations of an upstream.

use std::sync::Arc;
use std::time::Duration;

use serde_json::Value;
use serde_json::value::RawValue;
use trunkline::tool::ToolOperation;
use trunkline::{Operation, RawParams};
use trunkline_mcp::{McpOperation, Resource, ResourceTemplate, ResourceUri};

use crate::caller::Caller;
use crate::error::UpstreamError;
use crate::running_call::Subject;
use crate::tools::{OfferedPrompt, OfferedTool, Selection};
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
        tools.chain(resources).chain(templates).chain(prompts).collect()
    }

    fn operation(self: &Arc<Self>, tool: &Arc<OfferedTool>) -> Operation {
        let definition = &tool.definition;
        let (upstream, called) = (Arc::clone(self), Arc::clone(tool));
        let run = move |caller: Caller, RawParams(arguments): RawParams| {
            let (upstream, called) = (Arc::clone(&upstream), Arc::clone(&called));
            async move { upstream.call(caller, &called, arguments).await }
        };
        let mut operation = Operation::new(&*tool.exposed, run)
            .description(definition.description.as_deref().unwrap_or_default())
            .input_schema(definition.input_schema.clone())
            .output_schema(tool.output_schema())
            .errors::<UpstreamError>()
            .timeout(self.limit())
            .tool(&*tool.prefixed)
            .revision(&*tool.digest.0)
            .tool_result();
        if let Some(title) = definition.title.as_ref().or(definition.annotations.title.as_ref()) {
            operation = operation.title(&**title);
        }
        definition.annotations.apply(operation)
    }

    fn resource(self: &Arc<Self>, resource: &Resource) -> Operation {
        let (upstream, uri) = (Arc::clone(self), Arc::<str>::from(&*resource.uri));
        let read = move |caller: Caller| {
            let (upstream, uri) = (Arc::clone(&upstream), Arc::clone(&uri));
            async move { upstream.read(caller, uri).await }
        };
        let name = format!("resources.{}", self.name.exposed(&resource.uri));
        let operation = Operation::new(name, read).resource(resource.clone());
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
