use std::convert::Infallible;
use std::fmt;
use std::pin::Pin;
use std::task::{Context, Poll};

use bytes::Bytes;
use http_body::{Body, Frame, SizeHint};

use trunkline_core::limits::{MemoryBudget, OutOfMemory, Reservation};

/// The body of a reply: all of it, or a stream that a [`Door`](super::Door) writes.
pub struct ReplyBody(Inner);

enum Inner {
    Whole(Bytes),
    Stream(Pin<Box<dyn Body<Data = Bytes, Error = Infallible> + Send>>),
}

impl ReplyBody {
    /// A body that is written as time passes. For server-sent events there is
    /// [`EventStream`](super::EventStream).
    pub fn stream(body: impl Body<Data = Bytes, Error = Infallible> + Send + 'static) -> Self {
        Self(Inner::Stream(Box::pin(body)))
    }

    /// Keeps memory reserved until a whole body is written: that of `reserved`, and what it lacks. The
    /// parts of a stream have their own.
    pub(super) fn reserve(
        &mut self,
        budget: &MemoryBudget,
        reserved: Option<Reservation>,
    ) -> Result<(), OutOfMemory> {
        let Inner::Whole(body) = &mut self.0 else {
            return Ok(());
        };
        let memory = match reserved {
            Some(mut memory) => {
                memory.grow(body.len().saturating_sub(memory.bytes()))?;
                memory
            }
            None => budget.reserve(body.len())?,
        };
        *body = memory.attach(std::mem::take(body));
        Ok(())
    }
}

impl Default for ReplyBody {
    fn default() -> Self {
        Self(Inner::Whole(Bytes::new()))
    }
}

impl<T: Into<Bytes>> From<T> for ReplyBody {
    fn from(whole: T) -> Self {
        Self(Inner::Whole(whole.into()))
    }
}

impl Body for ReplyBody {
    type Data = Bytes;
    type Error = Infallible;

    fn poll_frame(
        mut self: Pin<&mut Self>,
        cx: &mut Context<'_>,
    ) -> Poll<Option<Result<Frame<Bytes>, Infallible>>> {
        match &mut self.0 {
            Inner::Whole(body) if body.is_empty() => Poll::Ready(None),
            Inner::Whole(body) => Poll::Ready(Some(Ok(Frame::data(std::mem::take(body))))),
            Inner::Stream(body) => body.as_mut().poll_frame(cx),
        }
    }

    fn is_end_stream(&self) -> bool {
        match &self.0 {
            Inner::Whole(body) => body.is_empty(),
            Inner::Stream(body) => body.is_end_stream(),
        }
    }

    fn size_hint(&self) -> SizeHint {
        match &self.0 {
            Inner::Whole(body) => SizeHint::with_exact(body.len() as u64),
            Inner::Stream(body) => body.size_hint(),
        }
    }
}

impl fmt::Debug for ReplyBody {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match &self.0 {
            Inner::Whole(_) => "ReplyBody(whole)",
            Inner::Stream(_) => "ReplyBody(stream)",
        })
    }
}
