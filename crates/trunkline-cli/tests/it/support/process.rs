use std::fs;
use std::net::SocketAddr;
use std::path::Path;
use std::process::{Child, Command, Stdio};
use std::sync::{Condvar, Mutex, PoisonError};
use std::thread::ThreadId;
use std::time::{Duration, Instant};

use serde_json::{Value, json};
use tempfile::TempDir;

use super::http::{Connection, Reply, post};
use super::pipe::Pipe;

/// The servers that run. One of a test that measures time runs alone.
static MACHINE: Mutex<Machine> =
    Mutex::new(Machine { servers: Vec::new(), is_alone: false, waiting: 0 });

/// Notified when a server has ended.
static ENDED: Condvar = Condvar::new();

struct Machine {
    /// The threads that have started them.
    servers: Vec<ThreadId>,
    is_alone: bool,
    /// The number of tests that wait for their turn alone.
    waiting: usize,
}

/// A place on the machine, until it is dropped.
struct Place(ThreadId);

impl Place {
    /// A thread that has a server gets another place at once, since the tests that wait to be alone wait for it.
    /// Therefore, all servers of a test must be started by the same thread.
    fn shared() -> Self {
        let thread = std::thread::current().id();
        let machine = MACHINE.lock().unwrap_or_else(PoisonError::into_inner);
        let is_refused = |machine: &mut Machine| {
            (machine.is_alone || machine.waiting > 0) && !machine.servers.contains(&thread)
        };
        let machine = ENDED.wait_while(machine, is_refused);
        machine.unwrap_or_else(PoisonError::into_inner).servers.push(thread);
        Self(thread)
    }

    fn alone() -> Self {
        let thread = std::thread::current().id();
        let mut machine = MACHINE.lock().unwrap_or_else(PoisonError::into_inner);
        assert!(!machine.servers.contains(&thread), "the test would wait for its own server");
        machine.waiting += 1;
        let machine = ENDED.wait_while(machine, |machine| !machine.servers.is_empty());
        let mut machine = machine.unwrap_or_else(PoisonError::into_inner);
        machine.waiting -= 1;
        machine.is_alone = true;
        machine.servers.push(thread);
        Self(thread)
    }
}

impl Drop for Place {
    fn drop(&mut self) {
        let mut machine = MACHINE.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(index) = machine.servers.iter().position(|thread| *thread == self.0) {
            machine.servers.swap_remove(index);
        }
        machine.is_alone &= !machine.servers.is_empty();
        ENDED.notify_all();
    }
}

/// The binary, in a directory, without the settings of the environment.
pub(crate) fn trunkline(folder: &Path) -> Command {
    let mut command = Command::new(env!("CARGO_BIN_EXE_trunkline"));
    remove_settings(&mut command);
    command.current_dir(folder).stdin(Stdio::null());
    command.stdout(Stdio::piped()).stderr(Stdio::piped());
    command
}

/// Removes what the environment of the tests sets for the program and for its colours.
pub(super) fn remove_settings(command: &mut Command) {
    let colours = ["CI", "NO_COLOR", "CLICOLOR", "CLICOLOR_FORCE"];
    let is_setting = |name: &str| {
        let prefixes = ["TRUNKLINE_", "RUST_LOG", "OTEL_"];
        prefixes.iter().any(|prefix| name.starts_with(prefix)) || colours.contains(&name)
    };
    for (name, _) in std::env::vars_os() {
        if name.to_str().is_some_and(is_setting) {
            command.env_remove(name);
        }
    }
}

/// Whether a process runs. A zombie does not.
pub(crate) fn runs(pid: &str) -> bool {
    // The state follows the name, which is in parentheses (proc(5)).
    let stat = fs::read_to_string(format!("/proc/{pid}/stat")).unwrap_or_default();
    stat.rsplit_once(") ").is_some_and(|(_, state)| !state.starts_with('Z'))
}

