//! Texts made to do harm, and texts that only look so. After each of them the file is as it was, nothing
//! lies beside it, and the database answers.

use std::path::Path;
use std::time::{Duration, Instant};

use serde::Deserialize;
use trunkline_sql::{Error, Settings};

use crate::fixture::{Fixture, MEMORY, kind};

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
    let elsewhere = crate::fixture::files_here();
    for line in include_str!("../data/hostile.sql.jsonl").lines() {
        let case: Case = serde_json::from_str(line).unwrap();
        check(&fixture, &case);
        assert!(fixture.files() == before, "{}: files changed", case.name);
    }
    assert_eq!(crate::fixture::files_here(), elsewhere, "stray files");
}

#[track_caller]
fn check(fixture: &Fixture, case: &Case) {
    let started = Instant::now();
    let outcome = fixture.sql(&case.text());
    let elapsed = started.elapsed();
    let name = &case.name;

    let kind = kind(&outcome);
    assert!(
        case.expect.split('|').any(|expected| expected == kind),
        "{name}: {kind} instead of {}: {outcome:.300?}",
        case.expect
    );
    assert!(elapsed < Duration::from_secs(2), "{name}: {elapsed:?}");
    if let Err(error) = &outcome {
        assert_is_safe(name, error, fixture.folder.path());
    }

    let next = fixture.sql("SELECT count(*) FROM emp");
    assert_eq!(next.unwrap().rows.get(), "[[5]]", "{name}: the next query");
}

#[track_caller]
fn assert_is_safe(name: &str, error: &Error, folder: &Path) {
    let message = error.client_message();
    let folder = folder.to_str().unwrap();
    assert!(!message.contains(folder), "{name}: {message}");
    assert!(message.len() < 1_000, "{name}: {} bytes", message.len());
}
