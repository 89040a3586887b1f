use std::fmt;
use std::pin::Pin;
use std::task::{Context, Poll, ready};

use bytes::{Buf, Bytes};
use http_body::{Body, Frame, SizeHint};
use pin_project_lite::pin_project;
use trunkline_core::extensions::Extensions;
use trunkline_core::id::Id;

use super::draft::Draft;
use super::entry::{Kind, Status, short, short_id};
use crate::history::History;

impl History {
    /// Records a streamed reply: adds one entry now, and one when the returned value is dropped. `method` is
    /// the method of the call, or for example `GET /sse`.
    pub fn record_stream(
        &self,
        extensions: &Extensions,
        method: &str,
        id: Option<&Id>,
    ) -> StreamRecording {
        let draft = |kind| {
            let mut draft = Draft::new(self, extensions);
            let entry = draft.entry();
            entry.kind = kind;
            entry.method = Some(short(method));
            entry.id = id.map(short_id);
            draft
        };
        let mut end = draft(Kind::StreamEnd);
        end.entry().stream = Some(draft(Kind::StreamStart).add());
        StreamRecording { draft: Some(end), bytes: 0, ended: false }
    }
}

/// The recording of an open stream. Dropping it records the end of the stream: as cancelled, unless
/// [`end`](Self::end) was called.
#[must_use = "dropping the recording records the end of the stream"]
pub struct StreamRecording {
    /// `None` once the entry is added.
    draft: Option<Draft>,
    bytes: u64,
    ended: bool,
}

impl StreamRecording {
    /// Counts sent bytes.
    pub fn sent(&mut self, bytes: usize) {
        self.bytes += bytes as u64;
    }

    /// Records the regular end of the stream.
    pub fn end(mut self) {
        self.ended = true;
    }
}

impl Drop for StreamRecording {
    fn drop(&mut self) {
        let Some(mut draft) = self.draft.take() else {
            return;
        };
        let entry = draft.entry();
        entry.stream_bytes = Some(self.bytes);
        entry.status = if self.ended { Status::Result } else { Status::Cancelled };
        draft.add();
    }
}

pin_project! {
    /// A body whose bytes are counted by a [`StreamRecording`], if there is one.
    pub struct RecordedBody<B> {
        #[pin]
        inner: B,
        recording: Option<StreamRecording>,
    }
}

impl<B> RecordedBody<B> {
    /// Wraps a body.
    pub fn new(inner: B, recording: Option<StreamRecording>) -> Self {
        Self { inner, recording }
    }
}

impl<B: Body<Data = Bytes>> Body for RecordedBody<B> {
    type Data = Bytes;
    type Error = B::Error;

    fn poll_frame(
        self: Pin<&mut Self>,
        cx: &mut Context<'_>,
    ) -> Poll<Option<Result<Frame<Bytes>, B::Error>>> {
        let mut this = self.project();
        let frame = ready!(this.inner.as_mut().poll_frame(cx));
        if let (Some(Ok(frame)), Some(recording)) = (&frame, &mut *this.recording) {
            recording.sent(frame.data_ref().map_or(0, Buf::remaining));
        }
        // A body that reports its end early is not polled again.
        if (frame.is_none() || this.inner.is_end_stream())
            && let Some(recording) = this.recording.take()
        {
            recording.end();
        }
        Poll::Ready(frame)
    }

    fn is_end_stream(&self) -> bool {
        self.inner.is_end_stream()
    }

    fn size_hint(&self) -> SizeHint {
        self.inner.size_hint()
    }
}

impl<B> fmt::Debug for RecordedBody<B> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("RecordedBody").field("recording", &self.recording).finish_non_exhaustive()
    }
}

impl fmt::Debug for StreamRecording {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("StreamRecording").field("bytes", &self.bytes).finish_non_exhaustive()
    }
}
