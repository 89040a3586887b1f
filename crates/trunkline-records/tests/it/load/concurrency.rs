//! Concurrent clients that change the same few records, natively and by JSON-RPC.

use std::net::SocketAddr;
use std::path::Path;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::thread;
use std::time::{Duration, Instant};

use serde_json::{Value, json};
use tempfile::TempDir;

use super::caller::{Answer, Caller, CommandRequest, Form, Refusal};
use super::ledger::{self, Done};
use super::serving::{LocalServer, TALLY, sound_database};

const CLIENTS: usize = 64;

/// Timeout of a test.
const DEADLINE: Duration = Duration::from_secs(120);

/// Ids of records that are never deleted, and of those that are.
const LASTING: [&str; 2] = ["lasting-1", "lasting-2"];
const MORTAL: [&str; 4] = ["mortal-1", "mortal-2", "mortal-3", "mortal-4"];

/// Number of increments by all clients together.
const INCREMENTS: usize = 500;

#[test]
fn no_update_is_lost() {
    let directory = TempDir::new().unwrap();
    let serving = LocalServer::start(directory.path());
    let address = serving.address();
    let counted = AtomicUsize::new(0);
    let done: Vec<Done> = thread::scope(|scope| {
        let count = |number| count_up(address, number, &counted);
        let clients: Vec<_> =
            (0..CLIENTS).map(|number| scope.spawn(move || count(number))).collect();
        clients.into_iter().flat_map(|client| client.join().unwrap()).collect()
    });
    let records = list(address);
    ledger::check(&done, &records);
    // The same check without the ledger.
    for id in LASTING {
        let counted = done.iter().filter(|done| is_increment(done, id)).count();
        let record = records.iter().find(|record| record["id"] == id).unwrap();
        assert_eq!(record["count"], counted, "{record}");
    }
    let deletes = done.iter().filter(|done| done.ask.command == "delete").count();
    assert!(deletes >= MORTAL.len(), "only {deletes} were deleted");
    serving.stop();
    check_file(directory.path(), &records);
}

fn is_increment(done: &Done, id: &str) -> bool {
    let Done { ask, .. } = done;
    ask.command == "update" && ask.id.as_deref() == Some(id) && ask.payload.contains_key("count")
}

/// The loop of one client, until all clients have reached the number of increments.
fn count_up(address: SocketAddr, number: usize, counted: &AtomicUsize) -> Vec<Done> {
    let mut caller = Caller::connect(address, Form::of(number), TALLY).unwrap();
    let mut random = Random(number as u64 + 1);
    let mut done = Vec::new();
    let start = Instant::now();
    for turn in 0.. {
        if counted.load(Ordering::Relaxed) >= INCREMENTS {
            break;
        }
        assert!(start.elapsed() < DEADLINE, "only {counted:?} by now");
        let id = *random.one_of(&[LASTING.as_slice(), &MORTAL].concat());
        let note = format!("client {number}, turn {turn}");
        let read = CommandRequest::new("read", Some(id));
        let next = match caller.ask(&read).unwrap() {
            Err(refusal) => {
                assert_eq!(refusal, Refusal::NotFound);
                CommandRequest::new("create", Some(id)).with("count", 0).with("note", note)
            }
            Ok(result) => {
                let next = next(&result, note, &mut random);
                done.push(Done { ask: read, result });
                next
            }
        };
        match caller.ask(&next).unwrap() {
            Ok(result) => {
                if next.payload.contains_key("count") && next.command == "update" {
                    counted.fetch_add(1, Ordering::Relaxed);
                }
                done.push(Done { ask: next, result });
            }
            Err(refusal) => assert!(may_be_refused(&next, refusal), "{refusal:?}: {next:?}"),
        }
    }
    done
}

