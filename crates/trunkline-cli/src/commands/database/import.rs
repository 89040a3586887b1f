//! `trunkline import`.

use std::collections::{HashMap, HashSet};
use std::fs::{self, File};
use std::io::{BufRead, BufReader, stdin};
use std::path::{Path, PathBuf};
use std::process::ExitCode;

use anyhow::{Context, bail};
use clap::{Args, ValueEnum};
use serde_json::json;
use tokio::runtime::Runtime;
use trunkline_sql::change::OnConflict;
use trunkline_sql::schema::{ColumnDescription, Generated};
use trunkline_sql::transfer::{
    Checkpoint, CheckpointRequest, ExportFormat, ImportBatch, RejectedRecord,
};
use trunkline_sql::{Database, DescribeTable, Error};

use super::create::NewTable;
use super::file_format::{FileFormat, delimiter};
use super::progress::Progress;
use super::records::{Encoding, FileOptions, Item, Position, RecordReader};
use super::rejects::Rejects;
use super::resume::{Identity, ImportState, Phase, StateFile};
use super::{Access, Source, runtime};
use crate::terminal::output;

/// The arguments of `import`.
#[derive(Args)]
pub(crate) struct Arguments {
    #[command(flatten)]
    source: Source,
    /// Table
    #[arg(long, value_name = "TABLE")]
    table: String,
    /// File to read; - is stdin, which cannot be resumed
    file: PathBuf,
    /// csv, ndjson or json [default: by the name of the file]
    #[arg(long, value_name = "FORMAT")]
    format: Option<ExportFormat>,
    /// Records that conflict with rows: reject, ignore or replace them
    #[arg(long, value_name = "ACTION", value_enum, hide_possible_values = true, default_value_t = Conflict::Reject)]
    on_conflict: Conflict,
    /// Separator of the fields of CSV [default: that of the file]
    ///
    /// A first line sep=; is read as in spreadsheets. Otherwise, it is a tab for a file .tsv, and a comma for others,
    /// unless their header has no comma, but a semicolon, a tab or a vertical bar.
    #[arg(long, value_name = "CHARACTER", value_parser = delimiter)]
    delimiter: Option<u8>,
    /// Encoding of the file: utf-8 or windows-1252
    #[arg(long, value_name = "ENCODING", value_enum, hide_possible_values = true, default_value_t = Encoding::Utf8)]
    encoding: Encoding,
    /// Text of NULL in CSV, unless it is in quotes [default: an empty field]
    #[arg(long, value_name = "TEXT", default_value = "", hide_default_value = true)]
    null: String,
    /// File of rejected records [default: FILE.rejects, or stdin.rejects]
    #[arg(long, value_name = "FILE")]
    rejects: Option<PathBuf>,
    /// Create the table, with types from all records of the file
    ///
    /// The file is read twice. A table that exists is an error.
    #[arg(long)]
    create: bool,
    /// Print the statement that creates the table, and change nothing
    #[arg(long, requires = "create")]
    dry_run: bool,
    /// Discard the state of an interrupted import, and begin again
    ///
    /// The records that it has inserted stay in the table.
    #[arg(long)]
    restart: bool,
}

/// The resolution of conflicts.
#[derive(Clone, Copy, Debug, ValueEnum)]
enum Conflict {
    Reject,
    Ignore,
    Replace,
}

/// Maximum number of records and bytes of a transaction.
const MAX_RECORDS: usize = 1_000;
const MAX_BYTES: usize = 4 << 20;

/// The exit code if records were rejected.
const REJECTED: u8 = 3;

pub(crate) fn run(arguments: &Arguments) -> ExitCode {
    match import(arguments) {
        Ok(0) => ExitCode::SUCCESS,
        Ok(_) => ExitCode::from(REJECTED),
        Err(error) => {
            output::error(&error);
            ExitCode::FAILURE
        }
    }
}

