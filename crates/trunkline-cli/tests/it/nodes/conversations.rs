//! Conversations of the agent on two nodes.

use std::sync::{Mutex, mpsc};

use serde_json::{Value, json};
use tempfile::TempDir;
use trunkline_test_postgres::{create_database, free_address, url_of};

use super::{command, create, exists, message};
use crate::support::{Connection, Model, PATIENCE, Server, post};

/// Two servers with one store and this model.
fn start(model: &Model) -> (TempDir, [Server; 2]) {
    let folder = tempfile::tempdir().unwrap();
    let store = url_of("app", &create_database(""));
    let servers = [(); 2].map(|()| {
        let mut command = command(folder.path(), &store, free_address());
        command.args(model.flags());
        Server::start(command)
    });
    (folder, servers)
}

/// Sends a message to the agent, and returns the connection with its reply.
fn chat(server: &Server, params: &Value) -> Connection {
    let mut connection = server.connect();
    connection.send(&post("/api", &[], &message(1, "agent.chat", params)));
    connection
}

#[test]
#[ignore = "needs PostgreSQL"]
fn a_conversation_continues_on_another_node() {
    let model = Model::new(|question, speech| speech.sends(&question.turns().to_string()));
    let (_folder, servers) = start(&model);
    let mut id = Value::Null;
    for (turn, server) in [0, 1, 1, 0].map(|index| &servers[index]).into_iter().enumerate() {
        let sent = json!({"message": "Hi", "conversation_id": id});
        let reply = chat(server, &sent).reply().json();
        assert_eq!(reply["result"]["response"], (turn + 1).to_string(), "{reply}");
        id = reply["result"]["conversation_id"].clone();
    }
    for server in servers {
        assert_eq!(server.stop().code, Some(0));
    }
}

#[test]
#[ignore = "needs PostgreSQL"]
fn a_turn_does_not_replace_that_of_another_node() {
    let (ask, asked) = mpsc::channel();
    let (save, saved) = mpsc::channel();
    let saved = Mutex::new(saved);
    let model = Model::new(move |question, speech| match question.message() {
        "Delete it." if question.results().is_empty() => {
            speech.calls(&[("todo_delete", json!({"id": "one"}))]);
        }
        "Wait." => {
            ask.send(()).unwrap();
            saved.lock().unwrap().recv_timeout(PATIENCE).unwrap();
            speech.sends("Done.");
        }
        _ => speech.sends("Done."),
    });
    let (_folder, servers) = start(&model);
    let [a, b] = &servers;
    create(a, "one");
    let begun = chat(a, &json!({"message": "Hi"})).reply().json();
    let id = &begun["result"]["conversation_id"];
    let mut waiting = chat(a, &json!({"message": "Wait.", "conversation_id": id}));
    asked.recv_timeout(PATIENCE).unwrap();
    let delete = json!({"message": "Delete it.", "conversation_id": id});
    let proposed = chat(b, &delete).reply().json();
    save.send(()).unwrap();
    let refused = waiting.reply().json();
    assert_eq!(refused["error"]["code"], -32005, "{refused}");
    let token = &proposed["result"]["pending"]["confirm"];
    let confirmed = chat(a, &json!({"conversation_id": id, "confirm": token})).reply().json();
    assert_eq!(confirmed["result"]["response"], "Done.", "{confirmed}");
    assert!(!exists(b, "one"), "{confirmed}");
    for server in servers {
        assert_eq!(server.stop().code, Some(0));
    }
}
