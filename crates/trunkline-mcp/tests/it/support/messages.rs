//! Messages and requests as bytes.

use serde_json::{Value, json};

/// The placeholder of the `_meta` of the stateless era in rows.
const META: &str = r#""$meta""#;

/// A JSON text in which `"$meta"` is replaced by the `_meta` of a request of the stateless era.
pub(crate) fn expanded(text: &str) -> String {
    text.replace(META, &meta().to_string())
}

fn meta() -> Value {
    json!({
        "io.modelcontextprotocol/protocolVersion": "2026-07-28",
        "io.modelcontextprotocol/clientInfo": { "name": "test", "version": "1" },
        "io.modelcontextprotocol/clientCapabilities": {},
    })
}

/// A request of the stateless era, with the id 1.
pub(crate) fn modern(method: &str, mut params: Value) -> Value {
    let own = params["_meta"].take();
    params["_meta"] = meta();
    for (name, value) in own.as_object().into_iter().flatten() {
        params["_meta"][name] = value.clone();
    }
    legacy(method, params)
}

/// A request of the first era, with the id 1.
pub(crate) fn legacy(method: &str, params: Value) -> Value {
    json!({ "jsonrpc": "2.0", "id": 1, "method": method, "params": params })
}

/// The reply of a tool in the first era, with this text.
pub(crate) fn completed(id: impl Into<Value>, text: &str) -> Value {
    let content = json!([{ "type": "text", "text": text }]);
    json!({ "jsonrpc": "2.0", "id": id.into(), "result": { "content": content, "isError": false } })
}

/// The header lines of a request of the stateless era.
pub(crate) fn headers_of(message: &Value) -> String {
    let mut lines = String::from("MCP-Protocol-Version: 2026-07-28\r\n");
    if let Some(method) = message["method"].as_str() {
        lines += &format!("Mcp-Method: {method}\r\n");
    }
    let params = &message["params"];
    if let Some(name) = ["name", "uri", "taskId"].iter().find_map(|name| params[name].as_str()) {
        lines += &format!("Mcp-Name: {name}\r\n");
    }
    lines
}

/// A correct POST of `body` with further header lines, each with its CRLF.
pub(crate) fn post(path: &str, headers: &str, body: impl AsRef<[u8]>) -> Vec<u8> {
    let body = body.as_ref();
    let head = format!(
        "POST {path} HTTP/1.1\r\nHost: localhost\r\nContent-Type: application/json\r\n{headers}\
         Content-Length: {}\r\n\r\n",
        body.len()
    );
    [head.as_bytes(), body].concat()
}
