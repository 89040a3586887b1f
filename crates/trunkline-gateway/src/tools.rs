//! The tools of an upstream as operations.

use std::collections::HashSet;
use std::sync::Arc;

use serde_json::value::RawValue;
use serde_json::{Map, Value, json};
use trunkline::protocol::excerpt;
use trunkline::{BuildError, Operation, Pattern, Schema};
use trunkline_mcp::client::List;
use trunkline_mcp::tools::{Tool, ToolAnnotations, ToolError};
use trunkline_mcp::uri::{check_resource, check_resource_template};
use trunkline_mcp::{Prompt, Received, Resource, ResourceTemplate};

use crate::approvals::{Approval, Approved, Reviewed};
use crate::config::UpstreamConfig;
use crate::definition::{Digest, ReviewedDefinition};
use crate::name::UpstreamName;
use crate::status::{RejectedItem, UnapprovedTool};

/// The maximum size of an item of a list in bytes. Every client receives the items in its lists.
const MAX_ITEM: usize = 256 << 10;

/// The maximum size of the differences of an upstream in the status, and of that of a tool, in bytes.
const MAX_DIFFERENCES: usize = 64 << 10;
const MAX_DIFFERENCE: usize = 8 << 10;

/// A tool that can be offered.
#[derive(Debug)]
pub(crate) struct OfferedTool {
    /// As the client received it.
    pub(crate) tool: Received<Tool>,
    /// The name of the method, without the upstream.
    pub(crate) exposed: String,
    /// The name for language models.
    pub(crate) prefixed: String,
    pub(crate) input_schema: Schema,
    pub(crate) digest: Digest,
}

/// The tools, resources and prompts that can be offered, in the order of the lists, and the others.
#[derive(Debug, Default)]
pub(crate) struct Selection {
    pub(crate) offered: Vec<Arc<OfferedTool>>,
    pub(crate) resources: Vec<Resource>,
    pub(crate) templates: Vec<ResourceTemplate>,
    pub(crate) prompts: Vec<OfferedPrompt>,
    pub(crate) rejected: Vec<RejectedItem>,
    /// Whether the server completes arguments of prompts and variables of templates.
    pub(crate) has_completions: bool,
}

/// A prompt that can be offered.
#[derive(Debug, PartialEq)]
pub(crate) struct OfferedPrompt {
    /// The upstream's name.
    pub(crate) name: String,
    /// The name of the method, without the upstream.
    pub(crate) exposed: String,
    /// The declaration, with the name for clients.
    pub(crate) prompt: Prompt,
}

/// The lists of resources and prompts, as received, or the reasons why they are missing.
#[derive(Debug)]
pub(crate) struct OtherLists {
    pub(crate) resources: Result<List<Received<Resource>>, String>,
    pub(crate) templates: Result<List<Received<ResourceTemplate>>, String>,
    pub(crate) prompts: Result<List<Received<Prompt>>, String>,
    pub(crate) has_completions: bool,
}

impl Selection {
    /// Nothing, since the operations cannot be registered.
    pub(crate) fn rejected(error: &BuildError) -> Self {
        let mut selection = Self::default();
        selection.reject("*".to_owned(), error.to_string());
        selection
    }

