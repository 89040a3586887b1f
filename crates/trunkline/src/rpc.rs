//! The built service.

use std::borrow::Cow;
use std::convert::Infallible;
use std::ops::Deref;
use std::sync::Arc;
use std::task::{Context, Poll};

use serde::Serialize;
use serde::de::DeserializeOwned;
use tower::Service;
use trunkline_client::{Message, Transport, TransportFuture};
use trunkline_core::call::{Call, CallFuture};
use trunkline_core::dispatch::{Dispatcher, ProtocolMethods};
use trunkline_core::error::ErrorObject;
use trunkline_core::extensions::Extensions;
use trunkline_core::format::Format;
use trunkline_core::id::Id;
use trunkline_core::outcome::Outcome;
use trunkline_history::History;
use trunkline_server::http::HttpService;

use crate::metrics::{Counters, MethodMetrics};
use crate::openrpc::{DocumentCache, OpenRpc};

/// The formats of messages in this build, which services accept.
pub const FORMATS: &[Format] = &[
    Format::Json,
    #[cfg(feature = "edn")]
    trunkline_edn::rpc::FORMAT,
];

/// A built router: a service of [`Call`]s, and of bodies that hold them. Cloning is cheap.
///
/// It dereferences to its [`Dispatcher`], which reads bodies and runs calls, and adds the OpenRPC document
/// and the metrics of the service.
#[derive(Debug, Clone)]
pub struct Rpc {
    dispatcher: Dispatcher,
    documents: Arc<DocumentCache>,
    /// The counters of calls of unknown methods.
    unknown: Arc<Counters>,
}

impl Rpc {
    pub(crate) fn new(
        dispatcher: Dispatcher,
        documents: Arc<DocumentCache>,
        unknown: Arc<Counters>,
    ) -> Self {
        Self { dispatcher, documents, unknown }
    }

    /// Adds the methods of another protocol, which map to calls of the same operations. They are available
    /// in message bodies only ([`handle`](Dispatcher::handle), [`answer`](Dispatcher::answer)), not in
    /// [`call`](Self::call). A service has at most one projection.
    #[must_use]
    pub fn with_protocol_methods(self, protocol_methods: Arc<dyn ProtocolMethods>) -> Self {
        Self { dispatcher: self.dispatcher.with_protocol_methods(protocol_methods), ..self }
    }

    /// Removes the methods of another protocol. Its operations remain.
    #[must_use]
    pub fn without_protocol_methods(self) -> Self {
        Self { dispatcher: self.dispatcher.without_protocol_methods(), ..self }
    }

    /// Records requests and responses in `history`. See [`history`](crate::history).
    #[must_use]
    pub fn with_history(self, history: History) -> Self {
        Self { dispatcher: self.dispatcher.with_observer(Arc::new(history)), ..self }
    }

    /// The history of this service, if it records one.
    #[must_use]
    pub fn history(&self) -> Option<&History> {
        History::of(&self.dispatcher)
    }

    /// This service over HTTP, with the default configuration. It accepts the host names of the loopback
    /// interface, to which a [`Server`](crate::Server) adds its address.
    ///
    /// If it is mounted in a server that clients reach under another name, requests are refused with 403.
    /// List that name, or use [`Hosts::Any`](crate::http::Hosts::Any) if a proxy checks names:
    ///
    /// ```
    /// # use trunkline::{Router, http};
    /// # fn main() -> Result<(), trunkline::BuildError> {
    /// # let rpc = Router::new().method("ping", || "pong").build()?;
    /// let hosts = http::Hosts::Listed(vec!["api.example.com".into()]);
    /// let service = rpc.http_with(http::HttpConfig { hosts, ..Default::default() });
    /// let app: axum::Router = axum::Router::new().route_service("/rpc", service);
    /// # Ok(())
    /// # }
    /// ```
    #[must_use]
    pub fn http(&self) -> HttpService {
        self.http_with(trunkline_server::http::HttpConfig::default())
    }

    /// This service over HTTP, with a configuration.
    #[must_use]
    pub fn http_with(&self, config: trunkline_server::http::HttpConfig) -> HttpService {
        HttpService::with_config(self.dispatcher.clone(), config)
    }

    /// Calls a method in this process, through all layers, without a transport. Use it in tests and for calls
    /// between services.
    ///
    /// # Errors
    /// The error of the call; -32602 if `params` does not serialise to an array or an object; -32603 if the
    /// result does not deserialise to `R`.
    pub async fn call<R: DeserializeOwned>(
        &self,
        method: &str,
        params: &impl Serialize,
    ) -> Result<R, ErrorObject> {
        let call = Call::request(&Id::from(1), method, params)?;
        let Ok(outcome) = Service::call(&mut self.clone(), call).await;
        let json = outcome.as_result().map_err(Clone::clone)?;
        serde_json::from_slice(json).map_err(|error| ErrorObject::internal(&error))
    }

    /// The OpenRPC document of the current operations.
    #[must_use]
    pub fn openrpc(&self) -> OpenRpc {
        self.documents.openrpc()
    }

    /// The metrics of each method in the order of registration, and at the end those of calls of unknown
    /// methods as `unknown`.
    #[must_use]
    pub fn metrics(&self) -> Vec<MethodMetrics> {
        let operations = self.operations();
        let known = operations.iter().filter_map(|operation| {
            let counters: &Arc<Counters> = operation.extensions().get()?;
            Some(counters.read(operation.name()))
        });
        known.chain([self.unknown.read("unknown")]).collect()
    }
}

/// A transport to the service in the same process. Messages and replies are serialised as for other
/// transports.
impl Transport for Rpc {
    fn send(&self, message: Message) -> TransportFuture<'_> {
        Box::pin(async move {
            let reply = self.handle(message.body, Extensions::from_endpoint("memory")).await;
            Ok(reply.into_json().map(Into::into))
        })
    }

    fn target(&self) -> Cow<'_, str> {
        Cow::Borrowed("the service in this process")
    }
}

impl Deref for Rpc {
    type Target = Dispatcher;

    fn deref(&self) -> &Dispatcher {
        &self.dispatcher
    }
}

impl From<Rpc> for HttpService {
    fn from(rpc: Rpc) -> Self {
        rpc.http()
    }
}

impl From<Rpc> for Dispatcher {
    fn from(rpc: Rpc) -> Self {
        rpc.dispatcher
    }
}

impl Service<Call> for Rpc {
    type Response = Outcome;
    type Error = Infallible;
    type Future = CallFuture;

    fn poll_ready(&mut self, cx: &mut Context<'_>) -> Poll<Result<(), Infallible>> {
        self.dispatcher.poll_ready(cx)
    }

    fn call(&mut self, call: Call) -> CallFuture {
        Service::call(&mut self.dispatcher, call)
    }
}
