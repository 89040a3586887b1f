//! What an agent can do: operations as tools.

use std::collections::HashSet;
use std::hash::{DefaultHasher, Hash, Hasher};
use std::sync::{Arc, OnceLock};

use serde::{Deserialize, Serialize};
use serde_json::{Map, Value, json};
use trunkline::layers::validation::Validator;
use trunkline::protocol::{Description, Registered};
use trunkline::{Effect, ErrorObject, JsonSchema, Schema};

use super::context::Offered;
use super::settings::Settings;
use crate::conversation::Identity;
use crate::model;

/// An operation that an agent may call.
#[derive(Debug)]
pub(crate) struct Capability {
    operation: Arc<Registered>,
    /// As the model knows it, in the characters that endpoints take.
    offered: String,
    input: Schema,
    validator: OnceLock<Result<Validator, String>>,
    /// Its calls are made at once, whatever they do.
    is_excepted: bool,
}

/// How a model has said what it wants to have called.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Origin {
    /// As endpoints have calls.
    Called,
    /// As its text, which may repeat what somebody else has written.
    Written,
}

/// All of them, of one moment.
#[derive(Debug)]
pub(crate) struct Capabilities {
    operations: Arc<[Arc<Registered>]>,
    all: Vec<Arc<Capability>>,
    /// The same for each question.
    offered: Offered,
}

/// A tool, for those who want to know what there is.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[non_exhaustive]
pub struct CapabilityDescription {
    /// Its name.
    pub name: String,
    /// What it does.
    pub description: String,
    /// What its arguments are: a JSON Schema.
    #[serde(rename = "inputSchema")]
    pub input_schema: Value,
}

/// Endpoints take no longer names.
const LONGEST_NAME: usize = 64;

impl Capabilities {
    pub(super) fn of(operations: Arc<[Arc<Registered>]>, settings: &Settings) -> Self {
        let mut taken = HashSet::new();
        let is_offered = |operation: &&Arc<Registered>| {
            let names = [Some(operation.name()), operation.description().tool.as_deref()];
            let is_in = |patterns: &super::Patterns| {
                names.iter().flatten().any(|name| patterns.matches(name))
            };
            let is_allowed = match settings.allow.is_empty() {
                true => operation.description().tool.is_some(),
                false => is_in(&settings.allow),
            };
            is_allowed && !is_in(&settings.deny)
        };
        let offered = operations.iter().filter(is_offered);
        let all = offered.map(|operation| {
            let name = offered_name(tool_name(operation), &mut taken);
            Arc::new(Capability::new(operation, name, settings))
        });
        let all: Vec<_> = all.collect();
        let offered = Offered::new(all.iter().map(|one| one.tool()).collect(), settings);
        Self { operations, all, offered }
    }

    /// Whether they are those of these operations, none of which has come or gone since.
    pub(super) fn are_of(&self, operations: &Arc<[Arc<Registered>]>) -> bool {
        Arc::ptr_eq(&self.operations, operations)
    }

    /// By the tool's name, or the operation's.
    pub(super) fn find(&self, name: &str) -> Option<&Arc<Capability>> {
        let by_name = self.all.iter().find(|one| one.name() == name);
        by_name.or_else(|| self.of_operation(name))
    }

    /// By the name that a model calls. What it was offered comes first: others may have that name, too.
    pub(super) fn called(&self, name: &str) -> Option<&Arc<Capability>> {
        self.all.iter().find(|one| one.offered == name).or_else(|| self.find(name))
    }

    pub(super) fn of_operation(&self, name: &str) -> Option<&Arc<Capability>> {
        self.all.iter().find(|one| one.operation.name() == name)
    }

    pub(crate) fn iter(&self) -> impl Iterator<Item = &Arc<Capability>> {
        self.all.iter()
    }

    pub(crate) fn descriptions(&self) -> Vec<CapabilityDescription> {
        self.all.iter().map(|capability| capability.describe()).collect()
    }

    pub(super) fn offered(&self) -> &Offered {
        &self.offered
    }
}

impl Capability {
    fn new(operation: &Arc<Registered>, offered: String, settings: &Settings) -> Self {
        let description = operation.description();
        let is_excepted = settings.unconfirmed.matches(operation.name())
            || settings.unconfirmed.matches(tool_name(operation));
        Self {
            operation: Arc::clone(operation),
            offered,
            input: description.input.clone().unwrap_or_else(|| undeclared(description)),
            validator: OnceLock::new(),
            is_excepted,
        }
    }

