//! The metrics that are exported, with the names and buckets of OpenTelemetry's semantic conventions.

use std::collections::BTreeMap;
use std::sync::{Mutex, PoisonError};
use std::time::{Duration, SystemTime};

use trunkline::protocol::spans::{attribute as a, name};
use trunkline_agent::spans::{attribute as agent, name::MODEL as MODEL_SPAN};
use trunkline_mcp::spans::{self, attribute as mcp};
use trunkline_sql::spans::{self as sql_spans, attribute as sql};

use super::otlp::{Attribute, Histogram, Value, nanoseconds};
use super::protobuf::Message;

/// A histogram and its attributes.
pub(super) struct Metric {
    pub(super) name: &'static str,
    unit: &'static str,
    description: &'static str,
    buckets: &'static [f64],
    attributes: &'static [&'static str],
}

/// The durations of calls.
pub(super) const RPC: Metric = Metric {
    name: "rpc.server.call.duration",
    unit: "s",
    description: "Duration of calls.",
    buckets: &[0.005, 0.01, 0.025, 0.05, 0.075, 0.1, 0.25, 0.5, 0.75, 1.0, 2.5, 5.0, 7.5, 10.0],
    attributes: &[a::RPC_SYSTEM, a::RPC_METHOD, a::RPC_STATUS, a::ERROR_TYPE],
};

/// The durations of requests of MCP.
pub(super) const MCP: Metric = Metric {
    name: "mcp.server.operation.duration",
    unit: "s",
    description: "Duration of requests of MCP.",
    buckets: &[0.01, 0.02, 0.05, 0.1, 0.2, 0.5, 1.0, 2.0, 5.0, 10.0, 30.0, 60.0, 120.0, 300.0],
    attributes: &[
        mcp::METHOD,
        mcp::GEN_AI_TOOL,
        mcp::GEN_AI_OPERATION,
        mcp::VERSION,
        mcp::TRANSPORT,
        a::RPC_STATUS,
        a::ERROR_TYPE,
    ],
};

/// The durations of operations of databases.
pub(super) const DATABASE: Metric = Metric {
    name: "db.client.operation.duration",
    unit: "s",
    description: "Duration of operations of databases.",
    buckets: &[0.001, 0.005, 0.01, 0.05, 0.1, 0.5, 1.0, 5.0, 10.0],
    attributes: &[sql::SYSTEM, sql::OPERATION, a::ERROR_TYPE],
};

/// The durations of requests to language models.
pub(super) const MODEL: Metric = Metric {
    name: "gen_ai.client.operation.duration",
    unit: "s",
    description: "Duration of requests to language models.",
    buckets: &[
        0.01, 0.02, 0.04, 0.08, 0.16, 0.32, 0.64, 1.28, 2.56, 5.12, 10.24, 20.48, 40.96, 81.92,
    ],
    attributes: &[
        mcp::GEN_AI_OPERATION,
        agent::PROVIDER,
        agent::MODEL,
        agent::SERVER_ADDRESS,
        agent::SERVER_PORT,
        a::ERROR_TYPE,
    ],
};

/// The tokens of requests to language models.
pub(super) const TOKENS: Metric = Metric {
    name: "gen_ai.client.token.usage",
    unit: "{token}",
    description: "Tokens that language models read and write.",
    buckets: &[
        1.0,
        4.0,
        16.0,
        64.0,
        256.0,
        1024.0,
        4096.0,
        16384.0,
        65536.0,
        262_144.0,
        1_048_576.0,
        4_194_304.0,
        16_777_216.0,
        67_108_864.0,
    ],
    attributes: &[
        mcp::GEN_AI_OPERATION,
        agent::PROVIDER,
        agent::MODEL,
        agent::SERVER_ADDRESS,
        agent::SERVER_PORT,
    ],
};

const TOKEN_TYPE: &str = "gen_ai.token.type";

/// The histograms.
pub(super) struct Instruments {
    rpc: Series,
    mcp: Series,
    database: Series,
    model: Series,
    tokens: Series,
    /// The start of all points.
    start: SystemTime,
}

/// A span that has ended.
pub(super) struct EndedSpan<'a> {
    pub(super) name: &'static str,
    /// Whether the span is a call within another call.
    pub(super) is_internal: bool,
    pub(super) attributes: &'a [Attribute],
    pub(super) duration: Duration,
}

