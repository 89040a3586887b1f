//! SDKs as clients of the `trunkline` binary and of the example `conformance_server`, with all protocol versions and
//! transports.

use std::fs::{self, File};
use std::io::Write;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::sync::{Mutex, PoisonError};
use std::time::{Duration, Instant};

use anyhow::{Context, Result, anyhow, ensure};

use crate::peers::{Node, PYTHON, Python};
use crate::sample_db;
use crate::server_process::{DATA_DIR, ServerProcess, Stage};
use crate::workspace::{self, Process, Workspace, wait_for};

/// Sessions spend half of their time waiting.
const WORKERS: usize = 4;
/// Deadline of one session, which takes about two seconds.
const DEADLINE: Duration = Duration::from_secs(60);

const FREE_PORT: &str = "127.0.0.1:0";
/// The folder of the programs of the workspace `bench`.
const PROGRAMS: &str = "target/bench-check";

/// All features of the protocol, with the example `conformance_server`.
const FEATURES: &str = "features";
/// All tools of the `trunkline` binary.
const DATABASE: &str = "database";
/// Restarts of the `trunkline` binary during the session, with and without a directory of data.
const RESTARTS: [&str; 2] = ["restart", "restart-without-data"];

struct Client {
    name: &'static str,
    language: Language,
    /// The script, in the folder of its language, or the package.
    script: &'static str,
    /// Requested protocol versions (`auto` negotiates) and transports. `sse` is HTTP+SSE of 2024-11-05.
    versions: Versions,
}

type Versions = &'static [(&'static str, &'static [&'static str])];

#[derive(Clone, Copy, PartialEq, Eq)]
enum Language {
    Python(&'static str),
    TypeScript,
    /// A package of the workspace `bench`. It has only the suite of features.
    Rust,
}

/// Versions of both eras. `auto` results in the second.
const BOTH: Versions = &[
    ("2025-11-25", &["http", "sse", "stdio"]),
    ("2026-07-28", &["http", "stdio"]),
    ("auto", &["http", "stdio"]),
];
const LEGACY: Versions = &[BOTH[0]];
const RMCP: Versions = &[("2025-11-25", &["http", "stdio"]), BOTH[1]];
const PYTHON_1: Versions = &[
    ("2024-11-05", &["http", "sse"]),
    ("2025-03-26", &["http"]),
    ("2025-06-18", &["http"]),
    BOTH[0],
];

const CLIENTS: [Client; 6] = [
    client("python-1", Language::Python("requirements-1.txt"), "client_1.py", PYTHON_1),
    client("python-2", Language::Python("requirements-2.txt"), "client_2.py", BOTH),
    client("fastmcp", Language::Python("requirements-fastmcp.txt"), "client_fastmcp.py", BOTH),
    client("typescript-1", Language::TypeScript, "client_1.mjs", LEGACY),
    client("typescript-2", Language::TypeScript, "client_2.mjs", BOTH),
    client("rmcp", Language::Rust, "rmcp-client", RMCP),
];

const fn client(
    name: &'static str,
    language: Language,
    script: &'static str,
    versions: Versions,
) -> Client {
    Client { name, language, script, versions }
}

struct Session {
    client: &'static Client,
    suite: &'static str,
    version: &'static str,
    transport: &'static str,
}

/// The SDKs for Python and TypeScript.
pub(crate) fn run(workspace: &Workspace) -> Result<()> {
    run_sessions(workspace, |client| client.language != Language::Rust)
}

/// The SDK for Rust, which takes longer to compile than all sessions. The workspace `bench` has dependencies that are not
/// those of the project.
pub(crate) fn run_rmcp(workspace: &Workspace) -> Result<()> {
    let build = ["build", "--manifest-path=bench/Cargo.toml", "--locked", "--package=rmcp-client"];
    workspace::run(workspace.cargo(build).args(["--target-dir", PROGRAMS]))?;
    run_sessions(workspace, |client| client.language == Language::Rust)
}

fn run_sessions(workspace: &Workspace, includes: fn(&&Client) -> bool) -> Result<()> {
    let stage = Stage::new(workspace, "sdk")?;
    let programs = Programs {
        sample: sample_db::cached(workspace)?,
        features: workspace.build("conformance_server")?,
        node: Node::sdks(workspace)?,
        stage,
    };
    let queue = Mutex::new(CLIENTS.iter().filter(includes).flat_map(sessions));
    let next = || queue.lock().unwrap_or_else(PoisonError::into_inner).next();
    let work = || {
        let mut runs = 0;
        while let Some(session) = next() {
            session.run(&programs)?;
            runs += 1;
        }
        Ok(runs)
    };
    let runs: Result<usize> = std::thread::scope(|scope| {
        let workers = [(); WORKERS].map(|()| scope.spawn(work));
        let join = |worker: std::thread::ScopedJoinHandle<'_, Result<usize>>| {
            worker.join().unwrap_or_else(|_| Err(anyhow!("a session panicked")))
        };
        workers.map(join).into_iter().sum()
    });
    println!("{} sessions", runs?);
    Ok(())
}

