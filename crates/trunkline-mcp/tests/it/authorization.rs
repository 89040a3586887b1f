//! Scopes of tools: the challenges of the endpoint, in each era, and the errors of other transports.

use std::sync::Arc;
use std::time::Duration;

use serde_json::{Value, json};
use trunkline::access::{Principal, ProtectedResource, Scopes};
use trunkline::http::HttpConfig;
use trunkline::layers::RateLimitLayer;
use trunkline::layers::authorize::{Rules, ScopedOperation, SharedRules, claim};
use trunkline::layers::rate_limit::Rate;
use trunkline::{Operation, RawParams, Router, Rpc, Server, ServerHandle};
use trunkline_mcp::nodes::StoredNodes;
use trunkline_mcp::{
    Completion, CompletionValues, Mcp, McpConfig, McpOperation, Prompt, PromptArgument, Resource,
    ResourceTemplate,
};

use crate::support::{
    Client, Gate, Pipes, assert_fits, completed, headers_of, legacy, modern, post,
};

const METADATA: &str =
    r#"resource_metadata="https://notes.example/.well-known/oauth-protected-resource/mcp""#;

fn rpc() -> Rpc {
    notes().build().unwrap()
}

fn notes() -> Router {
    let delete = Operation::new("notes.delete", || "deleted");
    let list = Operation::new("notes.list", || "listed");
    let secret = Operation::new("notes.secret", || "secret");
    let prune = Prompt::new("prune").argument(PromptArgument::new("notebook"));
    let required = ["notes:write", "notes:delete"];
    Router::new()
        .operation(delete.tool("delete").scopes(required))
        .operation(list.tool("list"))
        .operation(secret.resource(Resource::new("notes://secret", "secret")).scopes(required))
        .operation(
            Operation::new("notes.prune", || "Delete old notes.").prompt(prune).scopes(required),
        )
        .operation(
            Operation::new("notes.books", || CompletionValues::new(["one"]))
                .completes([Completion::prompt("prune", "notebook")])
                .scopes(required),
        )
        .operation(Operation::new("notes.audit", || "audited").tool("audit"))
        .operation(
            Operation::new("notes.book", |_: RawParams| "book")
                .resource_template(ResourceTemplate::new("notes://book/{name}", "book")),
        )
        .authorize(Rules::new().require("notes.audit", claim("role", "admin")))
        .authorize(Rules::new().require("notes.book", claim("role", "admin")))
}

fn mcp() -> Mcp {
    Mcp::new(rpc(), McpConfig::new("test", "1")).unwrap()
}

/// Serves to `reader` and `writer`, whose tokens are their names, and to `signed`, a reader with a token of an issuer.
/// `signed-writer` is another token of the same subject.
async fn serve() -> ServerHandle {
    serve_mcp(&mcp()).await
}

async fn serve_mcp(mcp: &Mcp) -> ServerHandle {
    let mut resource =
        ProtectedResource::new("https://notes.example/mcp".parse().unwrap(), ["https://login"]);
    resource.initial_scopes = Scopes::new(["notes:read"]);
    let mut http = HttpConfig { protected_resource: Some(resource), ..HttpConfig::default() };
    let scopes = [("reader", vec!["notes:read"]), ("writer", vec!["notes:write", "notes:delete"])];
    for (name, scopes) in scopes {
        let principal = Principal::new(name).with_scopes(&Scopes::new(scopes));
        http.bearer.allow_principal(principal, name);
    }
    let signed = Principal::signed("https://login", "ada");
    let writer = signed.clone().with_scopes(&Scopes::new(["notes:write", "notes:delete"]));
    http.bearer.allow_principal(writer, "signed-writer");
    http.bearer.allow_principal(signed.with_scopes(&Scopes::new(["notes:read"])), "signed");
    let admin = serde_json::from_value(json!({ "role": "admin", "scope": "notes:read" })).unwrap();
    http.bearer.allow_principal(Principal::new("admin").with_claims(admin), "admin");
    let service = mcp.rpc().http_with(http);
    let service = service.merge(mcp.routes()).merge(mcp.sse_routes());
    Server::bind("127.0.0.1:0").serve(service).await.unwrap()
}