/// The CPU time of a process and its children, also of those that have ended.
pub(crate) fn cpu_time(process: u32) -> Duration {
    let processes = fs::read_dir("/proc").unwrap().filter_map(|entry| {
        let stat = fs::read_to_string(entry.unwrap().path().join("stat")).ok()?;
        let (pid, _) = stat.split_once(' ')?;
        let (_, rest) = stat.rsplit_once(") ")?;
        let fields: Vec<u32> = rest.split(' ').map(|field| field.parse().unwrap_or(0)).collect();
        // proc(5): the third field is the first one here. The 4th is the parent; the 14th to 17th are the times.
        let [user, system, of_children_1, of_children_2] = fields[11..15].try_into().unwrap();
        let ticks = match (pid == process.to_string(), fields[1] == process) {
            (true, _) => user + system + of_children_1 + of_children_2,
            (false, true) => user + system,
            (false, false) => return None,
        };
        // `USER_HZ` is always 100.
        Some(Duration::from_millis(10) * ticks)
    });
    processes.sum()
}

/// A process that has ended.
#[derive(Debug)]
pub(crate) struct Ended {
    /// None if a signal killed it.
    pub(crate) code: Option<i32>,
    pub(crate) stdout: String,
    pub(crate) stderr: String,
    pub(crate) took: Duration,
}

/// Runs a command that is expected to end by itself.
pub(crate) fn run(command: &mut Command) -> Ended {
    Process::spawn(command).end()
}

/// A running server. Dropped, it is killed.
pub(crate) struct Server {
    pub(crate) address: SocketAddr,
    process: Process,
    /// The data directory, unless the command has one.
    _data: Option<TempDir>,
    _place: Place,
}

impl Server {
    /// A server of a database file, on a free port.
    pub(crate) fn of(database: &Path) -> Self {
        Self::start(Self::command_of(database))
    }

    /// The same, while no other server runs.
    pub(crate) fn alone_of(database: &Path) -> Self {
        Self::start_alone(Self::command_of(database))
    }

    fn command_of(database: &Path) -> Command {
        let mut command = trunkline(database.parent().unwrap());
        command.args(["--listen", "127.0.0.1:0", "--db"]).arg(database);
        command
    }

    /// Starts the command, and returns when the server listens.
    pub(crate) fn start(command: Command) -> Self {
        Self::start_with(command, Place::shared())
    }

    /// The same, while no other server runs.
    pub(crate) fn start_alone(command: Command) -> Self {
        Self::start_with(command, Place::alone())
    }

    /// Starts the command without a data directory. The other functions set a temporary one, which turns records on.
    pub(crate) fn start_without_data_directory(command: Command) -> Self {
        Self::start_on(command, None, Place::shared())
    }

    fn start_with(mut command: Command, place: Place) -> Self {
        let data = separate_data_directory(&mut command);
        Self::start_on(command, Some(data), place)
    }

    fn start_on(mut command: Command, data: Option<TempDir>, place: Place) -> Self {
        let mut process = Process::spawn(&mut command);
        let found = process.stdout.find(|line| line.contains("listening"));
        let Some(line) = found else {
            panic!("the server does not listen: {:?}", process.end());
        };
        let address = address(&line);
        Self { address, process, _data: data, _place: place }
    }

    /// A server whose stdout is not read; its address is taken from the log.
    pub(crate) fn start_unheard(mut command: Command) -> Self {
        let place = Place::shared();
        let data = separate_data_directory(&mut command);
        let mut process = Process::spawn(&mut command);
        let Some(line) = process.stderr.find(|line| line.contains("server is running")) else {
            panic!("the server does not listen: {:?}", process.end());
        };
        let address = line.split_once("address=").unwrap().1.trim().parse().unwrap();
        Self { address, process, _data: Some(data), _place: place }
    }

    /// The output of the start.
    pub(crate) fn banner(&mut self) -> String {
        self.process.stdout.find(|line| line.contains("mcp add")).unwrap();
        self.process.stdout.seen().to_owned()
    }

    pub(crate) fn connect(&self) -> Connection {
        Connection::open(self.address)
    }

    /// Sends a body to `/` on a new connection.
    pub(crate) fn post(&self, body: &Value) -> Reply {
        self.connect().ask(&post("/", &[], body))
    }

    /// Calls a method on a new connection, and returns the response object.
    pub(crate) fn call(&self, method: &str, params: &Value) -> Value {
        let reply =
            self.post(&json!({"jsonrpc": "2.0", "id": 1, "method": method, "params": params}));
        assert_eq!(reply.status, 200, "{method} {params}");
        reply.json()
    }

    /// Calls `db.execute_raw_query`, and returns the rows or the error object.
    pub(crate) fn sql(&self, params: &Value) -> Result<Value, Value> {
        let mut response = self.call("db.execute_raw_query", params);
        match response.get("error") {
            Some(error) => Err(error.clone()),
            None => Ok(response["result"]["rows"].take()),
        }
    }

