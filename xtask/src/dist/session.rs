//! Sessions with an installed program, up to its first answer.

use std::fs::{self, File};
use std::io::Write;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::time::{Duration, Instant};

use anyhow::{Context, Result, ensure};
use serde_json::{Value, json};

use crate::server_process::ServerProcess;
use crate::sqlite::{self, Insert};
use crate::workspace::{self, Process, Workspace, wait_for};

/// Deadline of the first answer. npx and uvx install the program first.
const DEADLINE: Duration = Duration::from_secs(120);

const CONTENT: &str = "the first answer";

/// Writes a small database to the folder.
pub(super) fn database(folder: &Path) -> Result<PathBuf> {
    let file = folder.join("app.db");
    let statement = "INSERT INTO greeting VALUES (?)".to_owned();
    let insert = Insert { statement, rows: vec![vec![json!(CONTENT)]] };
    sqlite::write(&file, "CREATE TABLE greeting (text TEXT)", &[insert])?;
    Ok(file)
}

/// Starts an MCP server of the database and calls a tool. Returns the time from the start to the answer. The server must end
/// when its stdin ends. The folder is that of its output.
pub(super) fn mcp(command: &mut Command, folder: &Path) -> Result<Duration> {
    let printed = folder.join("stdout.jsonl");
    let start = Instant::now();
    command.stdin(Stdio::piped()).stdout(File::create(&printed)?);
    let mut server = Process::start(command)?;
    let mut stdin = server.0.stdin.take().context("stdin is piped")?;
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
    let poll = || {
        let lines = fs::read_to_string(&printed)?;
        ensure!(server.0.try_wait()?.is_none(), "the server has ended: {lines}");
        for line in lines.split_inclusive('\n').filter(|line| line.ends_with('\n')) {
            let message: Value =
                serde_json::from_str(line).with_context(|| format!("not JSON: {line}"))?;
            if message["id"] == 2 {
                ensure!(line.contains(CONTENT), "the answer is wrong: {line}");
                return Ok(Some(start.elapsed()));
            }
        }
        Ok(None)
    };
    let time = wait_for(DEADLINE, poll, || "the server did not answer".to_owned())?;
    drop(stdin);
    let unended = || "the server did not end after its stdin ended".to_owned();
    let status = wait_for(DEADLINE, || Ok(server.0.try_wait()?), unended)?;
    ensure!(status.success(), "the server failed after its stdin ended: {status}");
    Ok(time)
}

/// Starts a server of the database over HTTP, and calls it with this program.
pub(super) fn http(
    workspace: &Workspace,
    server: &mut Command,
    log: &Path,
    client: &Path,
) -> Result<()> {
    let server = ServerProcess::start(server, log)?;
    let mut call = workspace.command(client);
    call.args(["call", &server.url, "db.query_records", "table_name=greeting", "--format=json"]);
    let answer = server.explain(workspace::output(&mut call))?;
    ensure!(answer.contains(CONTENT), "the answer is wrong: {answer}");
    Ok(())
}
