//! Nodes are restarted sequentially, and no call fails.

use std::sync::{Arc, Mutex};

use super::{Cluster, Load, What, check_stored, read};
use crate::nodes::LIST;
use crate::nodes::proxy::Caller;

/// Clients of each kind.
const CLIENTS: usize = 3;

/// Rounds of the load before each restart, and after the last one.
const ROUNDS: usize = 60;

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
#[ignore = "needs PostgreSQL and nginx; run by `cargo xtask cluster`"]
async fn rolling_restart() {
    let mut cluster = Cluster::start(3);
    let mut load = Load::default();
    let mut callers = Vec::new();
    for name in ["legacy", "modern"] {
        let caller = Arc::new(Caller::connect(cluster.nginx.address, name).await);
        caller.client.subscribe(LIST).await.unwrap();
        callers.push(Arc::clone(&caller));
        for _ in 0..CLIENTS {
            let caller = Arc::clone(&caller);
            load.spawn(move |state| {
                let caller = Arc::clone(&caller);
                async move {
                    caller.work(&format!("{}-{}", caller.name, state.number())).await;
                    state.add();
                }
            });
        }
    }
    let acknowledged =
        [What::Row, What::Record].map(|what| (what, Arc::new(Mutex::new(Vec::<u64>::new()))));
    for (what, acknowledged) in &acknowledged {
        for _ in 0..CLIENTS {
            let (what, acknowledged) = (*what, Arc::clone(acknowledged));
            let client = cluster.client();
            load.spawn(move |state| {
                let (client, acknowledged) = (client.clone(), Arc::clone(&acknowledged));
                async move {
                    let number = state.number();
                    for (method, params) in [what.write(number), read(number)] {
                        let reply = client.call::<serde_json::Value>(method, params).await;
                        reply.unwrap_or_else(|error| panic!("{method}: {error:?}"));
                    }
                    acknowledged.lock().unwrap().push(number);
                    state.add();
                }
            });
        }
    }

    for index in 0..cluster.nodes.len() {
        load.progress(ROUNDS).await;
        let node = cluster.nodes.remove(index);
        let address = node.address;
        let node = tokio::task::block_in_place(|| {
            let ended = node.stop();
            assert_eq!(ended.code, Some(0), "{}", ended.stderr);
            // Until it listens.
            cluster.start_node(address)
        });
        cluster.nodes.insert(index, node);
    }
    load.progress(ROUNDS).await;
    let rounds = load.done();
    load.end().await;

    for (what, acknowledged) in &acknowledged {
        check_stored(*what, &cluster.stored(*what), &acknowledged.lock().unwrap());
    }
    for caller in &callers {
        caller.until_changed(LIST, 1).await;
    }
    let requests = cluster.nginx.requests();
    let failed: Vec<_> = requests.iter().filter(|fields| !fields[0].starts_with('2')).collect();
    assert!(failed.is_empty(), "{failed:?}\n{}", cluster.nginx.errors());
    let retried = requests.iter().filter(|fields| fields[1].contains(',')).count();
    let [rows, records] = acknowledged.map(|(_, ids)| ids.lock().unwrap().len());
    println!("\n| rolling restart of three nodes | |");
    println!("|---|---|");
    println!("| rounds of the clients | {rounds} |");
    println!("| requests | {} |", requests.len());
    println!("| failed requests | {} |", failed.len());
    println!("| sent to another node after a refused connection | {retried} |");
    println!("| acknowledged rows and records, all of them stored | {rows}, {records} |\n");
    drop(callers);
    cluster.stop();
}
