//! MCP servers of others, with the client of `trunkline-mcp`, and as upstreams of the gateway.
//!
//! The example `interop_client` sends the requests of a file to a server, directly and through the gateway. The commands
//! of `trunkline` send some of them.

use std::fs;
use std::iter::once;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::time::Duration;

use anyhow::{Context, Result, anyhow, ensure};

use crate::peers::{Node, PYTHON, Python};
use crate::server_process::{ServerProcess, Stage};
use crate::workspace::{self, Workspace};

/// The folder of the packages, of a script that starts one of them, and of the requests.
const PACKAGES: &str = "crates/trunkline-cli/tests/sdk/servers";

const MODULES: &str = "node_modules/@modelcontextprotocol";

/// Deadline of a run of the client, which takes about a second.
const DEADLINE: Duration = Duration::from_secs(60);

/// The revision between the client and the gateway.
const LATEST: &str = "2026-07-28";
const LEGACY: &str = "2025-11-25";

struct Server {
    /// The name of the upstream.
    name: &'static str,
    /// The file with the requests, and the command: a script of Node.js, or a lock file of Python.
    steps: &'static str,
    program: &'static str,
    /// Another transport than stdio is that of a process that runs already.
    transport: &'static str,
    /// The expected revision.
    version: &'static str,
}

const EVERYTHING: &str = "server-everything/dist/index.js";
const HTTP: &str = "everything_http.mjs";
const FILES: &str = "server-filesystem/dist/index.js";
const PYTHON_1: &str = "requirements-1.txt";
const PYTHON_2: &str = "requirements-2.txt";

const SERVERS: [Server; 10] = [
    server("everything", ["everything.json", EVERYTHING, "stdio"], LEGACY),
    server("everything-http", ["everything.json", HTTP, "streamableHttp"], LEGACY),
    server("everything-sse", ["everything.json", HTTP, "sse"], LEGACY),
    server("files", ["filesystem.json", FILES, "stdio"], LEGACY),
    server("python-1", ["python.json", PYTHON_1, "stdio"], LEGACY),
    server("python-1-http", ["python.json", PYTHON_1, "http"], LEGACY),
    server("python-1-sse", ["python.json", PYTHON_1, "sse"], LEGACY),
    server("python-2", ["python.json", PYTHON_2, "stdio"], LATEST),
    server("python-2-http", ["python.json", PYTHON_2, "http"], LATEST),
    server("python-2-sse", ["python.json", PYTHON_2, "sse"], LEGACY),
];

