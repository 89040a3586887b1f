//! Termination of tools and of the processes that they have started.

use std::time::{Duration, Instant};

use serde_json::json;
use trunkline::Limits;
use trunkline_command_tools::{ToolConfig, ToolFolder};

use super::support::{Folder, MAX_WAIT, TestService, is_running, until};

/// Starts another process that would run for a long time, and writes its id to a file.
const WITH_A_CHILD: &str = "sleep 1000 & echo $! > child.new; mv child.new child";

fn serve(script: &str, lines: &str) -> TestService {
    let tools = Folder::new();
    tools.tool("t", script, lines);
    tools.serve(ToolConfig { concurrency: 1, ..ToolConfig::default() })
}

/// Waits for the end of a killed process.
async fn ended(process: u32) {
    until("the process to end", || !is_running(process)).await;
}

#[tokio::test]
async fn kills_a_slow_tool_and_its_children() {
    let service = serve(&format!("{WITH_A_CHILD}; echo half >&2; sleep 1000"), "timeout_ms = 2000");
    let (code, data) = service.failure("t", &json!({})).await;
    assert_eq!(code, -32004);
    assert_eq!(
        data,
        json!({
            "kind": "timeout",
            "reason": "the tool timed out after 2000 ms and was killed",
            "timeout_ms": 2000,
            "stderr": "half\n",
        })
    );
    ended(service.pid("child").await).await;
}

#[tokio::test]
async fn reads_stderr_written_after_sigterm() {
    let script = "trap 'echo cleaned >&2; exit 0' TERM; while :; do sleep 0.01; done";
    let tools = Folder::new();
    tools.tool("t", script, "timeout_ms = 2000");
    let service = tools.serve(ToolConfig { grace: MAX_WAIT, ..ToolConfig::default() });
    let (code, data) = service.failure("t", &json!({})).await;
    assert_eq!(code, -32004);
    // The shell may report the termination of `sleep`, too.
    assert!(data["stderr"].as_str().unwrap().ends_with("cleaned\n"), "{data}");
}

#[tokio::test]
async fn sends_sigkill_after_sigterm_was_ignored() {
    let script = format!("trap '' TERM; {WITH_A_CHILD}; while :; do sleep 0.01; done");
    let service = serve(&script, "timeout_ms = 2000");
    let started = Instant::now();
    assert_eq!(service.failure("t", &json!({})).await.0, -32004);
    let least = Duration::from_millis(2_000) + ToolConfig::default().grace;
    assert!(started.elapsed() >= least, "{:?}", started.elapsed());
    ended(service.pid("child").await).await;
}

#[tokio::test]
async fn children_end_with_the_tool() {
    let service = serve(&format!("{WITH_A_CHILD}; echo 1"), "");
    let started = Instant::now();
    assert_eq!(service.call("t", &json!({})).await.unwrap(), "1");
    assert!(started.elapsed() < MAX_WAIT, "waited for the child, which holds the pipes");
    ended(service.pid("child").await).await;
}

#[tokio::test]
async fn a_dropped_call_ends_its_processes() {
    let service = serve(&format!("{WITH_A_CHILD}; sleep 1000"), "");
    let child = {
        let params = json!({});
        let call = service.call("t", &params);
        tokio::select! {
            result = call => panic!("{result:?}"),
            child = service.pid("child") => child,
        }
    };
    tokio::time::timeout(MAX_WAIT, service.folder.idle()).await.expect("its processes end");
    ended(child).await;
}

#[test]
fn a_dropped_runtime_ends_processes() {
    let runtime = tokio::runtime::Builder::new_multi_thread().enable_all().build().unwrap();
    let service = serve(&format!("{WITH_A_CHILD}; sleep 1000"), "");
    let child = runtime.block_on(async {
        let params = json!({});
        let call = service.call("t", &params);
        tokio::select! {
            result = call => panic!("{result:?}"),
            child = service.pid("child") => child,
        }
    });
    drop(runtime);
    let waiting = tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap();
    waiting.block_on(ended(child));
}

#[tokio::test]
async fn limits_concurrent_tools() {
    let tools = Folder::new();
    tools.tool("slow", &format!("{WITH_A_CHILD}; sleep 1000"), "timeout_ms = 60000");
    tools.tool("quick", "echo 1", "");
    let max_wait = Duration::from_millis(100);
    let service = tools.serve(ToolConfig { concurrency: 1, max_wait, ..ToolConfig::default() });
    let params = json!({});
    let slow = service.call("slow", &params);
    let refused = async {
        service.pid("child").await;
        service.failure("quick", &params).await
    };
    let (code, data) = tokio::select! {
        result = slow => panic!("{result:?}"),
        refused = refused => refused,
    };
    let reason = "the limit of 1 concurrent tools is reached";
    assert_eq!(
        (code, data),
        (-32005, json!({ "kind": "busy", "reason": reason, "concurrency": 1 }))
    );
    tokio::time::timeout(MAX_WAIT, service.folder.idle()).await.expect("its processes end");
    assert_eq!(service.call("quick", &params).await.unwrap(), "1", "the limit is free again");
}

#[tokio::test]
async fn the_timeout_begins_with_the_process() {
    // The last call waits longer than the timeout.
    const CALLS: usize = 6;
    let service = serve("sleep 0.5; echo 1", "timeout_ms = 2000");
    let params = json!({});
    let calls = futures_util::future::join_all((0..CALLS).map(|_| service.call("t", &params)));
    let results: Vec<_> = calls.await.into_iter().map(Result::unwrap).collect();
    assert_eq!(results, ["1"; CALLS]);
}

#[tokio::test]
async fn the_timeout_may_exceed_the_call_timeout() {
    let tools = Folder::new();
    tools.tool("t", "sleep 0.5; echo 1", "timeout_ms = 20000");
    let folder = ToolFolder::open(tools.path(), ToolConfig::default()).unwrap();
    let limits = Limits { call_timeout: Some(Duration::from_millis(100)), ..Limits::default() };
    let rpc = trunkline_command_tools::operations(&folder).limits(limits).build().unwrap();
    assert_eq!(rpc.call("t", &json!({})).await, Ok(1));
}
