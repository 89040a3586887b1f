//! A subscriber that records spans and events.

use std::cell::RefCell;
use std::collections::BTreeMap;
use std::fmt::Debug;
use std::sync::{Arc, Mutex, Once};

use tracing::field::{Field, Visit};
use tracing::span::{Attributes, Id, Record};
use tracing::subscriber::{Interest, set_global_default};
use tracing::{Event, Level, Metadata, Subscriber};
use tracing_subscriber::layer::{Context, SubscriberExt};
use tracing_subscriber::registry::LookupSpan;
use tracing_subscriber::{Layer, Registry};

/// The fields of a span or an event.
pub(super) type Fields = BTreeMap<String, String>;

/// Records closed spans and events of this thread up to a level.
#[derive(Clone)]
struct Recorder {
    level: Level,
    spans: Arc<Mutex<Vec<Fields>>>,
    events: Arc<Mutex<Vec<(Level, Fields)>>>,
}

thread_local! {
    static RECORDER: RefCell<Option<Recorder>> = const { RefCell::new(None) };
}

/// The layer of the subscriber of the process, which passes spans and events to the recorder of the thread.
///
/// A callsite that one thread registers while another one sets a subscriber may stay disabled for it, so that a
/// subscriber of each thread would miss some of them.
struct OfThread;

/// The spans and events during some work, and its output.
pub(super) struct Recorded<T> {
    pub(super) output: T,
    pub(super) spans: Vec<Fields>,
    pub(super) events: Vec<(Level, Fields)>,
}

/// Runs `work` and records spans and events up to `level`.
pub(super) fn record<T>(level: Level, work: impl Fn() -> T) -> Recorded<T> {
    static SUBSCRIBED: Once = Once::new();
    SUBSCRIBED.call_once(|| {
        set_global_default(Registry::default().with(OfThread)).unwrap();
    });
    let recorder = Recorder { level, spans: Arc::default(), events: Arc::default() };
    RECORDER.set(Some(recorder.clone()));
    let output = work();
    RECORDER.set(None);
    let spans = recorder.spans.lock().unwrap().clone();
    let events = recorder.events.lock().unwrap().clone();
    Recorded { output, spans, events }
}

fn recorder() -> Option<Recorder> {
    RECORDER.with_borrow(Clone::clone)
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

impl<S: Subscriber + for<'a> LookupSpan<'a>> Layer<S> for OfThread {
    fn register_callsite(&self, _: &Metadata<'_>) -> Interest {
        Interest::sometimes()
    }

    fn enabled(&self, metadata: &Metadata<'_>, _: Context<'_, S>) -> bool {
        recorder().is_some_and(|recorder| *metadata.level() <= recorder.level)
            && metadata.target().starts_with("trunkline")
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
        if let Some(recorder) = recorder() {
            recorder.events.lock().unwrap().push((*event.metadata().level(), fields));
        }
    }

    fn on_close(&self, id: Id, context: Context<'_, S>) {
        let fields = context.span(&id).unwrap().extensions_mut().remove().unwrap();
        if let Some(recorder) = recorder() {
            recorder.spans.lock().unwrap().push(fields);
        }
    }
}
