//! Capabilities: the operations that an agent can call as tools.

use std::collections::HashSet;
use std::hash::{DefaultHasher, Hash, Hasher};
use std::sync::{Arc, OnceLock};

use serde::{Deserialize, Serialize};
use serde_json::{Map, Value, json};
use trunkline::layers::authorize::is_visible_to;
use trunkline::layers::validation::Validator;
use trunkline::protocol::{Description, RegisteredOperation};
use trunkline::tool::{is_for_models, is_listed, tool_text};
use trunkline::{Effect, ErrorObject, JsonSchema, Pattern, Schema};
use trunkline_mcp::tools::model_input;

use super::caller::Caller;
use super::config::AgentConfig;
use super::context::ToolCatalog;
use crate::conversation::Identity;
use crate::model;

/// An operation that an agent may call.
#[derive(Debug)]
pub(crate) struct Capability {
    operation: Arc<RegisteredOperation>,
    /// The name sent to the model, in the characters that endpoints accept.
    model_name: String,
    input: Schema,
    validator: OnceLock<Result<Validator, String>>,
    /// Whether calls need no confirmation, whatever their effect.
    skips_confirmation: bool,
}

/// The form in which a model requested a call.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Origin {
    /// As a tool call of the API.
    Native,
    /// As JSON in its text, which may be a quotation.
    Text,
}

/// A snapshot of all capabilities.
#[derive(Debug)]
pub(crate) struct Capabilities {
    operations: Arc<[Arc<RegisteredOperation>]>,
    all: Vec<Arc<Capability>>,
    /// The tools as sent with each request.
    catalog: ToolCatalog,
}

/// The description of a tool.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[non_exhaustive]
pub struct CapabilityDescription {
    /// The tool's name.
    pub name: String,
    /// A description for people and models.
    pub description: String,
    /// The JSON Schema of its arguments.
    #[serde(rename = "inputSchema")]
    pub input_schema: Value,
}

/// The maximum length of a tool name that endpoints accept.
const MAX_NAME_LENGTH: usize = 64;

impl Capabilities {
    pub(super) fn new(operations: Arc<[Arc<RegisteredOperation>]>, config: &AgentConfig) -> Self {
        let mut taken = HashSet::new();
        let is_offered = |operation: &&Arc<RegisteredOperation>| {
            let names = [Some(operation.name()), operation.description().tool.as_deref()];
            let is_in = |patterns: &[Pattern]| {
                names.iter().flatten().any(|name| Pattern::any(patterns, name))
            };
            let is_allowed = match config.allow.is_empty() {
                true => {
                    operation.description().tool.is_some() && is_listed(operation.description())
                }
                false => is_in(&config.allow) && is_for_models(operation.description()),
            };
            is_allowed && !is_in(&config.deny)
        };
        let offered = operations.iter().filter(is_offered);
        let all = offered.map(|operation| {
            let name = unique_model_name(tool_name(operation), &mut taken);
            Arc::new(Capability::new(operation, name, config))
        });
        let all = all.collect();
        Self::of(Arc::clone(&operations), all, config)
    }

    fn of(
        operations: Arc<[Arc<RegisteredOperation>]>,
        all: Vec<Arc<Capability>>,
        config: &AgentConfig,
    ) -> Self {
        let catalog = ToolCatalog::new(all.iter().map(|one| one.tool()), config);
        Self { operations, all, catalog }
    }

    /// Logs how many tools are not sent to the model.
    pub(super) fn warn_of_omitted(&self, config: &AgentConfig) {
        let (tools, limit) = (self.all.len(), config.max_tools);
        if tools > limit {
            tracing::warn!(
                tools,
                limit,
                "the model gets the first tools only; select them with `--agent-allow`, or increase \
                 `--agent-max-tools` if the endpoint accepts more"
            );
        }
    }

    /// Those that lists for the caller contain.
    pub(super) fn visible_to(self: Arc<Self>, caller: &Caller, config: &AgentConfig) -> Arc<Self> {
        let is_visible =
            |one: &&Arc<Capability>| is_visible_to(one.operation.description(), caller.principal());
        let visible: Vec<_> = self.all.iter().filter(is_visible).cloned().collect();
        if visible.len() == self.all.len() {
            return self;
        }
        Arc::new(Self::of(Arc::clone(&self.operations), visible, config))
    }