fn call(tool: &str) -> Value {
    json!({ "name": tool, "arguments": {} })
}

fn secret() -> Value {
    json!({ "uri": "notes://secret" })
}

fn prune() -> Value {
    json!({ "name": "prune", "arguments": { "notebook": "one" } })
}

fn complete() -> Value {
    let prompt = json!({ "type": "ref/prompt", "name": "prune" });
    json!({ "ref": prompt, "argument": { "name": "notebook", "value": "" } })
}

#[tokio::test]
async fn challenges_name_the_scopes_of_a_tool() {
    let server = serve().await;
    let missing = format!("Bearer {METADATA}, scope=\"notes:read\"");
    let invalid = format!("Bearer error=\"invalid_token\", {METADATA}, scope=\"notes:read\"");
    let insufficient = format!(
        "Bearer error=\"insufficient_scope\", scope=\"notes:write notes:delete\", {METADATA}"
    );
    let rows = [
        ("tools/call", call("delete"), None, 401, Some(&missing)),
        ("tools/call", call("delete"), Some("none"), 401, Some(&invalid)),
        ("tools/call", call("delete"), Some("reader"), 403, Some(&insufficient)),
        ("tools/call", call("delete"), Some("writer"), 200, None),
        ("tools/call", call("list"), Some("reader"), 200, None),
        ("resources/read", secret(), Some("reader"), 403, Some(&insufficient)),
        ("resources/read", secret(), Some("writer"), 200, None),
        ("prompts/get", prune(), Some("reader"), 403, Some(&insufficient)),
        ("prompts/get", prune(), Some("writer"), 200, None),
        ("completion/complete", complete(), Some("reader"), 403, Some(&insufficient)),
        ("completion/complete", complete(), Some("writer"), 200, None),
        ("tools/list", json!({}), None, 401, Some(&missing)),
        ("tools/list", json!({}), Some("reader"), 200, None),
    ];
    for (method, params, token, status, challenge) in rows {
        let token = token.map(|token| format!("Authorization: Bearer {token}\r\n"));
        // With events accepted, a refusal still has its status.
        let common = format!(
            "Accept: application/json, text/event-stream\r\n{}",
            token.clone().unwrap_or_default()
        );
        let (new, old) = (modern(method, params.clone()), legacy(method, params));
        let rows = [
            ("modern", "/mcp", headers_of(&new), &new),
            ("legacy", "/mcp", "MCP-Protocol-Version: 2025-11-25\r\n".to_owned(), &old),
            ("JSON-RPC", "/", String::new(), &old),
        ];
        for (era, path, headers, message) in rows {
            let name = format!("{era}: {message} by {token:?}");
            let request = post(path, &format!("{common}{headers}"), message.to_string());
            let reply = Client::connect(server.local_addr()).await.ask(request).await;
            assert_eq!(reply.status, status, "{name}: {reply:?}");
            let found = reply.header("www-authenticate");
            assert_eq!(found, challenge.map(String::as_str), "{name}");
            if status == 403 {
                let error: Value = serde_json::from_slice(&reply.body).unwrap();
                let data = json!({ "scopes": ["notes:write", "notes:delete"] });
                let expected = json!({ "id": 1, "error": { "code": -32008, "data": data } });
                assert_fits(&name, &expected, &error);
            }
        }
    }
}

