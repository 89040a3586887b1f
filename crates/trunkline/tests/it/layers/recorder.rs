//! A subscriber that records spans and events.

use std::collections::BTreeMap;
use std::fmt::Debug;
use std::sync::{Arc, Mutex};

use tracing::field::{Field, Visit};
use tracing::span::{Attributes, Id, Record};
use tracing::subscriber::with_default;
use tracing::{Event, Level, Metadata, Subscriber};
use tracing_subscriber::layer::{Context, SubscriberExt};
use tracing_subscriber::registry::LookupSpan;
use tracing_subscriber::{Layer, Registry};

/// The fields of a span or an event.
pub(super) type Fields = BTreeMap<String, String>;

/// Records closed spans and events up to a level.
#[derive(Clone)]
struct Recorder {
    level: Level,
    spans: Arc<Mutex<Vec<Fields>>>,
    events: Arc<Mutex<Vec<(Level, Fields)>>>,
}

/// The spans and events during some work, and its output.
pub(super) struct Recorded<T> {
    pub(super) output: T,
    pub(super) spans: Vec<Fields>,
    pub(super) events: Vec<(Level, Fields)>,
}

/// Runs `work` and records spans and events up to `level`.
pub(super) fn record<T>(level: Level, work: impl Fn() -> T) -> Recorded<T> {
    // A callsite that another thread registers while this thread sets its subscriber may stay disabled. So register
    // all callsites first; setting the subscriber then updates them.
    subscribe(Level::TRACE, &work);
    subscribe(level, &work)
}

fn subscribe<T>(level: Level, work: impl Fn() -> T) -> Recorded<T> {
    let recorder = Recorder { level, spans: Arc::default(), events: Arc::default() };
    let output = with_default(Registry::default().with(recorder.clone()), work);
    let spans = recorder.spans.lock().unwrap().clone();
    let events = recorder.events.lock().unwrap().clone();
    Recorded { output, spans, events }
}

struct FieldsOf<'a>(&'a mut Fields);

impl Visit for FieldsOf<'_> {
    fn record_debug(&mut self, field: &Field, value: &dyn Debug) {
        self.0.insert(field.name().to_owned(), format!("{value:?}"));
    }

    fn record_str(&mut self, field: &Field, value: &str) {
        self.0.insert(field.name().to_owned(), value.to_owned());
    }
}

impl<S: Subscriber + for<'a> LookupSpan<'a>> Layer<S> for Recorder {
    fn enabled(&self, metadata: &Metadata<'_>, _: Context<'_, S>) -> bool {
        *metadata.level() <= self.level && metadata.target().starts_with("trunkline")
    }

    fn on_new_span(&self, attributes: &Attributes<'_>, id: &Id, context: Context<'_, S>) {
        let metadata = attributes.metadata();
        let mut fields = Fields::from([("span".to_owned(), metadata.name().to_owned())]);
        fields.insert("level".to_owned(), metadata.level().to_string());
        attributes.record(&mut FieldsOf(&mut fields));
        context.span(id).unwrap().extensions_mut().insert(fields);
    }

    fn on_record(&self, id: &Id, values: &Record<'_>, context: Context<'_, S>) {
        let span = context.span(id).unwrap();
        let mut extensions = span.extensions_mut();
        values.record(&mut FieldsOf(extensions.get_mut::<Fields>().unwrap()));
    }

    fn on_event(&self, event: &Event<'_>, context: Context<'_, S>) {
        let mut fields = Fields::new();
        event.record(&mut FieldsOf(&mut fields));
        if let Some(span) = context.event_span(event) {
            let method = span.extensions().get::<Fields>().unwrap()["rpc.method"].clone();
            fields.insert("in".to_owned(), method);
        }
        self.events.lock().unwrap().push((*event.metadata().level(), fields));
    }

    fn on_close(&self, id: Id, context: Context<'_, S>) {
        let fields = context.span(&id).unwrap().extensions_mut().remove().unwrap();
        self.spans.lock().unwrap().push(fields);
    }
}