    /// Whether this is the snapshot of `operations`.
    pub(super) fn is_snapshot_of(&self, operations: &Arc<[Arc<RegisteredOperation>]>) -> bool {
        Arc::ptr_eq(&self.operations, operations)
    }

    /// Finds a capability by the name of its tool or operation.
    pub(super) fn find(&self, name: &str) -> Option<&Arc<Capability>> {
        let by_name = self.all.iter().find(|one| one.name() == name);
        by_name.or_else(|| self.find_operation(name))
    }

    /// Finds a capability by the name in a model's call. The names sent to the model take precedence over others.
    pub(super) fn find_by_model_name(&self, name: &str) -> Option<&Arc<Capability>> {
        self.all.iter().find(|one| one.model_name == name).or_else(|| self.find(name))
    }

    pub(super) fn find_operation(&self, name: &str) -> Option<&Arc<Capability>> {
        self.all.iter().find(|one| one.operation.name() == name)
    }

    pub(crate) fn iter(&self) -> impl Iterator<Item = &Arc<Capability>> {
        self.all.iter()
    }

    pub(crate) fn descriptions(&self) -> Vec<CapabilityDescription> {
        self.all.iter().map(|capability| capability.describe()).collect()
    }

    pub(super) fn catalog(&self) -> &ToolCatalog {
        &self.catalog
    }
}

impl Capability {
    fn new(operation: &Arc<RegisteredOperation>, model_name: String, config: &AgentConfig) -> Self {
        let description = operation.description();
        let skips_confirmation = Pattern::any(&config.skip_confirmation, operation.name())
            || Pattern::any(&config.skip_confirmation, tool_name(operation));
        Self {
            operation: Arc::clone(operation),
            model_name,
            input: description.input.clone().unwrap_or_else(|| schema_of_params(description)),
            validator: OnceLock::new(),
            skips_confirmation,
        }
    }

    /// The name of the tool, or else of the operation.
    pub(crate) fn name(&self) -> &str {
        tool_name(&self.operation)
    }

    /// The name sent to the model.
    pub(super) fn model_name(&self) -> &str {
        &self.model_name
    }

    /// Whether a call with these arguments needs confirmation.
    pub(super) fn needs_confirmation(
        &self,
        arguments: &Map<String, Value>,
        origin: Origin,
    ) -> bool {
        let effect = self.operation.description().effect_of(arguments);
        // An operation without a declared effect may have any.
        match (origin, effect) {
            (_, Some(Effect::ReadOnly)) => false,
            (Origin::Native, Some(Effect::Additive)) => false,
            (Origin::Native, _) => !self.skips_confirmation,
            (Origin::Text, _) => true,
        }
    }

    pub(crate) fn operation(&self) -> &Arc<RegisteredOperation> {
        &self.operation
    }

    /// The identity saved with a pending call, which another operation of the same name does not match.
    ///
    /// The hash is stable across restarts, but not across versions of this program; after an update a call may
    /// have to be proposed again.
    pub(super) fn identity(&self) -> Identity {
        let Description { title, text, effect, tool, revision, .. } = self.operation.description();
        let effect = effect.map(|effect| format!("{effect:?}"));
        let mut hasher = DefaultHasher::new();
        (title, text, effect, tool, revision).hash(&mut hasher);
        self.input().to_string().hash(&mut hasher);
        Identity { operation: self.operation.name().to_owned(), fingerprint: hasher.finish() }
    }

    pub(crate) fn input(&self) -> &Value {
        self.input.as_value()
    }

    /// The description for people and models.
    pub(crate) fn text(&self) -> String {
        tool_text(self.operation.description(), self.name()).into_owned()
    }

    /// The arguments in the types of the schema, as the call of the operation will have them.
    pub(crate) fn convert(&self, arguments: Map<String, Value>) -> Map<String, Value> {
        let text = serde_json::to_vec(&arguments).unwrap_or_default();
        let converted = self.operation.convert(&text);
        let converted = converted.and_then(|text| serde_json::from_slice(&text).ok());
        converted.unwrap_or(arguments)
    }

