//! Measures calls of a client to a server in the same process, over loopback.
//!
//! Prints the figures of one round. The CPU time is that of the process, that is, of client and server together.

use std::net::SocketAddr;
use std::time::{Duration, Instant};

use anyhow::{Result, ensure};
use futures_util::future::try_join_all;
use jsonrpsee::core::client::ClientT;
use jsonrpsee::core::params::BatchRequestBuilder;
use jsonrpsee::http_client::{HttpClient, HttpClientBuilder};
use jsonrpsee::rpc_params;
use jsonrpsee::server::{ServerBuilder, ServerConfig, ServerHandle};
use trunkline::Server;
use trunkline::client::{Client, Http};
use trunkline_bench::clock::process_cpu_time;
use trunkline_bench::{jsonrpsee_module, print_figure, trunkline_rpc};

/// Number of calls per measurement.
const CALLS: usize = 20_000;
/// Number of concurrent calls in the second case.
const TOGETHER: usize = 16;
/// Number of calls per batch.
const BATCH: usize = 100;

/// A client of a running server.
trait Caller {
    async fn add(&self, a: i64, b: i64) -> Result<i64>;

    /// Adds 1 to each of this number of numbers in one batch, and returns the sum of the results.
    async fn batch(&self, calls: usize) -> Result<i64>;
}

#[tokio::main(flavor = "multi_thread", worker_threads = 2)]
async fn main() -> Result<()> {
    let server = Server::bind("127.0.0.1:0").serve(trunkline_rpc()?).await?;
    let ours = Ours(Client::new(Http::connect(&format!("http://{}", server.local_addr()))?));
    let jsonrpsee = Jsonrpsee::start().await?;

    measure("trunkline", &ours).await?;
    measure("jsonrpsee", &jsonrpsee.client).await?;
    server.stop().await;
    jsonrpsee.server.stop()?;
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

async fn measure(library: &str, caller: &impl Caller) -> Result<()> {
    let alone = async || {
        for number in 0..CALLS as i64 {
            ensure!(caller.add(number, 1).await? == number + 1);
        }
        Ok(())
    };
    time("one at a time", library, alone).await?;
    let together = async || {
        let caller = async |_| {
            for number in 0..(CALLS / TOGETHER) as i64 {
                ensure!(caller.add(number, 1).await? == number + 1);
            }
            Ok(())
        };
        try_join_all((0..TOGETHER).map(caller)).await.map(drop)
    };
    time("16 at a time", library, together).await?;
    let batch = async || {
        for _ in 0..CALLS / BATCH {
            ensure!(caller.batch(BATCH).await? == (1..=BATCH as i64).sum::<i64>());
        }
        Ok(())
    };
    time("batches of 100", library, batch).await
}

async fn time(what: &str, library: &str, work: impl AsyncFnOnce() -> Result<()>) -> Result<()> {
    let (cpu, started) = (process_cpu_time(), Instant::now());
    work().await?;
    let table = format!("client and server, {what}");
    let print = |name, time: Duration| {
        print_figure(&table, library, name, time.as_nanos() as f64 / 1_000.0 / CALLS as f64);
    };
    print("us/call", started.elapsed());
    print("CPU us/call", process_cpu_time() - cpu);
    Ok(())
}
