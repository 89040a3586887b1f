//! Writes the Chinook sample, a music shop with 11 tables and 15,607 rows, to a SQLite database.

mod fixture;
mod tables;

use std::path::{Path, PathBuf};

use anyhow::{Context, Result, bail, ensure};

use self::fixture::Object;
use self::tables::{TABLES, Table};
use crate::peers;
use crate::sqlite::{self, Insert};
use crate::workspace::Workspace;

const USAGE: &str = "\
usage: cargo xtask sample-db FILE

  FILE   where the database is written; it must not exist";

const SCHEMA: &str = include_str!("schema.sql");

pub(crate) fn run(workspace: &Workspace, args: &[String]) -> Result<()> {
    let [file] = args else {
        bail!("where to?\n\n{USAGE}");
    };
    if file == "-h" || file == "--help" {
        println!("{USAGE}");
        return Ok(());
    }
    let file = Path::new(file);
    ensure!(!file.exists(), "{} already exists", file.display());
    write(workspace, file)?;
    let rows: usize = TABLES.iter().map(|table| table.rows).sum();
    println!("{}: {} tables, {rows} rows", file.display(), TABLES.len());
    Ok(())
}

/// The path of a sample that is written once, and copied by tests.
pub(crate) fn cached(workspace: &Workspace) -> Result<PathBuf> {
    let folder = workspace.path("target/sample-db/written");
    let file = folder.join("chinook.db");
    // The other sources; the version of the fixture is pinned separately.
    let sources = [SCHEMA, include_str!("tables.rs"), include_str!("requirements.txt")].concat();
    peers::create_once(&folder, &sources, || write(workspace, &file))?;
    Ok(file)
}

/// Writes to a temporary file first, so that the file is always complete.
fn write(workspace: &Workspace, file: &Path) -> Result<()> {
    let objects = fixture::load(workspace)?;
    let mut partial = file.as_os_str().to_owned();
    partial.push(".partial");
    let partial = PathBuf::from(partial);
    if partial.exists() {
        std::fs::remove_file(&partial)?;
    }
    let written = fill(&partial, &objects)
        .and_then(|()| std::fs::rename(&partial, file).map_err(Into::into))
        .with_context(|| format!("cannot write {}", file.display()));
    if written.is_err() {
        // Only the first error is reported.
        let _ = std::fs::remove_file(&partial);
    }
    written
}

fn fill(file: &Path, objects: &[Object]) -> Result<()> {
    let inserts = TABLES.iter().map(|table| insert(table, objects)).collect::<Result<Vec<_>>>()?;
    sqlite::write(file, SCHEMA, &inserts)?;
    verify(file, objects.len())
}

fn insert(table: &Table, objects: &[Object]) -> Result<Insert> {
    let places = vec!["?"; table.columns.len()].join(", ");
    let names: Vec<String> =
        table.columns.iter().map(|column| format!("\"{}\"", column.name)).collect();
    let row = |object: &Object| {
        let row = table.columns.iter().map(|column| column.value(object)).collect::<Result<_>>();
        row.with_context(|| format!("invalid object {} {}", object.model, object.pk))
    };
    let objects = objects.iter().filter(|object| object.model == table.model);
    Ok(Insert {
        statement: format!(
            "INSERT INTO \"{}\" ({}) VALUES ({places})",
            table.name,
            names.join(", ")
        ),
        rows: objects.map(row).collect::<Result<_>>()?,
    })
}

fn verify(file: &Path, objects: usize) -> Result<()> {
    let count = |from: &str| Ok::<_, anyhow::Error>(usize::try_from(sqlite::count(file, from)?)?);
    let mut all = 0;
    for Table { name, rows: expected, .. } in &TABLES {
        let rows = count(&format!("\"{name}\""))?;
        ensure!(rows == *expected, "{name} has {rows} rows, expected {expected}");
        all += rows;
    }
    ensure!(all == objects, "the fixture has {objects} objects, but {all} rows were written");
    let broken = count("pragma_foreign_key_check")?;
    ensure!(broken == 0, "{broken} rows violate a foreign key");
    Ok(())
}
