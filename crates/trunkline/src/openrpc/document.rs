use serde::Serialize;
use trunkline_core::call::Description;

use super::components::Components;
use super::method::Method;

const VERSION: &str = "1.3.2";

/// The title and version of a service ("Info Object").
#[derive(Debug, Clone, Serialize)]
pub(crate) struct Info {
    pub(crate) title: String,
    pub(crate) version: String,
}

impl Default for Info {
    fn default() -> Self {
        Self { title: "JSON-RPC service".to_owned(), version: "0.0.0".to_owned() }
    }
}

/// "OpenRPC Object". The members of all objects are serialised in the order in which people read them.
#[derive(Debug, Serialize)]
pub(super) struct Document {
    openrpc: &'static str,
    info: Info,
    methods: Vec<Method>,
    #[serde(skip_serializing_if = "Components::is_empty")]
    components: Components,
}

impl Document {
    pub(super) fn new<'a>(info: &Info, methods: impl Iterator<Item = &'a Description>) -> Self {
        let mut components = Components::default();
        let methods = methods.map(|method| Method::new(method, &mut components)).collect();
        Self { openrpc: VERSION, info: info.clone(), methods, components }
    }
}
