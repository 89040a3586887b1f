//! The metrics that are exported, with the names and buckets of OpenTelemetry's semantic conventions.

use std::time::Duration;

use opentelemetry::KeyValue;
use opentelemetry::metrics::{Histogram, Meter};
use trunkline::protocol::spans::{attribute as a, name};

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
        a::MCP_METHOD,
        a::GEN_AI_TOOL,
        a::GEN_AI_OPERATION,
        a::MCP_VERSION,
        a::TRANSPORT,
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
    attributes: &[a::DB_SYSTEM, a::DB_OPERATION, a::ERROR_TYPE],
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
        a::GEN_AI_OPERATION,
        a::GEN_AI_PROVIDER,
        a::GEN_AI_MODEL,
        a::SERVER_ADDRESS,
        a::SERVER_PORT,
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
        a::GEN_AI_OPERATION,
        a::GEN_AI_PROVIDER,
        a::GEN_AI_MODEL,
        a::SERVER_ADDRESS,
        a::SERVER_PORT,
    ],
};

const TOKEN_TYPE: &str = "gen_ai.token.type";

/// The histograms.
pub(super) struct Instruments {
    rpc: Histogram<f64>,
    mcp: Histogram<f64>,
    database: Histogram<f64>,
    model: Histogram<f64>,
    tokens: Histogram<u64>,
}

/// A span that has ended.
pub(super) struct EndedSpan<'a> {
    pub(super) name: &'static str,
    /// Whether the span is a call within another call.
    pub(super) is_internal: bool,
    pub(super) attributes: &'a [KeyValue],
    pub(super) duration: Duration,
}

impl Instruments {
    pub(super) fn new(meter: &Meter) -> Self {
        let seconds = |metric: &Metric| {
            meter
                .f64_histogram(metric.name)
                .with_unit(metric.unit)
                .with_description(metric.description)
                .with_boundaries(metric.buckets.to_vec())
                .build()
        };
        let tokens = meter
            .u64_histogram(TOKENS.name)
            .with_unit(TOKENS.unit)
            .with_description(TOKENS.description)
            .with_boundaries(TOKENS.buckets.to_vec())
            .build();
        Self {
            rpc: seconds(&RPC),
            mcp: seconds(&MCP),
            database: seconds(&DATABASE),
            model: seconds(&MODEL),
            tokens,
        }
    }

    /// Records the metrics of a span.
    pub(super) fn record(&self, span: &EndedSpan<'_>) {
        let seconds = span.duration.as_secs_f64();
        match span.name {
            name::CALL if !span.is_internal => {
                self.rpc.record(seconds, &RPC.attributes_of(span.attributes));
                if find(span.attributes, a::MCP_METHOD).is_some() {
                    self.mcp.record(seconds, &MCP.attributes_of(span.attributes));
                }
            }
            name::MCP => self.mcp.record(seconds, &MCP.attributes_of(span.attributes)),
            name::DATABASE => {
                self.database.record(seconds, &DATABASE.attributes_of(span.attributes));
            }
            name::MODEL => {
                self.model.record(seconds, &MODEL.attributes_of(span.attributes));
                for (kind, key) in [("input", a::GEN_AI_INPUT), ("output", a::GEN_AI_OUTPUT)] {
                    let tokens = match find(span.attributes, key).map(|tokens| &tokens.value) {
                        Some(opentelemetry::Value::I64(tokens)) => u64::try_from(*tokens).ok(),
                        _ => None,
                    };
                    if let Some(tokens) = tokens {
                        let mut attributes = TOKENS.attributes_of(span.attributes);
                        attributes.push(KeyValue::new(TOKEN_TYPE, kind));
                        self.tokens.record(tokens, &attributes);
                    }
                }
            }
            _ => {}
        }
    }
}

impl Metric {
    fn attributes_of(&self, all: &[KeyValue]) -> Vec<KeyValue> {
        let is_own = |pair: &&KeyValue| self.attributes.contains(&pair.key.as_str());
        all.iter().filter(is_own).cloned().collect()
    }
}

/// The attribute of this name.
pub(super) fn find<'a>(attributes: &'a [KeyValue], key: &str) -> Option<&'a KeyValue> {
    attributes.iter().find(|pair| pair.key.as_str() == key)
}
