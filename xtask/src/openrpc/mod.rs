//! Checks the OpenRPC documents of our servers against the meta-schema and the servers, and with generated clients.

use std::path::Path;
use std::time::Duration;

use anyhow::{Context, Result};

use crate::peers::{Node, Python};
use crate::sample_db;
use crate::sdk;
use crate::server_process::ServerProcess;
use crate::workspace::{self, Workspace};

const TYPESCRIPT: &str = "xtask/openrpc/typescript";
const PYTHON: &str = "xtask/openrpc/python";

/// Deadline of one script, which takes a few seconds.
const DEADLINE: Duration = Duration::from_secs(120);

pub(crate) fn run(workspace: &Workspace) -> Result<()> {
    let node = Node::with(workspace, Path::new(sdk::TYPESCRIPT))?;
    let node = node.with_packages(workspace, "openrpc-node", Path::new(TYPESCRIPT))?;
    let lock = Path::new(PYTHON).join("requirements.txt");
    let python = Python::with(workspace, "openrpc-python", &lock)?;
    let program = workspace.build("trunkline")?;
    let example = workspace.build("openrpc")?;
    let folder = workspace.fresh_folder("target/openrpc")?;

    let database = folder.join("sample.db");
    std::fs::copy(sample_db::cached(workspace)?, &database)
        .with_context(|| format!("cannot write {}", database.display()))?;
    let log = folder.join("database.log");
    let mut serve = workspace.command(&program);
    serve.args(["serve", "--listen", "127.0.0.1:0", "--db"]).arg(&database);
    let server = ServerProcess::start(&mut serve, &log)?;
    check(workspace, &node, &program, &server, &folder.join("database.json"))?;
    drop(server);

    let mut serve = workspace.command(example);
    let server = ServerProcess::start(serve.arg("127.0.0.1:0"), &folder.join("example.log"))?;
    let document = folder.join("example.json");
    check(workspace, &node, &program, &server, &document)?;

    // Node resolves the packages of generated clients relative to their folder.
    let clients = node.folder().join("clients");
    let mut generate = python.command(workspace);
    generate.arg(Path::new(PYTHON).join("generate.py")).arg(&document).arg(&server.url);
    run_client(generate.arg(&clients), &server)?;
    run_client(node.command(workspace, "compile.mjs").arg(&clients), &server)?;
    run_client(node.command(workspace, "client.mjs").arg(&server.url), &server)?;
    let mut client = python.command(workspace);
    client.arg(Path::new(PYTHON).join("client.py")).arg(&clients).arg(&server.url);
    run_client(client.env("PYTHONDONTWRITEBYTECODE", "1"), &server)
}

/// Fetches the document with `trunkline openrpc`, and validates it.
fn check(
    workspace: &Workspace,
    node: &Node,
    program: &Path,
    server: &ServerProcess,
    document: &Path,
) -> Result<()> {
    let mut discover = workspace.command(program);
    run_client(discover.args(["openrpc", &server.url, "--out"]).arg(document), server)?;
    run_client(node.command(workspace, "validate.mjs").arg(document).arg(&server.url), server)
}

fn run_client(command: &mut std::process::Command, server: &ServerProcess) -> Result<()> {
    workspace::run_within(DEADLINE, command)
        .with_context(|| format!("log of the server:\n{}", server.log_tail()))
}
