//! The three pipes of a process, which are served side by side: it may write before it has read all.

use std::future::Future;
use std::io;
use std::pin::pin;

use tokio::io::{AsyncRead, AsyncReadExt, AsyncWrite, AsyncWriteExt};
use tokio::net::unix::OwnedWriteHalf;
use tokio::process::{Child, ChildStderr, ChildStdin, ChildStdout};
use tokio::select;

/// What is read at once.
const CHUNK: usize = 16 << 10;
/// Bytes of stderr that are kept: its last.
const TAIL: usize = 4 << 10;

/// The pipes, and what came out of them.
pub(super) struct Pipes {
    stdin: Option<ChildStdin>,
    launcher: Option<OwnedWriteHalf>,
    input: Vec<u8>,
    written: usize,
    stdout: Option<ChildStdout>,
    output: Vec<u8>,
    most: usize,
    stderr: Option<ChildStderr>,
    tail: Vec<u8>,
}

/// More came than may.
#[derive(Debug)]
pub(super) struct TooMuch;

impl Pipes {
    /// Those of a process that is given `input`, by its launcher if there is one, and may write `most` bytes
    /// to stdout.
    pub(super) fn of(
        child: &mut Child,
        launcher: Option<OwnedWriteHalf>,
        input: String,
        most: usize,
    ) -> Self {
        Self {
            stdin: child.stdin.take(),
            launcher,
            input: input.into_bytes(),
            written: 0,
            stdout: child.stdout.take(),
            output: Vec::new(),
            most,
            stderr: child.stderr.take(),
            tail: Vec::new(),
        }
    }

    /// Serves them until `done` is, or too much came.
    pub(super) async fn serve_until<T>(
        &mut self,
        done: impl Future<Output = T>,
    ) -> Result<T, TooMuch> {
        let mut done = pin!(done);
        let served = select! {
            biased;
            value = &mut done => return Ok(value),
            served = self.serve() => served,
        };
        served?;
        Ok(done.await)
    }

    /// Serves them until all are closed. What was read stays when this is dropped.
    pub(super) async fn serve(&mut self) -> Result<(), TooMuch> {
        let Self { stdin, launcher, input, written, stdout, output, most, stderr, tail } = self;
        let feed = async {
            // A process that does not want its arguments closes the pipe, and is none the worse for it.
            drop(write(launcher, input, written).await);
            drop(write(stdin, input, written).await);
            *stdin = None;
            Ok(())
        };
        let collect = async {
            read(stdout, |bytes| {
                output.extend_from_slice(bytes);
                if output.len() > *most { Err(TooMuch) } else { Ok(()) }
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

    /// Whether a launcher could be asked to end the process.
    pub(super) fn ask_to_end(&mut self) -> bool {
        let is_told = self.written == self.input.len();
        self.launcher.as_ref().is_some_and(|line| is_told && line.try_write(b"\n").is_ok())
    }

    /// Has a launcher end the process, and all that it has started.
    pub(super) fn hang_up(&mut self) {
        self.launcher = None;
    }

    /// What came on stdout.
    pub(super) fn output(&self) -> &[u8] {
        &self.output
    }

    /// The end of what came on stderr.
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

/// Reads to the end. A pipe that cannot be read has ended.
async fn read<P: AsyncRead + Unpin>(
    pipe: &mut Option<P>,
    mut take: impl FnMut(&[u8]) -> Result<(), TooMuch>,
) -> Result<(), TooMuch> {
    let Some(reader) = pipe else { return Ok(()) };
    let mut chunk = vec![0; CHUNK];
    while let Ok(count @ 1..) = reader.read(&mut chunk).await {
        take(&chunk[..count])?;
    }
    *pipe = None;
    Ok(())
}
