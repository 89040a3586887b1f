//! Writes Chinook, a music shop of 11 tables and 15,607 rows, as a SQLite database to try things on.

mod fixture;
mod tables;

use std::path::{Path, PathBuf};

use anyhow::{Context, Result, bail, ensure};
use rusqlite::{Connection, params_from_iter};

use self::fixture::Object;
use self::tables::{TABLES, Table};
use crate::peers;
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
    ensure!(!file.exists(), "{} exists, and is not overwritten", file.display());
    write(workspace, file)?;
    let rows: usize = TABLES.iter().map(|table| table.rows).sum();
    println!("{}: {} tables, {rows} rows", file.display(), TABLES.len());
    Ok(())
}

/// The path of a sample that is written once, and that checks copy.
pub(crate) fn cached(workspace: &Workspace) -> Result<PathBuf> {
    let folder = workspace.path("target/sample-db/written");
    let file = folder.join("chinook.db");
    // What it is made from besides: the fixture has a pin of its own.
    let made_from = [SCHEMA, include_str!("tables.rs"), include_str!("requirements.txt")].concat();
    peers::once(&folder, &made_from, || write(workspace, &file))?;
    Ok(file)
}

/// The file appears when it is whole.
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
        // The first error is the one to report.
        let _ = std::fs::remove_file(&partial);
    }
    written
}

fn fill(file: &Path, objects: &[Object]) -> Result<()> {
    let mut connection = Connection::open(file)?;
    let transaction = connection.transaction()?;
    transaction.execute_batch(SCHEMA)?;
    for table in &TABLES {
        insert(&transaction, table, objects)?;
    }
    transaction.commit()?;
    verify(&connection, objects.len())?;
    connection.close().map_err(|(_, error)| error.into())
}

fn insert(connection: &Connection, table: &Table, objects: &[Object]) -> Result<()> {
    let places = vec!["?"; table.columns.len()].join(", ");
    let names: Vec<String> =
        table.columns.iter().map(|column| format!("\"{}\"", column.name)).collect();
    let mut statement = connection.prepare(&format!(
        "INSERT INTO \"{}\" ({}) VALUES ({places})",
        table.name,
        names.join(", ")
    ))?;
    for object in objects.iter().filter(|object| object.model == table.model) {
        let row = table
            .columns
            .iter()
            .map(|column| column.value(object))
            .collect::<Result<Vec<_>>>()
            .with_context(|| format!("{} {} does not fit", object.model, object.pk))?;
        statement.execute(params_from_iter(row))?;
    }
    Ok(())
}

fn verify(connection: &Connection, objects: usize) -> Result<()> {
    let mut all = 0;
    for Table { name, rows: expected, .. } in &TABLES {
        let rows = count(connection, &format!("\"{name}\""))?;
        ensure!(rows == *expected, "{name} has {rows} rows and should have {expected}");
        all += rows;
    }
    ensure!(all == objects, "the fixture has {objects} objects, and {all} became rows");
    let broken = count(connection, "pragma_foreign_key_check")?;
    ensure!(broken == 0, "{broken} rows refer to nothing");
    Ok(())
}

fn count(connection: &Connection, from: &str) -> Result<usize> {
    let sql = format!("SELECT count(*) FROM {from}");
    let rows: i64 = connection.query_row(&sql, [], |row| row.get(0))?;
    Ok(usize::try_from(rows)?)
}
