//! A client of `serve_stdio`, connected by two pipes.

use std::io::{BufRead, BufReader, PipeReader, PipeWriter, Write, pipe};
use std::sync::mpsc::{Sender, channel};
use std::thread;

use serde_json::Value;
use tokio::sync::mpsc::{UnboundedReceiver, unbounded_channel};
use tokio::task::JoinHandle;
use trunkline::CancellationToken;
use trunkline::stream::StreamError;
use trunkline_mcp::{Mcp, McpConfig};

use super::{Gate, in_time, router};

/// The result of serving.
type Ended = Result<(), StreamError>;

/// The client's ends.
pub(crate) struct Pipes {
    pub(crate) gate: Gate,
    /// Handled by a thread, since a full pipe blocks its writer.
    input: Option<Sender<Vec<u8>>>,
    lines: UnboundedReceiver<Vec<u8>>,
    ended: JoinHandle<Ended>,
    /// When cancelled, the server reads no further lines.
    pub(crate) closing: CancellationToken,
}

impl Pipes {
    /// A client of a server with the common tools.
    pub(crate) fn open(settings: McpConfig) -> Self {
        let gate = Gate::new();
        let rpc = router(&gate).build().unwrap();
        Self::of(Mcp::new(rpc, settings).unwrap(), gate)
    }

    /// A client of this server.
    pub(crate) fn of(mcp: Mcp, gate: Gate) -> Self {
        Self::with_output(mcp, gate, |output| output)
    }

    /// A client of this server, whose output is wrapped by `wrap`.
    pub(crate) fn with_output<W>(mcp: Mcp, gate: Gate, wrap: impl FnOnce(PipeWriter) -> W) -> Self
    where
        W: Write + Send + 'static,
    {
        let (input, to_server) = pipe().unwrap();
        let (from_server, output) = pipe().unwrap();
        let output = wrap(output);
        let closing = CancellationToken::new();
        let token = closing.clone();
        let ended = tokio::spawn(async move { mcp.serve_stdio(input, output, token).await });
        let (input, lines) = (Some(write_lines(to_server)), read_lines(from_server));
        Self { gate, input, lines, ended, closing }
    }

    /// Writes these bytes.
    pub(crate) fn write(&mut self, bytes: impl AsRef<[u8]>) {
        self.input.as_ref().unwrap().send(bytes.as_ref().to_vec()).unwrap();
    }

    /// Writes each message as a line.
    pub(crate) fn send<'a>(&mut self, messages: impl IntoIterator<Item = &'a Value>) {
        let lines: String = messages.into_iter().map(|message| format!("{message}\n")).collect();
        self.write(lines);
    }

    /// Closes the input.
    pub(crate) fn close(&mut self) {
        self.input = None;
    }

    /// The next line, which is one JSON text, or none at the end.
    pub(crate) async fn next(&mut self) -> Option<Value> {
        let line = in_time("a line", self.lines.recv()).await?;
        let json = line.strip_suffix(b"\n").expect("a line ends");
        assert!(!json.contains(&b'\r'), "{:?}", String::from_utf8_lossy(&line));
        Some(serde_json::from_slice(json).unwrap())
    }

    /// The next `count` lines, in the order of the text of their ids.
    pub(crate) async fn sorted(&mut self, count: usize) -> Vec<Value> {
        let mut replies = Vec::new();
        while replies.len() < count {
            replies.push(self.next().await.expect("a reply"));
        }
        replies.sort_by_key(|reply| reply["id"].to_string());
        replies
    }

    /// Closes the input, and returns the remaining lines and the result of serving.
    pub(crate) async fn finish(mut self) -> (Vec<Value>, Ended) {
        self.close();
        let mut rest = Vec::new();
        while let Some(reply) = self.next().await {
            rest.push(reply);
        }
        (rest, self.end().await)
    }

    /// The result of serving, which ends by itself.
    pub(crate) async fn end(self) -> Ended {
        in_time("the end of serving", self.ended).await.unwrap()
    }
}

fn write_lines(mut to_server: PipeWriter) -> Sender<Vec<u8>> {
    let (sender, written) = channel::<Vec<u8>>();
    thread::spawn(move || {
        for bytes in written {
            to_server.write_all(&bytes).unwrap();
        }
    });
    sender
}

fn read_lines(output: PipeReader) -> UnboundedReceiver<Vec<u8>> {
    let (sender, lines) = unbounded_channel();
    thread::spawn(move || {
        let mut output = BufReader::new(output);
        loop {
            let mut line = Vec::new();
            let read = output.read_until(b'\n', &mut line);
            if !matches!(read, Ok(1..)) || sender.send(line).is_err() {
                return;
            }
        }
    });
    lines
}
