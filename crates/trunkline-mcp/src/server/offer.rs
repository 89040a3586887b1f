//! The tools that are offered at the moment, and the lists of them.

use std::sync::Arc;
use std::sync::{Mutex, PoisonError, RwLock, RwLockReadGuard};

use bytes::Bytes;
use trunkline::Rpc;
use trunkline::protocol::Registered;

use super::texts::Texts;
use crate::era::Era;
use crate::tool::{Tool, ToolError, Tools};

/// The tools that stay, and those that come and go with their operations.
pub(super) struct Offer {
    fixed: Tools,
    moment: RwLock<Moment>,
    /// Whoever renews the offer holds this, so that what is read last is what stays.
    renewing: Mutex<()>,
}

/// What is offered between two changes.
struct Moment {
    passing: Tools,
    legacy_list: Bytes,
    modern_list: Bytes,
}

impl Offer {
    /// # Errors
    /// The first tool that cannot be offered, of those that stay.
    pub(super) fn new(rpc: &Rpc, texts: &Texts) -> Result<Self, ToolError> {
        let operations = rpc.operations();
        let fixed = operations.iter().filter(|operation| operation.is_fixed());
        let fixed: Tools = fixed.filter_map(Tool::of).collect::<Result<_, _>>()?;
        let moment = RwLock::new(Moment::new(&fixed, &operations, texts));
        Ok(Self { fixed, moment, renewing: Mutex::default() })
    }

    /// Offers the tools that there are now.
    pub(super) fn renew(&self, rpc: &Rpc, texts: &Texts) {
        let _turn = self.renewing.lock().unwrap_or_else(PoisonError::into_inner);
        let moment = Moment::new(&self.fixed, &rpc.operations(), texts);
        *self.moment.write().unwrap_or_else(PoisonError::into_inner) = moment;
    }

    /// Those that stay are found without a lock.
    pub(super) fn find(&self, name: &str) -> Option<Arc<Tool>> {
        let fixed = self.fixed.find(name);
        fixed.cloned().or_else(|| self.moment().passing.find(name).cloned())
    }

    /// The result of `tools/list`.
    pub(super) fn list(&self, era: Era) -> Bytes {
        match era {
            Era::Modern => self.moment().modern_list.clone(),
            Era::Legacy => self.moment().legacy_list.clone(),
        }
    }

    /// The names of the tools, in the order of their registration.
    pub(super) fn names(&self) -> Vec<String> {
        let moment = self.moment();
        self.fixed.iter().chain(moment.passing.iter()).map(|tool| tool.name().to_owned()).collect()
    }

    fn moment(&self) -> RwLockReadGuard<'_, Moment> {
        self.moment.read().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Moment {
    fn new(fixed: &Tools, operations: &[Arc<Registered>], texts: &Texts) -> Self {
        let passing = operations.iter().filter(|operation| !operation.is_fixed());
        let passing: Tools = passing.filter_map(Tool::of).filter_map(usable).collect();
        let all = || fixed.iter().chain(passing.iter());
        let legacy_list = texts.list(Era::Legacy, all());
        let modern_list = texts.list(Era::Modern, all());
        Self { passing, legacy_list, modern_list }
    }
}

/// A tool that came while the service runs, and cannot be offered, leaves the others alone.
fn usable(tool: Result<Tool, ToolError>) -> Option<Tool> {
    tool.inspect_err(|error| tracing::warn!(%error, "a tool is left out")).ok()
}