    /// Adds resources and prompts. URIs stay unchanged, since results contain them.
    pub(crate) fn add(&mut self, upstream: &UpstreamName, lists: OtherLists) {
        let OtherLists { resources, templates, prompts, has_completions } = lists;
        self.has_completions = has_completions;
        let (mut uris, mut names) = (HashSet::new(), HashSet::new());
        for mut resource in self.read("resources/list", resources) {
            if let Err(reason) = check_resource(&resource) {
                self.reject(resource.uri, format!("invalid URI: {reason}"));
                continue;
            }
            let is_new = uris.insert(resource.uri.clone());
            if is_new && self.takes_name(&mut names, upstream.exposed(&resource.uri), &resource.uri)
            {
                resource.name = upstream.prefixed(&resource.name);
                self.resources.push(resource);
            }
        }
        names.clear();
        for template in self.read::<ResourceTemplate>("resources/templates/list", templates) {
            // The upstream reads the URI.
            let mut template = template.whole_uri();
            if let Err(reason) = check_resource_template(&template) {
                self.reject(template.uri_template, format!("invalid URI template: {reason}"));
                continue;
            }
            let uri = &template.uri_template;
            let is_new = uris.insert(uri.clone());
            if is_new && self.takes_name(&mut names, upstream.exposed(uri), uri) {
                template.name = upstream.prefixed(&template.name);
                self.templates.push(template);
            }
        }
        names.clear();
        for mut prompt in self.read("prompts/list", prompts) {
            let exposed = upstream.exposed(&prompt.name);
            if self.takes_name(&mut names, exposed.clone(), &prompt.name) {
                let name = std::mem::replace(&mut prompt.name, upstream.prefixed(&exposed));
                self.prompts.push(OfferedPrompt { name, exposed, prompt });
            }
        }
    }

    /// Whether no other item has this name of a method. Otherwise, the item is rejected.
    fn takes_name(&mut self, names: &mut HashSet<String>, exposed: String, item: &str) -> bool {
        let is_new = names.insert(exposed);
        if !is_new {
            let reason = "another item has the same name".to_owned();
            self.reject(item.to_owned(), reason);
        }
        is_new
    }

    fn read<T>(&mut self, method: &str, list: Result<List<Received<T>>, String>) -> Vec<T> {
        let list = match list {
            Ok(list) => list,
            Err(error) => {
                self.reject(method.to_owned(), error);
                return Vec::new();
            }
        };
        for (name, reason) in list.rejected {
            self.reject(if name.is_empty() { method.to_owned() } else { name }, reason);
        }
        let mut read = Vec::with_capacity(list.items.len());
        for item in list.items {
            match check_size(item.object()) {
                Ok(()) => read.push(item.into_value()),
                Err(reason) => self.reject(method.to_owned(), reason),
            }
        }
        read
    }

    /// Selects the tools that the configuration allows.
    ///
    /// # Errors
    /// If there are too many tools, or a denied one does not exist.
    pub(crate) fn new(
        upstream: &UpstreamName,
        config: &UpstreamConfig,
        list: List<Received<Tool>>,
    ) -> Result<Self, String> {
        let count = list.items.len();
        if count > config.max_tools {
            return Err(format!("the server has {count} tools; the limit is {}", config.max_tools));
        }
        let is_listed = |name: &str| {
            let rejected = list.rejected.iter().map(|(tool, _)| tool.as_str());
            list.items.iter().map(|tool| tool.name.as_str()).chain(rejected).any(|one| one == name)
        };
        let names = |patterns: &[Pattern]| {
            let names = patterns.iter().filter_map(Pattern::name);
            names.filter(|name| !is_listed(name)).map(str::to_owned).collect::<Vec<_>>()
        };
        if let Some(name) = names(&config.tools.deny).first() {
            return Err(format!(
                "the server has no tool `{name}`, which `deny` names: correct it, or deny `{name}*` if the tool is \
                 added later"
            ));
        }
        let missing = names(&config.tools.allow);
        let mut selection = Self::default();
        for name in missing {
            selection.reject(name, "the server has no tool of this name in `allow`".to_owned());
        }
        for (tool, reason) in list.rejected {
            selection.reject(tool, reason);
        }
        let mut names = HashSet::new();
        for tool in list.items {
            if !config.tools.offers(&tool.name) {
                continue;
            }
            let name = tool.name.clone();
            match OfferedTool::new(upstream, tool) {
                Ok(offered) if !names.insert(offered.exposed.clone()) => {
                    let reason = format!("the name `{}` is used by another tool", offered.prefixed);
                    selection.reject(name, reason);
                }
                Ok(offered) => selection.offered.push(Arc::new(offered)),
                Err(reason) => selection.reject(name, reason),
            }
        }
        Ok(selection)
    }

