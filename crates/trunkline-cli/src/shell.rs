//! `trunkline completions` and `trunkline man`: files for shells and for `man`.

use std::fs;
use std::path::PathBuf;
use std::process::ExitCode;

use anyhow::Context;
use clap::Args;
use clap_complete::Shell;

use crate::terminal::output;

/// The arguments of `completions`.
#[derive(Args)]
pub(crate) struct Completions {
    /// Shell that the completions are for
    #[arg(value_enum)]
    shell: Shell,
}

/// The arguments of `man`.
#[derive(Args)]
pub(crate) struct Man {
    /// Directory of the man pages; it is created if missing
    directory: PathBuf,
}

/// Prints the completions of a command.
pub(crate) fn print_completions(arguments: &Completions, mut command: clap::Command) -> ExitCode {
    let mut script = Vec::new();
    clap_complete::generate(arguments.shell, &mut command, "trunkline", &mut script);
    match output::data(&String::from_utf8_lossy(&script)) {
        Ok(()) => ExitCode::SUCCESS,
        // A reader such as `head` may close the pipe.
        Err(_) => ExitCode::FAILURE,
    }
}

/// Writes the man pages of a command and of its subcommands.
pub(crate) fn write_man_pages(arguments: &Man, command: clap::Command) -> anyhow::Result<()> {
    let directory = &arguments.directory;
    fs::create_dir_all(directory)
        .and_then(|()| clap_mangen::generate_to(command, directory))
        .with_context(|| format!("cannot write man pages to {}", directory.display()))
}
