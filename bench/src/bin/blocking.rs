//! The cost of running a short blocking job, such as a small SELECT, outside of the async runtime.
//!
//! `blocking`: a job computes for about 10 µs. It runs on a dedicated thread with a channel (as readers of SQLite do), on
//! tokio's blocking pool, in `block_in_place`, and on the runtime itself. The runtime has two threads, and at most
//! four jobs run at a time.

use std::sync::mpsc::{Sender, channel};
use std::sync::{Arc, Mutex};
use std::thread;
use std::time::{Duration, Instant};

use anyhow::{Context, Result};
use tokio::sync::{Semaphore, oneshot};
use tokio::task::{JoinSet, block_in_place, spawn_blocking, yield_now};
use trunkline_bench::clock::process_cpu_time;
use trunkline_bench::median;

const STEPS: u64 = 10_000;
const CALLS: u32 = 20_000;
const ROUNDS: u32 = 5;
const THREADS: usize = 4;

type Job = Box<dyn FnOnce() + Send + Sync>;

#[derive(Debug, Clone, Copy)]
enum Method {
    DedicatedThread,
    BlockingPool,
    BlockInPlace,
    Runtime,
}

const METHODS: [Method; 4] =
    [Method::DedicatedThread, Method::BlockingPool, Method::BlockInPlace, Method::Runtime];

struct Jobs {
    permits: Semaphore,
    idle: Mutex<Vec<Sender<Job>>>,
}

impl Jobs {
    fn new() -> Self {
        let start = |_| {
            let (inbox, jobs) = channel::<Job>();
            thread::spawn(move || jobs.into_iter().for_each(|job| job()));
            inbox
        };
        Self {
            permits: Semaphore::new(THREADS),
            idle: Mutex::new((0..THREADS).map(start).collect()),
        }
    }

    async fn run(&self, method: Method) -> Result<()> {
        let _permit = self.permits.acquire().await?;
        match method {
            Method::DedicatedThread => {
                let thread = self.idle.lock().expect("no panic").pop().context("no idle thread")?;
                let (done, outcome) = oneshot::channel();
                thread.send(Box::new(move || {
                    compute();
                    done.send(()).ok();
                }))?;
                outcome.await?;
                self.idle.lock().expect("no panic").push(thread);
            }
            Method::BlockingPool => spawn_blocking(compute).await?,
            Method::BlockInPlace => block_in_place(compute),
            Method::Runtime => compute(),
        }
        Ok(())
    }
}

#[tokio::main(flavor = "multi_thread", worker_threads = 2)]
async fn main() -> Result<()> {
    let jobs = Arc::new(Jobs::new());
    println!("medians of {ROUNDS} rounds, CPU time and p50 and p99 of the latency per job, in µs");
    for callers in [1, 16, 64] {
        for method in METHODS {
            let mut rounds = Vec::new();
            for _ in 0..ROUNDS {
                rounds.push(measure(&jobs, method, callers).await?);
            }
            let [cpu, p50, p99] =
                [0, 1, 2].map(|figure| median(rounds.iter().map(|round: &[f64; 3]| round[figure])));
            println!(
                "{callers:>2} callers, {:<15} {cpu:>6.1} {p50:>8.1} {p99:>8.1}",
                format!("{method:?}")
            );
        }
    }
    Ok(())
}

async fn measure(jobs: &Arc<Jobs>, method: Method, callers: u32) -> Result<[f64; 3]> {
    let before = process_cpu_time();
    let mut tasks = JoinSet::new();
    for _ in 0..callers {
        let jobs = Arc::clone(jobs);
        tasks.spawn(async move {
            let mut latencies = Vec::new();
            for _ in 0..CALLS / callers {
                yield_now().await;
                let start = Instant::now();
                jobs.run(method).await?;
                latencies.push(start.elapsed());
            }
            anyhow::Ok(latencies)
        });
    }
    let mut latencies = Vec::new();
    while let Some(task) = tasks.join_next().await {
        latencies.extend(task??);
    }
    let cpu = micros(process_cpu_time().saturating_sub(before)) / latencies.len() as f64;
    latencies.sort_unstable();
    let percentile = |percent: usize| micros(latencies[latencies.len() * percent / 100]);
    Ok([cpu, percentile(50), percentile(99)])
}

/// About 10 µs.
fn compute() {
    let mut state = 1_u64;
    for step in 0..STEPS {
        state = std::hint::black_box(state.wrapping_mul(0x9e37_79b9_7f4a_7c15) ^ step);
    }
}

fn micros(duration: Duration) -> f64 {
    duration.as_secs_f64() * 1e6
}
