//! A database under load: clients that disconnect at any time, and a server that is killed repeatedly.
//!
//! `SOAK_SECONDS` is the duration, by default ten minutes.

use std::collections::HashMap;
use std::io::{self, BufRead, BufReader, Read, Write};
use std::net::{SocketAddr, TcpStream};
use std::sync::{Condvar, Mutex};
use std::thread::{scope, sleep};
use std::time::{Duration, Instant};

use rusqlite::Connection;
use serde_json::{Value, json};
use tempfile::TempDir;
use trunkline_test_postgres::{create_database, psql, url_of};

use crate::attack::post;
use crate::target::Target;

const CLIENTS: u64 = 32;
/// The time after which the server is killed.
const LIFE: Duration = Duration::from_secs(30);
/// Maximum wait for a reply, and for a server.
const PATIENCE: Duration = Duration::from_secs(60);
const BUDGET: usize = 256 << 20;
/// Maximum memory of a server, and maximum growth in the second half of a life, and from the first life to the last one.
const MEMORY: usize = 192 << 20;
const GROWTH: usize = 16 << 20;

const SCHEMA: &str = "CREATE TABLE ledger (client integer NOT NULL, number integer NOT NULL, content text NOT NULL, \
                      PRIMARY KEY (client, number));";

pub(crate) enum Store {
    Sqlite,
    Postgres,
}

/// A database with a table, and the arguments that serve it.
struct Ledger {
    store: Store,
    directory: TempDir,
    /// The path or the name of the database.
    location: String,
}

impl Ledger {
    fn create(store: Store) -> Self {
        let directory = TempDir::new().unwrap();
        let location = match store {
            Store::Sqlite => {
                let path = directory.path().join("ledger.db").display().to_string();
                let connection = Connection::open(&path).unwrap();
                connection.execute_batch(&format!("PRAGMA journal_mode = WAL; {SCHEMA}")).unwrap();
                path
            }
            Store::Postgres => create_database(SCHEMA),
        };
        Self { store, directory, location }
    }

    fn serve(&self) -> (Target, SocketAddr) {
        let url = match self.store {
            Store::Sqlite => self.location.clone(),
            Store::Postgres => url_of("app", &self.location),
        };
        Target::serve_in(self.directory.path(), &["--db", &url, "--writable"], BUDGET)
    }

    /// Checks the database itself, and returns its rows.
    fn rows(&self) -> HashMap<(u64, u64), String> {
        const ROWS: &str = "SELECT client, number, content FROM ledger";
        match self.store {
            Store::Sqlite => {
                let connection = Connection::open(&self.location).unwrap();
                let check = "PRAGMA integrity_check";
                let sound: String = connection.query_row(check, [], |row| row.get(0)).unwrap();
                assert_eq!(sound, "ok");
                let mut statement = connection.prepare(ROWS).unwrap();
                let read = |row: &rusqlite::Row<'_>| {
                    Ok(((row.get::<_, i64>(0)? as u64, row.get::<_, i64>(1)? as u64), row.get(2)?))
                };
                statement.query_map([], read).unwrap().collect::<Result<_, _>>().unwrap()
            }
            Store::Postgres => {
                let check = "CREATE EXTENSION amcheck; SELECT bt_index_check('ledger_pkey', true); \
                             SELECT count(*) FROM verify_heapam('ledger')";
                assert_eq!(psql("postgres", &self.location, check), ["", "0"]);
                let read = |line: String| {
                    let [client, number, content] =
                        line.split('|').collect::<Vec<_>>().try_into().unwrap();
                    ((client.parse().unwrap(), number.parse().unwrap()), content.to_owned())
                };
                psql("app", &self.location, ROWS).into_iter().map(read).collect()
            }
        }
    }

    /// A statement that reads the content of a row.
    fn lookup(&self) -> &'static str {
        match self.store {
            Store::Sqlite => "SELECT content FROM ledger WHERE client = ? AND number = ?",
            Store::Postgres => "SELECT content FROM ledger WHERE client = $1 AND number = $2",
        }
    }
}

/// The address of the current server.
#[derive(Default)]
struct Served {
    current: Mutex<Current>,
    changed: Condvar,
}

