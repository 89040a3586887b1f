//! Hostile SQL, and SQL that only looks hostile: on a read-only database, on the readers of a writable one, and on
//! its writer. After each of them the file is
//! unchanged, no other file exists next to it, and the database answers.

use std::time::{Duration, Instant};

use serde::Deserialize;
use trunkline_sql::sqlite::SqliteConfig;
use trunkline_sql::{Error, QueryLimits, RawOutcome, RawQuery};

use crate::fixture::{Fixture, MEMORY, create, files_here, kind};

#[derive(Deserialize)]
struct Case {
    name: String,
    #[serde(default)]
    sql: String,
    /// Instead of `sql`: texts, each with the number of its repetitions.
    #[serde(default)]
    parts: Vec<(String, usize)>,
    /// `ok` or kinds of errors, separated by `|` if several are acceptable, since the outcome may depend on the machine
    /// and on SQLite's version.
    expect: String,
}

impl Case {
    fn text(&self) -> String {
        let parts = self.parts.iter().map(|(text, times)| text.repeat(*times));
        self.sql.clone() + &parts.collect::<String>()
    }

    fn query(&self, read_only: bool) -> RawQuery {
        let timeout_ms = self.expect.contains("timeout").then_some(300);
        RawQuery { read_only, timeout_ms, ..RawQuery::new(self.text()) }
    }
}

const READING: &str = include_str!("../data/hostile.sql.jsonl");
const WRITING: &str = include_str!("../data/hostile_writes.sql.jsonl");

fn config(writable: bool) -> SqliteConfig {
    SqliteConfig {
        writable,
        readers: 2,
        heap_limit: 128 << 20,
        limits: QueryLimits {
            max_rows: 100,
            max_bytes: 64 << 10,
            max_affected: u64::MAX,
            timeout: Duration::from_secs(60),
            ..QueryLimits::default()
        },
        ..SqliteConfig::default()
    }
}

#[test]
fn hostile_sql_is_harmless_to_a_read_only_database() {
    check_all(READING, false, true);
}

#[test]
fn hostile_sql_is_harmless_to_readers_of_a_writable_database() {
    check_all(READING, true, true);
}

#[test]
fn hostile_sql_is_harmless_to_a_writer() {
    check_all(WRITING, true, false);
}

#[test]
fn hostile_writes_change_nothing_in_a_read_only_database() {
    let fixture = Fixture::new();
    let before = fixture.files();
    for line in WRITING.lines() {
        let case: Case = serde_json::from_str(line).unwrap();
        assert_eq!(kind(&run(&fixture, case.query(false))), "read_only", "{}", case.name);
    }
    assert!(fixture.files() == before);
}

#[track_caller]
fn check_all(cases: &str, writable: bool, read_only: bool) {
    // Some of them fill the memory.
    let _memory = MEMORY.write().unwrap_or_else(std::sync::PoisonError::into_inner);
    let fixture = Fixture::under_lock(config(writable));
    if !read_only {
        create(&fixture.path, include_str!("../data/traps.sql"));
    }
    let before = fixture.files();
    let here = files_here();
    let mut failures = Vec::new();
    for line in cases.lines() {
        let case: Case = serde_json::from_str(line).unwrap();
        if let Err(failure) = check(&fixture, &case, read_only) {
            failures.push(format!("{}: {failure}", case.name));
        }
        if fixture.files() != before {
            failures.push(format!("{}: files changed", case.name));
            break;
        }
        assert_eq!(files_here(), here, "{}: stray files", case.name);
    }
    assert!(failures.is_empty(), "{}", failures.join("\n"));
    assert!(fixture.database.close(Duration::from_secs(30)));
    assert!(fixture.files() == before, "after the end");
}

fn run(fixture: &Fixture, query: RawQuery) -> Result<RawOutcome, Error> {
    fixture.runtime.block_on(fixture.database.execute_raw_query(query))
}

fn check(fixture: &Fixture, case: &Case, read_only: bool) -> Result<(), String> {
    let started = Instant::now();
    let outcome = run(fixture, case.query(read_only));
    let elapsed = started.elapsed();

    let kind = kind(&outcome);
    if !case.expect.split('|').any(|expected| expected == kind) {
        return Err(format!("{kind} instead of {}: {outcome:.300?}", case.expect));
    }
    if elapsed > Duration::from_secs(30) {
        return Err(format!("took {elapsed:?}"));
    }
    if let Err(error) = &outcome {
        let message = error.to_string();
        if message.len() > 1_000 || message.contains(fixture.folder.path().to_str().unwrap()) {
            return Err(format!("not for a client: {message:.1000}"));
        }
    }
    match fixture.sql("SELECT count(*) FROM emp") {
        Ok(rowset) if rowset.rows.get() == "[[5]]" => {}
        next => return Err(format!("the next query gave {next:?}")),
    }
    if read_only {
        return Ok(());
    }
    match run(fixture, RawQuery { read_only: false, ..RawQuery::new("DELETE FROM emp WHERE 0") }) {
        Ok(_) => Ok(()),
        Err(error) => Err(format!("the next change gave {error:?}")),
    }
}
