//! The tools of a server and the results of `tools/list`.

use std::sync::Arc;
use std::sync::{Mutex, PoisonError, RwLock, RwLockReadGuard};

use bytes::Bytes;
use trunkline::Rpc;
use trunkline::protocol::RegisteredOperation;

use super::prebuilt::PrebuiltResults;
use crate::era::Era;
use crate::tool::{Tool, ToolError, Tools};

/// The tools of a server: static ones, and dynamic ones, which are added and removed with their operations.
pub(super) struct ToolCatalog {
    static_tools: Tools,
    snapshot: RwLock<Snapshot>,
    /// Held during a refresh, so that the tools that were read last remain.
    refreshing: Mutex<()>,
}

/// The dynamic tools and the lists of all tools between two changes.
struct Snapshot {
    dynamic_tools: Tools,
    legacy_list: Bytes,
    modern_list: Bytes,
}

impl ToolCatalog {
    /// # Errors
    /// The first static tool that cannot be offered.
    pub(super) fn new(rpc: &Rpc, results: &PrebuiltResults) -> Result<Self, ToolError> {
        let operations = rpc.operations();
        let fixed = operations.iter().filter(|operation| operation.is_static());
        let static_tools: Tools = fixed.filter_map(Tool::of).collect::<Result<_, _>>()?;
        let snapshot = RwLock::new(Snapshot::new(&static_tools, &operations, results));
        Ok(Self { static_tools, snapshot, refreshing: Mutex::default() })
    }

    /// Reads the dynamic tools again.
    pub(super) fn refresh(&self, rpc: &Rpc, results: &PrebuiltResults) {
        let _turn = self.refreshing.lock().unwrap_or_else(PoisonError::into_inner);
        let snapshot = Snapshot::new(&self.static_tools, &rpc.operations(), results);
        *self.snapshot.write().unwrap_or_else(PoisonError::into_inner) = snapshot;
    }

    /// The tool of this name, listed or not. Static tools are found without a lock.
    pub(super) fn find(&self, name: &str) -> Option<Arc<Tool>> {
        let found = self.static_tools.find(name);
        found.cloned().or_else(|| self.snapshot().dynamic_tools.find(name).cloned())
    }

    /// The result of `tools/list`.
    pub(super) fn list(&self, era: Era) -> Bytes {
        match era {
            Era::Modern => self.snapshot().modern_list.clone(),
            Era::Legacy => self.snapshot().legacy_list.clone(),
        }
    }

    /// The names of the listed tools, in the order of their registration.
    pub(super) fn names(&self) -> Vec<String> {
        let snapshot = self.snapshot();
        let all = self.static_tools.listed().chain(snapshot.dynamic_tools.listed());
        all.map(|tool| tool.name().to_owned()).collect()
    }

    fn snapshot(&self) -> RwLockReadGuard<'_, Snapshot> {
        self.snapshot.read().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Snapshot {
    fn new(
        static_tools: &Tools,
        operations: &[Arc<RegisteredOperation>],
        results: &PrebuiltResults,
    ) -> Self {
        let dynamic = operations.iter().filter(|operation| !operation.is_static());
        let dynamic_tools: Tools = dynamic.filter_map(Tool::of).filter_map(usable).collect();
        let listed = || static_tools.listed().chain(dynamic_tools.listed());
        let legacy_list = results.list(Era::Legacy, listed());
        let modern_list = results.list(Era::Modern, listed());
        Self { dynamic_tools, legacy_list, modern_list }
    }
}

/// Leaves out a dynamic tool that cannot be offered.
fn usable(tool: Result<Tool, ToolError>) -> Option<Tool> {
    tool.inspect_err(|error| tracing::warn!(%error, "a tool is left out")).ok()
}
