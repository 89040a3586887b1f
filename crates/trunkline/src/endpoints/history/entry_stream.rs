use std::time::Duration;

use futures_util::stream::unfold;
use http::Response;
use serde::Serialize;
use serde_json::json;
use tokio::sync::OwnedSemaphorePermit;
use tokio::time::{Instant, sleep_until, timeout};
use tokio_util::sync::CancellationToken;
use trunkline_history::{Filter, History, Subscription, Update};
use trunkline_server::http::{Event, EventStream, ReplyBody};

use super::config::HistoryRoutesConfig;

/// The time after which a disconnected client reconnects.
const RETRY: Duration = Duration::from_secs(1);

/// A stream of entries. It holds one event at a time: entries that a slow client has not read stay in the history, and
/// if they are removed there, the client receives the event `lost`.
pub(super) struct EntryStream {
    history: History,
    subscription: Subscription,
    filter: Filter,
    keep_alive: Duration,
    closing: CancellationToken,
    ends: Instant,
    has_begun: bool,
    _permit: OwnedSemaphorePermit,
}

impl EntryStream {
    pub(super) fn new(
        history: &History,
        subscription: Subscription,
        filter: Filter,
        config: &HistoryRoutesConfig,
        permit: OwnedSemaphorePermit,
    ) -> Self {
        Self {
            history: history.clone(),
            subscription,
            filter,
            keep_alive: config.keep_alive,
            closing: config.closing.clone(),
            ends: Instant::now() + config.lifetime,
            has_begun: false,
            _permit: permit,
        }
    }

    pub(super) fn into_response(self) -> Response<ReplyBody> {
        let events = unfold(self, |mut stream| async move { Some((stream.next().await?, stream)) });
        // The comments of this stream have ids, so it sends them itself.
        EventStream::new(events).keep_alive(Duration::MAX).into_response()
    }

    async fn next(&mut self) -> Option<Event> {
        if !self.has_begun {
            self.has_begun = true;
            // A client that is disconnected before the first entry continues from here.
            return Some(Event::retry(RETRY).with_id(&self.cursor()));
        }
        let (closing, ends) = (self.closing.clone(), self.ends);
        let event = tokio::select! {
            biased;
            () = closing.cancelled() => return None,
            () = sleep_until(ends) => return None,
            event = timeout(self.keep_alive, self.event()) => event,
        };
        Some(event.unwrap_or_else(|_| Event::comment("still here")).with_id(&self.cursor()))
    }

    /// # Cancel safety
    /// No entry is lost when the future is dropped.
    async fn event(&mut self) -> Event {
        loop {
            match self.subscription.next().await {
                Update::Entry(entry) if self.filter.matches(&entry) => {
                    return json("entry", &*entry);
                }
                Update::Entry(_) => {}
                Update::Lost(count) => return json("lost", &json!({ "count": count })),
            }
            // Entries that do not match must not block other tasks.
            tokio::task::consume_budget().await;
        }
    }

    fn cursor(&self) -> String {
        self.history.cursor(self.subscription.read())
    }
}

fn json(name: &str, value: &impl Serialize) -> Event {
    Event::json(name, value).expect("entries and counts serialise")
}
