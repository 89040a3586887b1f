//! Running one statement, and collecting its rows.

use std::pin::{Pin, pin};
use std::time::{Duration, Instant};

use futures_util::TryStreamExt;
use tokio::time::timeout;
use tokio_postgres::error::SqlState;
use tokio_postgres::types::{FromSql, Kind, Type};
use tokio_postgres::{Column, Row, RowStream, Statement};

use super::error::of_statement;
use super::params::TextParam;
use super::transaction::Transaction;
use super::value;
use crate::model::error::{BoxError, Error};
use crate::model::export::{ExportSender, Exported};
use crate::model::json_text;
use crate::model::row_encoder::RowEncoder;
use crate::model::rowset::{Bounds, ResultColumn, RowWriter, Rowset};
use crate::model::value::Value;
use crate::model::visibility::ResultMasks;

/// Time for reading the rows after the maximum of a reading statement. If there are more, the statement is cancelled.
const DRAIN_TIME: Duration = Duration::from_millis(20);

/// Collects the rows of one result, from one statement or from several with the same columns.
pub(super) struct Collector {
    rows: RowWriter,
    columns: Option<Vec<ResultColumn>>,
    /// The number of columns at the end that are the key of a row, and not in the result.
    key_width: usize,
    masks: ResultMasks,
    /// Whether each column is received as text. Empty if none is.
    is_text: Vec<bool>,
    key: Option<Vec<Value>>,
}

impl Collector {
    pub(super) fn new(bounds: Bounds) -> Self {
        let rows = RowWriter::new(bounds, Instant::now());
        let masks = ResultMasks::default();
        Self { rows, columns: None, key_width: 0, masks, is_text: Vec::new(), key: None }
    }

    /// Uses the last columns, which are texts, as the key of each row and omits them from the result.
    pub(super) fn keyed_by_last(mut self, columns: usize) -> Self {
        self.key_width = columns;
        self
    }

    /// Masks columns of the result.
    pub(super) fn masked_by(mut self, masks: ResultMasks) -> Self {
        self.masks = masks;
        self
    }

    /// The key of the last collected row.
    pub(super) fn take_key(&mut self) -> Option<Vec<Value>> {
        self.key.take()
    }

    /// Runs a reading statement. It is stopped soon after a limit.
    pub(super) async fn read(
        &mut self,
        transaction: &mut Transaction,
        statement: &Statement,
        params: Vec<TextParam>,
    ) -> Result<(), Error> {
        self.note_columns(statement);
        let connection = transaction.connection()?;
        let rows = connection.query_raw(statement, params, &self.is_text).await;
        let rows = rows.map_err(|error| of_statement(error, statement))?;
        self.take_rows(transaction, statement, rows).await
    }

    /// Runs a statement that earlier calls have prepared, and ends the transaction. Returns false if it must be prepared
    /// again.
    pub(super) async fn read_kept(
        &mut self,
        transaction: &mut Transaction,
        statement: &Statement,
        params: Vec<TextParam>,
    ) -> Result<bool, Error> {
        self.note_columns(statement);
        match transaction.send_last(statement, params, &self.is_text).await? {
            Ok(rows) => self.take_rows(transaction, statement, rows).await.map(|()| true),
            Err(error) if is_outdated(&error) => {
                transaction.note_lost_statement(&error);
                Ok(false)
            }
            Err(error) => Err(of_statement(error, statement)),
        }
    }

    async fn take_rows(
        &mut self,
        transaction: &mut Transaction,
        statement: &Statement,
        rows: RowStream,
    ) -> Result<(), Error> {
        let mut stream = pin!(rows);
        let of_statement = |error| of_statement(error, statement);
        while let Some(row) = stream.try_next().await.map_err(of_statement)? {
            self.take_row(&row)?;
            if self.rows.is_full() {
                if stop(transaction, stream).await? == Stopped::Unclear {
                    transaction.close_afterwards();
                }
                break;
            }
        }
        Ok(())
    }

