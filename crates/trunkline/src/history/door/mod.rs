//! The record over HTTP: `GET /history`, and `GET /history/stream` as it grows.
//!
//! `/history` answers a [`Page`](super::Page): `{entries, next}`, newest first, a hundred at a time;
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
mod readers;
mod settings;

use std::future::ready;
use std::sync::Arc;

use http::header::CONTENT_TYPE;
use http::{HeaderValue, Method, Response, StatusCode};
use tokio::sync::Semaphore;

use super::History;
use super::filter::Filter;
use crate::error::{ErrorObject, code};
use crate::http::{Door, DoorFuture, DoorRequest, Headers, ReplyBody, respond};
use crate::rpc::Reply;
use live::Live;
pub use readers::Readers;
pub use settings::Settings;

const PAGE: &str = "/history";
const STREAM: &str = "/history/stream";

/// What the rules call it to read the record.
pub(super) const NAME: &str = "history";

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

/// Why a request is refused.
pub(super) struct Refused {
    pub(super) status: StatusCode,
    pub(super) error: ErrorObject,
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

/// A value as the body of a reply.
pub(super) fn json(value: &impl serde::Serialize) -> Result<Response<ReplyBody>, Refused> {
    let json = serde_json::to_vec(value).map_err(|error| Refused {
        status: StatusCode::INTERNAL_SERVER_ERROR,
        error: ErrorObject::internal_error(&error),
    })?;
    let mut response = Response::new(ReplyBody::from(json));
    let media_type = HeaderValue::from_static("application/json");
    response.headers_mut().insert(CONTENT_TYPE, media_type);
    Ok(response)
}

impl Refused {
    /// What is asked for cannot be.
    pub(super) fn query(reason: &str) -> Self {
        Self { status: StatusCode::BAD_REQUEST, error: ErrorObject::invalid_params(reason) }
    }

    pub(super) fn into_response(self) -> Response<ReplyBody> {
        respond(self.status, Reply::error(self.error, None))
    }
}
