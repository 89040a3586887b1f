//! The terminal of a person.

use std::env;
use std::io::{Write, stdin, stdout};

use rustix::termios::{
    LocalModes, OptionalActions, QueueSelector, Termios, tcflush, tcgetattr, tcsetattr,
};

/// How the terminal was set when the chat began. It is set back with this, also while a line is edited.
pub(super) struct Terminal(Option<Termios>);

/// What is typed meanwhile is not shown, and thrown away in the end.
pub(super) struct Deaf<'t>(Option<&'t Termios>);

/// Whether it takes text only, and no escape sequences: those for which lines are not edited.
pub(super) fn is_plain() -> bool {
    const PLAIN: [&str; 3] = ["dumb", "cons25", "emacs"];
    env::var("TERM").is_ok_and(|term| PLAIN.iter().any(|plain| term.eq_ignore_ascii_case(plain)))
}

/// Throws away what was typed and not read.
pub(super) fn forget_typed() {
    // If the terminal is gone, nobody has typed.
    let _ = tcflush(stdin(), QueueSelector::IFlush);
}

impl Terminal {
    pub(super) fn of_stdin() -> Self {
        Self(tcgetattr(stdin()).ok())
    }

    /// Keys are not for what runs now, but for Ctrl-C and the like.
    pub(super) fn deafen(&self) -> Deaf<'_> {
        if let Some(settings) = &self.0 {
            let mut silent = settings.clone();
            silent.local_modes.remove(LocalModes::ECHO | LocalModes::ECHONL);
            set(&silent);
        }
        Deaf(self.0.as_ref())
    }
}

impl Drop for Deaf<'_> {
    fn drop(&mut self) {
        if let Some(settings) = self.0 {
            forget_typed();
            set(settings);
        }
    }
}

impl Drop for Terminal {
    fn drop(&mut self) {
        /// What is pasted is not marked as that any more.
        const NO_MARKS: &[u8] = b"\x1b[?2004l\r\n";
        let Some(settings) = &self.0 else { return };
        let is_edited =
            tcgetattr(stdin()).is_ok_and(|now| !now.local_modes.contains(LocalModes::ICANON));
        set(settings);
        if is_edited {
            drop(stdout().write_all(NO_MARKS));
        }
    }
}

fn set(settings: &Termios) {
    // If it is gone, nobody misses it.
    let _ = tcsetattr(stdin(), OptionalActions::Now, settings);
}
