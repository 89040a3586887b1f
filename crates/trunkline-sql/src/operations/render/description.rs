//! The description of a table as SQL: one representation of its columns, keys, indexes and triggers.

use serde::Deserialize;
use serde_json::value::RawValue;

use super::fence::{fence, fenced};
use super::rowset::{Rowset, count};
use super::tsv;

#[derive(Deserialize)]
struct Description<'a> {
    kind: String,
    #[serde(default)]
    description: Option<String>,
    #[serde(borrow)]
    columns: Vec<Column<'a>>,
    indexes: Vec<Object>,
    triggers: Vec<Object>,
    #[serde(default)]
    unreadable: Vec<String>,
    ddl: Option<String>,
    #[serde(borrow, default)]
    sample: Option<Rowset<'a>>,
}

#[derive(Deserialize)]
struct Column<'a> {
    #[serde(borrow)]
    name: &'a RawValue,
    #[serde(borrow, rename = "type")]
    declared_type: Option<&'a RawValue>,
    #[serde(default)]
    base_type: Option<String>,
    #[serde(default)]
    checks: Vec<String>,
    #[serde(default)]
    values: Vec<String>,
    #[serde(default)]
    description: Option<String>,
}

/// An index or a trigger.
#[derive(Deserialize)]
struct Object {
    ddl: Option<String>,
}

/// A line with counts, then the statements that created the table, and sample rows.
pub(super) fn text(result: &str) -> String {
    match serde_json::from_str::<Description<'_>>(result) {
        Ok(description) => description.text().unwrap_or_else(|| fenced(result)),
        Err(_) => fenced(result),
    }
}

impl Column<'_> {
    /// A line with what the statement that created the table does not contain: the values of the type, and the comment.
    fn write_notes(&self, data: &mut String) -> Option<()> {
        let mut notes = Vec::new();
        if let Some(base_type) = &self.base_type {
            notes.push(
                [base_type.as_str()]
                    .into_iter()
                    .chain(self.checks.iter().map(String::as_str))
                    .collect::<Vec<_>>()
                    .join(" "),
            );
        }
        if !self.values.is_empty() {
            let values: Vec<String> =
                self.values.iter().map(|value| format!("{value:?}")).collect();
            notes.push(format!("one of {}", values.join(", ")));
        }
        notes.extend(self.description.as_ref().map(|text| format!("comment: {text:?}")));
        if !notes.is_empty() {
            data.push_str("-- ");
            tsv::name(data, self.name.get())?;
            data.push_str(&format!(": {}\n", notes.join("; ")));
        }
        Some(())
    }
}

impl Description<'_> {
    fn text(&self) -> Option<String> {
        let mut data = String::new();
        let objects = self.indexes.iter().chain(&self.triggers);
        let statements = self.ddl.iter().chain(objects.filter_map(|object| object.ddl.as_ref()));
        for statement in statements {
            data.push_str(statement);
            data.push_str(";\n");
        }
        if let Some(description) = &self.description {
            data.push_str(&format!("-- comment: {description:?}\n"));
        }
        for column in &self.columns {
            column.write_notes(&mut data)?;
        }
        // The statement of a view or of a virtual table does not name all columns with their types.
        if self.kind != "table" || self.ddl.is_none() {
            data.push_str("-- columns: ");
            for (index, column) in self.columns.iter().enumerate() {
                if index > 0 {
                    data.push_str(", ");
                }
                tsv::name(&mut data, column.name.get())?;
                if let Some(declared_type) = column.declared_type {
                    data.push(' ');
                    tsv::name(&mut data, declared_type.get())?;
                }
            }
            data.push('\n');
        }
        if let Some(sample) = &self.sample {
            data.push('\n');
            sample.write_table(&mut data)?;
        }
        let mut text = self.counts();
        text.push('\n');
        fence(&mut text, &data);
        Some(text)
    }

    fn counts(&self) -> String {
        let kind = if self.kind == "virtual" { "virtual table" } else { &self.kind };
        let mut text = format!("1 {kind}");
        for (number, noun) in [
            (self.columns.len(), "column"),
            (self.indexes.len(), "index"),
            (self.triggers.len(), "trigger"),
            (self.sample.as_ref().map_or(0, |sample| sample.row_count as usize), "sample row"),
        ] {
            match (number, noun) {
                (0, _) => {}
                (2.., "index") => text.push_str(&format!(", {number} indexes")),
                _ => text.push_str(&format!(", {}", count(number as u64, noun))),
            }
        }
        if !self.unreadable.is_empty() {
            let names = count(self.unreadable.len() as u64, "name");
            text.push_str(&format!("; {names} omitted: not valid UTF-8"));
        }
        text
    }
}
