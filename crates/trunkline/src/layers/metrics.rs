//! Counters and durations for each method, and `GET /metrics`.

use std::collections::BTreeMap;
use std::fmt::{self, Write};
use std::ops::Deref;
use std::sync::Arc;
use std::task::{Context, Poll, ready};
use std::time::Duration;

use tokio::time::Instant;
use tower::{Layer, Service};
use trunkline_core::call::{Call, RegisteredOperation};
use trunkline_core::outcome::Outcome;

use super::future::{Watch, WatchedFuture};
use crate::metrics::{Counters, End};

pub use crate::endpoints::metrics::{routes, routes_with};
pub use crate::metrics::{Histogram, MethodMetrics};

/// Counts calls, failures and cancellations of each method, and measures their durations.
///
/// Every router has one around all of its methods, which [`Rpc::metrics`](crate::Rpc::metrics) reads:
/// another one counts the same calls again. A [client](crate::client::Client) has none by default. Add one
/// with the methods that it calls:
///
/// ```
/// # use trunkline::{Router, client::Client, layers::MetricsLayer};
/// # #[tokio::main(flavor = "current_thread")]
/// # async fn main() -> Result<(), Box<dyn std::error::Error>> {
/// # let rpc = Router::new().method("ping", || "pong").build()?;
/// let layer = MetricsLayer::of(["ping"]);
/// let client = Client::new(rpc).layer(layer.clone());
/// let pong: String = client.call("ping", ()).await?;
/// assert_eq!(layer.metrics()[0].succeeded, 1);
/// # Ok(())
/// # }
/// ```
#[derive(Debug, Clone)]
pub struct MetricsLayer {
    others: Arc<Others>,
    on: bool,
}

/// The counters of calls without a registered operation.
#[derive(Debug, Default)]
struct Others {
    named: BTreeMap<String, Arc<Counters>>,
    unknown: Arc<Counters>,
}

impl MetricsLayer {
    /// Counts calls by operation, and calls of unknown methods as `unknown`.
    #[must_use]
    pub fn new() -> Self {
        Self { others: Arc::default(), on: true }
    }

    /// Counts calls of these methods, for clients, and all others as `unknown`.
    #[must_use]
    pub fn of(methods: impl IntoIterator<Item = impl Into<String>>) -> Self {
        let named = methods.into_iter().map(|method| (method.into(), Arc::default())).collect();
        Self { others: Arc::new(Others { named, unknown: Arc::default() }), on: true }
    }

    /// Counts calls of unknown methods in `unknown`.
    pub(crate) fn switched(on: bool, unknown: &Arc<Counters>) -> Self {
        let (named, unknown) = (BTreeMap::new(), Arc::clone(unknown));
        Self { others: Arc::new(Others { named, unknown }), on }
    }

    /// The metrics of the methods that were passed to [`of`](Self::of), ordered by name, and at the end those
    /// of all others as `unknown`. Calls of operations are not included: see
    /// [`Rpc::metrics`](crate::Rpc::metrics).
    #[must_use]
    pub fn metrics(&self) -> Vec<MethodMetrics> {
        let named = self.others.named.iter().map(|(method, counters)| counters.read(method));
        named.chain([self.unknown().read("unknown")]).collect()
    }

    /// Starts to measure a call of `operation`.
    pub(super) fn start<'a>(
        &'a self,
        operation: Option<&'a RegisteredOperation>,
        call: &Call,
    ) -> CallMetrics<&'a Counters> {
        CallMetrics(self.counters(operation, call).map(|counters| Count::new(&**counters)))
    }

    fn counters<'a>(
        &'a self,
        operation: Option<&'a RegisteredOperation>,
        call: &Call,
    ) -> Option<&'a Arc<Counters>> {
        let own = operation.and_then(|operation| operation.extensions().get());
        self.on.then(|| own.unwrap_or_else(|| self.others.of(call)))
    }

    fn unknown(&self) -> &Counters {
        &self.others.unknown
    }
}

impl Others {
    fn of(&self, call: &Call) -> &Arc<Counters> {
        let named = !self.named.is_empty();
        let counters = named.then(|| self.named.get(&*call.method())).flatten();
        counters.unwrap_or(&self.unknown)
    }
}

impl Default for MetricsLayer {
    fn default() -> Self {
        Self::new()
    }
}

impl<S> Layer<S> for MetricsLayer {
    type Service = Metrics<S>;

    fn layer(&self, inner: S) -> Metrics<S> {
        Metrics { inner, layer: self.clone() }
    }
}

/// Counts calls, failures and cancellations, and measures their durations.
///
/// Calls of registered methods are counted by name, all others together: a client cannot create new labels.
#[derive(Debug, Clone)]
pub struct Metrics<S> {
    inner: S,
    layer: MetricsLayer,
}

