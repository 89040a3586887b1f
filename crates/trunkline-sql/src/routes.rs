//! The HTTP route of exports: `GET` and `POST /db/NAME/query`.
//!
//! A request is a call of `execute_raw_query` with all layers, so that access rules, rate limits and the history apply.
//! The rows are sent while the statement runs. An error before the first row is a JSON-RPC error with an HTTP status;
//! a later one aborts the response.

use std::fmt;
use std::pin::Pin;
use std::task::{Context as TaskContext, Poll};

use axum::extract::{Path, State};
use axum::routing::get;
use bytes::Bytes;
use http::header::{CACHE_CONTROL, CONTENT_TYPE, HeaderName};
use http::{HeaderMap, HeaderValue, Response, StatusCode, Uri};
use http_body::{Body, Frame};
use percent_encoding::percent_decode_str;
use serde::Deserialize;
use serde_json::{Map, Value as Json, json};
use tokio::sync::mpsc::Receiver;
use tower_service::Service;
use trunkline::http::{Context, Headers, Message, ReplyBody, Routes, accepts_by_name, respond};
use trunkline::layers::timeout::{ClientWait, ClientWaitGuard};
use trunkline::limits::MemoryBudget;
use trunkline::protocol::Reply;
use trunkline::{Call, ErrorObject, Extensions, Id, Outcome, Rpc, code};

use crate::databases::Databases;
use crate::model::export::{ExportFormat, ExportSender, ExportText};
use crate::operations::ExportTarget;

/// Returns the route of exports. `rpc` serves the operations of the databases in this namespace, usually `db`.
///
/// `GET /db/NAME/query?sql=SELECT…` returns all rows of a reading statement as CSV, NDJSON or JSON, according to the
/// parameter `format` or the header `Accept`; the default is JSON. The parameters `params` (JSON) and `timeout_ms` are
/// those of `execute_raw_query`. With `spreadsheet_safe=true`, texts in CSV are not formulas of spreadsheets
/// ([`ExportText`](crate::transfer::ExportText)). `POST` takes the same as a JSON object. The timeout and the maximum
/// number of rows are those of exports ([`QueryLimits`](crate::QueryLimits)). Disconnecting ends the statement.
///
/// If an error occurs after the first row, the connection is closed before the end of the response (HTTP/1.1), or the
/// stream is reset (HTTP/2). A complete response is therefore a complete export.
pub fn routes(rpc: &Rpc, databases: &Databases, namespace: &str) -> Routes {
    let route =
        Route { rpc: rpc.clone(), databases: databases.clone(), namespace: namespace.to_owned() };
    let path = format!("/{namespace}/{{database}}/query");
    let router = axum::Router::new().route(&path, get(Route::get).post(Route::post));
    Routes::new("export", router.with_state(route))
}

#[derive(Clone)]
struct Route {
    rpc: Rpc,
    databases: Databases,
    namespace: String,
}

/// A request, from the parameters of its URI or from its body.
#[derive(Debug, Default, Deserialize)]
#[serde(default, deny_unknown_fields)]
struct Query {
    sql: Option<String>,
    params: Option<Json>,
    format: Option<String>,
    spreadsheet_safe: bool,
    timeout_ms: Option<Json>,
}

impl Route {
    async fn get(
        State(route): State<Self>,
        Path(database): Path<String>,
        uri: Uri,
        context: Context,
    ) -> Response<ReplyBody> {
        let query = Query::from_uri(uri.query().unwrap_or_default());
        route.answer(&database, query, context.extensions).await.unwrap_or_else(refused)
    }

    async fn post(
        State(route): State<Self>,
        Path(database): Path<String>,
        message: Message,
    ) -> Response<ReplyBody> {
        let query = serde_json::from_slice(&message.body).map_err(|error| invalid(&error));
        route.answer(&database, query, message.extensions).await.unwrap_or_else(refused)
    }

