//! The export of traces and metrics: queues, threads, and the collector.

use std::env;
use std::sync::Arc;
use std::thread;
use std::time::Duration;

use anyhow::Context;
use opentelemetry::metrics::MeterProvider;
use opentelemetry::{InstrumentationScope, Key, KeyValue};
use opentelemetry_otlp::{
    MetricExporter, RetryPolicy, SpanExporter, WithExportConfig, WithHttpConfig,
};
use opentelemetry_sdk::Resource;
use opentelemetry_sdk::metrics::{PeriodicReader, SdkMeterProvider};
use opentelemetry_sdk::resource::{EnvResourceDetector, ResourceDetector};
use opentelemetry_sdk::trace::{BatchSpanProcessor, SpanProcessor};
use ring::rand::SystemRandom;
use tracing::Subscriber;
use tracing_subscriber::Layer;
use tracing_subscriber::registry::LookupSpan;

use super::arguments::OtlpSettings;
use super::exporter::CollectorClient;
use super::instruments::Instruments;
use super::layer::{self, SpanLayer};

/// The processor of spans and the provider of metrics, each with its thread.
pub(super) struct Pipeline {
    spans: Arc<BatchSpanProcessor>,
    metrics: SdkMeterProvider,
}

const SCOPE: &str = "trunkline";

/// The maximum time of an export, if `OTEL_EXPORTER_OTLP_TIMEOUT` is not set.
const EXPORT_TIMEOUT: Duration = Duration::from_secs(10);

/// The maximum time of the last export.
const STOP_TIMEOUT: Duration = Duration::from_secs(5);

impl Pipeline {
    /// Starts the threads. They connect with their first export.
    ///
    /// # Errors
    /// When the configuration is invalid, or TLS cannot be set up.
    pub(super) fn start(settings: OtlpSettings) -> anyhow::Result<Self> {
        let OtlpSettings { endpoint, headers, service_name, sampler } = settings;
        sampler.set_for_process();
        let base = format!("{}{}", endpoint.origin(), endpoint.path().trim_end_matches('/'));
        let client = CollectorClient::new(endpoint, export_timeout()?);
        let client = Arc::new(client.context("cannot set up the export of traces and metrics")?);
        let headers: std::collections::HashMap<_, _> = headers.into_iter().collect();
        let resource = resource(service_name)?;
        // Without retries: the next export has the same metrics, and spans are not worth a queue that is full.
        let spans = SpanExporter::builder()
            .with_http()
            .with_shared_http_client(Arc::clone(&client) as _)
            .with_retry_policy(RetryPolicy::disabled())
            .with_headers(headers.clone())
            .with_endpoint(format!("{base}/v1/traces"))
            .build()
            .context("cannot set up the export of traces")?;
        let metrics = MetricExporter::builder()
            .with_http()
            .with_shared_http_client(client as _)
            .with_retry_policy(RetryPolicy::disabled())
            .with_headers(headers)
            .with_endpoint(format!("{base}/v1/metrics"))
            .build()
            .context("cannot set up the export of metrics")?;
        let mut spans = BatchSpanProcessor::builder(spans).build();
        spans.set_resource(&resource);
        let metrics = SdkMeterProvider::builder()
            .with_reader(PeriodicReader::builder(metrics).build())
            .with_resource(resource)
            .build();
        Ok(Self { spans: Arc::new(spans), metrics })
    }

    /// The layer of `tracing` that converts spans.
    pub(super) fn layer<S>(&self) -> impl Layer<S> + use<S>
    where
        S: Subscriber + for<'s> LookupSpan<'s>,
    {
        let instruments = Instruments::new(&self.metrics.meter(SCOPE));
        let scope =
            InstrumentationScope::builder(SCOPE).with_version(env!("CARGO_PKG_VERSION")).build();
        let layer = SpanLayer { processor: Arc::clone(&self.spans), instruments, scope };
        layer.with_filter(layer::filter())
    }

    /// Exports what is queued, and ends the threads, or abandons them after the timeout.
    pub(super) fn stop(self) {
        let Self { spans, metrics } = self;
        let metrics = thread::spawn(move || metrics.shutdown_with_timeout(STOP_TIMEOUT));
        let spans = spans.shutdown_with_timeout(STOP_TIMEOUT);
        let metrics = metrics.join();
        if spans.is_err() || !matches!(metrics, Ok(Ok(()))) {
            tracing::warn!("the last traces and metrics were not exported in time");
        }
    }
}

fn resource(service_name: String) -> anyhow::Result<Resource> {
    /// Separates the metrics of processes, which would otherwise be one series whose counters go back and forth.
    const INSTANCE: &str = "service.instance.id";
    let resource = Resource::builder()
        .with_service_name(service_name)
        .with_attribute(KeyValue::new("service.version", env!("CARGO_PKG_VERSION")));
    // That of the user is in OTEL_RESOURCE_ATTRIBUTES.
    if EnvResourceDetector::new().detect().get(&Key::new(INSTANCE)).is_some() {
        return Ok(resource.build());
    }
    Ok(resource.with_attribute(KeyValue::new(INSTANCE, random_uuid()?)).build())
}

/// A UUID of version 4 (RFC 9562, section 5.4).
fn random_uuid() -> anyhow::Result<String> {
    let random = ring::rand::generate::<[u8; 16]>(&SystemRandom::new());
    let random = random.ok().context("the operating system has no random numbers")?.expose();
    let mut uuid = u128::from_be_bytes(random);
    for (bits, position, value) in [(0xf, 76, 4), (0b11, 62, 0b10)] {
        uuid = uuid & !(bits << position) | value << position;
    }
    let group = |end: u32, digits: u32| uuid >> end & ((1 << (4 * digits)) - 1);
    let [first, second, third, fourth, fifth] =
        [group(96, 8), group(80, 4), group(64, 4), group(48, 4), group(0, 12)];
    Ok(format!("{first:08x}-{second:04x}-{third:04x}-{fourth:04x}-{fifth:012x}"))
}

/// `OTEL_EXPORTER_OTLP_TIMEOUT`, in milliseconds.
fn export_timeout() -> anyhow::Result<Duration> {
    const VARIABLE: &str = "OTEL_EXPORTER_OTLP_TIMEOUT";
    match env::var(VARIABLE) {
        Ok(text) => {
            let millis = text.parse().ok().filter(|millis| *millis > 0);
            let millis = millis.with_context(|| {
                format!("invalid {VARIABLE} `{text}`: use a number of milliseconds")
            })?;
            Ok(Duration::from_millis(millis))
        }
        Err(_) => Ok(EXPORT_TIMEOUT),
    }
}
