//! `trunkline backup`.

use std::path::PathBuf;
use std::process::ExitCode;

use clap::Args;
use trunkline_sql::sqlite;

use super::Source;
use super::progress::Progress;
use crate::config::Location;
use crate::terminal::output;

/// The arguments of `backup`.
#[derive(Args)]
pub(crate) struct Arguments {
    #[command(flatten)]
    source: Source,
    /// File to write; an existing one is replaced when the copy is complete
    file: PathBuf,
}

pub(crate) fn run(arguments: &Arguments) -> ExitCode {
    match backup(arguments) {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            output::error(&error);
            ExitCode::FAILURE
        }
    }
}

fn backup(arguments: &Arguments) -> anyhow::Result<()> {
    match arguments.source.location() {
        Location::File(path) => {
            let progress = Progress::new();
            let copied = sqlite::backup(path, &arguments.file, |pages, all| {
                progress.set_share(|| format!("{pages}/{all} pages"), pages, all);
            });
            progress.clear();
            let copied = copied?;
            output::message(&format!(
                "copied {} bytes in {:.1} s\n",
                copied.bytes,
                progress.seconds()
            ));
            for (table, reason) in &copied.unchecked {
                output::message(&format!("table {table:?} was copied but not checked: {reason}\n"));
            }
            Ok(())
        }
        #[cfg(feature = "postgres")]
        Location::Postgres(url) => anyhow::bail!(
            "cannot copy {url}: `trunkline backup` is for SQLite; use pg_dump: pg_dump --format=custom \
             --file={} DATABASE",
            arguments.file.display()
        ),
    }
}
