//! The record over HTTP: `GET /history`, and `GET /history/stream` as it grows.
//!
//! `/history` answers a [`Page`](crate::history::Page): `{entries, next}`, newest first, a hundred at a time;
//! `?before=NEXT` is the page behind it. Its query is a [`Filter`], as
//! [`Filter::from_query`] reads it.
//!
//! `/history/stream` sends the entries that fit the same query as server-sent events: `entry`, with
//! the entry as its data, and `lost`, with `{"count": …}`, where some were forgotten before they could
//! be sent. With `limit`, so many of those that are kept come first. Each event has an id, which a
//! client that comes again sends as `Last-Event-ID` and so misses nothing that is still kept, nor what
//! a restarted server has recorded since.
//!
//! Neither is recorded itself. Who may read is a [setting](Settings::readers): others' requests are no
//! business of everyone who may call.

mod live;
mod settings;

use std::future::ready;
use std::sync::Arc;

use http::{Method, Response, StatusCode};
use tokio::sync::Semaphore;
use trunkline_core::error::{ErrorObject, code};

use super::readers::NAME;
pub use super::readers::Readers;
use super::refused::{Refused, json};
use crate::http::{Door, DoorFuture, DoorRequest, Headers, ReplyBody};
use live::Live;
pub use settings::Settings;
use trunkline_history::{Filter, History};

const PAGE: &str = "/history";
const STREAM: &str = "/history/stream";

impl History {
    /// This record at `GET /history` and `GET /history/stream`, for
    /// [`HttpService::door`](crate::http::HttpService::door).
    ///
    /// ```
    /// use trunkline::Router;
    /// use trunkline::history::{self, History, door};
    ///
    /// # fn main() -> Result<(), trunkline::BuildError> {
    /// let history = History::new(history::Settings::default());
    /// let rpc = Router::new().method("ping", || "pong").build()?.recorded(history.clone());
    /// let service = rpc.http().door(history.door(door::Settings::default()));
    /// # Ok(())
    /// # }
    /// ```
    #[must_use]
    pub fn door(&self, settings: Settings) -> Arc<dyn Door> {
        let streams = Arc::new(Semaphore::new(settings.streams.min(Semaphore::MAX_PERMITS)));
        Arc::new(Record { history: self.clone(), settings, streams })
    }
}

struct Record {
    history: History,
    settings: Settings,
    /// A permit for each stream that may be opened.
    streams: Arc<Semaphore>,
}

impl Door for Record {
    fn paths(&self) -> &[(&'static str, &'static [Method])] {
        &[(PAGE, &[Method::GET, Method::HEAD]), (STREAM, &[Method::GET])]
    }

    fn name(&self) -> &'static str {
        NAME
    }

    fn answer(&self, request: DoorRequest) -> DoorFuture<'_> {
        let answered = self.settings.readers.admit(&request.extensions);
        let answered = answered.and_then(|()| match request.uri.path() {
            STREAM => self.stream(&request),
            _ => self.page(&request),
        });
        Box::pin(ready(answered.unwrap_or_else(Refused::into_response)))
    }
}

impl Record {
    fn page(&self, request: &DoorRequest) -> Result<Response<ReplyBody>, Refused> {
        let filter = filter(request)?;
        let most = self.settings.max_page;
        if filter.limit > most {
            return Err(Refused::query(&format!("limit is over {most}: ask for the next page")));
        }
        if filter.limit == 0 {
            return Err(Refused::query("limit is at least 1"));
        }
        json(&self.history.entries(&filter))
    }

    fn stream(&self, request: &DoorRequest) -> Result<Response<ReplyBody>, Refused> {
        let filter = filter(request)?;
        if filter.before.is_some() {
            return Err(Refused::query("a stream has no before: it tells what comes"));
        }
        let last =
            Headers::of(&request.extensions).and_then(|headers| headers.get("last-event-id"));
        let read = match last {
            Some(last) => {
                last.to_str().ok().and_then(|mark| self.history.read_up_to(mark)).ok_or_else(
                    || Refused::query("Last-Event-ID is none that this stream has given"),
                )?
            }
            None if has_limit(request) => self.history.before_newest(&filter),
            None => self.history.newest(),
        };
        let place = Arc::clone(&self.streams).try_acquire_owned().ok();
        let Some(place) = place.filter(|_| !self.settings.closing.is_cancelled()) else {
            let error = ErrorObject::new(code::BUSY, "Server is busy");
            return Err(Refused { status: StatusCode::SERVICE_UNAVAILABLE, error });
        };
        let subscription = self.history.subscribe_after(read);
        Ok(Live::new(&self.history, subscription, filter, &self.settings, place).into_response())
    }
}

fn filter(request: &DoorRequest) -> Result<Filter, Refused> {
    let query = request.uri.query().unwrap_or_default();
    Filter::from_query(query).map_err(|error| Refused::query(&error.to_string()))
}

/// Without one, a stream begins with what comes.
fn has_limit(request: &DoorRequest) -> bool {
    let query = request.uri.query().unwrap_or_default();
    query.split('&').any(|pair| pair.starts_with("limit="))
}