    async fn answer(
        &self,
        database: &str,
        query: Result<Query, ErrorObject>,
        mut extensions: Extensions,
    ) -> Result<Response<ReplyBody>, ErrorObject> {
        let query = query?;
        let format = format(query.format.as_deref(), Headers::of(&extensions))?;
        let text = match query.spreadsheet_safe {
            true => ExportText::spreadsheet_safe(format)
                .map_err(|error| invalid(&format!("`spreadsheet_safe`: {error}")))?,
            false => format.into(),
        };
        let (method, mut params) = self.call(database)?;
        let sql = query.sql.ok_or_else(|| invalid(&"`sql` is missing"))?;
        params.insert("query".to_owned(), sql.into());
        params.extend(query.params.map(|values| ("params".to_owned(), values)));
        params.extend(query.timeout_ms.map(|time| ("timeout_ms".to_owned(), time)));
        let (sender, parts) = ExportSender::channel();
        // The client determines the time of the call, which has its own timeout.
        let wait = ClientWait::default();
        let waiting = wait.begin();
        extensions.insert(wait);
        extensions.insert(ExportTarget { format: text, parts: sender });
        let mut call = Call::request(&Id::NULL, &method, &params)?;
        *call.extensions_mut() = extensions;
        let mut rpc = self.rpc.clone();
        let run = Box::pin(async move {
            let Ok(outcome) = Service::call(&mut rpc, call).await;
            outcome
        });
        let memory = self.rpc.limits().memory.clone();
        let mut body = ExportBody { first: None, parts, run: Some(run), memory, _waiting: waiting };
        body.first = std::future::poll_fn(|cx| body.poll_first(cx)).await?;
        Ok(response(format, body))
    }

    /// The method of a database, with the argument that selects it.
    fn call(&self, database: &str) -> Result<(String, Map<String, Json>), ErrorObject> {
        let mut names = self.databases.iter().map(|(name, _)| name.as_str());
        let Some(name) = names.find(|name| name.eq_ignore_ascii_case(database)) else {
            // Before the call, its rules are not known. They may hide databases.
            let list = format!("{}.list_databases", self.namespace);
            let has_list = self.rpc.operations().iter().any(|operation| operation.name() == list);
            let list = if has_list { &list } else { "rpc.discover" };
            let database = database.escape_debug();
            let reason = format!("unknown database `{database}`; call `{list}` for the names");
            let error = ErrorObject::new(code::NOT_FOUND, "Not found");
            return Err(error.with_data(&json!({ "reason": reason })));
        };
        let of_one = format!("{}.{name}.execute_raw_query", self.namespace);
        if self.rpc.operations().iter().any(|operation| operation.name() == of_one) {
            return Ok((of_one, Map::new()));
        }
        let mut params = Map::new();
        if self.databases.are_several() {
            params.insert("database".to_owned(), name.into());
        }
        Ok((format!("{}.execute_raw_query", self.namespace), params))
    }
}

impl Query {
    fn from_uri(text: &str) -> Result<Self, ErrorObject> {
        let mut query = Self::default();
        for pair in text.split('&').filter(|pair| !pair.is_empty()) {
            let (name, value) = pair.split_once('=').unwrap_or((pair, ""));
            let value = value.replace('+', " ");
            let value = percent_decode_str(&value).decode_utf8();
            let value = value.map_err(|_| invalid(&format!("`{name}` is not UTF-8")))?.into_owned();
            let json = |value: &str| {
                serde_json::from_str(value).map_err(|error| invalid(&format!("`{name}`: {error}")))
            };
            match name {
                "sql" => query.sql = Some(value),
                "format" => query.format = Some(value),
                "spreadsheet_safe" => {
                    query.spreadsheet_safe = value
                        .parse()
                        .map_err(|_| invalid(&"`spreadsheet_safe`: expected `true` or `false`"))?;
                }
                "params" => query.params = Some(json(&value)?),
                "timeout_ms" => query.timeout_ms = Some(json(&value)?),
                _ => {
                    let name = name.escape_debug();
                    return Err(invalid(&format!(
                        "unknown parameter `{name}`; the parameters are `sql`, `params`, `format`, \
                         `spreadsheet_safe` and `timeout_ms`"
                    )));
                }
            }
        }
        Ok(query)
    }
}

