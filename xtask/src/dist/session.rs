//! Sessions with an installed program, up to its first answer.

use std::io::{BufRead, BufReader, Write};
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::sync::mpsc;
use std::time::{Duration, Instant};

use anyhow::{Context, Result, bail, ensure};
use serde_json::{Value, json};

use crate::server_process::ServerProcess;
use crate::sqlite::{self, Insert};
use crate::workspace::{self, Workspace};

/// Deadline of the first answer. npx and uvx install the program first.
const DEADLINE: Duration = Duration::from_secs(120);
/// Polling interval of the end of a process.
const TICK: Duration = Duration::from_millis(10);

const CONTENT: &str = "the first answer";

/// Writes a small database to the folder.
pub(super) fn database(folder: &Path) -> Result<PathBuf> {
    let file = folder.join("app.db");
    let insert = Insert {
        statement: "INSERT INTO greeting VALUES (?)".to_owned(),
        rows: vec![vec![json!(CONTENT)]],
    };
    sqlite::write(&file, "CREATE TABLE greeting (text TEXT)", &[insert])?;
    Ok(file)
}

/// Starts an MCP server of the database and calls a tool. Returns the time from the start to the answer. The server must end
/// when its stdin ends.
pub(super) fn mcp(command: &mut Command) -> Result<Duration> {
    let start = Instant::now();
    let child = command.stdin(Stdio::piped()).stdout(Stdio::piped()).spawn();
    let mut server = Running(child.with_context(|| format!("cannot start {command:?}"))?);
    let mut stdin = server.0.stdin.take().context("stdin is piped")?;
    let stdout = server.0.stdout.take().context("stdout is piped")?;
    let client = json!({"name": "xtask", "version": "1"});
    let hello = json!({"protocolVersion": "2025-06-18", "capabilities": {}, "clientInfo": client});
    let call = json!({"name": "query_records", "arguments": {"table_name": "greeting"}});
    for message in [
        json!({"jsonrpc": "2.0", "id": 1, "method": "initialize", "params": hello}),
        json!({"jsonrpc": "2.0", "method": "notifications/initialized"}),
        json!({"jsonrpc": "2.0", "id": 2, "method": "tools/call", "params": call}),
    ] {
        // An error means that the process has ended, which is reported below.
        let _ = writeln!(stdin, "{message}");
    }
    let (send, receive) = mpsc::channel();
    std::thread::spawn(move || {
        for line in BufReader::new(stdout).lines().map_while(Result::ok) {
            let Ok(()) = send.send(line) else { return };
        }
    });
    loop {
        let wait = DEADLINE.saturating_sub(start.elapsed());
        let line = receive.recv_timeout(wait).context("the server did not answer")?;
        let message: Value = serde_json::from_str(&line)
            .with_context(|| format!("stdout of the server is not JSON: {line}"))?;
        if message["id"] == 2 {
            ensure!(line.contains(CONTENT), "the answer is wrong: {line}");
            break;
        }
    }
    let time = start.elapsed();
    drop(stdin);
    server.end()?;
    Ok(time)
}

/// Starts a server of the database over HTTP, and calls it with this program. Returns the time from the start to the answer.
pub(super) fn http(
    workspace: &Workspace,
    server: &mut Command,
    log: &Path,
    client: &Path,
) -> Result<Duration> {
    let start = Instant::now();
    let server = ServerProcess::start(server, log)?;
    let mut call = workspace.command(client);
    call.args(["call", &server.url, "db.query_records", "table_name=greeting", "--format=json"]);
    let answer = server.explain(workspace::output(&mut call))?;
    ensure!(answer.contains(CONTENT), "the answer is wrong: {answer}");
    Ok(start.elapsed())
}

/// A process that is killed when dropped.
struct Running(Child);

impl Running {
    fn end(&mut self) -> Result<()> {
        let start = Instant::now();
        loop {
            match self.0.try_wait()? {
                Some(status) if status.success() => return Ok(()),
                Some(status) => bail!("the server failed after its stdin ended: {status}"),
                None if start.elapsed() < DEADLINE => std::thread::sleep(TICK),
                None => bail!("the server did not end after its stdin ended"),
            }
        }
    }
}

impl Drop for Running {
    fn drop(&mut self) {
        // Both fail only if the process has already ended.
        let _ = self.0.kill();
        let _ = self.0.wait();
    }
}
