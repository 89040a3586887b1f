//! The endpoint of a scripted model, with a socket.

use std::convert::Infallible;
use std::sync::{Arc, Mutex};
use std::time::Duration;

use axum::Router;
use axum::body::{Body, Bytes};
use axum::extract::State;
use axum::http::{HeaderMap, StatusCode};
use axum::response::Response;
use axum::routing::post;
use futures_util::{StreamExt, future, stream};
use serde_json::{Value, json};
use tokio::net::TcpListener;
use tokio::task::JoinHandle;

/// A server that stops when it is dropped.
pub(crate) struct ModelServer {
    pub(crate) url: String,
    shared: Arc<Shared>,
    server: JoinHandle<()>,
}

struct Shared {
    script: Script,
    requests: Mutex<Vec<(HeaderMap, Value)>>,
}

/// Returns the answer to a request, given its index and body.
type Script = Box<dyn Fn(usize, &Value) -> Answer + Send + Sync>;

/// The answer to a request.
#[derive(Clone)]
pub(crate) struct Answer {
    status: u16,
    headers: Vec<(&'static str, String)>,
    body: Vec<String>,
    end: End,
}

#[derive(Clone, Copy, PartialEq)]
enum End {
    Regular,
    /// No response.
    Silence,
    /// The response never ends.
    Stall,
    /// A pause precedes each piece.
    Slow(Duration),
}

impl ModelServer {
    /// Answers with the rows in order, and then repeats the last one.
    pub(crate) async fn rows(rows: Vec<Answer>) -> Self {
        Self::serve(move |index, _| rows[index.min(rows.len() - 1)].clone()).await
    }

    /// Answers with the results of `script`.
    pub(crate) async fn serve(
        script: impl Fn(usize, &Value) -> Answer + Send + Sync + 'static,
    ) -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let url = format!("http://{}/v1", listener.local_addr().unwrap());
        let shared = Arc::new(Shared { script: Box::new(script), requests: Mutex::default() });
        let router = Router::new()
            .route("/v1/chat/completions", post(answer))
            .with_state(Arc::clone(&shared));
        let server = tokio::spawn(async move { axum::serve(listener, router).await.unwrap() });
        Self { url, shared, server }
    }

    /// The bodies of the requests so far.
    pub(crate) fn requests(&self) -> Vec<Value> {
        self.shared.requests.lock().unwrap().iter().map(|(_, body)| body.clone()).collect()
    }

    /// A header of the request with this index.
    pub(crate) fn header(&self, request: usize, name: &str) -> Option<String> {
        let requests = self.shared.requests.lock().unwrap();
        Some(requests.get(request)?.0.get(name)?.to_str().unwrap().to_owned())
    }
}

impl Drop for ModelServer {
    fn drop(&mut self) {
        self.server.abort();
    }
}

async fn answer(State(shared): State<Arc<Shared>>, headers: HeaderMap, body: Bytes) -> Response {
    let body: Value = serde_json::from_slice(&body).unwrap();
    let index = {
        let mut requests = shared.requests.lock().unwrap();
        requests.push((headers, body.clone()));
        requests.len() - 1
    };
    let Answer { status, headers, body, end } = (shared.script)(index, &body);
    if end == End::Silence {
        future::pending::<()>().await;
    }
    let pieces = stream::iter(body).map(Ok::<_, Infallible>);
    let body = match end {
        End::Stall => Body::from_stream(pieces.chain(stream::pending())),
        End::Slow(pause) => Body::from_stream(pieces.then(move |piece| async move {
            tokio::time::sleep(pause).await;
            piece
        })),
        _ => Body::from_stream(pieces),
    };
    let mut response = Response::builder().status(StatusCode::from_u16(status).unwrap());
    for (name, value) in headers {
        response = response.header(name, value);
    }
    response.body(body).unwrap()
}

impl Answer {
    /// A reply in one piece.
    pub(crate) fn json(body: &Value) -> Self {
        let headers = vec![("content-type", "application/json".to_owned())];
        Self { status: 200, headers, body: vec![body.to_string()], end: End::Regular }
    }

    /// A message in one piece.
    pub(crate) fn message(message: &Value) -> Self {
        let usage = json!({ "prompt_tokens": 10, "completion_tokens": 5, "total_tokens": 15 });
        let choice = json!({ "index": 0, "message": message, "finish_reason": "stop" });
        Self::json(&json!({ "choices": [choice], "usage": usage }))
    }

    /// A text in one piece.
    pub(crate) fn text(text: &str) -> Self {
        Self::message(&json!({ "role": "assistant", "content": text }))
    }

    /// Calls in one piece: ids, names and arguments.
    pub(crate) fn calls(calls: &[(&str, &str, &str)]) -> Self {
        let call = |(id, name, arguments): &(&str, &str, &str)| json!({ "id": id, "type": "function", "function": { "name": name, "arguments": arguments } });
        let calls: Vec<_> = calls.iter().map(call).collect();
        Self::message(&json!({ "role": "assistant", "content": null, "tool_calls": calls }))
    }

    /// A complete stream of these deltas.
    pub(crate) fn deltas(deltas: &[Value]) -> Self {
        let of_delta = |delta: &Value| json!({ "choices": [{ "index": 0, "delta": delta }] });
        let mut chunks: Vec<_> = deltas.iter().map(of_delta).collect();
        chunks.push(json!({ "choices": [{ "index": 0, "delta": {}, "finish_reason": "stop" }] }));
        let mut body: Vec<_> = chunks.iter().map(|chunk| format!("data: {chunk}\n\n")).collect();
        body.push("data: [DONE]\n\n".to_owned());
        Self::stream(body)
    }

    /// A stream of these pieces of text.
    pub(crate) fn stream(body: Vec<String>) -> Self {
        let headers = vec![("content-type", "text/event-stream; charset=utf-8".to_owned())];
        Self { status: 200, headers, body, end: End::Regular }
    }

    /// An error.
    pub(crate) fn refusal(status: u16, message: &str) -> Self {
        let body = json!({ "error": { "message": message, "type": "some_error" } });
        Self { status, ..Self::json(&body) }
    }

    pub(crate) fn with_header(mut self, name: &'static str, value: &str) -> Self {
        self.headers.push((name, value.to_owned()));
        self
    }

    /// The answer with another media type.
    pub(crate) fn typed(mut self, media_type: &str) -> Self {
        self.headers = vec![("content-type", media_type.to_owned())];
        self
    }

    pub(crate) fn with_status(self, status: u16) -> Self {
        Self { status, ..self }
    }

    /// The answer without an end.
    pub(crate) fn stalled(self) -> Self {
        Self { end: End::Stall, ..self }
    }

    /// The answer with a pause before each piece.
    pub(crate) fn slow(self, pause: Duration) -> Self {
        Self { end: End::Slow(pause), ..self }
    }

    /// No answer.
    pub(crate) fn silence() -> Self {
        Self { end: End::Silence, ..Self::text("") }
    }
}
