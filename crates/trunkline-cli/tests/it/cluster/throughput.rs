//! Calls per second of one, two and three nodes, and the CPU time of their processes per call.

use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::{Duration, Instant};

use serde_json::{Value, json};
use trunkline_test_postgres::process;

use super::{Cluster, Load, What, read};
use crate::nodes::LIST;
use crate::nodes::proxy::Caller;
use crate::support::cpu_time;

/// Concurrent clients.
const CLIENTS: usize = 16;

/// The time of each measurement: `CLUSTER_SECONDS`, or five seconds.
fn duration() -> Duration {
    let seconds = std::env::var("CLUSTER_SECONDS").ok().and_then(|text| text.parse().ok());
    Duration::from_secs(seconds.unwrap_or(5))
}

#[derive(Clone, Copy)]
enum Kind {
    Sql,
    Read,
    Write,
    Tool,
}

impl Kind {
    fn name(self) -> &'static str {
        match self {
            Self::Sql => "`execute_raw_query`, 5 rows",
            Self::Read => "`query_records`, 5 rows",
            Self::Write => "write of a record",
            Self::Tool => "MCP `tools/call`, read of 5 records",
        }
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
#[ignore = "needs PostgreSQL and nginx; run by `cargo xtask cluster`"]
async fn throughput() {
    println!("\n{CLIENTS} clients, {} s each, CPU time in µs per call", duration().as_secs());
    println!("\n| call | nodes | calls/s | CPU of nodes | of PostgreSQL | of nginx | total |");
    println!("|---|---|---|---|---|---|---|");
    let mut idle = Vec::new();
    for count in 1..=3 {
        let cluster = Cluster::start(count);
        for kind in [Kind::Sql, Kind::Read, Kind::Write, Kind::Tool] {
            println!("{}", measure(&cluster, kind).await);
        }
        idle.push(measure_idle(&cluster).await);
        cluster.stop();
    }
    println!("\n| idle nodes | CPU of nodes, ms per second | of PostgreSQL |");
    println!("|---|---|---|");
    for (count, [nodes, postgres]) in (1..).zip(idle) {
        println!("| {count} | {nodes:.1} | {postgres:.1} |");
    }
    println!();
}

/// The CPU time of nodes and of PostgreSQL in milliseconds per second, without calls. There is a session, so the nodes
/// read messages at their shorter interval.
async fn measure_idle(cluster: &Cluster) -> [f64; 2] {
    let caller = Caller::connect(cluster.nginx.address, "legacy").await;
    caller.client.subscribe(LIST).await.unwrap();
    // nginx sends each request to another node.
    for _ in &cluster.nodes {
        caller.client.ping().await.unwrap();
    }
    let (begin, before) = (Instant::now(), cpu_times(cluster));
    tokio::time::sleep(duration()).await;
    let (took, after) = (begin.elapsed().as_secs_f64(), cpu_times(cluster));
    [0, 1].map(|index| (after[index] - before[index]).as_secs_f64() * 1_000.0 / took)
}

/// The CPU times of the nodes, of PostgreSQL and of nginx.
fn cpu_times(cluster: &Cluster) -> [Duration; 3] {
    let nodes: Duration = cluster.nodes.iter().map(|node| cpu_time(node.process())).sum();
    [nodes, cpu_time(process()), cpu_time(cluster.nginx.process())]
}

/// The read of [`read`] as SQL.
fn sql(number: u64) -> (&'static str, Value) {
    let query = "SELECT * FROM reading WHERE sensor = $1";
    ("db.execute_raw_query", json!({"query": query, "params": [number % 20_000]}))
}

/// The row of the table.
async fn measure(cluster: &Cluster, kind: Kind) -> String {
    let mut load = Load::default();
    let failed = Arc::new(AtomicUsize::new(0));
    let caller = match kind {
        Kind::Tool => Some(Arc::new(Caller::connect(cluster.nginx.address, "modern").await)),
        Kind::Sql | Kind::Read | Kind::Write => None,
    };
    for _ in 0..CLIENTS {
        let (client, caller, failed) = (cluster.client(), caller.clone(), Arc::clone(&failed));
        load.spawn(move |state| {
            let (client, caller, failed) = (client.clone(), caller.clone(), Arc::clone(&failed));
            async move {
                let number = state.number();
                let is_ok = match (kind, &caller) {
                    (Kind::Tool, Some(caller)) => {
                        let listed = caller.try_call("todo_list", &json!({"limit": 5})).await;
                        matches!(listed, Ok(Ok(())))
                    }
                    _ => {
                        let (method, mut params) = match kind {
                            Kind::Write => What::Record.write(number),
                            Kind::Sql => sql(number),
                            Kind::Read | Kind::Tool => read(number),
                        };
                        if matches!(kind, Kind::Write) {
                            // The store creates an id.
                            params.as_object_mut().unwrap().remove("id");
                        }
                        client.call::<Value>(method, params).await.is_ok()
                    }
                };
                if !is_ok {
                    failed.fetch_add(1, Ordering::SeqCst);
                }
                state.add();
            }
        });
    }
    // Connections are open, and statements are prepared.
    load.progress(10 * CLIENTS).await;
    let (begin, before, done) = (Instant::now(), cpu_times(cluster), load.done());
    tokio::time::sleep(duration()).await;
    let (took, after, calls) = (begin.elapsed(), cpu_times(cluster), load.done() - done);
    load.end().await;
    assert_eq!(failed.load(Ordering::SeqCst), 0, "failed calls: {}", kind.name());
    let of_call = |index: usize| (after[index] - before[index]).as_micros() / calls.max(1) as u128;
    let [nodes, postgres, nginx] = [0, 1, 2].map(of_call);
    format!(
        "| {} | {} | {:.0} | {nodes} | {postgres} | {nginx} | {} |",
        kind.name(),
        cluster.nodes.len(),
        calls as f64 / took.as_secs_f64(),
        nodes + postgres + nginx,
    )
}
