//! The body of a reply, which counts its request as running until the body has been passed to hyper.

use std::error::Error;
use std::pin::Pin;
use std::sync::Arc;
use std::task::{Context, Poll, ready};

use axum::body::Body as OwnBody;
use bytes::Bytes;
use http_body::{Body, Frame, SizeHint};
use http_body_util::Either;

use super::shared::Shared;
use super::watch::Watch;

pin_project_lite::pin_project! {
    pub(super) struct Reply<B> {
        #[pin]
        body: Either<B, OwnBody>,
        rest: Bytes,
        running: Running,
    }
}

/// The maximum size of a frame. hyper buffers a whole HTTP/2 frame until its peer extends the window; with small
/// frames, the server sees whether sending makes progress.
const PIECE: usize = 64 * 1024;

impl<B> Reply<B> {
    /// A reply of the service, or of the server itself.
    pub(super) fn new(body: Either<B, OwnBody>, running: Running) -> Self {
        Self { body, rest: Bytes::new(), running }
    }

    /// A reply of the server itself.
    pub(super) fn own(body: OwnBody, running: Running) -> Self {
        Self::new(Either::Right(body), running)
    }
}

impl<B> Body for Reply<B>
where
    B: Body<Data = Bytes, Error: Into<Box<dyn Error + Send + Sync>>>,
{
    type Data = Bytes;
    type Error = Box<dyn Error + Send + Sync>;

    fn poll_frame(
        self: Pin<&mut Self>,
        cx: &mut Context<'_>,
    ) -> Poll<Option<Result<Frame<Bytes>, Self::Error>>> {
        let mut this = self.project();
        this.running.part_sent();
        if this.rest.is_empty() {
            let frame = match ready!(this.body.as_mut().poll_frame(cx)) {
                Some(Ok(frame)) => frame,
                end => return Poll::Ready(end),
            };
            match frame.into_data() {
                Ok(data) => *this.rest = data,
                Err(trailers) => return Poll::Ready(Some(Ok(trailers))),
            }
        }
        let piece = this.rest.split_to(this.rest.len().min(PIECE));
        if !this.rest.is_empty() || !this.body.is_end_stream() {
            this.running.part_pending();
        }
        Poll::Ready(Some(Ok(Frame::data(piece))))
    }

    fn is_end_stream(&self) -> bool {
        self.rest.is_empty() && self.body.is_end_stream()
    }

    fn size_hint(&self) -> SizeHint {
        let (inner, rest) = (self.body.size_hint(), self.rest.len() as u64);
        let mut hint = SizeHint::new();
        if let Some(upper) = inner.upper() {
            hint.set_upper(upper + rest);
        }
        hint.set_lower(inner.lower() + rest);
        hint
    }
}

/// A running request. Dropped when the reply has been passed to hyper, or when the client has disconnected.
pub(super) struct Running {
    watch: Arc<Watch>,
    /// The counters of the server. `None` for the health page, which is not counted.
    shared: Option<Arc<Shared>>,
    /// Whether a part of the reply is being sent and more parts follow.
    is_part_pending: bool,
}

impl Running {
    /// A request answered by the service.
    pub(super) fn counted(watch: &Arc<Watch>, shared: &Arc<Shared>) -> Self {
        watch.request_started();
        shared.counts.request_started();
        Self { watch: Arc::clone(watch), shared: Some(Arc::clone(shared)), is_part_pending: false }
    }

    /// A request answered by the server itself.
    pub(super) fn uncounted(watch: &Arc<Watch>) -> Self {
        watch.request_started();
        Self { watch: Arc::clone(watch), shared: None, is_part_pending: false }
    }

    /// A part of the reply was passed to hyper, and more parts follow.
    pub(super) fn part_pending(&mut self) {
        self.is_part_pending = true;
        self.watch.part_pending();
    }

    /// The pending part was sent, since hyper polls for the next one.
    pub(super) fn part_sent(&mut self) {
        if std::mem::take(&mut self.is_part_pending) {
            self.watch.part_sent();
        }
    }
}

impl Drop for Running {
    fn drop(&mut self) {
        self.part_sent();
        self.watch.request_ended();
        if let Some(shared) = &self.shared {
            shared.counts.request_ended();
        }
    }
}
