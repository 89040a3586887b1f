//! The stream of notifications outside requests: `subscriptions/listen`, or GET before 2026-07-28.

use std::sync::Arc;
use std::sync::atomic::Ordering;
use std::time::Duration;

use serde_json::{Map, Value, json};
use tokio::task::{AbortHandle, JoinSet};
use tokio::time::{Instant, sleep, timeout};

use super::config::McpClientConfig;
use super::core::{Core, Opened, Wanted};
use super::error::Error;
use super::handler::Change;
use super::inbox::Honoured;
use super::link::Link;
use super::message::Params;
use super::request::Outgoing;
use super::session::Session;
use super::session_loss::{SessionLoss, session_loss};
use crate::protocol::method;

/// The first and the longest pause before the stream is opened again.
const PAUSES: (Duration, Duration) = (Duration::from_secs(1), Duration::from_secs(60));
/// The shortest pause, whatever the server names.
const MIN_PAUSE: Duration = Duration::from_millis(50);
/// A stream that was open for this time is opened again after the first pause.
const STABLE: Duration = Duration::from_secs(30);

/// Keeps the stream open in a task, if the client has not started one.
pub(super) fn start(core: &Arc<Core>) {
    if !core.is_listening.swap(true, Ordering::Relaxed) {
        core.inbox().tasks.spawn(run(Arc::clone(core)));
    }
}

/// Whether a stream is needed.
pub(super) fn is_needed(core: &Core) -> bool {
    let features = core.inbox().config.handler.features();
    let has_resources = !core.wanted.borrow().resources.is_empty();
    match (&core.connection.link, &*core.session.borrow()) {
        (_, Session::Modern) => features.list_changes || has_resources,
        // The server sends its messages on the channel.
        (Link::Channel(_), Session::Legacy { .. }) => false,
        // A server may send requests on this stream.
        (Link::Http(_), Session::Legacy { .. }) => {
            features.list_changes || has_resources || features.has_requests()
        }
    }
}

/// Waits until a stream for this version of the wanted resources is open, or the server has refused it.
pub(super) async fn opened(core: &Core, version: u64, limit: Duration) -> Option<Opened> {
    let mut opened = core.opened.subscribe();
    let is_open = |opened: &Opened| opened.version.is_some_and(|open| open >= version);
    let opened = timeout(limit, opened.wait_for(is_open)).await.ok()?.ok()?;
    Some(opened.clone())
}

/// Replaces the stream when the session or the wanted resources change. The previous stream ends when the next is open.
async fn run(core: Arc<Core>) {
    let mut session_changes = core.session.subscribe();
    let mut wanted_changes = core.wanted.subscribe();
    let mut streams = JoinSet::new();
    let mut current: Option<AbortHandle> = None;
    loop {
        let session = session_changes.borrow_and_update().clone();
        let wanted = wanted_changes.borrow_and_update().clone();
        let previous = current.take();
        if is_needed(&core) {
            let version = wanted.version;
            let limit = core.inbox().config.timeout;
            current = Some(streams.spawn(keep_open(Arc::clone(&core), session.clone(), wanted)));
            if previous.is_some() {
                opened(&core, version, limit).await;
            }
        }
        if let Some(previous) = previous {
            previous.abort();
        }
        let is_changed = tokio::select! {
            changed = session_changes.changed() => changed.is_ok(),
            // In the legacy era, the stream is for all resources.
            changed = wanted_changes.changed(), if session.is_modern() || current.is_none() => {
                changed.is_ok()
            }
        };
        if !is_changed {
            return;
        }
        while streams.try_join_next().is_some() {}
    }
}

/// Why a stream has ended.
enum End {
    /// The server does not support it.
    Refused,
    /// It may be opened again, after the time that the server has named.
    Closed(Option<Duration>),
}

/// Opens the stream again whenever it ends.
async fn keep_open(core: Arc<Core>, session: Session, wanted: Wanted) {
    let mut pause = PAUSES.0;
    let mut last_event_id = None;
    let mut is_first = true;
    loop {
        let begin = Instant::now();
        let end = match (&core.connection.link, &session) {
            (_, Session::Modern) => listen(&core, &session, &wanted, is_first).await,
            (Link::Http(_), Session::Legacy { .. }) => {
                get(&core, &session, &wanted, &mut last_event_id).await
            }
            (Link::Channel(_), Session::Legacy { .. }) => End::Refused,
        };
        is_first = false;
        if begin.elapsed() > STABLE {
            pause = PAUSES.0;
        }
        let has_ended =
            matches!(&core.connection.link, Link::Channel(channel) if channel.has_ended());
        match end {
            _ if has_ended => return,
            End::Refused => {
                let opened = Opened { version: Some(wanted.version), resources: Vec::new() };
                core.opened.send_replace(opened);
                return;
            }
            End::Closed(Some(retry)) => sleep(retry.clamp(MIN_PAUSE, PAUSES.1)).await,
            End::Closed(None) => {
                sleep(pause).await;
                pause = (pause * 2).min(PAUSES.1);
            }
        }
    }
}

