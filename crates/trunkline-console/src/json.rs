//! JSON in the order of its text, for display. `serde_json::Value` sorts members.

use std::fmt::{self, Write};

use serde::de::{Deserialize, Deserializer, MapAccess, SeqAccess, Visitor};
use serde_json::Number;
use trunkline::limits::exact_number;

/// A JSON value with its members in the order of the text.
#[derive(Debug, Clone, PartialEq)]
pub(crate) enum Json {
    Null,
    Bool(bool),
    Number(Number),
    String(String),
    Array(Vec<Json>),
    Object(Vec<(String, Json)>),
}

impl Json {
    pub(crate) fn parse(text: &[u8]) -> serde_json::Result<Self> {
        serde_json::from_slice(text)
    }

    pub(crate) fn get(&self, name: &str) -> Option<&Self> {
        let members = self.as_object()?;
        members.iter().find(|(known, _)| known == name).map(|(_, value)| value)
    }

    pub(crate) fn as_object(&self) -> Option<&[(String, Self)]> {
        if let Self::Object(members) = self { Some(members) } else { None }
    }

    pub(crate) fn as_array(&self) -> Option<&[Self]> {
        if let Self::Array(items) = self { Some(items) } else { None }
    }

    pub(crate) fn as_str(&self) -> Option<&str> {
        if let Self::String(text) = self { Some(text) } else { None }
    }

    pub(crate) fn as_f64(&self) -> Option<f64> {
        if let Self::Number(number) = self { number.as_f64() } else { None }
    }

    /// The text of a member, empty if it is missing.
    pub(crate) fn text(&self, name: &str) -> String {
        self.get(name).map(Self::plain).unwrap_or_default()
    }

    /// The members of an array member.
    pub(crate) fn items(&self, name: &str) -> &[Self] {
        self.get(name).and_then(Self::as_array).unwrap_or_default()
    }

    /// A string without quotation marks, and other values as compact JSON.
    pub(crate) fn plain(&self) -> String {
        match self {
            Self::String(text) => text.clone(),
            other => other.to_string(),
        }
    }

    /// JSON text with one member per line.
    pub(crate) fn pretty(&self) -> String {
        let mut text = String::new();
        self.write_pretty(&mut text, 0);
        text
    }

    fn write_pretty(&self, out: &mut String, depth: usize) {
        let indent = |out: &mut String, depth: usize| {
            out.push('\n');
            out.extend(std::iter::repeat_n("  ", depth));
        };
        match self {
            // A row of scalars is easier to read on one line.
            Self::Array(items) if items.iter().all(Self::is_scalar) => {
                let _ = write!(out, "{self}");
            }
            Self::Array(items) => {
                out.push('[');
                for (index, item) in items.iter().enumerate() {
                    out.push_str(if index > 0 { "," } else { "" });
                    indent(out, depth + 1);
                    item.write_pretty(out, depth + 1);
                }
                indent(out, depth);
                out.push(']');
            }
            Self::Object(members) if !members.is_empty() => {
                out.push('{');
                for (index, (name, value)) in members.iter().enumerate() {
                    out.push_str(if index > 0 { "," } else { "" });
                    indent(out, depth + 1);
                    out.push_str(&quoted(name));
                    out.push_str(": ");
                    value.write_pretty(out, depth + 1);
                }
                indent(out, depth);
                out.push('}');
            }
            // Writing to a string never fails.
            scalar => {
                let _ = write!(out, "{scalar}");
            }
        }
    }

    pub(crate) fn is_scalar(&self) -> bool {
        !matches!(self, Self::Array(_) | Self::Object(_))
    }
}

fn quoted(text: &str) -> String {
    serde_json::to_string(text).unwrap_or_default()
}

/// Compact JSON.
impl fmt::Display for Json {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Null => f.write_str("null"),
            Self::Bool(value) => write!(f, "{value}"),
            Self::Number(number) => write!(f, "{number}"),
            Self::String(text) => f.write_str(&quoted(text)),
            Self::Array(items) => {
                f.write_char('[')?;
                for (index, item) in items.iter().enumerate() {
                    f.write_str(if index > 0 { ", " } else { "" })?;
                    write!(f, "{item}")?;
                }
                f.write_char(']')
            }
            Self::Object(members) => {
                f.write_char('{')?;
                for (index, (name, value)) in members.iter().enumerate() {
                    f.write_str(if index > 0 { ", " } else { "" })?;
                    write!(f, "{}: {value}", quoted(name))?;
                }
                f.write_char('}')
            }
        }
    }
}

impl<'de> Deserialize<'de> for Json {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        deserializer.deserialize_any(JsonVisitor)
    }
}

struct JsonVisitor;

impl<'de> Visitor<'de> for JsonVisitor {
    type Value = Json;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("JSON")
    }

    fn visit_unit<E>(self) -> Result<Json, E> {
        Ok(Json::Null)
    }

    fn visit_bool<E>(self, value: bool) -> Result<Json, E> {
        Ok(Json::Bool(value))
    }

    fn visit_i64<E>(self, value: i64) -> Result<Json, E> {
        Ok(Json::Number(value.into()))
    }

    fn visit_u64<E>(self, value: u64) -> Result<Json, E> {
        Ok(Json::Number(value.into()))
    }

    fn visit_f64<E>(self, value: f64) -> Result<Json, E> {
        Ok(Number::from_f64(value).map_or(Json::Null, Json::Number))
    }

    fn visit_str<E>(self, text: &str) -> Result<Json, E> {
        Ok(Json::String(text.to_owned()))
    }

    fn visit_seq<A: SeqAccess<'de>>(self, mut items: A) -> Result<Json, A::Error> {
        let mut array = Vec::new();
        while let Some(item) = items.next_element()? {
            array.push(item);
        }
        Ok(Json::Array(array))
    }

    fn visit_map<A: MapAccess<'de>>(self, mut members: A) -> Result<Json, A::Error> {
        let mut object = Vec::new();
        while let Some(key) = members.next_key::<String>()? {
            if object.is_empty()
                && let Some(number) = exact_number(&key, &mut members)?
            {
                return Ok(Json::Number(number));
            }
            object.push((key, members.next_value()?));
        }
        Ok(Json::Object(object))
    }
}

#[cfg(test)]
mod tests {
    use super::Json;

    #[test]
    fn members_keep_their_order() {
        let json = Json::parse(br#"{"b":[1,-2,"x"],"a":{"z":null,"y":[{}]},"c":[]}"#).unwrap();
        let expected = "{\n  \"b\": [1, -2, \"x\"],\n  \"a\": {\n    \"z\": null,\n    \"y\": [\n      {}\n    ]\n  },\n  \"c\": []\n}";
        assert_eq!(json.pretty(), expected);
        assert_eq!(json.get("a").unwrap().to_string(), r#"{"z": null, "y": [{}]}"#);
    }
}
