//! `GET /logs`, `GET /logs/current`, `GET /logs/stats`.

use std::io::{self, ErrorKind, Read};
use std::path::Path;
use std::sync::Arc;

use axum::extract::State;
use axum::routing::get;
use http::header::CONTENT_TYPE;
use http::{HeaderValue, Response, StatusCode, Uri};
use serde::Serialize;
use tokio::sync::Semaphore;
use trunkline_core::error::ErrorObject;
use trunkline_history::log::{Log, LogFile};
use trunkline_history::percent_decode;
use trunkline_server::http::{Context, ReplyBody, Routes};

use super::error::{EndpointError, json};
use super::readers::Readers;
use crate::code;

/// Serves a log at `GET /logs`, `GET /logs/current` and `GET /logs/stats`, for `readers`.
///
/// `/logs` lists the files of all sessions, newest first, as `{logs: [{name, bytes, current}]}`.
/// `/logs?name=NAME` returns one of them, and `/logs/current` the one that is being written, as lines of JSON
/// (`application/x-ndjson`). `/logs/stats` returns the [`Stats`](crate::history::log::Stats) of this session.
pub fn log_routes(log: &Log, readers: Readers) -> Routes {
    let reading = Arc::new(Semaphore::new(READERS));
    let logs = Logs { log: log.clone(), readers, reading };
    let mut router = axum::Router::new();
    for path in [LIST, CURRENT, STATS] {
        router = router.route(path, get(Logs::read));
    }
    Routes::new("logs", router.with_state(logs))
}

#[derive(Clone)]
struct Logs {
    log: Log,
    readers: Readers,
    /// Permits to read a file into memory.
    reading: Arc<Semaphore>,
}

/// The maximum number of files that are read at a time. Further requests are refused.
const READERS: usize = 4;

const LIST: &str = "/logs";
const CURRENT: &str = "/logs/current";
const STATS: &str = "/logs/stats";

impl Logs {
    async fn read(
        State(Self { log, readers, reading }): State<Self>,
        context: Context,
        uri: Uri,
    ) -> Result<Response<ReplyBody>, EndpointError> {
        #[derive(Serialize)]
        struct List {
            logs: Vec<LogFile>,
        }

        readers.admit(&context.extensions)?;
        let name = requested(&uri)?;
        if uri.path() == STATS {
            return json(&log.stats());
        }
        let Ok(_permit) = reading.try_acquire() else {
            let error = ErrorObject::new(code::BUSY, "Server is busy");
            return Err(EndpointError { status: StatusCode::SERVICE_UNAVAILABLE, error });
        };
        let name = if uri.path() == CURRENT { Some(log.current()) } else { name };
        let read = tokio::task::spawn_blocking(move || match name {
            None => log.files().map(|logs| json(&List { logs })),
            Some(name) => contents(&log, &name).map(Ok),
        });
        match read.await {
            Ok(Ok(response)) => response,
            Ok(Err(error)) if error.kind() == ErrorKind::NotFound => Err(EndpointError {
                status: StatusCode::NOT_FOUND,
                error: ErrorObject::new(code::NOT_FOUND, "Log not found"),
            }),
            Ok(Err(error)) => Err(EndpointError::internal(&error)),
            Err(error) => Err(EndpointError::internal(&error)),
        }
    }
}

/// The name of the requested file, if there is one.
fn requested(uri: &Uri) -> Result<Option<String>, EndpointError> {
    let query = uri.query().unwrap_or_default();
    match (query, query.strip_prefix("name=")) {
        ("", _) => Ok(None),
        (_, Some(name)) if uri.path() == LIST => {
            percent_decode(name).map(Some).map_err(|error| EndpointError::query(&error.to_string()))
        }
        _ if uri.path() == LIST => Err(EndpointError::query(
            "unknown parameter; the only parameter is `name`, the name of a log",
        )),
        _ => Err(EndpointError::query("this path takes no parameters")),
    }
}

/// The content of a listed file. Other files of the machine are never read, whatever `name` is.
fn contents(log: &Log, name: &str) -> io::Result<Response<ReplyBody>> {
    let listed = log.files()?.into_iter().find(|file| file.name == name);
    let lines = match listed {
        Some(file) => beginning(&log.folder().join(&file.name), file.bytes)?,
        // It was removed, and will be created with the next entry.
        None if name == log.current() => Vec::new(),
        None => return Err(ErrorKind::NotFound.into()),
    };
    let mut response = Response::new(ReplyBody::from(lines));
    let media_type = HeaderValue::from_static("application/x-ndjson");
    response.headers_mut().insert(CONTENT_TYPE, media_type);
    Ok(response)
}

/// The complete lines in the first `bytes` bytes of a file, its size when it was listed.
fn beginning(path: &Path, bytes: u64) -> io::Result<Vec<u8>> {
    let mut lines = Vec::new();
    std::fs::File::open(path)?.take(bytes).read_to_end(&mut lines)?;
    let end = lines.iter().rposition(|byte| *byte == b'\n').map_or(0, |last| last + 1);
    lines.truncate(end);
    Ok(lines)
}
