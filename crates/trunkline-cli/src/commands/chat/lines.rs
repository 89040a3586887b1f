use std::io::{BufRead, Read, stdin};

use crate::terminal::Failure;

/// An input of the user.
#[derive(Debug, PartialEq, Eq)]
pub(super) enum Typed {
    Line(String),
    /// Ctrl-C; whether there was nothing on the line.
    Interrupted {
        was_empty: bool,
    },
    End,
}

/// The lines of stdin, where that is no terminal.
pub(super) struct Lines;

/// The most bytes of a line. Servers take less.
const LONGEST: u64 = 1 << 20;

impl Lines {
    pub(super) fn next(&mut self) -> Result<Typed, Failure> {
        let mut line = Vec::new();
        let mut stdin = stdin().lock().take(LONGEST);
        let read = stdin.read_until(b'\n', &mut line);
        read.map_err(|error| Failure::Usage(format!("stdin cannot be read: {error}")))?;
        if line.is_empty() {
            return Ok(Typed::End);
        }
        if line.len() as u64 == LONGEST && !line.ends_with(b"\n") {
            return Err(Failure::Usage(format!("a line has more than {LONGEST} bytes")));
        }
        let line = String::from_utf8(line);
        line.map(Typed::Line).map_err(|_| Failure::Usage("a line is not UTF-8".to_owned()))
    }
}
