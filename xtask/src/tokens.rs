//! The tokens of `tools/list`, which a model reads in every conversation.

use std::fs::File;
use std::path::Path;

use anyhow::{Context, Result, ensure};
use serde::Deserialize;
use serde_json::value::RawValue;

use crate::peers::Node;
use crate::sdk;
use crate::workspace::{self, Workspace};

/// The maximum number of tokens (o200k) of the list, by the flags of the server.
const LIMITS: [(&[&str], usize); 4] = [
    (&["--writable"], 1_500),
    (&[], 700),
    (&["--toolset", "full", "--writable"], 1_950),
    (&["--toolset", "full"], 1_150),
];

const COUNTER: &str = "crates/trunkline-cli/tests/tokens";

const LIST: &str = r#"{"jsonrpc":"2.0","id":1,"method":"tools/list"}"#;

#[derive(Deserialize)]
struct Reply<'r> {
    #[serde(borrow)]
    result: &'r RawValue,
}

pub(crate) fn run(workspace: &Workspace) -> Result<()> {
    let node = Node::with(workspace, Path::new(sdk::TYPESCRIPT))?;
    let counter = node.with_packages(workspace, "tokens", Path::new(COUNTER))?;
    let program = workspace.build("trunkline")?;
    let folder = workspace.fresh_folder("target/tokens")?;
    let request = folder.join("request.json");
    std::fs::write(&request, LIST)?;
    for (flags, maximum) in LIMITS {
        // The first server, which is writable, creates the database.
        let mut server = workspace.command(&program);
        server.args(["mcp", "--db"]).arg(folder.join("empty.db")).args(flags);
        let printed = workspace::output(server.stdin(File::open(&request)?))?;
        let reply: Reply<'_> = serde_json::from_str(&printed)
            .with_context(|| format!("expected one reply, got {printed}"))?;
        let list = folder.join("list.json");
        std::fs::write(&list, reply.result.get())?;
        let mut count = counter.command(workspace, "count.mjs");
        let printed = workspace::output(count.stdin(File::open(&list)?))?;
        let tokens: usize = printed.trim().parse().with_context(|| printed.clone())?;
        println!("tools/list of `trunkline mcp {}`: {tokens} tokens", flags.join(" "));
        ensure!(tokens <= maximum, "{tokens} tokens exceed the limit of {maximum}");
    }
    Ok(())
}
