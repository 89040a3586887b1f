//! An existing command API on axum that accepts JSON-RPC 2.0 on the same path.
//!
//! ```text
//! cargo run -p trunkline-records --example adapter
//! curl -s localhost:3000/execute -H 'Content-Type: application/json' \
//!   -d '{"command": "update", "resource": "todo", "id": "a", "payload": {"done": true}}'
//! curl -s localhost:3000/execute -H 'Content-Type: application/json' \
//!   -d '{"jsonrpc": "2.0", "method": "todo.update", "params": {"id": "a", "done": true}, "id": 1}'
//! ```

use axum::Router;
use axum::body::{Body, Bytes, to_bytes};
use axum::extract::Request;
use axum::http::StatusCode;
use axum::http::header::CONTENT_TYPE;
use axum::response::{IntoResponse, Response};
use axum::routing::post;
use serde_json::{Value, json};
use trunkline::{ErrorObject, Extensions, Outcome};
use trunkline_records::adapter::{self, NativeReply};
use trunkline_records::{Command, Protocol};

#[tokio::main]
async fn main() -> Result<(), Box<dyn std::error::Error>> {
    let rpc = trunkline::Router::new().build()?.with_protocol_methods(adapter::commands(command));
    let json_rpc = rpc.http();
    let execute = async move |request: Request| {
        let (head, body) = request.into_parts();
        let Ok(body) = to_bytes(body, 1 << 20).await else {
            return StatusCode::PAYLOAD_TOO_LARGE.into_response();
        };
        match adapter::protocol(&body) {
            Protocol::JsonRpc => {
                json_rpc.handle(Request::from_parts(head, Body::from(body))).await.into_response()
            }
            Protocol::Native => native(body).await,
        }
    };
    let app = Router::new().route("/execute", post(execute));
    axum::serve(tokio::net::TcpListener::bind("127.0.0.1:3000").await?, app).await?;
    Ok(())
}

/// The commands of the service, independent of JSON-RPC. `_caller` has the headers, for authorisation.
async fn command(command: Command, _caller: Extensions) -> Result<Value, ErrorObject> {
    match (&*command.resource, &*command.command) {
        ("todo", "update") => Ok(json!({ "id": command.id, "done": command.payload["done"] })),
        (resource, name) => Err(ErrorObject::method_not_found(&format!("{resource}.{name}"))),
    }
}

/// Handles native messages, whose replies stay unchanged.
async fn native(body: Bytes) -> Response {
    let reply = match adapter::read(&body) {
        Ok(message) => match command(message.clone(), Extensions::new()).await {
            Ok(result) => NativeReply::of(&message, &Outcome::result(&result)),
            Err(error) => NativeReply::error(&error),
        },
        Err(error) => NativeReply::error(&error),
    };
    let body = reply.body.unwrap_or_default();
    (reply.status, [(CONTENT_TYPE, "application/json")], body).into_response()
}
