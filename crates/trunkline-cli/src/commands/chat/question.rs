//! A question that can be withdrawn.

use std::io::{self, PipeReader, PipeWriter, pipe, stdin};

use rustix::event::{PollFd, PollFlags, poll};
use rustix::io::{Errno, read};

use super::terminal::forget_typed;
use crate::terminal::output;

/// What is asked before a call that changes something.
pub(super) const QUESTION: &str = "make this call? [y/N] ";

/// The side of who answers.
pub(super) struct Question(PipeReader);

/// The most bytes of an answer. What is longer is no yes.
const LONGEST: usize = 4096;

/// A question, and what withdraws it when it is dropped.
pub(super) fn question() -> io::Result<(PipeWriter, Question)> {
    let (reader, writer) = pipe()?;
    Ok((writer, Question(reader)))
}

impl Question {
    /// Asks, and reads a line as the terminal edits it. What was typed before was meant for something else: it
    /// is thrown away.
    pub(super) fn is_affirmed(&self) -> io::Result<bool> {
        forget_typed();
        output::data(QUESTION)?;
        let mut line = Vec::new();
        while self.is_answered()? {
            let mut bytes = [0; LONGEST];
            match read(stdin(), &mut bytes) {
                Ok(0) => return Ok(false),
                Ok(count) => line.extend_from_slice(&bytes[..count]),
                Err(Errno::INTR) => continue,
                Err(error) => return Err(error.into()),
            }
            if line.ends_with(b"\n") || line.len() > LONGEST {
                return Ok(is_yes(&line));
            }
        }
        Ok(false)
    }

    /// Waits for a piece of the answer; false if it is not waited for any more.
    fn is_answered(&self) -> io::Result<bool> {
        let stdin = stdin();
        loop {
            let mut watched =
                [PollFd::new(&self.0, PollFlags::IN), PollFd::new(&stdin, PollFlags::IN)];
            match poll(&mut watched, None) {
                Ok(_) => return Ok(watched[0].revents().is_empty()),
                Err(Errno::INTR) => {}
                Err(error) => return Err(error.into()),
            }
        }
    }
}

fn is_yes(line: &[u8]) -> bool {
    [&b"y"[..], b"yes"].iter().any(|yes| line.trim_ascii().eq_ignore_ascii_case(yes))
}
