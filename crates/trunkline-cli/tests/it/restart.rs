//! Clients of MCP go on after a restart of the server.

use serde_json::{Value, json};

use crate::support::{Server, post, tpch, trunkline};

fn message(method: &str, params: &Value) -> Value {
    json!({ "jsonrpc": "2.0", "id": 1, "method": method, "params": params })
}

fn open(server: &Server) -> String {
    let params = json!({
        "protocolVersion": "2025-06-18",
        "capabilities": { "elicitation": {} },
        "clientInfo": { "name": "test", "version": "1" },
    });
    let reply = server.connect().ask(&post("/mcp", &[], &message("initialize", &params)));
    format!("Mcp-Session-Id: {}", reply.header("mcp-session-id").unwrap())
}

fn ask(server: &Server, session: &str, method: &str, params: &Value) -> u16 {
    server.connect().ask(&post("/mcp", &[session], &message(method, params))).status
}

fn delete(server: &Server, session: &str) -> u16 {
    let request = format!("DELETE /mcp HTTP/1.1\r\nHost: localhost\r\n{session}\r\n\r\n");
    server.connect().ask(&request).status
}

#[test]
fn sessions_survive_a_restart() {
    for (arguments, ended_status) in [(&[][..], 200), (&["--data-dir", "data"][..], 404)] {
        let (folder, _) = tpch();
        let start = || {
            let mut command = trunkline(folder.path());
            command.args(["--db", "tpch.db", "--listen", "127.0.0.1:0"]).args(arguments);
            Server::start(command)
        };
        let file = folder.path().join("data/sessions.sqlite");
        let server = start();
        let (session, ended) = (open(&server), open(&server));
        let call = json!({ "name": "list_tables", "arguments": {} });
        assert_eq!(ask(&server, &session, "tools/call", &call), 200);
        assert!(!file.exists(), "nothing is to be written yet");
        assert_eq!(ask(&server, &session, "logging/setLevel", &json!({ "level": "error" })), 200);
        assert_eq!(delete(&server, &ended), 200);
        assert_eq!(server.stop().code, Some(0));
        assert_eq!(file.exists(), !arguments.is_empty());
        for _ in 0..2 {
            let server = start();
            assert_eq!(ask(&server, &session, "tools/call", &call), 200, "{arguments:?}");
            assert_eq!(ask(&server, &ended, "ping", &json!({})), ended_status, "{arguments:?}");
            let health = server.connect().get("/health").json();
            assert_eq!(health["status"], "healthy", "{health}");
            assert_eq!(server.stop().code, Some(0));
        }
    }
}
