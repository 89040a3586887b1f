//! Rejected manifests.

use std::path::Path;

use serde_json::json;
use trunkline_command_tools::{ToolConfig, ToolFolder};

use super::support::{Folder, manifest};

/// Checks the names of the tools of a folder, and the files and reasons of rejected manifests.
#[track_caller]
fn check(tools: &Folder, config: ToolConfig, names: &[&str], rejected: &[(&str, &str)]) {
    let folder = ToolFolder::open(tools.path(), config).unwrap();
    let found: Vec<_> = folder.tools().iter().map(|tool| tool.name.clone()).collect();
    assert_eq!(found, names);
    let all = folder.rejected();
    let found: Vec<_> = all.iter().map(|one| (&*one.file, &*one.reason)).collect();
    assert_eq!(found, rejected);
}

#[test]
fn invalid_manifests_do_not_affect_others() {
    let tools = Folder::new();
    tools.tool("good", "echo 1", "");
    tools.write("a.toml", "name = ");
    tools.write(
        "b.toml",
        &manifest("good", "").replace("'good'", "'b'").replace("./good", "./none"),
    );
    tools.write("c.toml", &"#".repeat(70_000));
    tools.write("notes.txt", "not a manifest");
    tools.write(".good.toml.swp", "an editor's");
    tools.write(".hidden.toml", "an editor's, too");
    std::fs::create_dir(tools.path().join("d.toml")).unwrap();
    std::fs::write(tools.path().join("e.toml"), b"name = '\xff'").unwrap();
    check(
        &tools,
        ToolConfig::default(),
        &["good"],
        &[
            ("a.toml", "a.toml:1:8: string values must be quoted, expected literal string"),
            (
                "b.toml",
                "b.toml:3:12: program `./none.sh` not found: \
                 No such file or directory (os error 2)",
            ),
            ("c.toml", "c.toml exceeds 65536 bytes"),
            ("d.toml", "cannot read d.toml: not a file"),
            ("e.toml", "cannot read e.toml: invalid utf-8 sequence of 1 bytes from index 8"),
        ],
    );
}

#[test]
fn rejects_duplicate_names() {
    let tools = Folder::new();
    tools.tool("one", "echo 1", "");
    tools.write("two.toml", &manifest("one", ""));
    tools.tool("list_tables", "echo 1", "");
    let config =
        ToolConfig { reserved_names: ["list_tables".to_owned()].into(), ..ToolConfig::default() };
    check(
        &tools,
        config,
        &["one"],
        &[
            ("list_tables.toml", "duplicate name: the service already has a tool `list_tables`"),
            ("two.toml", "duplicate name: one.toml already has a tool `one`"),
        ],
    );
}

#[test]
fn limits_the_number_of_tools() {
    let tools = Folder::new();
    for name in ["a", "b", "c", "d"] {
        tools.tool(name, "echo 1", "");
    }
    let config = ToolConfig { max_tools: 2, ..ToolConfig::default() };
    let reason = "the folder exceeds 2 manifests: this file and the following are ignored";
    check(&tools, config, &["a", "b"], &[("c.toml", reason)]);
}

#[test]
fn reports_a_missing_folder() {
    let error = ToolFolder::open("/no/such/folder", ToolConfig::default()).unwrap_err();
    assert_eq!(error.to_string(), "cannot read the folder /no/such/folder");
    assert_eq!(error.path, Path::new("/no/such/folder"));
}

#[test]
fn lists_tools_and_rejected_manifests() {
    let tools = Folder::new();
    tools.write("bad.toml", "x");
    tools.tool("good", "echo 1", "title = 'Good'\n[output_schema]\ntype = 'integer'");
    let folder = ToolFolder::open(tools.path(), ToolConfig::default()).unwrap();
    let reason = "bad.toml:1:2: key with no value, expected `=`";
    assert_eq!(
        serde_json::to_value(folder.listing()).unwrap(),
        json!({
            "added": [],
            "changed": [],
            "removed": [],
            "tools": [{
                "name": "good",
                "title": "Good",
                "description": "A test.",
                "inputSchema": { "type": "object" },
                "outputSchema": { "type": "integer" },
            }],
            "rejected": [{ "file": "bad.toml", "reason": reason }],
        })
    );
}
