//! Conversion of the spans of `tracing` to spans of OpenTelemetry and metrics.
//!
//! The ids of calls exist before their spans (`TraceContext`), since history, logs and clients have them, too. So this
//! layer creates spans with these ids, which `tracing-opentelemetry` cannot.

use std::fmt;
use std::sync::Arc;
use std::time::{Instant, SystemTime};

use opentelemetry::trace::{
    Link, SpanContext, SpanId, SpanKind, Status, TraceFlags, TraceId, TraceState,
};
use opentelemetry::{InstrumentationScope, KeyValue, Value};
use opentelemetry_sdk::trace::{SpanData, SpanEvents, SpanLinks, SpanProcessor};
use tracing::field::{Field, Visit};
use tracing::span::{Attributes, Id, Record};
use tracing::{Metadata, Subscriber};
use tracing_subscriber::Layer;
use tracing_subscriber::filter::{FilterFn, filter_fn};
use tracing_subscriber::layer::{Context, Filter};
use tracing_subscriber::registry::LookupSpan;
use trunkline::protocol::TraceContext;
use trunkline::protocol::spans::{attribute, name};

use super::instruments::{EndedSpan, Instruments, find};

/// Exports spans to a processor, and records metrics.
pub(super) struct SpanLayer<P> {
    pub(super) processor: Arc<P>,
    pub(super) instruments: Instruments,
    pub(super) scope: InstrumentationScope,
}

/// The module of all spans that are exported.
const TARGET: &str = "trunkline_core::spans";

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
    attributes: Vec<KeyValue>,
}

impl<S, P> Layer<S> for SpanLayer<P>
where
    S: Subscriber + for<'s> LookupSpan<'s>,
    P: SpanProcessor + 'static,
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
            name::MCP => Some(TraceContext::start(open.local_parent.or(open.remote_parent))),
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
            open.attributes.push(KeyValue::new(attribute::ERROR_TYPE, status.value.clone()));
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
            self.processor.on_end(open.into_data(name, context, self.scope.clone()));
        }
    }
}

impl OpenSpan {
    fn kind(&self, name: &str) -> SpanKind {
        match name {
            _ if self.is_client => SpanKind::Client,
            name::CALL if self.local_parent.is_none() => SpanKind::Server,
            name::MCP => SpanKind::Server,
            // SQLite is in this process.
            name::DATABASE if self.text(attribute::DB_SYSTEM).as_deref() != Some("sqlite") => {
                SpanKind::Client
            }
            _ => SpanKind::Internal,
        }
    }

    fn into_data(
        self,
        name: &'static str,
        context: TraceContext,
        instrumentation_scope: InstrumentationScope,
    ) -> SpanData {
        let local_parent =
            self.local_parent.filter(|parent| parent.trace_id() == context.trace_id());
        let parent = local_parent.or(self.remote_parent);
        let links = SpanLinks::default();
        let links = match self.link {
            None => links,
            Some(link) => {
                let mut links = links;
                links.links = vec![Link::with_context(span_context(link, true))];
                links
            }
        };
        let status = match find(&self.attributes, attribute::ERROR_TYPE) {
            Some(_) => Status::error(""),
            None => Status::Unset,
        };
        SpanData {
            span_context: span_context(context, false),
            parent_span_id: parent
                .map_or(SpanId::INVALID, |parent| SpanId::from(parent.span_number())),
            parent_span_is_remote: parent.is_some() && local_parent.is_none(),
            span_kind: self.kind(name),
            name: self.name(name).into(),
            start_time: self.started_at,
            end_time: self.started_at + self.started.elapsed(),
            attributes: self.attributes,
            dropped_attributes_count: 0,
            events: SpanEvents::default(),
            links,
            status,
            instrumentation_scope,
        }
    }

    /// OpenTelemetry's name of the span.
    fn name(&self, name: &'static str) -> String {
        let with_target = |first: Option<String>, second: &str| match (first, self.text(second)) {
            (Some(first), Some(second)) => format!("{first} {second}"),
            (Some(first), None) => first,
            (None, second) => second.unwrap_or_else(|| name.to_owned()),
        };
        let operation = || self.text(attribute::GEN_AI_OPERATION);
        match name {
            name::CALL | name::MCP => match self.text(attribute::MCP_METHOD) {
                Some(method) => with_target(Some(method), attribute::GEN_AI_TOOL),
                None => match operation() {
                    Some(operation) => with_target(Some(operation), attribute::GEN_AI_TOOL),
                    None => with_target(None, attribute::RPC_METHOD),
                },
            },
            name::DATABASE => with_target(None, attribute::DB_SUMMARY),
            name::AGENT => with_target(operation(), attribute::GEN_AI_AGENT),
            name::MODEL => with_target(operation(), attribute::GEN_AI_MODEL),
            name => name.to_owned(),
        }
    }

    fn text(&self, key: &str) -> Option<String> {
        find(&self.attributes, key).map(|pair| pair.value.as_str().into_owned())
    }

    fn add(&mut self, field: &Field, value: impl Into<Value>) {
        let value = value.into();
        match field.name() {
            attribute::RPC_STATUS => {
                let code = value.as_str().into_owned();
                self.attributes.push(KeyValue::new(attribute::RPC_STATUS, code));
            }
            name => self.attributes.push(KeyValue::new(name, value)),
        }
    }

    fn add_text(&mut self, field: &Field, text: String) {
        match field.name() {
            attribute::TRACE_ID | attribute::SPAN_ID => {}
            attribute::PARENT => self.remote_parent = text.parse().ok(),
            attribute::LINK => self.link = text.parse().ok(),
            attribute::KIND => self.is_client = text == "client",
            attribute::JSONRPC_ID => {
                let id = text.trim_matches('"').to_owned();
                self.attributes.push(KeyValue::new(attribute::JSONRPC_ID, id));
            }
            _ => self.add(field, text),
        }
    }
}

impl Visit for OpenSpan {
    fn record_f64(&mut self, field: &Field, value: f64) {
        self.add(field, value);
    }

    fn record_i64(&mut self, field: &Field, value: i64) {
        self.add(field, value);
    }

    fn record_u64(&mut self, field: &Field, value: u64) {
        self.add(field, i64::try_from(value).unwrap_or(i64::MAX));
    }

    fn record_bool(&mut self, field: &Field, value: bool) {
        self.add(field, value);
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

fn span_context(context: TraceContext, is_remote: bool) -> SpanContext {
    let flags = if context.is_sampled() { TraceFlags::SAMPLED } else { TraceFlags::default() };
    let trace = TraceId::from(context.trace_id().number());
    let span = SpanId::from(context.span_number());
    SpanContext::new(trace, span, flags, is_remote, TraceState::default())
}
