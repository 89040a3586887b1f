//! The servers, at pinned versions.

use std::path::{Path, PathBuf};
use std::process::Command;

use anyhow::{Result, anyhow};

use self::Program::{Everything, Filesystem, Python1, Python2};
use crate::peers::{Node, Python};
use crate::sdk;
use crate::server_process::ServerProcess;
use crate::workspace::Workspace;

/// The folder of the packages, of a script that starts one of them, and of the requests.
pub(super) const PACKAGES: &str = "crates/trunkline-cli/tests/sdk/servers";

const MODULES: &str = "node_modules/@modelcontextprotocol";

pub(super) struct Server {
    /// The name of the upstream.
    pub(super) name: &'static str,
    program: Program,
    /// The file with the requests.
    pub(super) steps: &'static str,
    /// The expected revision.
    pub(super) version: &'static str,
}

/// A program, and its transport if it has several.
#[derive(Clone, Copy)]
enum Program {
    Everything(&'static str),
    Filesystem,
    /// The official Python SDK before 2.
    Python1(&'static str),
    Python2(&'static str),
}

const STDIO: &str = "stdio";
const LEGACY: &str = "2025-11-25";

pub(super) const SERVERS: [Server; 10] = [
    server("everything", Everything(STDIO), LEGACY),
    server("everything-http", Everything("streamableHttp"), LEGACY),
    server("everything-sse", Everything("sse"), LEGACY),
    server("files", Filesystem, LEGACY),
    server("python-1", Python1(STDIO), LEGACY),
    server("python-1-http", Python1("http"), LEGACY),
    server("python-1-sse", Python1("sse"), LEGACY),
    server("python-2", Python2(STDIO), "2026-07-28"),
    server("python-2-http", Python2("http"), "2026-07-28"),
    server("python-2-sse", Python2("sse"), LEGACY),
];

const fn server(name: &'static str, program: Program, version: &'static str) -> Server {
    let steps = match program {
        Everything(_) => "everything.json",
        Filesystem => "filesystem.json",
        Python1(_) | Python2(_) => "python.json",
    };
    Server { name, program, steps, version }
}

/// A server that a client can connect to.
pub(super) enum Target {
    /// The command of a server of stdio.
    Command(Vec<String>),
    /// A running server, and its URL.
    Process { _process: ServerProcess, url: [String; 1] },
}

impl Target {
    /// The URL, or the command and its arguments.
    pub(super) fn arguments(&self) -> &[String] {
        match self {
            Self::Command(command) => command,
            Self::Process { url, .. } => url,
        }
    }
}

pub(super) struct Launcher<'w> {
    workspace: &'w Workspace,
    node: Node,
    python_1: Python,
    python_2: Python,
    files: PathBuf,
}

impl<'w> Launcher<'w> {
    pub(super) fn provide(workspace: &'w Workspace, files: PathBuf) -> Result<Self> {
        let node = Node::with(workspace, Path::new(sdk::TYPESCRIPT))?;
        let python = |name, lock| Python::with(workspace, name, &Path::new(sdk::PYTHON).join(lock));
        Ok(Self {
            workspace,
            node: node.with_packages(workspace, "servers", Path::new(PACKAGES))?,
            python_1: python("python-1", "requirements-1.txt")?,
            python_2: python("python-2", "requirements-2.txt")?,
            files,
        })
    }

    pub(super) fn files(&self) -> &Path {
        &self.files
    }

    /// Starts all servers that are not of stdio.
    pub(super) fn start_all(&self, logs: &Path) -> Result<Vec<Target>> {
        std::thread::scope(|scope| {
            let starts = SERVERS.each_ref().map(|server| scope.spawn(|| self.start(server, logs)));
            let targets = starts
                .map(|start| start.join().unwrap_or_else(|_| Err(anyhow!("a start panicked"))));
            targets.into_iter().collect()
        })
    }

    fn start(&self, server: &Server, logs: &Path) -> Result<Target> {
        let mut command = self.command(server.program);
        let is_stdio = matches!(
            server.program,
            Everything(STDIO) | Filesystem | Python1(STDIO) | Python2(STDIO)
        );
        if is_stdio {
            let program = command.get_program();
            let words = std::iter::once(program).chain(command.get_args());
            return Ok(Target::Command(words.map(|word| word.display().to_string()).collect()));
        }
        let process = ServerProcess::start(&mut command, &logs.join(server.name))?;
        let url = [process.url.clone()];
        Ok(Target::Process { _process: process, url })
    }

    fn command(&self, program: Program) -> Command {
        let Self { workspace, node, .. } = self;
        let everything = format!("{MODULES}/server-everything/dist/index.js");
        let filesystem = format!("{MODULES}/server-filesystem/dist/index.js");
        let python = |python: &Python, transport: &str| {
            let mut command = python.command(workspace);
            command.arg("-B").arg(workspace.path(sdk::PYTHON).join("server.py")).arg(transport);
            command
        };
        match program {
            Everything(STDIO) => {
                let mut command = node.command(workspace, everything);
                command.arg(STDIO);
                command
            }
            Everything(transport) => {
                let mut command = node.command(workspace, "everything_http.mjs");
                command.arg(transport);
                command
            }
            Filesystem => {
                let mut command = node.command(workspace, filesystem);
                command.arg(&self.files);
                command
            }
            Python1(transport) => python(&self.python_1, transport),
            Python2(transport) => python(&self.python_2, transport),
        }
    }
}
