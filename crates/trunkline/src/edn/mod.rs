//! EDN, the data notation of Clojure, over every JSON-RPC transport, and on [routes](crate::http::Routes::formats)
//! that have it; and the crate `trunkline-edn`, whose items are here.
//!
//! A message is read as EDN when it says to be `application/edn`, and answered in EDN unless its
//! sender prefers JSON: `{:jsonrpc "2.0", :method "math.add", :params [1 2], :id 1}`. Keys may be
//! keywords or strings. Any method can be called so: what has to become JSON does so as
//! [`json`] says.
//!
//! Handlers take [`Edn<T>`](Edn) to see EDN as it is, and return [`Edn<T>`](Edn), a [`Value`], or a
//! `Result` of either, to answer with it. They are methods like all others: a client that speaks JSON calls them, too.
//!
//! ```
//! use trunkline::Router;
//! use trunkline::edn::{Edn, Value};
//!
//! let router: Router = Router::new().method("echo", |Edn(params): Edn<Value>| params);
//! ```
//!
//! What cannot be read is answered with -32700, what reads but has no JSON (an unknown tag, `##Inf`,
//! two keys with one text) with -32603, "JSON conversion error", and `data.path`, `data.reason`:
//! whether it stands in a message or comes from a handler, and whatever its client speaks.

mod handlers;

pub use handlers::Handlers;
pub use trunkline_core::edn::Edn;
pub use trunkline_core::reply::EdnReply;
pub use trunkline_edn::*;
