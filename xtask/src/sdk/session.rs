//! A session of an SDK: its server, and its script.

use std::fs::File;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::time::{Duration, Instant};

use anyhow::{Context, Result, ensure};

use super::client::{Client, Suite, Transport};
use super::restart;
use super::script::Scripts;
use crate::server_process::{DATA_DIR, ServerProcess};
use crate::workspace::{self, Workspace};

/// Deadline of one session, which takes about two seconds.
const DEADLINE: Duration = Duration::from_secs(60);

const FREE_PORT: &str = "127.0.0.1:0";

pub(super) struct Session {
    pub(super) client: &'static Client,
    pub(super) suite: Suite,
    pub(super) version: &'static str,
    pub(super) transport: Transport,
}

pub(super) struct Programs<'w> {
    pub(super) workspace: &'w Workspace,
    pub(super) scripts: &'w Scripts,
    pub(super) sample: PathBuf,
    pub(super) trunkline: PathBuf,
    /// The example `conformance_server`.
    pub(super) features: PathBuf,
    /// The output of the sessions.
    pub(super) folder: PathBuf,
}

impl Session {
    pub(super) fn run(&self, programs: &Programs<'_>) -> Result<()> {
        let Self { client, suite, version, transport } = self;
        let name = [client.name, suite.output(), version, transport.name()].join("-");
        let start = Instant::now();
        let output = programs.folder.join(&name).with_extension("txt");
        self.run_script(programs, &output).with_context(|| {
            let printed = std::fs::read_to_string(&output).unwrap_or_default();
            format!("{name} failed: {printed}")
        })?;
        println!("{name}: {:.1} s", start.elapsed().as_secs_f64());
        Ok(())
    }

    fn run_script(&self, programs: &Programs<'_>, output: &Path) -> Result<()> {
        let mut script = programs.scripts.command(programs.workspace, self.client)?;
        script.args([self.suite.name(), self.version, self.transport.name()]);
        let Some(path) = self.transport.path() else {
            let server = self.server(programs, output, FREE_PORT)?;
            script.arg(server.get_program()).args(server.get_args());
            return execute(&mut script, output);
        };
        let mut command = self.server(programs, output, FREE_PORT)?;
        let server = ServerProcess::start(&mut command, &output.with_extension("log"))?;
        let origin = server.url.trim_end_matches("/mcp");
        script.arg(format!("{origin}{path}"));
        if let Suite::Restart { .. } = self.suite {
            let command = |address: &str| self.server(programs, output, address);
            return restart::execute(&mut script, output, DEADLINE, server, command);
        }
        execute(&mut script, output)
            .with_context(|| format!("log of the server:\n{}", server.log_tail()))
    }

    /// The server for the transport. Over HTTP, it listens on an address.
    fn server(&self, programs: &Programs<'_>, output: &Path, address: &str) -> Result<Command> {
        let listen = ["--listen", address];
        match (self.suite, self.transport) {
            (Suite::Database | Suite::Restart { .. }, transport) => {
                let database = output.with_extension("db");
                // Each client writes to its own copy, which a restarted server continues.
                if !database.exists() {
                    std::fs::copy(&programs.sample, &database)
                        .with_context(|| format!("cannot write {}", database.display()))?;
                }
                let mut server = programs.workspace.command(&programs.trunkline);
                match transport {
                    Transport::Stdio => server.arg("mcp"),
                    Transport::Http | Transport::Sse => server.arg("serve").args(listen),
                };
                server.args(["--writable", "--output-schemas", "--db"]).arg(database);
                if let Suite::Restart { has_data_dir: false } = self.suite {
                    server.env_remove(DATA_DIR);
                }
                Ok(server)
            }
            (Suite::Features, transport) => {
                let mut server = programs.workspace.command(&programs.features);
                match transport {
                    Transport::Stdio => server.arg("--stdio"),
                    Transport::Http | Transport::Sse => server.args(listen),
                };
                Ok(server)
            }
        }
    }
}

fn execute(script: &mut Command, output: &Path) -> Result<()> {
    let printed =
        File::create(output).with_context(|| format!("cannot create {}", output.display()))?;
    script.stderr(printed.try_clone()?).stdout(printed);
    let status = workspace::status_within(DEADLINE, script)?;
    ensure!(status.success(), "the script failed ({status})");
    Ok(())
}
