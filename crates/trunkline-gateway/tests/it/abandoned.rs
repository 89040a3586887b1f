//! Calls that an upstream continues after their callers have gone.

use std::env;
use std::io::{BufRead, Write};
use std::time::Duration;

use serde_json::{Value, json};
use trunkline_gateway::{CommandTarget, Target, UpstreamConfig};
use trunkline_mcp::client::CallOptions;

use crate::caller::{User, call, connect};
use crate::support::{Service, tool};
use crate::upstream::Era;

/// Set for the process of the upstream.
const PROCESS: &str = "TRUNKLINE_TEST_STUBBORN_UPSTREAM";

/// A server of 2025-11-25 that ignores cancellations. Its tool `purge` is not answered before `finish` is called. When
/// `list` is called, `purge` sends a log message and asks its caller. The result of `list` is the response.
#[test]
fn the_process_of_a_stubborn_upstream() {
    if env::var(PROCESS).is_err() {
        return;
    }
    // The runner of tests has begun a line.
    println!();
    let send = |message: Value| println!("{message}");
    let result = |id: &Value, result: Value| {
        send(json!({ "jsonrpc": "2.0", "id": id, "result": result }));
    };
    let text = |text: String| json!({ "content": [{ "type": "text", "text": text }] });
    let [mut purge, mut list] = [Value::Null, Value::Null];
    let mut is_cancelled = false;
    for line in std::io::stdin().lock().lines() {
        let message: Value = serde_json::from_str(&line.unwrap()).unwrap();
        let id = message["id"].clone();
        match message["method"].as_str() {
            Some("initialize") => {
                let server = json!({ "name": "stubborn", "version": "1" });
                let capabilities = json!({ "tools": {}, "logging": {} });
                let version = "2025-11-25";
                result(
                    &id,
                    json!({ "protocolVersion": version, "capabilities": capabilities, "serverInfo": server }),
                );
            }
            Some("tools/list") => {
                let tools = ["purge", "finish", "list"].map(|name| tool(name, "A tool."));
                result(&id, json!({ "tools": tools }));
            }
            Some("tools/call") => match message["params"]["name"].as_str() {
                Some("purge") => purge = id,
                Some("finish") => {
                    result(&purge, text("purged".to_owned()));
                    result(&id, text("finished".to_owned()));
                }
                _ => list = id,
            },
            Some("notifications/cancelled") => {
                is_cancelled |= message["params"]["requestId"] == purge;
            }
            Some("server/discover") => {
                let error = json!({ "code": -32601, "message": "Method not found" });
                send(json!({ "jsonrpc": "2.0", "id": id, "error": error }));
            }
            Some(_) if !id.is_null() => result(&id, json!({})),
            Some(_) => {}
            None => result(&list, text(message.to_string())),
        }
        if is_cancelled && !list.is_null() && message["method"] != Value::Null {
            is_cancelled = false;
            let log = json!({ "level": "error", "data": "purging" });
            send(json!({ "jsonrpc": "2.0", "method": "notifications/message", "params": log }));
            let schema = json!({
                "type": "object", "properties": { "name": { "type": "string" } },
            });
            let form = json!({ "message": "Purge?", "requestedSchema": schema });
            send(
                json!({ "jsonrpc": "2.0", "id": "q", "method": "elicitation/create", "params": form }),
            );
        }
    }
    std::io::stdout().flush().unwrap();
    std::process::exit(0);
}

/// How the first call ends at the gateway.
#[derive(Debug, Clone, Copy)]
enum End {
    Cancelled,
    TimedOut,
    /// Cancelled, and answered by the upstream later.
    Answered,
}

/// Whether another caller receives the messages.
async fn is_delivered(end: End, is_same_client: bool) -> bool {
    let test = env::current_exe().unwrap().into_os_string();
    let name = "abandoned::the_process_of_a_stubborn_upstream";
    let arguments = ["--exact", name, "--nocapture"].map(Into::into);
    let mut target = CommandTarget::new([test].into_iter().chain(arguments)).unwrap();
    target.environment = vec![(PROCESS.into(), "1".into())];
    let mut config = UpstreamConfig::new(Target::Command(target));
    let is_timed_out = matches!(end, End::TimedOut);
    config.call_timeout = Duration::from_secs(if is_timed_out { 1 } else { 60 });
    let service = Service::start(vec![("up", config)]).await;

    let (ada, bob) = (User::new("Ada"), User::new("Bob"));
    let client = connect(&service, Era::Legacy, &ada).await;
    let mut options = CallOptions::default();
    options.timeout = Some(Duration::from_millis(if is_timed_out { 20_000 } else { 500 }));
    assert!(call_to_end(&client, options).await);
    let (client, user) = match is_same_client {
        true => (client, ada),
        false => (connect(&service, Era::Legacy, &bob).await, bob),
    };
    if matches!(end, End::Answered) {
        call(&client, "up__finish", CallOptions::default()).await;
    }
    let (is_error, text) = call(&client, "up__list", CallOptions::default()).await;
    assert!(!is_error, "{text}");
    let response: Value = serde_json::from_str(&text).unwrap();
    let is_delivered = response["error"].is_null();
    if !is_delivered {
        assert_eq!(response["error"]["code"], -32603, "{response}");
    }
    assert_eq!(user.messages(), if is_delivered { vec!["up: Purge?"] } else { vec![] });
    assert_eq!(user.has_logs(), is_delivered);
    service.gateway.stop(Duration::from_secs(20)).await;
    is_delivered
}

/// Whether the call of `purge` failed.
async fn call_to_end(client: &trunkline_mcp::client::Client, options: CallOptions) -> bool {
    let tools = client.list_tools().await.unwrap();
    let purge = tools.items.iter().find(|tool| tool.name == "up__purge").unwrap();
    let arguments = serde_json::value::to_raw_value(&json!({})).unwrap();
    match client.call_tool_with(purge, &arguments, options).await {
        Ok(result) => result.is_error,
        Err(_) => true,
    }
}

#[tokio::test]
async fn messages_of_an_abandoned_call_do_not_reach_other_callers() {
    for (end, is_same_client, expected) in [
        (End::Cancelled, false, false),
        (End::TimedOut, false, false),
        (End::Cancelled, true, true),
        (End::Answered, false, true),
    ] {
        let found = is_delivered(end, is_same_client).await;
        assert_eq!(found, expected, "{end:?} {is_same_client}");
    }
}
