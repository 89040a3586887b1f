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

mod blocking;
pub mod code;
mod create_server;
#[cfg(feature = "edn")]
pub mod edn;
mod endpoints;
mod expansion;
pub mod guide;
pub mod layers;
mod metrics;
pub mod openrpc;
mod router;
mod rpc;
pub mod tool;
mod turns;

pub use blocking::{Blocking, blocking};
pub use router::{DynamicOperations, Router};
pub use rpc::Rpc;
pub use schemars::{self, JsonSchema};
pub use tokio_util::sync::CancellationToken;
pub use trunkline_access as access;
pub use trunkline_client as client;
pub use trunkline_core::call::{Call, Effect};
pub use trunkline_core::error::{BoxError, ErrorDescription, ErrorObject, RpcError};
pub use trunkline_core::extensions::Extensions;
pub use trunkline_core::extract::{CallId, FromCall, State};
pub use trunkline_core::id::Id;
pub use trunkline_core::limits;
pub use trunkline_core::limits::calls::Limits;
pub use trunkline_core::operation::{BuildError, IntoOutcome, Json, Operation};
pub use trunkline_core::outcome::Outcome;
pub use trunkline_core::params::{Param, Params, RawParams, VariadicParams, param};
pub use trunkline_core::schema::Schema;
pub use trunkline_macros::{RpcError, rpc};
pub use trunkline_server::request::Extension;
#[cfg(unix)]
pub use trunkline_server::unix;
pub use trunkline_server::{Server, ServerHandle, http, stdio, stream};

pub mod protocol {
    //! For crates that add a transport or a protocol: from the bytes of a body to those of its reply.

    pub use trunkline_core::call::{
        CallFuture, Description, DuplicateMember, Endpoint, Part, Parts, Registered,
    };
    pub use trunkline_core::dispatch::{Batch, Dispatcher, Incoming, Projection};
    pub use trunkline_core::envelope::compact;
    pub use trunkline_core::error::excerpt;
    pub use trunkline_core::format::{Format, Formats};
    pub use trunkline_core::operation::{Handler, IntoReply};
    pub use trunkline_core::params::ParamsError;
    pub use trunkline_core::reply::Reply;
    pub use trunkline_core::trace_context::{TraceContext, TraceContextError, TraceId};
}

pub mod server {
    //! The server object: created, asked for its status, stopped.

    #[doc(inline)]
    pub use trunkline_server::server::*;

    pub use crate::create_server::{Config, create_server};
}

pub mod history {
    //! The history of calls, and its endpoint.

    #[doc(inline)]
    pub use trunkline_history::*;

    pub mod endpoint {
        //! `GET /history` and `GET /logs`.

        #[doc(inline)]
        pub use crate::endpoints::history::{HistoryRoutesConfig, Readers, routes};
        #[doc(inline)]
        pub use crate::endpoints::logs::log_routes;
    }
}

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
