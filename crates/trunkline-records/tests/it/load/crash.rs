//! A server that is killed repeatedly while clients write to the same files.
#![expect(clippy::print_stdout, reason = "a child process reports its address")]

use std::collections::BTreeMap;
use std::io::{self, BufRead, BufReader, Read};
use std::net::SocketAddr;
use std::path::Path;
use std::process::{Child, Command, Stdio};
use std::sync::mpsc::{self, Sender};
use std::thread;
use std::time::Duration;

use serde_json::{Value, json};
use tempfile::TempDir;

use super::caller::{Answer, Caller, CommandRequest, Form, Refusal};
use super::serving::{LocalServer, TALLY, sound_database};

const CLIENTS: usize = 16;
const ROUNDS: usize = 5;
/// Number of acknowledged writes before the server is killed.
const ACKNOWLEDGED: usize = 300;
/// Number of requests after which a record is deleted and recreated.
const LIFE: usize = 7;

/// Timeout of a step.
const DEADLINE: Duration = Duration::from_secs(60);

/// Set in the child process to the data directory.
const DIRECTORY: &str = "TRUNKLINE_JOBS_CRASH_DIRECTORY";

#[test]
fn acknowledged_writes_survive_a_kill() {
    if let Some(directory) = std::env::var_os(DIRECTORY) {
        return serve(Path::new(&directory));
    }
    let directory = TempDir::new().unwrap();
    let mut clients: Vec<Client> = (0..CLIENTS).map(Client::new).collect();
    for round in 1..=ROUNDS {
        let mut server = Server::start(directory.path());
        for client in &mut clients {
            client.resume(server.address);
        }
        check_store(directory.path());
        write_until_killed(&mut clients, &mut server);
        let known = clients.iter().map(|client| client.acknowledged.len()).sum::<usize>();
        assert!(known >= round * ACKNOWLEDGED, "{known} in {round} rounds");
    }
    let server = Server::start(directory.path());
    thread::scope(|scope| {
        for client in &mut clients {
            scope.spawn(|| {
                client.resume(server.address);
                client.repeat_all(server.address);
            });
        }
    });
    check_store(directory.path());
    server.stop();
    check_store(directory.path());
}

/// All clients write concurrently; the server is killed after a number of acknowledged writes.
fn write_until_killed(clients: &mut [Client], server: &mut Server) {
    thread::scope(|scope| {
        let (sender, acknowledged) = mpsc::channel();
        let address = server.address;
        for client in clients {
            let sender = sender.clone();
            scope.spawn(move || client.write(address, &sender));
        }
        // Otherwise the channel would stay open after all clients have failed.
        drop(sender);
        for _ in 0..ACKNOWLEDGED {
            acknowledged.recv_timeout(DEADLINE).expect("writes are acknowledged");
        }
        server.child.kill().unwrap();
    });
}

/// A client with its own record, whose requests have ids.
struct Client {
    number: usize,
    /// The acknowledged requests and their results, in order.
    acknowledged: Vec<(CommandRequest, Value)>,
    /// The last request, if it was not answered.
    pending: Option<CommandRequest>,
    /// The last known record; `None` if it was deleted.
    record: Option<Value>,
    version: u64,
}

impl Client {
    fn new(number: usize) -> Self {
        Self { number, acknowledged: Vec::new(), pending: None, record: None, version: 0 }
    }

    fn connect(&self, address: SocketAddr) -> Caller {
        Caller::connect(address, Form::of(self.number), TALLY).unwrap()
    }

    fn id(&self) -> String {
        format!("record-{}", self.number)
    }

    fn next(&self) -> CommandRequest {
        let step = self.acknowledged.len();
        let id = Some(self.id());
        let ask = match step % LIFE {
            0 => {
                CommandRequest::new("create", id.as_deref()).with("note", "new").with("count", step)
            }
            number if number + 1 == LIFE => CommandRequest::new("delete", id.as_deref()),
            _ => CommandRequest::new("update", id.as_deref()).with("count", step),
        };
        ask.request(format!("client {}, step {step}", self.number))
    }

    /// Writes until the connection breaks.
    fn write(&mut self, address: SocketAddr, sender: &Sender<()>) {
        // The server may already be killed.
        let Ok(mut caller) = Caller::connect(address, Form::of(self.number), TALLY) else { return };
        loop {
            let ask = self.next();
            let Ok(answer) = caller.ask(&ask) else {
                self.pending = Some(ask);
                return;
            };
            self.acknowledge(ask, answer.unwrap());
            // The receiver is gone once the server is to be killed.
            let _ = sender.send(());
        }
    }

    /// Checks a result, and stores it.
    fn acknowledge(&mut self, ask: CommandRequest, result: Value) {
        assert_eq!(result, self.expected(&ask, &result), "{ask:?}");
        if let Some(version) = result["version"].as_u64() {
            self.version = version;
        }
        self.record = Some(result.clone()).filter(|result| !result.is_null());
        self.acknowledged.push((ask, result));
    }

    /// The expected result of a request, with the times of `found`.
    fn expected(&self, ask: &CommandRequest, found: &Value) -> Value {
        let mut expected = match (ask.command, &self.record) {
            ("delete", Some(_)) => return Value::Null,
            ("update", Some(record)) => record.clone(),
            ("create", None) => json!({ "id": self.id(), "createdAt": found["createdAt"] }),
            (_, record) => panic!("{ask:?} of {record:?}"),
        };
        for (name, value) in &ask.payload {
            expected[name] = value.clone();
        }
        expected["version"] = json!(self.version + 1);
        expected["updatedAt"] = found["updatedAt"].clone();
        expected
    }

