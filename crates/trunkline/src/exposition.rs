//! The text format of Prometheus.

use std::fmt::{self, Write};
use std::time::Duration;

use crate::metrics::{Histogram, MethodMetrics};

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
    let mut text = Exposition(String::with_capacity(metrics.len() * METHOD_SIZE));
    text.methods(metrics);
    text.into_text()
}

/// The approximate size of the text for one method, in bytes.
const METHOD_SIZE: usize = 2_048;

/// Families of metrics, as text. The names begin with `trunkline_`.
#[derive(Debug, Default)]
pub struct Exposition(String);

impl Exposition {
    /// Adds a value that can go up and down, for each set of labels. The name ends with a unit, such as `_bytes`, if
    /// the value has one.
    pub fn gauge<'a>(
        &mut self,
        name: &str,
        help: &str,
        samples: impl IntoIterator<Item = (&'a [(&'a str, &'a str)], f64)>,
    ) {
        self.samples(name, "gauge", help, samples);
    }

    /// Adds a count since the start, for each set of labels. The name ends with `_total`.
    pub fn counter<'a>(
        &mut self,
        name: &str,
        help: &str,
        samples: impl IntoIterator<Item = (&'a [(&'a str, &'a str)], f64)>,
    ) {
        self.samples(name, "counter", help, samples);
    }

    /// The text.
    #[must_use]
    pub fn into_text(self) -> String {
        self.0
    }

    fn samples<'a>(
        &mut self,
        name: &str,
        kind: &str,
        help: &str,
        samples: impl IntoIterator<Item = (&'a [(&'a str, &'a str)], f64)>,
    ) {
        let mut samples = samples.into_iter().peekable();
        if samples.peek().is_none() {
            return;
        }
        self.family(name, kind, help);
        for (labels, value) in samples {
            let labels: Vec<_> = labels
                .iter()
                .map(|(label, value)| format!("{label}=\"{}\"", escaped(value)))
                .collect();
            match labels.is_empty() {
                true => self.line(format_args!("trunkline_{name} {value}")),
                false => {
                    self.line(format_args!("trunkline_{name}{{{}}} {value}", labels.join(",")));
                }
            }
        }
    }

    pub(crate) fn methods(&mut self, metrics: &[MethodMetrics]) {
        self.family("calls_total", "counter", "Completed calls, by outcome.");
        for method in metrics {
            self.outcomes(method);
        }
        self.family("calls_running", "gauge", "Calls that are running.");
        for method in metrics {
            self.sample("calls_running", &method.method, "", method.running);
        }
        self.family("call_duration_seconds", "histogram", "Durations of completed calls.");
        for method in metrics {
            self.durations(&method.method, &method.durations);
        }
    }

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
