//! Newline-delimited messages on a pair of byte streams ("stdio").

use std::io::{self, BufRead, BufReader, Read, Write};
use std::sync::Arc;
use std::thread;

use bytes::Bytes;
use tokio::runtime::Handle;
use tokio::sync::oneshot;
use tokio::time::timeout;
use tokio_util::sync::CancellationToken;
use trunkline::limits::MemoryBudget;
use trunkline::{ErrorObject, Extensions, code};

use crate::channel::{Channel, Outbox};
use crate::server::Mcp;

/// Why serving ended before its input did, or with calls cut off.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum StdioError {
    /// The input cannot be read.
    #[error("the input cannot be read")]
    Read(#[source] io::Error),
    /// The output takes nothing: the client is gone.
    #[error("the output cannot be written")]
    Write(#[source] io::Error),
    /// Calls that had not ended, or replies that nobody had read, when their time was up.
    #[error("calls were cut off: they did not end in time after the input's end")]
    Unfinished,
    /// The system gave no thread.
    #[error("no thread for reading and writing")]
    Thread(#[source] io::Error),
}

impl Mcp {
    /// Serves one client by lines, until its input ends and what it asked for is answered: what
    /// `stdin` and `stdout` are for in a process that a client starts.
    ///
    /// When `closing` is cancelled, no more lines are taken, and what was asked for is still answered.
    /// Reading and writing block, so each has a thread. The one that reads stays until there is a line or
    /// the input's end.
    ///
    /// # Errors
    /// When reading or writing fails, or calls do not end within
    /// [`McpConfig::drain_timeout`](crate::McpConfig).
    pub async fn serve_stdio(
        &self,
        input: impl Read + Send + 'static,
        output: impl Write + Send + 'static,
        closing: CancellationToken,
    ) -> Result<(), StdioError> {
        let settings = &self.0.settings;
        let (channel, messages) = Channel::new(Arc::clone(&self.0));
        let mut written = write(output, messages).map_err(StdioError::Thread)?;
        let over = closing.child_token();
        let _over_when_dropped = over.clone().drop_guard();
        let reader = Reader { channel: channel.clone(), limit: settings.line_bytes, over };
        let read = reader.start(input).map_err(StdioError::Thread)?;
        tokio::select! {
            biased;
            read = read => read.unwrap_or_else(|_| Err(io::Error::other("the reading thread panicked"))).map_err(StdioError::Read)?,
            () = closing.cancelled() => {}
            failed = &mut written => return Err(write_error(failed)),
        }
        let drained = async {
            channel.finish().await;
            channel.end().await;
            written.await
        };
        match timeout(settings.drain_timeout, drained).await {
            Ok(Ok(Ok(()))) => Ok(()),
            Ok(failed) => Err(write_error(failed)),
            Err(_) => Err(StdioError::Unfinished),
        }
    }
}

/// The thread that reads. It takes the messages itself, since to hand them to another thread costs as
/// much as a small call.
struct Reader {
    channel: Channel,
    limit: usize,
    over: CancellationToken,
}

/// A line of the input.
enum Line {
    Message(Bytes),
    TooLong,
}

impl Reader {
    fn start(
        self,
        input: impl Read + Send + 'static,
    ) -> io::Result<oneshot::Receiver<io::Result<()>>> {
        let (sender, ended) = oneshot::channel();
        let runtime = Handle::current();
        thread::Builder::new().name("mcp-stdin".to_owned()).spawn(move || {
            let mut input = BufReader::with_capacity(64 << 10, input);
            drop(sender.send(self.read(&mut input, &runtime)));
        })?;
        Ok(ended)
    }

    fn read(&self, input: &mut impl BufRead, runtime: &Handle) -> io::Result<()> {
        while let Some(line) = next_line(input, self.limit)? {
            if self.over.is_cancelled() {
                return Ok(());
            }
            runtime.block_on(async {
                match line {
                    Line::Message(body) => {
                        let count = body.len() + MemoryBudget::PER_REQUEST;
                        match self.channel.memory().reserve(count) {
                            Ok(memory) => {
                                let body = memory.attach(body);
                                self.channel.take(body, Extensions::through("mcp-stdio")).await;
                            }
                            Err(error) => self.channel.refuse(error.into()).await,
                        }
                    }
                    Line::TooLong => self.channel.refuse(too_long(self.limit)).await,
                }
            });
        }
        Ok(())
    }
}

fn write_error(ended: Result<io::Result<()>, oneshot::error::RecvError>) -> StdioError {
    match ended {
        Ok(Err(error)) => StdioError::Write(error),
        _ => StdioError::Write(io::ErrorKind::BrokenPipe.into()),
    }
}

fn too_long(limit: usize) -> ErrorObject {
    let data = serde_json::json!({ "reason": "the line is too long", "limit_bytes": limit });
    ErrorObject::new(code::INVALID_REQUEST, "Invalid Request").with_data(&data)
}

/// The next line that is not blank; none at the end of the input. What a line has over the limit is
/// read and forgotten.
fn next_line(input: &mut impl BufRead, limit: usize) -> io::Result<Option<Line>> {
    let mut line = Vec::new();
    let mut too_long = false;
    loop {
        let available = match input.fill_buf() {
            Err(error) if error.kind() == io::ErrorKind::Interrupted => continue,
            available => available?,
        };
        if available.is_empty() {
            // The last line may lack its end.
            let is_nothing = line.trim_ascii().is_empty() && !too_long;
            return Ok((!is_nothing).then(|| ended(line, too_long)));
        }
        let end = available.iter().position(|byte| *byte == b'\n');
        let part = &available[..end.unwrap_or(available.len())];
        too_long |= line.len() + part.len() > limit;
        if too_long {
            line = Vec::new();
        } else {
            line.extend_from_slice(part);
        }
        let taken = end.map_or(available.len(), |end| end + 1);
        input.consume(taken);
        if end.is_some() {
            if too_long || !line.trim_ascii().is_empty() {
                return Ok(Some(ended(line, too_long)));
            }
            line.clear();
        }
    }
}

fn ended(line: Vec<u8>, too_long: bool) -> Line {
    if too_long { Line::TooLong } else { Line::Message(Bytes::from(line)) }
}

fn write(
    mut output: impl Write + Send + 'static,
    mut messages: Outbox,
) -> io::Result<oneshot::Receiver<io::Result<()>>> {
    let (sender, ended) = oneshot::channel();
    let runtime = Handle::current();
    thread::Builder::new().name("mcp-stdout".to_owned()).spawn(move || {
        let done = write_all(&mut output, &mut messages, &runtime);
        drop(sender.send(done));
    })?;
    Ok(ended)
}

fn write_all(output: &mut impl Write, messages: &mut Outbox, runtime: &Handle) -> io::Result<()> {
    let mut next = || runtime.block_on(messages.next());
    while let Some(mut message) = next().filter(|message| !message.json.is_empty()) {
        message.json.push(b'\n');
        output.write_all(&message.json)?;
        output.flush()?;
    }
    Ok(())
}
