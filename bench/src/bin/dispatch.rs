//! Measures the time and allocations of one call in process, without HTTP.
//!
//! Prints the figures of one round.

use anyhow::Result;
use jsonrpsee::RpcModule;
use serde_json::value::RawValue;
use trunkline::Extensions;
use trunkline_bench::cost::{Cost, Counting};
use trunkline_bench::{
    body, call_trunkline, check_single, jsonrpsee_module, print_figure, trunkline_rpc,
};

const CALLS: u32 = 200_000;

#[global_allocator]
static ALLOCATOR: Counting = Counting;

#[tokio::main(flavor = "current_thread")]
async fn main() -> Result<()> {
    let ours = trunkline_rpc()?;
    let jsonrpsee = jsonrpsee_module()?;
    check_single(&call_trunkline(&ours, Extensions::new()).await?)?;
    check_single(call_jsonrpsee(&jsonrpsee).await?.get().as_bytes())?;
    let costs = [
        (
            "trunkline",
            Cost::of(CALLS, async || drop(call_trunkline(&ours, Extensions::new()).await)).await,
        ),
        ("jsonrpsee", Cost::of(CALLS, async || drop(call_jsonrpsee(&jsonrpsee).await)).await),
    ];
    for (library, cost) in costs {
        print_figure("in process, default layers", library, "ns", cost.nanos);
        print_figure("in process, default layers", library, "allocations", cost.allocations);
    }
    Ok(())
}

async fn call_jsonrpsee(module: &RpcModule<()>) -> Result<Box<RawValue>> {
    let (reply, _subscription) = module.raw_json_request(body::SINGLE, 1).await?;
    Ok(reply)
}
