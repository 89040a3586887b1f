//! A hand-written server with one method: axum, serde and typed structs.

use std::net::SocketAddr;

use anyhow::Result;
use axum::Router;
use axum::body::Bytes;
use axum::http::StatusCode;
use axum::http::header::CONTENT_TYPE;
use axum::response::{IntoResponse, Response};
use axum::routing::post;
use axum::serve::ListenerExt;
use serde::{Deserialize, Serialize};
use tokio::net::TcpListener;
use trunkline_bench_pair::{Add, announce};

#[derive(Deserialize)]
struct Call<'a> {
    jsonrpc: &'a str,
    id: u64,
    method: &'a str,
    params: Add,
}

#[derive(Serialize)]
struct Reply {
    jsonrpc: &'static str,
    id: u64,
    result: i64,
}

fn main() -> Result<()> {
    trunkline_bench_pair::run(serve)
}

async fn serve(address: SocketAddr) -> Result<()> {
    let listener = TcpListener::bind(address).await?;
    announce(listener.local_addr()?);
    let listener = listener.tap_io(|stream| {
        // Fails only if the option is not supported, which would make the connection slower.
        let _ = stream.set_nodelay(true);
    });
    axum::serve(listener, Router::new().route("/", post(answer))).await?;
    Ok(())
}

async fn answer(body: Bytes) -> Response {
    let reply = if body.starts_with(b"[") { answer_batch(&body) } else { answer_single(&body) };
    match reply {
        Ok(reply) => ([(CONTENT_TYPE, "application/json")], reply).into_response(),
        Err(error) => (StatusCode::BAD_REQUEST, error.to_string()).into_response(),
    }
}

fn answer_single(body: &[u8]) -> serde_json::Result<Vec<u8>> {
    serde_json::to_vec(&add(&serde_json::from_slice(body)?)?)
}

fn answer_batch(body: &[u8]) -> serde_json::Result<Vec<u8>> {
    let calls: Vec<Call<'_>> = serde_json::from_slice(body)?;
    let replies: Vec<Reply> = calls.iter().map(add).collect::<Result<_, _>>()?;
    serde_json::to_vec(&replies)
}

fn add(call: &Call<'_>) -> serde_json::Result<Reply> {
    if call.jsonrpc != "2.0" || call.method != "add" {
        return Err(serde::de::Error::custom("only `add` of JSON-RPC 2.0 is supported"));
    }
    Ok(Reply { jsonrpc: "2.0", id: call.id, result: call.params.a + call.params.b })
}
