//! Lines that a user types in answer to questions.

use std::io::{self, BufRead, IsTerminal, Read, stderr, stdin};
use std::thread;

use rustix::termios::{QueueSelector, tcflush};
use tokio::sync::{Mutex, oneshot};

/// The keyboard of the terminal. Lines are edited by the terminal itself, so that it needs no reset if a question is
/// withdrawn.
#[derive(Debug, Default)]
pub(crate) struct Keyboard {
    /// The line that is being read. A question that was withdrawn leaves it to the next one.
    reading: Mutex<Option<oneshot::Receiver<io::Result<Option<String>>>>>,
}

impl Keyboard {
    /// Whether questions can be asked: stdin and stderr are terminals.
    pub(crate) fn is_available() -> bool {
        stdin().is_terminal() && stderr().is_terminal()
    }

    /// Discards input from before a question.
    pub(crate) fn discard_input(&self) {
        // If the terminal is gone, reading fails as well.
        let _ = tcflush(stdin(), QueueSelector::IFlush);
    }

    /// The next line, without its end; `None` for Ctrl-D.
    ///
    /// # Cancel safety
    /// The next call returns the line.
    ///
    /// # Errors
    /// When the terminal cannot be read.
    pub(crate) async fn line(&self) -> io::Result<Option<String>> {
        let mut reading = self.reading.lock().await;
        let receiver = reading.get_or_insert_with(|| {
            let (sender, receiver) = oneshot::channel();
            // It may outlive the question: only the end of the process interrupts it.
            thread::spawn(move || sender.send(read()));
            receiver
        });
        let line = receiver.await;
        *reading = None;
        line.unwrap_or_else(|_| Err(io::ErrorKind::BrokenPipe.into()))
    }
}

fn read() -> io::Result<Option<String>> {
    /// The maximum number of bytes. Terminals accept fewer.
    const MAX_LINE: u64 = 64 << 10;
    let mut line = Vec::new();
    stdin().lock().take(MAX_LINE).read_until(b'\n', &mut line)?;
    if line.is_empty() {
        return Ok(None);
    }
    let line = String::from_utf8_lossy(&line);
    Ok(Some(line.trim_end_matches(['\n', '\r']).to_owned()))
}
