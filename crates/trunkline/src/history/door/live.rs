use std::convert::Infallible;
use std::sync::Arc;
use std::time::Duration;

use bytes::Bytes;
use futures_util::stream::unfold;
use http::header::{CACHE_CONTROL, CONTENT_TYPE};
use http::{HeaderName, HeaderValue, Response};
use http_body::Frame;
use http_body_util::StreamBody;
use tokio::sync::OwnedSemaphorePermit;
use tokio::time::{Instant, sleep_until, timeout};
use tokio_util::sync::CancellationToken;

use super::Settings;
use crate::history::History;
use crate::history::entry::Entry;
use crate::history::filter::Filter;
use crate::history::subscription::{Subscription, Update};
use crate::http::ReplyBody;

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
        settings: &Settings,
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
        let events = unfold(self, |mut live| async move {
            let event = live.next().await?;
            Some((Ok::<_, Infallible>(Frame::data(Bytes::from(event))), live))
        });
        let mut response = Response::new(ReplyBody::stream(StreamBody::new(events)));
        let headers = response.headers_mut();
        headers.insert(CONTENT_TYPE, HeaderValue::from_static("text/event-stream"));
        headers.insert(CACHE_CONTROL, HeaderValue::from_static("no-store"));
        // Proxies must not collect events before they pass them on.
        let buffering = HeaderName::from_static("x-accel-buffering");
        headers.insert(buffering, HeaderValue::from_static("no"));
        response
    }

    async fn next(&mut self) -> Option<String> {
        if !self.is_begun {
            self.is_begun = true;
            // Who is cut off before the first entry comes goes on from here.
            return Some(format!("retry: 1000\nid: {}\n\n", self.mark()));
        }
        let (closing, ends) = (self.closing.clone(), self.ends);
        let event = tokio::select! {
            biased;
            () = closing.cancelled() => return None,
            () = sleep_until(ends) => return None,
            event = timeout(self.keep_alive, self.event()) => event,
        };
        Some(event.unwrap_or_else(|_| format!(": still here\nid: {}\n\n", self.mark())))
    }

    /// # Cancel safety
    /// Nothing is lost when the future is dropped.
    async fn event(&mut self) -> String {
        loop {
            match self.subscription.next().await {
                Update::Entry(entry) if self.filter.fits(&entry) => return self.told(&entry),
                Update::Entry(_) => {}
                Update::Lost(count) => {
                    let mark = self.mark();
                    return format!("event: lost\nid: {mark}\ndata: {{\"count\":{count}}}\n\n");
                }
            }
            // Entries that fit nobody must not keep others waiting.
            tokio::task::consume_budget().await;
        }
    }

    fn told(&self, entry: &Arc<Entry>) -> String {
        let json = serde_json::to_string(&**entry);
        let json = json.expect("the parts of an entry are JSON");
        format!("event: entry\nid: {}\ndata: {json}\n\n", self.mark())
    }

    fn mark(&self) -> String {
        self.history.mark(self.subscription.read())
    }
}
