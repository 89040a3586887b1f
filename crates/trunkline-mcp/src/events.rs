//! Replies that are streams of server-sent events.

use std::time::Duration;

use futures_util::StreamExt;
use futures_util::stream::{iter, unfold};
use http::Response;
use trunkline::history::StreamRecording;
use trunkline::http::{Event, EventStream, ReplyBody};

/// What a stream is made of.
pub(crate) trait Source: Send + 'static {
    /// The next message, a JSON text; none at the end.
    fn next(&mut self) -> impl Future<Output = Option<Vec<u8>>> + Send;
}

/// A reply that sends `first`, then each message as an event, and a comment after each `keep_alive` of
/// silence. What is sent is counted for the recording.
pub(crate) fn respond(
    first: Option<Event>,
    source: impl Source,
    keep_alive: Duration,
    recording: Option<StreamRecording>,
) -> Response<ReplyBody> {
    let messages = unfold(source, |mut source| async move {
        let message = source.next().await?;
        Some((Event::json_text("message", &message), source))
    });
    let events = EventStream::new(iter(first).chain(messages));
    events.keep_alive(keep_alive).recorded(recording).into_response()
}

/// JSON has newlines between its tokens only, where any space will do.
pub(crate) fn one_line(mut json: Vec<u8>) -> Vec<u8> {
    json.iter_mut().filter(|byte| matches!(byte, b'\n' | b'\r')).for_each(|byte| *byte = b' ');
    json
}