    /// Runs a statement to its end, and returns the number of rows that it changed.
    pub(super) async fn write(
        &mut self,
        transaction: &Transaction,
        statement: &Statement,
        params: Vec<TextParam>,
    ) -> Result<u64, Error> {
        self.note_columns(statement);
        let of_statement = |error| of_statement(error, statement);
        let connection = transaction.connection()?;
        let rows = connection.query_raw(statement, params, &self.is_text).await;
        let mut stream = pin!(rows.map_err(of_statement)?);
        while let Some(row) = stream.try_next().await.map_err(of_statement)? {
            if !self.rows.is_full() {
                self.take_row(&row)?;
            }
            // That of the last row, even if it is not in the result.
            self.key = self.key_of(&row);
        }
        Ok(stream.rows_affected().unwrap_or(0))
    }

    fn note_columns(&mut self, statement: &Statement) {
        let width = statement.columns().len().saturating_sub(self.key_width);
        let columns = statement.columns().iter().take(width);
        let columns = || self.masks.of_columns(columns.map(result_column).collect());
        self.columns.get_or_insert_with(columns);
        self.is_text = value::text_columns(statement.columns());
    }

    fn take_row(&mut self, row: &Row) -> Result<(), Error> {
        let width = row.len().saturating_sub(self.key_width);
        let (masks, is_text) = (&self.masks, &self.is_text);
        let write = |text: &mut Vec<u8>, max_bytes: usize| {
            write_row(text, row, (width, max_bytes), (masks, is_text))
        };
        if self.rows.row(write)? {
            self.key = self.key_of(row);
        }
        Ok(())
    }

    fn key_of(&self, row: &Row) -> Option<Vec<Value>> {
        let key = (row.len().saturating_sub(self.key_width)..row.len()).map(|index| {
            let text: Option<Bytes<'_>> = row.try_get(index).ok()?;
            Some(text.map_or(Value::Null, |text| Value::text(text.0.to_vec())))
        });
        key.collect()
    }

    pub(super) fn finish(self) -> Result<Rowset, Error> {
        self.rows.finish(self.columns.unwrap_or_default())
    }
}

/// Sends all rows of a reading statement as text. The driver reads no further rows while the receiver does not.
pub(super) async fn export(
    transaction: &Transaction,
    statement: &Statement,
    params: Vec<TextParam>,
    (mut encoder, parts): (RowEncoder, &ExportSender),
) -> Result<Exported, Error> {
    let is_text = value::text_columns(statement.columns());
    let of_statement = |error| of_statement(error, statement);
    let rows = transaction.connection()?.query_raw(statement, params, &is_text).await;
    let mut stream = pin!(rows.map_err(of_statement)?);
    let mut has_begun = false;
    loop {
        let row = stream.try_next().await.map_err(of_statement)?;
        if !has_begun {
            // After the first row: an error before it is that of the call.
            encoder.begin(statement.columns().iter().map(result_column).collect());
            has_begun = true;
        }
        let Some(row) = row else { break };
        encoder.row(|index, text| write_value(text, &row, index, &is_text))?;
        if let Some(part) = encoder.part() {
            parts.send(part).await?;
        }
    }
    let (last, exported) = encoder.finish();
    parts.send(last).await?;
    Ok(exported)
}

/// Whether a prepared statement does not fit the schema any more, or is missing in the session.
fn is_outdated(error: &tokio_postgres::Error) -> bool {
    let code = error.code().map(SqlState::code).unwrap_or_default();
    // The types of its result have changed; it is missing; or it contains names that are not valid any more.
    code == "0A000" || code == "26000" || code.starts_with("42")
}

#[derive(PartialEq, Eq)]
enum Stopped {
    Ended,
    /// The statement ended before the request to cancel it arrived, which could reach another statement.
    Unclear,
}

