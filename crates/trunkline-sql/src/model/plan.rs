//! Plans of statements.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::arguments;
use super::read::Params;

/// Returns the plan of a reading statement, which is not run.
#[derive(Clone, Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct ExplainQuery {
    /// One reading statement.
    #[schemars(description = "One reading statement")]
    pub query: String,
    /// Values of the statement's parameters.
    #[serde(default)]
    #[schemars(schema_with = "arguments::params", description = "Values for ?")]
    pub params: Option<Params>,
}

impl ExplainQuery {
    /// A statement without parameters.
    pub fn new(query: impl Into<String>) -> Self {
        Self { query: query.into(), params: None }
    }
}

/// The plan of a statement.
#[derive(Clone, Debug, Default, PartialEq, Serialize, JsonSchema)]
pub struct QueryPlan {
    /// The outermost steps. Those within a step come before its result.
    #[schemars(schema_with = "arguments::objects")]
    pub steps: Vec<PlanStep>,
}

/// A step of a plan.
#[derive(Clone, Debug, Default, PartialEq, Serialize)]
pub struct PlanStep {
    /// The step, as the engine describes it: `SCAN emp`, `Index Scan using emp_pkey on emp`.
    pub detail: String,
    /// Estimated number of rows, in PostgreSQL.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub rows: Option<f64>,
    /// Estimated total cost, in PostgreSQL.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub cost: Option<f64>,
    /// The steps within.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub steps: Vec<PlanStep>,
}
