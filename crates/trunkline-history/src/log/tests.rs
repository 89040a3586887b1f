use std::fs;

use super::files::Files;
use super::*;
use crate::stats::Counters;
use crate::time;

/// Writes lines, one by one and in batches, and checks the remaining lines of each file, oldest first.
#[track_caller]
fn check(config: LogConfig, lines: &[&str], expected: &[&[&str]]) {
    for chunk in [0, usize::MAX] {
        check_in_chunks(&config, lines, expected, chunk);
    }
}

#[track_caller]
fn check_in_chunks(config: &LogConfig, lines: &[&str], expected: &[&[&str]], chunk: usize) {
    let folder = tempfile::tempdir().unwrap();
    let other = folder.path().join("notes.jsonl");
    fs::write(&other, "mine").unwrap();
    let mut files = Files::open(folder.path(), config.clone()).unwrap();
    let mut waiting = String::new();
    for line in lines {
        let line = format!("{line}\n");
        if files.is_full_for(line.len(), waiting.len()) {
            files.write(std::mem::take(&mut waiting).as_bytes()).unwrap();
            files.rotate().unwrap();
        }
        waiting += &line;
        if waiting.len() > chunk {
            files.write(std::mem::take(&mut waiting).as_bytes()).unwrap();
        }
    }
    files.write(waiting.as_bytes()).unwrap();
    let current = files.current();
    let listed = files::listed(folder.path(), &current).unwrap();
    let newest = listed.first().unwrap();
    assert!(newest.is_current && newest.name == current, "{config:?}: {listed:?}");
    let read = |file: &LogFile| fs::read_to_string(folder.path().join(&file.name)).unwrap();
    let found: Vec<String> = listed.iter().rev().map(read).collect();
    let found: Vec<Vec<&str>> = found.iter().map(|text| text.lines().collect()).collect();
    assert_eq!(found, expected, "{config:?}");
    assert_eq!(fs::read_to_string(other).unwrap(), "mine", "other files are not touched");
}

#[test]
fn limits_files() {
    let lines = ["one", "two", "six", "ten"];
    let config = |file_bytes, total_bytes, files| LogConfig {
        file_bytes,
        total_bytes,
        files,
        ..LogConfig::default()
    };
    check(config(100, 100, 9), &lines, &[&lines]);
    check(config(8, 100, 9), &lines, &[&["one", "two"], &["six", "ten"]]);
    check(config(9, 100, 9), &lines, &[&["one", "two"], &["six", "ten"]]);
    check(config(4, 100, 9), &lines, &[&["one"], &["two"], &["six"], &["ten"]]);
    check(config(4, 8, 9), &lines, &[&["six"], &["ten"]]);
    check(config(4, 11, 9), &lines, &[&["six"], &["ten"]]);
    check(config(4, 100, 2), &lines, &[&["six"], &["ten"]]);
    check(config(4, 100, 1), &lines, &[&["ten"]]);
    check(config(4, 100, 0), &lines, &[&["ten"]]);
    check(config(1, 0, 9), &lines, &[&["ten"]]);
}

#[cfg(unix)]
#[test]
fn continues_after_a_file_was_removed() {
    let folder = tempfile::tempdir().unwrap();
    let logs = folder.path().join("logs");
    let mut files = Files::open(&logs, LogConfig::default()).unwrap();
    let path = |files: &Files| logs.join(files.current());
    files.write(b"one\n").unwrap();
    fs::remove_file(path(&files)).unwrap();
    files.write(b"two\n").unwrap();
    assert_eq!(fs::read_to_string(path(&files)).unwrap(), "two\n");
    fs::rename(path(&files), folder.path().join("taken")).unwrap();
    files.write(b"three\n").unwrap();
    files.write(b"four\n").unwrap();
    assert_eq!(fs::read_to_string(path(&files)).unwrap(), "three\nfour\n");
    fs::remove_dir_all(&logs).unwrap();
    assert_eq!(files::listed(&logs, "").unwrap(), []);
    files.write(b"five\n").unwrap();
    assert_eq!(fs::read_to_string(path(&files)).unwrap(), "five\n");
}

#[test]
fn separates_sessions_started_at_the_same_time() {
    let folder = tempfile::tempdir().unwrap();
    let files: Vec<_> =
        (0..20).map(|_| Files::open(folder.path(), LogConfig::default()).unwrap()).collect();
    let names: std::collections::HashSet<_> = files.iter().map(Files::current).collect();
    assert_eq!(names.len(), files.len());
}

/// Fills a queue without a reader, and checks the numbers of queued and lost entries.
#[track_caller]
fn check_queue(max_bytes: usize, entries: u64, waiting: usize, lost: u64) {
    let history = History::new(crate::HistoryConfig::default());
    let mut counters = Counters::new();
    let queue = Arc::new(Queue::new(max_bytes, Duration::ZERO));
    history.queue_to(Arc::clone(&queue));
    let refuse = || {
        let error = trunkline_core::error::ErrorObject::new(7, "no");
        history
            .record_refusal(&trunkline_core::extensions::Extensions::from_endpoint("test"), &error);
    };
    for _ in 0..2 {
        (0..entries).for_each(|_| refuse());
        let mut taken = queue.take().unwrap();
        if lost > 0 {
            let Some(Logged::Lost(missing)) = taken.pop() else { panic!("{max_bytes}: {taken:?}") };
            assert_eq!(missing.lost(), lost, "{max_bytes}");
            counters.add(&missing);
        }
        assert_eq!(taken.len(), waiting, "{max_bytes}");
        assert!(taken.iter().all(|item| matches!(item, Logged::Entry(_))), "{taken:?}");
    }
    queue.close();
    refuse();
    assert!(queue.take().is_none());
    let stats = counters.stats();
    assert_eq!(
        (stats.calls, stats.lost),
        (2 * lost, 2 * lost),
        "written entries are counted by the writer"
    );
    let by_code = stats.by_code.get("7").copied().unwrap_or_default();
    let by_method = stats.by_method.get("none").map_or(0, |counted| counted.errors);
    assert_eq!((by_code, by_method), (2 * lost, 2 * lost), "{stats:?}");
}

#[test]
fn limits_queued_entries() {
    check_queue(1 << 20, 10, 10, 0);
    check_queue(0, 10, 1, 9);
    let weight = {
        let history = History::new(crate::HistoryConfig::default());
        let error = trunkline_core::error::ErrorObject::new(7, "no");
        history
            .record_refusal(&trunkline_core::extensions::Extensions::from_endpoint("test"), &error);
        history.entries(&crate::Filter::default()).entries[0].weight()
    };
    check_queue(3 * weight, 10, 3, 7);
    check_queue(3 * weight - 1, 10, 2, 8);
}

#[test]
fn limits_distinct_names() {
    let history = History::new(crate::HistoryConfig::default());
    let mut counters = Counters::new();
    for number in 0..1_000 {
        let recording = history.record_stream(
            &trunkline_core::extensions::Extensions::from_endpoint("test"),
            &number.to_string(),
            None,
        );
        drop(recording);
    }
    let filter = crate::Filter { limit: usize::MAX, ..Default::default() };
    for entry in history.entries(&filter).entries {
        let mut call = (*entry).clone();
        call.kind = crate::Kind::Call;
        counters.count(&call);
    }
    let stats = counters.stats();
    assert_eq!(stats.by_method.len(), 257);
    assert_eq!(stats.by_method.values().map(|method| method.calls).sum::<u64>(), stats.calls);
    assert!(stats.since >= time::parse("2020-01-01T00:00:00Z").unwrap());
}
