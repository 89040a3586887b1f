use std::fmt::Write;
use std::time::Duration;

use super::{Histogram, MethodMetrics};

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
    let mut text = Text(String::with_capacity(metrics.len() * USUAL));
    text.family("calls_total", "counter", "Calls that have ended, by how.");
    for method in metrics {
        text.outcomes(method);
    }
    text.family("calls_running", "gauge", "Calls that run now.");
    for method in metrics {
        text.sample("calls_running", &method.method, "", method.running);
    }
    text.family("call_duration_seconds", "histogram", "How long calls took that have ended.");
    for method in metrics {
        text.durations(&method.method, &method.durations);
    }
    text.0
}

/// The bytes of one method are about as many.
const USUAL: usize = 2_048;

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

    fn line(&mut self, line: std::fmt::Arguments<'_>) {
        writeln!(self.0, "{line}").expect("a text can be written to");
    }
}

/// Exact, and not longer than it has to be: `0.0001`, `2.5`, `10`.
fn seconds(time: Duration) -> String {
    let text = format!("{}.{:09}", time.as_secs(), time.subsec_nanos());
    text.trim_end_matches('0').trim_end_matches('.').to_owned()
}

/// As the value of a label.
fn escaped(text: &str) -> String {
    text.replace('\\', "\\\\").replace('"', "\\\"").replace('\n', "\\n")
}
