//! The `trunkline` binary.

mod arguments;
mod database;
mod logging;
mod output;
mod serve;

use std::process::ExitCode;

use arguments::Command;

fn main() -> ExitCode {
    let command = arguments::parse();
    logging::start();
    let done = match command {
        Command::Serve(arguments) => serve::run(&arguments),
    };
    match done {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            output::error(&error);
            ExitCode::FAILURE
        }
    }
}
