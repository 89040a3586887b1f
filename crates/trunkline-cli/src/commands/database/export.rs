//! `trunkline export`.

use std::fs::{self, File};
use std::io::{self, BufWriter, IsTerminal, Write};
use std::path::{Path, PathBuf};
use std::process::ExitCode;

use anyhow::{Context, bail};
use clap::Args;
use tempfile::NamedTempFile;
use tokio::runtime::Runtime;
use tokio::signal::unix::{SignalKind, signal};
use tokio::sync::mpsc::Receiver;
use trunkline_sql::sqlite::draft_of;
use trunkline_sql::transfer::{ExportFormat, ExportRows, ExportSender, ExportText, Exported};

use super::file_format::{FileFormat, delimiter};
use super::progress::Progress;
use super::{Access, Source, runtime};
use crate::terminal::{lines, output};

/// The arguments of `export`.
#[derive(Args)]
pub(crate) struct Arguments {
    #[command(flatten)]
    source: Source,
    /// Table or view
    #[arg(long, value_name = "TABLE", required_unless_present = "sql")]
    table: Option<String>,
    /// Reading SQL statement
    #[arg(long, value_name = "SQL", conflicts_with = "table")]
    sql: Option<String>,
    /// csv, ndjson or json [default: by the name of the file, or csv]
    #[arg(long, value_name = "FORMAT")]
    format: Option<ExportFormat>,
    /// Separator of the fields of CSV [default: a tab for a file .tsv, else a comma]
    #[arg(long, value_name = "CHARACTER", value_parser = delimiter)]
    delimiter: Option<u8>,
    /// Prevent formulas of spreadsheets in CSV
    ///
    /// Texts that begin with =, +, - or @, or with a tab or a line break, get an apostrophe. A spreadsheet computes
    /// others when it opens the file: a cell could start programs or send other cells to a server.
    #[arg(long)]
    spreadsheet_safe: bool,
    /// File to write [default: stdout]
    ///
    /// An existing file is replaced when the export is complete. Until then, the rows are in a file FILE.*.part.
    #[arg(long, short, value_name = "FILE")]
    output: Option<PathBuf>,
}

pub(crate) fn run(arguments: &Arguments) -> ExitCode {
    match export(arguments) {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            output::error(&error);
            ExitCode::FAILURE
        }
    }
}

fn export(arguments: &Arguments) -> anyhow::Result<()> {
    let named = arguments.output.as_deref().and_then(FileFormat::of);
    let format = arguments.format.or(named.map(|named| named.format));
    let format = format.unwrap_or(ExportFormat::Csv);
    let mut text = match arguments.spreadsheet_safe {
        true => ExportText::spreadsheet_safe(format).context("invalid --spreadsheet-safe")?,
        false => format.into(),
    };
    let delimiter = arguments.delimiter.or(named.and_then(|named| named.delimiter));
    text.delimiter = delimiter.unwrap_or(text.delimiter);
    let request = match (&arguments.table, &arguments.sql) {
        (Some(table), _) => ExportRows::table(table, text),
        (None, Some(sql)) => ExportRows::query(sql, None, text),
        (None, None) => bail!("--table or --sql is required"),
    };
    let runtime = runtime()?;
    let database = runtime.block_on(arguments.source.open(Access::Read))?;
    let progress = Progress::new();
    let target = Target::open(arguments.output.as_deref())?;
    target.remove_if_interrupted(&runtime).context("cannot wait for signals")?;
    let (sender, parts) = ExportSender::channel();
    let exporting = {
        let database = database.clone();
        runtime.spawn(async move { database.export_rows(request, sender).await })
    };
    let written = target.write(parts, &progress);
    let exported = runtime.block_on(exporting);
    progress.clear();
    // Without an error of the export, the export ended because the text could not be written.
    let exported = match (written, exported?) {
        (Ok(target), Ok(exported)) => target.finish().map(|()| exported)?,
        (Err(error), _) => return Err(error),
        (Ok(_), Err(error)) => return Err(error.into()),
    };
    if arguments.output.is_some() {
        output::message(&summary(&exported, progress.seconds()));
    }
    database.close(std::time::Duration::from_secs(5));
    Ok(())
}

fn summary(exported: &Exported, seconds: f64) -> String {
    format!("exported {} rows, {} bytes, in {seconds:.1} s\n", exported.rows, exported.bytes)
}

/// The file or the stream that is written.
enum Target {
    Stdout(io::Stdout),
    /// A terminal, on which control characters are escaped.
    Terminal(io::Stdout),
    /// Such as a named pipe.
    Special(File),
    File {
        file: BufWriter<NamedTempFile>,
        path: PathBuf,
    },
}

impl Target {
    fn open(path: Option<&Path>) -> anyhow::Result<Self> {
        let Some(path) = path else {
            let stdout = io::stdout();
            return Ok(match stdout.is_terminal() {
                true => Self::Terminal(stdout),
                false => Self::Stdout(stdout),
            });
        };
        if fs::metadata(path).is_ok_and(|metadata| !metadata.is_file()) {
            let file = File::options().write(true).open(path);
            let file = file.with_context(|| format!("cannot open {}", path.display()))?;
            return Ok(Self::Special(file));
        }
        let file = draft_of(path).with_context(|| format!("cannot create {}", path.display()))?;
        Ok(Self::File { file: BufWriter::new(file), path: path.to_owned() })
    }

    /// Removes an incomplete file if the process gets SIGINT or SIGTERM, and ends the process.
    fn remove_if_interrupted(&self, runtime: &Runtime) -> anyhow::Result<()> {
        let Self::File { file, .. } = self else { return Ok(()) };
        let signals = [SignalKind::interrupt(), SignalKind::terminate()];
        for kind in signals {
            let path = file.get_ref().path().to_owned();
            let mut received = runtime.block_on(async { signal(kind) })?;
            runtime.spawn(async move {
                received.recv().await;
                drop(fs::remove_file(path));
                output::message("\ntrunkline: interrupted\n");
                std::process::exit(128 + kind.as_raw_value());
            });
        }
        Ok(())
    }

    /// Writes the parts of an export.
    fn write(
        mut self,
        mut parts: Receiver<bytes::Bytes>,
        progress: &Progress,
    ) -> anyhow::Result<Self> {
        let mut bytes = 0;
        while let Some(part) = parts.blocking_recv() {
            match &mut self {
                Self::Stdout(stdout) => stdout.write_all(&part),
                Self::Terminal(stdout) => {
                    stdout.write_all(lines(&String::from_utf8_lossy(&part)).as_bytes())
                }
                Self::Special(file) => file.write_all(&part),
                Self::File { file, .. } => file.write_all(&part),
            }
            .context("cannot write the export")?;
            bytes += part.len() as u64;
            // On a terminal, the rows show the progress.
            if !matches!(self, Self::Terminal(_)) {
                progress.set(|| format!("{:.1} MB", bytes as f64 / 1e6), bytes);
            }
        }
        Ok(self)
    }

    fn finish(self) -> anyhow::Result<()> {
        match self {
            Self::Stdout(mut stdout) | Self::Terminal(mut stdout) => {
                stdout.flush().context("cannot write the export")
            }
            Self::Special(_) => Ok(()),
            Self::File { file, path } => {
                let file = file.into_inner().map_err(io::IntoInnerError::into_error);
                let file = file.context("cannot write the export")?;
                file.as_file().sync_all().context("cannot write the export")?;
                let replaced = file.persist(&path).map_err(|error| error.error);
                replaced.with_context(|| format!("cannot replace {}", path.display())).map(drop)
            }
        }
    }
}
