//! `POST /api`: the agent of the server.

use std::io::{BufRead, BufReader, Read, Write};
use std::net::{TcpListener, TcpStream};
use std::path::Path;
use std::thread;

use serde_json::{Value, json};

use crate::support::{Model, PATIENCE, Server, post, run, tpch, trunkline};

fn call(server: &Server, method: &str, params: &Value) -> Value {
    let body = json!({ "jsonrpc": "2.0", "id": 1, "method": method, "params": params });
    server.connect().ask(&post("/api", &[], &body)).json()
}

/// A server with a model.
fn server_with(model: &Model, folder: &Path, arguments: &[&str]) -> Server {
    let mut command = trunkline(folder);
    command.args(["--listen", "127.0.0.1:0", "--db", "tpch.db"]).args(model.flags());
    command.args(arguments);
    Server::start(command)
}

#[test]
fn without_a_model_only_chats_fail() {
    let (_folder, database) = tpch();
    let server = Server::of(&database);
    let error = &call(&server, "agent.chat", &json!({ "message": "list the tables" }))["error"];
    assert_eq!((&error["code"], &error["data"]["kind"]), (&json!(-32000), &json!("no_model")));
    let reason = error["data"]["reason"].as_str().unwrap();
    for part in ["--agent-url", "--agent-model", "Ollama", "OpenAI", "TRUNKLINE_AGENT_KEY"] {
        assert!(reason.contains(part), "{reason}");
    }
    let listed = call(&server, "agent.list_capabilities", &json!({}));
    assert_eq!(listed["result"]["tools"].as_array().unwrap().len(), 20, "{listed}");
    let step = call(&server, "agent.execute_tool", &json!({ "tool": "list_tables" }));
    assert_eq!(step["result"]["result"]["tables"].as_array().unwrap().len(), 8, "{step}");
    let refreshed = call(&server, "agent.refresh_capabilities", &json!({}));
    assert_eq!(refreshed["result"]["added"], json!([]), "{refreshed}");
    assert_eq!(server.stop().code, Some(0));
}

