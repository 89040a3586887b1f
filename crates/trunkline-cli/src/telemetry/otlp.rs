//! The requests of OTLP (the protocol of OpenTelemetry, version 1), in Protocol Buffers.

use std::time::{SystemTime, UNIX_EPOCH};

use trunkline::protocol::TraceContext;

use super::protobuf::Message;

/// An attribute of a span, of a series or of the process.
#[derive(Debug, Clone)]
pub(super) struct Attribute {
    pub(super) key: &'static str,
    pub(super) value: Value,
}

#[derive(Debug, Clone)]
pub(super) enum Value {
    Text(String),
    Integer(i64),
    Float(f64),
    Bool(bool),
}

/// A span that has ended.
#[derive(Debug)]
pub(super) struct Span {
    pub(super) name: String,
    pub(super) kind: SpanKind,
    pub(super) context: TraceContext,
    pub(super) parent: Option<TraceContext>,
    /// Whether the parent is a span of another process.
    pub(super) has_remote_parent: bool,
    pub(super) link: Option<TraceContext>,
    pub(super) start: SystemTime,
    pub(super) end: SystemTime,
    pub(super) attributes: Vec<Attribute>,
    pub(super) has_failed: bool,
}

/// The numbers are those of the protocol.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum SpanKind {
    Internal = 1,
    Server = 2,
    Client = 3,
}

/// The attributes of the process.
#[derive(Debug, Default)]
pub(super) struct Resource(Message);

/// The points of a histogram.
pub(super) struct Histogram {
    pub(super) name: &'static str,
    pub(super) unit: &'static str,
    pub(super) description: &'static str,
    pub(super) points: Vec<Message>,
}

/// The library that records: this program.
const SCOPE: &str = "trunkline";

/// Bits of the flags of a span: whether it is known that its parent is remote, and whether it is.
const HAS_IS_REMOTE: u32 = 0x100;
const IS_REMOTE: u32 = 0x200;

impl Attribute {
    /// The fields of a `KeyValue`.
    pub(super) fn encode(&self) -> Message {
        pair(self.key, &self.value)
    }
}

impl Value {
    /// The text, or the number as text.
    pub(super) fn to_text(&self) -> String {
        match self {
            Self::Text(text) => text.clone(),
            Self::Integer(number) => number.to_string(),
            Self::Float(number) => number.to_string(),
            Self::Bool(value) => value.to_string(),
        }
    }

    fn encode(&self) -> Message {
        let any = Message::default();
        match self {
            Self::Text(text) => any.element(1, text.as_bytes()),
            Self::Bool(value) => any.element_uint(2, u64::from(*value)),
            // Negative numbers are the two's complement of 64 bits.
            Self::Integer(number) => any.element_uint(3, *number as u64),
            Self::Float(number) => any.element_double(4, *number),
        }
    }
}

fn pair(key: &str, value: &Value) -> Message {
    Message::default().text(1, key).message(2, &value.encode())
}

impl Resource {
    pub(super) fn with(self, key: &str, value: String) -> Self {
        Self(self.0.message(1, &pair(key, &Value::Text(value))))
    }

    /// `ExportTraceServiceRequest`.
    pub(super) fn traces(&self, spans: &[Span]) -> Vec<u8> {
        let spans = spans.iter().map(Span::encode);
        self.request(Message::default().message(1, &scope()).messages(2, spans))
    }

    /// `ExportMetricsServiceRequest`.
    pub(super) fn metrics(&self, metrics: impl IntoIterator<Item = Histogram>) -> Vec<u8> {
        let metrics = metrics.into_iter().map(Histogram::encode);
        self.request(Message::default().message(1, &scope()).messages(2, metrics))
    }

    fn request(&self, of_scope: Message) -> Vec<u8> {
        let of_resource = Message::default().message(1, &self.0).message(2, &of_scope);
        Message::default().message(1, &of_resource).into_bytes()
    }
}

fn scope() -> Message {
    Message::default().text(1, SCOPE).text(2, env!("CARGO_PKG_VERSION"))
}

impl Span {
    fn encode(&self) -> Message {
        let parent = self.parent.map(|parent| parent.span_number().to_be_bytes());
        let span = ids(Message::default(), self.context)
            .bytes(4, parent.as_ref().map_or(&[], |id| &id[..]))
            .text(5, &self.name)
            .uint(6, self.kind as u64)
            .fixed64(7, nanoseconds(self.start))
            .fixed64(8, nanoseconds(self.end))
            .messages(9, self.attributes.iter().map(Attribute::encode))
            .messages(
                13,
                self.link.map(|link| ids(Message::default(), link).fixed32(6, flags(link, true))),
            );
        let span = match self.has_failed {
            true => span.message(15, &Message::default().uint(3, STATUS_ERROR)),
            false => span,
        };
        span.fixed32(16, flags(self.context, self.has_remote_parent))
    }
}

const STATUS_ERROR: u64 = 2;

fn ids(message: Message, context: TraceContext) -> Message {
    let trace = context.trace_id().number().to_be_bytes();
    message.bytes(1, &trace).bytes(2, &context.span_number().to_be_bytes())
}

fn flags(context: TraceContext, is_remote: bool) -> u32 {
    let remote = if is_remote { IS_REMOTE } else { 0 };
    u32::from(context.is_sampled()) | HAS_IS_REMOTE | remote
}

impl Histogram {
    fn encode(self) -> Message {
        /// Each point counts since its start.
        const CUMULATIVE: u64 = 2;
        let histogram = Message::default().messages(1, self.points).uint(2, CUMULATIVE);
        Message::default()
            .text(1, self.name)
            .text(2, self.description)
            .text(3, self.unit)
            .message(9, &histogram)
    }
}

/// Nanoseconds since 1970.
pub(super) fn nanoseconds(time: SystemTime) -> u64 {
    let since = time.duration_since(UNIX_EPOCH).unwrap_or_default();
    u64::try_from(since.as_nanos()).unwrap_or(u64::MAX)
}
