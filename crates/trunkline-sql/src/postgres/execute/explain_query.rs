use serde_json::{Map, Value as Json};

use super::raw_query::bind;
use crate::model::error::Error;
use crate::model::plan::{ExplainQuery, PlanStep, QueryPlan};
use crate::model::profile::cells;
use crate::model::rowset::Bounds;
use crate::postgres::raw_sql;
use crate::postgres::rows::Collector;
use crate::postgres::transaction::Transaction;

/// The prefix of the statement. Without `ANALYZE`, it is not run.
const EXPLAIN: &str = "EXPLAIN (FORMAT JSON) ";

pub(crate) async fn explain_query(
    transaction: &mut Transaction,
    request: &ExplainQuery,
) -> Result<QueryPlan, Error> {
    transaction.note_sql_of_caller();
    let sql = format!("{EXPLAIN}{}", request.query);
    let statement = raw_sql::prepare(transaction, &sql).await.map_err(without_prefix)?;
    let values = bind(&statement, request.params.as_ref())?;
    let max_bytes = transaction.limits().max_bytes;
    let mut collector = Collector::new(Bounds { max_rows: 1, max_bytes });
    collector.read(transaction, &statement, values).await.map_err(without_prefix)?;
    let rows = cells(&collector.finish()?);
    let plan = rows.into_iter().flatten().next().unwrap_or_default();
    // A value of the type json is its text.
    let plan = match plan {
        Json::String(text) => serde_json::from_str(&text).unwrap_or_default(),
        plan => plan,
    };
    let root = plan.get(0).and_then(|first| first.get("Plan")).and_then(Json::as_object);
    Ok(QueryPlan { steps: root.map(step).into_iter().collect() })
}

fn without_prefix(mut error: Error) -> Error {
    if let Error::Sql { offset: Some(offset), .. } = &mut error {
        *offset = offset.saturating_sub(EXPLAIN.len());
    }
    error
}

/// A node of PostgreSQL's plan. Its depth is bounded by `serde_json`.
fn step(node: &Map<String, Json>) -> PlanStep {
    const CONDITIONS: [&str; 9] = [
        "Index Cond",
        "Recheck Cond",
        "Hash Cond",
        "Merge Cond",
        "Join Filter",
        "Filter",
        "Sort Key",
        "Group Key",
        "Subplan Name",
    ];
    let text = |name: &str| node.get(name).and_then(Json::as_str);
    let number = |name: &str| node.get(name).and_then(Json::as_f64);
    let mut detail = String::new();
    let strategy = text("Strategy").filter(|strategy| *strategy != "Plain");
    for kind in [strategy, text("Join Type")].into_iter().flatten() {
        detail.push_str(kind);
        detail.push(' ');
    }
    detail.push_str(text("Node Type").unwrap_or("?"));
    for (word, name) in [("using", "Index Name"), ("on", "Relation Name"), ("on", "CTE Name")] {
        if let Some(name) = text(name) {
            detail.push_str(&format!(" {word} {name}"));
        }
    }
    if let Some(alias) = text("Alias").filter(|alias| Some(*alias) != text("Relation Name")) {
        detail.push_str(&format!(" as {alias}"));
    }
    for name in CONDITIONS {
        match node.get(name) {
            Some(Json::String(condition)) => detail.push_str(&format!("; {name}: {condition}")),
            Some(Json::Array(keys)) => {
                let keys: Vec<&str> = keys.iter().filter_map(Json::as_str).collect();
                detail.push_str(&format!("; {name}: {}", keys.join(", ")));
            }
            _ => {}
        }
    }
    let nodes = node.get("Plans").and_then(Json::as_array).into_iter().flatten();
    PlanStep {
        detail,
        rows: number("Plan Rows"),
        cost: number("Total Cost"),
        steps: nodes.filter_map(Json::as_object).map(step).collect(),
    }
}
