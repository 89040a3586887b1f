use std::fmt;
use std::pin::Pin;
use std::task::{Context, Poll, ready};

use bytes::Bytes;
use http::HeaderValue;
use http_body::{Body, Frame, SizeHint};
use trunkline_core::format::Format;
use trunkline_core::limits::{MemoryBudget, OutOfMemory, Reservation};

/// The body of a reply, complete or streamed.
pub struct ReplyBody(Inner);

enum Inner {
    Whole {
        body: Bytes,
        /// Whether its memory is reserved.
        is_reserved: bool,
    },
    Boxed {
        body: axum::body::Body,
        /// The memory of the only frame.
        memory: Option<Reservation>,
    },
}

impl ReplyBody {
    /// A streamed body. An error of the body aborts the response, which the client receives as incomplete. For
    /// server-sent events, use [`EventStream`](super::EventStream).
    pub fn stream<E>(body: impl Body<Data = Bytes, Error = E> + Send + 'static) -> Self
    where
        E: Into<Box<dyn std::error::Error + Send + Sync>>,
    {
        Self::from_axum(axum::body::Body::new(body))
    }

    pub(super) fn from_axum(body: axum::body::Body) -> Self {
        Self(Inner::Boxed { body, memory: None })
    }

    /// Reserves memory until a body of known size is written, starting with `reserved`, unless that was done before. Parts
    /// of a stream have their own reservations.
    pub(super) fn reserve(
        &mut self,
        budget: &MemoryBudget,
        reserved: Option<Reservation>,
    ) -> Result<(), OutOfMemory> {
        let (body, is_reserved) = match &mut self.0 {
            Inner::Whole { is_reserved: true, .. } => return Ok(()),
            Inner::Whole { body, is_reserved } => (body, is_reserved),
            Inner::Boxed { body, memory } => {
                if let Some(size) = body.size_hint().exact() {
                    *memory = Some(budget.reserve(usize::try_from(size).unwrap_or(usize::MAX))?);
                }
                return Ok(());
            }
        };
        let memory = match reserved {
            Some(mut memory) => {
                memory.grow(body.len().saturating_sub(memory.bytes()))?;
                memory
            }
            None => budget.reserve(body.len())?,
        };
        *body = memory.attach(std::mem::take(body));
        *is_reserved = true;
        Ok(())
    }
}

impl Default for ReplyBody {
    fn default() -> Self {
        Self::from(Bytes::new())
    }
}

impl<T: Into<Bytes>> From<T> for ReplyBody {
    fn from(whole: T) -> Self {
        Self(Inner::Whole { body: whole.into(), is_reserved: false })
    }
}

impl Body for ReplyBody {
    type Data = Bytes;
    type Error = axum::Error;

    fn poll_frame(
        mut self: Pin<&mut Self>,
        cx: &mut Context<'_>,
    ) -> Poll<Option<Result<Frame<Bytes>, axum::Error>>> {
        match &mut self.0 {
            Inner::Whole { body, .. } if body.is_empty() => Poll::Ready(None),
            Inner::Whole { body, .. } => Poll::Ready(Some(Ok(Frame::data(std::mem::take(body))))),
            Inner::Boxed { body, memory } => {
                let frame = ready!(Pin::new(body).poll_frame(cx));
                Poll::Ready(match (frame, memory.take()) {
                    (Some(Ok(frame)), Some(memory)) => {
                        Some(Ok(frame.map_data(|data| memory.attach(data))))
                    }
                    (frame, _) => frame,
                })
            }
        }
    }

    fn is_end_stream(&self) -> bool {
        match &self.0 {
            Inner::Whole { body, .. } => body.is_empty(),
            Inner::Boxed { body, .. } => body.is_end_stream(),
        }
    }

    fn size_hint(&self) -> SizeHint {
        match &self.0 {
            Inner::Whole { body, .. } => SizeHint::with_exact(body.len() as u64),
            Inner::Boxed { body, .. } => body.size_hint(),
        }
    }
}

impl fmt::Debug for ReplyBody {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match &self.0 {
            Inner::Whole { .. } => "ReplyBody(whole)",
            Inner::Boxed { .. } => "ReplyBody(boxed)",
        })
    }
}

/// The header `Content-Type` of messages in this format.
#[inline]
pub(super) fn content_type(format: Format) -> HeaderValue {
    // Validated at compile time.
    const JSON: HeaderValue = HeaderValue::from_static("application/json");
    match format {
        Format::Json => JSON,
        Format::Other(codec) => HeaderValue::from_static(codec.content_type()),
    }
}
