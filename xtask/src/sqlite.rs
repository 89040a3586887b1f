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
json.dump([row[0] for row in connection.execute(sys.argv[2])], sys.stdout)";

/// Executes the statements of the schema, and inserts the rows in one transaction.
pub(crate) fn write(file: &Path, schema: &str, inserts: &[Insert]) -> Result<()> {
    let mut python = Command::new("python3");
    let mut child = python.args(["-c", WRITE]).arg(file).stdin(Stdio::piped()).spawn()?;
    let mut stdin = child.stdin.take().context("stdin is piped")?;
    // An error means that the process has ended, which is reported below.
    let _ = stdin.write_all(serde_json::to_string(&(schema, inserts))?.as_bytes());
    drop(stdin);
    let status = child.wait()?;
    ensure!(status.success(), "cannot write {} ({status})", file.display());
    Ok(())
}

/// The first column of a query.
fn read(file: &Path, query: &str) -> Result<Vec<Value>> {
    let mut python = Command::new("python3");
    let printed = crate::workspace::output(python.args(["-c", READ]).arg(file).arg(query))?;
    Ok(serde_json::from_str(&printed)?)
}

/// The number of rows of a `FROM` clause, such as a table.
pub(crate) fn count(file: &Path, from: &str) -> Result<i64> {
    let rows = read(file, &format!("SELECT count(*) FROM {from}"))?;
    rows.first().and_then(Value::as_i64).context("a count is a number")
}

/// The texts in the first column of a query.
pub(crate) fn names(file: &Path, query: &str) -> Result<Vec<String>> {
    serde_json::from_value(read(file, query)?.into()).context("a name is a text")
}
