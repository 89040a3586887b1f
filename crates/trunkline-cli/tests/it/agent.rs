//! `POST /api`: the agent of the binary, over what it serves.

use serde_json::{Value, json};

use crate::support::{Server, post, run, tpch, trunkline};

fn call(server: &Server, method: &str, params: &Value) -> Value {
    let body = json!({ "jsonrpc": "2.0", "id": 1, "method": method, "params": params });
    server.connect().ask(&post("/api", &[], &body)).json()
}

#[test]
fn without_a_model_words_are_matched() {
    let (_folder, database) = tpch();
    let server = Server::of(&database);
    let said = call(&server, "agent.chat", &json!({ "message": "list the tables" }));
    let result = &said["result"];
    assert_eq!(result["steps"][0]["tool"], "list_tables", "{said}");
    let tables = result["steps"][0]["result"]["tables"].as_array().unwrap();
    assert_eq!(tables.len(), 8);
    assert!(result["response"].as_str().unwrap().contains("No model is configured"), "{said}");
    let id = &result["conversation_id"];

    // One trace over the chat and the call that it made.
    let history = server.connect().get("/history").json();
    let of = |door: &str| {
        let entries = history["entries"].as_array().unwrap();
        entries.iter().find(|entry| entry["door"] == door).unwrap()["trace_id"].clone()
    };
    assert_eq!(of("api"), of("agent"));

    let listed = call(&server, "agent.list_conversations", &json!({}));
    assert_eq!(listed["result"]["conversations"][0]["conversation_id"], *id, "{listed}");
    call(&server, "agent.delete_conversation", &json!({ "conversation_id": id }));
    let listed = call(&server, "agent.list_conversations", &json!({}));
    assert_eq!(listed["result"]["conversations"], json!([]), "{listed}");
    let unknown = call(&server, "agent.execute_tool", &json!({ "tool": "fly" }));
    assert_eq!(unknown["error"]["code"], -32001, "{unknown}");
    assert_eq!(server.stop().code, Some(0));
}

#[test]
fn a_turn_tells_what_happens() {
    let (_folder, database) = tpch();
    let server = Server::of(&database);
    let body = json!({
        "jsonrpc": "2.0", "id": "a", "method": "agent.chat", "params": { "message": "list the tables" }
    });
    let events = "Accept: text/event-stream";
    let mut connection = server.connect();
    let reply = connection.ask(&post("/api", &[events], &body));
    assert_eq!(reply.header("content-type"), Some("text/event-stream"));
    let mut names = Vec::new();
    // The data of the last event, between the lines of chunks.
    let last = loop {
        let line = connection.line();
        if let Some(name) = line.trim_end().strip_prefix("event: ") {
            names.push(name.to_owned());
        } else if let Some(data) = line.strip_prefix("data: ")
            && names.last().is_some_and(|name| name == "response")
        {
            break data.to_owned();
        }
    };
    let order = ["status", "tool_call", "tool_result", "token", "done", "response"];
    let places = order.map(|name| names.iter().position(|one| *one == name));
    assert!(places.is_sorted() && places.iter().all(Option::is_some), "{names:?}");
    let response: Value = serde_json::from_str(&last).unwrap();
    assert_eq!(response["id"], "a");
    assert_eq!(response["result"]["steps"][0]["tool"], "list_tables");

    // Who takes JSON, too, is answered in JSON.
    let both = "Accept: application/json, text/event-stream";
    let reply = server.connect().ask(&post("/api", &[both], &body));
    assert_eq!(reply.header("content-type"), Some("application/json"));
    assert_eq!(server.stop().code, Some(0));
}

#[test]
fn what_cannot_be_asked_stops_the_start() {
    let folder = tempfile::tempdir().unwrap();
    let rows: [(&[&str], i32, &str); 3] = [
        (&["--agent-url", "http://127.0.0.1:1/v1"], 2, "--agent-model"),
        (&["--agent-model", "m"], 2, "--agent-url"),
        (&["--agent-url", "nowhere", "--agent-model", "m"], 1, "--agent-url"),
    ];
    for (arguments, code, told) in rows {
        let mut command = trunkline(folder.path());
        let ended = run(command.args(["--listen", "127.0.0.1:0"]).args(arguments));
        assert_eq!(ended.code, Some(code), "{ended:?}");
        assert!(ended.stderr.contains(told), "{ended:?}");
    }
}
