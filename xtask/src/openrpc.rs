//! Checks the OpenRPC documents of our servers against the meta-schema and the servers, and with generated clients.

use std::path::Path;

use anyhow::Result;

use crate::peers::{Node, Python};
use crate::server_process::{ServerProcess, Stage};
use crate::workspace::Workspace;

const TYPESCRIPT: &str = "xtask/openrpc/typescript";
const PYTHON: &str = "xtask/openrpc/python";

pub(crate) fn run(workspace: &Workspace) -> Result<()> {
    let node = Node::with(workspace, "openrpc-node", TYPESCRIPT)?;
    let lock = Path::new(PYTHON).join("requirements.txt");
    let python = Python::with(workspace, "openrpc-python", Some(&lock))?;
    let stage = Stage::new(workspace, "openrpc")?;

    let mut serve = stage.serve(&stage.sample("sample")?, &[]);
    let server = stage.start("database", &mut serve)?;
    check(&stage, &node, &server, &stage.folder.join("database.json"))?;
    drop(server);

    let mut example = workspace.command(workspace.build("openrpc")?);
    let server = stage.start("example", example.arg("127.0.0.1:0"))?;
    let document = stage.folder.join("example.json");
    check(&stage, &node, &server, &document)?;

    // Node resolves the packages of generated clients relative to their folder.
    let clients = node.folder.join("clients");
    let script = |name| {
        let mut script = python.command(workspace);
        script.arg(Path::new(PYTHON).join(name));
        script
    };
    server.run(script("generate.py").arg(&document).arg(&server.url).arg(&clients))?;
    server.run(node.command(workspace, "compile.mjs").arg(&clients))?;
    server.run(node.command(workspace, "client.mjs").arg(&server.url))?;
    server.run(script("client.py").arg(&clients).arg(&server.url))
}

/// Fetches the document with `trunkline openrpc`, and validates it.
fn check(stage: &Stage<'_>, node: &Node, server: &ServerProcess, document: &Path) -> Result<()> {
    server.run(stage.command(&["openrpc", &server.url, "--out"]).arg(document))?;
    let mut validate = node.command(stage.workspace, "validate.mjs");
    server.run(validate.arg(document).arg(&server.url))
}