/// The points of a histogram.
struct Series {
    metric: &'static Metric,
    /// The points by their encoded attributes.
    points: Mutex<BTreeMap<Vec<u8>, Point>>,
}

/// The recorded values of a series, since the start of the process.
struct Point {
    count: u64,
    sum: f64,
    min: f64,
    max: f64,
    /// One more than the limits of buckets, which are inclusive upper limits.
    buckets: Vec<u64>,
}

/// The maximum number of points of a histogram, as in the SDKs of OpenTelemetry. Further values share a point with this
/// attribute.
const MAX_POINTS: usize = 2_000;
const OVERFLOW: &str = "otel.metric.overflow";

impl Instruments {
    pub(super) fn new() -> Self {
        Self {
            rpc: Series::new(&RPC),
            mcp: Series::new(&MCP),
            database: Series::new(&DATABASE),
            model: Series::new(&MODEL),
            tokens: Series::new(&TOKENS),
            start: SystemTime::now(),
        }
    }

    /// Records the metrics of a span.
    pub(super) fn record(&self, span: &EndedSpan<'_>) {
        let seconds = span.duration.as_secs_f64();
        match span.name {
            name::CALL if !span.is_internal => {
                self.rpc.record(seconds, span.attributes, None);
                if find(span.attributes, mcp::METHOD).is_some() {
                    self.mcp.record(seconds, span.attributes, None);
                }
            }
            spans::NAME => self.mcp.record(seconds, span.attributes, None),
            sql_spans::NAME => self.database.record(seconds, span.attributes, None),
            MODEL_SPAN => {
                self.model.record(seconds, span.attributes, None);
                for (kind, key) in [("input", agent::INPUT), ("output", agent::OUTPUT)] {
                    if let Some(Value::Integer(tokens @ 0..)) = find(span.attributes, key) {
                        self.tokens.record(*tokens as f64, span.attributes, Some(kind));
                    }
                }
            }
            _ => {}
        }
    }

    /// The histograms that have points.
    pub(super) fn collect(&self) -> impl Iterator<Item = Histogram> {
        let all = [&self.rpc, &self.mcp, &self.database, &self.model, &self.tokens];
        all.map(|series| series.collect(self.start))
            .into_iter()
            .filter(|metric| !metric.points.is_empty())
    }
}

impl Series {
    fn new(metric: &'static Metric) -> Self {
        Self { metric, points: Mutex::default() }
    }

    /// Adds a value to the point of those attributes that the metric has, and of the type of tokens.
    fn record(&self, value: f64, attributes: &[Attribute], tokens: Option<&str>) {
        // The field of attributes in a point.
        let encoded = |attribute: &Attribute| Message::default().message(9, &attribute.encode());
        let mut key = Vec::new();
        for name in self.metric.attributes {
            if let Some(own) = attributes.iter().find(|attribute| attribute.key == *name) {
                key.extend(encoded(own).into_bytes());
            }
        }
        if let Some(kind) = tokens {
            let kind = Attribute { key: TOKEN_TYPE, value: Value::Text(kind.to_owned()) };
            key.extend(encoded(&kind).into_bytes());
        }
        let mut points = self.points.lock().unwrap_or_else(PoisonError::into_inner);
        if points.len() >= MAX_POINTS && !points.contains_key(&key) {
            let overflow = Attribute { key: OVERFLOW, value: Value::Bool(true) };
            key = encoded(&overflow).into_bytes();
        }
        let limits = self.metric.buckets;
        let point = points.entry(key).or_insert_with(|| Point::new(limits.len() + 1));
        point.count += 1;
        point.sum += value;
        point.min = point.min.min(value);
        point.max = point.max.max(value);
        point.buckets[limits.partition_point(|limit| *limit < value)] += 1;
    }

    fn collect(&self, start: SystemTime) -> Histogram {
        let Metric { name, unit, description, buckets, .. } = *self.metric;
        let now = nanoseconds(SystemTime::now());
        let points = self.points.lock().unwrap_or_else(PoisonError::into_inner);
        let points = points.iter().map(|(attributes, point)| {
            Message::default()
                .fixed64(2, nanoseconds(start))
                .fixed64(3, now)
                .fixed64(4, point.count)
                .element_double(5, point.sum)
                .packed(6, point.buckets.iter().copied())
                .packed(7, buckets.iter().map(|limit| limit.to_bits()))
                .fields(attributes)
                .element_double(11, point.min)
                .element_double(12, point.max)
        });
        Histogram { name, unit, description, points: points.collect() }
    }
}

