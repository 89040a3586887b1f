//! Database files, written and read by the module `sqlite3` of Python, so that xtask compiles without SQLite and expected
//! answers do not depend on the server.

use std::io::Write;
use std::path::Path;
use std::process::{Command, Stdio};

use anyhow::{Context, Result, ensure};
use serde::Serialize;
use serde_json::Value;

/// Rows of one table, with one statement that inserts a row.
#[derive(Serialize)]
pub(crate) struct Insert {
    pub(crate) statement: String,
    pub(crate) rows: Vec<Vec<Value>>,
}

const WRITE: &str = "
import json, sqlite3, sys
connection = sqlite3.connect(sys.argv[1])
schema, inserts = json.load(sys.stdin)
connection.executescript(schema)
for insert in inserts:
    connection.executemany(insert['statement'], insert['rows'])
connection.commit()
connection.close()";

const READ: &str = "
import json, sqlite3, sys
connection = sqlite3.connect(f'file:{sys.argv[1]}?mode=ro', uri=True)
json.dump(connection.execute(sys.argv[2]).fetchall(), sys.stdout)";

/// Executes the statements of the schema, and inserts the rows in one transaction.
pub(crate) fn write(file: &Path, schema: &str, inserts: &[Insert]) -> Result<()> {
    let mut child = python(WRITE)
        .arg(file)
        .stdin(Stdio::piped())
        .spawn()
        .context("python3 is missing (Debian package python3)")?;
    let mut stdin = child.stdin.take().context("stdin is piped")?;
    // An error means that the process has ended, which is reported below.
    let _ = stdin.write_all(serde_json::to_string(&(schema, inserts))?.as_bytes());
    drop(stdin);
    let status = child.wait()?;
    ensure!(status.success(), "cannot write {} ({status})", file.display());
    Ok(())
}

/// The rows of a query.
pub(crate) fn read(file: &Path, query: &str) -> Result<Vec<Vec<Value>>> {
    let printed = crate::workspace::output(python(READ).arg(file).arg(query))
        .with_context(|| format!("cannot read {}", file.display()))?;
    serde_json::from_str(&printed).context("Python has not printed rows")
}

/// The number of rows of a `FROM` clause, such as a table.
pub(crate) fn count(file: &Path, from: &str) -> Result<i64> {
    let rows = read(file, &format!("SELECT count(*) FROM {from}"))?;
    rows.first().and_then(|row| row.first()?.as_i64()).context("a count is a number")
}

/// The texts in the first column of a query.
pub(crate) fn names(file: &Path, query: &str) -> Result<Vec<String>> {
    let rows = read(file, query)?;
    rows.iter()
        .map(|row| row.first().and_then(Value::as_str).map(str::to_owned))
        .collect::<Option<_>>()
        .context("a name is a text")
}

fn python(script: &str) -> Command {
    let mut python = Command::new("python3");
    python.args(["-c", script]);
    python
}
