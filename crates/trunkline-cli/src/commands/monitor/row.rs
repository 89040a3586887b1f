use serde::Deserialize;
use serde_json::value::RawValue;

use crate::terminal::{cut, line};

/// The members of an entry that are shown. Members that a server omits are empty.
#[derive(Deserialize)]
pub(super) struct Row<'e> {
    time: String,
    #[serde(default)]
    kind: String,
    #[serde(default)]
    endpoint: String,
    method: Option<String>,
    operation: Option<String>,
    #[serde(borrow)]
    id: Option<&'e RawValue>,
    #[serde(default)]
    status: String,
    code: Option<i64>,
    #[serde(default)]
    ms: f64,
}

pub(super) const HEADER: [&str; 6] = ["time", "endpoint", "method", "id", "status", "ms"];

/// The emphasis of a line on a terminal.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Tone {
    Plain,
    Failed,
    Cancelled,
}

impl Row<'_> {
    pub(super) fn tone(&self) -> Tone {
        match &*self.status {
            "error" => Tone::Failed,
            "cancelled" => Tone::Cancelled,
            _ => Tone::Plain,
        }
    }

    /// Returns a line without its end, for a terminal of this width or for a pipe.
    pub(super) fn line(&self, columns: Option<usize>) -> String {
        let ms = format!("{:.3}", self.ms);
        let cells = [self.clock(), &self.endpoint, &self.call(), &self.id(), &self.outcome(), &ms];
        lay_out(cells, columns)
    }

    /// The time of day of `2026-07-28T09:30:00.123Z`.
    fn clock(&self) -> &str {
        let clock = self.time.split_once('T').map_or(&*self.time, |(_, clock)| clock);
        clock.trim_end_matches('Z')
    }

    /// The method, and the operation if it has another name.
    fn call(&self) -> String {
        let method = self.method.as_deref().unwrap_or("-");
        match &self.operation {
            Some(operation) => format!("{method} {operation}"),
            None => method.to_owned(),
        }
    }

    fn id(&self) -> String {
        self.id.map_or_else(|| "-".to_owned(), |id| id.get().to_owned())
    }

    fn outcome(&self) -> String {
        match (&*self.kind, self.code) {
            ("stream_start", _) => "stream".to_owned(),
            ("stream_end", _) if self.status == "cancelled" => "stream cut".to_owned(),
            ("stream_end", _) => "stream ended".to_owned(),
            (_, Some(code)) => format!("{} {code}", self.status),
            (_, None) => self.status.clone(),
        }
    }
}

/// Columns of fixed widths, since lines are printed one by one. On a terminal, the method has the remaining width,
/// and cells are cut. In a pipe, nothing is cut.
pub(super) fn lay_out(cells: [&str; 6], columns: Option<usize>) -> String {
    /// The width of all columns but the method and the id, with the gaps.
    const OTHERS: usize = 12 + 8 + 12 + 9 + 5 * 2;
    const STATUS: usize = 12;
    const METHOD_IN_A_PIPE: usize = 32;
    /// A narrower column would make methods indistinguishable.
    const MIN_METHOD: usize = 12;
    /// A wider column would move the other ones far away.
    const MAX_METHOD: usize = 48;
    const ID: usize = 12;
    /// The width of ids on narrower terminals than `WIDE`.
    const SHORT_ID: usize = 6;
    const WIDE: usize = 100;
    let [time, via, method, id, status, ms] = cells.map(line);
    let Some(columns) = columns else {
        const WIDTH: usize = METHOD_IN_A_PIPE;
        return format!(
            "{time:<12}  {via:<8}  {method:<WIDTH$}  {id:<ID$}  {status:<STATUS$}  {ms:>9}"
        );
    };
    let id_width = if columns < WIDE { SHORT_ID } else { ID };
    let width = columns.saturating_sub(OTHERS + id_width).clamp(MIN_METHOD, MAX_METHOD);
    let (method, id, status) = (cut(&method, width), cut(&id, id_width), cut(&status, STATUS));
    format!("{time:<12}  {via:<8}  {method:<width$}  {id:<id_width$}  {status:<STATUS$}  {ms:>9}")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[track_caller]
    fn check(entry: &str, tone: Tone, expected: &[&str]) {
        let row: Row<'_> = serde_json::from_str(entry).unwrap();
        let line = row.line(None);
        let cells: Vec<&str> = line.split("  ").map(str::trim).filter(|c| !c.is_empty()).collect();
        assert_eq!((row.tone(), &*cells), (tone, expected), "{entry}");
    }

    #[test]
    fn renders_entries() {
        let time = r#""time":"2026-07-28T09:30:00.123Z""#;
        let entry = |members: &str| format!("{{{time},{members}}}");
        let clock = "09:30:00.123";
        check(
            &entry(
                r#""kind":"call","endpoint":"mcp","method":"tools/call","operation":"db.a","id":"x","status":"result","ms":1.5"#,
            ),
            Tone::Plain,
            &[clock, "mcp", "tools/call db.a", "\"x\"", "result", "1.500"],
        );
        check(
            &entry(
                r#""kind":"call","endpoint":"json-rpc","status":"error","code":-32700,"id":null,"ms":0.004"#,
            ),
            Tone::Failed,
            &[clock, "json-rpc", "-", "-", "error -32700", "0.004"],
        );
        check(
            &entry(
                r#""kind":"call","endpoint":"d","method":"a\u001b[2J","status":"cancelled","ms":12345.6"#,
            ),
            Tone::Cancelled,
            &[clock, "d", "a\\u{1b}[2J", "-", "cancelled", "12345.600"],
        );
        check(
            &entry(
                r#""kind":"stream_start","endpoint":"d","method":"GET /sse","status":"result","ms":0"#,
            ),
            Tone::Plain,
            &[clock, "d", "GET /sse", "-", "stream", "0.000"],
        );
        check(
            &entry(
                r#""kind":"stream_end","endpoint":"d","method":"m","id":1.0,"status":"cancelled","ms":0"#,
            ),
            Tone::Cancelled,
            &[clock, "d", "m", "1.0", "stream cut", "0.000"],
        );
        check(r#"{"time":"?"}"#, Tone::Plain, &["?", "-", "-", "0.000"]);
    }

    #[test]
    fn fits_the_terminal() {
        let method = "a.method.of.a.long.name";
        for (columns, id, status, width, expected) in [
            (None, "1", "result", 95, "  a.method.of.a.long.name           1 "),
            (None, "\"abcdefgh\"", "result", 95, "  \"abcdefgh\"    result  "),
            (Some(120), "1", "result", 111, "  a.method.of.a.long.name "),
            (Some(120), "123456789012", "result", 111, "  123456789012  result  "),
            (Some(120), "1234567890123", "result", 111, "  12345678901…  result  "),
            (Some(200), "1", "result", 111, "  a.method.of.a.long.name "),
            (Some(80), "1", "result", 80, "  a.method.of.a.long.name  1 "),
            (Some(80), "123456789", "error -32601", 80, "  12345…  error -32601  "),
            (Some(80), "1", "error -1234567890", 80, "  error -1234…  "),
            (Some(79), "1", "result", 79, "  a.method.of.a.long.na…  1 "),
            (Some(20), "1", "result", 69, "  a.method.of…  1 "),
        ] {
            let cells = ["09:30:00.123", "json-rpc", method, id, status, "1.000"];
            let found = lay_out(cells, columns);
            assert_eq!(found.chars().count(), width, "{columns:?}: {found}");
            assert!(found.contains(expected) && found.ends_with(" 1.000"), "{columns:?}: {found}");
        }
    }
}