impl Point {
    fn new(buckets: usize) -> Self {
        let (min, max) = (f64::INFINITY, f64::NEG_INFINITY);
        Self { count: 0, sum: 0.0, min, max, buckets: vec![0; buckets] }
    }
}

/// The value of the attribute of this name.
pub(super) fn find<'a>(attributes: &'a [Attribute], key: &str) -> Option<&'a Value> {
    attributes.iter().find(|attribute| attribute.key == key).map(|attribute| &attribute.value)
}

#[cfg(test)]
mod tests {
    use opentelemetry_proto::tonic::collector::metrics::v1::ExportMetricsServiceRequest;
    use opentelemetry_proto::tonic::common::v1::any_value;
    use opentelemetry_proto::tonic::metrics::v1::{HistogramDataPoint, metric::Data};
    use prost::Message as _;

    use super::super::otlp::Resource;
    use super::*;

    fn call(method: String, seconds: f64) -> (Vec<Attribute>, Duration) {
        let other = Attribute { key: a::JSONRPC_ID, value: Value::Integer(7) };
        let method = Attribute { key: a::RPC_METHOD, value: Value::Text(method) };
        (vec![other, method], Duration::from_secs_f64(seconds))
    }

    /// The points of calls, as a collector reads them.
    fn points(calls: impl IntoIterator<Item = (String, f64)>) -> Vec<HistogramDataPoint> {
        let instruments = Instruments::new();
        for (method, seconds) in calls {
            let (attributes, duration) = call(method, seconds);
            let name = name::CALL;
            let span = EndedSpan { name, is_internal: false, attributes: &attributes, duration };
            instruments.record(&span);
        }
        let request = Resource::default().metrics(instruments.collect());
        let request = ExportMetricsServiceRequest::decode(&*request).unwrap();
        let metrics = &request.resource_metrics[0].scope_metrics[0].metrics;
        assert_eq!(metrics.len(), 1, "histograms without points are left out: {metrics:?}");
        assert_eq!((&*metrics[0].name, &*metrics[0].unit), (RPC.name, RPC.unit));
        let Some(Data::Histogram(histogram)) = &metrics[0].data else { panic!("{metrics:?}") };
        assert_eq!(histogram.aggregation_temporality, 2);
        histogram.data_points.clone()
    }

    #[test]
    fn a_point_has_the_values_of_its_attributes() {
        // The upper limit of a bucket belongs to it.
        let calls = [("a", 0.0), ("a", 0.005), ("a", 0.006), ("a", 60.0), ("b", 1.0)];
        let points = points(calls.map(|(method, seconds)| (method.to_owned(), seconds)));
        let [a, b] = &points[..] else { panic!("{points:?}") };
        assert_eq!((a.count, b.count), (4, 1));
        assert_eq!((a.sum, a.min, a.max), (Some(60.011), Some(0.0), Some(60.0)));
        assert_eq!(a.explicit_bounds, RPC.buckets);
        assert_eq!(a.bucket_counts, [2, 1, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 1]);
        assert_eq!(a.attributes.len(), 1, "only those of the metric: {a:?}");
        assert_eq!(a.attributes[0].key, a::RPC_METHOD);
        assert!(0 < a.start_time_unix_nano && a.start_time_unix_nano <= a.time_unix_nano);
    }

    #[test]
    fn further_attributes_share_a_point() {
        let points = points((0..MAX_POINTS + 5).map(|call| (call.to_string(), 1.0)));
        assert_eq!(points.len(), MAX_POINTS + 1);
        let is_overflow =
            |point: &&HistogramDataPoint| point.attributes.iter().any(|pair| pair.key == OVERFLOW);
        let overflow = points.iter().find(is_overflow).unwrap();
        assert_eq!(overflow.count, 5);
        let value = overflow.attributes[0].value.clone().unwrap().value;
        assert_eq!(value, Some(any_value::Value::BoolValue(true)));
    }
}
