//! Exports: all rows of a table or a statement as a stream of text.

use std::str::FromStr;
use std::time::Duration;

use bytes::Bytes;
use tokio::sync::mpsc;
use tokio::time::{Instant, timeout_at};

use super::error::Error;
use super::read::Params;
use super::rowset::ResultColumn;

/// Writes all rows of a table or of a reading statement as text.
#[derive(Clone, Debug)]
#[non_exhaustive]
pub struct ExportRows {
    /// The rows.
    pub source: ExportSource,
    /// The form of the text.
    pub format: ExportText,
    /// A shorter timeout than [`QueryLimits::export_timeout`](crate::QueryLimits).
    pub timeout: Option<Duration>,
}

/// The rows of an export.
#[derive(Clone, Debug)]
#[non_exhaustive]
pub enum ExportSource {
    /// All rows of a table or view. Case is ignored.
    Table(String),
    /// The rows of a reading statement.
    Query {
        /// One statement.
        sql: String,
        /// The values of its parameters.
        params: Option<Params>,
    },
}

/// The form of exported rows. Values have the forms of results ([`Rowset`](crate::Rowset)). In an export of a table of
/// SQLite, a value of another type than that of its column is an object, such as `{"$text": base64}`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ExportFormat {
    /// RFC 4180, with a line of column names. NULL is an empty field, an empty text is `""`, and values that are objects
    /// or lists in JSON are fields with that JSON. A text that looks like such an object is `{"$text": base64}`. Lines
    /// end with a line feed.
    Csv,
    /// One JSON object for each line.
    NdJson,
    /// A JSON array of objects.
    Json,
}

/// The form of the text of an export.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct ExportText {
    /// The format.
    pub format: ExportFormat,
    /// Whether texts that a spreadsheet could read as formulas begin with an apostrophe, in CSV: names of columns, and
    /// values of text that begin with `=`, `+`, `-` or `@`, also after white space, or with a tab or a line break.
    /// Numbers are not changed. Without it, a cell such as `=HYPERLINK("http://…")` is computed when the file is
    /// opened.
    pub spreadsheet_safe: bool,
    /// The separator of the fields of CSV: an ASCII character other than a quote or a line break.
    pub delimiter: u8,
}

impl ExportText {
    /// The format without changes of texts.
    #[must_use]
    pub fn new(format: ExportFormat) -> Self {
        Self { format, spreadsheet_safe: false, delimiter: b',' }
    }

    /// CSV for spreadsheets, whose texts are not formulas.
    ///
    /// # Errors
    ///
    /// [`NoSpreadsheetFormat`] for other formats than CSV.
    pub fn spreadsheet_safe(format: ExportFormat) -> Result<Self, NoSpreadsheetFormat> {
        match format {
            ExportFormat::Csv => Ok(Self { spreadsheet_safe: true, ..Self::new(format) }),
            ExportFormat::NdJson | ExportFormat::Json => Err(NoSpreadsheetFormat),
        }
    }
}

impl From<ExportFormat> for ExportText {
    fn from(format: ExportFormat) -> Self {
        Self::new(format)
    }
}

/// A format other than CSV is not for spreadsheets.
#[derive(Debug, thiserror::Error)]
#[error("only csv can be safe for spreadsheets")]
pub struct NoSpreadsheetFormat;

impl ExportFormat {
    /// All formats.
    pub const ALL: [Self; 3] = [Self::Csv, Self::NdJson, Self::Json];

    /// The name, which is also the usual file extension.
    #[must_use]
    pub fn name(self) -> &'static str {
        match self {
            Self::Csv => "csv",
            Self::NdJson => "ndjson",
            Self::Json => "json",
        }
    }

    /// The media type.
    #[must_use]
    pub fn media_type(self) -> &'static str {
        match self {
            Self::Csv => "text/csv",
            Self::NdJson => "application/x-ndjson",
            Self::Json => "application/json",
        }
    }
}

/// A text does not name a format.
#[derive(Debug, thiserror::Error)]
#[error("unknown format; use csv, ndjson or json")]
pub struct UnknownFormat;

impl FromStr for ExportFormat {
    type Err = UnknownFormat;

    fn from_str(text: &str) -> Result<Self, UnknownFormat> {
        Self::ALL.into_iter().find(|format| format.name() == text).ok_or(UnknownFormat)
    }
}

/// A complete export.
#[derive(Clone, Debug)]
#[non_exhaustive]
pub struct Exported {
    /// Number of rows.
    pub rows: u64,
    /// Number of bytes.
    pub bytes: u64,
    /// The columns.
    pub columns: Vec<ResultColumn>,
}

impl ExportRows {
    /// Exports a table or view.
    pub fn table(name: impl Into<String>, format: impl Into<ExportText>) -> Self {
        Self { source: ExportSource::Table(name.into()), format: format.into(), timeout: None }
    }

    /// Exports the rows of a reading statement.
    pub fn query(
        sql: impl Into<String>,
        params: Option<Params>,
        format: impl Into<ExportText>,
    ) -> Self {
        let source = ExportSource::Query { sql: sql.into(), params };
        Self { source, format: format.into(), timeout: None }
    }
}

/// The sender of the text of an export, in parts of about 64 KiB. It waits for the receiver.
#[derive(Clone, Debug)]
pub struct ExportSender(mpsc::Sender<Bytes>);

/// Number of parts that wait for the receiver.
const WAITING_PARTS: usize = 2;

impl ExportSender {
    /// A sender and its receiver. The export ends when the receiver is dropped.
    #[must_use]
    pub fn channel() -> (Self, mpsc::Receiver<Bytes>) {
        let (sender, receiver) = mpsc::channel(WAITING_PARTS);
        (Self(sender), receiver)
    }

    /// Waits until the receiver takes a part.
    ///
    /// # Errors
    ///
    /// [`Error::Cancelled`] without a receiver.
    #[cfg_attr(not(feature = "postgres"), expect(dead_code, reason = "SQLite has a deadline"))]
    pub(crate) async fn send(&self, part: Bytes) -> Result<(), Error> {
        self.0.send(part).await.map_err(|_| Error::Cancelled)
    }

    /// The same until a deadline.
    pub(crate) async fn send_until(&self, part: Bytes, deadline: Instant) -> Result<(), Error> {
        match timeout_at(deadline, self.0.send(part)).await {
            Ok(Ok(())) => Ok(()),
            Ok(Err(_)) | Err(_) => Err(Error::Cancelled),
        }
    }
}
