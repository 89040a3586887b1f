use std::convert::Infallible;
use std::fmt;
use std::pin::Pin;
use std::task::{Context, Poll, ready};
use std::time::Duration;

use bytes::Bytes;
use futures_util::Stream;
use http::header::{CACHE_CONTROL, CONTENT_TYPE};
use http::{HeaderName, HeaderValue, Response};
use http_body::{Body, Frame};
use pin_project_lite::pin_project;
use tokio::time::{Sleep, sleep};
use trunkline_core::limits::MemoryBudget;
use trunkline_history::{RecordedBody, StreamRecording};

use super::{Event, ReplyBody};

/// A reply that streams server-sent [`Event`]s.
///
/// The reply ends with the stream of events, which is dropped when the client disconnects. The next event is
/// polled only when the client has read the previous one.
///
/// ```
/// use std::time::Duration;
///
/// use axum::routing::get;
/// use futures_util::stream::unfold;
/// use trunkline::http::{Event, EventStream, Routes};
///
/// # #[tokio::main(flavor = "current_thread")]
/// # async fn main() -> Result<(), Box<dyn std::error::Error>> {
/// let countdown = || async {
///     let events = unfold(3, |left| async move {
/// #       const SECOND: Duration = Duration::from_millis(1);
/// #       /*
///         const SECOND: Duration = Duration::from_secs(1);
/// #       */
///         tokio::time::sleep(SECOND).await;
///         let event = Event::text("left", &left.to_string());
///         (left > 0).then(|| (event, left - 1))
///     });
///     EventStream::new(events).into_response()
/// };
/// let router = axum::Router::new().route("/countdown", get(countdown));
/// # use http_body_util::{BodyExt, Empty};
/// let rpc = trunkline::Router::new().build()?;
/// let service = rpc.http().merge(Routes::new("countdown", router));
/// # let request = http::Request::get("/countdown").header("host", "localhost");
/// # let response = service.handle(request.body(Empty::<bytes::Bytes>::new())?).await;
/// # let body = response.into_body().collect().await?.to_bytes();
/// assert_eq!(body, "event: left\ndata: 3\n\nevent: left\ndata: 2\n\nevent: left\ndata: 1\n\n");
/// # Ok(())
/// # }
/// ```
#[must_use = "a stream of events is sent as a response"]
pub struct EventStream<S> {
    events: S,
    keep_alive: Duration,
    recording: Option<StreamRecording>,
    memory: Option<MemoryBudget>,
}

/// The minimum interval between comments.
const MIN_KEEP_ALIVE: Duration = Duration::from_millis(10);

impl<S: Stream<Item = Event> + Send + 'static> EventStream<S> {
    /// Creates a reply with these events.
    pub fn new(events: S) -> Self {
        Self { events, keep_alive: Duration::from_secs(15), recording: None, memory: None }
    }

    /// Sets the idle time after which a comment is sent, so that proxies keep the connection open and the server
    /// detects disconnected clients. Default 15 s, minimum 10 ms. [`Duration::MAX`] disables comments.
    pub fn keep_alive(mut self, keep_alive: Duration) -> Self {
        self.keep_alive = keep_alive.max(MIN_KEEP_ALIVE);
        self
    }

    /// Records the stream in a [`History`](trunkline_history::History).
    pub fn recording(mut self, recording: Option<StreamRecording>) -> Self {
        self.recording = recording;
        self
    }

    /// Counts events without a [reservation](Event::with_reservation) in a memory budget until they are
    /// written. The stream ends when the budget is exhausted.
    pub fn memory(mut self, memory: &MemoryBudget) -> Self {
        self.memory = Some(memory.clone());
        self
    }

    /// The response: 200, with a body that streams the events.
    #[must_use]
    pub fn into_response(self) -> Response<ReplyBody> {
        let Self { events, keep_alive, recording, memory } = self;
        let frames = Frames { events, keep_alive, idle: None, memory };
        let mut response = Response::new(ReplyBody::stream(RecordedBody::new(frames, recording)));
        let headers = response.headers_mut();
        headers.insert(CONTENT_TYPE, HeaderValue::from_static("text/event-stream"));
        headers.insert(CACHE_CONTROL, HeaderValue::from_static("no-store"));
        // Proxies must not buffer events.
        let buffering = HeaderName::from_static("x-accel-buffering");
        headers.insert(buffering, HeaderValue::from_static("no"));
        response
    }
}

