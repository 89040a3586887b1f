//! What a folder holds that is no tool.

use std::path::Path;

use serde_json::json;
use trunkline_tools::{ToolConfig, ToolFolder};

use super::support::{Folder, manifest};

/// The names of the tools of a folder, and of what is rejected the files and the reasons.
#[track_caller]
fn check(tools: &Folder, settings: ToolConfig, names: &[&str], rejected: &[(&str, &str)]) {
    let folder = ToolFolder::open(tools.path(), settings).unwrap();
    let found: Vec<_> = folder.tools().iter().map(|tool| tool.name.clone()).collect();
    assert_eq!(found, names);
    let all = folder.rejected();
    let found: Vec<_> = all.iter().map(|one| (&*one.file, &*one.reason)).collect();
    assert_eq!(found, rejected);
}

#[test]
fn bad_manifests_leave_good_tools_alone() {
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
                "b.toml:3:12: there is no program ./none.sh: \
                 No such file or directory (os error 2)",
            ),
            ("c.toml", "c.toml has more than 65536 bytes"),
            ("d.toml", "cannot read d.toml: this is not a file"),
            ("e.toml", "cannot read e.toml: invalid utf-8 sequence of 1 bytes from index 8"),
        ],
    );
}

#[test]
fn names_that_are_taken() {
    let tools = Folder::new();
    tools.tool("one", "echo 1", "");
    tools.write("two.toml", &manifest("one", ""));
    tools.tool("list_tables", "echo 1", "");
    let settings = ToolConfig { taken: ["list_tables".to_owned()].into(), ..ToolConfig::default() };
    check(
        &tools,
        settings,
        &["one"],
        &[
            (
                "list_tables.toml",
                "name: the service has a tool list_tables already: take another name",
            ),
            ("two.toml", "name: one.toml has a tool one already: take another name"),
        ],
    );
}

#[test]
fn folders_have_a_bound() {
    let tools = Folder::new();
    for name in ["a", "b", "c", "d"] {
        tools.tool(name, "echo 1", "");
    }
    let settings = ToolConfig { max_tools: 2, ..ToolConfig::default() };
    let reason = "there are more than 2 manifests: this one, and what follows";
    check(&tools, settings, &["a", "b"], &[("c.toml", reason)]);
}

#[test]
fn a_folder_that_is_none() {
    let error = ToolFolder::open("/no/such/folder", ToolConfig::default()).unwrap_err();
    assert_eq!(error.to_string(), "cannot read the folder /no/such/folder");
    assert_eq!(error.path, Path::new("/no/such/folder"));
}

#[test]
fn what_is_told_of_tools() {
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
