use std::borrow::Cow;

use serde::Deserialize;
use serde_json::value::RawValue;

use super::fence::{fence, fenced};
use super::tsv;

/// The table of a rowset.
#[derive(Deserialize)]
pub(super) struct Rowset<'a> {
    #[serde(borrow)]
    columns: Vec<Column<'a>>,
    #[serde(borrow)]
    rows: &'a RawValue,
    pub(super) row_count: u64,
}

#[derive(Deserialize)]
struct Column<'a> {
    #[serde(borrow)]
    name: &'a RawValue,
}

/// The members of a rowset after its rows.
#[derive(Deserialize)]
struct Summary<'a> {
    row_count: u64,
    truncated_by: Option<&'a str>,
    next_cursor: Option<Cow<'a, str>>,
    #[serde(default)]
    hint: Option<Cow<'a, str>>,
}

/// A count, then the table.
pub(super) fn text(result: &str) -> String {
    let text = in_our_order(result).or_else(|| in_any_order(result));
    text.unwrap_or_else(|| fenced(result))
}

/// None if the members are not in the order in which this crate writes them. The rows, which can be long, are read once.
fn in_our_order(result: &str) -> Option<String> {
    let result = result.strip_prefix("{\"columns\":")?;
    let mut columns = serde_json::Deserializer::from_str(result).into_iter::<Vec<Column<'_>>>();
    let mut table = String::new();
    write_header(&mut table, &columns.next()?.ok()?)?;
    let rows = result.get(columns.byte_offset()..)?.strip_prefix(",\"rows\":")?;
    let (abbreviated, rest) = tsv::rows_before(&mut table, rows)?;
    let summary = format!("{{{}", rest.strip_prefix(",")?);
    let summary: Summary<'_> = serde_json::from_str(&summary).ok()?;
    Some(summary.text(&table, abbreviated))
}

/// None for a text that is not a rowset.
fn in_any_order(result: &str) -> Option<String> {
    let rowset: Rowset<'_> = serde_json::from_str(result).ok()?;
    let summary: Summary<'_> = serde_json::from_str(result).ok()?;
    let mut table = String::new();
    let abbreviated = rowset.write_table(&mut table)?;
    Some(summary.text(&table, abbreviated))
}

fn write_header(text: &mut String, columns: &[Column<'_>]) -> Option<()> {
    tsv::header(text, columns.iter().map(|column| column.name.get()))
}

impl Summary<'_> {
    fn text(&self, table: &str, abbreviated: u64) -> String {
        let mut text = count(self.row_count, "row");
        if let Some(bound) = self.truncated_by {
            text.push_str(&format!(", truncated by {bound}"));
        }
        if self.truncated_by.is_some() || self.next_cursor.is_some() {
            text.push_str("; there are more");
        }
        if let Some(hint) = &self.hint {
            text.push_str(&format!("; {hint}"));
        }
        if let Some(cursor) = &self.next_cursor {
            text.push_str(&format!("; next_cursor: {cursor}"));
        }
        if abbreviated > 0 {
            let cells = count(abbreviated, "long cell");
            text.push_str(&format!("; {cells} abbreviated: {}", tsv::REST));
        }
        text.push('\n');
        text.reserve(table.len() + 64);
        fence(&mut text, table);
        text
    }
}

impl Rowset<'_> {
    /// Appends the lines of the table, and returns the number of abbreviated cells.
    pub(super) fn write_table(&self, text: &mut String) -> Option<u64> {
        write_header(text, &self.columns)?;
        tsv::rows(text, self.rows.get())
    }
}

/// A number with a noun in the singular or plural.
pub(super) fn count(number: u64, noun: &str) -> String {
    match number {
        1 => format!("1 {noun}"),
        number => format!("{number} {noun}s"),
    }
}

#[cfg(test)]
mod tests {
    use super::{in_any_order, in_our_order};

    #[test]
    fn the_order_of_members_does_not_matter() {
        let columns = r#""columns":[{"name":"a","type":null},{"name":"b","type":"TEXT"}]"#;
        for (rows, rest) in [
            ("[]", r#""row_count":0,"truncated":false,"truncated_by":null,"next_cursor":null"#),
            (
                r#"[[1,"x]"],[null,"\"\\"]]"#,
                r#""row_count":2,"truncated":true,"truncated_by":"rows","next_cursor":"c","hint":"\"h\"""#,
            ),
        ] {
            let ours = format!("{{{columns},\"rows\":{rows},{rest},\"elapsed_ms\":0.1}}");
            let other = format!("{{{rest},\"rows\":{rows},{columns},\"elapsed_ms\":0.1}}");
            // Each text has another mark.
            let lines = |text: Option<String>| {
                let text = text.unwrap();
                let lines = text.lines().filter(|line| !line.contains("data-"));
                lines.map(str::to_owned).collect::<Vec<_>>()
            };
            let expected = lines(in_any_order(&other));
            assert_eq!(lines(in_our_order(&ours)), expected, "{ours}");
            assert!(in_our_order(&other).is_none(), "{other}");
        }
        assert!(in_any_order("{}").is_none());
    }
}
