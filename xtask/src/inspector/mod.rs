//! The CLI of MCP Inspector as a client: calls every tool of the `trunkline` binary, and reads the resources and prompts
//! of the example `conformance_server`, over HTTP and stdio.

mod call;
mod feature;

use std::fs::File;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::time::Duration;

use anyhow::{Context, Result, anyhow, ensure};
use serde_json::Value;

use self::call::{CALLS, Call, TOOLS};
use self::feature::{FEATURES, Feature};
use crate::peers::Node;
use crate::sdk;
use crate::server_process::ServerProcess;
use crate::workspace::{self, Workspace};

const PACKAGES: &str = "crates/trunkline-cli/tests/sdk/inspector";

/// Deadline of one run of the CLI, which takes about a second.
const DEADLINE: Duration = Duration::from_secs(60);

struct Inspector {
    name: &'static str,
    /// The script of its CLI, in the folder of the packages.
    script: &'static str,
    /// Arguments before the server's address or command.
    flags: &'static [&'static str],
    /// Arguments of `tools/list`.
    list_flags: &'static [&'static str],
    /// Exit code when the result of a tool is an error.
    tool_error_code: i32,
}

const INSPECTOR_0: Inspector = Inspector {
    name: "inspector-0.15",
    script: "node_modules/@modelcontextprotocol/inspector-cli/build/index.js",
    flags: &[],
    list_flags: &[],
    tool_error_code: 0,
};

/// `--strict` fails on schemas that other clients cannot read.
const INSPECTOR_2: Inspector = Inspector {
    name: "inspector-2",
    script: "node_modules/@modelcontextprotocol/inspector/clients/launcher/build/index.js",
    flags: &["--cli"],
    list_flags: &["--strict", "--quiet"],
    tool_error_code: 5,
};

/// The same in the revision 2026-07-28.
const INSPECTOR_2_MODERN: Inspector = Inspector {
    name: "inspector-2-modern",
    flags: &["--cli", "--protocol-era", "modern"],
    ..INSPECTOR_2
};

#[derive(Clone, Copy)]
enum Transport {
    Http,
    Stdio,
}

const SESSIONS: [(Inspector, Transport); 6] = [
    (INSPECTOR_0, Transport::Http),
    (INSPECTOR_0, Transport::Stdio),
    (INSPECTOR_2, Transport::Http),
    (INSPECTOR_2, Transport::Stdio),
    (INSPECTOR_2_MODERN, Transport::Http),
    (INSPECTOR_2_MODERN, Transport::Stdio),
];

pub(crate) fn run(workspace: &Workspace) -> Result<()> {
    let node = Node::with(workspace, Path::new(sdk::TYPESCRIPT))?;
    let node = node.with_packages(workspace, "inspector", Path::new(PACKAGES))?;
    let program = workspace.build("trunkline")?;
    let features = workspace.build("conformance_server")?;
    let folder = workspace.fresh_folder("target/inspector")?;
    // Each session has its own server and database; nearly all of the time is spent starting Node.
    std::thread::scope(|scope| {
        let sessions = SESSIONS.map(|(inspector, transport)| {
            let (node, program, features, folder) = (&node, &program, &features, &folder);
            scope.spawn(move || {
                let name = format!("{}-{}", inspector.name, transport.name());
                let folder = folder.join(&name);
                std::fs::create_dir(&folder)?;
                let session = Session { workspace, node, inspector, folder };
                session
                    .run(program, transport)
                    .and_then(|()| session.run_features(features, transport))
                    .with_context(|| format!("{name} failed"))?;
                println!("{name}: {} calls, {} other requests", CALLS.len(), FEATURES.len());
                Ok(())
            })
        });
        let results = sessions
            .map(|session| session.join().unwrap_or_else(|_| Err(anyhow!("a session panicked"))));
        results.into_iter().collect()
    })
}

impl Transport {
    fn name(self) -> &'static str {
        match self {
            Self::Http => "http",
            Self::Stdio => "stdio",
        }
    }
}

/// All calls of one Inspector over one transport, in order, on the same database.
struct Session<'w> {
    workspace: &'w Workspace,
    node: &'w Node,
    inspector: Inspector,
    folder: PathBuf,
}

