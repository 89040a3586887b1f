//! The state of the service: health, rates, durations, limits and versions.

use std::time::{Duration, SystemTime};

use askama::Template;
use axum::response::Response;
use trunkline::Rpc;
use trunkline::history::Filter;
use trunkline::layers::metrics::{Histogram, MethodMetrics};

use super::history::readable;
use super::operations;
use crate::console::{Layout, Visit, page};
use crate::text;

struct Row {
    href: String,
    name: String,
    calls: String,
    errors: u64,
    failures: u64,
    running: u64,
    mean: String,
    median: String,
    p99: String,
    /// The part of all time that calls of this method took, in percent.
    share: u64,
}

#[derive(Template)]
#[template(path = "overview.html")]
struct OverviewPage {
    layout: Layout,
    problems: Vec<(String, String)>,
    uptime: String,
    calls: String,
    errors: String,
    error_share: String,
    running: u64,
    /// Calls per second of the last minute.
    rate: String,
    p99: String,
    rows: Vec<Row>,
    parts: Vec<(&'static str, String, &'static str)>,
    limits: Vec<(String, String)>,
    bars: Vec<Bar>,
}

/// The number of calls of a range of durations.
struct Bar {
    label: String,
    count: String,
    /// In percent of the largest.
    share: u64,
}

pub(super) async fn show(visit: Visit) -> Response {
    let names: Vec<String> =
        visit.operations().iter().map(|operation| operation.name().to_owned()).collect();
    let metrics = visit.console.services().flat_map(Rpc::metrics);
    let metrics: Vec<MethodMetrics> = metrics
        .filter(|one| one.started > 0)
        .filter(|one| one.method == "unknown" || names.contains(&one.method))
        .collect();
    let mut all = Histogram::default();
    for one in &metrics {
        all.sum += one.durations.sum;
        for (sum, count) in all.buckets.iter_mut().zip(one.durations.buckets) {
            *sum += count;
        }
    }
    let sum = |count: fn(&MethodMetrics) -> u64| metrics.iter().map(count).sum::<u64>();
    let calls = sum(|one| one.started);
    let errors = sum(|one| one.refused + one.failed);
    let mut sorted: Vec<&MethodMetrics> = metrics.iter().collect();
    sorted.sort_by_key(|one| std::cmp::Reverse(one.started));
    let uptime = visit.console.started.elapsed();
    let config = &visit.console.config;
    let problems = config.problems.now();
    page(&OverviewPage {
        layout: visit.layout("Overview", "overview"),
        problems: problems.into_iter().map(|one| (one.component.to_owned(), one.reason)).collect(),
        uptime: duration(uptime),
        calls: text::grouped(calls),
        errors: text::grouped(errors),
        error_share: match calls {
            0 => "0 %".to_owned(),
            calls => format!("{:.1} %", errors as f64 * 100.0 / calls as f64),
        },
        running: sum(|one| one.running),
        rate: format!("{:.1}", rate(&visit).unwrap_or_else(|| per_second(calls, uptime))),
        p99: quantile(&all, 0.99),
        rows: sorted.iter().map(|one| Row::of(one, all.sum)).collect(),
        parts: parts(&visit),
        limits: config.limits.clone(),
        bars: bars(&all),
    })
}

impl Row {
    fn of(metrics: &MethodMetrics, total: Duration) -> Self {
        let MethodMetrics { method, started, refused, failed, running, durations, .. } = metrics;
        let ended = durations.count();
        let mean = durations.sum.as_secs_f64() * 1_000.0 / ended.max(1) as f64;
        let share = durations.sum.as_secs_f64() * 100.0 / total.as_secs_f64().max(1e-9);
        Self {
            href: operations::href(method),
            name: method.clone(),
            calls: text::grouped(*started),
            errors: refused + failed,
            failures: *failed,
            running: *running,
            mean: text::millis(mean),
            median: quantile(durations, 0.5),
            p99: quantile(durations, 0.99),
            share: share.round() as u64,
        }
    }
}

/// Calls per second in the last minute, by the history.
fn rate(visit: &Visit) -> Option<f64> {
    const WINDOW: Duration = Duration::from_secs(60);
    let history = readable(visit).ok()?;
    let since = SystemTime::now().checked_sub(WINDOW);
    let found = history.entries(&Filter { since, limit: 10_000, ..Filter::default() }).entries;
    let window = WINDOW.min(visit.console.started.elapsed()).max(Duration::from_secs(1));
    // A history that is full of newer calls covers less than a minute.
    let covered = found.last().and_then(|oldest| oldest.time.elapsed().ok());
    let window = match (found.len() >= 500, covered) {
        (true, Some(covered)) => covered.max(Duration::from_secs(1)),
        _ => window,
    };
    Some(found.len() as f64 / window.as_secs_f64())
}

