//! Serving the process that has started this one, over stdin and stdout.
//!
//! Nothing else may be printed to stdout: logs belong on stderr.
//!
//! ```no_run
//! # use trunkline::{Router, stdio, stream::StreamConfig};
//! # #[tokio::main(flavor = "current_thread")]
//! # async fn main() -> Result<(), Box<dyn std::error::Error>> {
//! let rpc = Router::new().function("add", ["a", "b"], |a: i64, b: i64| a + b).build()?;
//! stdio::serve(&rpc, StreamConfig::default()).await?;
//! # Ok(())
//! # }
//! ```

use std::io::{self, Read, Write};
use std::thread;

use tokio::io::{AsyncReadExt, AsyncWriteExt, DuplexStream, duplex};
use tokio::runtime::Handle;
use tokio::sync::oneshot;
use tokio::time::timeout;

use crate::stream::{Connection, StreamConfig, StreamError};
use trunkline_core::dispatch::Dispatcher;

/// How much is on its way between a thread and the calls.
const CHUNK: usize = 64 << 10;

/// Serves until stdin ends and what was asked for is answered.
///
/// Reading and writing block, so each has a thread. The one that reads stays until there is input, or
/// its end; it keeps neither the runtime nor the process from ending.
///
/// # Errors
/// When reading or writing fails, or calls do not end within [`StreamConfig::drain_timeout`].
///
/// # Cancel safety
/// Dropping the future cancels the calls that run. [`StreamConfig::closing`] ends it in order.
pub async fn serve(rpc: &Dispatcher, settings: StreamConfig) -> Result<(), StreamError> {
    serve_pipes(rpc, io::stdin(), io::stdout(), settings).await
}

/// The same over other pipes.
async fn serve_pipes(
    rpc: &Dispatcher,
    input: impl Read + Send + 'static,
    output: impl Write + Send + 'static,
    settings: StreamConfig,
) -> Result<(), StreamError> {
    let (input, mut read) = start_reading(input).map_err(StreamError::Thread)?;
    let (output, written) = start_writing(output).map_err(StreamError::Thread)?;
    let patience = settings.write_timeout;
    let served = Connection::alone(rpc, "stdio", settings).run(input, output).await;
    // To the connection, input that cannot be read has ended.
    if let Ok(Err(error)) = read.try_recv() {
        return Err(StreamError::Read(error));
    }
    served?;
    match timeout(patience, written).await {
        Ok(Ok(Err(error))) => Err(StreamError::Write(error)),
        Ok(_) => Ok(()),
        Err(_) => Err(StreamError::Write(io::ErrorKind::TimedOut.into())),
    }
}

/// How reading or writing has ended.
type Ended = oneshot::Receiver<io::Result<()>>;

fn start_reading(mut input: impl Read + Send + 'static) -> io::Result<(DuplexStream, Ended)> {
    start("stdin", move |mut pipe, runtime| {
        let mut buffer = vec![0; CHUNK];
        loop {
            let count = match input.read(&mut buffer) {
                Ok(0) => return Ok(()),
                Ok(count) => count,
                Err(error) if error.kind() == io::ErrorKind::Interrupted => continue,
                Err(error) => return Err(error),
            };
            if runtime.block_on(pipe.write_all(&buffer[..count])).is_err() {
                // Nobody wants to know what else comes.
                return Ok(());
            }
        }
    })
}

fn start_writing(mut output: impl Write + Send + 'static) -> io::Result<(DuplexStream, Ended)> {
    start("stdout", move |mut pipe, runtime| {
        let mut buffer = vec![0; CHUNK];
        loop {
            match runtime.block_on(pipe.read(&mut buffer))? {
                0 => return Ok(()),
                count => output.write_all(&buffer[..count])?,
            }
            output.flush()?;
        }
    })
}

/// A thread that has the other end of what is returned.
fn start(
    name: &str,
    run: impl FnOnce(DuplexStream, Handle) -> io::Result<()> + Send + 'static,
) -> io::Result<(DuplexStream, Ended)> {
    let (ours, theirs) = duplex(CHUNK);
    let (sender, ended) = oneshot::channel();
    let runtime = Handle::current();
    thread::Builder::new().name(format!("trunkline-{name}")).spawn(move || {
        // Told before the pipe ends: whoever sees that end looks for its reason.
        let told = run(theirs, runtime);
        drop(sender.send(told));
    })?;
    Ok((ours, ended))
}
