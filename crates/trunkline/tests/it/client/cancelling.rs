//! Dropping the future of a call cancels it on the server.

use std::time::Duration;

use trunkline::client::{Client, Http};
use trunkline::server;

use crate::support::{Gate, in_time, on_loopback, serve_with, until};

#[tokio::test]
async fn dropping_a_call_cancels_it_on_the_server() {
    let gate = Gate::new();
    let rpc = gate.router().build().unwrap();
    let server = serve_with(rpc.http_with(on_loopback()), server::ServerConfig::default()).await;
    let client = Client::new(Http::connect(&format!("http://{}", server.local_addr())).unwrap());
    assert_eq!(client.call::<String>("ping", ()).await.unwrap(), "pong");

    let call = tokio::spawn(client.call::<()>("work", ()).into_future());
    until("the call to run", || gate.entered() == 1).await;
    assert_eq!(gate.cancelled(), 0);
    call.abort();
    until("the call to be cancelled", || gate.cancelled() == 1).await;

    let mut batch = client.batch();
    let _ = ["work", "work", "block"].map(|method| batch.add(client.call::<()>(method, ())));
    let batch = tokio::spawn(batch.send());
    until("the batch to run", || gate.entered() == 4).await;
    batch.abort();
    until("the batch to be cancelled", || gate.cancelled() == 4).await;

    let call = client.call::<()>("block", ()).timeout(Duration::from_millis(100));
    let error = in_time("the timeout", call.into_future()).await.unwrap_err();
    assert!(error.is_timeout(), "{error:?}");
    until("the late call to be cancelled", || gate.cancelled() == 5).await;

    until("no request to be left", || server.status().in_flight == 0).await;
    assert_eq!(client.call::<String>("ping", ()).await.unwrap(), "pong");
}
