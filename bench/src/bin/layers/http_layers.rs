//! HTTP requests without a socket, with and without optional settings.

use anyhow::Result;
use bytes::Bytes;
use http_body_util::{BodyExt, Full};
use hyper::Request;
use hyper::header::{CONTENT_TYPE, HOST};
use trunkline::http::{HttpConfig, HttpService, security_headers};
use trunkline_bench::{body, trunkline_rpc};

use crate::turn::{Subject, Turn, measure};

pub(crate) fn subjects() -> Result<Vec<Subject>> {
    let rpc = trunkline_rpc()?;
    let subject = |what, config| {
        let turn = turn(rpc.http_with(config));
        Subject { group: "around HTTP requests, no socket", what, turn }
    };
    let config = HttpConfig::default;
    Ok(vec![
        subject("rpc.http()", config()),
        subject("security headers", HttpConfig { headers: security_headers(), ..config() }),
        subject("request ids", HttpConfig { request_ids: true, ..config() }),
    ])
}

fn turn(service: HttpService) -> Turn {
    Box::new(move || {
        let service = service.clone();
        Box::pin(async move { measure(async || post(&service).await).await })
    })
}

async fn post(service: &HttpService) -> Result<Vec<u8>> {
    let request = Request::post("/")
        .header(HOST, "localhost")
        .header(CONTENT_TYPE, "application/json")
        .body(Full::new(Bytes::from_static(body::SINGLE.as_bytes())))?;
    let response = service.handle(request).await;
    Ok(response.into_body().collect().await?.to_bytes().into())
}
