//! The floor: hyper reads the body and sends a constant reply. No HTTP/1.1 server on hyper costs less.

use std::convert::Infallible;
use std::net::SocketAddr;

use anyhow::Result;
use bytes::Bytes;
use http_body_util::{BodyExt, Full};
use hyper::body::Incoming;
use hyper::header::{CONTENT_TYPE, HeaderValue};
use hyper::server::conn::http1;
use hyper::service::service_fn;
use hyper::{Request, Response};
use hyper_util::rt::TokioIo;
use tokio::net::TcpListener;
use trunkline_bench::{announce, body};

fn main() -> Result<()> {
    trunkline_bench::run(serve)
}

async fn serve(address: SocketAddr) -> Result<()> {
    let listener = TcpListener::bind(address).await?;
    announce(listener.local_addr()?);
    loop {
        let (stream, _) = listener.accept().await?;
        stream.set_nodelay(true)?;
        tokio::spawn(
            http1::Builder::new().serve_connection(TokioIo::new(stream), service_fn(reply)),
        );
    }
}

async fn reply(request: Request<Incoming>) -> Result<Response<Full<Bytes>>, Infallible> {
    let read = request.into_body().collect().await;
    let read = read.map(|body| body.to_bytes()).unwrap_or_default();
    let reply = if read.starts_with(b"[") { body::BATCH_REPLY } else { body::SINGLE_REPLY };
    let mut response = Response::new(Full::new(Bytes::from_static(reply.as_bytes())));
    let json = HeaderValue::from_static("application/json");
    response.headers_mut().insert(CONTENT_TYPE, json);
    Ok(response)
}
