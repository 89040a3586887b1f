//! Warnings about lists that some clients cannot use whole.

use super::offers::Offers;
use super::prebuilt::PrebuiltResults;

/// The names and the number of tools that some clients cannot use.
#[derive(Debug, Default, PartialEq, Eq)]
pub(super) struct ListWarnings {
    /// The names that are too long, and those in lists.
    shortened: Vec<(String, String)>,
    /// The number of tools, if they do not fit into one page.
    paged_tools: Option<usize>,
}

/// The maximum number of names in a message.
const MAX_NAMES: usize = 20;

impl ListWarnings {
    pub(super) fn of(offers: [&Offers; 2], results: &PrebuiltResults) -> Self {
        let tools = offers.into_iter().flat_map(|offers| offers.tools.shortened());
        let prompts = offers.into_iter().flat_map(|offers| offers.prompts.shortened());
        let names = tools.chain(prompts).map(|(name, listed)| (name.to_owned(), listed.to_owned()));
        let count = offers.iter().map(|offers| offers.tools.listed().count()).sum();
        Self {
            shortened: names.collect(),
            paged_tools: Some(count).filter(|count| *count > results.page_entries()),
        }
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
        if let Some(count) = self.paged_tools
            && self.paged_tools != before.paged_tools
        {
            let first = results.page_entries();
            tracing::warn!(
                "`tools/list` has more than one page, and most clients read only the first one, with {first} of {count} \
                 tools: offer fewer tools"
            );
        }
    }
}
