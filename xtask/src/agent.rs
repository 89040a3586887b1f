//! The agent of the `trunkline` binary with a scripted model, over the sample: answers match the database, and the
//! history records each hop.

use std::path::Path;
use std::process::Command;

use anyhow::{Context, Result, ensure};

use crate::peers::Node;
use crate::server_process::{ServerProcess, Stage};
use crate::sqlite::count;
use crate::workspace::{self, Workspace};

pub(crate) const SCRIPTS: &str = "crates/trunkline-cli/tests/model";

/// The tool that the model counts with, and whether it streams its answers.
const PARTS: [(&str, &str); 4] = [
    ("query_records", "whole"),
    ("query_records", "pieces"),
    ("execute_raw_query", "whole"),
    ("execute_raw_query", "pieces"),
];

const KEY: &str = "TRUNKLINE_AGENT_KEY";
/// Text that must not appear in the history.
const SCRIPTED_KEY: &str = "key-of-the-scripted-model";

pub(crate) fn run(workspace: &Workspace) -> Result<()> {
    let stage = Stage::new(workspace, "agent")?;
    let node = Node::sdks(workspace)?;
    for (tool, form) in PARTS {
        check_read(&stage, &node, tool, form).with_context(|| format!("{tool}, {form}"))?;
    }
    check_write(&stage, &node)
}

fn check_read(stage: &Stage<'_>, node: &Node, tool: &str, form: &str) -> Result<()> {
    let name = format!("{tool}-{form}");
    let database = stage.sample(&name)?;
    let tracks = count(&database, "Track")?.to_string();
    let model = model(stage, node, &[tool, form])?;
    let server = stage.start(&name, &mut serve(stage, &database, &model))?;
    let arguments = [&server.url, &model.url, tool, form, &tracks];
    server.run(&mut script(stage, node, "reads.mjs", &arguments))?;
    let chat = ["chat", &server.url, "--message", "how many tracks are there?"];
    let printed = workspace::output(&mut stage.command(&chat))?;
    let expected = format!("There are {tracks} tracks.");
    ensure!(printed.trim() == expected, "`trunkline chat` printed {printed:?}");
    Ok(())
}

fn check_write(stage: &Stage<'_>, node: &Node) -> Result<()> {
    let database = stage.sample("writes")?;
    let before = count(&database, "PlaylistTrack")?;
    let model = model(stage, node, &["execute_raw_query", "pieces"])?;
    for moment in ["before", "after"] {
        // The script is stopped by a signal.
        let server = stage.start("writes", serve(stage, &database, &model).arg("--writable"))?;
        server.run(&mut script(stage, node, "writes.mjs", &[&server.url, moment]))?;
    }
    let after = count(&database, "PlaylistTrack")?;
    ensure!(after == before, "PlaylistTrack had {before} rows, and has {after}");
    let added = count(&database, "Genre WHERE Name = 'Skiffle'")?;
    ensure!(added == 1, "{added} genres were added");
    Ok(())
}

fn model(stage: &Stage<'_>, node: &Node, part: &[&str]) -> Result<ServerProcess> {
    stage
        .start(&format!("model-{}", part.join("-")), &mut script(stage, node, "scripted.mjs", part))
}

fn serve(stage: &Stage<'_>, database: &Path, model: &ServerProcess) -> Command {
    let url = format!("{}/v1", model.url);
    let agent = ["--log", "--agent-model", "scripted", "--agent-url", &url];
    let mut serve = stage.serve(database, &agent);
    serve.env(KEY, SCRIPTED_KEY);
    serve
}

/// The scripts need no packages, and run in place.
fn script(stage: &Stage<'_>, node: &Node, name: &str, arguments: &[&str]) -> Command {
    let path = stage.workspace.path(SCRIPTS).join(name);
    let mut script = node.command(stage.workspace, path);
    script.args(arguments).env(KEY, SCRIPTED_KEY);
    script
}
