//! Conversations of the agent on two nodes.

use serde_json::{Value, json};
use tempfile::TempDir;
use trunkline_test_postgres::{create_database, free_address, url_of};

use super::{command, message};
use crate::support::{Connection, Model, Server, post};

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