/// The requested format, or the first one that the client accepts by name.
fn format(name: Option<&str>, headers: Option<&HeaderMap>) -> Result<ExportFormat, ErrorObject> {
    if let Some(name) = name {
        return name.parse().map_err(|error| invalid(&format!("`format`: {error}")));
    }
    let accepts = |media_type| headers.is_some_and(|headers| accepts_by_name(headers, media_type));
    let is_accepted = |format: &ExportFormat| accepts(format.media_type());
    let accepted = ExportFormat::ALL.into_iter().find(is_accepted);
    Ok(match accepted {
        Some(format) => format,
        None if accepts("application/jsonl") || accepts("application/ndjson") => {
            ExportFormat::NdJson
        }
        None => ExportFormat::Json,
    })
}

fn invalid(reason: &impl fmt::Display) -> ErrorObject {
    let error = ErrorObject::new(code::INVALID_PARAMS, "Invalid params");
    error.with_data(&json!({ "reason": reason.to_string() }))
}

/// The response to a call that failed before its first row.
fn refused(error: ErrorObject) -> Response<ReplyBody> {
    let data = error.data().and_then(|data| serde_json::from_str::<Json>(data.get()).ok());
    let kind = data.and_then(|data| data.get("kind")?.as_str().map(str::to_owned));
    let status = match (error.code(), kind.as_deref()) {
        (code::UNAUTHENTICATED, _) => StatusCode::UNAUTHORIZED,
        (code::FORBIDDEN, _) => StatusCode::FORBIDDEN,
        (code::NOT_FOUND | code::METHOD_NOT_FOUND, _) => StatusCode::NOT_FOUND,
        (code::RATE_LIMITED, _) => StatusCode::TOO_MANY_REQUESTS,
        (code::BUSY | code::REFUSED, _) => StatusCode::SERVICE_UNAVAILABLE,
        (code::TIMEOUT, _) => StatusCode::GATEWAY_TIMEOUT,
        (code::INTERNAL_ERROR, _) => StatusCode::INTERNAL_SERVER_ERROR,
        (code::DATABASE, Some("unavailable" | "unmatched_rules" | "failure" | "reader_lost")) => {
            StatusCode::SERVICE_UNAVAILABLE
        }
        _ => StatusCode::BAD_REQUEST,
    };
    respond(status, Reply::error(error, None))
}

fn response(format: ExportFormat, body: ExportBody) -> Response<ReplyBody> {
    let mut response = Response::new(ReplyBody::stream(body));
    let headers = response.headers_mut();
    headers.insert(CONTENT_TYPE, HeaderValue::from_static(format.media_type()));
    headers.insert(CACHE_CONTROL, HeaderValue::from_static("no-store"));
    // Proxies must not buffer rows.
    let buffering = HeaderName::from_static("x-accel-buffering");
    headers.insert(buffering, HeaderValue::from_static("no"));
    response
}

/// The rows of a running call. Dropping it ends the call.
struct ExportBody {
    first: Option<Bytes>,
    parts: Receiver<Bytes>,
    /// None after the end.
    run: Option<Pin<Box<dyn Future<Output = Outcome> + Send>>>,
    memory: MemoryBudget,
    _waiting: ClientWaitGuard,
}

impl ExportBody {
    /// The first part, or the error of a call without one.
    fn poll_first(&mut self, cx: &mut TaskContext<'_>) -> Poll<Result<Option<Bytes>, ErrorObject>> {
        match self.poll_part(cx) {
            Poll::Ready(Some(Ok(part))) => Poll::Ready(Ok(Some(part))),
            Poll::Ready(Some(Err(error))) => Poll::Ready(Err(error)),
            Poll::Ready(None) => Poll::Ready(Ok(None)),
            Poll::Pending => Poll::Pending,
        }
    }

