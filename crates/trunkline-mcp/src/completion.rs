//! Operations that complete the arguments of prompts and the variables of resource templates.

use std::collections::BTreeMap;
use std::sync::Arc;

use serde::{Deserialize, Serialize};
use serde_json::Value;
use trunkline::JsonSchema;
use trunkline::protocol::RegisteredOperation;

use crate::error::McpError;
use crate::model::CompletionTarget;

/// An argument of a prompt, or a variable of a resource template, that an operation completes.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub struct Completion {
    pub(crate) target: CompletionTarget,
    pub(crate) argument: String,
}

/// The params of an operation that completes a value.
///
/// ```
/// # use trunkline::{Operation, Params, Router};
/// # use trunkline_mcp::{Completion, CompletionParams, McpOperation, Prompt, PromptArgument};
/// let review = Operation::new("review", || "Review this code.")
///     .prompt(Prompt::new("review").argument(PromptArgument::new("language")));
/// let languages = Operation::new("languages", |Params(params): Params<CompletionParams>| {
///     params.filter(["C", "Python", "Rust"])
/// })
/// .completes([Completion::prompt("review", "language")]);
/// # let rpc = Router::<()>::new().operation(review).operation(languages).build().unwrap();
/// # trunkline_mcp::Mcp::new(rpc, trunkline_mcp::McpConfig::new("test", "1")).unwrap();
/// ```
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[schemars(crate = "trunkline::schemars")]
#[non_exhaustive]
pub struct CompletionParams {
    /// The name of the argument or variable, for operations that complete several.
    #[serde(default)]
    pub argument: String,
    /// The text so far.
    pub value: String,
    /// The other arguments or variables that are known.
    #[serde(default)]
    pub context: BTreeMap<String, String>,
}

impl Completion {
    /// An argument of a prompt.
    pub fn prompt(name: impl Into<String>, argument: impl Into<String>) -> Self {
        Self { target: CompletionTarget::Prompt(name.into()), argument: argument.into() }
    }

    /// A variable of the template with this text.
    pub fn template(template: impl Into<String>, variable: impl Into<String>) -> Self {
        Self { target: CompletionTarget::Resource(template.into()), argument: variable.into() }
    }

    fn error(&self, reason: &'static str) -> McpError {
        let (of, argument) = (self.target.name().to_owned(), self.argument.clone());
        McpError::Completion { of, argument, reason }
    }
}

impl CompletionParams {
    pub(crate) fn new(argument: String, value: String, context: BTreeMap<String, String>) -> Self {
        Self { argument, value, context }
    }

    /// The values that begin with the text so far, followed by those that contain it. Case is ignored.
    pub fn filter<T: Into<String>>(&self, values: impl IntoIterator<Item = T>) -> Vec<String> {
        let text = self.value.to_lowercase();
        let (mut first, mut others) = (Vec::new(), Vec::new());
        for value in values {
            let value = value.into();
            match value.to_lowercase().find(&text) {
                Some(0) => first.push(value),
                Some(_) => others.push(value),
                None => {}
            }
        }
        first.append(&mut others);
        first
    }
}

/// The arguments that an operation completes. An extension of its description.
#[derive(Debug)]
pub(crate) struct Completes {
    pub(crate) completions: Vec<Completion>,
    pub(crate) form: CompletionForm,
}

/// The params and results of an operation that completes.
#[derive(Debug, Clone, Copy)]
pub(crate) enum CompletionForm {
    /// [`CompletionParams`], and values.
    AsResult,
    /// Functions convert them.
    By { params: fn(&CompletionParams) -> Option<Value>, values: fn(result: &[u8]) -> Vec<String> },
}

impl CompletionForm {
    /// The form of an operation that completes.
    pub(crate) fn of(operation: &RegisteredOperation) -> Self {
        let completes = operation.description().extensions.get::<Completes>();
        completes.map_or(Self::AsResult, |completes| completes.form)
    }
}

/// The operations by what they complete.
#[derive(Debug, Default)]
pub(crate) struct Completions(BTreeMap<Completion, Arc<RegisteredOperation>>);

impl Completions {
    /// Adds the completions of an operation, unless another one is among them or in `others`.
    pub(crate) fn add(
        &mut self,
        operation: &Arc<RegisteredOperation>,
        others: &Self,
    ) -> Result<(), McpError> {
        let completes = operation.description().extensions.get::<Completes>();
        for completion in completes.iter().flat_map(|completes| &completes.completions) {
            if others.0.contains_key(completion) || self.0.contains_key(completion) {
                return Err(completion.error("another operation completes it"));
            }
            self.0.insert(completion.clone(), Arc::clone(operation));
        }
        Ok(())
    }

    /// Checks the completions. The error is the reason why one is not possible.
    pub(crate) fn check(
        &self,
        check: impl Fn(&Completion) -> Result<(), &'static str>,
    ) -> Result<(), McpError> {
        let mut all = self.0.keys();
        all.try_for_each(|completion| check(completion).map_err(|reason| completion.error(reason)))
    }

    pub(crate) fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    pub(crate) fn find(&self, completion: &Completion) -> Option<&Arc<RegisteredOperation>> {
        self.0.get(completion)
    }
}
