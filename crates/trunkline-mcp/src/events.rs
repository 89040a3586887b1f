//! Replies that are streams of server-sent events.

use std::time::Duration;

use futures_util::StreamExt;
use futures_util::stream::{iter, unfold};
use http::Response;
use trunkline::history::StreamRecording;
use trunkline::http::{Event, EventStream, ReplyBody};

use crate::channel::Message;

/// The source of the messages of a stream.
pub(crate) trait Source: Send + 'static {
    /// The next message, or none at the end.
    fn next(&mut self) -> impl Future<Output = Option<Message>> + Send;
}

/// A reply that sends `first`, then each message as an event, and a comment whenever the stream was idle for
/// `keep_alive`. The recording counts the sent bytes.
pub(crate) fn respond(
    first: Option<Event>,
    source: impl Source,
    keep_alive: Duration,
    recording: Option<StreamRecording>,
) -> Response<ReplyBody> {
    let messages = unfold(source, |mut source| async move {
        let Message { json, memory } = source.next().await?;
        let event = Event::json_text("message", &json);
        let event = match memory {
            Some(memory) => event.with_reservation(memory),
            None => event,
        };
        Some((event, source))
    });
    let events = EventStream::new(iter(first).chain(messages));
    events.keep_alive(keep_alive).recording(recording).into_response()
}
