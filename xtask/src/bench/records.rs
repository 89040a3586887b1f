//! Records of `trunkline-records`: reads and writes over HTTP, natively and by JSON-RPC, and durable imports per second.

use std::path::{Path, PathBuf};
use std::process::Command;

use anyhow::{Context, Result};

use super::connection::{Connection, Request};
use super::load::{CPU, Case, Load, case};
use super::report::{Figure, Goal, Ratio};
use super::server::{SERVER_CORE, Server, ours, pinned};
use crate::workspace::{self, Workspace};

const EXECUTE: (&str, &[&str]) = ("/execute", &[]);
const NATIVE: &str = "native";
const JSON_RPC: &str = "JSON-RPC";

const READ: [Case; 2] =
    [case(NATIVE, "read_native", EXECUTE, "tea"), case(JSON_RPC, "read_jsonrpc", EXECUTE, "tea")];
const UPDATE: [Case; 2] = [
    case(NATIVE, "update_native", EXECUTE, "tea"),
    case(JSON_RPC, "update_jsonrpc", EXECUTE, "tea"),
];
const CREATE: [Case; 1] = [case(NATIVE, "create_native", EXECUTE, "tea")];

/// The record that is read and updated. Its id is also in `bench/load`.
const RECORD: &str =
    r#"{"command":"create","resource":"todo","id":"bench","payload":{"title":"Make tea"}}"#;

/// A file system in memory, so that commits do not wait for the disk, and only CPU work remains.
const SHM: &str = "/dev/shm/trunkline-bench";
const DISK: &str = "target/bench/records";

/// Number of imported records, and of concurrent tasks.
const IMPORTED: u32 = 20_000;
const IMPORTING: u32 = 64;

pub(super) fn ratios() -> Vec<Ratio> {
    let tables = ["read in memory", "update in memory", "update on disk"];
    let ratio = |table: &str| {
        let goal = table.starts_with("update").then_some(Goal::AtMost(1.10));
        Ratio::new((&format!("{table}, connections: 16"), CPU), JSON_RPC, NATIVE, goal)
    };
    tables.map(ratio).into()
}

/// Measures each place with a new server and new files.
pub(super) fn round(workspace: &Workspace, seconds: u32) -> Result<Vec<Figure>> {
    let chosen = ["--package=trunkline-records", "--example=todo", "--example=import"];
    let examples = ours(workspace, &chosen)?.join("examples");
    let memory = workspace.fresh_folder(SHM)?;
    let many: &[u32] = &[16];
    let in_memory: [(&str, &[Case], &[u32]); 2] =
        [("read in memory", &READ, many), ("update in memory", &UPDATE, many)];
    let on_disk: [(&str, &[Case], &[u32]); 2] =
        [("update on disk", &UPDATE, many), ("create on disk", &CREATE, &[1, 16, 64])];
    let mut figures = measure(workspace, &examples, &memory, &in_memory, seconds)?;
    std::fs::remove_dir_all(&memory)?;
    let disk = workspace.fresh_folder(DISK)?;
    figures.extend(measure(workspace, &examples, &disk, &on_disk, seconds)?);
    figures.push(import(&examples.join("import"), &workspace.fresh_folder(DISK)?)?);
    Ok(figures)
}

fn measure(
    workspace: &Workspace,
    examples: &Path,
    folder: &PathBuf,
    tables: &[(&str, &[Case], &[u32])],
    seconds: u32,
) -> Result<Vec<Figure>> {
    let mut todo = pinned(SERVER_CORE, examples.join("todo"));
    let server = Server::announcing(todo.arg(folder).arg("127.0.0.1:0"))?;
    let line = "POST /execute".to_owned();
    let create = Request { line, headers: &[], body: RECORD.to_owned(), expected: "tea" };
    Connection::open(&server.address, &create)?.exchange()?;
    let mut figures = Vec::new();
    for (table, cases, counts) in tables {
        for &connections in *counts {
            let table = format!("{table}, connections: {connections}");
            for case in *cases {
                let load = Load { workspace, server: &server, case, connections, seconds };
                figures.extend(load.measure(&table, case.name)?);
            }
        }
    }
    Ok(figures)
}

/// Durable imports per second without a server, on all cores.
fn import(program: &Path, folder: &Path) -> Result<Figure> {
    let mut import = Command::new(program);
    import.arg(folder).args([IMPORTED, IMPORTING].map(|number| number.to_string()));
    let printed = workspace::output(&mut import)?;
    let printed: serde_json::Value = serde_json::from_str(&printed)?;
    let micros = printed["micros"].as_f64().context("the import printed no time")?;
    let rate = f64::from(IMPORTED) * 1e6 / micros;
    Ok(Figure::new("create on disk, in process", &format!("{IMPORTING} tasks"), "records/s", rate))
}