#[derive(Clone, Copy, Default)]
struct Current {
    address: Option<SocketAddr>,
    is_over: bool,
}

impl Served {
    fn set(&self, current: Current) {
        *self.current.lock().unwrap() = current;
        self.changed.notify_all();
    }

    /// The address, unless it is the one that was refused, or None at the end.
    fn address(&self, refused: Option<SocketAddr>) -> Option<SocketAddr> {
        let current = self.current.lock().unwrap();
        let is_missing = |current: &mut Current| {
            !current.is_over && (current.address.is_none() || current.address == refused)
        };
        let (current, waited) =
            self.changed.wait_timeout_while(current, PATIENCE, is_missing).unwrap();
        assert!(!waited.timed_out(), "no server within {PATIENCE:?}");
        current.address.filter(|_| !current.is_over)
    }
}

/// A client, with what it knows of its rows.
struct Client<'l> {
    ledger: &'l Ledger,
    client: u64,
    random: u64,
    /// The numbers of acknowledged rows.
    acknowledged: Vec<u64>,
    sent: u64,
    reads: u64,
    refused: u64,
    cut_off: u64,
}

impl<'l> Client<'l> {
    fn new(ledger: &'l Ledger, client: u64) -> Self {
        let random = client.wrapping_mul(0x9E37_79B9_7F4A_7C15) | 1;
        let acknowledged = Vec::new();
        Self { ledger, client, random, acknowledged, sent: 0, reads: 0, refused: 0, cut_off: 0 }
    }

    /// A number below the limit.
    fn below(&mut self, limit: u64) -> u64 {
        self.random ^= self.random << 13;
        self.random ^= self.random >> 7;
        self.random ^= self.random << 17;
        self.random % limit
    }

    fn run(mut self, served: &Served) -> Self {
        let mut refused = None;
        while let Some(address) = served.address(refused.take()) {
            let Ok(stream) = TcpStream::connect(address) else {
                refused = Some(address);
                continue;
            };
            // Ends with an error when the server is killed.
            if self.talk(stream).is_err() {
                self.cut_off += 1;
            }
        }
        self
    }

    /// Sends requests until the connection ends. One in 30 is not awaited.
    fn talk(&mut self, stream: TcpStream) -> io::Result<()> {
        stream.set_nodelay(true)?;
        stream.set_read_timeout(Some(PATIENCE))?;
        let mut stream = BufReader::new(stream);
        loop {
            let writes = self.acknowledged.is_empty() || self.below(2) == 0;
            let number = if writes { self.sent } else { self.some_acknowledged() };
            let message = post("/", &self.message(writes, number).to_string());
            self.sent += u64::from(writes);
            match self.below(60) {
                // Both may be executed or not.
                0 => return stream.get_mut().write_all(&message),
                1 => {
                    let part = self.below(message.len() as u64) as usize;
                    return stream.get_mut().write_all(&message[..part]);
                }
                _ => stream.get_mut().write_all(&message)?,
            }
            let reply = read_reply(&mut stream)?;
            if reply.get("error").is_some() {
                self.refused += 1;
            } else if writes {
                assert_eq!(reply["result"]["rows_affected"], json!(1), "{reply}");
                self.acknowledged.push(number);
            } else {
                let expected = json!([[content(self.client, number)]]);
                assert_eq!(reply["result"]["rows"], expected, "an acknowledged row: {reply}");
                self.reads += 1;
            }
        }
    }

    fn some_acknowledged(&mut self) -> u64 {
        let place = self.below(self.acknowledged.len() as u64);
        self.acknowledged[place as usize]
    }

    fn message(&self, writes: bool, number: u64) -> Value {
        let client = self.client;
        let (method, params) = if writes {
            let data =
                json!({"client": client, "number": number, "content": content(client, number)});
            ("db.insert_record", json!({"table_name": "ledger", "data": data}))
        } else {
            let query = self.ledger.lookup();
            ("db.execute_raw_query", json!({"query": query, "params": [client, number]}))
        };
        json!({"jsonrpc": "2.0", "id": number, "method": method, "params": params})
    }
}

/// The content of a row.
fn content(client: u64, number: u64) -> String {
    format!("row {number} of client {client} {}", "x".repeat((number % 100) as usize))
}

