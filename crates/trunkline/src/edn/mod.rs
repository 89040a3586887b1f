//! EDN, the data notation of Clojure, over every JSON-RPC transport and on [routes](crate::http::Routes::formats)
//! that enable it. Re-exports the items of the crate `trunkline-edn`.
//!
//! A message of the media type `application/edn` is read as EDN, and the reply is in EDN unless the client
//! prefers JSON: `{:jsonrpc "2.0", :method "math.add", :params [1 2], :id 1}`. Keys may be keywords or
//! strings. Any method can be called this way; [`json`] describes the conversion to JSON.
//!
//! Handlers that take [`Edn<T>`](Edn) receive EDN without conversion. Handlers that return [`Edn<T>`](Edn), a
//! [`Value`], or a `Result` with [`Edn<T>`](Edn) reply with it. They can be called in JSON, too.
//!
//! ```
//! use trunkline::Router;
//! use trunkline::edn::{Edn, Value};
//!
//! let router: Router = Router::new().method("echo", |Edn(params): Edn<Value>| params);
//! ```
//!
//! Invalid EDN is -32700. Values without a representation in JSON (an unknown tag, `##Inf`, two keys with
//! the same text) are -32603, "JSON conversion error", with `data.path` and `data.reason`, in messages and in
//! results, whatever the format of the client.

mod handlers;

pub use handlers::Handlers;
pub use trunkline_edn::rpc::{Edn, FORMAT};
pub use trunkline_edn::*;
