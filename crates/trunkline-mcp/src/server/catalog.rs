//! The tools, resources and prompts of a server, and the lists of them.

use std::sync::{Arc, PoisonError, RwLock};

use bytes::Bytes;
use trunkline::Rpc;
use trunkline::access::Principal;
use trunkline::layers::authorize::{can_be_restricted, is_visible_to};
use trunkline::protocol::RegisteredOperation;

use super::list_warnings::ListWarnings;
use super::offers::Offers;
use super::prebuilt::{Declared, List, PrebuiltResults};
use crate::changes::ChangeSet;
use crate::completion::Completion;
use crate::era::Era;
use crate::error::McpError;
use crate::lock::Lock;
use crate::model::CompletionTarget;
use crate::prompt::PromptSource;
use crate::resource::Found;
use crate::tool::Tool;

/// The offers of static operations, and those of dynamic ones, which are added and removed with their operations.
pub(super) struct Catalog {
    fixed: Offers,
    /// Replaced as a whole, so that no reader holds the lock while it searches.
    snapshot: RwLock<Arc<Snapshot>>,
    /// Held during a refresh, so that the operations that were read last remain.
    refreshing: Lock<()>,
}

/// The dynamic operations, and the lists of all, between two changes.
struct Snapshot {
    dynamic: Offers,
    /// In the order of [`List::ALL`].
    lists: [Pages; 4],
    declared: Declared,
    discover: Bytes,
    warnings: ListWarnings,
}

/// The results of a list by era, in the order of [`Era::ALL`], and page. There is at least one page.
struct Pages {
    by_era: [Vec<Bytes>; 2],
    /// The entries, if some callers may not see all of them.
    restricted: Option<Vec<Entry>>,
}

/// An entry of a list, and the operation that it describes.
struct Entry {
    operation: Arc<RegisteredOperation>,
    by_era: [Vec<u8>; 2],
}

impl Pages {
    fn new(results: &PrebuiltResults, list: List, entries: Vec<Entry>) -> Self {
        let pages = |era| {
            let entries: Vec<_> = entries.iter().map(|entry| entry.text(era)).collect();
            results.pages(list, era, &entries)
        };
        let by_era = Era::ALL.map(pages);
        let is_any = entries.iter().any(|entry| can_be_restricted(entry.operation.description()));
        Self { by_era, restricted: is_any.then_some(entries) }
    }

    fn has_other_entries(&self, other: &Self) -> bool {
        self.by_era != other.by_era
    }
}

impl Entry {
    /// An entry that is the same in both eras.
    fn new((operation, text): (&Arc<RegisteredOperation>, &[u8])) -> Self {
        Self { operation: Arc::clone(operation), by_era: [text, text].map(<[u8]>::to_vec) }
    }

    fn text(&self, era: Era) -> &[u8] {
        &self.by_era[era as usize]
    }
}

/// The result of a search for a completion.
pub(super) enum Completing {
    Operation(Arc<RegisteredOperation>),
    /// The prompt or template exists, but no operation completes this argument.
    Nothing,
    Unknown,
}

impl Catalog {
    /// # Errors
    /// The first static operation that cannot be offered.
    pub(super) fn new(rpc: &Rpc, results: &PrebuiltResults) -> Result<Self, McpError> {
        let operations = rpc.operations();
        let fixed = operations.iter().filter(|operation| operation.is_static());
        let fixed = Offers::of_static(fixed, results.max_name(), !rpc.has_dynamic_operations())?;
        let snapshot = Snapshot::new(&fixed, &operations, Declared::default(), results);
        snapshot.warnings.log_changes(&ListWarnings::default(), results);
        Ok(Self { fixed, snapshot: RwLock::new(Arc::new(snapshot)), refreshing: Lock::default() })
    }

    /// Reads the dynamic operations again.
    pub(super) fn refresh(&self, rpc: &Rpc, results: &PrebuiltResults) -> ChangeSet {
        let _turn = self.refreshing.lock();
        let declared = self.snapshot().declared;
        let snapshot = Snapshot::new(&self.fixed, &rpc.operations(), declared, results);
        let mut current = self.snapshot.write().unwrap_or_else(PoisonError::into_inner);
        let is_changed = |list| current.pages(list).has_other_entries(snapshot.pages(list));
        let changes = ChangeSet {
            tools: is_changed(List::Tools),
            resource_list: is_changed(List::Resources) || is_changed(List::Templates),
            prompts: is_changed(List::Prompts),
            ..ChangeSet::default()
        };
        snapshot.warnings.log_changes(&current.warnings, results);
        *current = Arc::new(snapshot);
        changes
    }

    /// The tool of this name, or of this name in lists, listed or not. Static tools are found without a lock.
    pub(super) fn find_tool(&self, name: &str) -> Option<Arc<Tool>> {
        let found = self.fixed.tools.find(name);
        found.cloned().or_else(|| self.snapshot().dynamic.tools.find(name).cloned())
    }

    /// The resource of this URI: one with the URI itself, or of the first template that matches it.
    pub(super) fn find_resource(&self, uri: &str) -> Option<Found> {
        let fixed = &self.fixed.resources;
        if let Some(found) = fixed.find(uri) {
            return Some(found);
        }
        let dynamic = &self.snapshot().dynamic.resources;
        let found = dynamic.find(uri).or_else(|| fixed.find_template(uri));
        found.or_else(|| dynamic.find_template(uri))
    }

