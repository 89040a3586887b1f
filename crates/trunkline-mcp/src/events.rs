//! Replies that are streams of server-sent events.

use std::convert::Infallible;
use std::time::Duration;

use bytes::Bytes;
use futures_util::stream::unfold;
use http::header::{CACHE_CONTROL, CONTENT_TYPE};
use http::{HeaderName, HeaderValue, Response};
use http_body::Frame;
use http_body_util::StreamBody;
use tokio::time::timeout;
use trunkline::history::{Counted, StreamRecording};
use trunkline::http::ReplyBody;

/// What a stream is made of.
pub(crate) trait Source: Send + 'static {
    /// The next message, a JSON text without newlines; none at the end.
    ///
    /// # Cancel safety
    /// No message is lost when the future is dropped.
    fn next(&mut self) -> impl Future<Output = Option<Vec<u8>>> + Send;
}

/// A reply that sends `first` as it is, then each message as an event, and a comment after each
/// `keep_alive` of silence, so that proxies see life. What is sent is counted for the recording.
pub(crate) fn respond(
    first: Option<Bytes>,
    source: impl Source,
    keep_alive: Duration,
    recording: Option<StreamRecording>,
) -> Response<ReplyBody> {
    let events = unfold((first, source), move |(mut first, mut source)| async move {
        let event = match first.take() {
            Some(first) => first,
            None => match timeout(keep_alive, source.next()).await {
                Ok(message) => event(&message?),
                Err(_) => Bytes::from_static(b": still here\n\n"),
            },
        };
        Some((Ok::<_, Infallible>(Frame::data(event)), (first, source)))
    });
    let mut response =
        Response::new(ReplyBody::stream(Counted::new(StreamBody::new(events), recording)));
    let headers = response.headers_mut();
    headers.insert(CONTENT_TYPE, HeaderValue::from_static("text/event-stream"));
    headers.insert(CACHE_CONTROL, HeaderValue::from_static("no-store"));
    // Proxies must not collect events before they pass them on.
    let buffering = HeaderName::from_static("x-accel-buffering");
    headers.insert(buffering, HeaderValue::from_static("no"));
    response
}

fn event(message: &[u8]) -> Bytes {
    Bytes::from([b"event: message\ndata: ", message, b"\n\n"].concat())
}

/// JSON has newlines between its tokens only, where any space will do.
pub(crate) fn one_line(mut json: Vec<u8>) -> Vec<u8> {
    json.iter_mut().filter(|byte| matches!(byte, b'\n' | b'\r')).for_each(|byte| *byte = b' ');
    json
}