    /// Validates the arguments; the error is -32602.
    pub(crate) fn check(&self, arguments: &Map<String, Value>) -> Result<(), ErrorObject> {
        let validator = self
            .validator
            .get_or_init(|| Validator::new(&self.input).map_err(|error| error.reason().to_owned()));
        let validator = validator.as_ref().map_err(|reason| {
            ErrorObject::internal(&format_args!("invalid input schema: {reason}"))
        })?;
        let value = Value::Object(arguments.clone());
        let size = value.to_string().len();
        validator.check(&value, size).map_err(ErrorObject::from)
    }

    fn tool(&self) -> model::Tool {
        model::Tool {
            name: self.model_name.clone(),
            description: self.text(),
            input: model_input(self.operation.description(), self.input()).into(),
        }
    }

    fn describe(&self) -> CapabilityDescription {
        let input_schema = self.input().clone();
        CapabilityDescription {
            name: self.name().to_owned(),
            description: self.text(),
            input_schema,
        }
    }
}

/// The tools after a refresh, and the changes.
#[derive(Debug, Clone, Serialize, JsonSchema)]
#[non_exhaustive]
pub struct RefreshReport {
    /// All tools.
    pub tools: Vec<CapabilityDescription>,
    /// The names of new tools.
    pub added: Vec<String>,
    /// The names of tools with another description or schema.
    pub changed: Vec<String>,
    /// The names of removed tools.
    pub removed: Vec<String>,
}

impl RefreshReport {
    pub(super) fn between(
        before: &[CapabilityDescription],
        tools: Vec<CapabilityDescription>,
    ) -> Self {
        let find = |tools: &[CapabilityDescription], name: &str| {
            tools.iter().find(|tool| tool.name == name).cloned()
        };
        let mut refreshed =
            Self { tools: Vec::new(), added: Vec::new(), changed: Vec::new(), removed: Vec::new() };
        for tool in &tools {
            match find(before, &tool.name) {
                None => refreshed.added.push(tool.name.clone()),
                Some(earlier) if earlier != *tool => refreshed.changed.push(tool.name.clone()),
                Some(_) => {}
            }
        }
        let removed = before.iter().filter(|tool| find(&tools, &tool.name).is_none());
        refreshed.removed = removed.map(|tool| tool.name.clone()).collect();
        Self { tools, ..refreshed }
    }
}

fn tool_name(operation: &RegisteredOperation) -> &str {
    operation.description().tool.as_deref().unwrap_or(operation.name())
}

/// A unique name in the characters that endpoints accept.
fn unique_model_name(name: &str, taken: &mut HashSet<String>) -> String {
    let is_allowed = |c: char| c.is_ascii_alphanumeric() || matches!(c, '_' | '-');
    let name: String = name.chars().map(|c| if is_allowed(c) { c } else { '_' }).collect();
    let numbered = (1_u32..).map(|number| match number {
        1 => name[..name.len().min(MAX_NAME_LENGTH)].to_owned(),
        number => {
            let ending = format!("_{number}");
            format!("{}{ending}", &name[..name.len().min(MAX_NAME_LENGTH - ending.len())])
        }
    });
    let free = numbered.into_iter().find(|name| !taken.contains(name)).unwrap_or_default();
    taken.insert(free.clone());
    free
}

/// The input schema of an operation that declares none: the names of its params.
fn schema_of_params(description: &Description) -> Schema {
    let properties = description.params.iter().map(|name| ((*name).to_owned(), json!({})));
    let properties: Map<String, Value> = properties.collect();
    json!({ "type": "object", "properties": properties }).into()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn model_names_are_valid_and_unique() {
        let mut taken = HashSet::new();
        let long = "x".repeat(100);
        for (name, expected) in [
            ("db.list", "db_list"),
            ("db_list", "db_list_2"),
            ("db list", "db_list_3"),
            ("é-1", "_-1"),
            (&long, &long[..64]),
            (&long, &*format!("{}_2", &long[..62])),
        ] {
            assert_eq!(unique_model_name(name, &mut taken), expected, "{name}");
        }
    }
}
