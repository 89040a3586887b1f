//! Errors with their remedies.

use serde::Deserialize;
use trunkline::ErrorObject;

use crate::model::error::suggestion;

/// The useful data of the error objects of this crate and of the binding of params.
#[derive(Default, Deserialize)]
#[serde(default)]
struct Data {
    reason: Option<String>,
    kind: Option<String>,
    offset: Option<usize>,
    candidates: Vec<String>,
    /// The param with an invalid value.
    param: Option<String>,
    /// Unknown params.
    params: Vec<String>,
    /// Known params.
    declared: Vec<String>,
}

pub(super) fn text(arguments: &[u8], error: &ErrorObject) -> String {
    let data = error.data().and_then(|data| serde_json::from_str::<Data>(data.get()).ok());
    let data = data.unwrap_or_default();
    let mut text = error.message().to_owned();
    if let Some(reason) = &data.reason {
        text.push_str(": ");
        text.push_str(&reason_text(reason, &data));
    }
    if let Some(param) = &data.param {
        text.push_str(&format!(" (argument `{param}`)"));
    }
    if !data.params.is_empty() {
        text.push_str(&format!(": {}", quoted(&data.params)));
    }
    if !data.declared.is_empty() {
        text.push_str(&format!("; valid names: {}", quoted(&data.declared)));
    }
    if !text.ends_with('?') {
        text.push('.');
    }
    if let Some(place) = data.offset.and_then(|offset| place(arguments, offset)) {
        text.push_str(&place);
    }
    if let Some(remedy) = data.kind.as_deref().and_then(remedy) {
        text.push(' ');
        text.push_str(remedy);
    }
    text
}

/// Quotes SQLite's message, which these two kinds contain unquoted; a trigger may put any text into it.
fn reason_text(reason: &str, data: &Data) -> String {
    match (data.kind.as_deref(), reason.split_once(": ")) {
        (Some("sql" | "constraint"), Some((prefix, message))) => {
            let suggestion = suggestion(&data.candidates);
            let message = message.strip_suffix(&suggestion).unwrap_or(message);
            format!("{prefix}: {message:?}{suggestion}")
        }
        _ => reason.to_owned(),
    }
}

fn quoted(names: &[String]) -> String {
    let names: Vec<String> = names.iter().map(|name| format!("{name:?}")).collect();
    names.join(", ")
}

/// The place of the error in the query.
fn place(arguments: &[u8], offset: usize) -> Option<String> {
    const SHOWN: usize = 40;
    #[derive(Deserialize)]
    struct Arguments {
        query: String,
    }
    let arguments: Arguments = serde_json::from_slice(arguments).ok()?;
    let rest: String = arguments.query.get(offset..)?.chars().take(SHOWN).collect();
    Some(format!(" The error is at byte {offset} of the query, before {rest:?}."))
}

fn remedy(kind: &str) -> Option<&'static str> {
    Some(match kind {
        "unknown_table" => "Call list_tables for the tables.",
        "unknown_column" => "Call describe_table for the columns.",
        "multiple_statements" => "Send each statement in a separate call.",
        "timeout" => "Narrow the filters, add a LIMIT, or check EXPLAIN QUERY PLAN.",
        "constraint" => "Nothing was changed.",
        "out_of_memory" => "Sort, group or join fewer rows.",
        _ => return None,
    })
}
