//! A server for the parent process, over stdin and stdout.
//!
//! The process must not print anything else to stdout. Write logs to stderr.
//!
//! ```no_run
//! # use trunkline::{Params, Router, stdio, stream::StreamConfig};
//! # #[tokio::main(flavor = "current_thread")]
//! # async fn main() -> Result<(), Box<dyn std::error::Error>> {
//! let rpc = Router::new().method("add", |Params((a, b)): Params<(i64, i64)>| a + b).build()?;
//! stdio::serve(&rpc, StreamConfig::default()).await?;
//! # Ok(())
//! # }
//! ```

use std::io::{self, Read, Write};
use std::panic::{AssertUnwindSafe, resume_unwind};
use std::pin::Pin;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::task::{Context, Poll, Wake, Waker};
use std::thread;
use std::time::Duration;

use bytes::Bytes;
use futures_util::future::{BoxFuture, WeakShared, poll_fn};
use futures_util::stream;
use futures_util::task::AtomicWaker;
use futures_util::{FutureExt, Stream};
use tokio::io::AsyncWrite;
use tokio::runtime::Handle;
use tokio::sync::{mpsc, oneshot};
use tokio::time::sleep;
use tokio_util::io::StreamReader;
use trunkline_client::frame::FrameWriter;
use trunkline_core::dispatch::Dispatcher;

use crate::stream::{
    Connection, Message, Protocol, StreamConfig, StreamError, serve_protocol, write,
};

/// Serves until stdin ends and all requests are answered.
///
/// Reading and writing block, so each uses a thread. The reading thread remains until there is input or its end,
/// but does not prevent the runtime or the process from ending.
///
/// # Errors
/// When reading or writing fails, or calls do not end within [`StreamConfig::drain_timeout`].
///
/// # Cancel safety
/// Dropping the future cancels running calls. [`StreamConfig::closing`] ends it gracefully.
pub async fn serve(rpc: &Dispatcher, config: StreamConfig) -> Result<(), StreamError> {
    serve_rpc(rpc, config).await
}

/// This is neither async nor generic, so that serving is compiled in this crate. The code of an async function is compiled
/// in each program that awaits it.
#[inline(never)]
fn serve_rpc(
    rpc: &Dispatcher,
    config: StreamConfig,
) -> BoxFuture<'static, Result<(), StreamError>> {
    let (protocol, messages) = Connection::standalone(rpc, "stdio").open(&config);
    serve_pipes(protocol, messages, (io::stdin(), io::stdout()), config).boxed()
}

/// Serves any protocol over a pair of blocking pipes, like [`serve`].
///
/// # Errors
/// When reading or writing fails, or calls do not end within [`StreamConfig::drain_timeout`].
pub async fn serve_pipes(
    protocol: impl Protocol + 'static,
    messages: impl Stream<Item = Vec<Message>> + Send + 'static,
    (input, output): (impl Read + Send + 'static, impl Write + Send + 'static),
    config: StreamConfig,
) -> Result<(), StreamError> {
    let writing = start_writing(messages, output, &config).map_err(StreamError::Thread)?;
    let (chunks, mut read) = mpsc::channel(1);
    let reader = StreamReader::new(stream::poll_fn(move |context| read.poll_recv(context)));
    let (sender, mut result) = oneshot::channel();
    let mut serving = Box::pin(async move {
        let served = serve_protocol(protocol, reader, writing, &config);
        drop(sender.send(AssertUnwindSafe(served).catch_unwind().await));
    });
    let wakes = Arc::new(Wakes::default());
    let (waker, state) = (Waker::from(Arc::clone(&wakes)), Arc::clone(&wakes));
    let serving = poll_fn(move |context| {
        state.task.register(context.waker());
        state.is_woken.store(false, Ordering::SeqCst);
        serving.as_mut().poll(&mut Context::from_waker(&waker))
    });
    let serving = serving.boxed().shared();
    if let Some(serving) = serving.downgrade() {
        start_reading(input, chunks, serving, wakes).map_err(StreamError::Thread)?;
    }
    serving.await;
    let result = result.try_recv().expect("serving has sent its result");
    result.unwrap_or_else(|panic| resume_unwind(panic))
}

/// The number of bytes per read.
const CHUNK: usize = 64 << 10;
/// The number of polls by the reading thread before the task continues.
const POLLS: usize = 4;

/// Starts the reading thread. It also polls the serving future, because waking another thread costs as much as a
/// small call.
fn start_reading(
    mut input: impl Read + Send + 'static,
    chunks: mpsc::Sender<io::Result<Bytes>>,
    serving: WeakShared<BoxFuture<'static, ()>>,
    wakes: Arc<Wakes>,
) -> io::Result<()> {
    let runtime = Handle::current();
    let read = move || {
        let _guard = runtime.enter();
        let mut buffer = vec![0; CHUNK];
        let mut is_open = true;
        while is_open {
            let chunk = match input.read(&mut buffer) {
                Ok(0) => return,
                Ok(count) => Ok(Bytes::copy_from_slice(&buffer[..count])),
                Err(error) if error.kind() == io::ErrorKind::Interrupted => continue,
                Err(error) => Err(error),
            };
            is_open = chunk.is_ok();
            let Ok(permit) = runtime.block_on(chunks.reserve()) else { return };
            let Some(mut serving) = serving.upgrade() else { return };
            wakes.is_held.store(true, Ordering::SeqCst);
            permit.send(chunk);
            for _ in 0..POLLS {
                let is_complete = (&mut serving).now_or_never().is_some();
                if is_complete || !wakes.is_woken.load(Ordering::SeqCst) {
                    break;
                }
            }
            wakes.is_held.store(false, Ordering::SeqCst);
            if wakes.is_woken.load(Ordering::SeqCst) {
                wakes.task.wake();
            }
        }
    };
    thread::Builder::new().name("trunkline-stdin".to_owned()).spawn(read).map(drop)
}

