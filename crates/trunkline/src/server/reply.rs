//! The body of a reply, which keeps its request counted until all of it has been handed over.

use std::error::Error;
use std::pin::Pin;
use std::task::{Context, Poll};

use bytes::Bytes;
use http_body::{Body, Frame, SizeHint};
use http_body_util::{Either, Full};

use super::running::Running;

pin_project_lite::pin_project! {
    pub(super) struct Reply<B> {
        #[pin]
        body: Either<B, Full<Bytes>>,
        running: Running,
    }
}

impl<B> Reply<B> {
    /// A reply of the service.
    pub(super) fn served(body: B, running: Running) -> Self {
        Self { body: Either::Left(body), running }
    }

    /// A reply of the server itself.
    pub(super) fn own(body: Full<Bytes>, running: Running) -> Self {
        Self { body: Either::Right(body), running }
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
        self.project().body.poll_frame(cx)
    }

    fn is_end_stream(&self) -> bool {
        self.body.is_end_stream()
    }

    fn size_hint(&self) -> SizeHint {
        self.body.size_hint()
    }
}
