//! Warnings about lists that some clients cannot use whole.

use super::offers::Offers;
use super::prebuilt::PrebuiltResults;

/// What clients cannot use in the lists of tools and prompts.
#[derive(Debug, Default, PartialEq, Eq)]
pub(super) struct ListWarnings {
    /// The names that are too long, and those in lists.
    shortened: Vec<(String, String)>,
}

/// The maximum number of names in a message.
const MAX_NAMES: usize = 20;

impl ListWarnings {
    pub(super) fn of(offers: [&Offers; 2]) -> Self {
        let tools = offers.into_iter().flat_map(|offers| offers.tools.shortened());
        let prompts = offers.into_iter().flat_map(|offers| offers.prompts.shortened());
        let names = tools.chain(prompts).map(|(name, listed)| (name.to_owned(), listed.to_owned()));
        Self { shortened: names.collect() }
    }

    /// Logs what was not the case before.
    pub(super) fn log_changes(&self, before: &Self, results: &PrebuiltResults) {
        let new: Vec<_> =
            self.shortened.iter().filter(|names| !before.shortened.contains(names)).collect();
        if !new.is_empty() {
            let names = new.iter().take(MAX_NAMES);
            let names: Vec<_> =
                names.map(|(name, listed)| format!("`{name}` as `{listed}`")).collect();
            let others = match new.len().saturating_sub(MAX_NAMES) {
                0 => String::new(),
                others => format!(", and {others} more"),
            };
            let max = results.max_name();
            tracing::warn!(
                "names longer than {max} characters are listed in a short form, since clients add a prefix and accept \
                 at most 64 characters; calls by the full name still work: {}{others}",
                names.join(", ")
            );
        }
    }
}
