use std::time::Duration;

use bytes::Bytes;
use rusqlite::Statement;
use tokio::runtime::Handle;
use tokio::time::Instant;

use super::raw_query::bind;
use crate::model::error::Error;
use crate::model::export::{ExportRows, ExportSender, ExportSource, Exported};
use crate::model::file_value::ColumnKind;
use crate::model::read::Params;
use crate::model::row_encoder::RowEncoder;
use crate::model::visibility::ResultMasks;
use crate::query::select::select;
use crate::sqlite::collect::result_columns;
use crate::sqlite::raw_sql::restricted;
use crate::sqlite::schema::suggest_names;
use crate::sqlite::session::Session;
use crate::sqlite::value;

/// An export on a reader.
pub(crate) struct ExportJob {
    request: ExportRows,
    parts: ExportSender,
    deadline: Instant,
    /// Waits for the receiver, and thus blocks the thread of the reader.
    runtime: Handle,
    has_sent: bool,
}

/// The columns of a result.
#[derive(Default)]
struct Columns {
    masks: ResultMasks,
    /// The kinds of the columns of a table. None for the rows of a statement.
    kinds: Vec<ColumnKind>,
}

impl ExportJob {
    /// An export of the current call.
    pub(crate) fn new(request: ExportRows, parts: ExportSender, timeout: Duration) -> Self {
        let deadline = Instant::now() + timeout;
        Self { request, parts, deadline, runtime: Handle::current(), has_sent: false }
    }

    /// If the file changed under a run, there is another one, which fails after a part was sent.
    pub(crate) fn run(&mut self, session: &mut Session<'_>) -> Result<Exported, Error> {
        if self.has_sent {
            return Err(Error::Changing);
        }
        let (sql, params) = match &self.request.source {
            ExportSource::Table(name) => {
                let table = session.table(name)?;
                let masks = table.visible_masks(&session.config().rules);
                let kind = |column| ColumnKind::of(column, table.dialect);
                let kinds = table.visible_columns().map(kind).collect();
                let found = Columns { masks, kinds };
                let columns = table.visible_columns();
                let sql = select(columns.map(|column| table.dialect.column(&column.name)), &table);
                return self.send_statement(session, &sql, None, found);
            }
            ExportSource::Query { sql, params } => (sql.clone(), params.clone()),
        };
        let exported = restricted(session, &sql, |session, sql| {
            self.send_statement(session, sql, params.as_ref(), Columns::default())
        });
        exported.map_err(|error| suggest_names(session, &sql, error))
    }

    fn send_statement(
        &mut self,
        session: &Session<'_>,
        sql: &str,
        params: Option<&Params>,
        Columns { masks, kinds }: Columns,
    ) -> Result<Exported, Error> {
        let mut statement = session.prepare(sql)?;
        bind(&mut statement, params)?;
        let max_rows = session.config().limits.max_export_rows;
        let encoder = RowEncoder::new(self.request.format, max_rows).masked_by(masks);
        self.send_rows(&mut statement, encoder.of_table(kinds.clone()), &kinds)
    }

    fn send_rows(
        &mut self,
        statement: &mut Statement<'_>,
        mut encoder: RowEncoder,
        kinds: &[ColumnKind],
    ) -> Result<Exported, Error> {
        let format = self.request.format.format;
        let mut has_begun = false;
        let mut rows = statement.raw_query();
        while let Some(row) = rows.next()? {
            if !has_begun {
                // After the first step, in which SQLite recompiles the statement if the schema has changed.
                encoder.begin(result_columns(row.as_ref(), 0));
                has_begun = true;
            }
            encoder.row(|index, text| {
                let value = row.get_ref(index)?;
                match kinds.get(index) {
                    Some(kind) => value::write_in_file(text, value, *kind, format),
                    None => value::write(text, value),
                }
                Ok::<_, Error>(())
            })?;
            if let Some(part) = encoder.part() {
                self.send(part)?;
            }
        }
        drop(rows);
        if !has_begun {
            encoder.begin(result_columns(statement, 0));
        }
        let (last, exported) = encoder.finish();
        self.send(last)?;
        Ok(exported)
    }

    fn send(&mut self, part: Bytes) -> Result<(), Error> {
        self.has_sent = true;
        self.runtime.block_on(self.parts.send_until(part, self.deadline))
    }
}
