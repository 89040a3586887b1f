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
//! Neither is recorded itself. Who may read is a [setting](HistoryRoutesConfig::readers): others' requests are no
//! business of everyone who may call.

mod config;
mod live;

use std::sync::Arc;

use axum::extract::State;
use axum::routing::get;
use http::{HeaderMap, Response, StatusCode, Uri};
use tokio::sync::Semaphore;
use trunkline_core::error::{ErrorObject, code};
use trunkline_history::{Filter, History};
use trunkline_server::http::{Context, ReplyBody, Routes};

use super::readers::NAME;
pub use super::readers::Readers;
use super::refused::{Refused, json};
pub use config::HistoryRoutesConfig;
use live::Live;

/// A record at `GET /history` and `GET /history/stream`.
///
/// ```
/// use trunkline::Router;
/// use trunkline::history::{self, History, endpoint};
///
/// # fn main() -> Result<(), trunkline::BuildError> {
/// let history = History::new(history::HistoryConfig::default());
/// let rpc = Router::new().method("ping", || "pong").build()?.with_history(history.clone());
/// let service = rpc.http().merge(endpoint::routes(&history, endpoint::HistoryRoutesConfig::default()));
/// # Ok(())
/// # }
/// ```
pub fn routes(history: &History, settings: HistoryRoutesConfig) -> Routes {
    let streams = Arc::new(Semaphore::new(settings.streams.min(Semaphore::MAX_PERMITS)));
    let record = Record { history: history.clone(), settings, streams };
    let page = async |State(record): State<Record>, context: Context, uri: Uri| {
        record.page(&context, &uri).await
    };
    let stream =
        async |State(record): State<Record>, context: Context, uri: Uri, headers: HeaderMap| {
            record.stream(&context, &uri, &headers)
        };
    let router =
        axum::Router::new().route("/history", get(page)).route("/history/stream", get(stream));
    Routes::new(NAME, router.with_state(record))
}

#[derive(Clone)]
struct Record {
    history: History,
    settings: HistoryRoutesConfig,
    /// A permit for each stream that may be opened.
    streams: Arc<Semaphore>,
}

impl Record {
    async fn page(&self, context: &Context, uri: &Uri) -> Result<Response<ReplyBody>, Refused> {
        self.settings.readers.admit(&context.extensions)?;
        let filter = filter(uri)?;
        let most = self.settings.max_page;
        if filter.limit > most {
            return Err(Refused::query(&format!("limit is over {most}: ask for the next page")));
        }
        if filter.limit == 0 {
            return Err(Refused::query("limit is at least 1"));
        }
        let page = self.history.entries(&filter);
        // Redacting up to 8 MiB takes too long for a thread of the runtime.
        let written = tokio::task::spawn_blocking(move || json(&page)).await;
        written.unwrap_or_else(|error| Err(Refused::internal(&error)))
    }

    fn stream(
        &self,
        context: &Context,
        uri: &Uri,
        headers: &HeaderMap,
    ) -> Result<Response<ReplyBody>, Refused> {
        let Self { history, settings, streams } = self;
        settings.readers.admit(&context.extensions)?;
        let filter = filter(uri)?;
        if filter.before.is_some() {
            return Err(Refused::query("a stream has no before: it tells what comes"));
        }
        let read = match headers.get("last-event-id") {
            Some(last) => {
                last.to_str().ok().and_then(|mark| history.read_up_to(mark)).ok_or_else(|| {
                    Refused::query("invalid Last-Event-ID: it is not an id of this stream")
                })?
            }
            None if has_limit(uri) => history.before_newest(&filter),
            None => history.newest(),
        };
        let place = Arc::clone(streams).try_acquire_owned().ok();
        let Some(place) = place.filter(|_| !settings.closing.is_cancelled()) else {
            let error = ErrorObject::new(code::BUSY, "Server is busy");
            return Err(Refused { status: StatusCode::SERVICE_UNAVAILABLE, error });
        };
        let subscription = history.subscribe_after(read);
        Ok(Live::new(history, subscription, filter, settings, place).into_response())
    }
}

fn filter(uri: &Uri) -> Result<Filter, Refused> {
    let query = uri.query().unwrap_or_default();
    Filter::from_query(query).map_err(|error| Refused::query(&error.to_string()))
}

/// Without one, a stream begins with what comes.
fn has_limit(uri: &Uri) -> bool {
    let query = uri.query().unwrap_or_default();
    query.split('&').any(|pair| pair.starts_with("limit="))
}
