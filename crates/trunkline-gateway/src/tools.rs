//! The tools of an upstream as operations.

use std::collections::{BTreeMap, HashSet};
use std::fmt::Write;
use std::sync::Arc;

use ring::digest::{SHA256, digest};
use serde::Deserialize;
use serde::de::DeserializeOwned;
use serde_json::value::RawValue;
use serde_json::{Map, Value, json};
use trunkline::protocol::excerpt;
use trunkline::{Operation, Schema};
use trunkline_mcp::client::{List, Tool};
use trunkline_mcp::{Prompt, Resource, ResourceTemplate, ToolError};

use crate::approvals::Digest;
use crate::config::UpstreamConfig;
use crate::name::UpstreamName;
use crate::status::RejectedItem;

/// The maximum size of an item of a list in bytes. Every client receives the items in its lists.
const MAX_ITEM: usize = 256 << 10;

/// A tool that can be offered.
#[derive(Debug)]
pub(crate) struct OfferedTool {
    /// As the client received it.
    pub(crate) tool: Tool,
    /// The name of the method, without the upstream.
    pub(crate) exposed: String,
    /// The name for language models.
    pub(crate) prefixed: String,
    pub(crate) definition: Definition,
    pub(crate) digest: Digest,
}

/// The parts of a tool's definition that its operation has.
#[derive(Debug, Deserialize)]
#[serde(rename_all = "camelCase")]
pub(crate) struct Definition {
    pub(crate) title: Option<String>,
    pub(crate) description: Option<String>,
    pub(crate) input_schema: Value,
    pub(crate) output_schema: Option<Value>,
    #[serde(default)]
    pub(crate) annotations: Annotations,
}

/// The hints about a tool.
#[derive(Debug, Default, Deserialize)]
#[serde(rename_all = "camelCase")]
pub(crate) struct Annotations {
    pub(crate) title: Option<String>,
    pub(crate) read_only_hint: Option<bool>,
    pub(crate) destructive_hint: Option<bool>,
    pub(crate) idempotent_hint: Option<bool>,
    pub(crate) open_world_hint: Option<bool>,
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
    pub(crate) resources: Result<Vec<Box<RawValue>>, String>,
    pub(crate) templates: Result<Vec<Box<RawValue>>, String>,
    pub(crate) prompts: Result<Vec<Box<RawValue>>, String>,
    pub(crate) has_completions: bool,
}

impl Selection {
    /// Adds resources and prompts. URIs stay unchanged, since results contain them.
    pub(crate) fn add(&mut self, upstream: &UpstreamName, lists: OtherLists) {
        let OtherLists { resources, templates, prompts, has_completions } = lists;
        self.has_completions = has_completions;
        let mut uris = HashSet::new();
        for mut resource in self.read::<Resource>("resources/list", resources) {
            if uris.insert(resource.uri.clone()) {
                resource.name = upstream.prefixed(&resource.name);
                self.resources.push(resource);
            }
        }
        for mut template in self.read::<ResourceTemplate>("resources/templates/list", templates) {
            if uris.insert(template.uri_template.clone()) {
                template.name = upstream.prefixed(&template.name);
                self.templates.push(template);
            }
        }
        let mut names = HashSet::new();
        for mut prompt in self.read::<Prompt>("prompts/list", prompts) {
            let exposed = upstream.exposed(&prompt.name);
            if names.insert(exposed.clone()) {
                let name = std::mem::replace(&mut prompt.name, upstream.prefixed(&exposed));
                self.prompts.push(OfferedPrompt { name, exposed, prompt });
            }
        }
    }

    fn read<T: DeserializeOwned>(
        &mut self,
        method: &str,
        list: Result<Vec<Box<RawValue>>, String>,
    ) -> Vec<T> {
        let items = match list {
            Ok(items) => items,
            Err(reason) => {
                self.reject(method.to_owned(), reason);
                return Vec::new();
            }
        };
        let invalid = |error: serde_json::Error| format!("invalid item: {error}");
        let mut read = Vec::with_capacity(items.len());
        for item in items {
            match check_size(&item).and_then(|()| serde_json::from_str(item.get()).map_err(invalid))
            {
                Ok(item) => read.push(item),
                Err(reason) => self.reject(method.to_owned(), reason),
            }
        }
        read
    }