fn sessions(client: &'static Client) -> Vec<Session> {
    let mut sessions = Vec::new();
    for (version, transports) in client.versions {
        for transport in *transports {
            let mut add = |suite| sessions.push(Session { client, suite, version, transport });
            // The versions with all features, one for each era.
            if ["2025-11-25", "2026-07-28"].contains(version) {
                add(FEATURES);
            }
            if client.language != Language::Rust {
                add(DATABASE);
                // Other versions and transports have no sessions that outlive a connection.
                if (*version, *transport) == ("2025-11-25", "http") {
                    RESTARTS.into_iter().for_each(add);
                }
            }
        }
    }
    sessions
}

struct Programs<'w> {
    stage: Stage<'w>,
    sample: PathBuf,
    /// The example `conformance_server`.
    features: PathBuf,
    node: Node,
}

impl Session {
    fn run(&self, programs: &Programs<'_>) -> Result<()> {
        let name = [self.client.name, self.suite, self.version, self.transport].join("-");
        let start = Instant::now();
        let output = programs.stage.folder.join(&name).with_extension("txt");
        self.run_script(programs, &output).with_context(|| {
            let printed = fs::read_to_string(&output).unwrap_or_default();
            format!("{name} failed: {printed}")
        })?;
        println!("{name}: {:.1} s", start.elapsed().as_secs_f64());
        Ok(())
    }

    fn run_script(&self, programs: &Programs<'_>, output: &Path) -> Result<()> {
        let mut script = self.script(programs)?;
        let suite = self.suite.trim_end_matches("-without-data");
        script.args([suite, self.version, self.transport]);
        let printed = File::create(output)?;
        script.stdin(Stdio::piped()).stderr(printed.try_clone()?).stdout(printed);
        let mut command = self.server(programs, output, FREE_PORT)?;
        if self.transport == "stdio" {
            script.arg(command.get_program()).args(command.get_args());
            return self.execute(&mut script, output, || Ok(()));
        }
        let log = output.with_extension("log");
        let mut server = Some(ServerProcess::start(&mut command, &log)?);
        let address = server.as_ref().map_or("", ServerProcess::address).to_owned();
        let path = if self.transport == "sse" { "sse" } else { "mcp" };
        script.arg(format!("http://{address}/{path}"));
        self.execute(&mut script, output, || {
            drop(server.take());
            let mut command = self.server(programs, output, &address)?;
            server = Some(ServerProcess::start(&mut command, &log)?);
            Ok(())
        })
        .with_context(|| format!("log of the server: {}", log.display()))
    }

    /// Runs a script. Restarts the server when it prints the line `restart`, and writes the line `restarted` to its stdin.
    fn execute(
        &self,
        script: &mut Command,
        output: &Path,
        mut restart: impl FnMut() -> Result<()>,
    ) -> Result<()> {
        let mut script = Process::start(script)?;
        let mut input = script.0.stdin.take();
        // Only these suites read.
        input = input.filter(|_| RESTARTS.contains(&self.suite));
        let mut restarts = 0;
        let poll = || {
            let ended = script.0.try_wait()?;
            let printed = fs::read_to_string(output).unwrap_or_default();
            if let Some(input) = &mut input
                && printed.split_inclusive('\n').filter(|line| *line == "restart\n").count()
                    > restarts
            {
                restarts += 1;
                restart()?;
                // A script that has failed does not read.
                drop(input.write_all(b"restarted\n"));
            }
            Ok(ended)
        };
        let status = wait_for(DEADLINE, poll, || "the script did not end".to_owned())?;
        ensure!(status.success(), "the script failed ({status})");
        Ok(())
    }

    fn script(&self, programs: &Programs<'_>) -> Result<Command> {
        let workspace = programs.stage.workspace;
        let Client { name, language, script, .. } = self.client;
        Ok(match language {
            Language::Rust => {
                workspace.command(workspace.path(PROGRAMS).join("debug").join(script))
            }
            Language::TypeScript => programs.node.command(workspace, script),
            Language::Python(lock) => {
                let python = Python::with(workspace, name, Some(&Path::new(PYTHON).join(lock)))?;
                let mut command = python.command(workspace);
                command.arg(Path::new(PYTHON).join(script));
                command
            }
        })
    }

    /// The server for the transport. Over HTTP, it listens on an address.
    fn server(&self, programs: &Programs<'_>, output: &Path, address: &str) -> Result<Command> {
        let is_stdio = self.transport == "stdio";
        if self.suite == FEATURES {
            let mut server = programs.stage.workspace.command(&programs.features);
            match is_stdio {
                true => server.arg("--stdio"),
                false => server.args(["--listen", address]),
            };
            return Ok(server);
        }
        let database = output.with_extension("db");
        // Each client writes to its own copy, which a restarted server continues.
        if !database.exists() {
            fs::copy(&programs.sample, &database)?;
        }
        let mut server =
            programs.stage.command(if is_stdio { &["mcp"] } else { &["serve", "--listen"] });
        server.args((!is_stdio).then_some(address));
        server.args(["--writable", "--output-schemas", "--db"]).arg(database);
        if self.suite == RESTARTS[1] {
            server.env_remove(DATA_DIR);
        }
        Ok(server)
    }
}
