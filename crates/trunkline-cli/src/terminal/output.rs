//! Text on stdout, text and logs on stderr. Write errors are ignored, except for results.

use std::env;
use std::io::{self, Write, stderr, stdout};

use anstream::stream::RawStream;
use anstream::{AutoStream, ColorChoice};
use anstyle::{AnsiColor, Style};

use super::text;

/// Whether the terminal has no escape sequences.
pub(crate) fn is_dumb() -> bool {
    env::var_os("TERM").is_none_or(|term| term == "dumb")
}

/// Whether text for this stream may have colours: it is a terminal, and neither `NO_COLOR` nor `CLICOLOR=0` is set.
pub(crate) fn has_colours(stream: &impl RawStream) -> bool {
    // Where the variable CI is set, anstream uses colours on all terminals.
    let is_excluded = stream.is_terminal() && is_dumb();
    !is_excluded && AutoStream::choice(stream) != ColorChoice::Never
}

/// Writes a text for the operator to stdout, without secrets in URLs and without control characters.
pub(crate) fn note(text: &str) {
    drop(writeln!(stdout(), "{}", text::lines(&text::redacted(text))));
}

/// Writes a result to stdout.
///
/// # Errors
///
/// When stdout cannot be written.
pub(crate) fn data(text: &str) -> io::Result<()> {
    let mut stdout = stdout().lock();
    stdout.write_all(text.as_bytes())?;
    stdout.flush()
}

/// Writes a message to stderr.
pub(crate) fn message(lines: &str) {
    drop(stderr().write_all(lines.as_bytes()));
}

/// Writes an error message to stderr, without control characters, and with its first line in red on a terminal.
pub(crate) fn failure(lines: &str) {
    const FAILURE: Style = AnsiColor::Red.on_default();
    let lines = &*text::lines(lines);
    match lines.split_once('\n').filter(|_| has_colours(&stderr())) {
        Some((first, rest)) => message(&format!("{FAILURE}{first}{FAILURE:#}\n{rest}")),
        None => message(lines),
    }
}

/// Writes an error and its causes to stderr.
pub(crate) fn error(error: &anyhow::Error) {
    failure(&causes(error));
}

/// An error and its causes, one per line, without secrets in URLs.
pub(crate) fn causes(error: &anyhow::Error) -> String {
    let mut text = format!("trunkline: {error}\n");
    for cause in error.chain().skip(1) {
        text += &format!("  because: {cause}\n");
    }
    text::redacted(&text).into_owned()
}
