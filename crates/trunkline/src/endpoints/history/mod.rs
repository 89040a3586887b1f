//! The history over HTTP: `GET /history`, and `GET /history/stream` for new entries.
//!
//! `/history` returns a [`Page`](crate::history::Page), `{entries, next}`: newest first, 100 entries by default.
//! `?before=NEXT` returns the next page. The query is a [`Filter`], parsed by [`Filter::from_query`].
//!
//! `/history/stream` sends the entries that match the same query as server-sent events: `entry`, with the entry
//! as its data, and `lost`, with `{"count": …}`, if entries were removed before they could be sent. With
//! `limit=N`, up to N existing entries are sent first. Each event has an id. A client that reconnects with it as
//! `Last-Event-ID` receives all later entries that still exist, and those that a restarted server has recorded.
//!
//! Requests to these endpoints are not recorded. [`HistoryRoutesConfig::readers`] restricts access, since the
//! history contains requests of all callers.

mod config;
mod entry_stream;

use std::sync::Arc;

use axum::extract::State;
use axum::routing::get;
use http::{HeaderMap, Response, StatusCode, Uri};
use tokio::sync::Semaphore;
use trunkline_core::error::{ErrorObject, code};
use trunkline_history::{Filter, History};
use trunkline_server::http::{Context, ReplyBody, Routes};

use super::error::{EndpointError, json};
use super::readers::NAME;
pub use super::readers::Readers;
pub use config::HistoryRoutesConfig;
use entry_stream::EntryStream;

/// Serves a history at `GET /history` and `GET /history/stream`.
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
pub fn routes(history: &History, config: HistoryRoutesConfig) -> Routes {
    let streams = Arc::new(Semaphore::new(config.streams.min(Semaphore::MAX_PERMITS)));
    let endpoint = Endpoint { history: history.clone(), config, streams };
    let page = async |State(endpoint): State<Endpoint>, context: Context, uri: Uri| {
        endpoint.page(&context, &uri).await
    };
    let stream =
        async |State(endpoint): State<Endpoint>, context: Context, uri: Uri, headers: HeaderMap| {
            endpoint.stream(&context, &uri, &headers)
        };
    let router =
        axum::Router::new().route("/history", get(page)).route("/history/stream", get(stream));
    Routes::new(NAME, router.with_state(endpoint))
}

#[derive(Clone)]
struct Endpoint {
    history: History,
    config: HistoryRoutesConfig,
    /// Permits for open streams.
    streams: Arc<Semaphore>,
}

impl Endpoint {
    async fn page(
        &self,
        context: &Context,
        uri: &Uri,
    ) -> Result<Response<ReplyBody>, EndpointError> {
        self.config.readers.admit(&context.extensions)?;
        let filter = filter(uri)?;
        let max = self.config.max_page;
        if filter.limit > max {
            let reason = format!("`limit` must be at most {max}; use `before` for further pages");
            return Err(EndpointError::query(&reason));
        }
        if filter.limit == 0 {
            return Err(EndpointError::query("`limit` must be at least 1"));
        }
        let page = self.history.entries(&filter);
        // Redacting up to 8 MiB takes too long for a thread of the runtime.
        let written = tokio::task::spawn_blocking(move || json(&page)).await;
        written.unwrap_or_else(|error| Err(EndpointError::internal(&error)))
    }

    fn stream(
        &self,
        context: &Context,
        uri: &Uri,
        headers: &HeaderMap,
    ) -> Result<Response<ReplyBody>, EndpointError> {
        let Self { history, config, streams } = self;
        config.readers.admit(&context.extensions)?;
        let filter = filter(uri)?;
        if filter.before.is_some() {
            return Err(EndpointError::query("`before` is not supported for streams"));
        }
        let read = match headers.get("last-event-id") {
            Some(last) => last
                .to_str()
                .ok()
                .and_then(|cursor| history.parse_cursor(cursor))
                .ok_or_else(|| {
                    EndpointError::query("invalid `Last-Event-ID`: not an event id of this stream")
                })?,
            None if has_limit(uri) => history.before_newest(&filter),
            None => history.newest(),
        };
        let permit = Arc::clone(streams).try_acquire_owned().ok();
        let Some(permit) = permit.filter(|_| !config.closing.is_cancelled()) else {
            let error = ErrorObject::new(code::BUSY, "Server is busy");
            return Err(EndpointError { status: StatusCode::SERVICE_UNAVAILABLE, error });
        };
        let subscription = history.subscribe_after(read);
        Ok(EntryStream::new(history, subscription, filter, config, permit).into_response())
    }
}

fn filter(uri: &Uri) -> Result<Filter, EndpointError> {
    let query = uri.query().unwrap_or_default();
    Filter::from_query(query).map_err(|error| EndpointError::query(&error.to_string()))
}

/// Whether the query has a limit. Without one, a stream begins with new entries.
fn has_limit(uri: &Uri) -> bool {
    let query = uri.query().unwrap_or_default();
    query.split('&').any(|pair| pair.starts_with("limit="))
}
