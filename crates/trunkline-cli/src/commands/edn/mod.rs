//! `trunkline edn`.

mod arguments;
mod conversion;
mod end;
mod failure;
mod input;

use std::io::{BufWriter, ErrorKind, Read, Write, stdin, stdout};
use std::process::ExitCode;

pub(crate) use self::arguments::Arguments;
use self::conversion::Conversion;
use self::end::End;
use self::failure::Failure;
use self::input::Input;
use crate::terminal::output;

/// Converts the documents on stdin, until its end or the first that is wrong.
pub(crate) fn run(arguments: &Arguments) -> ExitCode {
    match convert(arguments) {
        Ok(()) => ExitCode::SUCCESS,
        // Whoever reads them has enough.
        Err(Failure::Output(error)) if error.kind() == ErrorKind::BrokenPipe => ExitCode::SUCCESS,
        Err(failure) => {
            output::complain(&failure.text());
            failure.exit_code()
        }
    }
}

fn convert(arguments: &Arguments) -> Result<(), Failure> {
    let conversion = Conversion::of(arguments).map_err(Failure::Usage)?;
    let mut input = Input::new(stdin().lock(), End::of(arguments.from), arguments.max_bytes);
    let mut out = BufWriter::new(stdout().lock());
    let converted = Stream { conversion, written: 0 }.convert(&mut input, &mut out);
    // What came before an error was converted.
    out.flush().map_err(Failure::Output)?;
    converted
}

struct Stream {
    conversion: Conversion,
    /// How many documents were converted and written.
    written: usize,
}

impl Stream {
    fn convert(
        &mut self,
        input: &mut Input<impl Read>,
        out: &mut impl Write,
    ) -> Result<(), Failure> {
        loop {
            let is_complete = input.find_end();
            input.check_size().map_err(|wrong| input.failure(self.written + 1, wrong))?;
            if is_complete {
                self.convert_pending(input, out)?;
                continue;
            }
            // Whoever writes the next document may wait for what became of this one.
            out.flush().map_err(Failure::Output)?;
            if !input.fill().map_err(Failure::Input)? {
                return self.convert_pending(input, out);
            }
        }
    }

    /// Converts what was read and not yet taken, unless more has to follow.
    fn convert_pending(
        &mut self,
        input: &mut Input<impl Read>,
        out: &mut impl Write,
    ) -> Result<(), Failure> {
        let text = input.pending().map_err(|wrong| input.failure(self.written + 1, wrong))?;
        let mut taken = 0;
        for document in self.conversion.documents(text) {
            match document {
                Ok(document) => {
                    writeln!(out, "{}", document.text).map_err(Failure::Output)?;
                    self.written += 1;
                    taken = document.end;
                }
                Err(wrong) if wrong.is_incomplete && !input.has_ended() => {
                    input.take(taken);
                    return Ok(());
                }
                Err(wrong) => return Err(input.failure(self.written + 1, wrong)),
            }
        }
        input.take_all();
        Ok(())
    }
}

#[cfg(test)]
mod tests;
