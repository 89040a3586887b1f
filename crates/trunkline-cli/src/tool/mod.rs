//! `trunkline tool`: what command tools are made of.

mod calculator;

use std::ffi::OsString;
use std::process::ExitCode;

use clap::Subcommand;

use crate::output;

/// The exit code of shells for a command that cannot be executed.
const CANNOT_EXECUTE: u8 = 126;

#[derive(clap::Args)]
pub(crate) struct Arguments {
    #[command(subcommand)]
    tool: Tool,
}

#[derive(Subcommand)]
enum Tool {
    /// Computes an expression exactly: {"expression": "1/3 + 0.5"} on stdin.
    ///
    /// It may have numbers, + - * / % ^ (or **) and parentheses. Numbers are decimal, of any length, with
    /// an exponent or without (1.5e-3). Powers bind strongest, to the right (2^3^2 is 2^9), then signs
    /// (-2^2 is -4), then * / %, then + -. % is the rest of a division, with the sign of the divisor.
    /// Exponents of powers are whole numbers.
    ///
    /// The result is {"result": "5/6 as a decimal", "exact": false, "fraction": "5/6"}: text, since numbers
    /// of JSON are often read as floats. A decimal that does not end is rounded to 50 digits, or to a whole number
    /// if that has more; only then there is a fraction, and it is exact.
    Calculator,
    /// Runs a command under limits, as the launcher of command tools.
    #[command(hide = true)]
    Run {
        #[arg(required = true, trailing_var_arg = true, allow_hyphen_values = true)]
        arguments: Vec<OsString>,
    },
}

pub(crate) fn run(arguments: &Arguments) -> ExitCode {
    match &arguments.tool {
        Tool::Calculator => calculator::run(),
        Tool::Run { arguments } => trunkline_tools::launch(arguments.iter().cloned())
            .unwrap_or_else(|error| {
                output::error(&error.into());
                ExitCode::from(CANNOT_EXECUTE)
            }),
    }
}
