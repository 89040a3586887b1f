//! The layers around HTTP requests.

use std::convert::Infallible;

use anyhow::Result;
use bytes::Bytes;
use http_body_util::{BodyExt, Full};
use hyper::header::{CONTENT_TYPE, HOST};
use hyper::{Request, Response};
use tower::{Layer, Service, ServiceExt};
use trunkline::http::ReplyBody;
use trunkline::layers::{RequestIdLayer, SecurityHeadersLayer};
use trunkline_bench::{body, trunkline_rpc};

use crate::turn::{Subject, Turn, measure};

pub(crate) fn subjects() -> Result<Vec<Subject>> {
    let http = trunkline_rpc()?.http();
    let security_headers = SecurityHeadersLayer::new().layer(http.clone());
    let request_id = RequestIdLayer::new().layer(http.clone());
    let subject = |what, turn| Subject { group: "around HTTP requests, no socket", what, turn };
    Ok(vec![
        subject("rpc.http()", turn(http)),
        subject("security_headers", turn(security_headers)),
        subject("request_id", turn(request_id)),
    ])
}

fn turn<S>(service: S) -> Turn
where
    S: Service<Request<Full<Bytes>>, Response = Response<ReplyBody>, Error = Infallible>,
    S: Clone + 'static,
{
    Box::new(move || {
        let service = service.clone();
        Box::pin(async move { measure(async || post(&service).await).await })
    })
}

async fn post<S>(service: &S) -> Result<Vec<u8>>
where
    S: Service<Request<Full<Bytes>>, Response = Response<ReplyBody>, Error = Infallible> + Clone,
{
    let request = Request::post("/")
        .header(HOST, "localhost")
        .header(CONTENT_TYPE, "application/json")
        .body(Full::new(Bytes::from_static(body::SINGLE.as_bytes())))?;
    let response = service.clone().oneshot(request).await?;
    Ok(response.into_body().collect().await?.to_bytes().into())
}
