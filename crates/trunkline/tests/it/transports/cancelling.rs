//! Cancellations are not delayed by calls.

use std::time::Duration;

use futures_util::FutureExt;
use futures_util::future::join_all;
use serde_json::{Value, json};
use tokio::io::{AsyncBufReadExt, BufReader, DuplexStream, Lines, ReadHalf, WriteHalf, duplex};
use trunkline::client::{Channel, Client, channel};
use trunkline::stream;

use super::service::CallCounts;
use crate::support::in_time;

type Received = Lines<BufReader<ReadHalf<DuplexStream>>>;

/// A client and the messages that it sends.
fn client(in_flight: usize, buffer: usize) -> (Client, Received, WriteHalf<DuplexStream>) {
    let (ours, theirs) = duplex(buffer);
    let settings = channel::ChannelConfig { in_flight, ..Default::default() };
    let (input, output) = tokio::io::split(theirs);
    (Client::new(Channel::with_config(ours, settings)), BufReader::new(input).lines(), output)
}

async fn receive(lines: &mut Received) -> Value {
    let line = in_time("a message", lines.next_line()).await.unwrap().unwrap();
    serde_json::from_str(&line).unwrap()
}

/// The cancellation of a call is sent before the call that takes its slot.
#[tokio::test]
async fn sends_cancellations_before_waiting_calls() {
    let (client, mut lines, _output) = client(2, 64 << 10);
    let call = |method: &str| Box::pin(client.call::<()>(method, ()).into_future());
    let (mut first, mut second, mut third) = (call("a"), call("b"), call("c"));
    for calling in [&mut first, &mut second, &mut third] {
        assert!(calling.now_or_never().is_none());
    }
    for method in ["a", "b"] {
        assert_eq!(receive(&mut lines).await["method"], method);
    }
    drop(first);
    assert!((&mut third).now_or_never().is_none());
    for method in ["$/cancelRequest", "c"] {
        assert_eq!(receive(&mut lines).await["method"], method);
    }
}

/// If client and server have the same limit of concurrent calls, the server is never full of cancelled calls.
#[tokio::test]
async fn cancelled_calls_release_their_slots() {
    let (ours, theirs) = duplex(64 << 10);
    let rpc = CallCounts::new().router().build().unwrap();
    let settings = stream::StreamConfig { in_flight: 4, ..Default::default() };
    let serving = tokio::spawn(async move { stream::serve(&rpc, theirs, settings).await });
    let settings = channel::ChannelConfig { in_flight: 4, ..Default::default() };
    let client = Client::new(Channel::with_config(ours, settings));
    let rounds = async {
        for round in 0..50 {
            let mut hanging: Vec<_> =
                (0..4).map(|_| Box::pin(client.call::<()>("work", ()).into_future())).collect();
            assert!(hanging.iter_mut().all(|call| call.now_or_never().is_none()));
            let mut waiting: Vec<_> = (0..4)
                .map(|_| Box::pin(client.call::<Value>("echo", [round]).into_future()))
                .collect();
            assert!(waiting.iter_mut().all(|call| call.now_or_never().is_none()));
            tokio::task::yield_now().await;
            drop(hanging);
            for echoed in join_all(waiting).await {
                assert_eq!(echoed.unwrap(), json!([round]));
            }
        }
    };
    in_time("all rounds", rounds).await;
    drop(client);
    in_time("the end", serving).await.unwrap().unwrap();
}

/// All calls of a batch are cancelled, however many there are.
#[tokio::test]
async fn cancels_all_calls_of_a_large_batch() {
    const CALLS: usize = 1_500;
    let (client, mut lines, _output) = client(2, 1 << 20);
    let mut batch = client.batch();
    let _slots: Vec<_> = (0..CALLS).map(|_| batch.add(client.call::<()>("work", ()))).collect();
    let mut sending = Box::pin(batch.send());
    assert!((&mut sending).now_or_never().is_none());
    let sent = receive(&mut lines).await;
    drop(sending);
    for call in sent.as_array().unwrap() {
        let cancel = receive(&mut lines).await;
        assert_eq!(cancel["method"], "$/cancelRequest");
        assert_eq!(cancel["params"]["id"], call["id"]);
    }
}

/// A call that is dropped before it is sent is not sent.
#[tokio::test(start_paused = true)]
async fn does_not_send_dropped_calls() {
    // The stream buffers only the beginning of the first call.
    let (client, mut lines, _output) = client(8, 64);
    let long = "x".repeat(1_000);
    let mut first = Box::pin(client.call::<()>("first", [&long]).into_future());
    assert!((&mut first).now_or_never().is_none());
    tokio::time::sleep(Duration::from_millis(1)).await;
    let mut dropped = Box::pin(client.call::<()>("dropped", ()).into_future());
    assert!((&mut dropped).now_or_never().is_none());
    drop(dropped);
    let mut last = Box::pin(client.call::<()>("last", ()).into_future());
    assert!((&mut last).now_or_never().is_none());
    for method in ["first", "last"] {
        assert_eq!(receive(&mut lines).await["method"], method);
    }
}
