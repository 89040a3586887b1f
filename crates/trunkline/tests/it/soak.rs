//! Many calls by many clients, while calls are dropped and servers restart.
#![expect(clippy::print_stdout, reason = "the output of a failed test is shown")]

use std::collections::BTreeMap;
use std::net::SocketAddr;
use std::path::Path;
use std::process::Command;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex};
use std::time::{Duration, SystemTime};

use tempfile::TempDir;
use tokio::sync::watch;
use tokio::task::{JoinSet, yield_now};
use trunkline::client::{self, Client, Error, Http, TransportError, Unix};
use trunkline::server::{self, Server, ServerHandle};
use trunkline::{Params, Router, Rpc, unix};

use crate::support::in_time;

const CALLS: usize = 100_000;
const CLIENTS: usize = 64;
/// The number of concurrent calls of one client. Over a unix socket, they share one connection.
const LANES: usize = 4;
/// The number of calls between two restarts of both servers.
const RESTART: usize = 8_000;
/// The number of calls after which memory must no longer grow.
const WARM: usize = 30_000;
/// The allowed growth of memory until the end, in bytes: 45 per call.
const GROWTH: usize = 3 << 20;

/// Set in the process that makes the calls. It is a separate one, since other tests would change its memory.
const SEED: &str = "TRUNKLINE_SOAK_SEED";

#[test]
#[ignore = "makes 100,000 calls: `cargo xtask soak` runs it"]
fn each_call_ends_in_one_way() {
    if let Ok(seed) = std::env::var(SEED) {
        let runtime = tokio::runtime::Builder::new_multi_thread()
            .worker_threads(2)
            .enable_all()
            .build()
            .unwrap();
        return runtime.block_on(soak(seed.parse().unwrap()));
    }
    let since = SystemTime::UNIX_EPOCH.elapsed().unwrap();
    let seed = since.as_nanos() as u64;
    let output = Command::new(std::env::current_exe().unwrap())
        .args(["--exact", "soak::each_call_ends_in_one_way", "--ignored", "--nocapture"])
        .env(SEED, seed.to_string())
        .output()
        .unwrap();
    let printed = [output.stdout, output.stderr].concat();
    let printed = String::from_utf8_lossy(&printed);
    println!("{printed}");
    assert!(output.status.success() && printed.contains("all calls ended"), "{SEED}={seed}");
}

/// The numbers of calls by outcome.
#[derive(Default)]
struct Ends {
    begun: AtomicUsize,
    results: AtomicUsize,
    errors: AtomicUsize,
    dropped: AtomicUsize,
    /// The number of running handlers.
    running: AtomicUsize,
    /// The calls that have begun and not ended, with their state.
    under_way: Mutex<BTreeMap<usize, String>>,
}

impl Ends {
    fn note(&self, call: usize, state: String) {
        self.under_way.lock().unwrap().insert(call, state);
    }

    fn ended(&self) -> usize {
        [&self.results, &self.errors, &self.dropped]
            .map(|ends| ends.load(Ordering::SeqCst))
            .iter()
            .sum()
    }
}

/// A handler that runs, until it is dropped.
struct Running(Arc<Ends>);

impl Running {
    fn enter(ends: &Arc<Ends>) -> Self {
        ends.running.fetch_add(1, Ordering::SeqCst);
        Self(Arc::clone(ends))
    }
}

impl Drop for Running {
    fn drop(&mut self) {
        self.0.running.fetch_sub(1, Ordering::SeqCst);
    }
}

async fn soak(seed: u64) {
    let ends = Arc::new(Ends::default());
    let rpc = rpc(&ends);
    let directory = TempDir::new().unwrap();
    let path = directory.path().join("socket");
    let mut servers = Servers::start(&rpc, "127.0.0.1:0".parse().unwrap(), &path).await;
    let address = servers.http.local_addr();
    let (up, is_up) = watch::channel(true);
    let mut clients = JoinSet::new();
    for number in 0..CLIENTS {
        let client = if number % 2 == 0 {
            of(Http::connect(&format!("http://{address}")).unwrap())
        } else {
            of(Unix::connect(&path))
        };
        for lane in 0..LANES {
            let random = Random(seed ^ ((number * LANES + lane) as u64) << 32);
            clients.spawn(run(client.clone(), number, random, Arc::clone(&ends), is_up.clone()));
        }
    }
    let mut warm = None;
    let mut restarts = 0;
    let ending = async { while clients.join_next().await.transpose().unwrap().is_some() {} };
    let restarting = async {
        loop {
            let next = (restarts + 1) * RESTART;
            until(&ends, next).await;
            up.send_replace(false);
            servers.stop().await;
            servers = Servers::start(&rpc, address, &path).await;
            up.send_replace(true);
            restarts += 1;
            if warm.is_none() && next >= WARM {
                warm = Some(resident());
            }
        }
    };
    tokio::select! {
        () = ending => {}
        () = restarting => {}
    }
    let [results, errors, dropped] =
        [&ends.results, &ends.errors, &ends.dropped].map(|ends| ends.load(Ordering::SeqCst));
    println!("{results} results, {errors} errors, {dropped} dropped, {restarts} restarts");
    assert_eq!(results + errors + dropped, CALLS);
    assert!(results > CALLS / 2 && dropped > CALLS / 50 && restarts >= 5);
    // All dropped calls were cancelled.
    in_time("the handlers' end", async {
        while ends.running.load(Ordering::SeqCst) > 0 {
            yield_now().await;
        }
    })
    .await;
    let (warm, cold) = (warm.unwrap(), resident());
    println!("{} KiB when warm, {} KiB at the end", warm >> 10, cold >> 10);
    assert!(cold < warm + GROWTH, "memory grows");
    servers.stop().await;
    println!("all calls ended");
}

