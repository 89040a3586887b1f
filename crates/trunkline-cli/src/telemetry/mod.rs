//! Logs, and the export of traces and metrics.
//!
//! Libraries open spans with `trunkline::protocol::spans`. A layer of `tracing` converts them to spans and metrics of
//! OpenTelemetry, which a thread exports by OTLP. Without an endpoint, spans are opened only if
//! `RUST_LOG` enables the level DEBUG, for the logs.

mod arguments;
#[cfg(feature = "otlp")]
mod exporter;
mod filter;
#[cfg(feature = "otlp")]
mod instruments;
mod json;
#[cfg(feature = "otlp")]
mod layer;
#[cfg(feature = "otlp")]
mod otlp;
#[cfg(feature = "otlp")]
mod pipeline;
#[cfg(feature = "otlp")]
mod protobuf;
#[cfg(feature = "otlp")]
mod queue;

use std::io::stderr;

use tracing_subscriber::layer::SubscriberExt;
use tracing_subscriber::util::SubscriberInitExt;
use tracing_subscriber::{Layer, Registry};

pub(crate) use arguments::TelemetryArgs;

use crate::terminal::output::has_colours;
use arguments::LogFormat;
use json::JsonFormat;

/// The running export of a process.
#[derive(Default)]
pub(crate) struct Telemetry {
    #[cfg(feature = "otlp")]
    pipeline: Option<pipeline::Pipeline>,
}

/// Starts logging at level INFO, or at the levels of `RUST_LOG`, and the export if an endpoint is configured.
///
/// # Errors
/// When a variable or the configuration of the export is invalid.
pub(crate) fn start(arguments: Option<&TelemetryArgs>) -> anyhow::Result<Telemetry> {
    let format = arguments.map_or(LogFormat::Text, |arguments| arguments.log_format);
    let filter = filter::from_environment()?;
    let logs = tracing_subscriber::fmt::layer()
        .with_ansi(has_colours(&stderr()))
        .with_writer(stderr)
        // If stderr cannot be written, it would report that on stderr, and panic.
        .log_internal_errors(false);
    let logs: Box<dyn Layer<Registry> + Send + Sync> = match format {
        LogFormat::Text => Box::new(logs),
        LogFormat::Json => {
            Box::new(logs.event_format(JsonFormat).fmt_fields(json::NoFields).with_ansi(false))
        }
    };
    #[cfg(feature = "otlp")]
    if let Some(settings) = arguments.map(TelemetryArgs::otlp).transpose()?.flatten() {
        let pipeline = pipeline::Pipeline::start(settings)?;
        let logs = logs.with_filter(filter);
        tracing_subscriber::registry().with(logs).with(pipeline.layer()).init();
        return Ok(Telemetry { pipeline: Some(pipeline) });
    }
    #[cfg(not(feature = "otlp"))]
    if let Some(arguments) = arguments {
        arguments.refuse_otlp()?;
    }
    // A global filter: events and spans that it disables cost one load of an atomic.
    tracing_subscriber::registry().with(logs.and_then(filter)).init();
    Ok(Telemetry::default())
}

impl Telemetry {
    /// Exports the last spans and metrics, for at most a few seconds.
    pub(crate) fn stop(self) {
        #[cfg(feature = "otlp")]
        if let Some(pipeline) = self.pipeline {
            pipeline.stop();
        }
    }
}
