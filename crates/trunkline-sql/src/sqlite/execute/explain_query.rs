use crate::model::error::Error;
use crate::model::plan::{ExplainQuery, PlanStep, QueryPlan};
use crate::model::read::Params;
use crate::sqlite::execute::raw_query::bind;
use crate::sqlite::raw_sql::restricted;
use crate::sqlite::schema::suggest_names;
use crate::sqlite::session::Session;
use crate::sqlite::value;

pub(crate) fn explain_query(
    session: &mut Session<'_>,
    request: &ExplainQuery,
) -> Result<QueryPlan, Error> {
    let steps = restricted(session, &request.query, |session, sql| {
        steps(session, sql, request.params.as_ref())
    });
    let steps = steps.map_err(|error| suggest_names(session, &request.query, error))?;
    Ok(QueryPlan { steps: children(&steps, 0) })
}

/// A step with its number and that of the step which contains it.
struct Step {
    id: i64,
    parent: i64,
    detail: String,
}

fn steps(session: &Session<'_>, sql: &str, params: Option<&Params>) -> Result<Vec<Step>, Error> {
    const EXPLAIN: &str = "EXPLAIN QUERY PLAN ";
    // Checks the statement itself: with `EXPLAIN`, every statement is a reading one.
    bind(&mut session.prepare(sql)?, params)?;
    let explained = session.prepare(&format!("{EXPLAIN}{sql}"));
    let mut statement = explained.map_err(|error| without_prefix(error, EXPLAIN.len()))?;
    bind(&mut statement, params)?;
    let mut rows = statement.raw_query();
    let mut steps = Vec::new();
    while let Some(row) = rows.next()? {
        let detail = value::some_text(row, 3)?;
        steps.push(Step { id: row.get(0)?, parent: row.get(1)?, detail });
    }
    Ok(steps)
}

/// Corrects the place of an error.
fn without_prefix(mut error: Error, length: usize) -> Error {
    if let Error::Sql { offset: Some(offset), .. } = &mut error {
        *offset = offset.saturating_sub(length);
    }
    error
}

/// The steps within a step. SQLite numbers a step before those within it, so this ends.
fn children(steps: &[Step], parent: i64) -> Vec<PlanStep> {
    let within = steps.iter().filter(|step| step.parent == parent && step.id > parent);
    within
        .map(|step| PlanStep {
            detail: step.detail.clone(),
            steps: children(steps, step.id),
            ..PlanStep::default()
        })
        .collect()
}
