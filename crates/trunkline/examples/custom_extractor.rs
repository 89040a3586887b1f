//! A custom extractor: the tenant of a call.
//!
//! `cargo run -p trunkline --example custom_extractor` makes two calls, with and without a tenant.
#![expect(clippy::print_stdout, reason = "examples print their results")]

use bytes::Bytes;
use http_body_util::{BodyExt, Full};
use trunkline::http::Headers;
use trunkline::{Call, ErrorObject, FromCall, Router};

/// The tenant in the header `X-Tenant`.
struct Tenant(String);

impl<S> FromCall<S> for Tenant {
    fn from_call(call: &mut Call, _state: &S) -> Result<Self, ErrorObject> {
        // Calls over other transports than HTTP have no headers.
        let headers = Headers::of(call.extensions());
        let tenant = headers.and_then(|headers| headers.get("x-tenant")?.to_str().ok());
        match tenant {
            Some(tenant) => Ok(Self(tenant.to_owned())),
            None => Err(ErrorObject::new(1, "missing header `X-Tenant`")),
        }
    }
}

#[tokio::main]
async fn main() -> Result<(), Box<dyn std::error::Error>> {
    let rpc = Router::new()
        .method("greet", |Tenant(name): Tenant| format!("hello, {name}"))
        .method("ping", || "pong")
        .build()?;
    let service = rpc.http();

    for tenant in [Some("acme"), None] {
        let mut request = http::Request::post("/")
            .header("host", "localhost")
            .header("content-type", "application/json");
        if let Some(tenant) = tenant {
            request = request.header("x-tenant", tenant);
        }
        let call = Bytes::from_static(br#"{"jsonrpc":"2.0","method":"greet","id":1}"#);
        let reply = service.handle(request.body(Full::new(call))?).await;
        let body = reply.into_body().collect().await?.to_bytes();
        println!("{}", String::from_utf8_lossy(&body));
    }
    Ok(())
}
