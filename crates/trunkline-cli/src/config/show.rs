//! The effective configuration, as a document of TOML with the origin of each value.

use std::borrow::Cow;
use std::fmt::Write as _;
use std::path::Path;

use serde::Deserialize;
use toml::de::{DeTable, DeValue, ValueDeserializer};
use toml::{Spanned, Value};
use trunkline::client::http::redact_url;

use super::flags::{EffectiveSetting, Origin};
use super::problem::{Position, Problems};
use super::quantity::{parse_period, parse_size, period_text, size_text};
use super::settings::Kind;
use crate::terminal;

/// The text in place of a value that must not be shown.
const REDACTED: &str = "<redacted>";

/// A value of a section with a name, such as `[databases.shop]`.
#[derive(Debug)]
pub(super) struct Entry {
    /// The path of the section.
    section: String,
    key: String,
    /// Without secrets.
    value: Value,
    position: Position,
}

/// The values in the tables of some sections.
pub(super) fn entries(
    document: &DeTable<'_>,
    sections: &[&str],
    problems: &Problems<'_>,
) -> Vec<Entry> {
    let mut entries = Vec::new();
    for section in sections {
        for (name, table) in document.get(*section).into_iter().flat_map(table) {
            for (key, value) in self::table(table) {
                let position = problems.position(key.span().start);
                let key = key.get_ref().to_string();
                let Ok(value) = Value::deserialize(ValueDeserializer::from(value.clone())) else {
                    continue;
                };
                let value = without_secrets(&key, value);
                let section = format!("{section}.{}", key_text(name.get_ref()));
                entries.push(Entry { section, key, value, position });
            }
        }
    }
    entries
}

/// The entries of a table.
fn table<'t, 'i>(
    value: &'t Spanned<DeValue<'i>>,
) -> impl Iterator<Item = (&'t Spanned<Cow<'i, str>>, &'t Spanned<DeValue<'i>>)> {
    value.get_ref().as_table().into_iter().flatten()
}

/// Replaces values that may be secrets: texts of headers and variables, and passwords in URLs.
fn without_secrets(key: &str, value: Value) -> Value {
    match (key, value) {
        ("headers" | "env", Value::Table(table)) => {
            let redact = |value: Value| match value {
                Value::String(_) => Value::String(REDACTED.to_owned()),
                reference => reference,
            };
            Value::Table(table.into_iter().map(|(name, value)| (name, redact(value))).collect())
        }
        (_, value) => redacted(value),
    }
}

/// A value with the secrets of its URLs redacted.
fn redacted(value: Value) -> Value {
    match value {
        Value::String(text) => Value::String(match text.split_once("://") {
            Some((scheme, _)) if !scheme.contains(char::is_whitespace) => redact_url(&text),
            // The end of the password is not known.
            None if terminal::names_password(&text) => REDACTED.to_owned(),
            _ => terminal::redacted(&text).into_owned(),
        }),
        Value::Array(values) => Value::Array(values.into_iter().map(redacted).collect()),
        Value::Table(table) => {
            Value::Table(table.into_iter().map(|(key, value)| (key, redacted(value))).collect())
        }
        value => value,
    }
}

/// The effective configuration in TOML. A comment after each value is its origin: a flag, a variable, a place in the
/// file at `path`, or the default. Secrets are redacted.
pub(super) fn text(path: &Path, settings: &[EffectiveSetting], entries: &[Entry]) -> String {
    let mut document = Document::default();
    for EffectiveSetting { setting, values, origin } in settings {
        let (section, key) = setting.key.rsplit_once('.').unwrap_or(("", setting.key));
        match setting.kind.value(values) {
            Some(value) => document.add(section, key, &value, origin),
            None => document.add_missing(section, key),
        }
    }
    for Entry { section, key, value, position } in entries {
        document.add(section, key, value, &Origin::File(path.to_owned(), *position));
    }
    document.text
}

#[derive(Default)]
struct Document {
    text: String,
    section: String,
}

impl Document {
    fn add(&mut self, section: &str, key: &str, value: &Value, origin: &Origin) {
        self.start(section);
        writeln!(self.text, "{} = {value}  # {origin}", key_text(key)).expect("writes to memory");
    }

    fn add_missing(&mut self, section: &str, key: &str) {
        self.start(section);
        writeln!(self.text, "# {key} is not set").expect("writes to memory");
    }

    fn start(&mut self, section: &str) {
        if self.section != section {
            let gap = if self.text.is_empty() { "" } else { "\n" };
            writeln!(self.text, "{gap}[{section}]").expect("writes to memory");
            section.clone_into(&mut self.section);
        }
    }
}

/// A key, in quotation marks if it needs them.
fn key_text(key: &str) -> String {
    let is_bare = |c: char| c.is_ascii_alphanumeric() || c == '-' || c == '_';
    match !key.is_empty() && key.chars().all(is_bare) {
        true => key.to_owned(),
        false => Value::String(key.to_owned()).to_string(),
    }
}

impl Kind {
    /// The value in TOML of texts of the command line, without secrets. `None` if it is not set.
    pub(super) fn value(self, texts: &[String]) -> Option<Value> {
        let first = texts.first();
        let number = || first.and_then(|text| text.parse::<i64>().ok());
        let secret = || Value::String(REDACTED.to_owned());
        Some(redacted(match self {
            Self::List => Value::Array(texts.iter().cloned().map(Value::String).collect()),
            Self::Table => {
                let entry = |text: &String| {
                    let (key, value) = text.split_once('=').unwrap_or((text, ""));
                    (key.to_owned(), Value::String(value.to_owned()))
                };
                Value::Table(texts.iter().map(entry).collect())
            }
            Self::NamedSecrets => {
                let name = |text: &String| text.split('=').next().unwrap_or_default().to_owned();
                Value::Table(texts.iter().map(|text| (name(text), secret())).collect())
            }
            Self::Secrets => Value::Array(texts.iter().map(|_| secret()).collect()),
            Self::Secret => first.map(|_| secret())?,
            Self::Text | Self::Path | Self::PathOrUrl | Self::Url => Value::String(first?.clone()),
            Self::Integer => Value::Integer(number()?),
            Self::Number => Value::Float(first?.parse().ok()?),
            Self::Size => {
                let bytes = parse_size(first?)?;
                let integer = || Value::Integer(i64::try_from(bytes).unwrap_or(i64::MAX));
                size_text(bytes).map_or_else(integer, Value::String)
            }
            Self::Period => Value::String(period_text(parse_period(first?)?)),
            Self::Boolean => Value::Boolean(first? == "true"),
            Self::Negated => Value::Boolean(first? != "true"),
        }))
    }
}