    /// Selects the tools that the configuration allows.
    ///
    /// # Errors
    /// If there are too many tools.
    pub(crate) fn new(
        upstream: &UpstreamName,
        config: &UpstreamConfig,
        list: List<Tool>,
    ) -> Result<Self, String> {
        let count = list.items.len();
        if count > config.max_tools {
            return Err(format!("the server has {count} tools; the limit is {}", config.max_tools));
        }
        let mut selection = Self::default();
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
    fn new(upstream: &UpstreamName, tool: Tool) -> Result<Self, String> {
        check_size(&tool.object)?;
        let invalid = |error: serde_json::Error| format!("invalid definition: {error}");
        let definition: Definition = serde_json::from_str(tool.object.get()).map_err(invalid)?;
        let exposed = upstream.exposed(&tool.name);
        let prefixed = upstream.prefixed(&exposed);
        if let Some(error) =
            ToolError::of(&prefixed, &Schema::from(definition.input_schema.clone()))
        {
            return Err(error.to_string());
        }
        let digest = digest_of(&tool.object).map_err(invalid)?;
        Ok(Self { tool, exposed, prefixed, definition, digest })
    }

    /// The schema of the whole result.
    pub(crate) fn output_schema(&self) -> Value {
        let mut properties = Map::new();
        properties.insert("content".to_owned(), json!({ "type": "array" }));
        properties.insert("isError".to_owned(), json!({ "type": "boolean" }));
        if let Some(schema) = &self.definition.output_schema {
            properties.insert("structuredContent".to_owned(), schema.clone());
        }
        json!({ "type": "object", "required": ["content"], "properties": properties })
    }
}

impl Annotations {
    /// Declares the effects of an operation. Hints are not trusted: an absent one is the worst case.
    pub(crate) fn apply(&self, mut operation: Operation) -> Operation {
        operation = match (self.read_only_hint, self.destructive_hint) {
            (Some(true), _) => operation.read_only(),
            (_, Some(false)) => operation.additive(),
            (_, Some(true)) => operation.destructive(),
            (_, None) => operation,
        };
        if self.idempotent_hint == Some(true) {
            operation = operation.idempotent();
        }
        if self.open_world_hint == Some(false) {
            operation = operation.closed_world();
        }
        operation
    }
}

fn check_size(item: &RawValue) -> Result<(), String> {
    let size = item.get().len();
    if size <= MAX_ITEM {
        return Ok(());
    }
    Err(format!("the definition has {size} bytes; the limit is {MAX_ITEM}"))
}

/// The digest of the members that a model or a user sees: title, description, schemas and annotations. The order of
/// members and the spaces do not matter.
fn digest_of(tool: &RawValue) -> Result<Digest, serde_json::Error> {
    const MEMBERS: [&str; 5] =
        ["title", "description", "inputSchema", "outputSchema", "annotations"];
    let object: BTreeMap<String, Value> = serde_json::from_str(tool.get())?;
    let mut text = String::new();
    for member in MEMBERS {
        write_canonical(&mut text, object.get(member).unwrap_or(&Value::Null));
        text.push('\n');
    }
    let digest = digest(&SHA256, text.as_bytes());
    let mut digits = String::with_capacity(64);
    for byte in digest.as_ref() {
        // Writing to a string never fails.
        let _ = write!(digits, "{byte:02x}");
    }
    Ok(Digest(digits))
}

/// Appends JSON whose objects are sorted by key.
fn write_canonical(text: &mut String, value: &Value) {
    match value {
        Value::Object(members) => {
            let members: BTreeMap<_, _> = members.iter().collect();
            text.push('{');
            for (name, value) in members {
                *text += &Value::from(name.as_str()).to_string();
                text.push(':');
                write_canonical(text, value);
                text.push(',');
            }
            text.push('}');
        }
        Value::Array(items) => {
            text.push('[');
            for item in items {
                write_canonical(text, item);
                text.push(',');
            }
            text.push(']');
        }
        value => *text += &value.to_string(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[track_caller]
    fn check(one: Value, other: Value, is_same: bool) {
        let digest = |value: &Value| digest_of(&serde_json::value::to_raw_value(value).unwrap());
        assert_eq!(digest(&one).unwrap() == digest(&other).unwrap(), is_same, "{one} {other}");
    }

    #[test]
    fn digests_of_definitions() {
        let tool = || json!({"name": "a", "description": "b", "inputSchema": {"type": "object", "x": [1, 2]}});
        let with = |member: &str, value: Value| {
            let mut tool = tool();
            tool[member] = value;
            tool
        };
        check(tool(), tool(), true);
        check(tool(), with("name", "c".into()), true);
        check(tool(), with("_meta", json!({"a": 1})), true);
        check(tool(), with("inputSchema", json!({"x": [1, 2], "type": "object"})), true);
        check(tool(), with("inputSchema", json!({"x": [2, 1], "type": "object"})), false);
        check(tool(), with("description", "c".into()), false);
        check(tool(), with("title", "c".into()), false);
        check(tool(), with("outputSchema", json!({})), false);
        check(tool(), with("annotations", json!({"readOnlyHint": true})), false);
        // Text that moves from one member to another.
        check(json!({"title": "a"}), json!({"description": "a"}), false);
    }
}
