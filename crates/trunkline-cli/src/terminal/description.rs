//! The description of a database table, as `db.describe_table` returns it.

use serde::Deserialize;
use serde_json::value::RawValue;

use super::rowset::{Rowset, records};
use super::text;

#[derive(Deserialize)]
struct Table<'r> {
    name: String,
    kind: String,
    #[serde(borrow)]
    columns: &'r RawValue,
    #[serde(default)]
    primary_key: Vec<String>,
    #[serde(default)]
    foreign_keys: Vec<ForeignKey>,
    #[serde(default)]
    indexes: Vec<Index>,
    #[serde(default)]
    triggers: Vec<Trigger>,
    ddl: Option<String>,
}

#[derive(Deserialize)]
struct ForeignKey {
    columns: Vec<String>,
    references_table: String,
    #[serde(default)]
    references_columns: Vec<String>,
}

#[derive(Deserialize)]
struct Index {
    name: String,
    #[serde(default)]
    unique: bool,
    /// `None` for an expression.
    #[serde(default)]
    columns: Vec<Option<String>>,
}

#[derive(Deserialize)]
struct Trigger {
    name: String,
}

/// The columns as a table; keys, indexes and triggers below it, and the statement of a view.
pub(super) fn find(result: &RawValue) -> Option<Rowset<'_>> {
    let table: Table<'_> = serde_json::from_str(result.get()).ok()?;
    let mut found = records(table.columns.get(), "{")?;
    found.is_listing = true;
    found.leave_nulls_empty();
    found.heading = format!("{} ({})\n\n", text::line(&table.name), text::line(&table.kind));
    found.details = Some(details(&table));
    Some(found)
}

fn details(table: &Table<'_>) -> String {
    let mut lines = Vec::new();
    if !table.primary_key.is_empty() {
        lines.push(format!("primary key: {}", table.primary_key.join(", ")));
    }
    for key in &table.foreign_keys {
        let target = match key.references_columns.join(", ") {
            columns if columns.is_empty() => key.references_table.clone(),
            columns => format!("{} ({columns})", key.references_table),
        };
        lines.push(format!("foreign key: {} references {target}", key.columns.join(", ")));
    }
    for index in &table.indexes {
        let unique = if index.unique { "unique " } else { "" };
        let column = |column: &Option<String>| column.clone().unwrap_or("(expression)".to_owned());
        let columns: Vec<String> = index.columns.iter().map(column).collect();
        lines.push(format!("{unique}index: {} ({})", index.name, columns.join(", ")));
    }
    lines.extend(table.triggers.iter().map(|trigger| format!("trigger: {}", trigger.name)));
    let mut text: String = lines.iter().map(|line| format!("{}\n", text::line(line))).collect();
    if !text.is_empty() {
        text.insert(0, '\n');
    }
    if let Some(ddl) = table.ddl.as_ref().filter(|_| table.kind != "table") {
        text += &format!("\n{}\n", text::lines(ddl));
    }
    text
}
