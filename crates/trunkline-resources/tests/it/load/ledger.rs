//! Whether what many clients were told at once is what one after the other could have been told.

use std::collections::{BTreeMap, BTreeSet};

use serde_json::{Value, json};

use super::caller::Ask;

/// What was asked and done.
#[derive(Debug)]
pub(crate) struct Done {
    pub(crate) ask: Ask,
    pub(crate) result: Value,
}

impl Done {
    fn id(&self) -> &str {
        // One that was created may have been given its id.
        self.ask.id.as_deref().or(self.result["id"].as_str()).unwrap()
    }
}

/// Checks all that was done, in no order, against the records that there are in the end.
///
/// Each version of an id was told to one writer, and they are without a gap, over deletions, too. The one
/// behind another holds what that one held and what was asked. Where a version was asked for, it is the one
/// before. Who has read a version has read what its writer was told. There are as many deletions as there are
/// ends of records, and what is left is what the last writers were told.
#[track_caller]
pub(crate) fn check(done: &[Done], records: &[Value]) {
    let ids: BTreeSet<&str> = done.iter().map(Done::id).collect();
    for record in records {
        assert!(ids.contains(record["id"].as_str().unwrap()), "nobody made {record}");
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
        assert!(twin.is_none(), "two were told of one version: {one:?}, {twin:?}");
    }
    let mut before = None;
    for (number, (&version, &write)) in (1..).zip(&writes) {
        assert_eq!(version, number, "a version is missing: {write:?}");
        check_step(before, write);
        before = Some(write);
    }
    for read in done.iter().filter(|one| one.ask.command == "read") {
        let version = read.result["version"].as_u64().unwrap();
        assert_eq!(read.result, writes[&version].result, "what was read nobody wrote");
    }
    let mut ends = writes.values().filter(|write| write.ask.command == "create").count();
    match left {
        Some(left) => {
            assert_eq!(Some(left), before.map(|write| &write.result), "the last write is lost");
            ends -= 1;
        }
        None => assert!(before.is_some(), "of nothing there was anything done: {done:?}"),
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

/// Checks what one write made of what was there before.
#[track_caller]
fn check_step(before: Option<&Done>, write: &Done) {
    let Done { ask, result } = write;
    let mut expected = match (ask.command, before) {
        ("create", _) => json!({ "id": write.id(), "createdAt": result["createdAt"] }),
        (_, Some(before)) => before.result.clone(),
        (_, None) => panic!("nothing was there to be changed by {write:?}"),
    };
    for (name, value) in &ask.payload {
        expected[name] = value.clone();
    }
    expected["version"] = result["version"].clone();
    expected["updatedAt"] = result["updatedAt"].clone();
    assert_eq!(*result, expected, "after {before:?}");
    if let (Some(version), Some(before)) = (ask.if_version, before) {
        assert_eq!(before.result["version"], version, "a stale version has hit: {write:?}");
    }
}
