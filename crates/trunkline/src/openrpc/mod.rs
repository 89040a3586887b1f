//! The registry described (OpenRPC 1.3).

use serde::Serialize;

use crate::router::Description;

/// What a service calls itself.
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

/// The answer to `rpc.discover`: every method with what it says of itself and the names of its
/// params. Params whose types have no schema are described as any value.
#[derive(Debug, Clone, Serialize)]
pub(crate) struct Document {
    openrpc: &'static str,
    info: Info,
    methods: Vec<Method>,
}

#[derive(Debug, Clone, Serialize)]
struct Method {
    name: String,
    #[serde(skip_serializing_if = "Option::is_none")]
    description: Option<String>,
    params: Vec<Content>,
    result: Content,
}

#[derive(Debug, Clone, Serialize)]
struct Content {
    name: &'static str,
    schema: bool,
}

impl Document {
    pub(crate) fn new<'a>(info: &Info, methods: impl Iterator<Item = &'a Description>) -> Self {
        let methods = methods.map(Method::new).collect();
        Self { openrpc: "1.3.2", info: info.clone(), methods }
    }
}

impl Method {
    fn new(description: &Description) -> Self {
        let content = |name| Content { name, schema: true };
        Self {
            name: description.name.clone(),
            description: description.text.clone(),
            params: description.params.iter().copied().map(content).collect(),
            result: content("result"),
        }
    }
}
