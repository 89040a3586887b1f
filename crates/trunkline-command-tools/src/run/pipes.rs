//! The three pipes of a process. They are served concurrently, since a process may write before it has read its input.

use std::future::Future;
use std::io;
use std::pin::pin;

use tokio::io::{AsyncRead, AsyncReadExt, AsyncWrite, AsyncWriteExt};
use tokio::net::unix::OwnedWriteHalf;
use tokio::process::{Child, ChildStderr, ChildStdin, ChildStdout};
use tokio::select;

/// The size of a read.
const CHUNK: usize = 16 << 10;
/// The number of bytes that are kept of the end of stderr.
const TAIL: usize = 4 << 10;

/// The pipes and the output.
pub(super) struct Pipes {
    stdin: Option<ChildStdin>,
    launcher: Option<OwnedWriteHalf>,
    input: Vec<u8>,
    written: usize,
    stdout: Option<ChildStdout>,
    output: Vec<u8>,
    max_output: usize,
    stderr: Option<ChildStderr>,
    tail: Vec<u8>,
}

/// The process wrote more to stdout than allowed.
#[derive(Debug)]
pub(super) struct OutputTooLarge;

impl Pipes {
    /// The pipes of a process that gets `input`, from its launcher if it has one, and may write `max_output` bytes to
    /// stdout.
    pub(super) fn new(
        child: &mut Child,
        launcher: Option<OwnedWriteHalf>,
        input: String,
        max_output: usize,
    ) -> Self {
        Self {
            stdin: child.stdin.take(),
            launcher,
            input: input.into_bytes(),
            written: 0,
            stdout: child.stdout.take(),
            output: Vec::new(),
            max_output,
            stderr: child.stderr.take(),
            tail: Vec::new(),
        }
    }

    /// Serves the pipes until `done` is ready or the output is too large.
    pub(super) async fn serve_until<T>(
        &mut self,
        done: impl Future<Output = T>,
    ) -> Result<T, OutputTooLarge> {
        let mut done = pin!(done);
        let served = select! {
            biased;
            value = &mut done => return Ok(value),
            served = self.serve() => served,
        };
        served?;
        Ok(done.await)
    }

    /// Serves the pipes until all are closed. Keeps the output when dropped.
    pub(super) async fn serve(&mut self) -> Result<(), OutputTooLarge> {
        let Self { stdin, launcher, input, written, stdout, output, max_output, stderr, tail } =
            self;
        let feed = async {
            // A process may close its stdin without reading it.
            drop(write(launcher, input, written).await);
            drop(write(stdin, input, written).await);
            *stdin = None;
            Ok(())
        };
        let collect = async {
            read(stdout, |bytes| {
                output.extend_from_slice(bytes);
                if output.len() > *max_output { Err(OutputTooLarge) } else { Ok(()) }
            })
            .await
        };
        let keep_tail = async {
            read(stderr, |bytes| {
                tail.extend_from_slice(bytes);
                tail.drain(..tail.len().saturating_sub(TAIL));
                Ok(())
            })
            .await
        };
        tokio::try_join!(feed, collect, keep_tail).map(drop)
    }

    /// Requests a launcher to send SIGTERM. Returns false if that is impossible.
    pub(super) fn request_termination(&mut self) -> bool {
        let is_input_sent = self.written == self.input.len();
        self.launcher
            .as_ref()
            .is_some_and(|launcher| is_input_sent && launcher.try_write(b"\n").is_ok())
    }

    /// Requests a launcher to end the process and everything that it has started.
    pub(super) fn close_launcher(&mut self) {
        self.launcher = None;
    }

    /// The stdout of the process.
    pub(super) fn output(&self) -> &[u8] {
        &self.output
    }

    /// The end of the process's stderr.
    pub(super) fn stderr(&self) -> String {
        String::from_utf8_lossy(&self.tail).into_owned()
    }
}

async fn write<P: AsyncWrite + Unpin>(
    pipe: &mut Option<P>,
    input: &[u8],
    written: &mut usize,
) -> io::Result<()> {
    let Some(pipe) = pipe else { return Ok(()) };
    while let Some(rest) = input.get(*written..).filter(|rest| !rest.is_empty()) {
        *written += pipe.write(rest).await?;
    }
    Ok(())
}

/// Reads to the end. An error counts as the end.
async fn read<P: AsyncRead + Unpin>(
    pipe: &mut Option<P>,
    mut take: impl FnMut(&[u8]) -> Result<(), OutputTooLarge>,
) -> Result<(), OutputTooLarge> {
    let Some(reader) = pipe else { return Ok(()) };
    let mut chunk = vec![0; CHUNK];
    while let Ok(count @ 1..) = reader.read(&mut chunk).await {
        take(&chunk[..count])?;
    }
    *pipe = None;
    Ok(())
}