fn read_reply(stream: &mut BufReader<TcpStream>) -> io::Result<Value> {
    let mut length = None;
    loop {
        let mut line = String::new();
        if stream.read_line(&mut line)? == 0 {
            return Err(io::ErrorKind::UnexpectedEof.into());
        }
        let line = line.trim_end().to_ascii_lowercase();
        if line.is_empty() {
            break;
        }
        length = line.strip_prefix("content-length: ").map(str::to_owned).or(length);
    }
    let length = length.expect("a reply has a length").parse().unwrap();
    let mut body = vec![0; length];
    stream.read_exact(&mut body)?;
    Ok(serde_json::from_slice(&body).unwrap())
}

/// The resident memory of a server in the middle and at the end of its life.
struct Life {
    middle: usize,
    end: usize,
}

/// Runs the clients, kills the server repeatedly, and compares the database with what was acknowledged.
pub(crate) fn check(name: &str, store: Store) {
    let seconds = std::env::var("SOAK_SECONDS").map_or(600, |text| text.parse().unwrap());
    let life = LIFE.min(Duration::from_secs(seconds) / 3);
    let ledger = Ledger::create(store);
    let served = Served::default();
    let mut lives = Vec::new();
    let clients: Vec<Client<'_>> = scope(|scope| {
        let clients: Vec<_> = (0..CLIENTS)
            .map(|client| {
                let client = Client::new(&ledger, client);
                scope.spawn(|| client.run(&served))
            })
            .collect();
        let begun = Instant::now();
        while begun.elapsed() < Duration::from_secs(seconds) {
            let (target, address) = ledger.serve();
            served.set(Current { address: Some(address), is_over: false });
            sleep(life / 2);
            let middle = target.memory();
            sleep(life / 2);
            lives.push(Life { middle, end: target.memory() });
            let failed = clients.iter().filter(|client| client.is_finished()).count();
            assert_eq!(failed, 0, "{name}: {failed} clients failed");
            // Kills it.
            drop(target);
        }
        served.set(Current { address: None, is_over: true });
        clients.into_iter().map(|client| client.join().unwrap()).collect()
    });
    // Recovers the database.
    drop(ledger.serve());
    let rows = ledger.rows();
    for client in &clients {
        for number in &client.acknowledged {
            let found = rows.get(&(client.client, *number));
            assert_eq!(
                found,
                Some(&content(client.client, *number)),
                "{name}: an acknowledged row"
            );
        }
    }
    for ((client, number), found) in &rows {
        assert!(*number < clients[*client as usize].sent, "{name}: row {number} was not sent");
        assert_eq!(*found, content(*client, *number), "{name}: row {number} of client {client}");
    }
    let sum = |count: fn(&Client<'_>) -> u64| clients.iter().map(count).sum::<u64>();
    let acknowledged = sum(|client| client.acknowledged.len() as u64);
    let [first, last] = [lives.first(), lives.last()].map(|life| life.unwrap().end);
    let peak = lives.iter().map(|life| life.end).max().unwrap();
    let growth = lives.iter().map(|life| life.end.saturating_sub(life.middle)).max().unwrap();
    println!(
        "{name}: {kills} kills in {seconds} s; {acknowledged} acknowledged writes, none lost, of {sent}; {stored} \
         rows; {reads} reads, {refused} errors, {cut_off} interrupted connections; {first} MiB at the end of the \
         first life, {last} MiB at that of the last, {peak} MiB at most, growth in the second half of a life at most \
         {growth} KiB",
        kills = lives.len(),
        sent = sum(|client| client.sent),
        stored = rows.len(),
        reads = sum(|client| client.reads),
        refused = sum(|client| client.refused),
        cut_off = sum(|client| client.cut_off),
        first = first >> 20,
        last = last >> 20,
        peak = peak >> 20,
        growth = growth >> 10,
    );
    assert!(acknowledged >= 10 * lives.len() as u64, "{name}: {acknowledged} acknowledged writes");
    assert!(peak <= MEMORY, "{name}: {} MiB", peak >> 20);
    assert!(growth <= GROWTH, "{name}: a server grew by {} KiB in the second half", growth >> 10);
    assert!(last <= first + GROWTH, "{name}: from {} to {} MiB", first >> 20, last >> 20);
}
