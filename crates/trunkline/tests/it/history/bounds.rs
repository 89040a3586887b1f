//! The limits of the history.

use serde_json::json;
use trunkline::Rpc;
use trunkline::history::{Entry, Filter, History, HistoryConfig};

use super::{handle, recorded};

fn echo(bytes: usize) -> String {
    let params = ["x".repeat(bytes)];
    json!({ "jsonrpc": "2.0", "method": "echo", "params": params, "id": 1 }).to_string()
}

fn all(history: &History) -> Vec<std::sync::Arc<Entry>> {
    history.entries(&Filter { limit: usize::MAX, ..Filter::default() }).entries
}

/// The total bytes of all texts.
fn text_bytes(entries: &[std::sync::Arc<Entry>]) -> usize {
    let texts = entries.iter().flat_map(|entry| [&entry.request, &entry.response]);
    texts.flatten().map(|text| text.redacted().text.len()).sum()
}

async fn flood(rpc: &Rpc, calls: usize, bytes: usize) {
    for _ in 0..calls {
        handle(rpc, echo(bytes)).await;
    }
}

#[tokio::test]
async fn keeps_the_newest_entries() {
    let (rpc, history) = recorded(HistoryConfig { entries: 10, ..HistoryConfig::default() });
    flood(&rpc, 500, 1).await;
    let sequences: Vec<u64> = all(&history).iter().map(|entry| entry.sequence).collect();
    assert_eq!(sequences, (491..=500).rev().collect::<Vec<_>>());
}

#[tokio::test]
async fn limits_the_total_bytes() {
    const BYTES: usize = 64 << 10;
    let settings = HistoryConfig { bytes: BYTES, entry_bytes: 8 << 10, ..HistoryConfig::default() };
    let (rpc, history) = recorded(settings);
    for _ in 0..5 {
        flood(&rpc, 50, 100_000).await;
        let entries = all(&history);
        assert!((6..=8).contains(&entries.len()), "as many as fit: {}", entries.len());
        let bytes = text_bytes(&entries);
        assert!((BYTES * 3 / 4..BYTES).contains(&bytes), "{bytes}");
    }
    // Small entries replace large ones, as many as fit.
    flood(&rpc, 1_000, 1).await;
    assert!(all(&history).len() > 60, "{}", all(&history).len());
}

#[tokio::test]
async fn truncates_large_entries() {
    let rows = [
        // (bytes, entry_bytes, the maximum of a request, the maximum of both)
        (8 << 20, 1_000, 500, 1_000),
        (8 << 20, 0, 0, 0),
        // Larger than the whole limit: one KiB is reserved.
        (3_000, 1 << 20, 988, 1_976),
        (0, 1 << 20, 0, 0),
    ];
    for (bytes, entry_bytes, request, both) in rows {
        let settings = HistoryConfig { bytes, entry_bytes, ..HistoryConfig::default() };
        let (rpc, history) = recorded(settings);
        let sent = echo(50_000);
        handle(&rpc, sent.clone()).await;
        let entries = all(&history);
        let kept = entries[0].request.as_ref().unwrap();
        assert_eq!((kept.redacted().text.len(), kept.bytes()), (request, sent.len()), "{bytes}");
        assert_eq!((text_bytes(&entries), kept.redacted().is_cut), (both, true), "{bytes}");
        handle(&rpc, echo(1)).await;
        assert_eq!(all(&history)[0].sequence, 2, "{bytes}: the newest is always there");
    }
}

#[tokio::test]
async fn a_limit_of_no_entries_keeps_one() {
    let (rpc, history) = recorded(HistoryConfig { entries: 0, ..HistoryConfig::default() });
    flood(&rpc, 3, 1).await;
    assert_eq!(all(&history).len(), 1);
}

#[tokio::test(flavor = "multi_thread", worker_threads = 4)]
async fn records_concurrent_calls() {
    const EACH: u64 = 500;
    let (rpc, history) = recorded(HistoryConfig { entries: 10_000, ..HistoryConfig::default() });
    let callers = (0..8_u64).map(|caller| {
        let rpc = rpc.clone();
        tokio::spawn(async move {
            for call in 0..EACH {
                let (a, id) = (caller * EACH + call, caller * EACH + call);
                let body = json!({ "jsonrpc": "2.0", "method": "add", "params": [a, 1], "id": id });
                handle(&rpc, body.to_string()).await;
            }
        })
    });
    for caller in callers.collect::<Vec<_>>() {
        caller.await.unwrap();
    }
    let entries = all(&history);
    let sequences: Vec<u64> = entries.iter().rev().map(|entry| entry.sequence).collect();
    assert_eq!(sequences, (1..=8 * EACH).collect::<Vec<_>>(), "no gaps");
    let mut ids = Vec::new();
    for entry in entries {
        let id: u64 = entry.id.as_ref().unwrap().as_raw().parse().unwrap();
        let response = &entry.response.as_ref().unwrap().redacted().text;
        assert_eq!(**response, format!(r#"{{"jsonrpc":"2.0","result":{},"id":{id}}}"#, id + 1));
        ids.push(id);
    }
    ids.sort_unstable();
    assert_eq!(ids, (0..8 * EACH).collect::<Vec<_>>(), "each call once, with its own reply");
}
