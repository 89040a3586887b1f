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

/// After so long, a client that was cut off comes again.
const RETRY: Duration = Duration::from_secs(1);

/// A stream of entries. It holds one event at a time: what a slow client has not read stays where it
/// is kept, or is lost, which the client is told.
pub(super) struct Live {
    history: History,
    subscription: Subscription,
    filter: Filter,
    keep_alive: Duration,
    closing: CancellationToken,
    ends: Instant,
    is_begun: bool,
    _place: OwnedSemaphorePermit,
}

impl Live {
    pub(super) fn new(
        history: &History,
        subscription: Subscription,
        filter: Filter,
        settings: &HistoryRoutesConfig,
        place: OwnedSemaphorePermit,
    ) -> Self {
        Self {
            history: history.clone(),
            subscription,
            filter,
            keep_alive: settings.keep_alive,
            closing: settings.closing.clone(),
            ends: Instant::now() + settings.lifetime,
            is_begun: false,
            _place: place,
        }
    }

    pub(super) fn into_response(self) -> Response<ReplyBody> {
        let events = unfold(self, |mut live| async move { Some((live.next().await?, live)) });
        // Its comments have ids.
        EventStream::new(events).keep_alive(Duration::MAX).into_response()
    }

    async fn next(&mut self) -> Option<Event> {
        if !self.is_begun {
            self.is_begun = true;
            // Who is cut off before the first entry comes goes on from here.
            return Some(Event::retry(RETRY).with_id(&self.mark()));
        }
        let (closing, ends) = (self.closing.clone(), self.ends);
        let event = tokio::select! {
            biased;
            () = closing.cancelled() => return None,
            () = sleep_until(ends) => return None,
            event = timeout(self.keep_alive, self.event()) => event,
        };
        Some(event.unwrap_or_else(|_| Event::comment("still here")).with_id(&self.mark()))
    }

    /// # Cancel safety
    /// Nothing is lost when the future is dropped.
    async fn event(&mut self) -> Event {
        loop {
            match self.subscription.next().await {
                Update::Entry(entry) if self.filter.fits(&entry) => return json("entry", &*entry),
                Update::Entry(_) => {}
                Update::Lost(count) => return json("lost", &json!({ "count": count })),
            }
            // Entries that fit nobody must not keep others waiting.
            tokio::task::consume_budget().await;
        }
    }

    fn mark(&self) -> String {
        self.history.mark(self.subscription.read())
    }
}

fn json(name: &str, value: &impl Serialize) -> Event {
    Event::json(name, value).expect("the parts of an entry, and counts, are JSON")
}
