//! The layers around all calls of a built router.

use std::sync::Arc;

use tower::Layer;
use trunkline_core::call::{Description, Endpoint, RegisteredOperation};
use trunkline_core::extensions::Extensions;
use trunkline_core::limits::calls::Limits;
use trunkline_core::operation::{LayerFn, ServiceLayers};

use super::authorize::{AdmissionLayer, Guard};
use super::catch_panic::CatchPanicLayer;
use super::concurrency_limit::ConcurrencyLimitLayer;
use super::metrics::CountLayer;
use super::timeout::TimeoutLayer;
use super::trace::TraceLayer;
use crate::blocking::Pool;
use crate::metrics::Counters;

/// The layers around every method that are on or off as a whole. All are on by default. The other
/// two, timeout and concurrency limit, are values of [`Limits`](crate::Limits).
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Defaults {
    /// A tracing span for each call.
    pub trace: bool,
    /// Counters for each method; without them, [`Rpc::metrics`](crate::Rpc::metrics) stays at zero.
    pub metrics: bool,
    /// Panics become -32603. Without it, a panic ends the connection of the call.
    pub catch_panic: bool,
}

impl Default for Defaults {
    fn default() -> Self {
        Self { trace: true, metrics: true, catch_panic: true }
    }
}

/// The defaults of the router that an operation was merged from, instead of those of the service. An extension of its
/// description.
#[derive(Debug)]
struct MergedDefaults(Defaults);

impl Defaults {
    /// Keeps these defaults for an operation, unless it already has others.
    pub(crate) fn keep(self, description: &mut Description) {
        if description.extensions.get::<MergedDefaults>().is_none() {
            description.extensions.insert(MergedDefaults(self));
        }
    }
}

/// The layers in fixed places around the endpoint of an operation, or of unknown methods: trace, metrics, panics, admission
/// (rate limits and rules), timeout and concurrency limit, outermost first.
pub(crate) struct DefaultLayers {
    defaults: Defaults,
    timeout: TimeoutLayer,
    concurrency: ConcurrencyLimitLayer,
    pool: Pool,
    /// Calls of unknown methods are counted here.
    pub(crate) unknown: Arc<Counters>,
    around_unknown: AroundUnknown,
}

/// The layers and conditions of unknown methods.
#[derive(Default)]
pub(crate) struct AroundUnknown {
    pub(crate) layers: Vec<LayerFn>,
    /// With the prefixes of the names that they are for.
    pub(crate) guards: Vec<(String, Guard)>,
}

impl DefaultLayers {
    pub(crate) fn new(limits: &Limits, defaults: Defaults, around_unknown: AroundUnknown) -> Self {
        Self {
            defaults,
            timeout: TimeoutLayer::of_calls(limits.call_timeout),
            concurrency: ConcurrencyLimitLayer::optional(limits.concurrent_calls),
            pool: Pool::new(limits.blocking_threads, limits.blocking_queue),
            unknown: Arc::default(),
            around_unknown,
        }
    }
}

impl ServiceLayers for DefaultLayers {
    fn extensions(&self) -> Extensions {
        let mut extensions = Extensions::new();
        extensions.insert(self.pool.clone());
        extensions.insert(Arc::<Counters>::default());
        extensions
    }

    fn wrap(&self, operation: Option<&RegisteredOperation>, endpoint: Endpoint) -> Endpoint {
        let extensions = operation.map(|operation| &operation.description().extensions);
        let merged = extensions.and_then(Extensions::get);
        let Defaults { trace, metrics, catch_panic } =
            merged.map_or(self.defaults, |MergedDefaults(own)| *own);
        let AroundUnknown { layers, guards } = &self.around_unknown;
        let (admission, layers) = match operation {
            Some(operation) => (AdmissionLayer::of(operation.description()), &[][..]),
            None => (AdmissionLayer::of_unknown(guards), &layers[..]),
        };
        let is_immediate = operation.map_or(layers.is_empty(), RegisteredOperation::is_immediate);
        let endpoint = layers.iter().fold(endpoint, |endpoint, layer| layer(endpoint));
        let limited = match is_immediate {
            // A handler that is not async cannot wait.
            true => endpoint,
            false => Endpoint::from_service(self.timeout.layer(self.concurrency.layer(endpoint))),
        };
        let admitted = match admission {
            Some(admission) => Endpoint::from_service(admission.layer(limited)),
            None => limited,
        };
        let own = operation.and_then(|operation| operation.extensions().get());
        let counters = CountLayer(metrics.then(|| own.unwrap_or(&self.unknown)).cloned());
        let caught = CatchPanicLayer::switched(catch_panic).layer(admitted);
        Endpoint::from_service(TraceLayer::switched(trace).layer(counters.layer(caught)))
    }
}
