use serde_json::value::RawValue;
use trunkline::protocol::OptionalFromCall;
use trunkline::{Call, ErrorObject};

use crate::database::Database;
use crate::model::error::Error;
use crate::model::export::{ExportRows, ExportSender, ExportText};
use crate::model::read::{RawOutcome, RawQuery};
use crate::model::rowset::Rowset;

/// The receiver of the rows of a call, as an extension of the call.
#[derive(Clone, Debug)]
pub(crate) struct ExportTarget {
    pub(crate) format: ExportText,
    pub(crate) parts: ExportSender,
}

impl<S> OptionalFromCall<S> for ExportTarget {
    fn from_call(call: &mut Call, _: &S) -> Result<Option<Self>, ErrorObject> {
        Ok(call.extensions().get::<Self>().cloned())
    }
}

impl ExportTarget {
    /// Sends the rows of a statement. The outcome is their number.
    pub(crate) async fn export(
        self,
        database: &Database,
        request: RawQuery,
    ) -> Result<RawOutcome, Error> {
        if !request.read_only {
            return Err(Error::argument("read_only", "only a reading statement can be exported"));
        }
        let mut export = ExportRows::query(request.query, request.params, self.format);
        export.timeout = request.timeout_ms.map(std::time::Duration::from_millis);
        let exported = database.export_rows(export, self.parts).await?;
        Ok(RawOutcome::Rows(Rowset {
            columns: exported.columns,
            rows: RawValue::from_string("[]".to_owned()).map_err(|_| Error::ReaderLost)?,
            row_count: exported.rows,
            truncated: false,
            truncated_by: None,
            next_cursor: None,
            hint: None,
            elapsed_ms: 0.0,
        }))
    }
}
