//! Conversion of the spans of `tracing` to spans of OpenTelemetry and metrics.
//!
//! The ids of calls exist before their spans (`TraceContext`), since history, logs and clients have them, too. So this
//! layer creates spans with these ids, which `tracing-opentelemetry` cannot.

use std::fmt;
use std::sync::Arc;
use std::time::{Instant, SystemTime};

use tracing::field::{Field, Visit};
use tracing::span::{Attributes, Id, Record};
use tracing::{Metadata, Subscriber};
use tracing_subscriber::Layer;
use tracing_subscriber::filter::{FilterFn, filter_fn};
use tracing_subscriber::layer::{Context, Filter};
use tracing_subscriber::registry::LookupSpan;
use trunkline::protocol::TraceContext;
use trunkline::protocol::spans::{TARGET, attribute, name};
use trunkline_agent::spans as agent;
use trunkline_mcp::spans as mcp;
use trunkline_sql::spans as sql;

use super::instruments::{EndedSpan, Instruments, find};
use super::otlp::{self, Attribute, SpanKind, Value};
use super::queue::SpanQueue;

/// Queues spans for the export, and records metrics.
pub(super) struct SpanLayer {
    pub(super) queue: Arc<SpanQueue>,
    pub(super) instruments: Arc<Instruments>,
}