/// The next request for an existing record.
fn next(record: &Value, note: String, random: &mut Random) -> CommandRequest {
    let (id, version) = (record["id"].as_str().unwrap(), record["version"].as_u64().unwrap());
    let is_mortal = MORTAL.contains(&id);
    match random.below(12) {
        0 if is_mortal => CommandRequest::new("delete", Some(id)),
        1 | 2 if is_mortal => CommandRequest::new("delete", Some(id)).if_version(version),
        3 => CommandRequest::new("update", Some(id)).with("note", note),
        _ => {
            let count = record["count"].as_u64().unwrap() + 1;
            CommandRequest::new("update", Some(id)).with("count", count).if_version(version)
        }
    }
}

/// Whether another client may have been faster.
fn may_be_refused(ask: &CommandRequest, refusal: Refusal) -> bool {
    let is_mortal = ask.id.as_deref().is_some_and(|id| MORTAL.contains(&id));
    match (ask.command, refusal) {
        ("create", Refusal::Conflict) => true,
        ("update" | "delete", Refusal::Conflict) => ask.if_version.is_some(),
        ("update" | "delete", Refusal::NotFound) => is_mortal,
        _ => false,
    }
}

/// Number of clients that send each request concurrently, each over its own connection.
const SENDERS: usize = 4;
const SHARED: usize = 3;
const ROUNDS: usize = 8;

#[test]
fn a_request_has_one_effect() {
    let directory = TempDir::new().unwrap();
    let serving = LocalServer::start(directory.path());
    let address = serving.address();
    let mut done: Vec<Done> = (0..SHARED)
        .map(|number| {
            let id = format!("shared-{number}");
            let ask = CommandRequest::new("create", Some(&id)).with("count", 0).with("note", "new");
            let result = Senders::connect(address).ask(&ask.clone().request(id)).unwrap();
            Done { ask, result }
        })
        .collect();
    let worked: Vec<Work> = thread::scope(|scope| {
        let groups: Vec<_> =
            (0..CLIENTS / SENDERS).map(|group| scope.spawn(move || work(address, group))).collect();
        groups.into_iter().map(|group| group.join().unwrap()).collect()
    });
    let records = list(address);
    let (shared, own): (Vec<Value>, Vec<Value>) = records
        .iter()
        .cloned()
        .partition(|record| record["id"].as_str().unwrap().starts_with("shared"));
    let mut left = Vec::new();
    for work in worked {
        done.extend(work.done);
        left.extend(work.left);
    }
    assert_eq!(done.len(), SHARED + CLIENTS / SENDERS * ROUNDS);
    ledger::check(&done, &shared);
    left.sort_by_key(|record| record["id"].as_str().unwrap().to_owned());
    assert_eq!(own, left);
    serving.stop();
    check_file(directory.path(), &records);
}

/// The requests of a group of senders to the shared records, and its own remaining records.
struct Work {
    done: Vec<Done>,
    left: Vec<Value>,
}

fn work(address: SocketAddr, group: usize) -> Work {
    let mut senders = Senders::connect(address);
    let mut work = Work { done: Vec::new(), left: Vec::new() };
    for round in 0..ROUNDS {
        let name = |step| format!("{step} {group}.{round}");
        // A second creation would have another id.
        let create =
            CommandRequest::new("create", None).with("count", round).with("note", name("new"));
        let created = senders.ask(&create.request(name("create"))).unwrap();
        let id = created["id"].as_str().unwrap();

        let shared = format!("shared-{}", (group + round) % SHARED);
        let ask = CommandRequest::new("update", Some(&shared)).with("note", name("note"));
        let ask = ask.request(name("update"));
        let result = senders.ask(&ask).unwrap();
        work.done.push(Done { ask, result });
        let other = CommandRequest::new("update", Some(&shared)).with("note", "another request");
        assert_eq!(senders.ask(&other.request(name("update"))), Err(Refusal::Conflict));

        let delete = CommandRequest::new("delete", Some(id)).request(name("delete"));
        assert_eq!(senders.ask(&delete), Ok(Value::Null));
        assert_eq!(senders.ask(&CommandRequest::new("read", Some(id))), Err(Refusal::NotFound));
        if round % 2 == 0 {
            work.left.push(reverted(&mut senders, &created, &name("delete")));
            assert_eq!(senders.ask(&delete), Err(Refusal::Conflict), "it was reverted");
        }
    }
    work
}