/// Reads the rest of a result, which ends the statement normally, or cancels it.
async fn stop(
    transaction: &Transaction,
    mut stream: Pin<&mut RowStream>,
) -> Result<Stopped, Error> {
    let rest = async {
        while stream.try_next().await?.is_some() {}
        Ok::<_, Error>(())
    };
    if let Ok(ended) = timeout(DRAIN_TIME, rest).await {
        return ended.map(|()| Stopped::Ended);
    }
    let Some(cancellation) = transaction.cancellation() else { return Ok(Stopped::Unclear) };
    // The rows on the way are read meanwhile, so that the server is not blocked by them.
    let rest = async {
        while stream.try_next().await?.is_some() {}
        Ok::<_, Error>(())
    };
    let (ended, ()) = tokio::join!(rest, cancellation);
    match ended {
        Err(Error::Cancelled) => Ok(Stopped::Ended),
        Ok(()) => Ok(Stopped::Unclear),
        Err(error) => Err(error),
    }
}

/// Writes a row, and returns whether it fits. If not, the text may end anywhere.
fn write_row(
    text: &mut Vec<u8>,
    row: &Row,
    (width, max_bytes): (usize, usize),
    (masks, is_text): (&ResultMasks, &[bool]),
) -> Result<bool, Error> {
    text.push(b'[');
    for index in 0..width {
        if index > 0 {
            text.push(b',');
        }
        let start = text.len();
        write_value(text, row, index, is_text)?;
        masks.apply(index, text, start);
        // Messages on streams end with a line break.
        json_text::on_one_line(&mut text[start..]);
        if text.len() >= max_bytes {
            return Ok(false);
        }
    }
    text.push(b']');
    Ok(true)
}

fn write_value(text: &mut Vec<u8>, row: &Row, index: usize, is_text: &[bool]) -> Result<(), Error> {
    let bytes: Option<Bytes<'_>> = row.try_get(index)?;
    if let Some(bytes) = &bytes
        && is_text.get(index).is_some_and(|is_text| *is_text)
    {
        json_text::text(text, bytes.0);
        return Ok(());
    }
    let Some(column) = row.columns().get(index) else { return Err(Error::ReaderLost) };
    value::write(text, column.type_(), bytes.map(|bytes| bytes.0)).map_err(|_| unreadable(column))
}

fn unreadable(column: &Column) -> Error {
    Error::Sql {
        message: format!(
            "values of type {} cannot be read; convert the column: CAST(\"{}\" AS text)",
            type_name(column.type_()),
            column.name().escape_debug(),
        ),
        offset: None,
        table: None,
        column: Some(column.name().to_owned()),
        candidates: Vec::new(),
        report: None,
    }
}

/// The bytes of a value of any type.
struct Bytes<'v>(&'v [u8]);

impl<'v> FromSql<'v> for Bytes<'v> {
    fn from_sql(_: &Type, bytes: &'v [u8]) -> Result<Self, BoxError> {
        Ok(Self(bytes))
    }

    fn accepts(_: &Type) -> bool {
        true
    }
}

fn result_column(column: &Column) -> ResultColumn {
    ResultColumn { name: column.name().to_owned(), declared_type: Some(type_name(column.type_())) }
}

/// The name of a type in SQL.
fn type_name(kind: &Type) -> String {
    if let Kind::Array(element) = kind.kind()
        && kind.name().starts_with('_')
    {
        return format!("{}[]", type_name(element));
    }
    let name = match *kind {
        Type::BOOL => "boolean",
        Type::INT2 => "smallint",
        Type::INT4 => "integer",
        Type::INT8 => "bigint",
        Type::FLOAT4 => "real",
        Type::FLOAT8 => "double precision",
        Type::BPCHAR => "character",
        Type::VARCHAR => "character varying",
        Type::TIMESTAMP => "timestamp without time zone",
        Type::TIMESTAMPTZ => "timestamp with time zone",
        Type::TIME => "time without time zone",
        Type::TIMETZ => "time with time zone",
        Type::VARBIT => "bit varying",
        _ => kind.name(),
    };
    name.to_owned()
}