    /// Waits until every reader runs a query.
    pub(crate) fn until_all_readers_run(&self) {
        let deadline = Instant::now() + super::PATIENCE;
        while Instant::now() < deadline {
            match self.sql(&json!({"query": "SELECT 1", "timeout_ms": 20})) {
                Err(error) if error["data"]["kind"] == "busy" => return,
                _ => {}
            }
        }
        panic!("a reader is always free");
    }

    /// The peak memory of the process in bytes.
    pub(crate) fn peak_memory(&self) -> u64 {
        let status = fs::read_to_string(format!("/proc/{}/status", self.process.id())).unwrap();
        let line = status.lines().find_map(|line| line.strip_prefix("VmHWM:")).unwrap();
        let kib: u64 = line.trim().strip_suffix("kB").unwrap().trim().parse().unwrap();
        kib * 1024
    }

    /// The niceness of the threads of this name.
    pub(crate) fn priorities(&self, name: &str) -> Vec<i32> {
        let threads = fs::read_dir(format!("/proc/{}/task", self.process.id())).unwrap();
        let stats = threads.filter_map(|thread| {
            // A thread may end meanwhile.
            fs::read_to_string(thread.unwrap().path().join("stat")).ok()
        });
        // `id (name) state …`: the niceness is the 19th field.
        let priority = |stat: String| {
            let (head, rest) = stat.rsplit_once(") ").unwrap();
            let is_named = head.ends_with(&format!("({name}"));
            is_named.then(|| rest.split(' ').nth(16).unwrap().parse().unwrap())
        };
        stats.filter_map(priority).collect()
    }

    /// The id of the process.
    pub(crate) fn process(&self) -> u32 {
        self.process.id()
    }

    /// Sends a signal, by its name without `SIG`.
    pub(crate) fn signal(&self, name: &str) {
        self.signals(name, 1);
    }

    /// Sends a signal several times, as fast as possible.
    pub(crate) fn signals(&self, name: &str, times: u32) {
        // `kill` of the shell: a container may have no program.
        let script = format!(
            "i=0; while [ $i -lt {times} ]; do kill -{name} {} || exit; i=$((i+1)); done",
            self.process.id()
        );
        assert!(Command::new("sh").args(["-c", &script]).status().unwrap().success());
    }

    /// Waits until it has ended.
    pub(crate) fn end(self) -> Ended {
        self.process.end()
    }

    /// Stops it with SIGTERM, like a service manager.
    pub(crate) fn stop(self) -> Ended {
        self.signal("TERM");
        self.end()
    }
}

fn separate_data_directory(command: &mut Command) -> TempDir {
    let data = tempfile::tempdir().unwrap();
    command.env("TRUNKLINE_DATA_DIR", data.path());
    data
}

/// From `listening http://127.0.0.1:1234`.
fn address(line: &str) -> SocketAddr {
    let mut words = line.split_whitespace();
    let url = words
        .find_map(|word| word.strip_prefix("http")?.trim_start_matches('s').strip_prefix("://"));
    url.and_then(|address| address.parse().ok()).unwrap_or_else(|| panic!("no address in {line:?}"))
}

struct Process {
    child: Child,
    stdout: Pipe,
    stderr: Pipe,
}

impl Process {
    fn spawn(command: &mut Command) -> Self {
        let mut child = command.spawn().unwrap();
        let stdout = child.stdout.take().map_or_else(|| Pipe::of(std::io::empty()), Pipe::of);
        let stderr = child.stderr.take().map_or_else(|| Pipe::of(std::io::empty()), Pipe::of);
        Self { child, stdout, stderr }
    }

    fn id(&self) -> u32 {
        self.child.id()
    }

    /// Waits until it has ended, which closes its pipes.
    fn end(mut self) -> Ended {
        let started = Instant::now();
        let stdout = self.stdout.rest();
        let stderr = self.stderr.rest();
        let code = self.child.wait().unwrap().code();
        Ended { code, stdout, stderr, took: started.elapsed() }
    }
}

impl Drop for Process {
    fn drop(&mut self) {
        // Both fail if it has ended already.
        drop(self.child.kill());
        drop(self.child.wait());
    }
}
