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
use trunkline_core::call::Call;
use trunkline_core::dispatch::{Dispatcher, Projection, RpcFuture};
use trunkline_core::error::ErrorObject;
use trunkline_core::extensions::Extensions;
use trunkline_core::id::Id;
use trunkline_core::outcome::Outcome;
use trunkline_history::History;
use trunkline_server::http::HttpService;

use crate::metrics::{Counters, MethodMetrics};
use crate::openrpc::{Described, OpenRpc};

/// A built router: a service of [`Call`]s, and of bodies that hold them. Cloning is cheap.
///
/// What reads bodies and runs calls is its [`Dispatcher`], to which it dereferences. It knows in addition
/// what the service is called and how often each method was called.
#[derive(Debug, Clone)]
pub struct Rpc {
    dispatcher: Dispatcher,
    described: Arc<Described>,
    /// Of calls of unknown methods.
    unknown: Arc<Counters>,
}

impl Rpc {
    pub(crate) fn new(
        dispatcher: Dispatcher,
        described: Arc<Described>,
        unknown: Arc<Counters>,
    ) -> Self {
        Self { dispatcher, described, unknown }
    }

    /// This service with the methods of another protocol, which stand for calls of the same
    /// operations. They are methods of bodies only: of [`handle`](Dispatcher::handle) and
    /// [`answer`](Dispatcher::answer), not of [`call`](Self::call). A service has one projection.
    #[must_use]
    pub fn projected(self, projection: Arc<dyn Projection>) -> Self {
        Self { dispatcher: self.dispatcher.projected(projection), ..self }
    }

    /// This service with a record of what it is asked and what it answers. See
    /// [`history`](crate::history).
    #[must_use]
    pub fn with_history(self, history: History) -> Self {
        Self { dispatcher: self.dispatcher.observed(Arc::new(history)), ..self }
    }

    /// The record of this service, if it keeps one.
    #[must_use]
    pub fn history(&self) -> Option<&History> {
        History::of(&self.dispatcher)
    }

    /// This service over HTTP, with default settings: it answers to the names of this
    /// machine's loopback, to which a [`Server`](crate::Server) adds its address.
    ///
    /// Mounted in another server that is reached under another name, it answers 403. Name it, or
    /// pass [`Hosts::Any`](crate::http::Hosts::Any) behind a proxy that checks names:
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

    /// This service over HTTP.
    #[must_use]
    pub fn http_with(&self, settings: trunkline_server::http::HttpConfig) -> HttpService {
        HttpService::with_config(self.dispatcher.clone(), settings)
    }

    /// Calls a method in this process, through all layers, without a transport: for tests, and
    /// for services that call each other.
    ///
    /// # Errors
    /// The call's error; -32602 when `params` does not serialise to an array or an object; -32603
    /// when the result is not an `R`.
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

    /// The service described as it is at the moment, for people, generators and tools.
    #[must_use]
    pub fn openrpc(&self) -> OpenRpc {
        self.described.openrpc()
    }

    /// What has been counted, for each method in the order of registration, and last for the
    /// methods that do not exist, as `unknown`.
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

/// The service itself, in this process: messages are read and replies written as for any other
/// transport, and nothing goes over a wire.
impl Transport for Rpc {
    fn send(&self, message: Message) -> TransportFuture<'_> {
        Box::pin(async move {
            let reply = self.handle(message.body, Extensions::through("memory")).await;
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
    type Future = RpcFuture;

    fn poll_ready(&mut self, cx: &mut Context<'_>) -> Poll<Result<(), Infallible>> {
        self.dispatcher.poll_ready(cx)
    }

    fn call(&mut self, call: Call) -> RpcFuture {
        Service::call(&mut self.dispatcher, call)
    }
}
