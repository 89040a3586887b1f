//! Text on stdout, text and logs on stderr. A failure to write it is ignored, except for data.

use std::env;
use std::io::{self, Write, stderr, stdout};

use anstream::stream::RawStream;
use anstream::{AutoStream, ColorChoice};
use tracing_subscriber::EnvFilter;

/// Whether the terminal has no escape sequences.
pub(crate) fn is_dumb() -> bool {
    env::var_os("TERM").is_none_or(|term| term == "dumb")
}

/// Whether text for this stream may have colours, by what it is and by `NO_COLOR` and `CLICOLOR`.
pub(crate) fn has_colours(stream: &impl RawStream) -> bool {
    // Where the variable CI is set, anstream colours the text of all terminals.
    let is_excluded = stream.is_terminal() && is_dumb();
    !is_excluded && AutoStream::choice(stream) != ColorChoice::Never
}

pub(crate) fn note(text: &str) {
    drop(writeln!(stdout(), "{text}"));
}

/// Writes a result to stdout. Unlike notes, a failure is returned.
pub(crate) fn data(text: &str) -> io::Result<()> {
    let mut stdout = stdout().lock();
    stdout.write_all(text.as_bytes())?;
    stdout.flush()
}

/// Writes an error message to stderr.
pub(crate) fn complain(lines: &str) {
    drop(stderr().write_all(lines.as_bytes()));
}

/// An error and its causes, each on its line.
pub(crate) fn error(error: &anyhow::Error) {
    complain(&causes(error));
}

/// The same as text.
pub(crate) fn causes(error: &anyhow::Error) -> String {
    let mut text = format!("trunkline: {error}\n");
    for cause in error.chain().skip(1) {
        text += &format!("  because: {cause}\n");
    }
    text
}

/// Starts logs from INFO on; `RUST_LOG` overrides that.
pub(crate) fn start_logs() {
    let filter = EnvFilter::try_from_default_env().unwrap_or_else(|_| EnvFilter::new("info"));
    tracing_subscriber::fmt()
        .with_env_filter(filter)
        .with_ansi(has_colours(&stderr()))
        .with_writer(stderr)
        // It would complain of a stderr that takes nothing on stderr, and panic.
        .log_internal_errors(false)
        .init();
}
