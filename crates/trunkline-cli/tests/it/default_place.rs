//! Servers of desktop applications, which start them in a directory that cannot be written.

use std::fs;
use std::os::unix::fs::PermissionsExt;
use std::path::Path;
use std::process::Command;

use serde_json::{Value, json};

use crate::support::{Ended, run, trunkline};

/// No user can create a file here.
const UNWRITABLE: &str = "/proc";

/// Runs `trunkline mcp` in a directory, with a call of a tool.
fn call(folder: &Path, home: &Path, arguments: &[&str], tool: &str, params: &Value) -> Ended {
    let input = home.join("input");
    let call = json!({"jsonrpc": "2.0", "id": 1, "method": "tools/call", "params": {"name": tool, "arguments": params}});
    fs::write(&input, format!("{call}\n")).unwrap();
    let mut command: Command = trunkline(folder);
    command.arg("mcp").args(arguments).env("HOME", home).env_remove("XDG_STATE_HOME");
    command.stdin(fs::File::open(input).unwrap());
    run(&mut command)
}

#[track_caller]
fn check(ended: &Ended, expected: &str) {
    assert_eq!(ended.code, Some(0), "{ended:?}");
    let reply: Value = serde_json::from_str(&ended.stdout).unwrap_or_else(|_| panic!("{ended:?}"));
    assert_ne!(reply["result"]["isError"], true, "{ended:?}");
    assert!(reply["result"].to_string().contains(expected), "{reply}");
}

#[test]
fn state_is_in_the_state_directory_if_the_working_directory_cannot_be_written() {
    let home = tempfile::tempdir().unwrap();
    let state = home.path().join(".local/state/trunkline");
    let unwritable = Path::new(UNWRITABLE);
    check(&call(unwritable, home.path(), &[], "list_tables", &json!({})), "tables");
    assert!(state.join("trunkline.db").is_file());
    let mode = fs::metadata(&state).unwrap().permissions().mode();
    assert_eq!(mode & 0o777, 0o700);

    let record = json!({"title": "buy milk"});
    let arguments = ["--expose", "todo"];
    check(&call(unwritable, home.path(), &arguments, "todo_create", &record), "buy milk");
    assert!(state.join(".trunkline").is_dir());
    check(&call(unwritable, home.path(), &arguments, "todo_list", &json!({})), "buy milk");

    // A setting takes precedence.
    let data = home.path().join("data");
    let arguments = ["--expose", "todo", "--data-dir", data.to_str().unwrap()];
    check(&call(unwritable, home.path(), &arguments, "todo_create", &record), "buy milk");
    assert!(data.is_dir());
}

#[test]
fn state_is_in_a_working_directory_that_can_be_written() {
    let [home, folder] = [(); 2].map(|()| tempfile::tempdir().unwrap());
    check(&call(folder.path(), home.path(), &[], "list_tables", &json!({})), "tables");
    assert!(folder.path().join("trunkline.db").is_file());
    assert!(!home.path().join(".local").exists());
}

#[test]
fn without_a_directory_the_error_names_the_settings() {
    let home = tempfile::tempdir().unwrap();
    let input = home.path().join("input");
    fs::write(&input, "").unwrap();
    let mut command = trunkline(Path::new(UNWRITABLE));
    let ended = run(command.arg("mcp").env("HOME", "/proc/none").env_remove("XDG_STATE_HOME"));
    assert_eq!(ended.code, Some(1), "{ended:?}");
    let expected =
        "cannot create /proc/none/.local/state/trunkline/trunkline.db; give another file with --db";
    assert!(ended.stderr.contains(expected), "{ended:?}");

    let mut command = trunkline(Path::new(UNWRITABLE));
    command.env("HOME", "/proc/none").env("XDG_STATE_HOME", home.path());
    let ended = run(command.arg("mcp"));
    assert_eq!(ended.code, Some(0), "{ended:?}");
    assert!(home.path().join("trunkline/trunkline.db").is_file());
}