#[test]
fn a_turn_calls_tools_and_is_saved() {
    let (folder, _) = tpch();
    let server = server_with(&Model::listing(), folder.path(), &[]);
    let reply = call(&server, "agent.chat", &json!({ "message": "list the tables" }));
    let result = &reply["result"];
    assert_eq!(result["steps"][0]["tool"], "list_tables", "{reply}");
    let tables = result["steps"][0]["result"]["tables"].as_array().unwrap();
    assert_eq!(tables.len(), 8);
    let id = &result["conversation_id"];

    // One trace over the chat and the call that it made.
    let history = server.connect().get("/history").json();
    let of = |endpoint: &str| {
        let entries = history["entries"].as_array().unwrap();
        entries.iter().find(|entry| entry["endpoint"] == endpoint).unwrap()["trace_id"].clone()
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

/// Reading statements need no confirmation, even if the database is writable.
#[test]
fn reading_a_writable_database_needs_no_confirmation() {
    let (folder, _) = tpch();
    let model = Model::new(|question, speech| match &*question.results() {
        [] => {
            let arguments = serde_json::from_str(question.message()).unwrap();
            speech.calls(&[("execute_raw_query", arguments)]);
        }
        _ => speech.sends("Done."),
    });
    let server = server_with(&model, folder.path(), &["--writable"]);
    for (arguments, place) in [
        (json!({ "query": "SELECT count(*) AS regions FROM region" }), "/steps/0/result/rows"),
        (json!({ "query": "DELETE FROM region" }), "/steps/0/error"),
        (json!({ "query": "DELETE FROM region", "read_only": false }), "/pending/confirm"),
    ] {
        let reply = call(&server, "agent.chat", &json!({ "message": arguments.to_string() }));
        assert!(reply["result"].pointer(place).is_some(), "{arguments}: {reply}");
    }
    let rows = server.sql(&json!({ "query": "SELECT count(*) FROM region" })).unwrap();
    assert_eq!(rows, json!([[5]]));
}

#[test]
fn a_turn_streams_events() {
    let (folder, _) = tpch();
    let server = server_with(&Model::listing(), folder.path(), &[]);
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

    for (accept, expected) in [
        ("application/json, text/event-stream", "application/json"),
        ("text/event-stream;q=0", "application/json"),
        ("*/*", "application/json"),
        ("application/json;q=0.0, Text/Event-Stream; q=0.5", "text/event-stream"),
    ] {
        let accept = format!("Accept: {accept}");
        let reply = server.connect().ask(&post("/api", &[&accept], &body));
        assert_eq!(reply.header("content-type"), Some(expected), "{accept}");
    }
    assert_eq!(server.stop().code, Some(0));
}

/// A changed list of tokens does not change the owners of conversations.
#[test]
fn conversations_belong_to_a_token() {
    let (folder, database) = tpch();
    let model = Model::listing();
    let kept = |tokens: &[&str], asking: &str, message: Option<&str>| {
        let mut command = trunkline(folder.path());
        command.args(["--listen", "127.0.0.1:0", "--data-dir", "data", "--db"]).arg(&database);
        command.args(model.flags());
        for token in tokens {
            command.args(["--bearer", token]);
        }
        let server = Server::start_without_data_directory(command);
        let authorization = format!("Authorization: Bearer {asking}");
        let call = |method: &str, params: Value| {
            let body = json!({ "jsonrpc": "2.0", "id": 1, "method": method, "params": params });
            server.connect().ask(&post("/api", &[&authorization], &body)).json()
        };
        if let Some(message) = message {
            let reply = call("agent.chat", json!({ "message": message }));
            assert!(reply["result"].is_object(), "{reply}");
        }
        let listed = call("agent.list_conversations", json!({}))["result"]["conversations"].take();
        assert_eq!(server.stop().code, Some(0));
        listed.as_array().unwrap().len()
    };
    assert_eq!(kept(&["one", "two"], "one", Some("list the tables")), 1);
    assert_eq!(kept(&["two"], "two", None), 0);
    assert_eq!(kept(&["two", "one"], "one", None), 1);
}

/// A model that answers this many requests, and returns how often each contained `word`.
fn model(requests: usize, word: &'static str) -> (String, thread::JoinHandle<Vec<usize>>) {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let url = format!("http://{}/v1", listener.local_addr().unwrap());
    let held = move |stream: &mut TcpStream| {
        stream.set_read_timeout(Some(PATIENCE)).unwrap();
        let mut reader = BufReader::new(stream);
        let (mut line, mut length) = (String::new(), 0);
        while line != "\r\n" {
            line.clear();
            assert_ne!(reader.read_line(&mut line).unwrap(), 0);
            if let Some(value) = line.to_ascii_lowercase().strip_prefix("content-length:") {
                length = value.trim().parse().unwrap();
            }
        }
        let mut body = vec![0; length];
        reader.read_exact(&mut body).unwrap();
        String::from_utf8(body).unwrap().matches(word).count()
    };
    let served = thread::spawn(move || {
        let answer = json!({ "choices": [{ "message": { "content": "Well." } }] }).to_string();
        let head = format!("HTTP/1.1 200 OK\r\nContent-Length: {}\r\n", answer.len());
        let one = |_| {
            let (mut stream, _) = listener.accept().unwrap();
            let count = held(&mut stream);
            write!(stream, "{head}Connection: close\r\n\r\n{answer}").unwrap();
            count
        };
        (0..requests).map(one).collect()
    });
    (url, served)
}

/// Tools are described briefly, so that a small context can hold them and one of the messages.
#[test]
fn old_turns_that_do_not_fit_are_not_sent() {
    let (_folder, database) = tpch();
    for (context, expected) in [(&[][..], [1, 2]), (&["--agent-context", "3072"], [1, 1])] {
        let (url, asked) = model(2, "remember me");
        let mut command = trunkline(database.parent().unwrap());
        command.args(["--listen", "127.0.0.1:0", "--db"]).arg(&database);
        command.args(["--agent-url", &url, "--agent-model", "m"]).args(context);
        let server = Server::start(command);
        let text = format!("remember me {}", "x".repeat(3_000));
        let first = call(&server, "agent.chat", &json!({ "message": text }));
        let id = &first["result"]["conversation_id"];
        let message = json!({ "message": text, "conversation_id": id });
        let second = call(&server, "agent.chat", &message);
        assert_eq!(second["result"]["response"], "Well.", "{second}");
        assert_eq!(asked.join().unwrap(), expected, "{context:?}");
        assert_eq!(server.stop().code, Some(0));
    }
}

/// The flags, and parts of the error; without any, the server starts.
#[test]
fn a_context_too_small_for_the_tools_prevents_the_start() {
    let rows: [(&[&str], &[&str]); 5] = [
        (&["--agent-context", "4096"], &[]),
        (&["--agent-context", "100"], &["--agent-context `100` is too small", "--agent-allow"]),
        (&["--agent-context", "2048"], &["--agent-context `2048` is too small", "20 tools"]),
        (&["--agent-context", "2048", "--agent-allow", "db.list_tables"], &[]),
        (&["--agent-context", "512", "--agent-allow", "db.list_tables"], &["the 1 tools"]),
    ];
    for (arguments, told) in rows {
        let folder = tempfile::tempdir().unwrap();
        let mut command = trunkline(folder.path());
        command.args(["--listen", "127.0.0.1:0", "--sample"]).args(arguments);
        command.args(["--agent-url", "http://127.0.0.1:1/v1", "--agent-model", "m"]);
        if told.is_empty() {
            assert_eq!(Server::start(command).stop().code, Some(0), "{arguments:?}");
            continue;
        }
        let ended = run(&mut command);
        assert_eq!(ended.code, Some(1), "{arguments:?}: {ended:?}");
        for part in told {
            assert!(ended.stderr.contains(part), "{arguments:?}: no {part:?} in {}", ended.stderr);
        }
    }
}

/// A model that accepts connections, and never answers.
#[test]
fn timeouts_of_a_silent_model_are_settings() {
    let silent = TcpListener::bind("127.0.0.1:0").unwrap();
    let url = format!("http://{}/v1", silent.local_addr().unwrap());
    let turn = "/result/status_updates/1";
    for (flag, place) in
        [("--agent-first-token-ms", "/error/data/reason"), ("--agent-turn-ms", turn)]
    {
        let folder = tempfile::tempdir().unwrap();
        let mut command = trunkline(folder.path());
        command.args(["--listen", "127.0.0.1:0", "--sample", flag, "300"]);
        command.args(["--agent-url", &url, "--agent-model", "m"]);
        let server = Server::start(command);
        let reply = call(&server, "agent.chat", &json!({ "message": "Hi" }));
        let found = reply.pointer(place).and_then(Value::as_str).unwrap_or_default();
        assert!(found.contains(flag), "{flag}: {reply}");
        assert_eq!(server.stop().code, Some(0));
    }
}

#[test]
fn the_number_of_tools_is_limited() {
    for (arguments, expected) in [(&[][..], 20), (&["--agent-max-tools", "5"], 5)] {
        let (url, asked) = model(1, r#""type":"function""#);
        let folder = tempfile::tempdir().unwrap();
        let mut command = trunkline(folder.path());
        command.args(["--listen", "127.0.0.1:0", "--sample", "--agent-model", "m"]);
        command.args(["--agent-url", &url]).args(arguments);
        let server = Server::start(command);
        call(&server, "agent.chat", &json!({ "message": "Hi" }));
        assert_eq!(asked.join().unwrap(), [expected], "{arguments:?}");
        let stopped = server.stop();
        let is_warned = stopped.stderr.contains("--agent-max-tools");
        assert_eq!(is_warned, expected == 5, "{arguments:?}: {stopped:?}");
    }
}

#[test]
fn invalid_agent_settings_prevent_the_start() {
    let folder = tempfile::tempdir().unwrap();
    let rows: [(&[&str], i32, &str); 12] = [
        (&["--agent-allow", ""], 1, "--agent-allow is empty"),
        (&["--agent-deny", " , "], 1, "--agent-deny is empty"),
        (&["--agent-url", "http://127.0.0.1:1/v1"], 1, "--agent-url requires --agent-model"),
        (
            &["--agent-url", "http://127.0.0.1:1/v1", "--agent-model", ""],
            1,
            "requires --agent-model",
        ),
        (&["--agent-model", "m"], 1, "--agent-model requires --agent-url"),
        (&["--agent-deny", "db.delet_record"], 1, "--agent-deny db.delet_record: no method"),
        (&["--agent-allow", "db.*,nope.*"], 1, "--agent-allow nope.*: no method"),
        (&["--agent-context", "4096"], 2, "--agent-url"),
        (&["--agent-context", "0"], 2, "--agent-context"),
        (&["--agent-max-tools", "0"], 2, "--agent-max-tools"),
        (&["--agent-token-ms", "0"], 2, "--agent-token-ms"),
        (&["--agent-url", "nowhere", "--agent-model", "m"], 1, "--agent-url"),
    ];
    for (arguments, code, told) in rows {
        let mut command = trunkline(folder.path());
        let ended = run(command.args(["--listen", "127.0.0.1:0"]).args(arguments));
        assert_eq!(ended.code, Some(code), "{ended:?}");
        assert!(ended.stderr.contains(told), "{ended:?}");
    }
    // Variables with an empty value count as not set.
    let mut command = trunkline(folder.path());
    command.args(["--listen", "127.0.0.1:0"]).env("TRUNKLINE_AGENT_URL", "");
    command.env("TRUNKLINE_AGENT_MODEL", "");
    let server = Server::start(command);
    assert_eq!(server.stop().code, Some(0));
}
