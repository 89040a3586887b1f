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
    /// Those of static operations. `is_complete` is whether all operations are static; otherwise, completions may refer to
    /// dynamic ones.
    ///
    /// # Errors
    /// The first operation that cannot be offered.
    pub(super) fn of_static<'a>(
        operations: impl Iterator<Item = &'a Arc<RegisteredOperation>> + Clone,
        is_complete: bool,
    ) -> Result<Self, McpError> {
        let tools = operations.clone().filter_map(Tool::of).collect::<Result<_, _>>()?;
        let mut offers = Self { tools, ..Self::default() };
        for operation in operations.clone() {
            offers.resources.add(operation, |_| false)?;
            offers.prompts.add(operation, |_| false)?;
        }
        let mut completions = Completions::default();
        for operation in operations {
            completions.add(operation, |completion| {
                if is_complete { offers.check(completion) } else { Ok(()) }
            })?;
        }
        offers.completions = completions;
        Ok(offers)
    }

    /// Those of dynamic operations. What cannot be offered, or is offered by static operations, is left out and logged.
    pub(super) fn of_dynamic<'a>(
        operations: impl Iterator<Item = &'a Arc<RegisteredOperation>> + Clone,
        fixed: &Self,
    ) -> Self {
        let tools = operations.clone().filter_map(Tool::of).filter_map(|tool| {
            let tool = tool.map_err(McpError::from);
            tool.inspect_err(log).ok()
        });
        let mut offers = Self { tools: tools.collect(), ..Self::default() };
        for operation in operations {
            let has = |uri: &str| {
                let fixed = &fixed.resources;
                fixed.has_resource(uri)
                    || fixed.has_template(uri)
                    || fixed.find_template(uri).is_some()
            };
            let added = [
                offers.resources.add(operation, has),
                offers.prompts.add(operation, |name| fixed.prompts.has(name)),
                offers.completions.add(operation, |completion| {
                    match fixed.completions.find(completion) {
                        Some(_) => Err("another operation completes it"),
                        None => Ok(()),
                    }
                }),
            ];
            added.iter().filter_map(|added| added.as_ref().err()).for_each(log);
        }
        offers
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

fn log(error: &McpError) {
    tracing::warn!(%error, "an operation is left out");
}