/// Keeps a subscription open until it ends.
async fn listen(core: &Core, session: &Session, wanted: &Wanted, is_first: bool) -> End {
    let filter = filter(&core.inbox().config, wanted);
    let ended = subscribe(core, session, filter, |honoured| {
        let resources = honoured.resource_subscriptions;
        core.opened.send_replace(Opened { version: Some(wanted.version), resources });
        if !is_first {
            // Notifications may have been missed.
            report_all(core, wanted);
        }
    });
    end_of(ended.await)
}

/// Sends `subscriptions/listen`, and waits for its end. `opened` gets the part that the server has accepted.
pub(super) async fn subscribe(
    core: &Core,
    session: &Session,
    notifications: Value,
    opened: impl FnOnce(Honoured),
) -> Result<(), Error> {
    let config = &core.inbox().config;
    let id = core.connection.next_id();
    let mut params = Params { notifications: Some(notifications), ..Params::default() };
    session.complete(&mut params, config, config.handler.features(), None);
    let request = Outgoing::new(id, method::LISTEN, &params);
    let request = Outgoing { is_open_ended: true, ..request };
    let acknowledged = core.inbox().acknowledgement(id);
    let stream = core.connection.link.request(session, &request);
    let mut stream = std::pin::pin!(stream);
    let honoured = tokio::select! {
        biased;
        honoured = timeout(config.timeout, acknowledged) => honoured,
        ended = &mut stream => return ended.map(drop),
    };
    let Ok(Ok(honoured)) = honoured else {
        return Err(core.connection.link.timed_out(config.timeout).into());
    };
    opened(honoured);
    stream.await.map(drop)
}

fn filter(config: &McpClientConfig, wanted: &Wanted) -> Value {
    let mut filter = Map::new();
    if config.handler.features().list_changes {
        for kind in ["toolsListChanged", "promptsListChanged", "resourcesListChanged"] {
            filter.insert(kind.to_owned(), true.into());
        }
    }
    if !wanted.resources.is_empty() {
        filter.insert("resourceSubscriptions".to_owned(), json!(wanted.resources));
    }
    filter.into()
}

fn report_all(core: &Core, wanted: &Wanted) {
    let config = &core.inbox().config;
    let mut changes = Vec::new();
    if config.handler.features().list_changes {
        changes.extend([Change::Tools, Change::Resources, Change::Prompts]);
    }
    changes.extend(wanted.resources.iter().cloned().map(Change::Resource));
    for change in changes {
        core.inbox().change(change);
    }
}

/// Opens a stream with GET, and handles its messages until it ends.
async fn get(
    core: &Arc<Core>,
    session: &Session,
    wanted: &Wanted,
    last_event_id: &mut Option<String>,
) -> End {
    let Link::Http(link) = &core.connection.link else { return End::Refused };
    let opening = link.endpoint.get(session.headers(), last_event_id.as_deref());
    let mut stream = match timeout(core.inbox().config.timeout, opening).await {
        Ok(Ok(stream)) => stream,
        Ok(Err(error)) => {
            if session_loss(session, &error) == SessionLoss::Certain
                && let Err(error) = core.reopen(session).await
            {
                tracing::warn!(%error, "cannot open another session");
                // The server may not be ready yet.
                return End::Closed(None);
            }
            return end_of(Err(error));
        }
        Err(_) => return End::Closed(None),
    };
    let resources = wanted.resources.iter().cloned().collect();
    core.opened.send_replace(Opened { version: Some(wanted.version), resources });
    loop {
        let message = stream.next_message().await;
        *last_event_id = stream.last_event_id().map(str::to_owned).or(last_event_id.take());
        match message {
            Ok(Some(message)) => match link.receive(session, &message, None) {
                Ok(None) => {}
                Ok(Some(_)) => {
                    tracing::debug!("ignoring a response on the stream of notifications");
                }
                Err(error) => tracing::debug!(%error, "ignoring an invalid message"),
            },
            Ok(None) | Err(_) => return End::Closed(stream.retry()),
        }
    }
}

fn end_of(ended: Result<(), Error>) -> End {
    match ended {
        Ok(()) => End::Closed(None),
        Err(error) => {
            tracing::debug!(%error, "the stream of notifications has ended");
            if error.is_temporary() { End::Closed(None) } else { End::Refused }
        }
    }
}

/// Changes the wanted resources. Returns their new version.
pub(super) fn want(core: &Core, change: impl FnOnce(&mut Wanted)) -> u64 {
    let mut version = 0;
    core.wanted.send_modify(|wanted| {
        change(wanted);
        wanted.version += 1;
        version = wanted.version;
    });
    version
}

/// Receives the end of a client's channel.
pub(super) async fn closed(core: &Core) {
    match &core.connection.link {
        Link::Channel(channel) => channel.ended().await,
        Link::Http(_) => core.inbox().tasks.closing().cancelled().await,
    }
}
