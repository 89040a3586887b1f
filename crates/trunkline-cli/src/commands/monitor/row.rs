use serde::Deserialize;
use serde_json::value::RawValue;

use crate::terminal::{cut, line};

/// What is shown of an entry. What a server does not tell is left out.
#[derive(Deserialize)]
pub(super) struct Row<'e> {
    time: String,
    #[serde(default)]
    kind: String,
    #[serde(default)]
    door: String,
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

pub(super) const HEADER: [&str; 6] = ["time", "door", "method", "id", "status", "ms"];

/// How a line stands out on a terminal.
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

    /// One line, without its end, for a terminal of so many columns, or for a pipe.
    pub(super) fn line(&self, columns: Option<usize>) -> String {
        let ms = format!("{:.3}", self.ms);
        let cells = [self.clock(), &self.door, &self.what(), &self.id(), &self.ended(), &ms];
        laid_out(cells, columns)
    }

    /// The time of day of `2026-07-28T09:30:00.123Z`.
    fn clock(&self) -> &str {
        let clock = self.time.split_once('T').map_or(&*self.time, |(_, clock)| clock);
        clock.trim_end_matches('Z')
    }

    /// The method, and the operation behind it if that is another.
    fn what(&self) -> String {
        let method = self.method.as_deref().unwrap_or("-");
        match &self.operation {
            Some(operation) => format!("{method} {operation}"),
            None => method.to_owned(),
        }
    }

    fn id(&self) -> String {
        self.id.map_or_else(|| "-".to_owned(), |id| id.get().to_owned())
    }

    fn ended(&self) -> String {
        match (&*self.kind, self.code) {
            ("stream_start", _) => "stream".to_owned(),
            ("stream_end", _) if self.status == "cancelled" => "stream cut".to_owned(),
            ("stream_end", _) => "stream ended".to_owned(),
            (_, Some(code)) => format!("{} {code}", self.status),
            (_, None) => self.status.clone(),
        }
    }
}

/// Columns of a usual width, so that lines that come one by one are below each other. On a terminal, the
/// method has what is left, and nothing is wider than its column. In a pipe, nothing is cut.
pub(super) fn laid_out(cells: [&str; 6], columns: Option<usize>) -> String {
    /// What all but the method and the id take, with the blanks between them.
    const OTHERS: usize = 12 + 8 + 12 + 9 + 5 * 2;
    const STATUS: usize = 12;
    const METHOD_IN_A_PIPE: usize = 32;
    /// In less, no method can be told from another.
    const LEAST: usize = 12;
    /// An id, and one where there is little room.
    const ID: usize = 12;
    const SHORT_ID: usize = 6;
    /// Terminals that are as wide as this have room.
    const WIDE: usize = 100;
    let [time, door, method, id, status, ms] = cells.map(line);
    let Some(columns) = columns else {
        const WIDTH: usize = METHOD_IN_A_PIPE;
        return format!(
            "{time:<12}  {door:<8}  {method:<WIDTH$}  {id:<ID$}  {status:<STATUS$}  {ms:>9}"
        );
    };
    let id_width = if columns < WIDE { SHORT_ID } else { ID };
    let width = columns.saturating_sub(OTHERS + id_width).max(LEAST);
    let (method, id, status) = (cut(&method, width), cut(&id, id_width), cut(&status, STATUS));
    format!("{time:<12}  {door:<8}  {method:<width$}  {id:<id_width$}  {status:<STATUS$}  {ms:>9}")
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
    fn rows() {
        let time = r#""time":"2026-07-28T09:30:00.123Z""#;
        let entry = |members: &str| format!("{{{time},{members}}}");
        let clock = "09:30:00.123";
        check(
            &entry(
                r#""kind":"call","door":"mcp","method":"tools/call","operation":"db.a","id":"x","status":"result","ms":1.5"#,
            ),
            Tone::Plain,
            &[clock, "mcp", "tools/call db.a", "\"x\"", "result", "1.500"],
        );
        check(
            &entry(
                r#""kind":"call","door":"json-rpc","status":"error","code":-32700,"id":null,"ms":0.004"#,
            ),
            Tone::Failed,
            &[clock, "json-rpc", "-", "-", "error -32700", "0.004"],
        );
        check(
            &entry(
                r#""kind":"call","door":"d","method":"a\u001b[2J","status":"cancelled","ms":12345.6"#,
            ),
            Tone::Cancelled,
            &[clock, "d", "a\\u{1b}[2J", "-", "cancelled", "12345.600"],
        );
        check(
            &entry(
                r#""kind":"stream_start","door":"d","method":"GET /sse","status":"result","ms":0"#,
            ),
            Tone::Plain,
            &[clock, "d", "GET /sse", "-", "stream", "0.000"],
        );
        check(
            &entry(
                r#""kind":"stream_end","door":"d","method":"m","id":1.0,"status":"cancelled","ms":0"#,
            ),
            Tone::Cancelled,
            &[clock, "d", "m", "1.0", "stream cut", "0.000"],
        );
        check(r#"{"time":"?"}"#, Tone::Plain, &["?", "-", "-", "0.000"]);
    }

    #[test]
    fn widths() {
        let method = "a.method.of.a.long.name";
        for (columns, id, status, width, expected) in [
            (None, "1", "result", 95, "  a.method.of.a.long.name           1 "),
            (None, "\"abcdefgh\"", "result", 95, "  \"abcdefgh\"    result  "),
            (Some(120), "1", "result", 120, "  a.method.of.a.long.name "),
            (Some(120), "123456789012", "result", 120, "  123456789012  result  "),
            (Some(120), "1234567890123", "result", 120, "  12345678901…  result  "),
            (Some(80), "1", "result", 80, "  a.method.of.a.long.name  1 "),
            (Some(80), "123456789", "error -32601", 80, "  12345…  error -32601  "),
            (Some(80), "1", "error -1234567890", 80, "  error -1234…  "),
            (Some(79), "1", "result", 79, "  a.method.of.a.long.na…  1 "),
            (Some(20), "1", "result", 69, "  a.method.of…  1 "),
        ] {
            let cells = ["09:30:00.123", "json-rpc", method, id, status, "1.000"];
            let found = laid_out(cells, columns);
            assert_eq!(found.chars().count(), width, "{columns:?}: {found}");
            assert!(found.contains(expected) && found.ends_with(" 1.000"), "{columns:?}: {found}");
        }
    }
}
