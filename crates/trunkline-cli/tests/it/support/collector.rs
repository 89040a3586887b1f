//! A collector of traces and metrics in this process, which decodes OTLP.

use std::collections::BTreeMap;
use std::io::{BufRead, BufReader, Read, Write};
use std::net::{TcpListener, TcpStream};
use std::process::Command;
use std::sync::{Arc, Condvar, Mutex, PoisonError};
use std::thread;
use std::time::Instant;

use opentelemetry_proto::tonic::collector::metrics::v1::ExportMetricsServiceRequest;
use opentelemetry_proto::tonic::collector::trace::v1::ExportTraceServiceRequest;
use opentelemetry_proto::tonic::common::v1::any_value::Value;
use opentelemetry_proto::tonic::common::v1::{AnyValue, KeyValue};
use opentelemetry_proto::tonic::metrics::v1::metric::Data;
use opentelemetry_proto::tonic::trace::v1::Span;
use prost::Message;

use super::PATIENCE;

/// A collector on a free port.
pub(crate) struct Collector {
    /// For `--otlp-endpoint`.
    pub(crate) url: String,
    received: Arc<Received>,
}

/// The way in which a collector replies.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Replies {
    Accepted,
    Status(u16),
    /// None: the connection stays open.
    Never,
}

#[derive(Default)]
struct Received {
    state: Mutex<State>,
    changed: Condvar,
}

#[derive(Default)]
struct State {
    spans: Vec<Span>,
    /// The last state of each metric of each service.
    metrics: BTreeMap<String, ExportedMetric>,
    resource: BTreeMap<String, String>,
    /// The lines of the heads of requests.
    heads: Vec<String>,
}

/// A histogram.
#[derive(Debug, Clone, Default)]
pub(crate) struct ExportedMetric {
    pub(crate) unit: String,
    pub(crate) bounds: Vec<f64>,
    /// The attributes and the count of each point.
    pub(crate) points: Vec<(BTreeMap<String, String>, u64)>,
}

impl Collector {
    pub(crate) fn start(replies: Replies) -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let url = format!("http://{}", listener.local_addr().unwrap());
        let received = Arc::<Received>::default();
        let shared = Arc::clone(&received);
        thread::spawn(move || {
            for stream in listener.incoming() {
                let (stream, received) = (stream.unwrap(), Arc::clone(&shared));
                thread::spawn(move || serve(stream, &received, replies));
            }
        });
        Self { url, received }
    }

    /// Sends the telemetry of a command here, without delay.
    pub(crate) fn attach(&self, command: &mut Command) {
        command.args(["--otlp-endpoint", &self.url]);
        command.envs([("OTEL_BSP_SCHEDULE_DELAY", "20"), ("OTEL_METRIC_EXPORT_INTERVAL", "50")]);
    }

    /// Waits for a span that meets a condition.
    #[track_caller]
    pub(crate) fn span(&self, what: &str, is_wanted: impl Fn(&Span) -> bool) -> Span {
        self.wait(what, |state| state.spans.iter().find(|span| is_wanted(span)).cloned())
    }

    /// Waits for a metric that meets a condition.
    #[track_caller]
    pub(crate) fn metric(
        &self,
        name: &str,
        is_wanted: impl Fn(&ExportedMetric) -> bool,
    ) -> ExportedMetric {
        self.wait(name, |state| state.metrics.get(name).filter(|metric| is_wanted(metric)).cloned())
    }

    /// All spans so far.
    pub(crate) fn spans(&self) -> Vec<Span> {
        self.lock().spans.clone()
    }

    /// All metrics so far.
    pub(crate) fn metrics(&self) -> BTreeMap<String, ExportedMetric> {
        self.lock().metrics.clone()
    }

    /// The attributes of the service, after the first export.
    #[track_caller]
    pub(crate) fn resource(&self) -> BTreeMap<String, String> {
        self.wait("a resource", |state| {
            Some(state.resource.clone()).filter(|resource| !resource.is_empty())
        })
    }

    /// Waits for a request, and returns its head in lower case.
    #[track_caller]
    pub(crate) fn head(&self) -> String {
        self.wait("a request", |state| state.heads.first().cloned())
    }

    #[track_caller]
    fn wait<T>(&self, what: &str, find: impl Fn(&State) -> Option<T>) -> T {
        let deadline = Instant::now() + PATIENCE * 2;
        let mut state = self.lock();
        loop {
            if let Some(found) = find(&state) {
                return found;
            }
            let left = deadline.saturating_duration_since(Instant::now());
            if left.is_zero() {
                let names: Vec<_> = state.spans.iter().map(|span| &span.name).collect();
                panic!("no {what}; spans {names:?}, metrics {:?}", state.metrics);
            }
            let woken = self.received.changed.wait_timeout(state, left);
            state = woken.unwrap_or_else(PoisonError::into_inner).0;
        }
    }

    fn lock(&self) -> std::sync::MutexGuard<'_, State> {
        self.received.state.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// The attributes as texts.
