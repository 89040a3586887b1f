//! Replies on their way to one client.

use std::io;

use tokio::io::AsyncWrite;
use tokio::sync::mpsc;
use trunkline_client::frame::FrameWriter;
use trunkline_core::format::Format;
use trunkline_core::limits::{MemoryBudget, Reservation};
use trunkline_core::reply::Reply;

use super::request::Request;

/// Replies that may wait to be written. Calls whose replies find no room wait, too.
const WAITING: usize = 16;

/// Where replies are put.
#[derive(Clone)]
pub(super) struct Replies {
    out: mpsc::Sender<Waiting>,
    memory: MemoryBudget,
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
    memory: Option<Reservation>,
}

impl Replies {
    pub(super) fn new(memory: MemoryBudget, format: Format) -> (Self, Writing) {
        let (out, waiting) = mpsc::channel(WAITING);
        (Self { out, memory }, Writing { waiting, format })
    }

    /// Queues a reply for writing. Waits while the queue is full. For a batch, memory is reserved already.
    pub(super) async fn send(
        &self,
        mut reply: Reply,
        memory: Option<Reservation>,
        mut request: Request,
    ) {
        let memory = match memory {
            Some(mut memory) => memory.resize(reply.text_len()).map(|()| memory),
            None => self.memory.reserve(reply.text_len()),
        };
        let memory = match memory {
            Ok(memory) => Some(memory),
            // What was not run is refused with the few bytes of an error.
            Err(_) if !request.has_begun() => None,
            Err(error) => {
                let dropped = request.asked.refused(&error.reply_dropped());
                reply = dropped.written_in(reply.format());
                None
            }
        };
        if let Some(recording) = request.recording.take() {
            recording.end_as(reply.json(), reply.code());
        }
        let format = reply.format();
        let Some(text) = reply.into_text() else { return request.finish() };
        // A client that is gone reads no replies.
        drop(self.out.send(Waiting { text, format, request, memory }).await);
    }
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
            for Waiting { text, format, request, memory: _memory } in waiting.drain(..) {
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