    pub(super) fn find_prompt(&self, name: &str) -> Option<Arc<PromptSource>> {
        let found = self.fixed.prompts.find(name);
        found.cloned().or_else(|| self.snapshot().dynamic.prompts.find(name).cloned())
    }

    pub(super) fn find_completion(&self, completion: &Completion) -> Completing {
        let mut completion = completion.clone();
        if let CompletionTarget::Prompt(name) = &mut completion.target
            && let Some(prompt) = self.find_prompt(name)
        {
            // The client may know the name in lists.
            name.clone_from(&prompt.name);
        }
        let completion = &completion;
        let snapshot = self.snapshot();
        let all = [&self.fixed, &snapshot.dynamic];
        if let Some(found) = all.iter().find_map(|offers| offers.completions.find(completion)) {
            return Completing::Operation(Arc::clone(found));
        }
        let is_known = all.iter().any(|offers| match &completion.target {
            CompletionTarget::Prompt(name) => offers.prompts.has(name),
            CompletionTarget::Resource(uri) => {
                offers.resources.has_template(uri) || offers.resources.has_resource(uri)
            }
        });
        if is_known { Completing::Nothing } else { Completing::Unknown }
    }

    /// The operations that return further resources. Callers that may not call one are refused by it.
    pub(super) fn resource_lists(&self) -> Vec<Arc<RegisteredOperation>> {
        let snapshot = self.snapshot();
        let dynamic = snapshot.dynamic.resources.lists();
        self.fixed.resources.lists().iter().chain(dynamic).cloned().collect()
    }

    /// The entries of the resources that are known without a call, for a caller.
    pub(super) fn resource_entries(&self, caller: Option<&Principal>) -> Vec<Vec<u8>> {
        let snapshot = self.snapshot();
        let all = self.fixed.resources.entries().chain(snapshot.dynamic.resources.entries());
        let visible = all.filter(|(operation, _)| is_visible_to(operation.description(), caller));
        visible.map(|(_, entry)| entry.to_vec()).collect()
    }

    /// A page of a list for a caller, which sees the entries that it may use.
    pub(super) fn page(
        &self,
        results: &PrebuiltResults,
        (list, era): (List, Era),
        page: usize,
        caller: Option<&Principal>,
    ) -> Option<Bytes> {
        let snapshot = self.snapshot();
        let pages = snapshot.pages(list);
        if let Some(entries) = &pages.restricted {
            let is_visible = |entry: &&Entry| is_visible_to(entry.operation.description(), caller);
            let visible: Vec<_> = entries.iter().filter(is_visible).collect();
            if visible.len() < entries.len() {
                let visible: Vec<_> = visible.iter().map(|entry| entry.text(era)).collect();
                return results.pages(list, era, &visible).get(page).cloned();
            }
        }
        pages.by_era[era as usize].get(page).cloned()
    }

    /// The kinds of operations that the server has, or has had.
    pub(super) fn declared(&self) -> Declared {
        self.snapshot().declared
    }

    /// The result of `server/discover`.
    pub(super) fn discover(&self) -> Bytes {
        self.snapshot().discover.clone()
    }

    /// The names of the listed tools, in the order of their registration.
    pub(super) fn tool_names(&self) -> Vec<String> {
        let snapshot = self.snapshot();
        let all = self.fixed.tools.listed().chain(snapshot.dynamic.tools.listed());
        all.map(|tool| tool.listed_name().to_owned()).collect()
    }

    fn snapshot(&self) -> Arc<Snapshot> {
        Arc::clone(&self.snapshot.read().unwrap_or_else(PoisonError::into_inner))
    }
}

impl Snapshot {
    fn new(
        fixed: &Offers,
        operations: &[Arc<RegisteredOperation>],
        before: Declared,
        results: &PrebuiltResults,
    ) -> Self {
        let dynamic = operations.iter().filter(|operation| !operation.is_static());
        let dynamic = Offers::of_dynamic(dynamic, fixed, results.max_name());
        let both = [fixed, &dynamic];
        let tool = |tool: &Tool| Entry {
            operation: tool.operation(),
            by_era: Era::ALL.map(|era| results.tool_entry(era, tool)),
        };
        let entries = |list, all: &Offers| -> Vec<Entry> {
            match list {
                List::Tools => all.tools.listed().map(tool).collect(),
                List::Resources => all.resources.entries().map(Entry::new).collect(),
                List::Templates => all.resources.template_entries().map(Entry::new).collect(),
                List::Prompts => all.prompts.entries().map(Entry::new).collect(),
            }
        };
        let lists = List::ALL.map(|list| {
            let entries = both.iter().flat_map(|all| entries(list, all)).collect();
            Pages::new(results, list, entries)
        });
        // A capability stays declared, since clients do not ask for it again.
        let declared = Declared {
            resources: before.resources || both.iter().any(|all| !all.resources.is_empty()),
            prompts: before.prompts || both.iter().any(|all| !all.prompts.is_empty()),
            completions: before.completions || both.iter().any(|all| !all.completions.is_empty()),
            tasks: before.tasks || both.iter().any(|all| all.tools.has_tasks()),
        };
        let discover = results.discover(declared);
        let warnings = ListWarnings::of(both, results);
        Self { dynamic, lists, declared, discover, warnings }
    }

    fn pages(&self, list: List) -> &Pages {
        &self.lists[list as usize]
    }
}
