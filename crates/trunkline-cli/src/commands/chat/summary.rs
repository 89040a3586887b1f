//! Calls and their outcomes, one line each.

use indexmap::IndexMap;
use serde::Deserialize;
use serde_json::value::RawValue;

use crate::client::{Step, StepError};
use crate::terminal::{cut, line};

/// `table="Track" limit=3`
pub(super) fn arguments_text(json: &str) -> String {
    let Ok(members) = serde_json::from_str::<IndexMap<String, &RawValue>>(json) else {
        return one_line(json);
    };
    let one =
        |(name, value): (String, &RawValue)| format!("{}={}", line(&name), one_line(value.get()));
    members.into_iter().map(one).collect::<Vec<_>>().join(" ")
}

/// `< 3 rows, 12 ms`, after `name`. A long text is cut before the time.
pub(super) fn step_text(step: &Step, name: &str, columns: usize) -> String {
    let text = match (&step.error, &step.result) {
        (Some(error), _) => error_text(error),
        (None, Some(result)) => result_text(result),
        (None, None) => "no result".to_owned(),
    };
    let is_made = step.error.as_ref().is_none_or(|error| !error.is_refusal());
    let time = if is_made { format!(", {} ms", step.ms) } else { String::new() };
    let text = format!("< {name}{text}");
    format!("{}{time}", cut(&text, columns.saturating_sub(time.len())))
}

/// The number of rows, with the values of a single row; a text; or JSON.
fn result_text(result: &RawValue) -> String {
    #[derive(Deserialize)]
    struct Rows<'r> {
        #[serde(borrow)]
        rows: Vec<&'r RawValue>,
        #[serde(default)]
        truncated: bool,
    }
    if let Ok(Rows { rows, truncated }) = serde_json::from_str(result.get()) {
        return match &rows[..] {
            [row] if !truncated => format!("1 row: {}", one_line(row.get())),
            [_] => "1 row (more available)".to_owned(),
            rows if truncated => format!("{} rows (more available)", rows.len()),
            rows => format!("{} rows", rows.len()),
        };
    }
    if let Some(count) = count(result) {
        return count;
    }
    match serde_json::from_str::<String>(result.get()) {
        Ok(text) => line(&text).into_owned(),
        Err(_) => one_line(result.get()),
    }
}

/// `8 tables` for a result with one array, such as `{"tables": […], "next_cursor": null}`.
fn count(result: &RawValue) -> Option<String> {
    let members = serde_json::from_str::<IndexMap<String, &RawValue>>(result.get()).ok()?;
    let mut nested = members.iter().filter(|(_, value)| value.get().starts_with(['[', '{']));
    let (name, array) = nested.next()?;
    let elements: Vec<&RawValue> = serde_json::from_str(array.get()).ok()?;
    let name = match (elements.len(), name.strip_suffix('s')) {
        (1, Some(singular)) => singular,
        _ => name,
    };
    nested.next().is_none().then(|| format!("{} {}", elements.len(), line(name)))
}

fn error_text(error: &StepError) -> String {
    let reason = error.data.as_ref().and_then(|data| reason(data));
    let reason = reason.map(|reason| format!(": {}", line(&reason))).unwrap_or_default();
    let message = line(&error.message);
    match error.is_refusal() {
        true => format!("{message}{reason}"),
        false => format!("error {}: {message}{reason}", error.code),
    }
}

/// The reason why a call failed, or the problem of its first invalid argument.
fn reason(data: &RawValue) -> Option<String> {
    #[derive(Deserialize)]
    struct Data {
        reason: Option<String>,
        #[serde(default)]
        errors: Vec<Problem>,
    }
    #[derive(Deserialize)]
    struct Problem {
        #[serde(default)]
        pointer: String,
        reason: String,
    }
    let Data { reason, errors } = serde_json::from_str(data.get()).ok()?;
    let first = errors.first().map(|Problem { pointer, reason }| format!("{pointer} {reason}"));
    reason.or_else(|| first.map(|first| first.trim_start().to_owned()))
}

/// JSON on one line, with control characters escaped.
fn one_line(json: &str) -> String {
    // In strings, these are always escaped.
    line(&json.replace(['\n', '\r', '\t'], " ")).into_owned()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn summarizes_arguments() {
        for (json, expected) in [
            ("{}", ""),
            (r#"{"table": "Track", "limit":3.0}"#, r#"table="Track" limit=3.0"#),
            ("{\"a\":\n[1]}", "a=[1]"),
            ("{\"a\\u001b\":\"\u{9b}\"}", r#"a\u{1b}="\u{9b}""#),
            ("[1]", "[1]"),
        ] {
            assert_eq!(arguments_text(json), expected, "{json}");
        }
    }

    #[track_caller]
    fn check(outcome: &str, expected: &str) {
        let step = format!(r#"{{"tool":"t","arguments":{{}},"ms":7,{outcome}}}"#);
        let step: Step = serde_json::from_str(&step).unwrap();
        assert_eq!(step_text(&step, "", 40), expected, "{outcome}");
    }

    #[test]
    fn summarizes_steps() {
        check(r#""result":{"rows":[],"columns":[]}"#, "< 0 rows, 7 ms");
        check(r#""result":{"rows":[[3503]]}"#, "< 1 row: [3503], 7 ms");
        check(r#""result":{"rows":[[1],[2]],"truncated":true}"#, "< 2 rows (more available), 7 ms");
        check(r#""result":{"rows":3}"#, r#"< {"rows":3}, 7 ms"#);
        check(r#""result":{"tables":[1,2],"next_cursor":null}"#, "< 2 tables, 7 ms");
        check(r#""result":{"tables":[1]}"#, "< 1 table, 7 ms");
        check(r#""result":{"a":[1],"b":[]}"#, r#"< {"a":[1],"b":[]}, 7 ms"#);
        check(r#""result":"two\nlines""#, r"< two\nlines, 7 ms");
        check(r#""result":null"#, "< no result, 7 ms");
        let long = format!(r#""result":"{}""#, "x".repeat(50));
        check(&long, &format!("< {}…, 7 ms", "x".repeat(31)));
        check(
            r#""error":{"code":-32003,"message":"M","data":{"reason":"no\u001b"}}"#,
            r"< error -32003: M: no\u{1b}, 7 ms",
        );
        check(
            r#""error":{"code":-32602,"message":"M","data":{"errors":[{"pointer":"/a","reason":"no"}]}}"#,
            "< error -32602: M: /a no, 7 ms",
        );
        check(r#""error":{"code":-32003,"message":"M","data":[]}"#, "< error -32003: M, 7 ms");
        check(r#""error":{"code":-32009,"message":"Not confirmed"}"#, "< Not confirmed");
    }
}
