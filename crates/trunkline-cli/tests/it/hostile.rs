//! Malicious requests, and harmless ones that look malicious. After each, the database file is unchanged, there is no
//! other file, and the server answers.

use serde::Deserialize;
use serde_json::{Value, json};

use crate::support::{Server, cases, files, mismatch, trunkline, with_content};

/// The content that the hostile texts refer to.
const CONTENT: &str = include_str!("../../../trunkline-sql/tests/data/emp.sql");

/// A column type that would be two statements if it were inserted into SQL, and a table with such a name and such
/// columns.
const WORSE: &str = r#"
    CREATE TABLE typed (a "TEXT); DROP TABLE emp;--", "delete" TEXT);
    INSERT INTO typed VALUES ('x', 'y');
    CREATE TABLE "'; DROP TABLE emp; --" ("""; --" TEXT);
"#;

/// The list of the SQL crate, which runs it in process.
#[derive(Deserialize)]
struct Text {
    name: String,
    #[serde(default)]
    sql: String,
    /// Instead of `sql`: texts, and how often each is repeated.
    #[serde(default)]
    parts: Vec<(String, usize)>,
    /// `ok` or kinds of errors; alternatives are separated by `|`.
    expect: String,
}

/// A call without SQL.
#[derive(Deserialize)]
struct Call {
    name: String,
    method: String,
    params: Value,
    /// Parts of the response.
    expect: Value,
}

#[test]
fn hostile_sql_is_harmless() {
    let (folder, path) = with_content(&format!("{CONTENT}{WORSE}"));
    let mut command = trunkline(folder.path());
    command.args(["--listen", "127.0.0.1:0", "--query-timeout-ms", "30000", "--db"]).arg(&path);
    let server = Server::start(command);
    let before = files(folder.path());
    let mut failures = Vec::new();
    let list = include_str!("../../../trunkline-sql/tests/data/hostile.sql.jsonl");
    for text in cases::<Text>(list) {
        let repeated: String = text.parts.iter().map(|(part, times)| part.repeat(*times)).collect();
        let timeout = if text.expect.contains("timeout") { 250 } else { 30_000 };
        let query = text.sql + &repeated;
        let params = json!({"query": query, "timeout_ms": timeout, "max_rows": 100});
        let kind = match server.sql(&params) {
            Ok(_) => json!("ok"),
            Err(error) => error["data"]["kind"].clone(),
        };
        if !text.expect.split('|').any(|expected| kind == expected) {
            failures.push(format!("{}: {kind} instead of {}", text.name, text.expect));
        }
        assert!(files(folder.path()) == before, "{}: files changed", text.name);
        let next = server.sql(&json!({"query": "SELECT count(*) FROM emp"}));
        assert_eq!(next, Ok(json!([[5]])), "the query after {}", text.name);
    }
    assert!(failures.is_empty(), "{}", failures.join("\n"));
    assert_eq!(server.stop().code, Some(0));
    assert!(files(folder.path()) == before, "files changed at the end");
}

#[test]
fn hostile_calls_are_harmless() {
    let (folder, path) = with_content(&format!("{CONTENT}{WORSE}"));
    let server = Server::of(&path);
    let before = files(folder.path());
    let mut failures = Vec::new();
    for call in cases::<Call>(include_str!("../data/hostile_calls.jsonl")) {
        let response = server.call(&call.method, &call.params);
        if let Some(at) = mismatch(&response, &call.expect) {
            failures.push(format!("{}{at}\n    in {response}", call.name));
        }
        assert!(files(folder.path()) == before, "{}: files changed", call.name);
        let next = server.sql(&json!({"query": "SELECT count(*) FROM emp"}));
        assert_eq!(next, Ok(json!([[5]])), "the query after {}", call.name);
    }
    assert!(failures.is_empty(), "{}", failures.join("\n"));
}