    /// The definitions that are not approved. Their differences are limited.
    pub(crate) fn unapproved(&self, approvals: &[Approval]) -> Vec<UnapprovedTool> {
        let mut budget = MAX_DIFFERENCES;
        let mut all = Vec::new();
        for (tool, approval) in self.offered.iter().zip(approvals) {
            if let Some(tool) = tool.unapproved(approval, budget.min(MAX_DIFFERENCE)) {
                let size: usize = tool.difference.iter().map(String::len).sum();
                budget = budget.saturating_sub(size);
                all.push(tool);
            }
        }
        all
    }

    fn reject(&mut self, name: String, reason: String) {
        /// The texts come from the server.
        const MAX_NAME: usize = 128;
        const MAX_REASON: usize = 500;
        let name = excerpt(&name, MAX_NAME).to_string();
        let reason = excerpt(&reason, MAX_REASON).to_string();
        self.rejected.push(RejectedItem { name, reason });
    }
}

impl OfferedTool {
    fn new(upstream: &UpstreamName, tool: Received<Tool>) -> Result<Self, String> {
        check_size(tool.object())?;
        let invalid = |error: serde_json::Error| format!("invalid definition: {error}");
        let input_schema: Value = serde_json::from_str(tool.input_schema.get()).map_err(invalid)?;
        let input_schema = Schema::from(input_schema);
        let exposed = upstream.exposed(&tool.name);
        let prefixed = upstream.prefixed(&exposed);
        if let Some(error) = ToolError::of(&prefixed, &input_schema) {
            return Err(error.to_string());
        }
        let digest = ReviewedDefinition::of(tool.object()).map_err(invalid)?.digest();
        Ok(Self { tool, exposed, prefixed, input_schema, digest })
    }

    pub(crate) fn reviewed(&self) -> Reviewed<'_> {
        Reviewed { tool: &self.tool.name, digest: &self.digest, object: self.tool.object() }
    }

    /// The difference from the approved definition, of at most `budget` bytes, unless this one is approved.
    pub(crate) fn unapproved(&self, approval: &Approval, budget: usize) -> Option<UnapprovedTool> {
        let approved = match approval {
            Approval::Approved => return None,
            Approval::Changed(approved) => Some(approved),
            Approval::Added => None,
        };
        let earlier = approved.and_then(Approved::definition);
        // The digest was computed from it.
        let current = ReviewedDefinition::of(self.tool.object()).unwrap_or_default();
        let difference = current.difference(earlier.as_ref(), budget);
        Some(UnapprovedTool {
            name: self.tool.name.clone(),
            digest: self.digest.0.clone(),
            approved_digest: approved.map(|approved| approved.digest().0.clone()),
            difference: difference.lines,
            truncated: difference.is_truncated,
        })
    }

    /// The schema of the whole result.
    pub(crate) fn output_schema(&self) -> Value {
        let mut properties = Map::new();
        properties.insert("content".to_owned(), json!({ "type": "array" }));
        properties.insert("isError".to_owned(), json!({ "type": "boolean" }));
        if let Some(schema) = &self.tool.output_schema {
            // It is JSON, since the definition was read.
            let schema = serde_json::from_str(schema.get()).unwrap_or_default();
            properties.insert("structuredContent".to_owned(), schema);
        }
        json!({ "type": "object", "required": ["content"], "properties": properties })
    }
}

/// Declares the effects of an operation. Hints are not trusted: an absent one is the worst case.
pub(crate) fn with_hints(mut operation: Operation, hints: &ToolAnnotations) -> Operation {
    operation = match (hints.read_only_hint, hints.destructive_hint) {
        (Some(true), _) => operation.read_only(),
        (_, Some(false)) => operation.additive(),
        (_, Some(true)) => operation.destructive(),
        (_, None) => operation,
    };
    if hints.idempotent_hint == Some(true) {
        operation = operation.idempotent();
    }
    if hints.open_world_hint == Some(false) {
        operation = operation.closed_world();
    }
    operation
}

fn check_size(item: &RawValue) -> Result<(), String> {
    let size = item.get().len();
    if size <= MAX_ITEM {
        return Ok(());
    }
    Err(format!("the definition has {size} bytes; the limit is {MAX_ITEM}"))
}