impl<S, E> Service<Call> for Metrics<S>
where
    S: Service<Call, Response = Outcome, Error = E>,
{
    type Response = Outcome;
    type Error = E;
    type Future = WatchedFuture<S::Future, CallMetrics<Arc<Counters>>>;

    fn poll_ready(&mut self, cx: &mut Context<'_>) -> Poll<Result<(), E>> {
        self.inner.poll_ready(cx)
    }

    fn call(&mut self, call: Call) -> Self::Future {
        // Before the call, since a handler that is not async runs in `call`.
        let counters = self.layer.counters(call.operation().map(|operation| &**operation), &call);
        let metrics = CallMetrics(counters.map(|counters| Count::new(Arc::clone(counters))));
        WatchedFuture::new(self.inner.call(call), metrics)
    }
}

/// The metrics of a running call. It counts the call as cancelled when it is dropped before the end.
#[derive(Debug)]
pub struct CallMetrics<C: Deref<Target = Counters>>(Option<Count<C>>);

#[derive(Debug)]
struct Count<C: Deref<Target = Counters>> {
    counters: C,
    started: Instant,
    end: End,
}

impl<E, C: Deref<Target = Counters>> Watch<E> for CallMetrics<C> {
    type Error = E;

    fn poll(
        &mut self,
        poll: impl FnOnce() -> Poll<Result<Outcome, E>>,
    ) -> Poll<Result<Outcome, E>> {
        let ended = ready!(poll());
        if let Some(mut count) = self.0.take() {
            count.end = match &ended {
                Ok(outcome) => End::of(outcome.code()),
                Err(_) => End::Failed,
            };
        }
        Poll::Ready(ended)
    }
}

impl<C: Deref<Target = Counters>> Count<C> {
    fn new(counters: C) -> Self {
        counters.start();
        Self { counters, started: Instant::now(), end: End::Cancelled }
    }
}

impl<C: Deref<Target = Counters>> Drop for Count<C> {
    fn drop(&mut self) {
        self.counters.end(self.end, self.started.elapsed());
    }
}

/// The media type of [`text`].
pub const MEDIA_TYPE: &str = "text/plain; version=0.0.4; charset=utf-8";

/// Metrics in the text format of Prometheus, version 0.0.4.
///
/// | name | type | labels |
/// |---|---|---|
/// | `trunkline_calls_total` | counter | `method`, `outcome`: `result`, `refused`, `failed`, `cancelled` |
/// | `trunkline_calls_running` | gauge | `method` |
/// | `trunkline_call_duration_seconds` | histogram | `method` |
///
/// Outcomes are those of [`MethodMetrics`].
#[must_use]
pub fn text(metrics: &[MethodMetrics]) -> String {
    let mut text = Text(String::with_capacity(metrics.len() * METHOD_SIZE));
    text.family("calls_total", "counter", "Completed calls, by outcome.");
    for method in metrics {
        text.outcomes(method);
    }
    text.family("calls_running", "gauge", "Calls that are running.");
    for method in metrics {
        text.sample("calls_running", &method.method, "", method.running);
    }
    text.family("call_duration_seconds", "histogram", "Durations of completed calls.");
    for method in metrics {
        text.durations(&method.method, &method.durations);
    }
    text.0
}

/// The approximate size of the text for one method, in bytes.
const METHOD_SIZE: usize = 2_048;

struct Text(String);

impl Text {
    fn family(&mut self, name: &str, kind: &str, help: &str) {
        self.line(format_args!("# HELP trunkline_{name} {help}"));
        self.line(format_args!("# TYPE trunkline_{name} {kind}"));
    }

    fn outcomes(&mut self, metrics: &MethodMetrics) {
        let MethodMetrics { method, succeeded, refused, failed, cancelled, .. } = metrics;
        for (outcome, count) in [
            ("result", succeeded),
            ("refused", refused),
            ("failed", failed),
            ("cancelled", cancelled),
        ] {
            self.sample("calls_total", method, &format!(",outcome=\"{outcome}\""), *count);
        }
    }

    fn durations(&mut self, method: &str, durations: &Histogram) {
        const NAME: &str = "call_duration_seconds";
        let mut below = 0;
        let bounds = Histogram::BOUNDS.map(seconds).into_iter().chain(["+Inf".to_owned()]);
        for (bound, count) in bounds.zip(durations.buckets) {
            below += count;
            let bound = format!(",le=\"{bound}\"");
            self.sample(&format!("{NAME}_bucket"), method, &bound, below);
        }
        let sum = seconds(durations.sum);
        self.line(format_args!("trunkline_{NAME}_sum{{method=\"{}\"}} {sum}", escaped(method)));
        self.sample(&format!("{NAME}_count"), method, "", below);
    }

    fn sample(&mut self, name: &str, method: &str, labels: &str, value: u64) {
        let method = escaped(method);
        self.line(format_args!("trunkline_{name}{{method=\"{method}\"{labels}}} {value}"));
    }

    fn line(&mut self, line: fmt::Arguments<'_>) {
        writeln!(self.0, "{line}").expect("writing to a string does not fail");
    }
}

/// Seconds in the shortest exact notation: `0.0001`, `2.5`, `10`.
fn seconds(time: Duration) -> String {
    let text = format!("{}.{:09}", time.as_secs(), time.subsec_nanos());
    text.trim_end_matches('0').trim_end_matches('.').to_owned()
}

/// Escapes the value of a label.
fn escaped(text: &str) -> String {
    text.replace('\\', "\\\\").replace('"', "\\\"").replace('\n', "\\n")
}
