//! The state that nodes share, in a file. `cargo xtask nodes` tests it in PostgreSQL, through servers.

use std::collections::BTreeSet;
use std::time::Duration;

use trunkline_mcp::LogLevel;
use trunkline_mcp::nodes::{
    EventContent, MESSAGE_PAGE, Nodes, SessionChange, SessionRecord, StoredNodes, StreamEvent,
};

const IDLE: Duration = Duration::from_secs(60);

fn record() -> SessionRecord {
    record_of("ada")
}

fn record_of(caller: &str) -> SessionRecord {
    SessionRecord {
        owner: Some(caller.to_owned()),
        caller: caller.to_owned(),
        version: Some("2025-11-25".to_owned()),
        capabilities: "{}".to_owned(),
        client: Some(["t", "1"].map(text)),
        level: LogLevel::Info,
        resources: BTreeSet::new(),
        since: 0,
        is_ended: false,
    }
}

fn text(text: &str) -> String {
    text.to_owned()
}

/// Callers add sessions, by their letters. `expected` has the callers of those that remain.
#[track_caller]
fn check_shares(
    max: usize,
    added: &'static str,
    expected: &'static str,
) -> impl Future<Output = ()> {
    let place = std::panic::Location::caller();
    async move {
        let folder = tempfile::tempdir().unwrap();
        let nodes = StoredNodes::open(folder.path(), IDLE).unwrap();
        let mut ids = Vec::new();
        for (number, caller) in added.chars().enumerate() {
            let id = format!("{caller}{number}");
            let record = record_of(&caller.to_string());
            assert!(nodes.create_session(id.clone(), record, max).await.unwrap(), "{place}");
            ids.push(id);
        }
        let kept = nodes.keep_sessions(ids).await.unwrap();
        let mut kept: Vec<char> = kept.iter().filter_map(|id| id.chars().next()).collect();
        kept.sort_unstable();
        assert_eq!(kept.into_iter().collect::<String>(), expected, "{place}");
    }
}

#[tokio::test]
async fn callers_have_shares() {
    check_shares(3, "abbbbbbbbb", "abb").await;
    check_shares(3, "aabbbbbbbb", "aab").await;
    check_shares(4, "aabbbbbbbb", "aabb").await;
    check_shares(3, "aaabc", "abc").await;
    check_shares(2, "abccc", "bc").await;
}

#[tokio::test]
async fn nodes_have_the_same_sessions_and_secrets() {
    let folder = tempfile::tempdir().unwrap();
    let [a, b] = [(); 2].map(|()| StoredNodes::open(folder.path(), IDLE).unwrap());
    assert_eq!(a.secret("one").await.unwrap(), b.secret("one").await.unwrap());
    assert_ne!(a.secret("one").await.unwrap(), b.secret("two").await.unwrap());

    a.publish(text("before")).await.unwrap();
    assert!(a.create_session(text("s"), record(), 1).await.unwrap());
    let found = b.find_session(text("s")).await.unwrap().unwrap();
    assert_eq!((found.owner, found.since), (Some(text("ada")), 1));
    assert_eq!(found.client, Some(["t", "1"].map(text)));
    let changes = [
        SessionChange::Level(LogLevel::Error),
        SessionChange::Subscribe(text("r://a")),
        SessionChange::Subscribe(text("r://b")),
        SessionChange::Unsubscribe(text("r://a")),
    ];
    for change in changes {
        b.change_session(text("s"), change.clone()).await.unwrap();
        b.change_session(text("unknown"), change).await.unwrap();
    }
    let found = a.find_session(text("s")).await.unwrap().unwrap();
    assert_eq!((found.level, found.resources), (LogLevel::Error, BTreeSet::from([text("r://b")])));
    // The client has sent a message, so the session is in use.
    assert!(!b.create_session(text("t"), record(), 1).await.unwrap());
    assert!(b.create_session(text("t"), record(), 2).await.unwrap());
    // The client of the other one has not.
    assert!(b.create_session(text("u"), record(), 2).await.unwrap());
    let ids = ["s", "t", "u"].map(text).to_vec();
    assert_eq!(a.keep_sessions(ids).await.unwrap(), ["s", "u"]);
    a.end_session(text("s")).await.unwrap();
    assert!(b.find_session(text("s")).await.unwrap().is_none());

    let expired = StoredNodes::open(folder.path(), Duration::ZERO).unwrap();
    assert!(expired.find_session(text("u")).await.unwrap().is_none());
}

#[tokio::test]
async fn messages_are_read_in_their_order() {
    let folder = tempfile::tempdir().unwrap();
    let nodes = StoredNodes::open(folder.path(), IDLE).unwrap();
    assert_eq!(nodes.position(0).await.unwrap(), (0, true));
    let count = MESSAGE_PAGE + 1;
    let sent = (0..count).map(|number| nodes.publish(number.to_string()));
    futures_util::future::try_join_all(sent).await.unwrap();
    let (last, is_complete) = nodes.position(0).await.unwrap();
    assert_eq!((last, is_complete), (count as u64, true));
    let mut found: Vec<u64> = Vec::new();
    while let Some((position, _)) = nodes.messages(found.len() as u64).await.unwrap().last() {
        let page = nodes.messages(found.len() as u64).await.unwrap();
        assert!(page.iter().map(|(number, _)| *number).is_sorted());
        found.extend(page.iter().map(|(_, text)| text.parse::<u64>().unwrap()));
        assert_eq!(*position, found.len() as u64);
    }
    found.sort_unstable();
    assert_eq!(found, (0..count as u64).collect::<Vec<_>>());
    // The position of another log.
    assert!(!nodes.position(5_000).await.unwrap().1);
}

#[tokio::test]
async fn events_of_streams_have_a_maximum_size() {
    let folder = tempfile::tempdir().unwrap();
    let nodes = StoredNodes::open(folder.path(), IDLE).unwrap();
    let event = |number, content| StreamEvent { number, content };
    let message = |number, size| event(number, EventContent::Message("x".repeat(size)));
    let add = |session, stream, events| nodes.add_events(text(session), stream, events, 100);
    // A session that has ended has no events.
    add("s", 1, vec![message(0, 1)]).await.unwrap();
    assert_eq!(nodes.events(text("s"), 1, 0).await.unwrap(), None);

    assert!(nodes.create_session(text("s"), record(), 9).await.unwrap());
    add("s", 1, vec![message(0, 30), event(1, EventContent::Close)]).await.unwrap();
    add("s", 1, vec![message(2, 40), event(3, EventContent::End)]).await.unwrap();
    let rest = vec![event(1, EventContent::Close), message(2, 40), event(3, EventContent::End)];
    assert_eq!(nodes.events(text("s"), 1, 1).await.unwrap(), Some(rest));
    assert_eq!(nodes.events(text("s"), 1, 4).await.unwrap(), Some(Vec::new()));
    assert_eq!(nodes.events(text("s"), 2, 0).await.unwrap(), None);
    // The oldest events are removed.
    add("s", 2, vec![message(0, 60)]).await.unwrap();
    assert_eq!(nodes.events(text("s"), 2, 0).await.unwrap(), Some(vec![message(0, 60)]));
    let left = nodes.events(text("s"), 1, 0).await.unwrap().unwrap();
    let [close, end] = [event(1, EventContent::Close), event(3, EventContent::End)];
    assert_eq!(left, [close, message(2, 40), end]);
    nodes.end_session(text("s")).await.unwrap();
    assert_eq!(nodes.events(text("s"), 2, 0).await.unwrap(), None);
}
