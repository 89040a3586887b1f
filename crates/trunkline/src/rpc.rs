//! The built service: bytes in, calls through the layers, bytes out.

use std::convert::Infallible;
use std::pin::Pin;
use std::sync::Arc;
use std::task::{Context, Poll};

use bytes::Bytes;
use serde::Serialize;
use serde::de::DeserializeOwned;
use tower::{Layer, Service};

use crate::batch;
use crate::call::Call;
use crate::envelope::{self, Message, Request};
use crate::error::ErrorObject;
use crate::extensions::Extensions;
use crate::id::Id;
use crate::layers::catch_panic::CatchPanic;
use crate::layers::concurrency_limit::ConcurrencyLimit;
use crate::layers::metrics::{MethodMetrics, Metrics};
use crate::layers::timeout::Timeout;
use crate::layers::trace::Trace;
use crate::layers::{
    CatchPanicLayer, ConcurrencyLimitLayer, Defaults, MetricsLayer, TimeoutLayer, TraceLayer,
};
use crate::limits::Limits;
use crate::outcome::Outcome;
use crate::router::{Dispatch, Registered, Registry};

/// A built router: a service of [`Call`]s, and of bodies that hold them. Cloning is cheap.
#[derive(Debug, Clone)]
pub struct Rpc {
    registry: Arc<Registry>,
    limits: Arc<Limits>,
    metrics: MetricsLayer,
    stack: Stack,
}

/// The layers that every call passes, see [`layers`](crate::layers).
type Stack = Trace<Metrics<CatchPanic<Timeout<ConcurrencyLimit<Dispatch>>>>>;

/// The future of a call through all layers.
#[derive(Debug)]
pub struct RpcFuture(<Stack as Service<Call>>::Future);

impl Future for RpcFuture {
    type Output = Result<Outcome, Infallible>;

    fn poll(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<Self::Output> {
        Pin::new(&mut self.0).poll(cx)
    }
}

/// What a body is answered with.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub enum Reply {
    /// Nothing: the body held notifications only.
    None,
    /// One response object.
    Single {
        /// The response's JSON text.
        json: Vec<u8>,
        /// The code, if the response is an error.
        code: Option<i64>,
    },
    /// An array of response objects.
    Batch {
        /// The array's JSON text.
        json: Vec<u8>,
    },
}

impl Rpc {
    pub(crate) fn new(registry: Registry, limits: Limits, defaults: Defaults) -> Self {
        let metrics = MetricsLayer::switched(defaults.metrics);
        let limited = ConcurrencyLimitLayer::optional(limits.concurrent_calls).layer(Dispatch);
        let timed = TimeoutLayer::optional(limits.call_timeout).layer(limited);
        let caught = CatchPanicLayer::switched(defaults.catch_panic).layer(timed);
        let stack = TraceLayer::switched(defaults.trace).layer(metrics.layer(caught));
        Self { registry: Arc::new(registry), limits: Arc::new(limits), metrics, stack }
    }

    /// Answers one body: a request, a notification or a batch.
    ///
    /// `extensions` is what the transport knows of the sender; all calls of the body share it.
    ///
    /// # Cancel safety
    /// Dropping the future cancels the calls that have not ended.
    pub async fn handle(&self, body: Bytes, extensions: Extensions) -> Reply {
        let message = match envelope::parse(&body, self.limits.depth, self.limits.batch_requests) {
            Ok(message) => message,
            Err(unreadable) => {
                return Reply::error(&ErrorObject::from(&unreadable), Id::NULL.as_raw().as_bytes());
            }
        };
        let mut stack = self.stack.clone();
        match message {
            Message::Single(Err(invalid)) => {
                let id = invalid.id.map_or(b"null".as_slice(), |id| id.of(&body));
                Reply::error(&ErrorObject::from(&invalid), id)
            }
            Message::Single(Ok(request)) => {
                let call = self.call_of(&body, request, extensions);
                let Ok(outcome) = stack.call(call).await;
                let Some(id) = request.id else {
                    return Reply::None;
                };
                self.single(outcome, id.of(&body))
            }
            Message::Batch(entries) => {
                let call = |request| self.call_of(&body, request, extensions.clone());
                // Boxed, so that a single call does not carry the room for a batch along.
                let run = Box::pin(batch::run(&mut stack, &body, &entries, &self.limits, call));
                match run.await {
                    Some(json) => Reply::Batch { json },
                    None => Reply::None,
                }
            }
        }
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

    /// The registered operations, in the order of their registration.
    #[must_use]
    pub fn operations(&self) -> &[Arc<Registered>] {
        self.registry.operations()
    }

    /// What has been counted, for each method in the order of registration, and last for the
    /// methods that do not exist, as `unknown`.
    #[must_use]
    pub fn metrics(&self) -> Vec<MethodMetrics> {
        let known =
            self.operations().iter().map(|operation| operation.counters().read(operation.name()));
        known.chain([self.metrics.unknown().read("unknown")]).collect()
    }

    /// The limits of calls.
    #[must_use]
    pub fn limits(&self) -> &Limits {
        &self.limits
    }

    fn call_of(&self, body: &Bytes, request: Request, extensions: Extensions) -> Call {
        let operation = if request.method.escaped {
            self.registry.find(request.method.unescape(body).as_bytes())
        } else {
            self.registry.find(request.method.inner(body))
        };
        let operation = operation.cloned();
        let mut call = Call::new(body.clone(), request, extensions);
        call.resolve(operation);
        call
    }

    fn single(&self, outcome: Outcome, id: &[u8]) -> Reply {
        let code = outcome.code();
        let json = outcome.into_response(id);
        if json.len() > self.limits.reply_bytes {
            let outcome = Outcome::reply_too_large(self.limits.reply_bytes);
            return Reply::Single { code: outcome.code(), json: outcome.into_response(id) };
        }
        Reply::Single { json, code }
    }
}

impl Reply {
    fn error(error: &ErrorObject, id: &[u8]) -> Self {
        let code = Some(error.code());
        Self::Single { json: Outcome::error(error.clone()).into_response(id), code }
    }

    /// The reply's JSON text, if there is a reply.
    #[must_use]
    pub fn into_json(self) -> Option<Vec<u8>> {
        match self {
            Self::None => None,
            Self::Single { json, .. } | Self::Batch { json } => Some(json),
        }
    }
}

impl Service<Call> for Rpc {
    type Response = Outcome;
    type Error = Infallible;
    type Future = RpcFuture;

    fn poll_ready(&mut self, cx: &mut Context<'_>) -> Poll<Result<(), Infallible>> {
        self.stack.poll_ready(cx)
    }

    fn call(&mut self, mut call: Call) -> RpcFuture {
        let operation = self.registry.find(call.method().as_bytes()).cloned();
        call.resolve(operation);
        RpcFuture(self.stack.call(call))
    }
}