const fn server(
    name: &'static str,
    [steps, program, transport]: [&'static str; 3],
    version: &'static str,
) -> Server {
    Server { name, steps, program, transport, version }
}

/// Commands of `trunkline` for the servers of a file: the subcommand, its arguments, and a part of the output.
const COMMANDS: [(&str, &str, &[&str], &str); 8] = [
    ("everything.json", "tools", &[], "get-structured-content"),
    ("everything.json", "tools", &["get-sum", "a=40", "b=2"], "42"),
    ("everything.json", "resources", &["read", "demo://resource/dynamic/text/7"], "Resource 7"),
    ("everything.json", "prompts", &["get", "args-prompt", "city=Köln"], "weather in Köln?"),
    ("filesystem.json", "tools", &["list_allowed_directories"], "upstreams/files"),
    ("python.json", "tools", &["add", "a=40", "b=2", "--format", "json"], r#"{"sum":42}"#),
    ("python.json", "resources", &["read", "note://today"], "Buy milk."),
    ("python.json", "prompts", &["get", "review", "language=Rust"], "Review this Rust code."),
];

/// The URL of a running server, or the command of a server of stdio.
struct Target {
    process: Option<ServerProcess>,
    words: Vec<String>,
}

pub(crate) fn run(workspace: &Workspace) -> Result<()> {
    let scene = Scene {
        node: Node::with(workspace, "servers", PACKAGES)?,
        client: workspace.build("interop_client")?,
        stage: Stage::new(workspace, "upstreams")?,
    };
    fs::create_dir(scene.files())?;
    for (server, target) in SERVERS.iter().zip(scene.start_all()?) {
        let checked = scene
            .send(server.steps, &["--version", server.version], &target.words)
            .and_then(|()| scene.run_commands(server, &target));
        checked.with_context(|| format!("{} failed", server.name))?;
    }
    // Names in lists are those of the servers, after the prefix, also the longest ones.
    let mut serve = scene.stage.serve(&scene.stage.sample("gateway")?, &["--max-tool-name", "64"]);
    // The first clients have added tools to their servers.
    let targets = scene.start_all()?;
    for (server, target) in SERVERS.iter().zip(&targets) {
        serve.arg("--upstream").arg(format!("{}={}", server.name, target.words.join(" ")));
    }
    let gateway = scene.stage.start("gateway", &mut serve)?;
    let url = [format!("{}/mcp", gateway.url)];
    for server in &SERVERS {
        let flags = ["--version", LATEST, "--prefix", &format!("{}__", server.name)];
        gateway.explain(scene.send(server.steps, &flags, &url)).context(server.name)?;
    }
    println!("{} servers, directly and through the gateway", SERVERS.len());
    Ok(())
}

struct Scene<'w> {
    stage: Stage<'w>,
    node: Node,
    /// The example `interop_client`.
    client: PathBuf,
}

impl Scene<'_> {
    /// The folder of the server of files.
    fn files(&self) -> PathBuf {
        self.stage.folder.join("files")
    }

    fn send(&self, steps: &str, flags: &[&str], server: &[String]) -> Result<()> {
        let text = self.stage.workspace.read(&Path::new(PACKAGES).join(steps))?;
        let file = self.stage.folder.join(steps);
        fs::write(&file, text.replace("FOLDER", &self.files().display().to_string()))?;
        let mut client = self.stage.workspace.command(&self.client);
        workspace::run_within(DEADLINE, client.args(flags).arg(file).args(server))
    }

    fn run_commands(&self, server: &Server, target: &Target) -> Result<()> {
        for (_, subcommand, arguments, expected) in
            COMMANDS.iter().filter(|row| row.0 == server.steps)
        {
            let mut command = self.stage.command(&[subcommand]);
            // A URL is the first argument; a command follows the other arguments.
            match target.process {
                Some(_) => command.args(&target.words).args(*arguments),
                None => command.args(*arguments).arg("--").args(&target.words),
            };
            let output = workspace::output(&mut command)?;
            ensure!(output.contains(expected), "{subcommand}: expected {expected:?} in {output}");
        }
        Ok(())
    }

    /// Starts all servers that are not of stdio.
    fn start_all(&self) -> Result<Vec<Target>> {
        std::thread::scope(|scope| {
            let starts = SERVERS.each_ref().map(|server| scope.spawn(|| self.start(server)));
            let join = starts
                .map(|start| start.join().unwrap_or_else(|_| Err(anyhow!("a start panicked"))));
            join.into_iter().collect()
        })
    }

    fn start(&self, server: &Server) -> Result<Target> {
        let mut command = self.command(server)?;
        if server.transport == "stdio" {
            let words = once(command.get_program()).chain(command.get_args());
            let words = words.map(|word| word.display().to_string()).collect();
            return Ok(Target { process: None, words });
        }
        let process = self.stage.start(server.name, &mut command)?;
        Ok(Target { words: vec![process.url.clone()], process: Some(process) })
    }

    fn command(&self, server: &Server) -> Result<Command> {
        let workspace = self.stage.workspace;
        let mut command = match server.program {
            lock @ (PYTHON_1 | PYTHON_2) => {
                let name = lock.replace("requirements", "python").replace(".txt", "");
                let python = Python::with(workspace, &name, Some(&Path::new(PYTHON).join(lock)))?;
                let mut command = python.command(workspace);
                command.arg(workspace.path(PYTHON).join("server.py"));
                command
            }
            HTTP => self.node.command(workspace, HTTP),
            script => self.node.command(workspace, Path::new(MODULES).join(script)),
        };
        match server.program {
            FILES => command.arg(self.files()),
            _ => command.arg(server.transport),
        };
        Ok(command)
    }
}
