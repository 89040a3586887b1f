//! Schemas of few keywords, which the text of params is compared with: no value is made of it.

use std::slice;

use serde::Deserialize;
use serde_json::Value;
use trunkline_core::envelope::{Kind, ScanError, Scanner};

use super::schema::Type;

/// A schema that has no other keywords than these: `type`, `properties`, `required`, `additionalProperties` if it
/// is a boolean, `items`, `enum` of strings and null, `minimum` and `maximum` if they are integers, and annotations,
/// among them `x-…`.
#[derive(Debug)]
pub(super) struct Shape {
    /// The bits of the allowed types.
    types: u8,
    /// The inclusive range of a number.
    range: Option<(i64, i64)>,
    items: Option<Box<Self>>,
    /// The allowed strings. If the list is empty, all strings are allowed.
    choices: Vec<String>,
    properties: Vec<(String, Self)>,
    /// A bit for each of the properties.
    required: u64,
}

/// A text that a shape does not match, or of which it is unknown.
struct Mismatch;

impl From<ScanError> for Mismatch {
    fn from(_: ScanError) -> Self {
        Self
    }
}

impl Shape {
    /// The shape of a valid schema, if it has one.
    pub(super) fn of(schema: &Value) -> Option<Self> {
        let (range, items, choices, properties) = Default::default();
        let mut shape = Self { types: u8::MAX, range, items, choices, properties, required: 0 };
        let keywords = match schema {
            Value::Bool(true) => return Some(shape),
            schema => schema.as_object()?,
        };
        if let Some(Value::Object(properties)) = keywords.get("properties") {
            let property = |(name, schema): (&String, _)| Some((name.clone(), Self::of(schema)?));
            shape.properties = properties.iter().map(property).collect::<Option<_>>()?;
        }
        for (keyword, value) in keywords {
            match keyword.as_str() {
                "type" => {
                    let types = value.as_array().map_or(slice::from_ref(value), Vec::as_slice);
                    let bit = |name| Some(Type::deserialize(name).ok()?.bit());
                    shape.types &= types.iter().map(bit).sum::<Option<u8>>()?;
                }
                "enum" => {
                    let mut types = 0;
                    for choice in value.as_array()? {
                        match choice {
                            Value::Null => types |= Type::Null.bit(),
                            choice => {
                                types |= Type::String.bit();
                                shape.choices.push(choice.as_str()?.to_owned());
                            }
                        }
                    }
                    shape.types &= types;
                }
                "required" => {
                    for name in value.as_array()? {
                        let is_named = |(known, _): &(String, _)| name == known.as_str();
                        let index = shape.properties.iter().position(is_named)?;
                        shape.required |= 1_u64.checked_shl(index as u32)?;
                    }
                }
                "minimum" => shape.range.get_or_insert(WHOLE).0 = value.as_i64()?,
                "maximum" => shape.range.get_or_insert(WHOLE).1 = value.as_i64()?,
                "items" => shape.items = Some(Box::new(Self::of(value)?)),
                "additionalProperties" if value.is_boolean() => {}
                // Draft 2020-12 has `format` as an annotation.
                "properties" | "title" | "description" | "default" | "examples" | "format"
                | "deprecated" | "readOnly" | "writeOnly" | "$comment" => {}
                extension if extension.starts_with("x-") => {}
                _ => return None,
            }
        }
        (shape.properties.len() <= u64::BITS as usize).then_some(shape)
    }

    /// Whether JSON text surely matches, and has no duplicate member. Of text with members that have no schema, or
    /// numbers of unusual form, it is unknown.
    pub(super) fn matches(&self, text: &[u8]) -> bool {
        // The text nests as deep as the schema.
        let mut scanner = Scanner::new(text, usize::MAX);
        self.value(&mut scanner, text).is_ok() && scanner.finish().is_ok()
    }