fn per_second(calls: u64, time: Duration) -> f64 {
    calls as f64 / time.as_secs_f64().max(1.0)
}

/// The upper bound of the bucket that contains this quantile.
fn quantile(histogram: &Histogram, quantile: f64) -> String {
    let count = histogram.count();
    if count == 0 {
        return "–".to_owned();
    }
    let rank = (count as f64 * quantile).ceil() as u64;
    let mut seen = 0;
    for (calls, bound) in histogram.buckets.iter().zip(Histogram::BOUNDS) {
        seen += calls;
        if seen >= rank {
            return format!("≤ {}", label(bound));
        }
    }
    format!("> {}", label(Histogram::BOUNDS[Histogram::BOUNDS.len() - 1]))
}

fn label(bound: Duration) -> String {
    let millis = bound.as_secs_f64() * 1_000.0;
    match millis {
        millis if millis < 1.0 => format!("{:.0} µs", millis * 1_000.0),
        millis if millis < 1_000.0 => format!("{millis} ms"),
        millis => format!("{} s", millis / 1_000.0),
    }
}

/// The buckets from the first to the last that is not empty.
fn bars(histogram: &Histogram) -> Vec<Bar> {
    let most = histogram.buckets.iter().copied().max().unwrap_or(0).max(1);
    let bounds = Histogram::BOUNDS.map(|bound| format!("≤ {}", label(bound)));
    let labels = bounds.into_iter().chain(["longer".to_owned()]);
    let bar = |(count, label): (&u64, String)| Bar {
        label,
        count: text::grouped(*count),
        share: (count * 100).div_ceil(most),
    };
    let bars: Vec<Bar> = histogram.buckets.iter().zip(labels).map(bar).collect();
    let is_used = |bar: &Bar| bar.share > 0;
    let first = bars.iter().position(is_used).unwrap_or(bars.len());
    let last = bars.iter().rposition(is_used).map_or(0, |last| last + 1);
    bars.into_iter().take(last).skip(first).collect()
}

/// The parts of the service, with their states and pages.
fn parts(visit: &Visit) -> Vec<(&'static str, String, &'static str)> {
    let config = &visit.console.config;
    let databases = visit.databases();
    let databases = databases.iter().map(|database| {
        let mode = if database.is_writable { "writable" } else { "read-only" };
        format!("{} ({}, {mode})", database.name, database.engine)
    });
    let databases: Vec<String> = databases.collect();
    let off = || "off".to_owned();
    let on = |is_on: bool| if is_on { "on".to_owned() } else { off() };
    let records = visit.record_types().map_or_else(off, |types| types.join(", "));
    vec![
        (
            "Databases",
            if databases.is_empty() { off() } else { databases.join(", ") },
            "/console/databases",
        ),
        ("Records", records, "/console/records"),
        ("History", on(config.history.is_some()), "/console/history"),
        ("Command tools", on(config.has_tools), "/console/tools"),
        ("Upstreams", on(config.has_upstreams), "/console/tools"),
        (
            "Agent",
            config.model.as_ref().map_or_else(off, |model| format!("model {model}")),
            "/console/agent",
        ),
    ]
}

fn duration(time: Duration) -> String {
    let seconds = time.as_secs();
    let (days, hours, minutes) = (seconds / 86_400, seconds / 3_600 % 24, seconds / 60 % 60);
    match (days, hours, minutes) {
        (0, 0, 0) => format!("{seconds} s"),
        (0, 0, minutes) => format!("{minutes} min"),
        (0, hours, minutes) => format!("{hours} h {minutes} min"),
        (days, hours, _) => format!("{days} d {hours} h"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn quantiles_are_bounds_of_buckets() {
        let mut histogram = Histogram::default();
        assert_eq!(quantile(&histogram, 0.5), "–");
        histogram.buckets[0] = 98;
        histogram.buckets[9] = 1;
        histogram.buckets[16] = 1;
        let found = [0.5, 0.99, 1.0].map(|share| quantile(&histogram, share));
        assert_eq!(found, ["≤ 100 µs", "≤ 100 ms", "> 10 s"]);
        assert_eq!(bars(&histogram).len(), 17);
        assert_eq!(duration(Duration::from_secs(90_061)), "1 d 1 h");
    }
}