pin_project! {
    struct Frames<S> {
        #[pin]
        events: S,
        keep_alive: Duration,
        // The timer since the last frame.
        #[pin]
        idle: Option<Sleep>,
        memory: Option<MemoryBudget>,
    }
}

impl<S: Stream<Item = Event>> Body for Frames<S> {
    type Data = Bytes;
    type Error = Infallible;

    fn poll_frame(
        self: Pin<&mut Self>,
        cx: &mut Context<'_>,
    ) -> Poll<Option<Result<Frame<Bytes>, Infallible>>> {
        let mut this = self.project();
        let mut event = match this.events.poll_next(cx) {
            Poll::Ready(event) => event,
            Poll::Pending => {
                if this.idle.is_none() {
                    this.idle.set(Some(sleep(*this.keep_alive)));
                }
                if let Some(idle) = this.idle.as_mut().as_pin_mut() {
                    ready!(idle.poll(cx));
                }
                Some(Event::comment("still here"))
            }
        };
        this.idle.set(None);
        if let (Some(event), Some(memory)) = (&mut event, this.memory)
            && let Err(error) = event.reserve(memory)
        {
            tracing::warn!(%error, "closing an event stream");
            return Poll::Ready(None);
        }
        Poll::Ready(event.map(|event| Ok(Frame::data(event.into_bytes()))))
    }
}

impl<S> fmt::Debug for EventStream<S> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("EventStream").field("keep_alive", &self.keep_alive).finish_non_exhaustive()
    }
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use futures_util::stream::{iter, pending};
    use futures_util::{FutureExt, StreamExt};
    use http_body_util::BodyExt;
    use tokio::time::Instant;

    use super::{Event, EventStream, ReplyBody};

    /// The next frame, and the seconds until it arrived.
    async fn next(body: &mut ReplyBody) -> Option<(String, u64)> {
        let started = Instant::now();
        let frame = body.frame().await?.unwrap();
        let sent = String::from_utf8(frame.into_data().unwrap().into()).unwrap();
        Some((sent, started.elapsed().as_secs()))
    }

    #[tokio::test(start_paused = true)]
    async fn sends_comments_when_idle() {
        let last = tokio::time::sleep(Duration::from_secs(32));
        let last = last.map(|()| Event::text("last", "")).into_stream();
        let events = iter([Event::text("first", "")]).chain(last);
        let mut body = EventStream::new(events).into_response().into_body();
        for expected in [
            ("event: first\ndata: \n\n", 0),
            (": still here\n\n", 15),
            (": still here\n\n", 15),
            ("event: last\ndata: \n\n", 2),
        ] {
            let (sent, seconds) = next(&mut body).await.unwrap();
            assert_eq!((&*sent, seconds), expected);
        }
        assert_eq!(next(&mut body).await, None);
    }

    #[tokio::test(start_paused = true)]
    async fn enforces_a_minimum_interval() {
        let events = EventStream::new(pending()).keep_alive(Duration::ZERO);
        let mut body = events.into_response().into_body();
        let started = Instant::now();
        for _ in 0..100 {
            next(&mut body).await.unwrap();
        }
        assert!(started.elapsed() >= Duration::from_secs(1));
    }

    #[tokio::test(start_paused = true)]
    async fn disables_comments() {
        let events = EventStream::new(pending()).keep_alive(Duration::MAX);
        let mut body = events.into_response().into_body();
        let month = Duration::from_secs(30 * 86_400);
        tokio::time::timeout(month, next(&mut body)).await.unwrap_err();
    }
}
