//! A TOML document as sections. All mistakes are found at once.

use std::borrow::Cow;
use std::ops::Range;

use serde::de::DeserializeOwned;
use toml::Spanned;
use toml::de::{DeTable, DeValue, ValueDeserializer};

use super::problem::Problems;
use crate::terminal::similar;

/// The maximum number of mistakes that are reported.
const MAX_PROBLEMS: usize = 50;

/// Parses a document. It is empty if its syntax is invalid.
pub(super) fn parse<'t>(text: &'t str, problems: &mut Problems<'_>) -> DeTable<'t> {
    let (document, errors) = DeTable::parse_recoverable(text);
    for error in errors.iter().take(MAX_PROBLEMS) {
        problems.add(&error.span().unwrap_or_default(), error.message());
    }
    if errors.is_empty() { document.into_inner() } else { DeTable::new() }
}

/// Removes the tables with unknown names, which are among the problems.
pub(super) fn check_names(document: &mut DeTable<'_>, names: &[&str], problems: &mut Problems<'_>) {
    let is_unknown = |key: &&Spanned<Cow<'_, str>>| !names.contains(&key.get_ref().as_ref());
    let unknown_names: Vec<_> = document.keys().filter(is_unknown).cloned().collect();
    for key in unknown_names {
        let name = key.get_ref();
        problems.add(&key.span(), unknown(name, name, names));
        document.remove(&key);
    }
}

/// Reads the sections of a document. An invalid value counts as missing, and is one of the problems.
pub(super) fn read<T: DeserializeOwned + Default>(
    mut document: DeTable<'_>,
    problems: &mut Problems<'_>,
) -> T {
    for _ in 0..MAX_PROBLEMS {
        let root = Spanned::new(0..0, DeValue::Table(document.clone()));
        let error = match T::deserialize(ValueDeserializer::from(root)) {
            Ok(sections) => return sections,
            Err(error) => error,
        };
        let span = error.span().unwrap_or_default();
        let path = remove(&mut document, &span);
        problems.add(&span, message(error.message(), &path));
        if path.is_empty() {
            break;
        }
    }
    T::default()
}

/// Removes the innermost entry whose key or value contains a range, and returns its path.
fn remove(table: &mut DeTable<'_>, range: &Range<usize>) -> Vec<String> {
    let mut found = None;
    for (key, value) in table.iter_mut() {
        let contains = |span: Range<usize>| span.start <= range.start && range.end <= span.end;
        let is_here = contains(key.span()) || contains(value.span());
        // A table in several parts does not contain the values of all of them.
        if let DeValue::Table(inner) = value.get_mut() {
            let mut path = remove(inner, range);
            if !path.is_empty() {
                path.insert(0, key.get_ref().to_string());
                return path;
            }
        }
        if is_here {
            found = Some(key.get_ref().to_string());
        }
    }
    let Some(name) = found else { return Vec::new() };
    table.remove(name.as_str());
    vec![name]
}

/// The message of serde, with the path of the value, and with a suggestion for an unknown key.
fn message(message: &str, path: &[String]) -> String {
    let full = path.join(".");
    let Some(key) = path.last() else { return message.to_owned() };
    if let Some(rest) = message.strip_prefix("unknown field `") {
        let names: Vec<&str> = rest.split('`').skip(2).step_by(2).collect();
        return unknown(&full, key, &names);
    }
    invalid(&full, message)
}

/// The message for an invalid value.
pub(super) fn invalid(path: &str, message: &str) -> String {
    format!("`{path}`: {}", in_toml(message))
}

/// A message of serde with TOML's names of types.
fn in_toml(message: &str) -> String {
    match message.split_once(", expected ") {
        Some((found, expected)) if expected.starts_with("struct ") || expected == "a map" => {
            format!("{found}, expected a table")
        }
        Some((found, "a sequence")) => format!("{found}, expected an array"),
        Some((found, "u64" | "usize")) => format!("{found}, expected a number from 0"),
        _ => message.to_owned(),
    }
}

/// The message for an unknown key in a table with these names.
pub(super) fn unknown(full: &str, key: &str, names: &[&str]) -> String {
    let quoted = |names: &[&str]| names.iter().map(|name| format!("`{name}`")).collect::<Vec<_>>();
    match similar(key, names.iter().copied()).first() {
        Some(name) => format!("unknown key `{full}`; did you mean `{name}`?"),
        None => format!("unknown key `{full}`; the keys here are {}", quoted(names).join(", ")),
    }
}
