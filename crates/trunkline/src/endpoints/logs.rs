//! `GET /logs`, `GET /logs/current`, `GET /logs/stats`.

use std::future::ready;
use std::io::{self, ErrorKind, Read};
use std::path::Path;
use std::sync::Arc;

use http::header::CONTENT_TYPE;
use http::{HeaderValue, Method, Response, StatusCode};
use serde::Serialize;
use tokio::sync::Semaphore;
use trunkline_core::error::ErrorObject;

use super::readers::Readers;
use super::refused::{Refused, json};
use crate::code;
use crate::http::{Door, DoorFuture, DoorRequest, ReplyBody};
use trunkline_history::decoded;
use trunkline_history::log::{Log, LogFile};

impl Log {
    /// The log at `GET /logs`, `GET /logs/current` and `GET /logs/stats`, for
    /// [`HttpService::door`](crate::http::HttpService::door). Those who may read the history may read
    /// it.
    ///
    /// `/logs` lists the files of all sessions, newest first, as `{logs: [{name, bytes, current}]}`;
    /// `/logs?name=NAME` is one of them, and `/logs/current` the one that is written to: lines of JSON
    /// (`application/x-ndjson`). `/logs/stats` are the [`Stats`](crate::history::log::Stats) of this session.
    #[must_use]
    pub fn door(&self, readers: Readers) -> Arc<dyn Door> {
        let reading = Arc::new(Semaphore::new(READERS));
        Arc::new(Logs { log: self.clone(), readers, reading })
    }
}

struct Logs {
    log: Log,
    readers: Readers,
    /// A permit for each reply that may be read from a disk at a time: each is a file in memory.
    reading: Arc<Semaphore>,
}

/// More requests at a time are told that the server is busy.
const READERS: usize = 4;

const LIST: &str = "/logs";
const CURRENT: &str = "/logs/current";
const STATS: &str = "/logs/stats";

impl Door for Logs {
    fn paths(&self) -> &[(&'static str, &'static [Method])] {
        const GET: &[Method] = &[Method::GET, Method::HEAD];
        &[(LIST, GET), (CURRENT, GET), (STATS, GET)]
    }

    fn name(&self) -> &'static str {
        "logs"
    }

    fn answer(&self, request: DoorRequest) -> DoorFuture<'_> {
        if let Err(refused) = self.readers.admit(&request.extensions) {
            return Box::pin(ready(refused.into_response()));
        }
        Box::pin(async move {
            let answered = self.read(&request).await;
            answered.unwrap_or_else(Refused::into_response)
        })
    }
}

impl Logs {
    async fn read(&self, request: &DoorRequest) -> Result<Response<ReplyBody>, Refused> {
        #[derive(Serialize)]
        struct List {
            logs: Vec<LogFile>,
        }

        let name = wanted(request)?;
        if request.uri.path() == STATS {
            return json(&self.log.stats());
        }
        let Ok(_permit) = self.reading.try_acquire() else {
            let error = ErrorObject::new(code::BUSY, "Server is busy");
            return Err(Refused { status: StatusCode::SERVICE_UNAVAILABLE, error });
        };
        let name = if request.uri.path() == CURRENT { Some(self.log.current()) } else { name };
        let log = self.log.clone();
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
            Ok(Err(error)) => Err(failed(&error)),
            Err(error) => Err(failed(&error)),
        }
    }
}

/// The file that is asked for, if one is.
fn wanted(request: &DoorRequest) -> Result<Option<String>, Refused> {
    let query = request.uri.query().unwrap_or_default();
    match (query, query.strip_prefix("name=")) {
        ("", _) => Ok(None),
        (_, Some(name)) if request.uri.path() == LIST => {
            decoded(name).map(Some).map_err(|error| Refused::query(&error.to_string()))
        }
        _ if request.uri.path() == LIST => {
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

fn failed(error: &(dyn std::error::Error + 'static)) -> Refused {
    let error = ErrorObject::internal_error(error);
    Refused { status: StatusCode::INTERNAL_SERVER_ERROR, error }
}
