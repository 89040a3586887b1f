//! Measures the time and allocations of one call in process, without HTTP.
//!
//! `dispatch [--json] [--rounds N]`. The contenders alternate within a round.

use anyhow::Result;
use jsonrpsee::RpcModule;
use serde::Serialize;
use serde_json::value::RawValue;
use trunkline::Extensions;
use trunkline_bench::cost::{Cost, Counting};
use trunkline_bench::{
    body, call_trunkline, check_single, jsonrpsee_module, median, trunkline_rpc, turns,
};

const CALLS: u32 = 200_000;

#[global_allocator]
static ALLOCATOR: Counting = Counting;

#[derive(Serialize)]
struct Round {
    ours: Cost,
    jsonrpsee: Cost,
}

#[tokio::main(flavor = "current_thread")]
async fn main() -> Result<()> {
    let (json, rounds) = turns()?;
    let ours = trunkline_rpc()?;
    let jsonrpsee = jsonrpsee_module()?;
    check_single(&call_trunkline(&ours, Extensions::new()).await?)?;
    check_single(call_jsonrpsee(&jsonrpsee).await?.get().as_bytes())?;

    let mut measured = Vec::new();
    for _ in 0..rounds {
        measured.push(Round {
            ours: Cost::of(CALLS, async || drop(call_trunkline(&ours, Extensions::new()).await))
                .await,
            jsonrpsee: Cost::of(CALLS, async || drop(call_jsonrpsee(&jsonrpsee).await)).await,
        });
    }
    if json {
        println!("{}", serde_json::to_string(&measured)?);
    } else {
        print(&measured);
    }
    Ok(())
}

async fn call_jsonrpsee(module: &RpcModule<()>) -> Result<Box<RawValue>> {
    let (reply, _subscription) = module.raw_json_request(body::SINGLE, 1).await?;
    Ok(reply)
}

fn print(rounds: &[Round]) {
    let of = |figure: fn(&Round) -> f64| median(rounds.iter().map(figure));
    println!("medians of {} rounds of {CALLS} calls", rounds.len());
    println!(
        "ours       {:>7.0} ns {:>5.1} allocations",
        of(|r| r.ours.nanos),
        of(|r| r.ours.allocations)
    );
    println!(
        "jsonrpsee  {:>7.0} ns {:>5.1} allocations",
        of(|r| r.jsonrpsee.nanos),
        of(|r| r.jsonrpsee.allocations)
    );
    println!("ours / jsonrpsee  {:.3}", of(|r| r.ours.nanos / r.jsonrpsee.nanos));
}
