//! Folders of tools that the binary starts.

use std::path::{Path, PathBuf};

use serde_json::Value;
use trunkline::{ErrorObject, Router, Rpc};
use trunkline_command_tools::{Launcher, ProcessLimits, ToolConfig, ToolFolder, operations};

pub(super) fn open(folder: &Path, limits: ProcessLimits) -> (ToolFolder, Rpc) {
    let arguments = vec!["tool".into(), "run".into()];
    let launcher = Some(Launcher { program: binary(), arguments });
    let programs = [("trunkline".to_owned(), binary())].into();
    let settings = ToolConfig { programs, launcher, limits, ..ToolConfig::default() };
    let folder = ToolFolder::open(folder, settings).unwrap();
    assert_eq!(folder.rejected(), []);
    let rpc = Router::new().merge(operations(&folder)).build().unwrap();
    (folder, rpc)
}

pub(super) fn call(rpc: &Rpc, tool: &str, params: &Value) -> Result<Value, ErrorObject> {
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap();
    runtime.block_on(rpc.call(tool, params))
}

fn binary() -> PathBuf {
    env!("CARGO_BIN_EXE_trunkline").into()
}
