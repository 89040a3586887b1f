//! Log messages as JSON, one object per line.

use std::fmt;
use std::time::SystemTime;

use serde_json::{Map, Value};
use tracing::field::{Field, Visit};
use tracing::{Event, Subscriber};
use tracing_subscriber::field::RecordFields;
use tracing_subscriber::fmt::format::Writer;
use tracing_subscriber::fmt::{FmtContext, FormatEvent, FormatFields};
use tracing_subscriber::registry::LookupSpan;
use trunkline::protocol::TraceContext;

/// Writes `timestamp`, `level`, `target`, `message`, the fields of the message, and the ids of the trace of the call
/// that is being handled.
pub(super) struct JsonFormat;

/// Fields of spans are not formatted: messages have the ids of their trace.
pub(super) struct NoFields;

impl<'w> FormatFields<'w> for NoFields {
    fn format_fields<R: RecordFields>(&self, _: Writer<'w>, _: R) -> fmt::Result {
        Ok(())
    }
}

impl<S, N> FormatEvent<S, N> for JsonFormat
where
    S: Subscriber + for<'s> LookupSpan<'s>,
    N: for<'w> FormatFields<'w> + 'static,
{
    fn format_event(
        &self,
        _: &FmtContext<'_, S, N>,
        mut writer: Writer<'_>,
        event: &Event<'_>,
    ) -> fmt::Result {
        let metadata = event.metadata();
        let mut line = Map::new();
        let mut add = |name: &str, value: String| line.insert(name.to_owned(), value.into());
        add("timestamp", timestamp(SystemTime::now()));
        add("level", metadata.level().to_string());
        add("target", metadata.target().to_owned());
        if let Some(context) = TraceContext::current() {
            add("trace_id", context.trace_id().to_string());
            add("span_id", context.span_id());
        }
        event.record(&mut Fields(&mut line));
        writeln!(writer, "{}", Value::Object(line))
    }
}

/// RFC 3339, in UTC.
fn timestamp(now: SystemTime) -> String {
    jiff::Timestamp::try_from(now).map_or_else(|_| String::new(), |now| format!("{now:.6}"))
}

struct Fields<'l>(&'l mut Map<String, Value>);

impl Fields<'_> {
    fn insert(&mut self, field: &Field, value: Value) {
        // A field cannot replace the members that all lines have.
        let name = field.name();
        let name =
            if self.0.contains_key(name) { format!("field.{name}") } else { name.to_owned() };
        self.0.insert(name, value);
    }
}

impl Visit for Fields<'_> {
    fn record_f64(&mut self, field: &Field, value: f64) {
        self.insert(field, value.into());
    }

    fn record_i64(&mut self, field: &Field, value: i64) {
        self.insert(field, value.into());
    }

    fn record_u64(&mut self, field: &Field, value: u64) {
        self.insert(field, value.into());
    }

    fn record_bool(&mut self, field: &Field, value: bool) {
        self.insert(field, value.into());
    }

    fn record_str(&mut self, field: &Field, value: &str) {
        self.insert(field, value.into());
    }

    fn record_debug(&mut self, field: &Field, value: &dyn fmt::Debug) {
        self.insert(field, format!("{value:?}").into());
    }
}