pub(crate) fn attributes(attributes: &[KeyValue]) -> BTreeMap<String, String> {
    let text = |value: &Option<AnyValue>| match value.as_ref().and_then(|any| any.value.clone()) {
        Some(Value::StringValue(text)) => text,
        Some(Value::IntValue(number)) => number.to_string(),
        Some(Value::BoolValue(value)) => value.to_string(),
        value => format!("{value:?}"),
    };
    attributes.iter().map(|pair| (pair.key.clone(), text(&pair.value))).collect()
}

fn serve(stream: TcpStream, received: &Received, replies: Replies) {
    let mut reader = BufReader::new(stream);
    loop {
        let mut head = String::new();
        while !head.ends_with("\r\n\r\n") {
            if !matches!(reader.read_line(&mut head), Ok(1..)) {
                return;
            }
        }
        let head = head.to_ascii_lowercase();
        let length = head.lines().find_map(|line| line.strip_prefix("content-length: "));
        let mut body = vec![0; length.unwrap().parse().unwrap()];
        if reader.read_exact(&mut body).is_err() {
            return;
        }
        if replies == Replies::Accepted {
            received.add(&head, &body);
        }
        {
            let mut state = received.state.lock().unwrap_or_else(PoisonError::into_inner);
            state.heads.push(head);
        }
        received.changed.notify_all();
        let status = match replies {
            Replies::Accepted => 200,
            Replies::Status(status) => status,
            Replies::Never => continue,
        };
        let reply = format!("HTTP/1.1 {status} Status\r\nContent-Length: 0\r\n\r\n");
        if reader.get_mut().write_all(reply.as_bytes()).is_err() {
            return;
        }
    }
}

impl Received {
    fn add(&self, head: &str, body: &[u8]) {
        let mut state = self.state.lock().unwrap_or_else(PoisonError::into_inner);
        if head.starts_with("post /v1/traces ") {
            let request = ExportTraceServiceRequest::decode(body).unwrap();
            for resource in request.resource_spans {
                state.resource = attributes(&resource.resource.unwrap().attributes);
                let spans = resource.scope_spans.into_iter().flat_map(|scope| scope.spans);
                state.spans.extend(spans);
            }
            return;
        }
        assert!(head.starts_with("post /v1/metrics "), "{head}");
        let request = ExportMetricsServiceRequest::decode(body).unwrap();
        let scopes = request.resource_metrics.into_iter().flat_map(|one| one.scope_metrics);
        for metric in scopes.flat_map(|scope| scope.metrics) {
            let Some(Data::Histogram(histogram)) = metric.data else { panic!("{metric:?}") };
            let bounds = histogram.data_points.first().map(|point| point.explicit_bounds.clone());
            let points = histogram.data_points.iter();
            let points = points.map(|point| (attributes(&point.attributes), point.count));
            let points = points.collect();
            let exported =
                ExportedMetric { unit: metric.unit, bounds: bounds.unwrap_or_default(), points };
            state.metrics.insert(metric.name, exported);
        }
    }
}
