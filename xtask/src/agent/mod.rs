//! The agent of the `trunkline` binary with a scripted model, over the sample: answers match the database, and the
//! history records each hop.

use std::path::{Path, PathBuf};
use std::process::Command;
use std::time::Duration;

use anyhow::{Context, Result, ensure};

use crate::peers::Node;
use crate::sample_db;
use crate::sdk;
use crate::server_process::ServerProcess;
use crate::sqlite::count;
use crate::workspace::{self, Workspace};

pub(crate) const SCRIPTS: &str = "crates/trunkline-cli/tests/model";

/// Deadline of one script, which takes a second.
const DEADLINE: Duration = Duration::from_secs(60);

/// The tool that the model counts with, and whether it streams its answers.
const PARTS: [(&str, &str); 4] = [
    ("query_records", "whole"),
    ("query_records", "pieces"),
    ("execute_raw_query", "whole"),
    ("execute_raw_query", "pieces"),
];

pub(crate) fn run(workspace: &Workspace) -> Result<()> {
    let scene = Scene {
        workspace,
        node: Node::with(workspace, Path::new(sdk::TYPESCRIPT))?,
        program: workspace.build("trunkline")?,
        folder: workspace.fresh_folder("target/agent")?,
    };
    for (tool, form) in PARTS {
        scene.check_read(tool, form).with_context(|| format!("{tool}, {form}"))?;
    }
    scene.check_write()
}

/// The server and the model of a script.
struct Scene<'w> {
    workspace: &'w Workspace,
    node: Node,
    program: PathBuf,
    folder: PathBuf,
}

impl Scene<'_> {
    fn check_read(&self, tool: &str, form: &str) -> Result<()> {
        let name = format!("{tool}-{form}");
        let database = self.database(&name)?;
        let tracks = count(&database, "Track")?.to_string();
        let model = self.model(&name, &[tool, form])?;
        let server = self.server(&name, &database, &model, &[])?;
        self.script("reads.mjs", &[&server.url, &model.url, tool, form, &tracks], &server)?;
        self.chat(&server, &tracks)
    }

    /// Checks the output of `trunkline chat`.
    fn chat(&self, server: &ServerProcess, tracks: &str) -> Result<()> {
        let mut chat = self.workspace.command(&self.program);
        chat.args(["chat", &server.url, "--message", "how many tracks are there?"]);
        let printed = workspace::output(&mut chat)?;
        let expected = format!("There are {tracks} tracks.");
        ensure!(printed.trim() == expected, "`trunkline chat` printed {printed:?}");
        Ok(())
    }

    fn check_write(&self) -> Result<()> {
        const NAME: &str = "writes";
        const SKIFFLE: &str = "Genre WHERE Name = 'Skiffle'";
        let database = self.database(NAME)?;
        let before = count(&database, "PlaylistTrack")?;
        let model = self.model(NAME, &["execute_raw_query", "pieces"])?;
        for moment in ["before", "after"] {
            // The script is stopped by a signal.
            let server = self.server(NAME, &database, &model, &["--writable"])?;
            self.script("writes.mjs", &[&server.url, moment], &server)?;
        }
        let (after, added) = (count(&database, "PlaylistTrack")?, count(&database, SKIFFLE)?);
        ensure!(after == before, "PlaylistTrack had {before} rows, and has {after}");
        ensure!(added == 1, "{added} genres were added");
        Ok(())
    }

    fn database(&self, name: &str) -> Result<PathBuf> {
        let database = self.folder.join(name).with_extension("db");
        std::fs::copy(sample_db::cached(self.workspace)?, &database)
            .with_context(|| format!("cannot write {}", database.display()))?;
        Ok(database)
    }

    fn model(&self, name: &str, part: &[&str]) -> Result<ServerProcess> {
        let mut script = self.node_command("scripted.mjs");
        ServerProcess::start(script.args(part), &self.folder.join(format!("{name}-model.log")))
    }

    fn server(
        &self,
        name: &str,
        database: &Path,
        model: &ServerProcess,
        arguments: &[&str],
    ) -> Result<ServerProcess> {
        let mut serve = self.workspace.command(&self.program);
        serve.args(["serve", "--log", "--listen", "127.0.0.1:0", "--agent-model", "scripted"]);
        serve.arg("--agent-url").arg(format!("{}/v1", model.url));
        serve.arg("--db").arg(database).args(arguments).env(KEY, SCRIPTED_KEY);
        ServerProcess::start(&mut serve, &self.folder.join(format!("{name}.log")))
    }

    fn script(&self, script: &str, arguments: &[&str], server: &ServerProcess) -> Result<()> {
        let mut command = self.node_command(script);
        workspace::run_within(DEADLINE, command.args(arguments).env(KEY, SCRIPTED_KEY))
            .with_context(|| format!("log of the server:\n{}", server.log_tail()))
    }

    /// The scripts need no packages, and run in place.
    fn node_command(&self, script: &str) -> Command {
        self.node.command(self.workspace, self.workspace.path(SCRIPTS).join(script))
    }
}

const KEY: &str = "TRUNKLINE_AGENT_KEY";

/// Text that must not appear in the history.
const SCRIPTED_KEY: &str = "key-of-the-scripted-model";
