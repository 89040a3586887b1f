//! Replies on their way to one client.

use std::io;
use std::sync::Arc;

use tokio::io::AsyncWrite;
use tokio::sync::mpsc;

use super::request::Request;
use super::writer::FrameWriter;
use crate::error::{ErrorObject, code};
use crate::format::Format;
use crate::rpc::Reply;
use crate::server::Counts;

/// Replies that may wait to be written. Calls whose replies find no room wait, too.
const WAITING: usize = 16;

/// Where replies are put.
#[derive(Clone)]
pub(super) struct Replies {
    out: mpsc::Sender<Waiting>,
    counts: Arc<Counts>,
    limit: usize,
}

/// What takes them to the client.
pub(super) struct Writing {
    waiting: mpsc::Receiver<Waiting>,
    /// What replies are in without being said to be.
    format: Format,
}

/// A reply that waits. Its bytes count until it is written, and so does its request.
struct Waiting {
    text: Vec<u8>,
    format: Format,
    request: Request,
    held: Held,
}

struct Held {
    counted: usize,
    counts: Arc<Counts>,
}

impl Replies {
    /// The replies of all clients that count together have so many bytes.
    pub(super) fn new(counts: Arc<Counts>, limit: usize, format: Format) -> (Self, Writing) {
        let (out, waiting) = mpsc::channel(WAITING);
        (Self { out, counts, limit }, Writing { waiting, format })
    }

    /// Puts a reply where it is written from, as soon as there is room for it.
    pub(super) async fn send(&self, mut reply: Reply, mut request: Request) {
        let mut counted = reply.len();
        if !self.counts.reply_held(counted, self.limit) {
            let error = no_room(request.has_begun());
            reply = request.asked.refused(&error).written_in(reply.format());
            counted = 0;
        }
        if let Some(recording) = request.recording.take() {
            recording.end_as(reply.json(), reply.code());
        }
        let held = Held { counted, counts: Arc::clone(&self.counts) };
        let format = reply.format();
        let Some(text) = reply.into_text() else { return request.finish() };
        // A client that is gone reads no replies.
        drop(self.out.send(Waiting { text, format, request, held }).await);
    }
}

/// Not -32005, which says that trying again is safe.
fn no_room(has_begun: bool) -> ErrorObject {
    let reason = if has_begun {
        "the replies that wait for their clients take all the room; the call was run, and its reply dropped"
    } else {
        "the replies that wait for their clients take all the room; the refusal was dropped, and nothing run"
    };
    ErrorObject::new(code::REPLY_TOO_LARGE, "Reply too large")
        .with_data(&serde_json::json!({ "reason": reason }))
}

impl Writing {
    /// Writes replies until nobody puts any.
    pub(super) async fn run(
        mut self,
        mut writer: FrameWriter<impl AsyncWrite + Unpin>,
    ) -> io::Result<()> {
        let mut waiting = Vec::with_capacity(WAITING);
        let mut written = Vec::with_capacity(WAITING);
        while self.waiting.recv_many(&mut waiting, WAITING).await > 0 {
            for Waiting { text, format, request, held: _held } in waiting.drain(..) {
                let is_json = (format, self.format) == (Format::Json, Format::Json);
                writer.write_named(&text, (!is_json).then_some(format)).await?;
                written.push(request);
            }
            writer.flush().await?;
            written.drain(..).for_each(Request::finish);
        }
        writer.finish().await
    }
}

impl Drop for Held {
    fn drop(&mut self) {
        self.counts.reply_released(self.counted);
    }
}