    fn poll_part(&mut self, cx: &mut TaskContext<'_>) -> Poll<Option<Result<Bytes, ErrorObject>>> {
        let mut ended = None;
        if let Some(run) = &mut self.run
            && let Poll::Ready(outcome) = run.as_mut().poll(cx)
        {
            self.run = None;
            ended = Some(outcome);
        }
        if let Some(outcome) = &ended
            && let Err(error) = outcome.as_result()
        {
            return Poll::Ready(Some(Err(error.clone())));
        }
        if self.run.is_none() {
            // The call may be known to others, with its sender, so that the channel stays open.
            return Poll::Ready(self.parts.try_recv().ok().map(Ok));
        }
        match self.parts.poll_recv(cx) {
            // The statement has dropped its sender. How it ended is known when the call ends, which wakes this task.
            Poll::Ready(None) => Poll::Pending,
            part => part.map(|part| part.map(Ok)),
        }
    }
}

impl Body for ExportBody {
    type Data = Bytes;
    type Error = Aborted;

    fn poll_frame(
        mut self: Pin<&mut Self>,
        cx: &mut TaskContext<'_>,
    ) -> Poll<Option<Result<Frame<Bytes>, Aborted>>> {
        let part = match self.first.take() {
            Some(first) => Some(Ok(first)),
            None => std::task::ready!(self.poll_part(cx)),
        };
        let Some(part) = part else { return Poll::Ready(None) };
        let reserved = part.and_then(|part| match self.memory.reserve(part.len()) {
            Ok(memory) => Ok(memory.attach(part)),
            Err(error) => Err(ErrorObject::new(code::BUSY, error.to_string())),
        });
        Poll::Ready(Some(reserved.map(Frame::data).map_err(|error| {
            self.run = None;
            self.parts.close();
            tracing::warn!(error = %error, "an export was aborted");
            Aborted
        })))
    }
}

/// The reason why the connection is closed.
#[derive(Debug)]
struct Aborted;

impl fmt::Display for Aborted {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("the export failed after its first row")
    }
}

impl std::error::Error for Aborted {}

#[cfg(test)]
mod tests {
    use http_body_util::BodyExt;

    use super::*;

    /// A body of a call that sends `parts`, drops its sender, and ends with `outcome` only when it is polled again.
    fn body_of(parts: &[&'static str], outcome: Outcome) -> ExportBody {
        let (sender, received) = tokio::sync::mpsc::channel(2);
        for part in parts {
            sender.try_send(Bytes::from_static(part.as_bytes())).unwrap();
        }
        let run = Box::pin(async move {
            drop(sender);
            tokio::task::yield_now().await;
            tokio::task::yield_now().await;
            outcome
        });
        ExportBody {
            first: None,
            parts: received,
            run: Some(run),
            memory: MemoryBudget::default(),
            _waiting: ClientWait::default().begin(),
        }
    }

    #[tokio::test]
    async fn the_outcome_of_the_call_is_the_end_of_the_body() {
        let error = || Outcome::error(ErrorObject::new(code::DATABASE, "Database error"));
        // The parts, the outcome, and the expected body, where `None` is an error.
        for (parts, outcome, first, rest) in [
            (&[][..], error(), Err(()), None),
            (&["a"], error(), Ok(Some("a")), None),
            (&["a", "b"], error(), Ok(Some("a")), None),
            (&[], Outcome::result(&0), Ok(None), Some("")),
            (&["a", "b"], Outcome::result(&0), Ok(Some("a")), Some("b")),
        ] {
            let mut body = body_of(parts, outcome);
            let received = std::future::poll_fn(|cx| body.poll_first(cx)).await;
            let received = received.map_err(|_| ());
            assert_eq!(received, first.map(|part| part.map(Bytes::from)), "{parts:?}");
            if received.is_ok() {
                let received = body.collect().await.ok().map(http_body_util::Collected::to_bytes);
                assert_eq!(received, rest.map(Bytes::from), "{parts:?}");
            }
        }
    }
}