/// Imports the file, and returns the number of rejected records.
fn import(arguments: &Arguments) -> anyhow::Result<u64> {
    let is_stdin = arguments.file == Path::new("-");
    let named = FileFormat::of(&arguments.file);
    let format = arguments.format.or(named.map(|named| named.format));
    let format = format.context(
        "the name of the file does not end in .csv, .tsv, .ndjson, .jsonl or .json; give --format",
    )?;
    let options = FileOptions {
        delimiter: arguments.delimiter.or(named.and_then(|named| named.delimiter)),
        null: arguments.null.clone(),
        encoding: arguments.encoding,
    };
    let runtime = runtime()?;
    let database = runtime.block_on(arguments.source.open(Access::Write))?;
    let rejects = match &arguments.rejects {
        Some(path) => Rejects::at(path.clone()),
        None if is_stdin => Rejects::of_stdin()?,
        None => Rejects::next_to_import(with_suffix(&arguments.file, ".rejects")),
    };
    let batch = ImportBatch {
        table_name: arguments.table.clone(),
        records: Vec::new(),
        on_conflict: match arguments.on_conflict {
            Conflict::Reject => OnConflict::Abort,
            Conflict::Ignore => OnConflict::Ignore,
            Conflict::Replace => OnConflict::Replace,
        },
        are_texts: format == ExportFormat::Csv,
        checkpoint: None,
    };
    let progress = Progress::new();
    let mut import =
        Import { runtime, database, batch, rejects, counts: Counts::default(), id: None };
    if arguments.create {
        if is_stdin {
            bail!("--create reads the file twice; write stdin to a file first");
        }
        import.create_table(arguments, format, &options, &progress)?;
        if arguments.dry_run {
            return Ok(0);
        }
    }
    let finished = if is_stdin {
        let mut reader = RecordReader::new(BufReader::new(stdin()), format, options)?;
        import.check_header(&reader)?;
        import.rejects.begin(0)?;
        import.run(&mut reader, &progress, None)
    } else {
        import.run_file(arguments, format, options, &progress)
    };
    progress.clear();
    finished?;
    let Counts { inserted, rejected } = import.counts;
    let mut summary = format!(
        "inserted {inserted} rows into {} in {:.1} s\n",
        arguments.table,
        progress.seconds()
    );
    if rejected > 0 {
        summary.push_str(&format!(
            "rejected {rejected} records; their lines and reasons are in {}\n",
            import.rejects.path().display()
        ));
    }
    output::message(&summary);
    import.database.close(std::time::Duration::from_secs(10));
    Ok(rejected)
}

fn open(path: &Path) -> anyhow::Result<File> {
    let cannot_open = || format!("cannot open {}", path.display());
    // A device may have no end, and a pipe cannot be read twice.
    if !fs::metadata(path).with_context(cannot_open)?.is_file() {
        bail!("{} is not a regular file; read it from stdin, as the file -", path.display());
    }
    File::open(path).with_context(cannot_open)
}

fn with_suffix(path: &Path, suffix: &str) -> PathBuf {
    let mut name = path.as_os_str().to_owned();
    name.push(suffix);
    PathBuf::from(name)
}

struct Import {
    runtime: Runtime,
    database: Database,
    /// Without records.
    batch: ImportBatch,
    rejects: Rejects,
    counts: Counts,
    /// The id of an import that can be resumed.
    id: Option<String>,
}

#[derive(Clone, Copy, Debug, Default)]
struct Counts {
    inserted: u64,
    rejected: u64,
}

impl Import {
    /// Creates the table for a file, unless an interrupted import of it continues.
    fn create_table(
        &self,
        arguments: &Arguments,
        format: ExportFormat,
        options: &FileOptions,
        progress: &Progress,
    ) -> anyhow::Result<()> {
        let state = fs::metadata(with_suffix(&arguments.file, ".import"));
        if !arguments.dry_run && !arguments.restart && state.is_ok_and(|state| state.len() > 0) {
            return Ok(());
        }
        let name = &arguments.table;
        let request = DescribeTable { table_name: name.clone(), ..DescribeTable::default() };
        let exists = || {
            format!(
                "{name} exists; import without --create, give another --table, or drop it first"
            )
        };
        match self.runtime.block_on(self.database.describe_table(request)) {
            Ok(_) => bail!(exists()),
            Err(Error::UnknownTable { .. }) => {}
            Err(error) => return Err(error.into()),
        }
        let file = open(&arguments.file)?;
        let size = file.metadata().map_or(0, |file| file.len());
        let file = BufReader::with_capacity(1 << 16, file);
        let mut reader = RecordReader::new(file, format, options.clone())?;
        let report = |offset| {
            progress.set_share(|| "reading the types of the columns".to_owned(), offset, size);
        };
        let table = NewTable::of(name, &mut reader, format == ExportFormat::Csv, report);
        progress.clear();
        let table = table?;
        if arguments.dry_run {
            output::data(&table.sql(&self.database)).context("cannot write to stdout")?;
            let NewTable { records, invalid, .. } = table;
            output::message(&format!("{records} records, of which {invalid} cannot be read\n"));
            return Ok(());
        }
        let request = table.request(&self.database);
        match self.runtime.block_on(self.database.create_table(request)) {
            Ok(_) => output::message(&format!("created the table {name}\n")),
            Err(Error::TableExists { .. }) => bail!(exists()),
            Err(error) => return Err(anyhow::Error::new(error).context("cannot create the table")),
        }
        Ok(())
    }

