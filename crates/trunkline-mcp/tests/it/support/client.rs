//! An HTTP client that sends given bytes unchanged and reads replies and events.

use std::net::SocketAddr;

use serde_json::Value;
use tokio::io::{AsyncBufReadExt, AsyncReadExt, AsyncWriteExt, BufReader};
use tokio::net::TcpStream;

use super::in_time;

/// One connection.
pub(crate) struct Client {
    stream: BufReader<TcpStream>,
    /// The read part of an incomplete event.
    pending: Vec<u8>,
}

/// One HTTP/1 reply.
#[derive(Debug)]
pub(crate) struct Reply {
    pub(crate) status: u16,
    headers: Vec<(String, String)>,
    pub(crate) body: Vec<u8>,
}

impl Client {
    pub(crate) async fn connect(address: SocketAddr) -> Self {
        let stream = in_time("to connect", TcpStream::connect(address)).await.unwrap();
        stream.set_nodelay(true).unwrap();
        Self { stream: BufReader::new(stream), pending: Vec::new() }
    }

    /// Sends `bytes`, or as many of them as the server reads before it closes the connection.
    pub(crate) async fn send(&mut self, bytes: impl AsRef<[u8]>) {
        drop(in_time("to send", self.stream.get_mut().write_all(bytes.as_ref())).await);
    }

    /// Sends a request and reads its whole reply.
    pub(crate) async fn ask(&mut self, request: impl AsRef<[u8]>) -> Reply {
        self.send(request).await;
        let mut reply = self.head().await;
        if let Some(length) = reply.header("content-length") {
            reply.body = vec![0; length.parse().unwrap()];
            in_time("a body", self.stream.read_exact(&mut reply.body)).await.unwrap();
        } else if reply.header("transfer-encoding") == Some("chunked") {
            while let Some(chunk) = self.chunk().await {
                reply.body.extend(chunk);
            }
        }
        reply
    }

    /// A reply up to its body.
    pub(crate) async fn head(&mut self) -> Reply {
        let line = self.line().await;
        let status = line.strip_prefix("HTTP/1.1 ").and_then(|rest| rest.get(..3));
        let status = status.and_then(|status| status.parse().ok());
        let mut reply = Reply {
            status: status.unwrap_or_else(|| panic!("not a reply: {line:?}")),
            headers: Vec::new(),
            body: Vec::new(),
        };
        loop {
            let line = self.line().await;
            let Some((name, value)) = line.split_once(':') else {
                return reply;
            };
            reply.headers.push((name.to_ascii_lowercase(), value.trim().to_owned()));
        }
    }

    /// The next event of a stream without its blank line, or none at the end of the stream.
    pub(crate) async fn event(&mut self) -> Option<String> {
        loop {
            if let Some(end) = self.pending.windows(2).position(|two| two == b"\n\n") {
                let event: Vec<u8> = self.pending.drain(..end + 2).collect();
                return Some(String::from_utf8(event).unwrap().trim_end().to_owned());
            }
            let chunk = self.chunk().await?;
            self.pending.extend(chunk);
        }
    }

    /// The message of the next event that is not a comment.
    pub(crate) async fn message(&mut self) -> Option<Value> {
        loop {
            let event = self.event().await?;
            if !event.starts_with(':') {
                return Some(message_of(&event));
            }
        }
    }

    /// The id and the message of the next event of a session that has a message.
    pub(crate) async fn session_message(&mut self) -> Option<(String, Value)> {
        loop {
            let event = self.event().await?;
            let mut lines = event.lines();
            if lines.next() != Some("event: message") {
                continue;
            }
            let id = lines.next().and_then(|line| line.strip_prefix("id: "));
            let data = lines.next().and_then(|line| line.strip_prefix("data: "));
            if let (Some(id), Some(data)) = (id, data) {
                return Some((id.to_owned(), serde_json::from_str(data).unwrap()));
            }
        }
    }

    async fn chunk(&mut self) -> Option<Vec<u8>> {
        let size = self.line().await;
        let size = usize::from_str_radix(&size, 16).unwrap_or_else(|_| panic!("chunk {size:?}"));
        let mut chunk = vec![0; size + 2];
        in_time("a chunk", self.stream.read_exact(&mut chunk)).await.unwrap();
        chunk.truncate(size);
        (size > 0).then_some(chunk)
    }

    async fn line(&mut self) -> String {
        let mut line = String::new();
        in_time("a line", self.stream.read_line(&mut line)).await.unwrap();
        line.truncate(line.trim_end().len());
        line
    }
}

/// The message of an event: its one data line.
fn message_of(event: &str) -> Value {
    let data = event.strip_prefix("event: message\ndata: ");
    let data = data.filter(|data| !data.contains(['\n', '\r']));
    serde_json::from_str(data.unwrap_or_else(|| panic!("no message: {event:?}"))).unwrap()
}

impl Reply {
    /// The first value of a header.
    pub(crate) fn header(&self, name: &str) -> Option<&str> {
        self.headers.iter().find(|(known, _)| known == name).map(|(_, value)| value.as_str())
    }

    #[track_caller]
    pub(crate) fn json(&self) -> Value {
        serde_json::from_slice(&self.body)
            .unwrap_or_else(|error| panic!("{error} in {:?}", String::from_utf8_lossy(&self.body)))
    }

    /// The messages of a complete stream, without comments.
    #[track_caller]
    pub(crate) fn messages(&self) -> Vec<Value> {
        assert_eq!(self.header("content-type"), Some("text/event-stream"), "{self:?}");
        let text = std::str::from_utf8(&self.body).unwrap();
        let events = text.split("\n\n").filter(|event| !event.is_empty());
        events.filter(|event| !event.starts_with(':')).map(message_of).collect()
    }
}
