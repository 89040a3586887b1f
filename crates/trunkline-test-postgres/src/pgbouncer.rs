use std::fmt;
use std::fs;
use std::net::TcpStream;
use std::path::PathBuf;
use std::process::{Child, Stdio};
use std::time::{Duration, Instant};

use tempfile::TempDir;

use crate::server::{START_TIME, free_address, own, unprivileged, url};

/// A PgBouncer before the server, which accepts the roles of [`create_database`](crate::create_database). It ends with
/// this value.
pub struct PgBouncer {
    port: u16,
    child: Child,
    folder: TempDir,
}

/// The scope for which a client has a session of the server to itself: `pool_mode`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum PoolMode {
    /// The connection of the client.
    Session,
    /// A transaction.
    Transaction,
    /// A statement.
    Statement,
}

impl fmt::Display for PoolMode {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Session => "session",
            Self::Transaction => "transaction",
            Self::Statement => "statement",
        })
    }
}

impl PgBouncer {
    /// Starts a pooler with a number of sessions for each role and database.
    pub fn start(mode: PoolMode, sessions: usize) -> Self {
        let folder = tempfile::tempdir().unwrap();
        let port = free_address().port();
        let (_, address) = url().rsplit_once('@').unwrap();
        let (host, server_port) = address.rsplit_once(':').unwrap();
        let users = folder.path().join("users");
        fs::write(&users, "\"app\" \"\"\n\"reader\" \"\"\n\"postgres\" \"\"\n").unwrap();
        let config = format!(
            "[databases]\n* = host={host} port={server_port}\n[pgbouncer]\nlisten_addr = 127.0.0.1\n\
             listen_port = {port}\nunix_socket_dir =\nauth_type = trust\nauth_file = {}\npool_mode = {mode}\n\
             default_pool_size = {sessions}\nmax_prepared_statements = 0\nserver_round_robin = 1\n",
            users.display()
        );
        // Since 1.21.
        let config = match version() >= (1, 21) {
            true => config,
            false => config.replace("max_prepared_statements = 0\n", ""),
        };
        let file = folder.path().join("pgbouncer.ini");
        fs::write(&file, config).unwrap();
        own(folder.path());
        let child = spawn(&file, port);
        Self { port, child, folder }
    }

    /// The URL of a database for a role.
    pub fn url_of(&self, user: &str, database: &str) -> String {
        format!("postgres://{user}@127.0.0.1:{}/{database}", self.port)
    }

    /// Ends the process at once, with the connections of its clients, and starts another one.
    pub fn restart(&mut self) {
        self.end();
        self.child = spawn(&self.folder.path().join("pgbouncer.ini"), self.port);
    }

    fn end(&mut self) {
        drop(self.child.kill());
        drop(self.child.wait());
    }
}

impl fmt::Debug for PgBouncer {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("PgBouncer").field("port", &self.port).finish_non_exhaustive()
    }
}

impl Drop for PgBouncer {
    fn drop(&mut self) {
        self.end();
    }
}

const MISSING: &str = "PgBouncer is missing: `apt-get install pgbouncer`";

/// Starts the process, and waits until it accepts connections.
fn spawn(file: &PathBuf, port: u16) -> Child {
    let log = file.with_extension("log");
    let mut command = unprivileged("pgbouncer".as_ref());
    command.arg("--quiet").arg(file).stdin(Stdio::null()).stdout(Stdio::null());
    command.stderr(fs::File::options().append(true).create(true).open(&log).unwrap());
    let mut child = command.spawn().expect(MISSING);
    let deadline = Instant::now() + START_TIME;
    while TcpStream::connect(("127.0.0.1", port)).is_err() {
        let log = || fs::read_to_string(&log).unwrap_or_default();
        assert!(child.try_wait().unwrap().is_none(), "PgBouncer ended: {}", log());
        assert!(Instant::now() < deadline, "PgBouncer did not start: {}", log());
        std::thread::sleep(Duration::from_millis(20));
    }
    child
}

fn version() -> (u32, u32) {
    let output = unprivileged("pgbouncer".as_ref()).arg("--version").output().expect(MISSING);
    let text = String::from_utf8(output.stdout).unwrap();
    let number = text.split_whitespace().nth(1).unwrap();
    let mut parts = number.split('.').map(|part| part.parse().unwrap());
    (parts.next().unwrap(), parts.next().unwrap())
}
