use std::fs;

use super::files::Files;
use super::*;
use crate::history::time;

/// Writes lines, one by one and as many together as there is room for, and compares which of them are kept,
/// by file, oldest first.
#[track_caller]
fn check(settings: Settings, lines: &[&str], expected: &[&[&str]]) {
    for chunk in [0, usize::MAX] {
        check_in_chunks(&settings, lines, expected, chunk);
    }
}

#[track_caller]
fn check_in_chunks(settings: &Settings, lines: &[&str], expected: &[&[&str]], chunk: usize) {
    let folder = tempfile::tempdir().unwrap();
    let other = folder.path().join("notes.jsonl");
    fs::write(&other, "mine").unwrap();
    let mut files = Files::open(folder.path(), settings.clone()).unwrap();
    let mut waiting = String::new();
    for line in lines {
        let line = format!("{line}\n");
        if files.is_full_for(line.len(), waiting.len()) {
            files.write(std::mem::take(&mut waiting).as_bytes()).unwrap();
            files.turn().unwrap();
        }
        waiting += &line;
        if waiting.len() > chunk {
            files.write(std::mem::take(&mut waiting).as_bytes()).unwrap();
        }
    }
    files.write(waiting.as_bytes()).unwrap();
    let current = lock(&files.current()).clone();
    let listed = files::listed(folder.path(), &current).unwrap();
    let newest = listed.first().unwrap();
    assert!(newest.is_current && newest.name == current, "{settings:?}: {listed:?}");
    let read = |file: &LogFile| fs::read_to_string(folder.path().join(&file.name)).unwrap();
    let found: Vec<String> = listed.iter().rev().map(read).collect();
    let found: Vec<Vec<&str>> = found.iter().map(|text| text.lines().collect()).collect();
    assert_eq!(found, expected, "{settings:?}");
    assert_eq!(fs::read_to_string(other).unwrap(), "mine", "what is no log is left alone");
}

#[test]
fn files_are_bounded() {
    let lines = ["one", "two", "six", "ten"];
    let settings = |file_bytes, total_bytes, files| Settings { file_bytes, total_bytes, files };
    check(settings(100, 100, 9), &lines, &[&lines]);
    check(settings(8, 100, 9), &lines, &[&["one", "two"], &["six", "ten"]]);
    check(settings(9, 100, 9), &lines, &[&["one", "two"], &["six", "ten"]]);
    check(settings(4, 100, 9), &lines, &[&["one"], &["two"], &["six"], &["ten"]]);
    check(settings(4, 8, 9), &lines, &[&["six"], &["ten"]]);
    check(settings(4, 11, 9), &lines, &[&["six"], &["ten"]]);
    check(settings(4, 100, 2), &lines, &[&["six"], &["ten"]]);
    check(settings(4, 100, 1), &lines, &[&["ten"]]);
    check(settings(4, 100, 0), &lines, &[&["ten"]]);
    check(settings(1, 0, 9), &lines, &[&["ten"]]);
}

#[test]
fn another_session_in_the_same_moment() {
    let folder = tempfile::tempdir().unwrap();
    let files: Vec<_> =
        (0..20).map(|_| Files::open(folder.path(), Settings::default()).unwrap()).collect();
    let names: std::collections::HashSet<_> =
        files.iter().map(|files| lock(&files.current()).clone()).collect();
    assert_eq!(names.len(), files.len());
}

#[test]
fn names_of_clients_are_bounded() {
    let history = History::new(crate::history::Settings::default());
    let mut counters = Counters::new();
    for number in 0..1_000 {
        let recording =
            history.stream(&crate::Extensions::through("test"), &number.to_string(), None);
        drop(recording);
    }
    let filter = crate::history::Filter { limit: usize::MAX, ..Default::default() };
    for entry in history.entries(&filter).entries {
        let mut call = (*entry).clone();
        call.kind = crate::history::Kind::Call;
        counters.count(&call);
    }
    let stats = counters.stats();
    assert_eq!(stats.by_method.len(), 257);
    assert_eq!(stats.by_method.values().map(|method| method.calls).sum::<u64>(), stats.calls);
    assert!(stats.since >= time::parse("2020-01-01T00:00:00Z").unwrap());
}