    /// That of the tool; of what is none, the operation's.
    pub(crate) fn name(&self) -> &str {
        tool_name(&self.operation)
    }

    /// As the model knows it.
    pub(super) fn offered(&self) -> &str {
        &self.offered
    }

    /// Whether a call with these arguments waits until it is confirmed.
    pub(super) fn needs_confirmation(
        &self,
        arguments: &Map<String, Value>,
        origin: Origin,
    ) -> bool {
        let effect = self.operation.description().effect_of(arguments);
        // What does not say what it does may do anything.
        match (origin, effect) {
            (_, Some(Effect::Reads)) => false,
            (Origin::Called, Some(Effect::Adds)) => false,
            (Origin::Called, _) => !self.is_excepted,
            (Origin::Written, _) => true,
        }
    }

    pub(crate) fn operation(&self) -> &Arc<Registered> {
        &self.operation
    }

    /// What it is, as it is kept with a call that waits: another one of its name is not the same.
    ///
    /// The hash is the same after a restart. It need not be in another version of this program; then a call
    /// has to be proposed again.
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

    /// What it does, for people and models.
    pub(crate) fn text(&self) -> String {
        let description = self.operation.description();
        let text = description.text.as_ref().or(description.title.as_ref());
        text.cloned().unwrap_or_default()
    }

    /// Whether the arguments fit; or -32602.
    pub(crate) fn check(&self, arguments: &Map<String, Value>) -> Result<(), ErrorObject> {
        let validator = self
            .validator
            .get_or_init(|| Validator::new(&self.input).map_err(|error| error.reason().to_owned()));
        let validator = validator.as_ref().map_err(|reason| {
            ErrorObject::internal(&format_args!("an input schema cannot be used: {reason}"))
        })?;
        let value = Value::Object(arguments.clone());
        let size = value.to_string().len();
        validator.check(&value, size).map_err(ErrorObject::from)
    }

    fn tool(&self) -> model::Tool {
        model::Tool {
            name: self.offered.clone(),
            description: self.text(),
            input: self.input.clone(),
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

/// The tools, and their changes.
#[derive(Debug, Clone, Serialize, JsonSchema)]
#[non_exhaustive]
pub struct Refreshed {
    /// All tools.
    pub tools: Vec<CapabilityDescription>,
    /// The names of new tools.
    pub added: Vec<String>,
    /// The names of tools with another description or schema.
    pub changed: Vec<String>,
    /// The names of removed tools.
    pub removed: Vec<String>,
}

impl Refreshed {
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
        let gone = before.iter().filter(|tool| find(&tools, &tool.name).is_none());
        refreshed.removed = gone.map(|tool| tool.name.clone()).collect();
        Self { tools, ..refreshed }
    }
}

fn tool_name(operation: &Registered) -> &str {
    operation.description().tool.as_deref().unwrap_or(operation.name())
}

/// A name of the characters that endpoints take, which no other has.
fn offered_name(name: &str, taken: &mut HashSet<String>) -> String {
    let is_taken = |c: char| c.is_ascii_alphanumeric() || matches!(c, '_' | '-');
    let name: String = name.chars().map(|c| if is_taken(c) { c } else { '_' }).collect();
    let numbered = (1_u32..).map(|number| match number {
        1 => name[..name.len().min(LONGEST_NAME)].to_owned(),
        number => {
            let ending = format!("_{number}");
            format!("{}{ending}", &name[..name.len().min(LONGEST_NAME - ending.len())])
        }
    });
    let free = numbered.into_iter().find(|name| !taken.contains(name)).unwrap_or_default();
    taken.insert(free.clone());
    free
}

/// The input schema of an operation that declares none: the names of its params.
fn undeclared(description: &Description) -> Schema {
    let properties = description.params.iter().map(|name| ((*name).to_owned(), json!({})));
    let properties: Map<String, Value> = properties.collect();
    json!({ "type": "object", "properties": properties }).into()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_fit_endpoints_and_differ() {
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
            assert_eq!(offered_name(name, &mut taken), expected, "{name}");
        }
    }
}
