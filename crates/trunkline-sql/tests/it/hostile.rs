//! Texts made to do harm, and texts that only look so. After each of them the file is as it was, nothing
//! lies beside it, and the database answers.

use std::time::{Duration, Instant};

use serde::Deserialize;
use trunkline_sql::Settings;

use crate::fixture::{Fixture, MEMORY, files_here, kind};

#[derive(Deserialize)]
struct Case {
    name: String,
    #[serde(default)]
    sql: String,
    /// In place of `sql`: texts, and how often each is repeated.
    #[serde(default)]
    parts: Vec<(String, usize)>,
    /// `ok` or kinds of errors, with `|` between those that are all harmless. Which one it is may depend
    /// on the machine's speed and on SQLite's version.
    expect: String,
}

impl Case {
    fn text(&self) -> String {
        let parts = self.parts.iter().map(|(text, times)| text.repeat(*times));
        self.sql.clone() + &parts.collect::<String>()
    }
}

#[test]
fn every_text_is_harmless() {
    // Some of them fill the memory.
    let _memory = MEMORY.write().unwrap();
    let fixture = Fixture::under_lock(Settings {
        readers: 2,
        max_rows: 100,
        max_bytes: 64 << 10,
        timeout: Duration::from_millis(300),
        heap_limit: 128 << 20,
        ..Settings::default()
    });
    let before = fixture.files();
    let here = files_here();
    let mut failures = Vec::new();
    for line in include_str!("../data/hostile.sql.jsonl").lines() {
        let case: Case = serde_json::from_str(line).unwrap();
        if let Err(failure) = check(&fixture, &case) {
            failures.push(format!("{}: {failure}", case.name));
        }
        assert!(fixture.files() == before, "{}: files changed", case.name);
        assert_eq!(files_here(), here, "{}: stray files", case.name);
    }
    assert!(failures.is_empty(), "{}", failures.join("\n"));
}

fn check(fixture: &Fixture, case: &Case) -> Result<(), String> {
    let started = Instant::now();
    let outcome = fixture.sql(&case.text());
    let elapsed = started.elapsed();

    let kind = kind(&outcome);
    if !case.expect.split('|').any(|expected| expected == kind) {
        return Err(format!("{kind} instead of {}: {outcome:.300?}", case.expect));
    }
    if elapsed > Duration::from_secs(2) {
        return Err(format!("took {elapsed:?}"));
    }
    if let Err(error) = &outcome {
        let message = error.to_string();
        if message.len() > 1_000 || message.contains(fixture.folder.path().to_str().unwrap()) {
            return Err(format!("not for a client: {message:.1000}"));
        }
    }
    match fixture.sql("SELECT count(*) FROM emp") {
        Ok(rowset) if rowset.rows.get() == "[[5]]" => Ok(()),
        next => Err(format!("the next query gave {next:?}")),
    }
}