    /// After a restart, the record is the last known one, or the result of the pending request. Sent again, that request
    /// has had exactly one effect.
    fn resume(&mut self, address: SocketAddr) {
        let mut caller = self.connect(address);
        let found = read(&mut caller, &self.id());
        let pending = self.pending.take();
        if found != self.record.clone().unwrap_or_default() {
            let pending = pending.as_ref().expect("nothing was under way");
            assert_eq!(found, self.expected(pending, &found), "neither old nor new");
        }
        if let Some((ask, result)) = self.acknowledged.last() {
            assert_eq!(caller.ask(ask).unwrap().as_ref(), Ok(result));
        }
        if let Some(ask) = pending {
            let result = caller.ask(&ask).unwrap().unwrap();
            self.acknowledge(ask, result);
        }
        assert_eq!(read(&mut caller, &self.id()), self.record.clone().unwrap_or_default());
    }

    /// Sends each request again, which returns the same result.
    fn repeat_all(&self, address: SocketAddr) {
        let mut caller = self.connect(address);
        for (ask, result) in &self.acknowledged {
            assert_eq!(caller.ask(ask).unwrap().as_ref(), Ok(result), "{ask:?}");
        }
        assert_eq!(read(&mut caller, &self.id()), self.record.clone().unwrap_or_default());
    }
}

/// A record, or null.
fn read(caller: &mut Caller, id: &str) -> Value {
    let answer: Answer = caller.ask(&CommandRequest::new("read", Some(id))).unwrap();
    assert!(answer.is_ok() || answer == Err(Refusal::NotFound));
    answer.unwrap_or_default()
}

/// Checks the integrity of the file, and that the records match the stored requests: no request without its effect, and
/// no effect without its request.
#[track_caller]
fn check_store(directory: &Path) {
    let database = sound_database(directory);
    let mut made: BTreeMap<String, (i64, Option<Value>)> = BTreeMap::new();
    let requests = "SELECT id, command, reply, after_state FROM requests
                    ORDER BY id, CAST(substr(request_id, instr(request_id, 'step ') + 5) AS INTEGER)";
    let mut requests = database.prepare(requests).unwrap();
    let mut rows = requests.query(()).unwrap();
    while let Some(row) = rows.next().unwrap() {
        let (id, command): (String, String) = (row.get(0).unwrap(), row.get(1).unwrap());
        let reply: Value = serde_json::from_str(&row.get::<_, String>(2).unwrap()).unwrap();
        let (version, record) = made.entry(id).or_default();
        assert_eq!(record.is_none(), command == "create", "{command} of {record:?}");
        if command == "delete" {
            assert_eq!(reply, Value::Null);
            *record = None;
        } else {
            *version += 1;
            assert_eq!(row.get::<_, i64>(3).unwrap(), *version, "{reply}");
            assert_eq!(reply["version"], *version, "{reply}");
            *record = Some(reply);
        }
    }
    let mut stored: BTreeMap<String, (i64, Option<Value>)> = BTreeMap::new();
    let records = "SELECT id, version, fields FROM records
                   UNION ALL SELECT id, version, NULL FROM deleted";
    let mut records = database.prepare(records).unwrap();
    let mut rows = records.query(()).unwrap();
    while let Some(row) = rows.next().unwrap() {
        let fields: Option<String> = row.get(2).unwrap();
        let fields = fields.map(|fields| serde_json::from_str(&fields).unwrap());
        let twin = stored.insert(row.get(0).unwrap(), (row.get(1).unwrap(), fields));
        assert_eq!(twin, None, "there and deleted");
    }
    let fields = |record: Value| json!({ "count": record["count"], "note": record["note"] });
    let made: BTreeMap<_, _> = made
        .into_iter()
        .map(|(id, (version, record))| (id, (version, record.map(fields))))
        .collect();
    assert_eq!(stored, made);
}

/// Serves until stdin ends, so that no server outlives the test.
fn serve(directory: &Path) {
    let serving = LocalServer::start(directory);
    // The line of the test's name has no end yet.
    println!("\nlistening on {}", serving.address());
    io::stdin().read_to_end(&mut Vec::new()).unwrap();
    serving.stop();
}

/// This test as a child process, which runs the server.
struct Server {
    child: Child,
    address: SocketAddr,
}

impl Server {
    fn start(directory: &Path) -> Self {
        let mut child = Command::new(std::env::current_exe().unwrap())
            .args(["--exact", "load::crash::acknowledged_writes_survive_a_kill", "--nocapture"])
            .env(DIRECTORY, directory)
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .spawn()
            .unwrap();
        let stdout = BufReader::new(child.stdout.take().unwrap());
        let (send, address) = mpsc::channel();
        // It reads to the end, so that the server never blocks on a full pipe.
        thread::spawn(move || {
            for line in stdout.lines().map_while(Result::ok) {
                if let Some(address) = line.strip_prefix("listening on ") {
                    // The receiver is gone after the address.
                    let _ = send.send(address.parse().unwrap());
                }
            }
        });
        let address = address.recv_timeout(DEADLINE);
        let address = address.inspect_err(|_| drop(child.kill())).expect("the server starts");
        Self { child, address }
    }

    /// Ends it in order.
    fn stop(mut self) {
        drop(self.child.stdin.take());
        assert!(self.child.wait().unwrap().success());
    }
}

impl Drop for Server {
    fn drop(&mut self) {
        // Either fails only when the process is gone already.
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}
