//! Operations as prompts.

mod result;

use std::collections::BTreeMap;
use std::sync::Arc;

use serde_json::{Map, Value, json};
use trunkline::Schema;
use trunkline::protocol::{Description, RegisteredOperation};

use crate::arguments::Arguments;
use crate::error::McpError;
use crate::model::{Prompt, PromptArgument};
use crate::name::shortened;
use crate::resource::first_text;
pub(crate) use result::write_prompt;

/// Prompts by name, and in the order of their registration.
#[derive(Debug, Default)]
pub(crate) struct Prompts {
    prompts: Vec<Arc<PromptSource>>,
    by_name: BTreeMap<String, Arc<PromptSource>>,
}

/// An operation that returns the messages of a prompt.
#[derive(Debug)]
pub(crate) struct PromptSource {
    pub(crate) operation: Arc<RegisteredOperation>,
    pub(crate) description: Option<String>,
    pub(crate) name: String,
    /// The name in lists, if it is not the name itself.
    short_name: Option<String>,
    schema: Schema,
    arguments: Arguments,
    /// The entry of the list.
    entry: Vec<u8>,
}

impl Prompts {
    /// Adds the prompt of an operation, if it has one. Lists contain names of at most `max_name` characters. `has` is
    /// whether a name is registered elsewhere.
    pub(crate) fn add(
        &mut self,
        operation: &Arc<RegisteredOperation>,
        max_name: usize,
        has: impl Fn(&str) -> bool,
    ) -> Result<(), McpError> {
        let Some(prompt) = operation.description().extensions.get::<Prompt>() else {
            return Ok(());
        };
        let name = &prompt.name;
        let failure =
            |reason: &str| McpError::Prompt { name: name.clone(), reason: reason.to_owned() };
        if name.is_empty() || name.len() > MAX_NAME || name.chars().any(char::is_control) {
            return Err(failure("a name has 1 to 128 bytes and no control characters"));
        }
        let short_name = shortened(name, max_name);
        let is_taken = |name: &String| self.has(name) || has(name);
        if is_taken(name) || short_name.as_ref().is_some_and(is_taken) {
            return Err(failure("another operation has the same prompt"));
        }
        let source = PromptSource::of(operation, prompt, short_name);
        let source = Arc::new(source.map_err(|reason| failure(&reason))?);
        if let Some(name) = &source.short_name {
            self.by_name.insert(name.clone(), Arc::clone(&source));
        }
        self.by_name.insert(name.clone(), Arc::clone(&source));
        self.prompts.push(source);
        Ok(())
    }

    pub(crate) fn is_empty(&self) -> bool {
        self.prompts.is_empty()
    }

    pub(crate) fn has(&self, name: &str) -> bool {
        self.by_name.contains_key(name)
    }

    pub(crate) fn find(&self, name: &str) -> Option<&Arc<PromptSource>> {
        self.by_name.get(name)
    }

    /// The names that lists contain in a short form, and this form.
    pub(crate) fn shortened(&self) -> impl Iterator<Item = (&str, &str)> {
        let prompts = self.prompts.iter();
        prompts.filter_map(|prompt| Some((prompt.name.as_str(), prompt.short_name.as_deref()?)))
    }

    /// The entries of `prompts/list`.
    pub(crate) fn entries(&self) -> impl Iterator<Item = (&Arc<RegisteredOperation>, &[u8])> {
        self.prompts.iter().map(|prompt| (&prompt.operation, &*prompt.entry))
    }
}

/// The maximum length of a name in bytes.
const MAX_NAME: usize = 128;

impl PromptSource {
    fn of(
        operation: &Arc<RegisteredOperation>,
        prompt: &Prompt,
        short_name: Option<String>,
    ) -> Result<Self, String> {
        let description = operation.description();
        let mut entry = prompt.clone();
        entry.title = first_text([&prompt.title, &description.title]);
        entry.description = first_text([&prompt.description, &description.text]);
        if entry.arguments.is_empty() {
            entry.arguments = arguments_of(description);
        }
        for argument in &mut entry.arguments {
            argument.title = first_text([&argument.title]);
            argument.description = first_text([&argument.description]);
        }
        if let Some(name) = &short_name {
            entry.name.clone_from(name);
        }
        let schema = description.input.clone().unwrap_or_else(|| schema_of(&entry.arguments));
        Ok(Self {
            operation: Arc::clone(operation),
            arguments: Arguments::of(&schema)?,
            schema,
            entry: serde_json::to_vec(&entry).expect("a prompt serialises into memory"),
            name: prompt.name.clone(),
            short_name,
            description: entry.description,
        })
    }

    /// Whether the prompt has an argument of this name.
    pub(crate) fn has_argument(&self, name: &str) -> bool {
        self.schema.as_value().get("properties").is_some_and(|all| all.get(name).is_some())
    }

    /// Checks the JSON text of arguments, an object, whose texts were converted to the types of the schema.
    ///
    /// # Errors
    /// A description of the faults.
    pub(crate) fn check(&self, arguments: &[u8]) -> Result<(), String> {
        self.arguments.check(&self.name, arguments)
    }
}

/// The arguments in the schema of an operation, in the order of its params. Schemas have no order.
fn arguments_of(description: &Description) -> Vec<PromptArgument> {
    let schema = description.input.as_ref().map(Schema::as_value);
    let properties = schema.and_then(|schema| schema.get("properties")?.as_object());
    let required = schema.and_then(|schema| schema.get("required")?.as_array());
    let is_required = |name: &str| required.into_iter().flatten().any(|one| one == name);
    let text = |param: &Value, member: &str| param.get(member)?.as_str().map(str::to_owned);
    let argument = |(name, param): (&String, &Value)| PromptArgument {
        name: name.clone(),
        title: text(param, "title"),
        description: text(param, "description"),
        required: is_required(name),
    };
    let mut arguments: Vec<PromptArgument> =
        properties.into_iter().flatten().map(argument).collect();
    let position = |argument: &PromptArgument| {
        description.params.iter().position(|name| *name == argument.name).unwrap_or(usize::MAX)
    };
    arguments.sort_by_key(|argument| (position(argument), !argument.required));
    arguments
}

/// The schema of an operation that declares none: the arguments of its prompt, which are texts.
fn schema_of(arguments: &[PromptArgument]) -> Schema {
    let property = |argument: &PromptArgument| (argument.name.clone(), json!({ "type": "string" }));
    let properties: Map<String, Value> = arguments.iter().map(property).collect();
    let required = arguments.iter().filter(|argument| argument.required);
    let required: Vec<&str> = required.map(|argument| &*argument.name).collect();
    json!({ "type": "object", "properties": properties, "required": required }).into()
}
