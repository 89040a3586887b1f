mod params;

use std::time::{Duration, Instant};

use serde::Deserialize;

use crate::error::Error;
use crate::rowset::{Bounds, Rowset, collect};
use crate::session::Session;
use crate::settings::Settings;
use crate::whole_number;

pub use params::Params;

/// Asks for the result of one reading SQL statement.
#[derive(Clone, Debug, Deserialize)]
pub struct RawQuery {
    /// The statement, at most 100,000 bytes.
    pub query: String,
    /// Values for its parameters.
    #[serde(default)]
    pub params: Option<Params>,
    /// Whether the statement only reads. Default true; false is refused, since the database is served
    /// read-only.
    #[serde(default = "yes")]
    pub read_only: bool,
    /// Most rows wanted. More than [`Settings::max_rows`](crate::Settings) are never given.
    #[serde(default, deserialize_with = "whole_number::optional")]
    pub max_rows: Option<u64>,
    /// Longest time in milliseconds, from 1. [`Settings::timeout`](crate::Settings) holds as well.
    #[serde(default, deserialize_with = "whole_number::optional")]
    pub timeout_ms: Option<u64>,
}

fn yes() -> bool {
    true
}

impl RawQuery {
    /// A statement without parameters, under the server's limits.
    pub fn new(query: impl Into<String>) -> Self {
        Self {
            query: query.into(),
            params: None,
            read_only: true,
            max_rows: None,
            timeout_ms: None,
        }
    }

    /// Checks what can be checked without a database, and gives the time that the call may take.
    pub(crate) fn check(&self, settings: &Settings) -> Result<Duration, Error> {
        if !self.read_only {
            return Err(Error::Forbidden {
                reason: "\"read_only\": false was asked for, and the database is served read-only"
                    .to_owned(),
            });
        }
        match self.timeout_ms {
            Some(0) => Err(Error::BadArgument {
                argument: "timeout_ms",
                reason: "it must be at least 1".to_owned(),
            }),
            Some(wanted) => Ok(settings.timeout.min(Duration::from_millis(wanted))),
            None => Ok(settings.timeout),
        }
    }
}

pub(crate) fn execute(session: &mut Session<'_>, request: &RawQuery) -> Result<Rowset, Error> {
    let started = Instant::now();
    let settings = session.settings();
    let bounds = Bounds {
        max_rows: request
            .max_rows
            .map_or(settings.max_rows, |wanted| wanted.min(settings.max_rows)),
        max_bytes: settings.max_bytes,
    };
    let rowset = session.with_statement(&request.query, |statement| {
        params::bind(statement, request.params.as_ref())?;
        collect(statement, bounds, started)
    })?;
    if rowset.lacks_room_for_one() {
        return Err(Error::OverLimit {
            message: format!(
                "the first row alone has more than the {} bytes of a result; \
                 select fewer columns, or parts of them",
                bounds.max_bytes
            ),
        });
    }
    Ok(rowset)
}
