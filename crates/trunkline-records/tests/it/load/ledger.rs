//! Checks that the answers to concurrent clients are consistent with a sequential execution.

use std::collections::{BTreeMap, BTreeSet};

use serde_json::{Value, json};

use super::caller::CommandRequest;

/// An executed request with its result.
#[derive(Debug)]
pub(crate) struct Done {
    pub(crate) ask: CommandRequest,
    pub(crate) result: Value,
}

impl Done {
    fn id(&self) -> &str {
        // One that was created may have been given its id.
        self.ask.id.as_deref().or(self.result["id"].as_str()).unwrap()
    }
}

/// Checks all executed requests, in any order, against the final records.
///
/// Each version of an id was returned to one writer, and versions have no gaps, deletions included. Each version contains
/// the previous one and the changes of its request. An `ifVersion` is the previous version. Reads return what the
/// writer of the version got. There is one deletion per deleted record, and the final records are the last results.
#[track_caller]
pub(crate) fn check(done: &[Done], records: &[Value]) {
    let ids: BTreeSet<&str> = done.iter().map(Done::id).collect();
    for record in records {
        assert!(ids.contains(record["id"].as_str().unwrap()), "no client created {record}");
    }
    for id in ids {
        let of_id: Vec<&Done> = done.iter().filter(|done| done.id() == id).collect();
        let left = records.iter().find(|record| record["id"] == id);
        check_one(&of_id, left);
    }
}

#[track_caller]
fn check_one(done: &[&Done], left: Option<&Value>) {
    let mut writes = BTreeMap::new();
    for &one in done.iter().filter(|one| matches!(one.ask.command, "create" | "update")) {
        let twin = writes.insert(one.result["version"].as_u64().unwrap(), one);
        assert!(twin.is_none(), "duplicate version: {one:?}, {twin:?}");
    }
    let mut before = None;
    for (number, (&version, &write)) in (1..).zip(&writes) {
        assert_eq!(version, number, "a version is missing: {write:?}");
        check_step(before, write);
        before = Some(write);
    }
    for read in done.iter().filter(|one| one.ask.command == "read") {
        let version = read.result["version"].as_u64().unwrap();
        assert_eq!(read.result, writes[&version].result, "no client wrote what was read");
    }
    let mut ends = writes.values().filter(|write| write.ask.command == "create").count();
    match left {
        Some(left) => {
            assert_eq!(Some(left), before.map(|write| &write.result), "the last write is lost");
            ends -= 1;
        }
        None => assert!(before.is_some(), "no writes: {done:?}"),
    }
    let deletes: Vec<&&Done> = done.iter().filter(|one| one.ask.command == "delete").collect();
    assert_eq!(deletes.len(), ends, "deletions and ends of records: {deletes:?}");
    for version in deletes.iter().filter_map(|delete| delete.ask.if_version) {
        match writes.get(&(version + 1)) {
            Some(next) => assert_eq!(next.ask.command, "create", "{version} was deleted"),
            None => assert_eq!(left, None, "{version} was deleted"),
        }
    }
}

/// Checks the result of one write against the previous record.
#[track_caller]
fn check_step(before: Option<&Done>, write: &Done) {
    let Done { ask, result } = write;
    let mut expected = match (ask.command, before) {
        ("create", _) => json!({ "id": write.id(), "createdAt": result["createdAt"] }),
        (_, Some(before)) => before.result.clone(),
        (_, None) => panic!("no record for {write:?}"),
    };
    for (name, value) in &ask.payload {
        expected[name] = value.clone();
    }
    expected["version"] = result["version"].clone();
    expected["updatedAt"] = result["updatedAt"].clone();
    assert_eq!(*result, expected, "after {before:?}");
    if let (Some(version), Some(before)) = (ask.if_version, before) {
        assert_eq!(before.result["version"], version, "a stale version was accepted: {write:?}");
    }
}
