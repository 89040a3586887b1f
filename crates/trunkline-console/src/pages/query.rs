//! The query box of a database: results, plans, charts and exports.

use askama::Template;
use axum::response::Response;
use serde_json::{Map, Value};

use super::databases::{DatabaseVisit, Head, SECTION};
use crate::chart::{self, Axis, Chart, Kind};
use crate::console::{Layout, Problem, Refused, page};
use crate::json::Json;
use crate::table::ResultView;
use crate::text;

/// A step of a plan, with its depth in the tree.
struct Step {
    depth: usize,
    detail: String,
    estimate: String,
}

struct Choice {
    value: String,
    label: String,
    is_selected: bool,
}

#[derive(Template)]
#[template(path = "query.html")]
struct QueryPage {
    layout: Layout,
    head: Head,
    sql: String,
    /// Whether the statement waits for a confirmation.
    confirm: bool,
    view: Option<ResultView>,
    plan: Vec<Step>,
    problem: Option<Problem>,
    millis: String,
    rows: String,
    is_truncated: bool,
    exports: Vec<(&'static str, String)>,
    /// The URL of the page with the statement.
    shared: String,
    kinds: Vec<Choice>,
    xs: Vec<Choice>,
    ys: Vec<Choice>,
    chart: Option<Chart>,
}

pub(super) async fn form(visit: DatabaseVisit) -> Result<Response, Refused> {
    Ok(page(&query_page(&visit)))
}

pub(super) async fn run(visit: DatabaseVisit) -> Result<Response, Refused> {
    let fields = &visit.visit.fields;
    let mut page_of = query_page(&visit);
    let mut params = Map::from_iter([("query".to_owned(), Value::from(&*page_of.sql))]);
    let is_plan = fields.get("action") == Some("plan");
    let operation = if is_plan { "explain_query" } else { "execute_raw_query" };
    if visit.database.is_writable && fields.get("changes") == Some("yes") && !is_plan {
        params.insert("read_only".to_owned(), false.into());
    }
    match visit.call(operation, params).await {
        Ok(called) if is_plan => {
            add_steps(called.result.items("steps"), 0, &mut page_of.plan);
            page_of.millis = text::millis(called.millis);
        }
        Ok(called) => {
            let result = &called.result;
            page_of.millis = text::millis(called.millis);
            page_of.rows = match result.get("row_count").and_then(Json::as_f64) {
                Some(1.0) => "1 row".to_owned(),
                Some(rows) => format!("{} rows", text::grouped(rows as u64)),
                None => String::new(),
            };
            page_of.is_truncated = result.get("truncated") == Some(&Json::Bool(true));
            page_of.exports = visit.exports(&page_of.sql);
            draw(&mut page_of, &visit, result);
            page_of.view = Some(ResultView::of(result, called.bytes));
        }
        Err(error) if visit.visit.asks(&error) => page_of.confirm = true,
        Err(error) => page_of.problem = Some(Problem::of(&error)),
    }
    Ok(page(&page_of))
}

fn query_page(visit: &DatabaseVisit) -> QueryPage {
    let fields = &visit.visit.fields;
    let sql = fields.text("sql").replace("\r\n", "\n");
    let head = visit.head("query");
    let shared = format!("{}/query{}", head.base, text::query(&[("sql", &sql)]));
    QueryPage {
        layout: visit.visit.layout(format!("Query · {}", visit.database.name), SECTION),
        head,
        sql,
        confirm: false,
        view: None,
        plan: Vec::new(),
        problem: None,
        millis: String::new(),
        rows: String::new(),
        is_truncated: false,
        exports: Vec::new(),
        shared,
        kinds: Vec::new(),
        xs: Vec::new(),
        ys: Vec::new(),
        chart: None,
    }
}

fn add_steps(steps: &[Json], depth: usize, plan: &mut Vec<Step>) {
    for step in steps {
        let number = |name: &str| step.get(name).and_then(Json::as_f64);
        let rows = number("rows").map(|rows| format!("{} rows", text::grouped(rows as u64)));
        let cost = number("cost").map(|cost| format!("cost {cost:.0}"));
        let estimate: Vec<String> = [rows, cost].into_iter().flatten().collect();
        plan.push(Step {
            depth: depth.min(12),
            detail: step.text("detail"),
            estimate: estimate.join(", "),
        });
        add_steps(step.items("steps"), depth + 1, plan);
    }
}

/// Adds the chart, and the choices of its axes.
fn draw(page: &mut QueryPage, visit: &DatabaseVisit, result: &Json) {
    let fields = &visit.visit.fields;
    let axes = chart::axes(result);
    let Some(first_number) = axes.iter().position(|axis| axis.is_numeric) else { return };
    let place = |name: &str| fields.get(name).and_then(|text| text.parse::<usize>().ok());
    let is_valid = |place: &usize| *place < axes.len();
    let label = axes.iter().position(|axis| !axis.is_numeric).unwrap_or(0);
    let x = place("x").filter(is_valid).unwrap_or(label);
    let other_number =
        axes.iter().enumerate().position(|(place, axis)| axis.is_numeric && place != x);
    let y = place("y").filter(is_valid).unwrap_or(other_number.unwrap_or(first_number));
    let kind = Kind::parse(fields.text("chart"));
    let choice = |selected: usize| {
        move |(place, axis): (usize, &Axis)| Choice {
            value: place.to_string(),
            label: axis.name.clone(),
            is_selected: place == selected,
        }
    };
    page.xs = axes.iter().enumerate().map(choice(x)).collect();
    let numbers = axes.iter().enumerate().filter(|(_, axis)| axis.is_numeric);
    page.ys = numbers.map(choice(y)).collect();
    let kinds = [("", "No chart"), ("bar", "Bars"), ("line", "Line"), ("points", "Points")];
    let selected = fields.text("chart");
    page.kinds = kinds
        .map(|(value, label)| Choice {
            value: value.to_owned(),
            label: label.to_owned(),
            is_selected: value == selected,
        })
        .into();
    page.chart = kind.and_then(|kind| Chart::of(result, kind, x, y));
}
