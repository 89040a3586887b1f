//! User instructions per request, counted by callgrind. They repeat within a percent on a noisy machine.

use std::fmt;
use std::io::{BufRead, BufReader, Read, Write};
use std::net::{TcpListener, TcpStream};
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant};

use anyhow::{Context, Result, bail, ensure};
use serde::Serialize;

use super::contender::{Case, Contender};
use super::goals::{Goal, Verdict};
use super::spread::Spread;
use crate::workspace::{self, Workspace};

#[derive(Serialize)]
pub(super) struct Report(Vec<Row>);

#[derive(Serialize)]
struct Row {
    server: &'static str,
    case: &'static str,
    instructions: f64,
}

/// A request that is sent again and again over one connection.
struct Request {
    case: &'static str,
    path: &'static str,
    headers: &'static [&'static str],
    body: String,
    /// What each reply contains.
    expected: &'static str,
    /// The number of requests that are counted.
    count: u32,
}

const SERVE: &str = "trunkline serve";
const SERVE_WITHOUT_HISTORY: &str = "trunkline serve --no-history";
const UNKNOWN: &str = "unknown method";
const SELECT: &str = "5-row SELECT";

const UNKNOWN_BODY: &str =
    r#"{"jsonrpc":"2.0","method":"unknown.method","params":{"a":40,"b":2},"id":1}"#;
const SELECT_BODY: &str = r#"{"jsonrpc":"2.0","method":"db.execute_raw_query","params":{"query":"SELECT c_custkey, c_name, c_acctbal FROM customer LIMIT 5"},"id":1}"#;

/// A case, the two servers whose counts are divided, and the largest ratio that is accepted.
const GOALS: [(&str, &str, &str, f64); 5] = [
    ("single call", "ours", "axum_serde", 0.95),
    ("batch of 100", "ours", "axum_serde", 0.90),
    ("batch of 100", "ours", "peer_jsonrpsee", 0.24),
    (UNKNOWN, SERVE, "ours", 1.5),
    (SELECT, SERVE, SERVE_WITHOUT_HISTORY, 1.15),
];

/// The cost of `tools/call` above an HTTP server that does nothing, divided by that of rmcp.
const TOOL_GOAL: f64 = 0.13;

/// The cost of the SELECT without history above that of an unknown method.
const SELECT_GOAL: f64 = 40_000.0;

/// Part of every result.
const RESULT: &str = "\"result\"";

const DEADLINE: Duration = Duration::from_secs(60);

/// Measures the servers of `bench/`, which are built already, and the binary.
pub(super) fn measure(workspace: &Workspace, binaries: &Path) -> Result<Report> {
    let mut rows = Vec::new();
    let contenders = [
        (Contender::Floor, [Case::Single, Case::Batch]),
        (Contender::AxumSerde, [Case::Single, Case::Batch]),
        (Contender::Ours, [Case::Single, Case::Batch]),
        (Contender::PeerJsonrpsee, [Case::Single, Case::Batch]),
        (Contender::PeerAjj, [Case::Single, Case::Batch]),
        (Contender::McpOurs, [Case::LegacyTool, Case::ModernTool]),
        (Contender::McpRmcp, [Case::LegacyTool, Case::ModernTool]),
    ];
    for (contender, cases) in contenders {
        let name = contender.binary();
        eprintln!("instructions of {name}");
        let mut command = callgrind(workspace, name)?;
        command.arg(binaries.join(name)).args(["--listen", "127.0.0.1:0"]);
        let mut server = Counted::announced(command, callgrind_file(workspace, name))?;
        let requests = cases.into_iter().map(|case| Request::of(workspace, case));
        let mut requests = requests.collect::<Result<Vec<_>>>()?;
        if contender == Contender::Ours {
            requests.push(Request::unknown());
        }
        for request in requests {
            let instructions = server.count(&request)?;
            rows.push(Row { server: name, case: request.case, instructions });
        }
    }
    eprintln!("building the server in release");
    workspace::output(&mut workspace.cargo(["build", "--release", "-p", "trunkline-cli"]))?;
    let binary = workspace.path("target/release/trunkline");
    for (name, extra) in [(SERVE, None), (SERVE_WITHOUT_HISTORY, Some("--no-history"))] {
        eprintln!("instructions of {name}");
        let folder = workspace.fresh_folder("target/bench/instructions")?;
        let address = free_address()?;
        let file = name.replace(' ', "_");
        let mut command = callgrind(workspace, &file)?;
        command.arg(&binary).args(["serve", "--sample", "--listen", &address]).args(extra);
        command.arg("--db").arg(folder.join("sample.db"));
        command.arg("--data-dir").arg(folder.join("data"));
        // With its thresholds set, the server does not execute itself anew to set them.
        command.env("MALLOC_TRIM_THRESHOLD_", "1048576").stderr(Stdio::null());
        let mut server = Counted::listening(command, callgrind_file(workspace, &file), address)?;
        for request in [Request::unknown(), Request::select()] {
            let instructions = server.count(&request)?;
            rows.push(Row { server: name, case: request.case, instructions });
        }
    }
    Ok(Report(rows))
}

