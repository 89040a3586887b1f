//! Outcomes as one compact text for a language model.
//!
//! Rows become lines of tab-separated values ([`tsv`]), which take less than half of the tokens of JSON. Text from the
//! database is [fenced](fence), so that a name or a value cannot pose as text of this server or of the user.
//! `"format": "json"` returns the bare JSON of a rowset instead, whose quotes separate data from text.

mod abbreviated;
mod description;
mod failure;
mod fence;
mod plan;
mod rowset;
mod tsv;

use serde::Deserialize;
use serde_json::Value as Json;
use serde_json::value::RawValue;
use trunkline::ErrorObject;

pub(super) use abbreviated::abbreviated;
use fence::fenced;
use rowset::count;

type Outcome<'a> = Result<&'a [u8], &'a ErrorObject>;

pub(super) fn as_json(arguments: &[u8], outcome: Outcome<'_>) -> String {
    render(arguments, outcome, fenced)
}

pub(super) fn described(arguments: &[u8], outcome: Outcome<'_>) -> String {
    render(arguments, outcome, description::text)
}

pub(super) fn plan(arguments: &[u8], outcome: Outcome<'_>) -> String {
    render(arguments, outcome, plan::text)
}

pub(super) fn rows(arguments: &[u8], outcome: Outcome<'_>) -> String {
    render(arguments, outcome, |result| match format(arguments) {
        Some("json") => json(result),
        _ => rowset::text(result),
    })
}

pub(super) fn raw_outcome(arguments: &[u8], outcome: Outcome<'_>) -> String {
    render(arguments, outcome, |result| match read::<Changed>(result) {
        _ if format(arguments) == Some("json") => json(result),
        Some(changed) => changed.sentence(),
        None => rowset::text(result),
    })
}

pub(super) fn inserted(arguments: &[u8], outcome: Outcome<'_>) -> String {
    render(arguments, outcome, |result| match read::<Inserted<'_>>(result) {
        Some(inserted) => inserted.text(),
        None => fenced(result),
    })
}

pub(super) fn updated(arguments: &[u8], outcome: Outcome<'_>) -> String {
    render(arguments, outcome, |result| affected(result, "updated"))
}

pub(super) fn deleted(arguments: &[u8], outcome: Outcome<'_>) -> String {
    render(arguments, outcome, |result| affected(result, "deleted"))
}

pub(super) fn created(arguments: &[u8], outcome: Outcome<'_>) -> String {
    render(arguments, outcome, |result| {
        let sentence = match read::<Created>(result) {
            Some(Created { created: false }) => "The table exists already and is unchanged.",
            _ => "The table was created.",
        };
        format!("{sentence}\n{}", fenced(result))
    })
}

fn render(arguments: &[u8], outcome: Outcome<'_>, result: impl Fn(&str) -> String) -> String {
    match outcome {
        Ok(text) => result(&String::from_utf8_lossy(text)),
        Err(error) => failure::text(arguments, error),
    }
}

/// JSON with long cells abbreviated.
fn json(result: &str) -> String {
    let short = abbreviated(result.as_bytes());
    short.and_then(|short| String::from_utf8(short).ok()).unwrap_or_else(|| result.to_owned())
}

fn read<'de, T: Deserialize<'de>>(json: &'de str) -> Option<T> {
    serde_json::from_str(json).ok()
}

fn format(arguments: &[u8]) -> Option<&str> {
    #[derive(Deserialize)]
    struct Arguments<'a> {
        #[serde(default)]
        format: Option<&'a str>,
    }
    serde_json::from_slice::<Arguments<'_>>(arguments).ok()?.format
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Changed {
    rows_affected: u64,
    last_insert_rowid: Json,
}

impl Changed {
    fn sentence(&self) -> String {
        let mut text = count(self.rows_affected, "row");
        text.push_str(" changed");
        if !self.last_insert_rowid.is_null() {
            text.push_str(&format!("; last_insert_rowid: {}", bare(&self.last_insert_rowid)));
        }
        text.push('.');
        text
    }
}

#[derive(Deserialize)]
struct Inserted<'a> {
    rows_affected: u64,
    id: Json,
    #[serde(borrow, default)]
    rows: Option<&'a RawValue>,
}

impl Inserted<'_> {
    fn text(&self) -> String {
        let mut text = count(self.rows_affected, "row");
        text.push_str(" inserted");
        if !self.id.is_null() {
            let last = if self.rows_affected > 1 { "the last id" } else { "id" };
            text.push_str(&format!("; {last}: {}", bare(&self.id)));
        }
        text.push('.');
        if let Some(rows) = self.rows {
            text.push_str("\nReturned: ");
            text.push_str(&rowset::text(rows.get()));
        }
        text
    }
}

#[derive(Deserialize)]
struct Affected {
    rows_affected: u64,
    #[serde(default)]
    cascaded: u64,
    dry_run: bool,
}

fn affected(result: &str, verb: &str) -> String {
    let Some(affected) = read::<Affected>(result) else {
        return fenced(result);
    };
    let rows = count(affected.rows_affected, "row");
    let cascade = match affected.cascaded {
        0 => String::new(),
        rows => {
            format!(", and {} more changed by foreign keys and triggers", count(rows, "row"))
        }
    };
    if affected.dry_run {
        format!("Dry run: {rows} would be {verb}{cascade}. Nothing was changed.")
    } else {
        format!("{rows} {verb}{cascade}.")
    }
}

#[derive(Deserialize)]
struct Created {
    created: bool,
}

/// A row number without quotes.
fn bare(number: &Json) -> String {
    match number {
        Json::String(digits) => digits.clone(),
        number => number.to_string(),
    }
}

#[cfg(test)]
mod tests;
