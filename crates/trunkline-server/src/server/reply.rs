//! The body of a reply, which keeps its request counted until all of it has been handed over.

use std::error::Error;
use std::pin::Pin;
use std::sync::Arc;
use std::task::{Context, Poll, ready};

use bytes::Bytes;
use http_body::{Body, Frame, SizeHint};
use http_body_util::{Either, Full};

use super::shared::Shared;
use super::watch::Watch;

pin_project_lite::pin_project! {
    pub(super) struct Reply<B> {
        #[pin]
        body: Either<B, Full<Bytes>>,
        rest: Bytes,
        running: Running,
    }
}

/// HTTP/2 takes a frame whole and sends it as its peer makes room. In pieces, the server sees
/// whether that goes on.
const PIECE: usize = 64 * 1024;

impl<B> Reply<B> {
    /// A reply of the service.
    pub(super) fn served(body: B, running: Running) -> Self {
        Self { body: Either::Left(body), rest: Bytes::new(), running }
    }

    /// A reply of the server itself.
    pub(super) fn own(body: Full<Bytes>, running: Running) -> Self {
        Self { body: Either::Right(body), rest: Bytes::new(), running }
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
        this.running.taken();
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
            this.running.handed();
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

/// A request that runs. Dropped when the reply has been handed over, or when its client is gone.
pub(super) struct Running {
    watch: Arc<Watch>,
    /// The server's counts; the health page is not counted.
    shared: Option<Arc<Shared>>,
    /// Whether a part of the reply is on its way and more is to come.
    handed: bool,
}

impl Running {
    /// A request that the service answers.
    pub(super) fn counted(watch: &Arc<Watch>, shared: &Arc<Shared>) -> Self {
        watch.request_begun();
        shared.counts.request_begun();
        Self { watch: Arc::clone(watch), shared: Some(Arc::clone(shared)), handed: false }
    }

    /// A request that the server answers by itself.
    pub(super) fn uncounted(watch: &Arc<Watch>) -> Self {
        watch.request_begun();
        Self { watch: Arc::clone(watch), shared: None, handed: false }
    }

    /// A part of the reply has been handed over, and more is to come.
    pub(super) fn handed(&mut self) {
        self.handed = true;
        self.watch.handed();
    }

    /// That part has been taken, as more is asked for.
    pub(super) fn taken(&mut self) {
        if std::mem::take(&mut self.handed) {
            self.watch.part_taken();
        }
    }
}

impl Drop for Running {
    fn drop(&mut self) {
        self.taken();
        self.watch.request_ended();
        if let Some(shared) = &self.shared {
            shared.counts.request_ended();
        }
    }
}
