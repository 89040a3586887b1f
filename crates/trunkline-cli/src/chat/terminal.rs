use std::io::{Write, stdin, stdout};

use rustix::termios::{OptionalActions, Termios, tcgetattr, tcsetattr};

/// How the terminal was set when the chat began. Who ends while a line is edited has to set it back.
pub(super) struct Terminal(Option<Termios>);

impl Terminal {
    pub(super) fn of_stdin() -> Self {
        Self(tcgetattr(stdin()).ok())
    }

    pub(super) fn restore(&self) {
        /// What is pasted is not marked as that any more.
        const NO_MARKS: &[u8] = b"\x1b[?2004l\r\n";
        if let Some(settings) = &self.0 {
            // If it is gone, nobody misses it.
            let _ = tcsetattr(stdin(), OptionalActions::Now, settings);
            drop(stdout().write_all(NO_MARKS));
        }
    }
}
