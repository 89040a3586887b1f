//! PostgreSQL is stopped and started again: calls fail with clear errors, and the nodes recover.

use std::collections::BTreeMap;
use std::sync::{Arc, Mutex};
use std::time::{Duration, Instant};

use serde_json::{Value, json};
use trunkline::client::Error;
use trunkline::{ErrorObject, code};
use trunkline_test_postgres::{Shutdown, start_again, stop};

use super::{Cluster, DEADLINE, Load, PATIENCE, What, check_stored, read};
use crate::nodes::proxy::Caller;
use crate::support::Server;

/// Clients of each kind.
const CLIENTS: usize = 3;

/// The time for which the server is stopped.
const OUTAGE: Duration = Duration::from_secs(6);

/// The outcomes of calls.
#[derive(Default)]
struct Outcomes {
    acknowledged: BTreeMap<&'static str, Vec<u64>>,
    /// The numbers of failed calls by the kind of the error.
    failed: BTreeMap<String, usize>,
    longest: Duration,
}

impl Outcomes {
    /// Counts an error. One that is not that of an outage fails the test.
    #[track_caller]
    fn fail(&mut self, method: &str, error: &Error) {
        let object = error.error_object().unwrap_or_else(|| panic!("{method}: {error:?}"));
        *self.failed.entry(kind(method, object)).or_default() += 1;
    }
}

/// The kind of an error of an outage.
#[track_caller]
fn kind(method: &str, error: &ErrorObject) -> String {
    let data: Value =
        error.data().map(|data| serde_json::from_str(data.get()).unwrap()).unwrap_or_default();
    let kind = data["kind"].as_str().unwrap_or("-").to_owned();
    let is_unconfirmed = error.code() == code::DATABASE && kind == "unconfirmed";
    assert!(error.is_temporary() || is_unconfirmed, "{method}: {error:?}");
    format!("{} {kind}: {}", error.code(), data["reason"].as_str().unwrap_or(error.message()))
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
#[ignore = "needs PostgreSQL and nginx; run by `cargo xtask cluster`"]
async fn outage() {
    let cluster = Cluster::start(3);
    let outcomes = Arc::new(Mutex::new(Outcomes::default()));
    let mut load = Load::default();
    for what in [What::Row, What::Record] {
        for _ in 0..CLIENTS {
            let (client, outcomes) = (cluster.client(), Arc::clone(&outcomes));
            load.spawn(move |state| {
                let (client, outcomes) = (client.clone(), Arc::clone(&outcomes));
                async move {
                    let number = state.number();
                    for (method, params) in [what.write(number), read(number)] {
                        let begin = Instant::now();
                        let reply = client.call::<Value>(method, params).await;
                        let mut outcomes = outcomes.lock().unwrap();
                        outcomes.longest = outcomes.longest.max(begin.elapsed());
                        match reply {
                            Ok(_) => outcomes.acknowledged.entry(method).or_default().push(number),
                            Err(error) => outcomes.fail(method, &error),
                        }
                    }
                    state.add();
                }
            });
        }
    }
    for name in ["legacy", "modern"] {
        let caller = Arc::new(Caller::connect(cluster.nginx.address, name).await);
        let outcomes = Arc::clone(&outcomes);
        load.spawn(move |state| {
            let (caller, outcomes) = (Arc::clone(&caller), Arc::clone(&outcomes));
            async move {
                let arguments = json!({"limit": 5});
                let (begin, outcome) =
                    (Instant::now(), caller.try_call("todo_list", &arguments).await);
                let mut outcomes = outcomes.lock().unwrap();
                outcomes.longest = outcomes.longest.max(begin.elapsed());
                let error = match &outcome {
                    Ok(Ok(())) => None,
                    // The text for the model.
                    Ok(Err(text)) if text.contains("try again") || text.contains("timed out") => {
                        Some("tool result with isError".to_owned())
                    }
                    Ok(Err(text)) => panic!("{}: {text}", caller.name),
                    Err(error) => match error.error_object() {
                        Some(object) => Some(kind(caller.name, object)),
                        None => panic!("{}: {error:?}", caller.name),
                    },
                };
                if let Some(error) = error {
                    *outcomes.failed.entry(error).or_default() += 1;
                }
                drop(outcomes);
                state.add();
            }
        });
    }

    let shutdowns = [Shutdown::Fast, Shutdown::Immediate];
    let mut recovered = Duration::ZERO;
    for shutdown in shutdowns {
        load.progress(100).await;
        tokio::task::block_in_place(|| stop(shutdown));
        tokio::time::sleep(OUTAGE).await;
        load.progress(20).await;
        tokio::task::block_in_place(start_again);
        let begin = Instant::now();
        for node in &cluster.nodes {
            tokio::task::block_in_place(|| wait_until_healthy(node));
        }
        recovered = recovered.max(begin.elapsed());
        let failures = || outcomes.lock().unwrap().failed.values().sum::<usize>();
        // A call that began during the outage may still fail.
        load.progress(20).await;
        let before = failures();
        load.progress(200).await;
        assert_eq!(failures(), before, "{:#?}", outcomes.lock().unwrap().failed);
    }
    load.end().await;

    let outcomes = std::mem::take(&mut *outcomes.lock().unwrap());
    assert!(outcomes.longest <= DEADLINE, "a call took {:?}", outcomes.longest);
    assert!(!outcomes.failed.is_empty(), "the outage was not noticed");
    for what in [What::Row, What::Record] {
        let (method, _) = what.write(0);
        check_stored(what, &cluster.stored(what), &outcomes.acknowledged[method]);
    }
    println!("\n| two outages of PostgreSQL, of {} s each | |", OUTAGE.as_secs());
    println!("|---|---|");
    for (method, calls) in &outcomes.acknowledged {
        println!("| successful calls of `{method}` | {} |", calls.len());
    }
    for (error, count) in &outcomes.failed {
        println!("| failed: {error} | {count} |");
    }
    println!("| longest call | {:.1} s |", outcomes.longest.as_secs_f32());
    println!("| all nodes healthy after the start | {:.1} s |", recovered.as_secs_f32());
    let logs = cluster.stop();
    for (number, log) in (1..).zip(&logs) {
        check_log(log, shutdowns.len());
        let lines = log.lines().filter(|line| is_problem(line)).count();
        println!("| lines of node {number} at WARN or ERROR | {lines} |");
    }
    println!();
}

fn wait_until_healthy(node: &Server) {
    let deadline = Instant::now() + PATIENCE;
    loop {
        let health = node.connect().get("/health").json();
        if health["status"] == "healthy" {
            return;
        }
        assert!(Instant::now() < deadline, "{health}");
        std::thread::sleep(Duration::from_millis(50));
    }
}

fn is_problem(line: &str) -> bool {
    line.contains(" WARN ") || line.contains("ERROR ")
}

/// Each store and the database have logged the start and the end of each outage once, and nothing else.
#[track_caller]
fn check_log(log: &str, outages: usize) {
    for user in ["store nodes", "store records", "database"] {
        let of_user = format!("user=\"{user}\"");
        let lines = || log.lines().filter(|line| line.contains(&of_user));
        let [begins, ends] = ["cannot be reached", "can be reached again"]
            .map(|text| lines().filter(|line| line.contains(text)).count());
        assert_eq!((begins, ends), (outages, outages), "{user}: {log}");
        assert_eq!(lines().count(), begins + ends, "{log}");
    }
    let others: Vec<_> = log
        .lines()
        .filter(|line| is_problem(line) && !line.contains("PostgreSQL cannot be reached"))
        .collect();
    assert!(others.is_empty(), "{others:#?}");
}
