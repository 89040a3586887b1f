//! Replies on their way to one client.

use std::io;
use std::sync::Arc;

use tokio::io::AsyncWrite;
use tokio::sync::mpsc;

use super::request::Request;
use super::writer::FrameWriter;
use crate::error::{ErrorObject, code};
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
pub(super) struct Writing(mpsc::Receiver<Waiting>);

/// A reply that waits. Its bytes count until it is written, and so does its request.
struct Waiting {
    json: Vec<u8>,
    request: Request,
    held: Held,
}

struct Held {
    counted: usize,
    counts: Arc<Counts>,
}

impl Replies {
    /// The replies of all clients that count together have so many bytes.
    pub(super) fn new(counts: Arc<Counts>, limit: usize) -> (Self, Writing) {
        let (out, waiting) = mpsc::channel(WAITING);
        (Self { out, counts, limit }, Writing(waiting))
    }

    /// Puts a reply where it is written from, as soon as there is room for it.
    pub(super) async fn send(&self, reply: Reply, mut request: Request) {
        let recording = request.recording.take();
        let (mut json, mut code) = match reply {
            Reply::None => {
                if let Some(recording) = recording {
                    recording.end_as(None, None);
                }
                return request.finish();
            }
            Reply::Single { json, code } => (json, code),
            Reply::Batch { json } => (json, None),
        };
        let mut counted = json.len();
        if !self.counts.reply_held(counted, self.limit) {
            let error = no_room();
            code = Some(error.code());
            json = request.asked.refused(&error).into_json().unwrap_or_default();
            counted = 0;
        }
        if let Some(recording) = recording {
            recording.end_as(Some(&json), code);
        }
        let held = Held { counted, counts: Arc::clone(&self.counts) };
        // A client that is gone reads no replies.
        drop(self.out.send(Waiting { json, request, held }).await);
    }
}

/// Not -32005, which says that trying again is safe.
fn no_room() -> ErrorObject {
    let reason = "the replies that wait for their clients take all the room; the call was run, and its reply dropped";
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
        while self.0.recv_many(&mut waiting, WAITING).await > 0 {
            for Waiting { json, request, held: _held } in waiting.drain(..) {
                writer.write(&json).await?;
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
