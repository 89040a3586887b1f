//! Dropped calls, and deadlines.

use std::collections::BTreeSet;
use std::time::Duration;

use serde_json::json;
use trunkline_mcp::client::{CallOptions, Error, ProgressCallback};

use super::script::{Answer, Script, event, legacy, modern, stream};
use super::suite::{call_with, raw, tool};
use crate::support::{in_time, until};

/// A reply that never ends.
fn hangs() -> Answer {
    let (sender, answer) = stream();
    std::mem::forget(sender);
    answer
}

#[tokio::test]
async fn dropping_a_call_cancels_it() {
    for is_modern in [true, false] {
        let script = Script::start(move |asked| match asked.method() {
            "tools/call" => hangs(),
            _ if is_modern => modern(asked),
            _ => legacy(asked, "s"),
        });
        let script = script.await;
        let client = script.client().await;
        let (one, arguments) = (tool(&client, "one").await, raw(json!({})));
        let mut call = Box::pin(client.call_tool(&one, &arguments));
        tokio::select! {
            result = &mut call => panic!("{result:?}"),
            _ = script.until("tools/call", 1) => {}
        }
        drop(call);
        until("the connection to close", || script.asked_for("tools/call")[0].is_dropped).await;
        let call = &script.asked_for("tools/call")[0];
        if is_modern {
            client.close().await;
            assert!(script.asked_for("notifications/cancelled").is_empty());
        } else {
            let cancelled = script.until("notifications/cancelled", 1).await.remove(0);
            assert_eq!(cancelled.body["params"]["requestId"], call.body["id"]);
            assert_eq!(cancelled.header("mcp-session-id"), Some("s"));
        }
    }
}

/// A server without sessions, or a proxy, may mix up the requests of clients that have the same id.
#[tokio::test]
async fn clients_have_different_ids() {
    for is_modern in [true, false] {
        let script = Script::start(move |asked| match is_modern {
            true => modern(asked),
            false => legacy(asked, ""),
        });
        let script = script.await;
        for _ in 0..2 {
            script.client().await.list_tools().await.unwrap();
        }
        let ids = script.asked();
        let ids: Vec<u64> = ids.iter().filter_map(|asked| asked.body["id"].as_u64()).collect();
        let distinct: BTreeSet<u64> = ids.iter().copied().collect();
        assert_eq!(distinct.len(), ids.len(), "{ids:?}");
        // Some servers read 32-bit integers.
        assert!(ids.iter().all(|id| *id < 1 << 31), "{ids:?}");
    }
}

#[tokio::test]
async fn timeouts_cancel_calls() {
    for is_modern in [true, false] {
        let script = Script::start(move |asked| match asked.method() {
            "tools/call" => hangs(),
            _ if is_modern => modern(asked),
            _ => legacy(asked, ""),
        });
        let script = script.await;
        let client = script.client().await;
        let mut options = CallOptions::default();
        options.timeout = Some(Duration::from_secs(1));
        let call = call_with(&client, "one", options);
        let failed = in_time("the timeout", call).await.unwrap_err();
        assert!(matches!(&failed, Error::Request(failed) if failed.error.is_timeout()), "{failed}");
        until("the cancellation", || script.asked_for("tools/call")[0].is_dropped).await;
        let expected = usize::from(!is_modern);
        assert_eq!(script.until("notifications/cancelled", expected).await.len(), expected);
    }
}

#[tokio::test]
async fn progress_extends_timeouts() {
    let script = Script::start(|asked| match asked.method() {
        "tools/call" => {
            let (sender, answer) = stream();
            let token = asked.body["params"]["_meta"]["progressToken"].clone();
            let id = asked.body["id"].clone();
            tokio::spawn(async move {
                for done in 1..=5 {
                    tokio::time::sleep(Duration::from_millis(800)).await;
                    let params = json!({ "progressToken": token, "progress": done });
                    let progress = json!({
                        "jsonrpc": "2.0", "method": "notifications/progress", "params": params,
                    });
                    // The client may have gone.
                    drop(sender.send(event(&progress)));
                }
                let result = json!({ "jsonrpc": "2.0", "id": id, "result": { "content": [] } });
                drop(sender.send(event(&result)));
            });
            answer
        }
        _ => modern(asked),
    });
    let script = script.await;
    for (max, succeeds) in [(60_000, true), (3_200, false)] {
        let max = Duration::from_millis(max);
        let client = script.connect(|config| config.max_timeout = max).await.unwrap();
        let mut options = CallOptions::default();
        options.timeout = Some(Duration::from_secs(3));
        options.progress = Some(ProgressCallback::new(drop));
        let call = call_with(&client, "one", options);
        let called = in_time("the call", call).await;
        assert_eq!(called.is_ok(), succeeds, "{called:?}");
    }
}