/// Reverts the deletion of a record, and returns the record.
fn reverted(senders: &mut Senders, deleted: &Value, request: &str) -> Value {
    let revert = CommandRequest::new("revert", None).with("requestId", request);
    let mut statuses: Vec<Value> =
        senders.ask_each(&revert).into_iter().map(Result::unwrap).collect();
    statuses.sort_by_key(|status| status["status"] == "noop");
    let [first, others @ ..] = &*statuses else { panic!("{SENDERS} senders") };
    assert_eq!(*first, json!({ "status": "reverted", "requestId": request }));
    for other in others {
        assert_eq!(*other, json!({ "status": "noop", "requestId": request }));
    }
    let record = senders.ask(&CommandRequest::new("read", deleted["id"].as_str())).unwrap();
    let mut expected = deleted.clone();
    expected["version"] = json!(2);
    expected["updatedAt"] = record["updatedAt"].clone();
    assert_eq!(record, expected);
    record
}

/// Connections that send the same request concurrently, in both forms.
struct Senders([Caller; SENDERS]);

impl Senders {
    fn connect(address: SocketAddr) -> Self {
        let connect = |number| Caller::connect(address, Form::of(number), TALLY).unwrap();
        Self(std::array::from_fn(connect))
    }

    /// The answer, which is the same for all.
    #[track_caller]
    fn ask(&mut self, ask: &CommandRequest) -> Answer {
        let mut answers = self.ask_each(ask);
        let answer = answers.swap_remove(0);
        for other in answers {
            assert_eq!(other, answer, "{ask:?}");
        }
        answer
    }

    /// Sends all requests before it reads an answer.
    fn ask_each(&mut self, ask: &CommandRequest) -> Vec<Answer> {
        for sender in &mut self.0 {
            sender.send(ask).unwrap();
        }
        self.0.iter_mut().map(|sender| sender.receive().unwrap()).collect()
    }
}

/// All records, which fit one page.
fn list(address: SocketAddr) -> Vec<Value> {
    let lists = [Form::Native, Form::JsonRpc].map(|form| {
        let mut caller = Caller::connect(address, form, TALLY).unwrap();
        caller.ask(&CommandRequest::new("list", None).with("limit", 1_000)).unwrap().unwrap()
    });
    assert_eq!(lists[0], lists[1]);
    let [mut list, _] = lists;
    assert_eq!(list["nextCursor"], Value::Null);
    serde_json::from_value(list["items"].take()).unwrap()
}

/// Checks that the file is sound, and holds the versions of these records and no others.
#[track_caller]
fn check_file(directory: &Path, records: &[Value]) {
    let database = sound_database(directory);
    let mut rows = database.prepare("SELECT id, version FROM records ORDER BY id").unwrap();
    let rows =
        rows.query_map((), |row| Ok(json!([row.get::<_, String>(0)?, row.get::<_, i64>(1)?])));
    let stored: Vec<Value> = rows.unwrap().map(Result::unwrap).collect();
    let told: Vec<Value> =
        records.iter().map(|record| json!([record["id"], record["version"]])).collect();
    assert_eq!(stored, told);
    let both = "SELECT count(*) FROM records JOIN deleted USING (resource, id)";
    let both: i64 = database.query_row(both, (), |row| row.get(0)).unwrap();
    assert_eq!(both, 0, "there and deleted");
}

/// Pseudo-random numbers (xorshift64).
struct Random(u64);

impl Random {
    fn below(&mut self, bound: u64) -> u64 {
        self.0 ^= self.0 << 13;
        self.0 ^= self.0 >> 7;
        self.0 ^= self.0 << 17;
        self.0 % bound
    }

    fn one_of<'a, T>(&mut self, choices: &'a [T]) -> &'a T {
        &choices[self.below(choices.len() as u64) as usize]
    }
}