/// The waker of the serving future. While the reading thread polls the future, wakes are not forwarded to its task.
#[derive(Default)]
struct Wakes {
    is_held: AtomicBool,
    /// Whether the future was woken since the start of its last poll.
    is_woken: AtomicBool,
    task: AtomicWaker,
}

impl Wake for Wakes {
    fn wake(self: Arc<Self>) {
        self.is_woken.store(true, Ordering::SeqCst);
        if !self.is_held.load(Ordering::SeqCst) {
            self.task.wake();
        }
    }
}

/// Starts the writing thread. The returned future completes when the thread has ended, or when writing has made no
/// progress for the write timeout.
fn start_writing<M, W>(
    messages: M,
    output: W,
    config: &StreamConfig,
) -> io::Result<impl Future<Output = io::Result<()>> + Send + use<M, W>>
where
    M: Stream<Item = Vec<Message>> + Send + 'static,
    W: Write + Send + 'static,
{
    let steps = Arc::new(AtomicUsize::new(0));
    let output = Blocking { output, steps: Arc::clone(&steps) };
    let writer = FrameWriter::new(output, config.framing, Duration::MAX);
    let (sender, written) = oneshot::channel();
    let runtime = Handle::current();
    let write = move || drop(sender.send(runtime.block_on(write(messages, writer))));
    thread::Builder::new().name("trunkline-stdout".to_owned()).spawn(write)?;
    let timeout = config.write_timeout;
    Ok(async move {
        let stuck = async {
            let mut seen = 0;
            // An odd number of steps means that the output is blocked.
            while seen % 2 == 0 || seen != steps.load(Ordering::Relaxed) {
                seen = steps.load(Ordering::Relaxed);
                sleep(timeout).await;
            }
        };
        tokio::select! {
            written = written => written.unwrap_or_else(|_| Err(io::ErrorKind::BrokenPipe.into())),
            () = stuck => Err(io::ErrorKind::TimedOut.into()),
        }
    })
}

/// A blocking output.
struct Blocking<W> {
    output: W,
    /// The number of starts and ends of calls.
    steps: Arc<AtomicUsize>,
}

impl<W> Unpin for Blocking<W> {}

impl<W: Write> Blocking<W> {
    fn call<T>(&mut self, mut call: impl FnMut(&mut W) -> io::Result<T>) -> Poll<io::Result<T>> {
        self.steps.fetch_add(1, Ordering::Relaxed);
        let result = loop {
            match call(&mut self.output) {
                Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
                result => break result,
            }
        };
        self.steps.fetch_add(1, Ordering::Relaxed);
        Poll::Ready(result)
    }
}

impl<W: Write> AsyncWrite for Blocking<W> {
    fn poll_write(
        mut self: Pin<&mut Self>,
        _: &mut Context<'_>,
        bytes: &[u8],
    ) -> Poll<io::Result<usize>> {
        self.call(|output| output.write(bytes))
    }

    fn poll_flush(mut self: Pin<&mut Self>, _: &mut Context<'_>) -> Poll<io::Result<()>> {
        self.call(Write::flush)
    }

    fn poll_shutdown(self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<io::Result<()>> {
        self.poll_flush(context)
    }
}

#[cfg(test)]
mod tests {
    use std::sync::mpsc::{Receiver, channel};

    use super::*;

    /// An output that blocks until the other end of the channel is dropped.
    struct Stuck(Receiver<()>);

    impl Write for Stuck {
        fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
            self.0.recv().map_or(Ok(bytes.len()), |()| Ok(0))
        }

        fn flush(&mut self) -> io::Result<()> {
            Ok(())
        }
    }

    /// Checks the result of writing a message.
    #[track_caller]
    fn check(output: impl Write + Send + 'static, expected: Result<(), io::ErrorKind>) {
        let config =
            StreamConfig { write_timeout: Duration::from_millis(20), ..Default::default() };
        let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap();
        let ended = runtime.block_on(async {
            let messages = stream::iter([vec![Message::json(b"{}".to_vec(), None)]]);
            start_writing(messages, output, &config).unwrap().await
        });
        assert_eq!(ended.map_err(|error| error.kind()), expected);
    }

    #[test]
    fn times_out_when_the_output_blocks() {
        let (blocked, output) = channel();
        check(Stuck(output), Err(io::ErrorKind::TimedOut));
        drop(blocked);
        let (open, output) = channel();
        drop(open);
        check(Stuck(output), Ok(()));
        check(Vec::new(), Ok(()));
    }
}
