//! The common parts of all contenders: the runtime, the command line, the methods and the bodies. The parts of the two
//! servers that the gate builds are in the package `trunkline-bench-pair`.

pub mod clock;
pub mod cost;

use anyhow::{Context, Result, ensure};
use bytes::Bytes;
use jsonrpsee::RpcModule;
use jsonrpsee::types::ErrorObjectOwned;
use schemars::JsonSchema;
use serde::Serialize;
use serde_json::Value;
use trunkline::{Extensions, Rpc};

pub use trunkline_bench_pair::{Add, announce, run, trunkline_router, trunkline_rpc};

/// Bodies and expected replies. The load generator posts the same files.
pub mod body {
    pub const SINGLE: &str = include_str!("../load/single.json");
    pub const SINGLE_REPLY: &str = include_str!("../load/single.reply.json");
    pub const BATCH_REPLY: &str = include_str!("../load/batch.reply.json");
}

/// The result of `add` as a tool, whose structured content is an object.
#[derive(Serialize, JsonSchema)]
pub struct Sum {
    pub sum: i64,
}

/// The methods for jsonrpsee, for its server and the in-process comparison.
pub fn jsonrpsee_module() -> Result<RpcModule<()>> {
    let mut module = RpcModule::new(());
    module.register_method("add", |params, _, _| {
        let add: Add = params.parse()?;
        Ok::<_, ErrorObjectOwned>(add.a + add.b)
    })?;
    module.register_method("sum", |params, _, _| {
        let numbers: Vec<i64> = params.parse()?;
        Ok::<_, ErrorObjectOwned>(numbers.iter().sum::<i64>())
    })?;
    Ok(module)
}

/// Trunkline's reply to the single call.
pub async fn call_trunkline(rpc: &Rpc, extensions: Extensions) -> Result<Vec<u8>> {
    let body = Bytes::from_static(body::SINGLE.as_bytes());
    rpc.handle(body, extensions).await.into_json().context("no reply")
}

/// Checks the reply to the single call.
pub fn check_single(reply: &[u8]) -> Result<()> {
    let expected: Value = serde_json::from_str(body::SINGLE_REPLY)?;
    let reply: Value = serde_json::from_slice(reply)?;
    ensure!(reply == expected, "got {reply}, expected {expected}");
    Ok(())
}

/// Prints a figure for `cargo xtask bench`: what all rows of a table do, a row, its name and its value.
pub fn print_figure(table: &str, row: &str, name: &str, value: f64) {
    println!("{table}\t{row}\t{name}\t{value}");
}

/// The median.
pub fn median(samples: impl Iterator<Item = f64>) -> f64 {
    let mut sorted: Vec<f64> = samples.collect();
    sorted.sort_by(f64::total_cmp);
    sorted[sorted.len() / 2]
}

/// The names of the tools of servers of MCP.
pub fn tool_names() -> impl Iterator<Item = String> {
    let further = (1..100).map(|number| format!("add_{number}"));
    std::iter::once("add".to_owned()).chain(further)
}
