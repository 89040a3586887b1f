//! OpenRPC 1.3.2 documents, which `rpc.discover` returns.

mod cache;
mod components;
mod content;
mod document;
mod errors;
mod method;

use std::fmt;
use std::sync::Arc;

use serde::{Serialize, Serializer};
use serde_json::value::RawValue;

use document::Document;
use trunkline_core::call::Description;
pub use trunkline_core::call::Example;

pub(crate) use cache::DocumentCache;
pub(crate) use document::Info;

/// An OpenRPC document, which describes a service for generators of clients and documentation. `rpc.discover`
/// returns it, and [`Rpc::openrpc_routes`](crate::Rpc::openrpc_routes) serves it at `/openrpc.json`. Cloning is cheap.
///
/// * Methods are in the order of registration. Equal routers produce equal text.
/// * The schema of a param is that of the input schema of the operation, or `true` (any value). The
///   `paramStructure` is `by-name` if positions are ambiguous: the last param is variadic, an optional param
///   precedes a required one, or no order is declared.
/// * A method that is registered as a notification has no `result`.
/// * Errors with the same code are one entry. Its `data` is the schema of the data.
/// * Tags declare the effect of a call: `read-only`, `additive` or `destructive`, and `idempotent`.
/// * Schemas are JSON Schema draft 7, as OpenRPC requires. Recursive schemas are in `components.schemas`.
///
/// The format `{}` writes JSON in one line, `{:#}` indents it:
///
/// ```
/// # fn main() -> Result<(), Box<dyn std::error::Error>> {
/// let rpc = trunkline::Router::new().method("ping", || "pong").build()?;
/// # let folder = std::env::temp_dir();
/// std::fs::write(folder.join("openrpc.json"), format!("{:#}\n", rpc.openrpc()))?;
/// # Ok(())
/// # }
/// ```
#[derive(Debug, Clone)]
pub struct OpenRpc {
    document: Arc<Document>,
    json: Arc<RawValue>,
}

impl OpenRpc {
    pub(crate) fn new<'a>(info: &Info, methods: impl Iterator<Item = &'a Description>) -> Self {
        let document = Document::new(info, methods);
        let json = serde_json::value::to_raw_value(&document);
        let json = json.expect("a document of strings, numbers and JSON values serialises");
        Self { document: Arc::new(document), json: json.into() }
    }

    /// The document's JSON, in one line.
    #[must_use]
    pub fn as_json(&self) -> &str {
        self.json.get()
    }

    /// Whether `other` is a clone of this document.
    pub(crate) fn is_same(&self, other: &Self) -> bool {
        Arc::ptr_eq(&self.document, &other.document)
    }

    /// The serialised document, as a result.
    pub(crate) fn to_result(&self) -> DocumentJson {
        DocumentJson(Arc::clone(&self.json))
    }
}

/// The serialised document: the result of `rpc.discover`.
#[derive(Debug, Clone)]
pub(crate) struct DocumentJson(Arc<RawValue>);

impl Serialize for DocumentJson {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        (*self.0).serialize(serializer)
    }
}

impl fmt::Display for OpenRpc {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if f.alternate() {
            f.write_str(&serde_json::to_string_pretty(&*self.document).map_err(|_| fmt::Error)?)
        } else {
            f.write_str(self.as_json())
        }
    }
}

impl Serialize for OpenRpc {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        self.document.serialize(serializer)
    }
}
