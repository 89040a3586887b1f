use std::borrow::Cow;

use serde::Deserialize;
use serde_json::value::RawValue;

use super::fence::{fence, fenced};
use super::tsv;

/// A rowset, as this crate writes it.
#[derive(Deserialize)]
pub(super) struct Rowset<'a> {
    #[serde(borrow)]
    columns: Vec<Column<'a>>,
    #[serde(borrow)]
    rows: &'a RawValue,
    pub(super) row_count: u64,
    truncated_by: Option<&'a str>,
    next_cursor: Option<Cow<'a, str>>,
    #[serde(default)]
    hint: Option<Cow<'a, str>>,
}

#[derive(Deserialize)]
struct Column<'a> {
    #[serde(borrow)]
    name: &'a RawValue,
}

/// A count, then the table.
pub(super) fn text(result: &str) -> String {
    match serde_json::from_str::<Rowset<'_>>(result) {
        Ok(rowset) => rowset.text().unwrap_or_else(|| fenced(result)),
        Err(_) => fenced(result),
    }
}

impl Rowset<'_> {
    /// None for a text that this crate has not written.
    fn text(&self) -> Option<String> {
        let mut table = String::new();
        let abbreviated = self.write_table(&mut table)?;
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
        fence(&mut text, &table);
        Some(text)
    }

    /// Appends the lines of the table, and returns the number of abbreviated cells.
    pub(super) fn write_table(&self, text: &mut String) -> Option<u64> {
        tsv::header(text, self.columns.iter().map(|column| column.name.get()))?;
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
