//! Servers over streams of bytes, one message per line: child processes, sockets and pipes.

use std::process::Command;
use std::sync::Arc;
use std::time::Duration;

use bytes::Bytes;
use futures_util::future::{BoxFuture, FutureExt};
use serde::de::IgnoredAny;
use tokio::io::{AsyncRead, AsyncReadExt, AsyncWrite};
use tokio::sync::mpsc;
use tokio::time::timeout;
use tokio_util::sync::CancellationToken;
use trunkline::client::frame::{Frame, FrameReader, FrameWriter, Framing, ReadError};
use trunkline::client::{Cause, Failure, ProtocolError, TransportError};

use super::channel::{Channel, Sender};
use super::error::Error;
use super::inbox::Inbox;
use super::last_lines::LastLines;
use super::process_group::{GroupLeader, ProcessGroup};
use crate::protocol::without_mark;

/// Configuration of a server that the client starts as a child process.
///
/// The process has its own process group, which ends with the client. If the process of the client is killed, a server
/// ends by itself when its stdin is closed; start servers that do not with a program that watches stdin, such as
/// `trunkline tool supervise`.
#[derive(Clone)]
#[non_exhaustive]
pub struct StdioConfig {
    /// The name of the server in errors. Default: the program.
    pub name: Option<String>,
    /// The time for the process to exit after its stdin is closed. Default 2 s. Then its group gets SIGTERM.
    pub grace: Duration,
    /// The time for the process to exit after SIGTERM. Default 2 s. Then its group is killed.
    pub term_grace: Duration,
    /// The maximum time without progress in writing a message. Default 30 s. Then the connection ends.
    pub write_timeout: Duration,
    /// Receives each line of stderr, and of stdout if it is not a message, without its end and cut after 4 KiB. It must not
    /// block. Default: the log, at level `debug`.
    pub stderr: LineSink,
}

/// Receives lines of a process.
type LineSink = Arc<dyn Fn(&str) + Send + Sync>;

impl Default for StdioConfig {
    fn default() -> Self {
        Self {
            name: None,
            grace: Duration::from_secs(2),
            term_grace: Duration::from_secs(2),
            write_timeout: Duration::from_secs(30),
            stderr: Arc::new(|line| tracing::debug!(target: "trunkline_mcp::stderr", "{line}")),
        }
    }
}

debug_fields!(StdioConfig: grace);

/// The maximum number of messages that wait to be written.
const MAX_QUEUED: usize = 64;
/// The maximum size of a line of stderr, in bytes.
const MAX_STDERR_LINE: usize = 4 << 10;
/// The maximum number of lines on stdout that are not messages.
const MAX_NOISE: usize = 1_000;

/// Starts a process, and opens a channel to it.
pub(super) fn spawn(
    command: &mut Command,
    config: &StdioConfig,
    inbox: &Arc<Inbox>,
) -> Result<Channel, Error> {
    let program = || command.get_program().to_string_lossy().into_owned();
    let name = config.name.clone().unwrap_or_else(program);
    let leader = GroupLeader::spawn(command, config.grace, config.term_grace)?;
    let GroupLeader { stdin, stdout, stderr, group } = leader;
    let last_lines = LastLines::default();
    let target = format!("{name} (process {})", group.id());
    let (channel, outgoing) = queue(target, inbox, Some(last_lines.clone()));
    let sink = |prefix: &'static str| -> LineSink {
        let (last, sink) = (last_lines.clone(), Arc::clone(&config.stderr));
        Arc::new(move |line| {
            last.add(&format!("{prefix}{line}"));
            sink(line);
        })
    };
    inbox.tasks.spawn(log(stderr, sink(""), last_lines.ended.clone()));
    let driver = Driver {
        channel: channel.clone(),
        outgoing,
        closing: inbox.tasks.closing().clone(),
        reader: FrameReader::new(stdout, Framing::Lines, inbox.config.message_bytes),
        writer: FrameWriter::new(stdin, Framing::Lines, config.write_timeout),
        noise: sink("on stdout: "),
        child: Some((group, last_lines)),
    };
    inbox.tasks.spawn_to_end(driver.run());
    Ok(channel)
}