    /// Imports a file, from its beginning or from the place of an interrupted import.
    fn run_file(
        &mut self,
        arguments: &Arguments,
        format: ExportFormat,
        options: FileOptions,
        progress: &Progress,
    ) -> anyhow::Result<()> {
        let path = &arguments.file;
        let cannot_open = || format!("cannot open {}", path.display());
        let file = open(path)?;
        let identity = Identity::of(&file, arguments.source.location(), &arguments.table, progress)
            .with_context(|| format!("cannot read {}", path.display()))?;
        let mut reader =
            RecordReader::new(BufReader::with_capacity(1 << 16, file), format, options)?;
        self.check_header(&reader)?;
        let identity = identity.with_format(format, &reader);
        let completion = identity.completion_id(path).with_context(cannot_open)?;
        let state = StateFile::lock(with_suffix(path, ".import"))?;
        let state = if arguments.restart {
            let ids = state.id().into_iter().chain([completion.clone()]);
            for id in ids {
                self.checkpoint(CheckpointRequest::End { id })?;
            }
            state.begin(identity)?
        } else {
            state.resume(identity)?
        };
        let id = state.id().to_owned();
        let found = self.checkpoint(CheckpointRequest::Read { id: id.clone() })?;
        self.id = Some(id.clone());
        if let Some(checkpoint) = found {
            reader.resume(self.restore(&checkpoint)?)?;
        } else if let Some(complete) = self.completion(&completion)? {
            output::message("the import was complete already\n");
            self.counts.rejected = rejected_before(&complete)?;
            return self.forget(state, completion);
        } else if state.phase() == Phase::Running {
            bail!(
                "the database has no checkpoint of the interrupted import in {}; use the same server and search path, \
                 or import the file from its beginning with --restart",
                state.path().display()
            );
        } else {
            self.rejects.begin(0)?;
            let checkpoint = self.at(Position::default(), Vec::new())?;
            self.checkpoint(CheckpointRequest::Begin(checkpoint))?;
        }
        let state = state.enter(Phase::Running)?;
        self.run(&mut reader, progress, Some(state.size()))?;
        // The database always has a checkpoint or this record, until the state file is removed: without them, its
        // content is of another time.
        if self.completion(&completion)?.is_none() {
            let rejected = Vec::new();
            let counted = json!({ "rejected": self.counts.rejected });
            let complete = Checkpoint { id: completion.clone(), state: counted, rejected };
            self.checkpoint(CheckpointRequest::Begin(complete))?;
        }
        self.checkpoint(CheckpointRequest::End { id })?;
        self.forget(state, completion)
    }

    /// The record that the import is complete.
    fn completion(&self, id: &str) -> anyhow::Result<Option<Checkpoint>> {
        self.checkpoint(CheckpointRequest::Read { id: id.to_owned() })
    }

    /// Removes what identifies a complete import.
    fn forget(&self, state: ImportState, completion: String) -> anyhow::Result<()> {
        state.remove()?;
        self.checkpoint(CheckpointRequest::End { id: completion }).map(drop)
    }

    /// Checks the names of the columns of a CSV file, and reports what is assumed about it.
    fn check_header<R: BufRead>(&self, reader: &RecordReader<R>) -> anyhow::Result<()> {
        if let Some(notice) = reader.notice() {
            output::message(&format!("{notice}\n"));
        }
        let names = reader.header();
        let request =
            DescribeTable { table_name: self.batch.table_name.clone(), ..DescribeTable::default() };
        let table = self.runtime.block_on(self.database.describe_table(request))?;
        let exact: HashSet<&str> = table.columns.iter().map(|one| one.name.as_str()).collect();
        let mut known: HashMap<String, &ColumnDescription> = HashMap::new();
        known.extend(table.columns.iter().map(|one| (one.name.to_ascii_lowercase(), one)));
        let mut found = HashSet::new();
        let mut computed = Vec::new();
        for name in names {
            let shown = name.escape_debug();
            let Some(column) = known.get(&name.to_ascii_lowercase()) else {
                let columns: Vec<&str> =
                    table.columns.iter().map(|one| one.name.as_str()).collect();
                bail!(
                    "unknown column `{shown}` in the header of the CSV file; the columns of {} are {}",
                    table.name,
                    columns.join(", ")
                );
            };
            // Names that differ in case may be those of several columns in PostgreSQL.
            let column_name = if exact.contains(name.as_str()) { name } else { &column.name };
            if !found.insert(column_name) {
                bail!("duplicate column `{shown}` in the header of the CSV file; case is ignored");
            }
            if matches!(column.generated, Some(Generated::Virtual | Generated::Stored)) {
                computed.push(name.as_str());
            }
        }
        if !computed.is_empty() {
            let computed = computed.join(", ");
            output::message(&format!(
                "not imported, since the database computes them: {computed}\n"
            ));
        }
        Ok(())
    }

