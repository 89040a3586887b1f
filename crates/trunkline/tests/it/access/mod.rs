//! Access: listed and signed tokens, claims, and authorization.

mod authorize;
mod identity;
mod keys;
mod protected_resource;
mod replaced;
mod roles;
mod rotation;
mod scopes;
mod signer;
mod signing;
mod statuses;
mod tokens;

use std::time::{SystemTime, UNIX_EPOCH};

use serde_json::{Value, json};
use trunkline::access::Principal;
use trunkline::access::jwt::{Jwt, JwtConfig, Keys};
use trunkline::http;
use trunkline::server::{self, ServerHandle};
use trunkline::{Router, Rpc};

use crate::support::{Client, Reply, on_loopback, post_with, serve_with};

/// Seconds since 1970.
fn now() -> u64 {
    SystemTime::now().duration_since(UNIX_EPOCH).unwrap().as_secs()
}

/// A service with the method `whoami`, which returns the name and the claims of the caller.
fn whoami() -> Rpc {
    Router::new()
        .method("whoami", |who: Principal| (who.name().to_owned(), who.claims().clone()))
        .build()
        .unwrap()
}

fn guarded(jwt: Jwt) -> http::HttpConfig {
    http::HttpConfig { bearer: jwt.into(), ..on_loopback() }
}

async fn serve_jwt(keys: Keys, settings: JwtConfig) -> ServerHandle {
    let http = guarded(Jwt::new(keys, settings));
    serve_with(whoami().http_with(http), server::ServerConfig::default()).await
}

fn call(method: &str) -> String {
    json!({"jsonrpc": "2.0", "method": method, "id": 1}).to_string()
}

/// Calls `whoami` on a new connection.
async fn ask(server: &ServerHandle, token: &str) -> Reply {
    let mut client = Client::connect(server.local_addr()).await;
    client.ask(post_with(&format!("Authorization: Bearer {token}\r\n"), call("whoami"))).await
}

fn set(keys: impl IntoIterator<Item = Value>) -> String {
    json!({"keys": keys.into_iter().collect::<Vec<_>>()}).to_string()
}