fn callgrind_file(workspace: &Workspace, name: &str) -> PathBuf {
    workspace.path(format!("target/bench/callgrind.{name}"))
}

fn callgrind(workspace: &Workspace, name: &str) -> Result<Command> {
    let out = callgrind_file(workspace, name);
    if let Some(folder) = out.parent() {
        std::fs::create_dir_all(folder)?;
    }
    let mut command = Command::new("valgrind");
    command.arg("--tool=callgrind").arg(format!("--callgrind-out-file={}", out.display()));
    command.stdin(Stdio::null()).stdout(Stdio::piped());
    let log = out.with_extension("log");
    command.stderr(std::fs::File::create(log)?);
    Ok(command)
}

fn free_address() -> Result<String> {
    Ok(TcpListener::bind("127.0.0.1:0")?.local_addr()?.to_string())
}

/// A server under callgrind.
struct Counted {
    child: Child,
    address: String,
    /// Dumps are files with this name and a number.
    out: PathBuf,
    dumps: u32,
}

impl Counted {
    /// A server whose first line has its address.
    fn announced(mut command: Command, out: PathBuf) -> Result<Self> {
        let mut server = Self::start(&mut command, out)?;
        let stdout = server.child.stdout.take().context("stdout is piped")?;
        let mut line = String::new();
        BufReader::new(stdout).read_line(&mut line)?;
        let address = line.trim().strip_prefix("listening on http://");
        server.address = address.with_context(|| format!("it printed {line:?}"))?.to_owned();
        Ok(server)
    }

    /// A server that will listen at this address.
    fn listening(mut command: Command, out: PathBuf, address: String) -> Result<Self> {
        let mut server = Self::start(command.stdout(Stdio::null()), out)?;
        server.address = address;
        let start = Instant::now();
        while TcpStream::connect(&server.address).is_err() {
            ensure!(start.elapsed() < DEADLINE, "{} does not listen", server.address);
            std::thread::sleep(Duration::from_millis(50));
        }
        Ok(server)
    }

    fn start(command: &mut Command, out: PathBuf) -> Result<Self> {
        let child = command.spawn().context("cannot start `valgrind` (Debian package valgrind)")?;
        Ok(Self { child, address: String::new(), out, dumps: 0 })
    }

    /// Instructions per request: of many on one connection, after some that warm it up.
    fn count(&mut self, request: &Request) -> Result<f64> {
        let mut connection = Connection::open(&self.address, request)?;
        (0..request.count / 2).try_for_each(|_| connection.exchange())?;
        self.dump()?;
        (0..request.count).try_for_each(|_| connection.exchange())?;
        Ok(self.dump()? as f64 / f64::from(request.count))
    }

    /// The instructions since the last dump.
    fn dump(&mut self) -> Result<u64> {
        let pid = self.child.id().to_string();
        workspace::output(Command::new("callgrind_control").args(["--dump", &pid]))?;
        self.dumps += 1;
        let path = PathBuf::from(format!("{}.{}", self.out.display(), self.dumps));
        let text = std::fs::read_to_string(&path)
            .with_context(|| format!("callgrind has not written {}", path.display()))?;
        std::fs::remove_file(&path)?;
        total(&text).with_context(|| format!("{} has no total", path.display()))
    }
}