/// `echo` returns at once, `later` after some turns of the runtime, `never` not at all.
fn rpc(ends: &Arc<Ends>) -> Rpc {
    let [later, never] = [ends, ends].map(Arc::clone);
    Router::new()
        .method("echo", |Params((text,)): Params<(String,)>| text)
        .method("later", move |Params((text,)): Params<(String,)>| {
            let running = Running::enter(&later);
            async move {
                for _ in 0..text.len() % 20 {
                    yield_now().await;
                }
                drop(running);
                text
            }
        })
        .method("never", move || {
            let running = Running::enter(&never);
            async move {
                std::future::pending::<()>().await;
                drop(running);
            }
        })
        .build()
        .unwrap()
}

struct Servers {
    http: ServerHandle,
    unix: unix::ServerHandle,
}

/// The drain timeout, which is short, since calls of `never` do not end.
const DRAIN: Duration = Duration::from_millis(20);

impl Servers {
    async fn start(rpc: &Rpc, address: SocketAddr, path: &Path) -> Self {
        let settings = server::ServerConfig { drain_timeout: DRAIN, ..Default::default() };
        let http = in_time("the port", async {
            loop {
                // A client that connects while no server listens may get this port as its own for a moment.
                let server = Server::bind(address).settings(settings.clone());
                match server.serve(rpc.clone()).await {
                    Ok(http) => return http,
                    Err(_) => yield_now().await,
                }
            }
        })
        .await;
        let mut settings = unix::UnixConfig::default();
        settings.stream.drain_timeout = DRAIN;
        let unix = unix::Server::bind(path).settings(settings).serve(rpc.clone()).await.unwrap();
        Self { http, unix }
    }

    async fn stop(&self) {
        in_time("the servers' end", async { tokio::join!(self.http.stop(), self.unix.stop()) })
            .await;
    }
}

fn of(transport: impl client::Transport) -> Client {
    let settings = client::ClientConfig { retry: None, ..Default::default() };
    Client::with_config(transport, settings)
}

/// Makes calls until the total number is reached.
async fn run(
    client: Client,
    number: usize,
    mut random: Random,
    ends: Arc<Ends>,
    mut is_up: watch::Receiver<bool>,
) {
    loop {
        let call = ends.begun.fetch_add(1, Ordering::SeqCst);
        if call >= CALLS {
            return;
        }
        let text = format!("{number}:{call}:{}", "x".repeat(random.below(200)));
        let (method, patience) = match random.below(100) {
            0..5 => ("never", random.below(40)),
            5..15 => ("later", random.below(40)),
            15..50 => ("later", usize::MAX),
            _ => ("echo", usize::MAX),
        };
        let over = if number.is_multiple_of(2) { "http" } else { "unix" };
        ends.note(call, format!("client {number} over {over}: {method}"));
        let mut calling = match method {
            "never" => client.call::<String>(method, ()),
            _ => client.call::<String>(method, [&text]),
        }
        .into_future();
        let ended = tokio::select! {
            biased;
            ended = &mut calling => Some(ended),
            () = turns(patience) => None,
        };
        drop(calling);
        match ended {
            None => ends.dropped.fetch_add(1, Ordering::SeqCst),
            Some(Ok(found)) => {
                assert_eq!(found, text, "the result of another call");
                ends.results.fetch_add(1, Ordering::SeqCst)
            }
            Some(Err(error)) => {
                check(&error);
                ends.note(call, format!("client {number} over {over}: waits for the servers"));
                let begun = ends.errors.fetch_add(1, Ordering::SeqCst);
                in_time("the servers", is_up.wait_for(|is_up| *is_up)).await.unwrap();
                begun
            }
        };
        ends.under_way.lock().unwrap().remove(&call);
    }
}

/// Yields to the runtime `count` times. `usize::MAX` never returns.
async fn turns(count: usize) {
    if count == usize::MAX {
        std::future::pending::<()>().await;
    }
    for _ in 0..count {
        yield_now().await;
    }
}

/// Checks that an error is one that a restart of the server explains.
#[track_caller]
fn check(error: &Error) {
    match error {
        Error::Transport(TransportError::Connect { .. } | TransportError::Broken { .. }) => {}
        // The server is stopping.
        Error::Application(error) if error.code() == trunkline::code::BUSY => {}
        other => panic!("{other}: {other:?}"),
    }
}

/// The time without progress after which calls are considered stuck.
const STALL: Duration = Duration::from_secs(15);

/// Waits until `ended` calls have ended, for as long as there is progress: a busy machine may be slow.
async fn until(ends: &Ends, ended: usize) {
    let mut before = ends.ended();
    while before < ended {
        let moved = async {
            while ends.ended() == before {
                tokio::time::sleep(Duration::from_millis(1)).await;
            }
        };
        if tokio::time::timeout(STALL, moved).await.is_err() {
            panic!("no progress: {:?}", ends.under_way.lock().unwrap());
        }
        before = ends.ended();
    }
}

/// The resident memory of this process, in bytes.
fn resident() -> usize {
    let statm = std::fs::read_to_string("/proc/self/statm").unwrap();
    let pages: usize = statm.split(' ').nth(1).unwrap().parse().unwrap();
    pages * 4096
}

/// A deterministic random number generator (SplitMix64).
struct Random(u64);

impl Random {
    fn below(&mut self, limit: usize) -> usize {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut mixed = self.0;
        mixed = (mixed ^ (mixed >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        mixed = (mixed ^ (mixed >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        ((mixed ^ (mixed >> 31)) % limit as u64) as usize
    }
}