/// Enables the spans of this layer only.
pub(super) fn filter<S>() -> impl Filter<S> {
    let filter: FilterFn =
        filter_fn(|metadata: &Metadata<'_>| metadata.is_span() && metadata.target() == TARGET);
    filter.with_max_level_hint(tracing::level_filters::LevelFilter::DEBUG)
}

/// A span that has not ended.
struct OpenSpan {
    started_at: SystemTime,
    started: Instant,
    /// None outside of a trace. Then only metrics are recorded.
    context: Option<TraceContext>,
    /// The span of this process that contains it.
    local_parent: Option<TraceContext>,
    remote_parent: Option<TraceContext>,
    link: Option<TraceContext>,
    is_client: bool,
    attributes: Vec<Attribute>,
}

impl<S> Layer<S> for SpanLayer
where
    S: Subscriber + for<'s> LookupSpan<'s>,
{
    fn on_new_span(&self, attributes: &Attributes<'_>, id: &Id, context: Context<'_, S>) {
        let Some(span) = context.span(id) else { return };
        let parent = span.parent();
        let local_parent = parent.and_then(|parent| parent.extensions().get::<OpenSpan>()?.context);
        let mut open = OpenSpan {
            started_at: SystemTime::now(),
            started: Instant::now(),
            context: None,
            local_parent,
            remote_parent: None,
            link: None,
            is_client: false,
            attributes: Vec::with_capacity(16),
        };
        attributes.record(&mut open);
        open.context = match span.name() {
            name::CALL => TraceContext::current(),
            mcp::NAME => Some(TraceContext::start(open.local_parent.or(open.remote_parent))),
            _ => local_parent.map(TraceContext::child),
        };
        span.extensions_mut().insert(open);
    }

    fn on_record(&self, id: &Id, values: &Record<'_>, context: Context<'_, S>) {
        let Some(span) = context.span(id) else { return };
        if let Some(open) = span.extensions_mut().get_mut::<OpenSpan>() {
            values.record(open);
        }
    }

    fn on_close(&self, id: Id, context: Context<'_, S>) {
        let Some(span) = context.span(&id) else { return };
        let Some(mut open) = span.extensions_mut().remove::<OpenSpan>() else { return };
        if let Some(status) = find(&open.attributes, attribute::RPC_STATUS)
            && find(&open.attributes, attribute::ERROR_TYPE).is_none()
        {
            let value = status.clone();
            open.attributes.push(Attribute { key: attribute::ERROR_TYPE, value });
        }
        let name = span.name();
        self.instruments.record(&EndedSpan {
            name,
            is_internal: open.kind(name) != SpanKind::Server,
            attributes: &open.attributes,
            duration: open.started.elapsed(),
        });
        let context = open.context.filter(|context| context.is_sampled());
        if let Some(context) = context {
            self.queue.add(open.into_span(name, context));
        }
    }
}

impl OpenSpan {
    fn kind(&self, name: &str) -> SpanKind {
        match name {
            _ if self.is_client => SpanKind::Client,
            name::CALL if self.local_parent.is_none() => SpanKind::Server,
            mcp::NAME => SpanKind::Server,
            // SQLite is in this process.
            sql::NAME if self.text(sql::attribute::SYSTEM).as_deref() != Some("sqlite") => {
                SpanKind::Client
            }
            _ => SpanKind::Internal,
        }
    }

    fn into_span(self, name: &'static str, context: TraceContext) -> otlp::Span {
        let local_parent =
            self.local_parent.filter(|parent| parent.trace_id() == context.trace_id());
        let parent = local_parent.or(self.remote_parent);
        otlp::Span {
            name: self.name(name),
            kind: self.kind(name),
            context,
            parent,
            has_remote_parent: parent.is_some() && local_parent.is_none(),
            link: self.link,
            start: self.started_at,
            end: self.started_at + self.started.elapsed(),
            has_failed: find(&self.attributes, attribute::ERROR_TYPE).is_some(),
            attributes: self.attributes,
        }
    }

    /// OpenTelemetry's name of the span.
    fn name(&self, name: &'static str) -> String {
        let with_target = |first: Option<String>, second: &str| match (first, self.text(second)) {
            (Some(first), Some(second)) => format!("{first} {second}"),
            (Some(first), None) => first,
            (None, second) => second.unwrap_or_else(|| name.to_owned()),
        };
        let operation = || self.text(mcp::attribute::GEN_AI_OPERATION);
        match name {
            name::CALL | mcp::NAME => match self.text(mcp::attribute::METHOD) {
                Some(method) => with_target(Some(method), mcp::attribute::GEN_AI_TOOL),
                None => match operation() {
                    Some(operation) => with_target(Some(operation), mcp::attribute::GEN_AI_TOOL),
                    None => with_target(None, attribute::RPC_METHOD),
                },
            },
            sql::NAME => with_target(None, sql::attribute::SUMMARY),
            agent::name::AGENT => with_target(operation(), agent::attribute::AGENT),
            agent::name::MODEL => with_target(operation(), agent::attribute::MODEL),
            name => name.to_owned(),
        }
    }

    fn text(&self, key: &str) -> Option<String> {
        find(&self.attributes, key).map(Value::to_text)
    }

    fn add(&mut self, field: &Field, value: Value) {
        let value = match field.name() {
            attribute::RPC_STATUS => Value::Text(value.to_text()),
            _ => value,
        };
        self.attributes.push(Attribute { key: field.name(), value });
    }

    fn add_text(&mut self, field: &Field, text: String) {
        match field.name() {
            attribute::TRACE_ID | attribute::SPAN_ID => {}
            attribute::PARENT => self.remote_parent = text.parse().ok(),
            attribute::LINK => self.link = text.parse().ok(),
            attribute::KIND => self.is_client = text == "client",
            attribute::JSONRPC_ID => {
                self.add(field, Value::Text(text.trim_matches('"').to_owned()));
            }
            _ => self.add(field, Value::Text(text)),
        }
    }
}

impl Visit for OpenSpan {
    fn record_f64(&mut self, field: &Field, value: f64) {
        self.add(field, Value::Float(value));
    }

    fn record_i64(&mut self, field: &Field, value: i64) {
        self.add(field, Value::Integer(value));
    }

    fn record_u64(&mut self, field: &Field, value: u64) {
        self.add(field, Value::Integer(i64::try_from(value).unwrap_or(i64::MAX)));
    }

    fn record_bool(&mut self, field: &Field, value: bool) {
        self.add(field, Value::Bool(value));
    }

    fn record_str(&mut self, field: &Field, value: &str) {
        self.add_text(field, value.to_owned());
    }

    fn record_debug(&mut self, field: &Field, value: &dyn fmt::Debug) {
        match field.name() {
            // Known from the context.
            attribute::TRACE_ID | attribute::SPAN_ID => {}
            _ => self.add_text(field, format!("{value:?}")),
        }
    }
}
