//! The body of a reply, which keeps its request counted until all of it has been handed over.

use std::error::Error;
use std::pin::Pin;
use std::task::{Context, Poll, ready};

use bytes::Bytes;
use http_body::{Body, Frame, SizeHint};
use http_body_util::{Either, Full};

use super::running::Running;

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
