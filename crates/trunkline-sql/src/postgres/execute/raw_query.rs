use tokio_postgres::Statement;

use crate::model::error::Error;
use crate::model::read::{Changed, Params, RawOutcome, RawQuery};
use crate::postgres::params::{self, TextParam};
use crate::postgres::raw_sql;
use crate::postgres::rows::Collector;
use crate::postgres::transaction::Transaction;
use crate::query::raw;

/// In a read-only transaction.
pub(crate) async fn read(
    transaction: &mut Transaction,
    request: &RawQuery,
) -> Result<RawOutcome, Error> {
    transaction.note_sql_of_caller();
    let mut collector = Collector::new(raw::bounds(request, transaction.limits()));
    let complete = |collector: Collector, transaction: &Transaction| {
        Ok(RawOutcome::Rows(raw::complete(collector.finish()?, transaction.limits())?))
    };
    if let Some(statement) = transaction.kept_statement(&request.query) {
        let values = bind(&statement, request.params.as_ref())?;
        if collector.read_kept(transaction, &statement, values).await? {
            return complete(collector, transaction);
        }
        transaction.restart(&request.query).await?;
    }
    let statement = raw_sql::prepare(transaction, &request.query).await?;
    let values = bind(&statement, request.params.as_ref())?;
    collector.read(transaction, &statement, values).await?;
    transaction.keep_statement(&request.query, statement);
    complete(collector, transaction)
}

/// In a transaction that is committed.
pub(crate) async fn write(
    transaction: &mut Transaction,
    request: &RawQuery,
) -> Result<RawOutcome, Error> {
    transaction.note_sql_of_caller();
    let mut collector = Collector::new(raw::bounds(request, transaction.limits()));
    let statement = transaction.begin_and_prepare(&request.query).await?;
    let values = bind(&statement, request.params.as_ref())?;
    let rows_affected = collector.write(transaction, &statement, values).await?;
    let changed = transaction.changed_rows().await?;
    if statement.columns().is_empty() {
        transaction.check_changed(changed.max(rows_affected), request.max_affected)?;
        return Ok(RawOutcome::Changed(Changed { rows_affected, last_insert_rowid: None }));
    }
    transaction.check_changed(changed, request.max_affected)?;
    let rowset = raw::complete_write(collector.finish()?, transaction.limits(), changed > 0)?;
    Ok(RawOutcome::Rows(rowset))
}

/// The values of the parameters. A missing value and a value without a parameter are errors.
pub(super) fn bind(
    statement: &Statement,
    params: Option<&Params>,
) -> Result<Vec<TextParam>, Error> {
    let values = match params {
        None => &[],
        Some(Params::ByPosition(values)) => values.as_slice(),
        Some(Params::ByName(_)) => {
            let reason = "PostgreSQL has no named parameters; write $1, $2, … and send a list";
            return Err(Error::BadParams { reason: reason.to_owned() });
        }
    };
    let count = statement.params().len();
    if values.len() != count {
        let given = values.len();
        let reason = format!("the statement has {count} parameters, but there are {given} values");
        return Err(Error::BadParams { reason });
    }
    let bind = |(number, (json, kind))| {
        params::from_json(json, kind)
            .map_err(|reason| Error::BadParam { number, reason: reason.to_owned() })
    };
    (1..).zip(values.iter().zip(statement.params())).map(bind).collect()
}