#[tokio::test]
async fn unknown_names_are_refused_and_counted_like_known_ones() {
    let named = |name: &str| json!({ "name": name, "arguments": {} });
    let completion = |name: &str| json!({ "ref": { "type": "ref/prompt", "name": name }, "argument": { "name": "a", "value": "" } });
    let rows = [
        ("tools/call", named("nope"), [200, 200]),
        ("tools/call", named("hidden.nope"), [401, 401]),
        ("prompts/get", named("nope"), [200, 200]),
        ("prompts/get", named("hidden.nope"), [401, 401]),
        ("resources/read", json!({ "uri": "notes://nope" }), [200, 200]),
        ("completion/complete", completion("nope"), [200, 200]),
        ("no/such", json!({}), [404, 200]),
    ];
    let calls = u32::try_from(2 * rows.len()).unwrap();
    let rate = Rate { calls, per: Duration::from_secs(3_600), burst: calls, ..Rate::default() };
    let router = notes().rate_limit(RateLimitLayer::new(rate));
    let rules = SharedRules::from(Rules::new().require("hidden.*", claim("role", "admin")));
    let rpc = router.authorize_shared(&rules).build();
    let mcp = Mcp::new(rpc.unwrap(), McpConfig::new("test", "1")).unwrap();
    let service = mcp.rpc().http_with(HttpConfig::default()).merge(mcp.routes());
    let server = Server::bind("127.0.0.1:0").serve(service).await.unwrap();
    for is_over in [false, true] {
        for (method, params, expected) in &rows {
            let new = modern(method, params.clone());
            let old = legacy(method, params.clone());
            let version = "MCP-Protocol-Version: 2025-11-25\r\n".to_owned();
            let messages = [(headers_of(&new), new), (version, old)];
            for ((headers, message), expected) in messages.into_iter().zip(expected) {
                let expected = if is_over { 429 } else { *expected };
                let headers = format!("Accept: application/json, text/event-stream\r\n{headers}");
                let request = post("/mcp", &headers, message.to_string());
                let reply = Client::connect(server.local_addr()).await.ask(request).await;
                assert_eq!(reply.status, expected, "{message}: {reply:?}");
            }
        }
    }
}

/// The names in a list of the endpoint.
async fn names(server: &ServerHandle, token: &str, method: &str, member: &str) -> Vec<String> {
    let message = modern(method, json!({}));
    let headers = headers_of(&message) + &format!("Authorization: Bearer {token}\r\n");
    let request = post("/mcp", &headers, message.to_string());
    let reply = Client::connect(server.local_addr()).await.ask(request).await.json();
    let entries = reply["result"][member].as_array().unwrap_or_else(|| panic!("{reply}")).iter();
    entries.map(|entry| entry["name"].as_str().unwrap().to_owned()).collect()
}

#[tokio::test]
async fn lists_have_the_operations_that_their_caller_may_call() {
    let server = serve().await;
    for (token, expected) in [
        ("reader", ["list", "", "", ""]),
        ("writer", ["delete list", "secret", "", "prune"]),
        // A client with a signed token can request scopes, but not other claims.
        ("signed", ["delete list", "secret", "", "prune"]),
        ("admin", ["list audit", "", "book", ""]),
    ] {
        let lists = [
            ("tools/list", "tools"),
            ("resources/list", "resources"),
            ("resources/templates/list", "resourceTemplates"),
            ("prompts/list", "prompts"),
        ];
        for ((method, member), expected) in lists.into_iter().zip(expected) {
            let found = names(&server, token, method, member).await.join(" ");
            assert_eq!(found, expected, "{token} {method}");
        }
    }
    // A client of stdio has no principal.
    let mut pipes = Pipes::of(mcp(), Gate::new());
    pipes.send([&legacy("tools/list", json!({}))]);
    let reply = pipes.next().await.unwrap();
    assert_eq!(reply["result"]["tools"].as_array().unwrap().len(), 3, "{reply}");
}

