//! The caller's identity in the calls of an agent.

use std::net::{IpAddr, Ipv4Addr, SocketAddr};
use std::time::Duration;

use axum::body::{Body, to_bytes};
use serde_json::{Value, json};
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::TcpSocket;
use trunkline::access::Principal;
use trunkline::http::{Headers, Peer};
use trunkline::layers::RateLimitLayer;
use trunkline::layers::rate_limit::Rate;
use trunkline::{Call, Extension, Extensions, FromCall, Operation, Router, Rpc, Server};
use trunkline_agent::conversation::Conversations;
use trunkline_agent::{Agent, operations};

use crate::support::includes;

const CALL: &str =
    r#"{"jsonrpc": "2.0", "id": 1, "method": "agent.execute_tool", "params": {"tool": "t"}}"#;

/// An agent over one tool.
fn agent(service: Rpc) -> (Rpc, tempfile::TempDir) {
    let directory = tempfile::tempdir().unwrap();
    let conversations = Conversations::open(directory.path(), Default::default()).unwrap();
    let agent = Agent::new(service, None, conversations, Default::default());
    (Router::new().merge(operations(&agent)).build().unwrap(), directory)
}

/// The reply to a call from an address of this machine.
async fn call_from(address: Ipv4Addr, server: SocketAddr) -> Value {
    let socket = TcpSocket::new_v4().unwrap();
    socket.bind((address, 0).into()).unwrap();
    let mut connection = socket.connect(server).await.unwrap();
    let head = format!(
        "POST / HTTP/1.1\r\nHost: {server}\r\nContent-Type: application/json\r\nContent-Length: {}\r\n\
         Connection: close\r\n\r\n",
        CALL.len()
    );
    connection.write_all((head + CALL).as_bytes()).await.unwrap();
    let mut reply = String::new();
    connection.read_to_string(&mut reply).await.unwrap();
    serde_json::from_str(reply.split_once("\r\n\r\n").unwrap().1).unwrap()
}

#[tokio::test]
async fn rate_limits_apply_per_caller_address() {
    let rate = Rate { calls: 1, per: Duration::from_secs(3_600), burst: 1, ..Rate::default() };
    let tool = Operation::new("t", || 1).read_only().tool("t");
    let service = Router::new().operation(tool).layer(RateLimitLayer::new(rate)).build().unwrap();
    let (api, _directory) = agent(service);
    let server = Server::bind("127.0.0.1:0").serve(api).await.unwrap();
    // Both are loopback addresses.
    let (one, other) = (Ipv4Addr::LOCALHOST, Ipv4Addr::new(127, 0, 0, 2));
    let (made, refused) = (json!({ "result": 1 }), json!({ "code": -32010 }));
    for (address, expected) in [
        (one, json!({ "result": made })),
        (one, json!({ "error": refused })),
        (other, json!({ "result": made })),
        (other, json!({ "error": refused })),
    ] {
        let reply = call_from(address, server.local_addr()).await;
        includes(&address.to_string(), &reply, &expected);
    }
}

/// An extension as HTTP middleware sets it.
#[derive(Clone)]
struct Tenant(&'static str);

/// An extension as a layer of calls sets it.
#[derive(Clone)]
struct LayerExtension(&'static str);

/// The extensions of a call.
struct CallExtensions(Value);

impl<S> FromCall<S> for CallExtensions {
    fn from_call(call: &mut Call, _: &S) -> Result<Self, trunkline::ErrorObject> {
        let extensions = call.extensions();
        let headers = Headers::of(extensions);
        Ok(Self(json!({
            "endpoint": extensions.endpoint(),
            "tenant": Extension::of(extensions).map(|Tenant(name)| name),
            "layer": extensions.get().map(|LayerExtension(name)| name),
            "principal": Principal::of(extensions).map(Principal::name),
            "peer": Peer::of(extensions).0.map(|peer| peer.to_string()),
            "headers": headers.map(http::HeaderMap::len),
        })))
    }
}

#[tokio::test]
async fn calls_carry_the_callers_identity() {
    let tool =
        Operation::new("t", |CallExtensions(found): CallExtensions| found).read_only().tool("t");
    let (api, _directory) = agent(Router::new().operation(tool).build().unwrap());
    let peer = SocketAddr::new(IpAddr::from([192, 0, 2, 7]), 7);
    let mut request = http::Request::post("/")
        .header("host", "localhost")
        .header("content-type", "application/json")
        .body(Body::from(CALL))
        .unwrap();
    request.extensions_mut().insert(Tenant("blue"));
    request.extensions_mut().insert(Peer(Some(peer)));
    request.extensions_mut().insert(Principal::new("ada"));
    let reply = Body::new(api.http().handle(request).await.into_body());
    let reply = to_bytes(reply, 1 << 16).await.unwrap();
    let reply: Value = serde_json::from_slice(&reply).unwrap();
    let found = json!({
        "endpoint": "agent", "tenant": "blue", "layer": null, "principal": "ada", "peer": "192.0.2.7:7", "headers": null,
    });
    assert_eq!(reply["result"]["result"], found, "{reply:#}");

    let mut extensions = Extensions::from_endpoint("test");
    extensions.insert(LayerExtension("of the caller's call"));
    extensions.insert(Tenant("red"));
    extensions.insert(Principal::new("ada"));
    extensions.insert(Peer(Some(peer)));
    let reply = api.handle(CALL.into(), extensions).await.into_json().unwrap();
    let reply: Value = serde_json::from_slice(&reply).unwrap();
    let found = json!({
        "endpoint": "agent", "tenant": null, "layer": null, "principal": "ada", "peer": "192.0.2.7:7", "headers": null,
    });
    assert_eq!(reply["result"]["result"], found, "{reply:#}");
}

#[cfg(unix)]
#[tokio::test]
async fn calls_carry_the_process_at_a_unix_socket() {
    use trunkline::client::{Client, Unix};
    use trunkline::unix;

    let tool = Operation::new("t", |Extension(unix::Peer { pid, .. }): Extension<unix::Peer>| pid);
    let service = Router::new().operation(tool.read_only().tool("t")).build().unwrap();
    let (api, directory) = agent(service);
    let path = directory.path().join("s.sock");
    let server = unix::Server::bind(&path).serve(api).await.unwrap();
    let client = Client::new(Unix::connect(&path));
    let step: Value = client.call("agent.execute_tool", json!({ "tool": "t" })).await.unwrap();
    assert_eq!(step["result"], std::process::id(), "{step}");
    assert!(server.stop().await.is_complete());
}