    /// Imports all records from the place of the reader.
    fn run<R: BufRead>(
        &mut self,
        reader: &mut RecordReader<R>,
        progress: &Progress,
        size: Option<u64>,
    ) -> anyhow::Result<()> {
        loop {
            let mut items = Vec::new();
            let mut bytes = 0;
            // An error of the file ends the import after the records before it.
            let mut end = None;
            while items.len() < MAX_RECORDS && bytes < MAX_BYTES {
                match reader.next() {
                    Ok(Some(item)) => items.push((item, reader.position())),
                    Ok(None) => {
                        end = Some(Ok(()));
                        break;
                    }
                    Err(error) => {
                        end = Some(Err(error));
                        break;
                    }
                }
                bytes += reader.text().len();
            }
            if !items.is_empty() {
                self.send(items)?;
            }
            let offset = reader.position().offset;
            let rows = || format!("{} rows", self.counts.inserted);
            match size {
                Some(size) => progress.set_share(rows, offset, size),
                None => progress.set(rows, offset),
            }
            if let Some(end) = end {
                return end;
            }
        }
    }

    /// Imports records in one transaction. If a constraint that is checked at its end fails, each in its own.
    fn send(&mut self, items: Vec<(Item, Position)>) -> anyhow::Result<()> {
        let Some(end) = items.last().map(|(_, position)| *position) else { return Ok(()) };
        let mut batch = self.batch.clone();
        let mut invalid = Vec::new();
        for (item, _) in &items {
            match item {
                Item::Record(record) => batch.records.push(record.clone()),
                Item::Invalid(rejected) => invalid.push(rejected.clone()),
            }
        }
        if self.id.is_some() {
            batch.checkpoint = Some(self.at(end, invalid.clone())?);
        }
        match self.runtime.block_on(self.database.import_batch(batch)) {
            Ok(imported) => {
                invalid.extend(imported.rejected);
                invalid.sort_by_key(|rejected| rejected.line);
                self.counts.inserted += imported.inserted;
                self.counts.rejected += invalid.len() as u64;
                self.rejects.append(&invalid)
            }
            Err(Error::Constraint { .. }) if items.len() > 1 => {
                for item in items {
                    self.send(vec![item])?;
                }
                Ok(())
            }
            Err(error @ Error::Constraint { .. }) => match items.into_iter().next() {
                Some((Item::Record(record), position)) => {
                    self.send(vec![(Item::Invalid(record.rejected(&error)), position)])
                }
                _ => Err(error.into()),
            },
            Err(error) => Err(anyhow::Error::new(error).context(
                "the import failed; all records before this transaction are in the table, and the same command continues",
            )),
        }
    }

    /// The checkpoint at a position, before the rejected records of its batch are counted.
    fn at(
        &mut self,
        position: Position,
        rejected: Vec<RejectedRecord>,
    ) -> anyhow::Result<Checkpoint> {
        let state = json!({
            "position": position,
            "rejects_bytes": self.rejects.size(),
            "rejected": self.counts.rejected,
        });
        let id = self.id.clone().context("the import has no id")?;
        Ok(Checkpoint { id, state, rejected })
    }

    /// Restores the state of an interrupted import.
    fn restore(&mut self, checkpoint: &Checkpoint) -> anyhow::Result<Position> {
        let position = checkpoint.state.get("position").cloned().context(INVALID)?;
        let position: Position = serde_json::from_value(position).context(INVALID)?;
        // Those of the last transaction may be missing in the file.
        self.rejects.begin(number(checkpoint, "rejects_bytes")?)?;
        let mut rejected = checkpoint.rejected.clone();
        rejected.sort_by_key(|rejected| rejected.line);
        self.rejects.append(&rejected)?;
        self.counts.rejected = rejected_before(checkpoint)? + rejected.len() as u64;
        self.counts.inserted = 0;
        output::message(&format!("continuing after line {}\n", position.line));
        Ok(position)
    }

    fn checkpoint(&self, request: CheckpointRequest) -> anyhow::Result<Option<Checkpoint>> {
        Ok(self.runtime.block_on(self.database.checkpoint(request))?)
    }
}

const INVALID: &str = "the table trunkline_import has an invalid checkpoint; remove its row";

fn number(checkpoint: &Checkpoint, name: &str) -> anyhow::Result<u64> {
    checkpoint.state.get(name).and_then(serde_json::Value::as_u64).context(INVALID)
}

/// The number of records that were rejected before the last batch of a checkpoint.
fn rejected_before(checkpoint: &Checkpoint) -> anyhow::Result<u64> {
    number(checkpoint, "rejected")
}
