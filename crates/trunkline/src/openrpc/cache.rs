//! The document of a registry whose operations may change.

use std::sync::{Arc, Mutex, OnceLock, PoisonError, Weak};

use trunkline_core::call::RegisteredOperation;
use trunkline_core::operation::{DISCOVER, Registry};

use super::{Info, OpenRpc};

/// The document of a registry. It is generated on request, and cached until the operations change.
#[derive(Debug)]
pub(crate) struct DocumentCache {
    info: Info,
    /// Weak, since the operation `rpc.discover` of the registry holds this cache.
    registry: OnceLock<Weak<Registry>>,
    latest: Mutex<Option<Latest>>,
}

#[derive(Debug)]
struct Latest {
    operations: Arc<[Arc<RegisteredOperation>]>,
    openrpc: OpenRpc,
}

impl DocumentCache {
    pub(crate) fn new(info: Info) -> Self {
        Self { info, registry: OnceLock::new(), latest: Mutex::default() }
    }

    /// Sets the registry.
    pub(crate) fn attach(&self, registry: &Arc<Registry>) {
        self.registry.get_or_init(|| Arc::downgrade(registry));
    }

    pub(crate) fn openrpc(&self) -> OpenRpc {
        let registry = self.registry.get().and_then(Weak::upgrade);
        let operations =
            registry.map_or_else(|| Arc::new([]) as _, |registry| registry.operations());
        let mut latest = self.latest.lock().unwrap_or_else(PoisonError::into_inner);
        match &*latest {
            Some(latest) if Arc::ptr_eq(&latest.operations, &operations) => latest.openrpc.clone(),
            _ => {
                let own = operations.iter().filter(|operation| operation.name() != DISCOVER);
                let openrpc =
                    OpenRpc::new(&self.info, own.map(|operation| operation.description()));
                *latest = Some(Latest { operations, openrpc: openrpc.clone() });
                openrpc
            }
        }
    }
}