#[tokio::test]
async fn clients_subscribe_to_resources_that_they_may_read() {
    let server = serve().await;
    let uri = "notes://secret";
    for (token, is_allowed) in [("reader", false), ("signed", false), ("writer", true)] {
        let common = format!(
            "Accept: application/json, text/event-stream\r\nAuthorization: Bearer {token}\r\n"
        );
        let connect = || Client::connect(server.local_addr());
        let filter = json!({ "notifications": { "resourceSubscriptions": [uri] } });
        let listen = modern("subscriptions/listen", filter);
        let mut events = connect().await;
        events.send(post("/mcp", &(headers_of(&listen) + &common), listen.to_string())).await;
        assert_eq!(events.head().await.status, 200);
        let acknowledged = events.message().await.unwrap();
        let expected =
            if is_allowed { json!({ "resourceSubscriptions": [uri] }) } else { json!({}) };
        assert_eq!(acknowledged["params"]["notifications"], expected, "{token}");

        let version = json!({ "protocolVersion": "2025-11-25", "capabilities": {} });
        let hello = legacy("initialize", version).to_string();
        let reply = connect().await.ask(post("/mcp", &common, hello)).await;
        let session = reply.header("mcp-session-id").unwrap();
        let headers = format!("{common}Mcp-Session-Id: {session}\r\n");
        let subscribe = legacy("resources/subscribe", json!({ "uri": uri })).to_string();
        let reply = connect().await.ask(post("/mcp", &headers, subscribe)).await;
        assert_eq!(reply.status, if is_allowed { 200 } else { 403 }, "{token}: {reply:?}");
    }
}

#[tokio::test]
async fn members_of_a_batch_are_refused_one_by_one() {
    let server = serve().await;
    let batch = json!([legacy("tools/call", call("delete")), legacy("tools/call", call("list"))]);
    let request = post("/mcp", "Authorization: Bearer reader\r\n", batch.to_string());
    let reply = Client::connect(server.local_addr()).await.ask(request).await;
    assert_eq!((reply.status, reply.header("www-authenticate")), (200, None));
    let refused = json!({ "id": 1, "error": { "code": -32008 } });
    let replies: Value = serde_json::from_slice(&reply.body).unwrap();
    assert_fits("batch", &json!([refused, { "id": 1, "result": {} }]), &replies);
}

#[tokio::test]
async fn scopes_are_not_required_over_stdio() {
    let mut pipes = Pipes::of(mcp(), Gate::new());
    pipes.write(format!("{}\n", legacy("tools/call", call("delete"))));
    let (replies, ended) = pipes.finish().await;
    assert!(ended.is_ok(), "{ended:?}");
    assert_fits("stdio", &json!([completed(1, "deleted")]), &json!(replies));
}

/// A message has the rights of the token of its sender, on the node of the stream and on another one.
#[tokio::test]
async fn messages_of_http_sse_have_the_rights_of_their_token() {
    let folder = tempfile::tempdir().unwrap();
    let mut nodes = Vec::new();
    for _ in 0..2 {
        let mut config = McpConfig::new("test", "1");
        let shared = StoredNodes::open(folder.path(), Duration::from_secs(60)).unwrap();
        config.nodes = Some(Arc::new(shared));
        let mcp = Mcp::new(rpc(), config).unwrap();
        mcp.join_nodes().await.unwrap();
        nodes.push((serve_mcp(&mcp).await, mcp));
    }
    for (opener, sender, is_allowed) in [
        ("signed", "signed", false),
        ("signed", "signed-writer", true),
        ("signed-writer", "signed", false),
        ("signed-writer", "signed-writer", true),
    ] {
        let mut events = Client::connect(nodes[0].0.local_addr()).await;
        let bearer = |token: &str| format!("Authorization: Bearer {token}\r\n");
        let open = format!("GET /sse HTTP/1.1\r\nHost: localhost\r\n{}\r\n", bearer(opener));
        events.send(open).await;
        assert_eq!(events.head().await.status, 200);
        let first = events.event().await.unwrap();
        let endpoint = first.strip_prefix("event: endpoint\ndata: ").unwrap();
        for (node, (server, _)) in nodes.iter().enumerate() {
            let message = legacy("tools/call", call("delete")).to_string();
            let request = post(endpoint, &bearer(sender), message);
            let reply = Client::connect(server.local_addr()).await.ask(request).await;
            assert_eq!(reply.status, 202, "{opener} {sender} {node}: {reply:?}");
            let reply = events.message().await.unwrap();
            let name = format!("stream of {opener}, message of {sender} to node {node}");
            let refused = json!({ "id": 1, "error": { "code": -32008 } });
            let expected = if is_allowed { completed(1, "deleted") } else { refused };
            assert_fits(&name, &expected, &reply);
        }
    }
    for (_, mcp) in &nodes {
        mcp.leave_nodes().await;
    }
}