impl Drop for Counted {
    fn drop(&mut self) {
        // Either fails only when the process is gone already.
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

/// The sum of all costs in a dump.
fn total(dump: &str) -> Option<u64> {
    dump.lines().find_map(|line| line.strip_prefix("totals: "))?.trim().parse().ok()
}

impl Request {
    fn of(workspace: &Workspace, case: Case) -> Result<Self> {
        let body = workspace.read(case.body_file().as_ref())?;
        let count = if case == Case::Batch { 100 } else { 1_000 };
        let (path, headers) = (case.path(), case.headers());
        Ok(Self { case: case.about(), path, headers, body, expected: RESULT, count })
    }

    fn unknown() -> Self {
        Self::call(UNKNOWN, UNKNOWN_BODY, "-32601")
    }

    fn select() -> Self {
        Self::call(SELECT, SELECT_BODY, RESULT)
    }

    fn call(case: &'static str, body: &str, expected: &'static str) -> Self {
        Self { case, path: "/", headers: &[], body: body.to_owned(), expected, count: 1_000 }
    }
}

/// A connection that is kept open, and the text that is sent over it.
struct Connection {
    stream: BufReader<TcpStream>,
    request: String,
    expected: &'static str,
    body: Vec<u8>,
}

impl Connection {
    fn open(address: &str, request: &Request) -> Result<Self> {
        let &Request { path, headers, ref body, expected, .. } = request;
        let stream = TcpStream::connect(address)?;
        stream.set_nodelay(true)?;
        stream.set_read_timeout(Some(DEADLINE))?;
        let headers: String = headers.iter().map(|header| format!("{header}\r\n")).collect();
        let request = format!(
            "POST {path} HTTP/1.1\r\nHost: {address}\r\nContent-Type: application/json\r\n{headers}\
             Content-Length: {}\r\n\r\n{body}",
            body.len()
        );
        Ok(Self { stream: BufReader::new(stream), request, expected, body: Vec::new() })
    }

    fn exchange(&mut self) -> Result<()> {
        self.stream.get_mut().write_all(self.request.as_bytes())?;
        let mut length = None;
        let mut head = String::new();
        loop {
            let start = head.len();
            ensure!(self.stream.read_line(&mut head)? > 0, "the server closed the connection");
            let line = head[start..].trim_end().to_ascii_lowercase();
            if let Some(value) = line.strip_prefix("content-length:") {
                length = Some(value.trim().parse()?);
            }
            if line.is_empty() {
                break;
            }
        }
        let (true, Some(length)) = (head.starts_with("HTTP/1.1 200 "), length) else {
            bail!("the reply is not 200 with a length: {head:?}");
        };
        self.body.resize(length, 0);
        self.stream.read_exact(&mut self.body)?;
        let reply = String::from_utf8_lossy(&self.body);
        ensure!(reply.contains(self.expected), "the reply has no {}: {reply}", self.expected);
        Ok(())
    }
}

impl Report {
    fn of(&self, server: &str, case: &str) -> Option<f64> {
        let row = self.0.iter().find(|row| row.server == server && row.case == case)?;
        Some(row.instructions)
    }

    /// The ratios that have a goal.
    pub(super) fn verdicts(&self) -> Vec<Verdict> {
        let verdict = |what: String, figure: Option<f64>, goal| {
            Some(Verdict::of(what, Spread::of([figure?]), Some(Goal::AtMost(goal))))
        };
        let ratios = GOALS.iter().filter_map(|&(case, of, over, goal)| {
            let ratio = self.of(of, case)? / self.of(over, case)?;
            verdict(format!("instructions, {case}, {of} / {over}"), Some(ratio), goal)
        });
        let tools = [Case::LegacyTool, Case::ModernTool].into_iter().filter_map(|case| {
            let above_floor =
                |server| Some(self.of(server, case.about())? - self.of("floor", "single call")?);
            let ratio = above_floor("mcp_ours")? / above_floor("mcp_rmcp")?;
            verdict(
                format!("instructions, {} above the floor / rmcp", case.about()),
                Some(ratio),
                TOOL_GOAL,
            )
        });
        let select =
            self.of(SERVE_WITHOUT_HISTORY, SELECT).zip(self.of(SERVE_WITHOUT_HISTORY, UNKNOWN));
        let select = verdict(
            "instructions, 5-row SELECT above an unknown method".to_owned(),
            select.map(|(select, unknown)| select - unknown),
            SELECT_GOAL,
        );
        ratios.chain(tools).chain(select).collect()
    }
}

impl fmt::Display for Report {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        writeln!(f, "\n{:<62} {:>12}", "user instructions per request", "callgrind")?;
        for Row { server, case, instructions } in &self.0 {
            writeln!(f, "  {:<60} {instructions:>12.0}", format!("{server}, {case}"))?;
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_total_of_a_dump() {
        assert_eq!(total("events: Ir\nfn=(1)\n1 2\ntotals: 697542\n"), Some(697_542));
        assert_eq!(total("events: Ir\n"), None);
    }

    #[test]
    fn goals_compare_servers_of_the_same_run() {
        let row = |server, case, instructions| Row { server, case, instructions };
        let report = Report(vec![
            row("floor", "single call", 10.0),
            row("axum_serde", "single call", 20.0),
            row("ours", "single call", 19.0),
            row("mcp_ours", "tools/call, 2025-11-25", 20.0),
            row("mcp_rmcp", "tools/call, 2025-11-25", 60.0),
        ]);
        let verdicts = report.verdicts();
        let found: Vec<_> =
            verdicts.iter().map(|verdict| (verdict.measured.median, verdict.reached)).collect();
        assert_eq!(found, [(0.95, Some(true)), (0.2, Some(false))]);
    }
}
