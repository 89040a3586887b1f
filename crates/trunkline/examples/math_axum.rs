//! JSON-RPC in an axum application. Middleware for authentication and logging wraps REST and RPC alike.
//!
//! ```text
//! cargo run -p trunkline --example math_axum
//! curl -s http://127.0.0.1:3000/rpc -H 'Content-Type: application/json' \
//!   -H 'Authorization: Bearer let-me-in' \
//!   -d '{"jsonrpc":"2.0","id":1,"method":"math.add","params":[40,2]}'
//! ```
#![expect(clippy::print_stdout, reason = "examples print their results")]

use axum::extract::Request;
use axum::http::StatusCode;
use axum::http::header::AUTHORIZATION;
use axum::middleware::{self, Next};
use axum::response::{IntoResponse, Response};
use axum::routing::get;
use tower::ServiceBuilder;
use tower_http::compression::CompressionLayer;
use tower_http::request_id::{MakeRequestUuid, PropagateRequestIdLayer, SetRequestIdLayer};
use tower_http::trace::TraceLayer;
use trunkline::{Extension, RpcError, rpc};

/// The service. Its methods have the prefix `math.`.
struct Math;

#[rpc(namespace = "math")]
impl Math {
    /// Adds two numbers.
    fn add(&self, a: i64, b: i64) -> Result<i64, MathError> {
        a.checked_add(b).ok_or(MathError::Overflow)
    }

    /// Returns the name of the caller, which the middleware has set.
    fn caller(&self, #[extract] Extension(User(name)): Extension<User>) -> String {
        name
    }
}

#[derive(Debug, RpcError)]
enum MathError {
    #[rpc(code = 1, message = "the sum does not fit in 64 bits")]
    Overflow,
}

#[derive(Clone)]
struct User(String);

/// Middleware that runs once for each HTTP request.
async fn authenticate(mut request: Request, next: Next) -> Response {
    let token = request.headers().get(AUTHORIZATION).and_then(|value| value.to_str().ok());
    match token {
        Some("Bearer let-me-in") => {
            request.extensions_mut().insert(User("alice".to_owned()));
            next.run(request).await
        }
        _ => (StatusCode::UNAUTHORIZED, [("www-authenticate", "Bearer")]).into_response(),
    }
}

#[tokio::main]
async fn main() -> Result<(), Box<dyn std::error::Error>> {
    tracing_subscriber::fmt().init();
    let rpc = Math.into_router().build()?;
    let middleware_stack = ServiceBuilder::new()
        .layer(SetRequestIdLayer::x_request_id(MakeRequestUuid))
        .layer(TraceLayer::new_for_http())
        .layer(PropagateRequestIdLayer::x_request_id())
        .layer(CompressionLayer::new())
        .layer(middleware::from_fn(authenticate));
    let app = axum::Router::new()
        .route("/", get(|| async { "JSON-RPC 2.0 at POST /rpc" }))
        .route_service("/rpc", rpc.http())
        .layer(middleware_stack);

    let listener = tokio::net::TcpListener::bind("127.0.0.1:3000").await?;
    println!("listening on http://{}", listener.local_addr()?);
    axum::serve(listener, app).await?;
    Ok(())
}
