//! JSON-RPC 2.0 for Rust: register an operation once, call it over every protocol.
//!
//! ```
//! use trunkline::client::{Client, Http};
//! use trunkline::{Router, Server};
//!
//! # #[tokio::main(flavor = "current_thread")]
//! # async fn main() -> Result<(), Box<dyn std::error::Error>> {
//! let rpc = Router::new()
//!     .function("add", ["a", "b"], |a: i64, b: i64| a + b)
//!     .build()?;
//! let server = Server::bind("127.0.0.1:0").serve(rpc).await?;
//!
//! let client = Client::new(Http::connect(&format!("http://{}", server.local_addr()))?);
//! let sum: i64 = client.call("add", [40, 2]).await?;
//! assert_eq!(sum, 42);
//! server.stop().await;
//! # Ok(())
//! # }
//! ```
//!
//! # The guide
//!
//! [Methods](guide::methods) and their [params](guide::params), [errors](guide::errors),
//! [layers](guide::layers), [batches](guide::batch), [clients](guide::clients), [access](guide::access),
//! [EDN](guide::edn), [testing](guide::testing), [moving from jsonrpsee](guide::from_jsonrpsee).
//!
//! # Features
//!
//! | feature | what it adds |
//! |---|---|
//! | `edn` | [`edn`]: EDN over every JSON-RPC transport, and handlers that speak it |
//! | `compression` | replies of [`http::Routes`] in gzip, for clients that accept it |
//! | `tls` | https for [`client::Http`], and `Server::tls` |
//! | `jwt` | `access::jwt`: bearer tokens that are signed |
//! | `validation` | `layers::validation`: params against JSON Schemas |
//! | `signal` | `server::shutdown_signal` |
#![forbid(unsafe_code)]

pub mod access;
mod batch;
mod blocking;
mod call;
pub mod client;
#[cfg(feature = "edn")]
pub mod edn;
mod endpoints;
mod envelope;
mod error;
mod expansion;
mod extensions;
mod extract;
mod format;
pub mod guide;
pub mod history;
pub mod http;
mod id;
#[cfg(feature = "jwt")]
mod jwt;
pub mod layers;
pub mod limits;
mod media_type;
mod metrics;
mod openrpc;
mod operation;
mod outcome;
mod params;
mod reply;
mod request;
mod router;
mod rpc;
mod schema;
pub mod server;
mod status;
pub mod stdio;
pub mod stream;
mod trace_context;
mod turns;
#[cfg(unix)]
pub mod unix;

pub use blocking::{Blocking, Pool, blocking};
pub use call::{
    Call, CallFuture, Description, Effect, Endpoint, Example, Part, Registered, Rendering, Wording,
};
pub use error::{BoxError, ErrorDescription, ErrorObject, RpcError, code};
pub use extensions::Extensions;
pub use extract::{CallId, Extension, FromCall, State};
pub use format::{Format, Formats};
pub use id::Id;
pub use limits::calls::Limits;
pub use openrpc::OpenRpc;
pub use operation::{BuildError, Handler, IntoOutcome, IntoReply, Json, Operation};
pub use outcome::Outcome;
pub use params::{
    Arguments, Function, Param, Params, ParamsError, RawParams, VariadicParams, param,
};
pub use reply::Reply;
pub use router::{Changing, Router};
pub use rpc::{Batch, Incoming, Projected, Projection, Rpc, RpcFuture};
pub use schema::Schema;
pub use schemars::{self, JsonSchema};
pub use server::{Server, ServerHandle};
pub use tokio_util::sync::CancellationToken;
pub use trace_context::{TraceContext, TraceContextError};
pub use trunkline_macros::{RpcError, rpc};

/// For the code that the macros write.
#[doc(hidden)]
pub mod __private {
    pub use {serde, serde_json};

    pub use crate::expansion::{
        ClientParam, ClientResult, ErrorData, Fallible, Generate, ObjectSchema, Param, Probe,
        Received, ServerParam, Unprobed, error_data, param, typed,
    };
}

#[cfg(doctest)]
#[doc = include_str!("../../../README.md")]
struct Readme;