    #[inline]
    fn value(&self, scanner: &mut Scanner<'_>, text: &[u8]) -> Result<(), Mismatch> {
        let is_match = match scanner.peek() {
            Some(b'{') if self.allows(Type::Object) => return self.object(scanner, text),
            Some(b'[') if self.allows(Type::Array) => return self.array(scanner, text),
            Some(b'{' | b'[') => false,
            _ => match scanner.value()? {
                (Kind::Null, _) => self.allows(Type::Null),
                (Kind::Bool, _) => self.allows(Type::Boolean),
                (Kind::String { escaped }, span) => {
                    self.allows(Type::String) && self.offers(span.of(text), escaped)
                }
                (Kind::Number, span) => self.number(span.of(text)),
                (Kind::Array | Kind::Object, _) => false,
            },
        };
        if is_match { Ok(()) } else { Err(Mismatch) }
    }

    fn allows(&self, kind: Type) -> bool {
        self.types & kind.bit() != 0
    }

    /// Whether a text in quotes is surely one of the choices.
    fn offers(&self, text: &[u8], escaped: bool) -> bool {
        let is_text = |choice: &String| text.get(1..text.len() - 1) == Some(choice.as_bytes());
        self.choices.is_empty() || !escaped && self.choices.iter().any(is_text)
    }

    fn number(&self, text: &[u8]) -> bool {
        // Without an exponent, it is finite.
        let is_integer = text.iter().all(|byte| !matches!(byte, b'.' | b'e' | b'E'));
        let is_decimal = is_integer || !text.iter().any(|byte| matches!(byte, b'e' | b'E'));
        let is_allowed =
            self.allows(Type::Number) && is_decimal || self.allows(Type::Integer) && is_integer;
        let is_within = self.range.is_none_or(|range| is_within(text, range));
        is_allowed && is_within && text.len() < MAX_DECIMAL
    }

    #[inline(never)]
    fn array(&self, scanner: &mut Scanner<'_>, text: &[u8]) -> Result<(), Mismatch> {
        let items = self.items.as_deref().ok_or(Mismatch)?;
        scanner.array(|scanner| items.value(scanner, text))
    }

    #[inline(never)]
    fn object(&self, scanner: &mut Scanner<'_>, text: &[u8]) -> Result<(), Mismatch> {
        let mut found = 0_u64;
        let names = self.properties.iter().map(|(name, _)| name.as_str());
        scanner.named_members(names, |scanner, index| {
            let index = index.ok_or(Mismatch)?;
            let bit = 1 << index;
            if found & bit != 0 {
                return Err(Mismatch);
            }
            found |= bit;
            self.properties[index].1.value(scanner, text)
        })?;
        if found & self.required == self.required { Ok(()) } else { Err(Mismatch) }
    }
}

/// The range of an integer without limits.
const WHOLE: (i64, i64) = (i64::MIN, i64::MAX);

/// The length of a decimal that is surely finite.
const MAX_DECIMAL: usize = 64;

/// Whether a text is an integer in an inclusive range.
fn is_within(text: &[u8], (minimum, maximum): (i64, i64)) -> bool {
    let number = std::str::from_utf8(text).ok().and_then(|text| text.parse().ok());
    number.is_some_and(|number| (minimum..=maximum).contains(&number))
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn other_keywords_have_no_shape() {
        for schema in [
            json!(false),
            json!({ "type": "string", "minLength": 1 }),
            json!({ "enum": [1] }),
            json!({ "$ref": "#" }),
            json!({ "minimum": 0.5 }),
            json!({ "maximum": 1e300 }),
            json!({ "additionalProperties": { "type": "string" } }),
            json!({ "required": ["b"] }),
            json!({ "items": { "not": {} } }),
        ] {
            assert!(Shape::of(&json!({ "properties": { "a": schema } })).is_none(), "{schema}");
        }
        let many: serde_json::Map<String, Value> =
            (0..65).map(|index| (index.to_string(), json!(true))).collect();
        assert!(Shape::of(&json!({ "properties": many })).is_none());
    }
}
