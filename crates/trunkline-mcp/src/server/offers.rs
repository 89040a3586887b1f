//! The tools, resources, prompts and completions of a set of operations.

use std::sync::Arc;

use trunkline::protocol::RegisteredOperation;

use crate::completion::{Completion, Completions};
use crate::error::McpError;
use crate::model::CompletionTarget;
use crate::prompt::Prompts;
use crate::resource::Resources;
use crate::tool::{Tool, Tools};

#[derive(Debug, Default)]
pub(super) struct Offers {
    pub(super) tools: Tools,
    pub(super) resources: Resources,
    pub(super) prompts: Prompts,
    pub(super) completions: Completions,
}

impl Offers {
    /// Those of static operations. `max_name` is the maximum length of names in lists. `is_complete` is whether all
    /// operations are static; otherwise, completions may refer to dynamic ones.
    ///
    /// # Errors
    /// The first operation that cannot be offered.
    pub(super) fn of_static<'a>(
        operations: impl Iterator<Item = &'a Arc<RegisteredOperation>> + Clone,
        max_name: usize,
        is_complete: bool,
    ) -> Result<Self, McpError> {
        let (offers, errors) = Self::of(operations, &Self::default(), max_name);
        errors.into_iter().try_for_each(Err)?;
        if is_complete {
            offers.completions.check(|completion| offers.check(completion))?;
        }
        Ok(offers)
    }

    /// Those of dynamic operations. What cannot be offered, or is offered by static operations, is left out and logged.
    pub(super) fn of_dynamic<'a>(
        operations: impl Iterator<Item = &'a Arc<RegisteredOperation>> + Clone,
        fixed: &Self,
        max_name: usize,
    ) -> Self {
        let (offers, errors) = Self::of(operations, fixed, max_name);
        for error in errors {
            tracing::warn!(%error, "an operation is left out");
        }
        offers
    }

    /// Those of operations, and the reasons why others cannot be offered, of which one is that `fixed` has the same.
    fn of<'a>(
        operations: impl Iterator<Item = &'a Arc<RegisteredOperation>> + Clone,
        fixed: &Self,
        max_name: usize,
    ) -> (Self, Vec<McpError>) {
        let mut errors = Vec::new();
        let tools = operations.clone().filter_map(|operation| Tool::of(operation, max_name));
        let tools = tools.filter_map(|tool| tool.map_err(|error| errors.push(error.into())).ok());
        let tools = Tools::new(tools, |name| fixed.tools.find(name).is_some());
        let mut offers = Self { tools, ..Self::default() };
        for operation in operations {
            let has = |uri: &str| {
                let fixed = &fixed.resources;
                fixed.has_resource(uri)
                    || fixed.has_template(uri)
                    || fixed.find_template(uri).is_some()
            };
            let added = [
                offers.resources.add(operation, has),
                offers.prompts.add(operation, max_name, |name| fixed.prompts.has(name)),
                offers.completions.add(operation, &fixed.completions),
            ];
            errors.extend(added.into_iter().filter_map(Result::err));
        }
        (offers, errors)
    }

    /// Checks that the argument or variable of a completion exists.
    fn check(&self, completion: &Completion) -> Result<(), &'static str> {
        let Completion { target, argument } = completion;
        let exists = match target {
            CompletionTarget::Prompt(name) => {
                let prompt = self.prompts.find(name).ok_or("no operation has this prompt")?;
                prompt.has_argument(argument)
            }
            CompletionTarget::Resource(uri) => {
                let names = self.resources.variables(uri);
                names.ok_or("no operation has this template")?.any(|name| name == argument)
            }
        };
        if exists { Ok(()) } else { Err("it does not exist") }
    }
}
