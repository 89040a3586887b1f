//! `GET /history/stream`: new entries, and reconnecting clients.

use std::time::Duration;

use http::{HeaderMap, HeaderValue};
use trunkline::client::Http;
use trunkline::client::http::Reply;
use trunkline::history::endpoint::HistoryRoutesConfig;
use trunkline::history::{History, HistoryConfig};
use trunkline::server::ServerHandle;
use trunkline::{CancellationToken, Rpc};

use super::endpoint::served;
use super::{handle, recorded, request};
use crate::support::{in_time, until};

/// The name, id and data of an event. Comments have no name.
#[derive(Debug, Clone, Default, PartialEq)]
struct Event {
    name: String,
    id: String,
    data: String,
}

struct Stream {
    reply: Reply,
    text: String,
}

impl Stream {
    async fn open(server: &ServerHandle, query: &str, last: Option<&str>) -> Self {
        let reply = ask(server, query, last).await;
        assert_eq!((reply.status.as_u16(), &*reply.media_type()), (200, "text/event-stream"));
        Self { reply, text: String::new() }
    }

    /// Opens a stream and reads the first event.
    async fn start(server: &ServerHandle, query: &str, last: Option<&str>) -> Self {
        let mut stream = Self::open(server, query, last).await;
        let first = stream.next().await.unwrap();
        assert_eq!((&*first.name, &*first.data), ("", ""), "{first:?}");
        assert!(!first.id.is_empty());
        stream
    }

    async fn next(&mut self) -> Option<Event> {
        while !self.text.contains("\n\n") {
            let chunk = in_time("an event", self.reply.chunk()).await.unwrap()?;
            self.text += std::str::from_utf8(&chunk).unwrap();
        }
        let (event, rest) = self.text.split_once("\n\n").unwrap();
        let mut found = Event::default();
        for (field, value) in event.lines().filter_map(|line| line.split_once(": ")) {
            match field {
                "event" => value.clone_into(&mut found.name),
                "id" => value.clone_into(&mut found.id),
                "data" => value.clone_into(&mut found.data),
                _ => {}
            }
        }
        self.text = rest.to_owned();
        Some(found)
    }

    /// The sequence number of the next entry, or the number of lost ones.
    async fn number(&mut self) -> Result<u64, u64> {
        let event = self.next().await.unwrap();
        let data: serde_json::Value = serde_json::from_str(&event.data).unwrap();
        match &*event.name {
            "entry" => Ok(data["sequence"].as_u64().unwrap()),
            "lost" => Err(data["count"].as_u64().unwrap()),
            _ => panic!("{event:?}"),
        }
    }
}

async fn ask(server: &ServerHandle, query: &str, last: Option<&str>) -> Reply {
    let url = format!("http://{}/history/stream?{query}", server.local_addr());
    let mut headers = HeaderMap::new();
    if let Some(last) = last {
        headers.insert("last-event-id", HeaderValue::from_str(last).unwrap());
    }
    in_time("a reply", Http::connect(&url).unwrap().get(headers)).await.unwrap()
}

async fn calls(rpc: &Rpc, ids: std::ops::RangeInclusive<u64>) {
    for id in ids {
        handle(rpc, request("echo", id)).await;
    }
}

async fn live(
    history: HistoryConfig,
    settings: HistoryRoutesConfig,
) -> (ServerHandle, Rpc, History) {
    let (rpc, history) = recorded(history);
    (served(&rpc, &history, settings).await, rpc, history)
}

#[tokio::test]
async fn streams_new_entries() {
    let (server, rpc, history) =
        live(HistoryConfig::default(), HistoryRoutesConfig::default()).await;
    calls(&rpc, 1..=2).await;
    let mut all = Stream::start(&server, "", None).await;
    let mut errors = Stream::start(&server, "status=error", None).await;
    let mut last_ones = Stream::start(&server, "limit=1", None).await;
    calls(&rpc, 3..=3).await;
    let password = r#"{"jsonrpc":"2.0","method":"login","params":{"password":"hunter2"},"id":1}"#;
    handle(&rpc, password).await;

    assert_eq!((all.number().await, all.number().await), (Ok(3), Ok(4)));
    assert_eq!((last_ones.number().await, last_ones.number().await), (Ok(2), Ok(3)));
    let event = errors.next().await.unwrap();
    assert!(event.data.contains("[redacted]") && !event.data.contains("hunter2"), "{event:?}");
    let entry: serde_json::Value = serde_json::from_str(&event.data).unwrap();
    let newest = &history.entries(&Default::default()).entries[0];
    assert_eq!(entry, serde_json::to_value(&**newest).unwrap());
    assert_eq!(newest.sequence, 4, "streams are not recorded");
    drop((all, errors, last_ones));
    in_time("the end of the server", server.stop()).await;
}

