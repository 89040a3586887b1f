//! One call in process, without HTTP: what it takes and what it allocates.
//!
//! `dispatch [--json] [--rounds N]`. The contenders take turns within a round.

use std::alloc::{GlobalAlloc, Layout, System};
use std::cell::Cell;
use std::time::Duration;

use anyhow::{Result, bail, ensure};
use bytes::Bytes;
use jsonrpsee::RpcModule;
use serde::Serialize;
use serde_json::Value;
use serde_json::value::RawValue;
use trunkline::{Extensions, Reply, Rpc};
use trunkline_bench::{body, jsonrpsee_module, median, trunkline_rpc, turns};

const CALLS: u32 = 200_000;

#[global_allocator]
static ALLOCATOR: Counting = Counting;

/// The system's allocator, with a count for each thread.
struct Counting;

thread_local! {
    static ALLOCATIONS: Cell<u64> = const { Cell::new(0) };
}

// SAFETY: every method hands its arguments to the system's allocator as they are.
unsafe impl GlobalAlloc for Counting {
    unsafe fn alloc(&self, layout: Layout) -> *mut u8 {
        ALLOCATIONS.set(ALLOCATIONS.get() + 1);
        unsafe { System.alloc(layout) }
    }

    unsafe fn dealloc(&self, pointer: *mut u8, layout: Layout) {
        unsafe { System.dealloc(pointer, layout) }
    }

    unsafe fn realloc(&self, pointer: *mut u8, layout: Layout, size: usize) -> *mut u8 {
        ALLOCATIONS.set(ALLOCATIONS.get() + 1);
        unsafe { System.realloc(pointer, layout, size) }
    }
}

#[derive(Serialize)]
struct Round {
    ours: Cost,
    jsonrpsee: Cost,
}

/// What one call costs.
#[derive(Serialize)]
struct Cost {
    nanos: f64,
    allocations: f64,
}

impl Cost {
    async fn of(call: impl AsyncFn()) -> Self {
        let allocated = ALLOCATIONS.get();
        let start = thread_cpu_time();
        for _ in 0..CALLS {
            call().await;
        }
        let nanos = (thread_cpu_time() - start).as_nanos() as f64;
        let allocations = (ALLOCATIONS.get() - allocated) as f64;
        Self { nanos: nanos / f64::from(CALLS), allocations: allocations / f64::from(CALLS) }
    }
}

/// What this thread ran for. Unlike a wall clock it stands still while others have the core.
fn thread_cpu_time() -> Duration {
    let mut time = libc::timespec { tv_sec: 0, tv_nsec: 0 };
    // SAFETY: the pointer is to a timespec that is ours, and the call only writes there.
    let failed = unsafe { libc::clock_gettime(libc::CLOCK_THREAD_CPUTIME_ID, &mut time) };
    assert_eq!(failed, 0, "Linux has a CPU clock for each thread");
    Duration::new(time.tv_sec as u64, time.tv_nsec as u32)
}

#[tokio::main(flavor = "current_thread")]
async fn main() -> Result<()> {
    let (json, rounds) = turns()?;
    let ours = trunkline_rpc()?;
    let jsonrpsee = jsonrpsee_module()?;
    check(&call_ours(&ours).await?)?;
    check(call_jsonrpsee(&jsonrpsee).await?.get().as_bytes())?;

    let mut measured = Vec::new();
    for _ in 0..rounds {
        measured.push(Round {
            ours: Cost::of(async || drop(call_ours(&ours).await)).await,
            jsonrpsee: Cost::of(async || drop(call_jsonrpsee(&jsonrpsee).await)).await,
        });
    }
    if json {
        println!("{}", serde_json::to_string(&measured)?);
    } else {
        print(&measured);
    }
    Ok(())
}

async fn call_ours(rpc: &Rpc) -> Result<Vec<u8>> {
    let body = Bytes::from_static(body::SINGLE.as_bytes());
    match rpc.handle(body, Extensions::new()).await {
        Reply::Single { json, .. } => Ok(json),
        other => bail!("not one reply: {other:?}"),
    }
}

async fn call_jsonrpsee(module: &RpcModule<()>) -> Result<Box<RawValue>> {
    let (reply, _subscription) = module.raw_json_request(body::SINGLE, 1).await?;
    Ok(reply)
}

fn check(reply: &[u8]) -> Result<()> {
    let expected: Value = serde_json::from_str(body::SINGLE_REPLY)?;
    let reply: Value = serde_json::from_slice(reply)?;
    ensure!(reply == expected, "{reply} is not {expected}");
    Ok(())
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
