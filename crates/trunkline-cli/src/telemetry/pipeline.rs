//! The export of traces and metrics: the settings, and the thread that exports.

use std::env;
use std::num::NonZeroU32;
use std::sync::Arc;
use std::sync::mpsc::{Receiver, channel};
use std::thread;
use std::time::{Duration, Instant};

use anyhow::Context;
use ring::rand::SystemRandom;
use tracing::Subscriber;
use tracing_subscriber::Layer;
use tracing_subscriber::registry::LookupSpan;

use super::arguments::OtlpSettings;
use super::exporter::CollectorClient;
use super::instruments::Instruments;
use super::layer::{self, SpanLayer};
use super::otlp::Resource;
use super::queue::SpanQueue;

/// The running export.
pub(super) struct Pipeline {
    spans: Arc<SpanQueue>,
    instruments: Arc<Instruments>,
    /// A message when the thread has ended.
    ended: Receiver<()>,
}

/// The intervals of exports.
struct Intervals {
    spans: Duration,
    metrics: Duration,
}

/// The maximum time of the last export.
const STOP_TIMEOUT: Duration = Duration::from_secs(5);

impl Pipeline {
    /// Starts the thread. It connects with its first export.
    ///
    /// # Errors
    /// When the configuration is invalid, or TLS cannot be set up.
    pub(super) fn start(settings: OtlpSettings) -> anyhow::Result<Self> {
        let OtlpSettings { endpoint, headers, headers_file, service_name, sampler } = settings;
        sampler.set_for_process();
        let timeout = milliseconds("OTEL_EXPORTER_OTLP_TIMEOUT", 10_000)?;
        let client = CollectorClient::new(endpoint, headers, headers_file, timeout)
            .context("cannot set up the export of traces and metrics")?;
        let intervals = Intervals {
            spans: milliseconds("OTEL_BSP_SCHEDULE_DELAY", 5_000)?,
            metrics: milliseconds("OTEL_METRIC_EXPORT_INTERVAL", 60_000)?,
        };
        let max = number("OTEL_BSP_MAX_QUEUE_SIZE", "a number of spans", 2_048)? as usize;
        let batch = number("OTEL_BSP_MAX_EXPORT_BATCH_SIZE", "a number of spans", 512)? as usize;
        let spans = Arc::new(SpanQueue::new(max, batch));
        let instruments = Arc::new(Instruments::new());
        let resource = resource(service_name)?;
        let (end, ended) = channel();
        let exporter = Exporter {
            spans: Arc::clone(&spans),
            instruments: Arc::clone(&instruments),
            resource,
            client,
        };
        thread::Builder::new().name("otlp".to_owned()).spawn(move || {
            exporter.run(&intervals);
            // No receiver waits after the timeout.
            let _ = end.send(());
        })?;
        Ok(Self { spans, instruments, ended })
    }

    /// The layer of `tracing` that converts spans.
    pub(super) fn layer<S>(&self) -> impl Layer<S> + use<S>
    where
        S: Subscriber + for<'s> LookupSpan<'s>,
    {
        let layer = SpanLayer {
            queue: Arc::clone(&self.spans),
            instruments: Arc::clone(&self.instruments),
        };
        layer.with_filter(layer::filter())
    }

    /// Exports what is queued, and ends the thread, or abandons it after the timeout.
    pub(super) fn stop(self) {
        self.spans.stop();
        if self.ended.recv_timeout(STOP_TIMEOUT).is_err() {
            tracing::warn!("the last traces and metrics were not exported in time");
        }
    }
}

/// The thread.
struct Exporter {
    spans: Arc<SpanQueue>,
    instruments: Arc<Instruments>,
    resource: Resource,
    client: CollectorClient,
}

impl Exporter {
    fn run(mut self, intervals: &Intervals) {
        let mut next_metrics = Instant::now() + intervals.metrics;
        loop {
            let (spans, is_last) =
                self.spans.next((Instant::now() + intervals.spans).min(next_metrics));
            if !spans.is_empty() {
                self.client.send("/v1/traces", self.resource.traces(&spans));
            }
            if is_last || Instant::now() >= next_metrics {
                next_metrics = Instant::now() + intervals.metrics;
                let mut metrics = self.instruments.collect().peekable();
                if metrics.peek().is_some() {
                    self.client.send("/v1/metrics", self.resource.metrics(metrics));
                }
            }
            if is_last {
                return;
            }
        }
    }
}

/// The attributes of this process. Those of the user are in `OTEL_RESOURCE_ATTRIBUTES`.
fn resource(service_name: String) -> anyhow::Result<Resource> {
    /// Separates the metrics of processes, which would otherwise be one series whose counters go back and forth.
    const INSTANCE: &str = "service.instance.id";
    let of_user = env::var("OTEL_RESOURCE_ATTRIBUTES").unwrap_or_default();
    let of_user = of_user.split(',').filter_map(|pair| pair.split_once('='));
    let of_user: Vec<_> = of_user.map(|(key, value)| (key.trim(), value.trim())).collect();
    let mut own = vec![
        ("service.name", service_name),
        ("service.version", env!("CARGO_PKG_VERSION").to_owned()),
        ("telemetry.sdk.language", "rust".to_owned()),
        ("telemetry.sdk.name", "trunkline".to_owned()),
        ("telemetry.sdk.version", env!("CARGO_PKG_VERSION").to_owned()),
    ];
    if !of_user.iter().any(|(key, _)| *key == INSTANCE) {
        own.push((INSTANCE, random_uuid()?));
    }
    let is_other = |(key, _): &&(&str, &str)| own.iter().all(|(name, _)| name != key);
    let of_user = of_user.iter().filter(is_other).fold(Resource::default(), |all, (key, value)| {
        let value = percent_encoding::percent_decode_str(value).decode_utf8_lossy();
        all.with(key, value.into_owned())
    });
    Ok(own.into_iter().fold(of_user, |all, (key, value)| all.with(key, value)))
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

/// A variable in milliseconds.
fn milliseconds(variable: &str, default: u32) -> anyhow::Result<Duration> {
    let millis = number(variable, "a number of milliseconds", default)?;
    Ok(Duration::from_millis(millis.into()))
}

/// A variable with a number above 0.
fn number(variable: &str, unit: &str, default: u32) -> anyhow::Result<u32> {
    match env::var(variable) {
        Ok(text) if !text.is_empty() => {
            let number = text.trim().parse().ok().map(NonZeroU32::get);
            number.with_context(|| format!("invalid {variable} `{text}`: use {unit}"))
        }
        _ => Ok(default),
    }
}
