//! Tools that do not end by themselves, and what they have started.

use std::time::{Duration, Instant};

use serde_json::json;
use trunkline::Limits;
use trunkline_tools::{ToolConfig, ToolFolder};

use super::support::{Folder, PATIENCE, Served, runs, until};

/// Starts another process, which would run for long, and tells its number.
const WITH_A_CHILD: &str = "sleep 1000 & echo $! > child.new; mv child.new child";

fn serve(script: &str, lines: &str) -> Served {
    let tools = Folder::new();
    tools.tool("t", script, lines);
    tools.serve(ToolConfig { concurrency: 1, ..ToolConfig::default() })
}

/// Waits for the end of a process that was killed: it ends when it runs next.
async fn gone(process: u32) {
    until("the process to end", || !runs(process)).await;
}

#[tokio::test]
async fn a_slow_tool_is_killed_with_what_it_has_started() {
    let served = serve(&format!("{WITH_A_CHILD}; echo half >&2; sleep 1000"), "timeout_ms = 300");
    let (code, data) = served.failure("t", &json!({})).await;
    assert_eq!(code, -32004);
    assert_eq!(
        data,
        json!({
            "kind": "timeout",
            "reason": "the tool was not done after 300 ms, and was killed",
            "timeout_ms": 300,
            "stderr": "half\n",
        })
    );
    gone(served.pid("child").await).await;
}

#[tokio::test]
async fn a_tool_may_say_something_before_it_goes() {
    let script = "trap 'echo cleaned >&2; exit 0' TERM; while :; do sleep 0.01; done";
    let served = serve(script, "timeout_ms = 300");
    let (code, data) = served.failure("t", &json!({})).await;
    assert_eq!(code, -32004);
    // The shell may say of the `sleep` that it was terminated, too.
    assert!(data["stderr"].as_str().unwrap().ends_with("cleaned\n"), "{data}");
}

#[tokio::test]
async fn sigterm_may_be_ignored_and_sigkill_may_not() {
    let script = format!("trap '' TERM; {WITH_A_CHILD}; while :; do sleep 0.01; done");
    let served = serve(&script, "timeout_ms = 300");
    let started = Instant::now();
    assert_eq!(served.failure("t", &json!({})).await.0, -32004);
    let least = Duration::from_millis(300) + ToolConfig::default().grace;
    assert!(started.elapsed() >= least, "{:?}", started.elapsed());
    gone(served.pid("child").await).await;
}

#[tokio::test]
async fn what_a_tool_leaves_behind_ends_with_it() {
    let served = serve(&format!("{WITH_A_CHILD}; echo 1"), "");
    let started = Instant::now();
    assert_eq!(served.call("t", &json!({})).await.unwrap(), "1");
    assert!(started.elapsed() < PATIENCE, "it waits for the child, which holds the pipes");
    gone(served.pid("child").await).await;
}

#[tokio::test]
async fn a_call_that_is_dropped_takes_its_processes_with_it() {
    let served = serve(&format!("{WITH_A_CHILD}; sleep 1000"), "");
    let child = {
        let params = json!({});
        let call = served.call("t", &params);
        tokio::select! {
            result = call => panic!("{result:?}"),
            child = served.pid("child") => child,
        }
    };
    tokio::time::timeout(PATIENCE, served.folder.idle()).await.expect("its processes end");
    gone(child).await;
}

#[test]
fn a_runtime_that_ends_takes_processes_with_it() {
    let runtime = tokio::runtime::Builder::new_multi_thread().enable_all().build().unwrap();
    let served = serve(&format!("{WITH_A_CHILD}; sleep 1000"), "");
    let child = runtime.block_on(async {
        let params = json!({});
        let call = served.call("t", &params);
        tokio::select! {
            result = call => panic!("{result:?}"),
            child = served.pid("child") => child,
        }
    });
    drop(runtime);
    let waiting = tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap();
    waiting.block_on(gone(child));
}

#[tokio::test]
async fn no_more_run_than_may() {
    let tools = Folder::new();
    tools.tool("slow", &format!("{WITH_A_CHILD}; sleep 1000"), "timeout_ms = 60000");
    tools.tool("quick", "echo 1", "");
    let max_wait = Duration::from_millis(100);
    let served = tools.serve(ToolConfig { concurrency: 1, max_wait, ..ToolConfig::default() });
    let params = json!({});
    let slow = served.call("slow", &params);
    let refused = async {
        served.pid("child").await;
        served.failure("quick", &params).await
    };
    let (code, data) = tokio::select! {
        result = slow => panic!("{result:?}"),
        refused = refused => refused,
    };
    let reason = "1 tools run already, which are as many as may";
    assert_eq!(
        (code, data),
        (-32005, json!({ "kind": "busy", "reason": reason, "concurrency": 1 }))
    );
    tokio::time::timeout(PATIENCE, served.folder.idle()).await.expect("its processes end");
    assert_eq!(served.call("quick", &params).await.unwrap(), "1", "the place is free again");
}

#[tokio::test]
async fn the_time_of_a_tool_begins_with_its_process() {
    // The last of them waits for longer than its time is.
    const CALLS: usize = 6;
    let served = serve("sleep 0.5; echo 1", "timeout_ms = 2000");
    let params = json!({});
    let calls = futures_util::future::join_all((0..CALLS).map(|_| served.call("t", &params)));
    let results: Vec<_> = calls.await.into_iter().map(Result::unwrap).collect();
    assert_eq!(results, ["1"; CALLS]);
}

#[tokio::test]
async fn a_tool_may_take_longer_than_other_calls() {
    let tools = Folder::new();
    tools.tool("t", "sleep 0.5; echo 1", "timeout_ms = 20000");
    let folder = ToolFolder::open(tools.path(), ToolConfig::default()).unwrap();
    let limits = Limits { call_timeout: Some(Duration::from_millis(100)), ..Limits::default() };
    let rpc = trunkline_tools::operations(&folder).limits(limits).build().unwrap();
    assert_eq!(rpc.call("t", &json!({})).await, Ok(1));
}
