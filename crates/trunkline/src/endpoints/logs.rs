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
use trunkline_history::decoded;
use trunkline_history::log::{Log, LogFile};
use trunkline_server::http::{Context, ReplyBody, Routes};

use super::readers::Readers;
use super::refused::{Refused, json};
use crate::code;

/// A log at `GET /logs`, `GET /logs/current` and `GET /logs/stats`, for `readers`.
///
/// `/logs` lists the files of all sessions, newest first, as `{logs: [{name, bytes, current}]}`;
/// `/logs?name=NAME` is one of them, and `/logs/current` the one that is written to: lines of JSON
/// (`application/x-ndjson`). `/logs/stats` are the [`Stats`](crate::history::log::Stats) of this session.
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
    ) -> Result<Response<ReplyBody>, Refused> {
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
            return Err(Refused { status: StatusCode::SERVICE_UNAVAILABLE, error });
        };
        let name = if uri.path() == CURRENT { Some(log.current()) } else { name };
        let read = tokio::task::spawn_blocking(move || match name {
            None => log.files().map(|logs| json(&List { logs })),
            Some(name) => contents(&log, &name).map(Ok),
        });
        match read.await {
            Ok(Ok(answered)) => answered,
            Ok(Err(error)) if error.kind() == ErrorKind::NotFound => Err(Refused {
                status: StatusCode::NOT_FOUND,
                error: ErrorObject::new(code::NOT_FOUND, "There is no such log"),
            }),
            Ok(Err(error)) => Err(Refused::internal(&error)),
            Err(error) => Err(Refused::internal(&error)),
        }
    }
}

/// The name of the requested file, if there is one.
fn requested(uri: &Uri) -> Result<Option<String>, Refused> {
    let query = uri.query().unwrap_or_default();
    match (query, query.strip_prefix("name=")) {
        ("", _) => Ok(None),
        (_, Some(name)) if uri.path() == LIST => {
            decoded(name).map(Some).map_err(|error| Refused::query(&error.to_string()))
        }
        _ if uri.path() == LIST => {
            Err(Refused::query("there is one parameter, name, the name of a log"))
        }
        _ => Err(Refused::query("there are no parameters here")),
    }
}

/// A file that is listed: no other one of the machine is read, whatever it is called.
fn contents(log: &Log, name: &str) -> io::Result<Response<ReplyBody>> {
    let listed = log.files()?.into_iter().find(|file| file.name == name);
    let lines = match listed {
        Some(file) => beginning(&log.folder().join(&file.name), file.bytes)?,
        // It was removed, and is begun anew with the next entry.
        None if name == log.current() => Vec::new(),
        None => return Err(ErrorKind::NotFound.into()),
    };
    let mut response = Response::new(ReplyBody::from(lines));
    let media_type = HeaderValue::from_static("application/x-ndjson");
    response.headers_mut().insert(CONTENT_TYPE, media_type);
    Ok(response)
}

/// The whole lines of what a file had when it was listed.
fn beginning(path: &Path, bytes: u64) -> io::Result<Vec<u8>> {
    let mut lines = Vec::new();
    std::fs::File::open(path)?.take(bytes).read_to_end(&mut lines)?;
    let end = lines.iter().rposition(|byte| *byte == b'\n').map_or(0, |last| last + 1);
    lines.truncate(end);
    Ok(lines)
}
