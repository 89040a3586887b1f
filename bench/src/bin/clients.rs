//! Measures calls of a client to a server in the same process, over loopback.
//!
//! `clients [--json] [--rounds N]`. The contenders alternate within a round. The figure is the CPU time
//! of the process, that is, of client and server together.

use std::net::SocketAddr;
use std::time::{Duration, Instant};

use anyhow::{Result, ensure};
use futures_util::future::try_join_all;
use jsonrpsee::core::client::ClientT;
use jsonrpsee::core::params::BatchRequestBuilder;
use jsonrpsee::http_client::{HttpClient, HttpClientBuilder};
use jsonrpsee::rpc_params;
use jsonrpsee::server::{ServerBuilder, ServerConfig, ServerHandle};
use serde::Serialize;
use trunkline::Server;
use trunkline::client::{Client, Http};
use trunkline_bench::clock::process_cpu_time;
use trunkline_bench::{jsonrpsee_module, median, trunkline_rpc, turns};

/// Number of calls per measurement.
const CALLS: usize = 20_000;
/// Number of concurrent calls in the second case.
const TOGETHER: usize = 16;
/// Number of calls per batch.
const BATCH: usize = 100;

#[derive(Serialize)]
struct Round {
    ours: Side,
    jsonrpsee: Side,
}

#[derive(Serialize)]
struct Side {
    /// Sequential calls.
    alone: Cost,
    /// Concurrent calls.
    together: Cost,
    /// Calls in batches.
    batch: Cost,
}

/// The cost of one call.
#[derive(Serialize)]
struct Cost {
    cpu_micros: f64,
    wall_micros: f64,
}

/// A client of a running server.
trait Caller {
    async fn add(&self, a: i64, b: i64) -> Result<i64>;

    /// Adds 1 to each of this number of numbers in one batch, and returns the sum of the results.
    async fn batch(&self, calls: usize) -> Result<i64>;
}

#[tokio::main(flavor = "multi_thread", worker_threads = 2)]
async fn main() -> Result<()> {
    let (json, rounds) = turns()?;
    let server = Server::bind("127.0.0.1:0").serve(trunkline_rpc()?).await?;
    let ours = Ours(Client::new(Http::connect(&format!("http://{}", server.local_addr()))?));
    let jsonrpsee = Jsonrpsee::start().await?;

    let mut measured = Vec::new();
    for _ in 0..rounds {
        measured.push(Round {
            ours: Side::of(&ours).await?,
            jsonrpsee: Side::of(&jsonrpsee.client).await?,
        });
    }
    server.stop().await;
    jsonrpsee.server.stop()?;
    if json {
        println!("{}", serde_json::to_string(&measured)?);
    } else {
        print(&measured);
    }
    Ok(())
}

struct Ours(Client);

impl Caller for Ours {
    async fn add(&self, a: i64, b: i64) -> Result<i64> {
        Ok(self.0.call("add", (a, b)).await?)
    }

    async fn batch(&self, calls: usize) -> Result<i64> {
        let mut batch = self.0.batch();
        let slots: Vec<_> =
            (0..calls).map(|number| batch.add(self.0.call::<i64>("add", (number, 1)))).collect();
        let mut replies = batch.send().await?;
        let mut sum = 0;
        for slot in slots {
            sum += replies.take(slot)?;
        }
        Ok(sum)
    }
}

struct Jsonrpsee {
    server: ServerHandle,
    client: HttpClient,
}

impl Jsonrpsee {
    async fn start() -> Result<Self> {
        let config = ServerConfig::builder().set_tcp_no_delay(true).build();
        let address: SocketAddr = "127.0.0.1:0".parse()?;
        let server = ServerBuilder::with_config(config).build(address).await?;
        let url = format!("http://{}", server.local_addr()?);
        let server = server.start(jsonrpsee_module()?);
        Ok(Self { server, client: HttpClientBuilder::default().build(url)? })
    }
}

impl Caller for HttpClient {
    async fn add(&self, a: i64, b: i64) -> Result<i64> {
        Ok(self.request("add", rpc_params![a, b]).await?)
    }

    async fn batch(&self, calls: usize) -> Result<i64> {
        let mut batch = BatchRequestBuilder::new();
        for number in 0..calls {
            batch.insert("add", rpc_params![number, 1])?;
        }
        let replies = self.batch_request::<i64>(batch).await?;
        let mut sum = 0;
        for reply in replies {
            sum += reply.map_err(|error| anyhow::anyhow!("{error}"))?;
        }
        Ok(sum)
    }
}

impl Side {
    async fn of(caller: &impl Caller) -> Result<Self> {
        let alone = Cost::of(CALLS, async || {
            for number in 0..CALLS as i64 {
                ensure!(caller.add(number, 1).await? == number + 1);
            }
            Ok(())
        });
        let alone = alone.await?;
        let together = Cost::of(CALLS, async || {
            try_join_all((0..TOGETHER).map(async |_| {
                for number in 0..(CALLS / TOGETHER) as i64 {
                    ensure!(caller.add(number, 1).await? == number + 1);
                }
                Ok(())
            }))
            .await?;
            Ok(())
        });
        let together = together.await?;
        let batch = Cost::of(CALLS, async || {
            for _ in 0..CALLS / BATCH {
                ensure!(caller.batch(BATCH).await? == (1..=BATCH as i64).sum::<i64>());
            }
            Ok(())
        });
        Ok(Self { alone, together, batch: batch.await? })
    }
}

impl Cost {
    async fn of(calls: usize, work: impl AsyncFnOnce() -> Result<()>) -> Result<Self> {
        let (cpu, started) = (process_cpu_time(), Instant::now());
        work().await?;
        let micros = |time: Duration| time.as_nanos() as f64 / 1_000.0 / calls as f64;
        Ok(Self {
            wall_micros: micros(started.elapsed()),
            cpu_micros: micros(process_cpu_time() - cpu),
        })
    }
}

fn print(rounds: &[Round]) {
    println!("medians of {} rounds of {CALLS} calls; CPU us (wall us) a call", rounds.len());
    for (what, cost) in [
        ("sequential", (|side| &side.alone) as fn(&Side) -> &Cost),
        ("16 at a time", |side| &side.together),
        ("in batches of 100", |side| &side.batch),
    ] {
        let cpu =
            |side: fn(&Round) -> &Side| median(rounds.iter().map(|r| cost(side(r)).cpu_micros));
        let wall =
            |side: fn(&Round) -> &Side| median(rounds.iter().map(|r| cost(side(r)).wall_micros));
        let ratio =
            median(rounds.iter().map(|r| cost(&r.ours).cpu_micros / cost(&r.jsonrpsee).cpu_micros));
        println!(
            "{what:<22} ours {:>7.2} ({:>7.2})  jsonrpsee {:>7.2} ({:>7.2})  ratio {ratio:.2}",
            cpu(|r| &r.ours),
            wall(|r| &r.ours),
            cpu(|r| &r.jsonrpsee),
            wall(|r| &r.jsonrpsee),
        );
    }
}