/// Opens a channel over two streams.
pub(super) fn open(
    input: Box<dyn AsyncRead + Send + Unpin>,
    output: Box<dyn AsyncWrite + Send + Unpin>,
    inbox: &Arc<Inbox>,
) -> Channel {
    let (channel, outgoing) = queue("the other end of the stream".to_owned(), inbox, None);
    let config = StdioConfig::default();
    let driver = Driver {
        channel: channel.clone(),
        outgoing,
        closing: inbox.tasks.closing().clone(),
        reader: FrameReader::new(input, Framing::Lines, inbox.config.message_bytes),
        writer: FrameWriter::new(output, Framing::Lines, config.write_timeout),
        noise: config.stderr,
        child: None,
    };
    inbox.tasks.spawn_to_end(driver.run());
    channel
}

fn queue(
    target: String,
    inbox: &Arc<Inbox>,
    output: Option<LastLines>,
) -> (Channel, mpsc::Receiver<Bytes>) {
    let (sender, outgoing) = mpsc::channel(MAX_QUEUED);
    let sender = Queue { sender, target: target.clone() };
    (Channel::new(target, Arc::clone(inbox), Box::new(sender), output), outgoing)
}

/// The messages that wait to be written.
struct Queue {
    sender: mpsc::Sender<Bytes>,
    target: String,
}

impl Sender for Queue {
    fn send(&self, message: Bytes) -> BoxFuture<'_, Result<(), Error>> {
        Box::pin(async move {
            let sent = self.sender.send(message).await;
            let closed = || TransportError::Broken { target: self.target.clone(), source: None };
            sent.map_err(|_| closed().into())
        })
    }
}

/// Reads and writes messages until the client or the server ends the channel.
struct Driver<R, W> {
    channel: Channel,
    outgoing: mpsc::Receiver<Bytes>,
    closing: CancellationToken,
    reader: FrameReader<R>,
    writer: FrameWriter<W>,
    /// Receives lines that are not messages.
    noise: LineSink,
    child: Option<(ProcessGroup, LastLines)>,
}

impl<R: AsyncRead + Unpin, W: AsyncWrite + Unpin> Driver<R, W> {
    async fn run(self) {
        /// The time to read remaining messages after writing has ended.
        const FINAL_READ: Duration = Duration::from_secs(1);
        let Self { channel, mut outgoing, closing, mut reader, mut writer, noise, child } = self;
        let mut noise = Noise { lines: 0, sink: noise };
        let failure = tokio::select! {
            biased;
            () = closing.cancelled() => {
                channel.end(None);
                None
            }
            failure = read(&channel, &mut reader, &mut noise) => failure,
            error = write(&mut outgoing, &mut writer) => {
                let rest = read(&channel, &mut reader, &mut noise);
                let failure = timeout(FINAL_READ, rest).await.ok().flatten();
                failure.or_else(|| Some(broken(&channel, Arc::new(error))))
            }
        };
        // Its reason is known, so callers need not wait for the end of the process.
        if let Some(Failure::Protocol(_)) = &failure {
            channel.end(failure.clone());
        }
        // The server ends when its input is closed. What it writes until then is read, so that it does not fail.
        drop(writer);
        let rest = async { while let Ok(Some(_)) = reader.next_within(Duration::MAX).await {} };
        let exit = match &child {
            Some((group, last_lines)) => {
                let (exit, ()) = tokio::join!(group.end(), timeout(FINAL_READ, rest).map(drop));
                match exit {
                    Some(exit) => Some(last_lines.describe(exit).await),
                    None => None,
                }
            }
            None => timeout(FINAL_READ, rest).map(|_| None).await,
        };
        let exit = exit.map(|exit| broken(&channel, exit));
        channel.end(exit);
    }
}

fn broken(channel: &Channel, source: Cause) -> Failure {
    TransportError::Broken { target: channel.target().to_owned(), source: Some(source) }.into()
}

struct Noise {
    lines: usize,
    sink: LineSink,
}