#[tokio::test]
async fn continues_after_a_reconnect() {
    let config = || HistoryConfig { entries: 4, ..HistoryConfig::default() };
    let (server, rpc, _) = live(config(), HistoryRoutesConfig::default()).await;
    let mut stream = Stream::open(&server, "", None).await;
    let first = stream.next().await.unwrap().id;
    drop(stream);
    calls(&rpc, 1..=3).await;
    // From the first entry, since none was read before.
    let mut stream = Stream::start(&server, "", Some(&first)).await;
    assert_eq!(stream.number().await, Ok(1));
    let second = stream.next().await.unwrap();
    let mut stream = Stream::start(&server, "limit=3", Some(&second.id)).await;
    assert_eq!(stream.number().await, Ok(3), "the id overrides the limit");
    // One entry was removed before it was read.
    calls(&rpc, 4..=7).await;
    let mut stream = Stream::start(&server, "", Some(&second.id)).await;
    assert_eq!((stream.number().await, stream.number().await), (Err(1), Ok(4)));

    let (other, rpc, _) = live(config(), HistoryRoutesConfig::default()).await;
    calls(&rpc, 1..=3).await;
    let mut stream = Stream::start(&other, "", Some(&second.id)).await;
    assert_eq!(stream.number().await, Ok(1), "no entry of the other history was read");

    for wrong in ["x", "-", "1", "x-1", "1-x", "1-1-1"] {
        let reply = ask(&server, "", Some(wrong)).await;
        assert_eq!(reply.status, 400, "{wrong}");
    }
    assert_eq!(ask(&server, "before=1", None).await.status, 400);
    assert_eq!(ask(&server, "nothing=1", None).await.status, 400);
}

#[tokio::test]
async fn sends_comments_on_a_silent_stream() {
    let keep_alive = Duration::from_millis(5);
    let settings = HistoryRoutesConfig { keep_alive, ..HistoryRoutesConfig::default() };
    let (server, rpc, _) = live(HistoryConfig::default(), settings).await;
    let mut stream = Stream::start(&server, "status=error", None).await;
    calls(&rpc, 1..=3).await;
    let far = loop {
        let event = stream.next().await.unwrap();
        assert_eq!((&*event.name, &*event.data), ("", ""), "{event:?}");
        if event.id.ends_with("-3") {
            break event.id;
        }
    };
    calls(&rpc, 4..=4).await;
    let mut stream = Stream::start(&server, "", Some(&far)).await;
    loop {
        let event = stream.next().await.unwrap();
        if event.name == "entry" {
            assert!(event.id.ends_with("-4"), "{event:?}");
            break;
        }
    }
}

#[tokio::test]
async fn streams_end_when_the_server_stops() {
    let closing = CancellationToken::new();
    let settings =
        HistoryRoutesConfig { closing: closing.clone(), ..HistoryRoutesConfig::default() };
    let (server, rpc, _) = live(HistoryConfig::default(), settings).await;
    let mut stream = Stream::start(&server, "", None).await;
    calls(&rpc, 1..=1).await;
    assert_eq!(stream.number().await, Ok(1));
    closing.cancel();
    assert_eq!(stream.next().await, None);
    assert_eq!(ask(&server, "", None).await.status, 503);
    let drained = in_time("the end of the server", server.stop()).await;
    assert!(drained.is_complete(), "{drained:?}");
}

#[tokio::test]
async fn streams_end_after_their_lifetime() {
    let lifetime = Duration::from_millis(20);
    let settings = HistoryRoutesConfig { lifetime, ..HistoryRoutesConfig::default() };
    let (server, _rpc, _) = live(HistoryConfig::default(), settings).await;
    let mut stream = Stream::start(&server, "", None).await;
    assert_eq!(stream.next().await, None);
}

#[tokio::test]
async fn limits_the_number_of_streams() {
    let settings = HistoryRoutesConfig { streams: 2, ..HistoryRoutesConfig::default() };
    let (server, _rpc, _) = live(HistoryConfig::default(), settings).await;
    let first = Stream::start(&server, "", None).await;
    let _second = Stream::start(&server, "", None).await;
    assert_eq!(ask(&server, "", None).await.status, 503);
    drop(first);
    // The server must first detect the closed connection.
    let mut status = 503;
    in_time("a free stream", async {
        while status != 200 {
            status = ask(&server, "", None).await.status.as_u16();
        }
    })
    .await;
}

/// A client that does not read delays no calls and uses no memory: it loses the entries that are removed.
#[tokio::test]
async fn a_slow_client_receives_the_number_of_lost_entries() {
    let (server, rpc, history) = live(
        HistoryConfig { entries: 8, ..HistoryConfig::default() },
        HistoryRoutesConfig::default(),
    )
    .await;
    let mut stream = Stream::start(&server, "", None).await;
    const CALLS: u64 = 5_000;
    let params = "x".repeat(4_000);
    for id in 1..=CALLS {
        let call =
            serde_json::json!({ "jsonrpc": "2.0", "method": "echo", "params": [params], "id": id });
        handle(&rpc, call.to_string()).await;
    }
    let newest = || history.entries(&Default::default()).entries[0].sequence;
    until("all calls", || newest() == CALLS).await;
    let (mut read, mut lost) = (0, 0);
    while read + lost < CALLS {
        match stream.number().await {
            Ok(number) => {
                read += 1;
                assert_eq!(number, read + lost, "in order, without duplicates");
            }
            Err(count) => lost += count,
        }
    }
    assert!(lost > 0 && read > 0, "{read} read, {lost} lost");
}
