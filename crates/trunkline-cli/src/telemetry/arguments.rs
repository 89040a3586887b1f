//! The flags of logs and of the export.

use std::env;

#[cfg(feature = "otlp")]
use anyhow::Context;
use anyhow::bail;
use clap::{Args, ValueEnum};
#[cfg(feature = "otlp")]
use http::{HeaderMap, HeaderName, HeaderValue};
#[cfg(feature = "otlp")]
use trunkline::client::http::Url;
#[cfg(feature = "otlp")]
use trunkline::protocol::Sampler;

use crate::config::{Config, SecretFile};

/// The flags.
#[derive(Args)]
#[command(next_help_heading = "Observability")]
pub(crate) struct TelemetryArgs {
    /// Format of log messages
    ///
    /// `json` writes one object per line. Messages about a call have its trace_id and span_id.
    #[arg(
        long,
        value_name = "FORMAT",
        default_value = "text",
        env = "TRUNKLINE_LOG_FORMAT",
        value_enum
    )]
    pub(super) log_format: LogFormat,
    /// Collector of traces and metrics [default: none]
    ///
    /// The base URL of a collector that accepts OTLP over HTTP, like http://127.0.0.1:4318. Without it, nothing is
    /// recorded.
    // A URL can contain a password.
    #[arg(long, value_name = "URL", env = "OTEL_EXPORTER_OTLP_ENDPOINT", hide_env_values = true)]
    otlp_endpoint: Option<String>,
    /// Headers of requests to the collector
    // Hidden, so that the variable or the file is used: other users of the machine can read command lines.
    #[arg(
        long,
        value_name = "NAME=VALUE,…",
        env = "OTEL_EXPORTER_OTLP_HEADERS",
        hide = true,
        hide_env_values = true
    )]
    otlp_headers: Option<String>,
    /// The file of the headers, if they are in one.
    #[arg(skip)]
    otlp_headers_file: Option<SecretFile>,
    /// Name of this service in traces and metrics
    #[arg(long, value_name = "NAME", default_value = "trunkline", env = "OTEL_SERVICE_NAME")]
    service_name: String,
    /// Share of the traces that are recorded, from 0 to 1
    ///
    /// Applies to calls without a trace of the caller; others are recorded if the caller records them. The variables
    /// OTEL_TRACES_SAMPLER and OTEL_TRACES_SAMPLER_ARG take precedence.
    #[arg(
        long,
        value_name = "RATIO",
        default_value_t = 1.0,
        env = "TRUNKLINE_SAMPLE_RATIO",
        value_parser = ratio
    )]
    sample_ratio: f64,
}

/// The format of log messages.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub(super) enum LogFormat {
    Text,
    Json,
}

/// The configuration of the export.
#[cfg(feature = "otlp")]
pub(super) struct OtlpSettings {
    pub(super) endpoint: Url,
    pub(super) headers: HeaderMap,
    /// The file of the headers, which is read again.
    pub(super) headers_file: Option<SecretFile>,
    pub(super) service_name: String,
    pub(super) sampler: Sampler,
}

impl TelemetryArgs {
    /// Sets the files of secrets, which are read again.
    pub(crate) fn set_secret_files(&mut self, config: &Config) {
        self.otlp_headers_file = config.secret_file("telemetry.otlp_headers");
    }

    /// The URL of the collector, if the export is on.
    fn endpoint(&self) -> Option<&str> {
        let is_off = |value: String| value.eq_ignore_ascii_case("true");
        if env::var("OTEL_SDK_DISABLED").is_ok_and(is_off) {
            return None;
        }
        self.otlp_endpoint.as_deref().filter(|url| !url.is_empty())
    }

    /// Checks the configuration of the export.
    pub(crate) fn check(&self) -> anyhow::Result<()> {
        #[cfg(feature = "otlp")]
        self.otlp()?;
        #[cfg(not(feature = "otlp"))]
        self.refuse_otlp()?;
        Ok(())
    }

