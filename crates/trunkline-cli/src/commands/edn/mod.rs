//! `trunkline edn`.

mod arguments;
mod conversion;
mod failure;
mod stream;

use std::io::{BufReader, BufWriter, ErrorKind, Write, stdin, stdout};
use std::process::ExitCode;

use rustix::event::{PollFd, PollFlags, Timespec, poll};

pub(crate) use self::arguments::Arguments;
use self::conversion::Conversion;
use self::failure::Failure;
use self::stream::Stream;
use crate::terminal::output;

/// The maximum number of bytes that are read at once.
const PIECE: usize = 64 << 10;

/// Converts the documents of stdin, up to its end or the first invalid document.
pub(crate) fn run(arguments: &Arguments) -> ExitCode {
    match convert(arguments) {
        Ok(()) => ExitCode::SUCCESS,
        // As in `trunkline edn … | head -1`.
        Err(Failure::Output(error)) if error.kind() == ErrorKind::BrokenPipe => ExitCode::SUCCESS,
        Err(failure) => {
            output::message(&failure.text());
            failure.exit_code()
        }
    }
}

fn convert(arguments: &Arguments) -> Result<(), Failure> {
    let conversion = Conversion::new(arguments).map_err(Failure::Usage)?;
    let input = BufReader::with_capacity(PIECE, stdin().lock());
    let mut out = BufWriter::new(stdout().lock());
    let converted = Stream::new(input, conversion, arguments.max_bytes).convert(&mut out, is_idle);
    // The documents before an error were converted.
    out.flush().map_err(Failure::Output)?;
    converted
}

/// Whether nothing arrives on stdin for a moment.
fn is_idle() -> bool {
    const MOMENT: Timespec = Timespec { tv_sec: 0, tv_nsec: 20_000_000 };
    let stdin = stdin();
    poll(&mut [PollFd::new(&stdin, PollFlags::IN)], Some(&MOMENT)).is_ok_and(|ready| ready == 0)
}

#[cfg(test)]
mod tests;
