use std::borrow::Cow;
use std::ops::Range;

use serde_json::{Map, Value};
use toml::de::{DeFloat, DeInteger, DeValue};

use crate::declaration::error::Fault;
use crate::declaration::nearest::nearest_name;

/// A value in a document, and where it stands.
#[derive(Debug)]
pub(super) struct Node<'t> {
    value: &'t DeValue<'t>,
    /// Where it begins.
    at: usize,
    key: &'t str,
    /// Where its key begins, or if it has none, it.
    key_at: usize,
    path: String,
}

impl<'t> Node<'t> {
    pub(super) fn root(value: &'t DeValue<'t>) -> Self {
        Self { value, at: 0, key: "", key_at: 0, path: String::new() }
    }

    /// The keys that lead to it, as TOML writes them.
    pub(super) fn path(&self) -> &str {
        &self.path
    }

    /// Its name in the table in which it stands.
    pub(super) fn key(&self) -> &'t str {
        self.key
    }

    pub(super) fn members(&self) -> Result<Vec<Self>, Fault> {
        let DeValue::Table(table) = self.value else { return Err(self.not("a table")) };
        let member =
            |(key, value): (&'t toml::Spanned<Cow<'t, str>>, &'t toml::Spanned<DeValue<'t>>)| {
                let name = key.get_ref().as_ref();
                let dot = if self.path.is_empty() { "" } else { "." };
                Self {
                    value: value.get_ref(),
                    at: value.span().start,
                    key: name,
                    key_at: key.span().start,
                    path: format!("{}{dot}{}", self.path, written(name)),
                }
            };
        Ok(table.iter().map(member).collect())
    }

    pub(super) fn elements(&self) -> Result<Vec<Self>, Fault> {
        let DeValue::Array(array) = self.value else { return Err(self.not("an array")) };
        let element = |(index, value): (usize, &'t toml::Spanned<DeValue<'t>>)| {
            let Range { start: at, .. } = value.span();
            let path = format!("{}[{index}]", self.path);
            Self { value: value.get_ref(), at, key: "", key_at: at, path }
        };
        Ok(array.iter().enumerate().map(element).collect())
    }

    pub(super) fn text(&self) -> Result<&'t str, Fault> {
        self.value.as_str().ok_or_else(|| self.not("a string"))
    }

    pub(super) fn flag(&self) -> Result<bool, Fault> {
        self.value.as_bool().ok_or_else(|| self.not("true or false"))
    }

    /// The value as JSON has it.
    pub(super) fn json(&self) -> Result<Value, Fault> {
        Ok(match self.value {
            DeValue::String(text) => text.as_ref().into(),
            DeValue::Boolean(flag) => (*flag).into(),
            DeValue::Integer(integer) => {
                whole(integer).ok_or_else(|| self.wrong("an integer is from -2^63 to 2^64 - 1"))?
            }
            DeValue::Float(float) => fraction(float)
                .ok_or_else(|| self.wrong("JSON has no such number: a finite one would do"))?,
            DeValue::Datetime(_) => {
                return Err(
                    self.wrong("JSON has no dates and times: write it as a string, in quotes")
                );
            }
            DeValue::Array(_) => {
                let elements: Result<_, _> = self.elements()?.iter().map(Self::json).collect();
                Value::Array(elements?)
            }
            DeValue::Table(_) => {
                let members = self.members()?;
                let members = members.iter().map(|one| Ok((one.key.to_owned(), one.json()?)));
                Value::Object(members.collect::<Result<Map<_, _>, _>>()?)
            }
        })
    }

    /// That the value is wrong.
    pub(super) fn wrong(&self, reason: impl Into<String>) -> Fault {
        Fault { at: self.at, path: self.path.clone(), reason: reason.into() }
    }

    /// That its key is wrong, or that it stands there, or what it lacks.
    pub(super) fn misplaced(&self, reason: impl Into<String>) -> Fault {
        Fault { at: self.key_at, path: self.path.clone(), reason: reason.into() }
    }

    /// That no such key may stand in what it stands in.
    pub(super) fn unknown(&self, place: &str, known: &[&str]) -> Fault {
        self.misplaced(match nearest_name(self.key, known.iter().copied()) {
            Some(meant) => format!("{place} has no such key: did you mean {meant}?"),
            None => format!("{place} has no such key: it may have {}", known.join(", ")),
        })
    }

    fn not(&self, wanted: &str) -> Fault {
        let found = match self.value {
            DeValue::String(_) => "a string",
            DeValue::Integer(_) => "an integer",
            DeValue::Float(_) => "a float",
            DeValue::Boolean(_) => "a boolean",
            DeValue::Datetime(_) => "a date or a time",
            DeValue::Array(_) => "an array",
            DeValue::Table(_) => "a table",
        };
        self.wrong(format!("write {wanted} here, and not {found}"))
    }
}

/// A key as TOML writes it.
fn written(key: &str) -> Cow<'_, str> {
    let bare = |byte: u8| byte.is_ascii_alphanumeric() || matches!(byte, b'_' | b'-');
    if !key.is_empty() && key.bytes().all(bare) { key.into() } else { format!("{key:?}").into() }
}

fn whole(integer: &DeInteger<'_>) -> Option<Value> {
    let (digits, radix) = (integer.as_str(), integer.radix());
    let signed = i64::from_str_radix(digits, radix).ok().map(Value::from);
    signed.or_else(|| u64::from_str_radix(digits, radix).ok().map(Value::from))
}

/// None if it is infinite, as numbers are that f64 cannot hold, or not a number.
fn fraction(float: &DeFloat<'_>) -> Option<Value> {
    let number = float.as_str().parse().ok()?;
    serde_json::Number::from_f64(number).map(Value::Number)
}