    /// The configuration of the export, if it is on.
    ///
    /// # Errors
    /// When the URL, the headers or a variable of OpenTelemetry is invalid. Headers are not in the message.
    #[cfg(feature = "otlp")]
    pub(super) fn otlp(&self) -> anyhow::Result<Option<OtlpSettings>> {
        let Some(endpoint) = self.endpoint() else { return Ok(None) };
        let url = endpoint.trim_end_matches('/').parse::<Url>();
        let endpoint = url.context(
            "invalid --otlp-endpoint (OTEL_EXPORTER_OTLP_ENDPOINT): use the base URL of a collector, like http://127.0.0.1:4318",
        )?;
        let headers = headers(self.otlp_headers.as_deref().unwrap_or_default())?;
        let sampler = sampler(self.sample_ratio)?;
        Ok(Some(OtlpSettings {
            endpoint,
            headers,
            headers_file: self.otlp_headers_file.clone(),
            service_name: self.service_name.clone(),
            sampler,
        }))
    }

    /// Refuses an endpoint in a build without the export.
    #[cfg(not(feature = "otlp"))]
    pub(super) fn refuse_otlp(&self) -> anyhow::Result<()> {
        let _ =
            (&self.otlp_headers, &self.otlp_headers_file, &self.service_name, self.sample_ratio);
        if self.endpoint().is_some() {
            bail!(
                "this build cannot export traces and metrics: leave out --otlp-endpoint and OTEL_EXPORTER_OTLP_ENDPOINT"
            );
        }
        Ok(())
    }
}

/// Parses a list of headers. The error does not contain their values.
#[cfg(feature = "otlp")]
pub(super) fn headers(text: &str) -> anyhow::Result<HeaderMap> {
    let mut map = HeaderMap::new();
    for header in text.split(',').filter(|header| !header.trim().is_empty()) {
        let (name, value) = header
            .split_once('=')
            .context("invalid OTEL_EXPORTER_OTLP_HEADERS: write NAME=VALUE, separated by commas")?;
        let (name, value) = (name.trim(), value.trim());
        let value = percent_encoding::percent_decode_str(value).decode_utf8_lossy();
        let invalid = || format!("invalid header `{name}` in OTEL_EXPORTER_OTLP_HEADERS");
        let parsed: HeaderName = name.parse().ok().with_context(invalid)?;
        let mut value: HeaderValue = value.parse().ok().with_context(invalid)?;
        value.set_sensitive(true);
        map.insert(parsed, value);
    }
    Ok(map)
}

/// The sampler of `OTEL_TRACES_SAMPLER`, or one with this ratio.
#[cfg(feature = "otlp")]
fn sampler(ratio: f64) -> anyhow::Result<Sampler> {
    let Some(name) = env::var("OTEL_TRACES_SAMPLER").ok().filter(|name| !name.is_empty()) else {
        return Ok(Sampler::new(ratio));
    };
    let argument = || match env::var("OTEL_TRACES_SAMPLER_ARG") {
        Ok(text) => self::ratio(&text).map_err(|reason| {
            anyhow::anyhow!("invalid OTEL_TRACES_SAMPLER_ARG `{text}`: {reason}")
        }),
        Err(_) => Ok(1.0),
    };
    Ok(match &*name {
        "always_on" => Sampler::new(1.0).ignoring_parents(),
        "always_off" => Sampler::new(0.0).ignoring_parents(),
        "traceidratio" => Sampler::new(argument()?).ignoring_parents(),
        "parentbased_always_on" => Sampler::new(1.0),
        "parentbased_always_off" => Sampler::new(0.0),
        "parentbased_traceidratio" => Sampler::new(argument()?),
        _ => bail!(
            "unknown OTEL_TRACES_SAMPLER `{name}`; use always_on, always_off, traceidratio, parentbased_always_on, \
             parentbased_always_off or parentbased_traceidratio"
        ),
    })
}

fn ratio(text: &str) -> Result<f64, String> {
    match text.parse() {
        Ok(ratio) if (0.0..=1.0).contains(&ratio) => Ok(ratio),
        _ => Err("use a number from 0 to 1".to_owned()),
    }
}
