//! The registry described (OpenRPC 1.3.2): the answer of `rpc.discover`.

mod components;
mod content;
mod described;
mod document;
mod fault;
mod method;
mod pairing;

use std::fmt;
use std::sync::Arc;

use serde::{Serialize, Serializer};
use serde_json::value::RawValue;

use document::Document;
use trunkline_core::call::Description;
pub use trunkline_core::call::Example;

pub(crate) use described::Described;
pub(crate) use document::Info;

/// A service described as an OpenRPC document: what `rpc.discover` answers, what
/// [`Rpc::openrpc_routes`](crate::Rpc::openrpc_routes) serves at `/openrpc.json`, and what generators
/// make clients and documentation from. Cloning is cheap.
///
/// * Methods stand in the order of their registration, and the same router makes the same text.
/// * A param has the schema that the operation's input has for it, or `true` (anything) if there is
///   none. Params are `by-name` where positions would mislead: when the last is variadic, when
///   an optional one stands before a required one, and when no order was declared.
/// * A method that was registered as a notification has no `result`.
/// * Errors of one code are one entry. Its `data` is the schema of the data.
/// * What a call does to what is there stands as tags: `read-only`, `additive` or `destructive`,
///   and `idempotent`.
/// * Schemas are of JSON Schema draft 7, as OpenRPC wants them. Those that refer to themselves lie
///   under `components.schemas`.
///
/// Written with `{}` it is JSON in one line, with `{:#}` indented:
///
/// ```
/// # fn main() -> Result<(), Box<dyn std::error::Error>> {
/// let rpc = trunkline::Router::new().function("add", ["a", "b"], |a: i64, b: i64| a + b).build()?;
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
        let json = json.expect("texts, numbers and JSON values serialise into memory");
        Self { document: Arc::new(document), json: json.into() }
    }

    /// The document's JSON, in one line.
    #[must_use]
    pub fn as_json(&self) -> &str {
        self.json.get()
    }

    /// Whether the other one is a clone.
    pub(crate) fn is_same(&self, other: &Self) -> bool {
        Arc::ptr_eq(&self.document, &other.document)
    }

    /// The same, for an answer: it has been serialised.
    pub(crate) fn answer(&self) -> Answer {
        Answer(Arc::clone(&self.json))
    }
}

/// What `rpc.discover` answers.
#[derive(Debug, Clone)]
pub(crate) struct Answer(Arc<RawValue>);

impl Serialize for Answer {
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