impl Session<'_> {
    fn run(&self, program: &Path, transport: Transport) -> Result<()> {
        let database = self.folder.join("sample.db").display().to_string();
        let program = program.display().to_string();
        match transport {
            Transport::Stdio => {
                let records = self.folder.join("data").display().to_string();
                let command = [&program, "mcp", "--sample", "--writable", "--output-schemas"];
                let files = ["--db", &database, "--data-dir", &records];
                self.call_all(&[&command[..], &files].concat())
            }
            Transport::Http => {
                let mut serve = self.workspace.command(&program);
                serve.args(["serve", "--listen", "127.0.0.1:0", "--sample", "--writable"]);
                serve.args(["--output-schemas", "--db"]).arg(&database);
                let server = ServerProcess::start(&mut serve, &self.folder.join("server.log"))?;
                self.call_all(&[&format!("{}/mcp", server.url)])
                    .with_context(|| format!("log of the server:\n{}", server.log_tail()))
            }
        }
    }

    fn run_features(&self, program: &Path, transport: Transport) -> Result<()> {
        match transport {
            Transport::Stdio => self.request_all(&[&program.display().to_string(), "--stdio"]),
            Transport::Http => {
                let mut serve = self.workspace.command(program);
                serve.args(["--listen", "127.0.0.1:0"]);
                let server = ServerProcess::start(&mut serve, &self.folder.join("features.log"))?;
                self.request_all(&[&server.url])
            }
        }
    }

    fn request_all(&self, server: &[&str]) -> Result<()> {
        for Feature { method, flags, result: (pointer, part) } in &FEATURES {
            let (code, result) = self.output(self.command(server, method).args(*flags))?;
            ensure!(code == 0, "{method}: exit code {code}, expected 0: {result}");
            let text = result.pointer(pointer).and_then(Value::as_str);
            ensure!(
                text.is_some_and(|text| text.contains(part)),
                "{method}: `{part}` is missing at `{pointer}`: {result}"
            );
        }
        Ok(())
    }

    /// `server` is the address of a server, or the command that starts one.
    fn call_all(&self, server: &[&str]) -> Result<()> {
        let mut list = self.command(server, "tools/list");
        let (code, listed) = self.output(list.args(self.inspector.list_flags))?;
        ensure!(code == 0, "tools/list: exit code {code}, expected 0");
        let tools = listed["tools"].as_array().context("`tools` is missing")?;
        let mut names: Vec<_> = tools.iter().filter_map(|tool| tool["name"].as_str()).collect();
        names.sort_unstable();
        ensure!(names == TOOLS, "tools/list: got {names:?}, expected {TOOLS:?}");

        for call in CALLS {
            let mut command = self.command(server, "tools/call");
            command.args(["--tool-name", call.tool]);
            for argument in call.arguments {
                command.args(["--tool-arg", argument]);
            }
            self.check(call, self.output(&mut command)?)
                .with_context(|| format!("{} with {:?}", call.tool, call.arguments))?;
        }
        Ok(())
    }

    fn check(&self, call: &Call, (code, result): (i32, Value)) -> Result<()> {
        let expected = call.outcome;
        let expected_code = if expected.is_error() { self.inspector.tool_error_code } else { 0 };
        ensure!(code == expected_code, "exit code {code}, expected {expected_code}: {result}");
        expected.check(&result)
    }

    fn command(&self, server: &[&str], method: &str) -> Command {
        let mut command = self.node.command(self.workspace, self.inspector.script);
        command.args(self.inspector.flags).args(server).args(["--method", method]);
        command
    }

    /// Exit code and result. The CLI prints the result to stdout, also when it is an error of the tool.
    fn output(&self, command: &mut Command) -> Result<(i32, Value)> {
        let [stdout, stderr] = ["stdout.json", "stderr.log"].map(|name| self.folder.join(name));
        command.stdout(File::create(&stdout)?).stderr(File::create(&stderr)?);
        let status = workspace::status_within(DEADLINE, command)?;
        let code = status.code().with_context(|| format!("the CLI failed ({status})"))?;
        let printed = std::fs::read_to_string(&stdout)?;
        let result = serde_json::from_str(&printed).with_context(|| {
            let stderr = std::fs::read_to_string(&stderr).unwrap_or_default();
            format!("the CLI printed no JSON (exit code {code}): {printed}{stderr}")
        })?;
        Ok((code, result))
    }
}