/// Reads messages until the stream ends. Returns the reason, if it is known.
async fn read<R: AsyncRead + Unpin>(
    channel: &Channel,
    reader: &mut FrameReader<R>,
    noise: &mut Noise,
) -> Option<Failure> {
    loop {
        match reader.next_within(Duration::MAX).await {
            Ok(Some(Frame::Message(line, _))) => {
                let line = without_mark(line);
                if is_message(&line) {
                    match cut_message(&line) {
                        Some(error) => channel.fail(error),
                        None => channel.receive(&line),
                    }
                    continue;
                }
                // Many servers print their name.
                if let Some(error) = foreign_framing(&line) {
                    return Some(error.into());
                }
                noise.lines += 1;
                let shown = &line[..line.len().min(MAX_STDERR_LINE)];
                (noise.sink)(&String::from_utf8_lossy(shown));
                if noise.lines > MAX_NOISE {
                    let reason = format!("more than {MAX_NOISE} lines that are not messages");
                    return Some(malformed(reason, shown).into());
                }
            }
            Ok(Some(Frame::Skipped(..))) => {
                let reason = "message exceeds the maximum size".to_owned();
                return Some(ProtocolError::Malformed { reason, beginning: String::new() }.into());
            }
            Ok(None) => return None,
            Err(ReadError::Io(error)) => return Some(broken(channel, Arc::new(error))),
            Err(error @ ReadError::Header(_)) => return Some(broken(channel, Arc::new(error))),
        }
    }
}

/// Whether a line is an object, or a batch of objects. A log line may begin with `[`.
fn is_message(line: &[u8]) -> bool {
    let inner = line.strip_prefix(b"[").map_or(line, <[u8]>::trim_ascii_start);
    inner.starts_with(b"{")
}

/// The error for a header in place of a message.
fn foreign_framing(line: &[u8]) -> Option<ProtocolError> {
    const HEADER: &[u8] = b"content-length:";
    let is_header = line.get(..HEADER.len()).is_some_and(|it| it.eq_ignore_ascii_case(HEADER));
    is_header.then(|| {
        let reason = "the server writes `Content-Length` headers, as in the Language Server Protocol; MCP over stdio \
                      requires messages without headers, each on one line";
        malformed(reason, line)
    })
}

/// The error for a line that is the beginning of a message.
fn cut_message(line: &[u8]) -> Option<ProtocolError> {
    if line.ends_with(b"}") || line.ends_with(b"]") {
        return None;
    }
    let error =
        serde_json::from_slice::<IgnoredAny>(line).err().filter(serde_json::Error::is_eof)?;
    let reason = format!(
        "the message does not end on its line, so it may be indented ({error}); MCP over stdio requires each message on one \
         line"
    );
    Some(malformed(reason, line))
}

fn malformed(reason: impl Into<String>, line: &[u8]) -> ProtocolError {
    let beginning = String::from_utf8_lossy(line).chars().take(100).collect();
    ProtocolError::Malformed { reason: reason.into(), beginning }
}

/// Writes messages until it fails.
async fn write<W: AsyncWrite + Unpin>(
    outgoing: &mut mpsc::Receiver<Bytes>,
    writer: &mut FrameWriter<W>,
) -> std::io::Error {
    while let Some(message) = outgoing.recv().await {
        let written = async {
            writer.write_as(&message, None).await?;
            writer.flush().await
        };
        if let Err(error) = written.await {
            return error;
        }
    }
    // The channel, which holds the sender, lives as long as its driver.
    std::io::ErrorKind::BrokenPipe.into()
}

/// Passes the lines of stderr on. The rest of a line that is too long is dropped.
async fn log(mut stderr: impl AsyncRead + Unpin, sink: LineSink, ended: CancellationToken) {
    let _ended = ended.drop_guard();
    let mut line = Vec::new();
    let mut chunk = vec![0; MAX_STDERR_LINE];
    let pass = |line: &mut Vec<u8>| {
        let text = String::from_utf8_lossy(line.trim_ascii_end()).into_owned();
        line.clear();
        if !text.is_empty() {
            sink(&text);
        }
    };
    while let Ok(count @ 1..) = stderr.read(&mut chunk).await {
        for part in chunk[..count].split_inclusive(|byte| *byte == b'\n') {
            let left = MAX_STDERR_LINE - line.len();
            line.extend_from_slice(&part[..part.len().min(left)]);
            if part.ends_with(b"\n") {
                pass(&mut line);
            }
        }
    }
    pass(&mut line);
}
