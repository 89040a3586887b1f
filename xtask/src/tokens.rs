//! The tokens of `tools/list`, which a model reads in every conversation.

use std::collections::BTreeMap;
use std::fs::File;

use anyhow::{Context, Result, ensure};
use serde_json::value::RawValue;

use crate::peers::Node;
use crate::server_process::Stage;
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

pub(crate) fn run(workspace: &Workspace) -> Result<()> {
    let counter = Node::with(workspace, "tokens", COUNTER)?;
    let stage = Stage::new(workspace, "tokens")?;
    let request = stage.folder.join("request.json");
    std::fs::write(&request, LIST)?;
    for (flags, maximum) in LIMITS {
        // The first server, which is writable, creates the database.
        let mut server = stage.command(&["mcp", "--db"]);
        server.arg(stage.folder.join("empty.db")).args(flags).stdin(File::open(&request)?);
        let printed = workspace::output(&mut server)?;
        // The text of the result, as the server wrote it.
        let reply: BTreeMap<&str, &RawValue> =
            serde_json::from_str(&printed).with_context(|| format!("got {printed}"))?;
        let list = stage.folder.join("list.json");
        std::fs::write(&list, reply.get("result").context("no result")?.get())?;
        let mut count = counter.command(workspace, "count.mjs");
        let tokens = workspace::output(count.stdin(File::open(&list)?))?.trim().parse::<usize>()?;
        println!("tools/list of `trunkline mcp {}`: {tokens} tokens", flags.join(" "));
        ensure!(tokens <= maximum, "{tokens} tokens exceed the limit of {maximum}");
    }
    Ok(())
}
