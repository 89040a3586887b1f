//! Conversion of values to JSON.

use std::borrow::Cow;
use std::collections::HashSet;
use std::mem::discriminant;

use crate::error::{Error, Reason, quoted};
use crate::location::{FormStep, Step};
use crate::scanner::{Notation, write_string};
use crate::value::{Map, Tagged, Value};

/// Options for writing JSON.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct ToJson {
    /// Write keywords and symbols without their namespaces, as values and as keys: `:a/b` is `"b"`. Two keys
    /// with the same name are an error. Default false.
    pub names: bool,
    /// Write tagged values without their tags. Otherwise unknown tags are errors. Default false.
    pub unwrap_tags: bool,
}

/// Maximum depth of arrays and objects that are written.
const MAX_DEPTH: usize = 1_024;

/// Converts a value to JSON, on one line.
///
/// # Errors
/// [`Reason::NoJson`], [`Reason::UnknownTag`], [`Reason::NoJsonKey`] or [`Reason::SameJsonKey`], with the path to
/// the value, or to the map of the key; [`Reason::TooDeep`] for a value nested deeper than 1,024.
pub fn to_string(value: &Value) -> Result<String, Error> {
    to_string_with(value, &ToJson::default())
}

/// [`to_string`] with options.
///
/// # Errors
/// Those of [`to_string`].
pub fn to_string_with(value: &Value, options: &ToJson) -> Result<String, Error> {
    let mut out = String::new();
    write(value, options, &mut out)?;
    Ok(out)
}

/// Appends a value as JSON, or nothing if there is an error.
///
/// # Errors
/// Those of [`to_string`].
pub fn write(value: &Value, options: &ToJson, out: &mut String) -> Result<(), Error> {
    let length = out.len();
    let written = Writer { options, out }.value(value, MAX_DEPTH);
    if written.is_err() {
        out.truncate(length);
    }
    written
}

/// The text of a value as the key of a JSON object.
///
/// # Errors
/// [`Reason::NoJsonKey`], [`Reason::UnknownTag`].
pub fn key_text(key: &Value) -> Result<String, Error> {
    text_of(key, &ToJson::default()).map(Cow::into_owned).map_err(Error::from)
}

struct Writer<'a> {
    options: &'a ToJson,
    out: &'a mut String,
}

impl Writer<'_> {
    /// Writes a value in which arrays and objects may nest to a depth.
    fn value(&mut self, value: &Value, depth: usize) -> Result<(), Error> {
        let value = untagged(value, self.options)?;
        match value {
            Value::List(list) => self.array(list, depth),
            Value::Vector(vector) => self.array(vector, depth),
            Value::Set(set) => self.array(set.as_slice(), depth),
            Value::Map(map) => self.object(map, depth),
            scalar => Ok(self.scalar(scalar)?),
        }
    }

    fn array(&mut self, values: &[Value], depth: usize) -> Result<(), Error> {
        let depth = deeper(depth)?;
        self.out.push('[');
        for (at, value) in values.iter().enumerate() {
            if at > 0 {
                self.out.push(',');
            }
            self.value(value, depth).map_err(|error| error.within(Step::Index(at)))?;
        }
        self.out.push(']');
        Ok(())
    }

    fn object(&mut self, map: &Map, depth: usize) -> Result<(), Error> {
        let depth = deeper(depth)?;
        // Checked before the values, whose errors have longer paths.
        check_keys(map, self.options)
            .map_err(|(reason, at)| Error::from(reason).at_form(FormStep::key(at)))?;
        self.out.push('{');
        for (at, (key, value)) in map.entries().iter().enumerate() {
            if at > 0 {
                self.out.push(',');
            }
            write_string(&text_of(key, self.options)?, Notation::Json, self.out);
            self.out.push(':');
            self.value(value, depth)
                .map_err(|error| error.within_form(key.key_step(), FormStep::value(at)))?;
        }
        self.out.push('}');
        Ok(())
    }

    fn scalar(&mut self, value: &Value) -> Result<(), Reason> {
        match value {
            Value::Nil => self.out.push_str("null"),
            Value::Bool(bool) => self.out.push_str(if *bool { "true" } else { "false" }),
            Value::Integer(integer) => integer.write_to(self.out),
            Value::Float(float) => write_float(*float, self.out)?,
            Value::Decimal(decimal) => decimal.write_to(self.out),
            Value::Ratio(ratio) => write_float(ratio.to_f64(), self.out)
                .map_err(|_| Reason::NoJson { what: quoted(&ratio.to_string()) })?,
            Value::String(text) => write_string(text, Notation::Json, self.out),
            // Other scalars are written as strings, with the same text as in keys.
            value => write_string(&text_of(value, self.options)?, Notation::Json, self.out),
        }
        Ok(())
    }
}

fn deeper(depth: usize) -> Result<usize, Reason> {
    depth.checked_sub(1).ok_or(Reason::TooDeep { limit: MAX_DEPTH })
}

/// Removes the tags of a value, if they are unwrapped.
fn untagged<'a>(mut value: &'a Value, options: &ToJson) -> Result<&'a Value, Reason> {
    while let Value::Tagged(tagged) = value {
        if !options.unwrap_tags {
            return Err(unknown_tag(tagged));
        }
        value = tagged.value();
    }
    Ok(value)
}

fn unknown_tag(tagged: &Tagged) -> Reason {
    Reason::UnknownTag { tag: quoted(tagged.tag().as_str()) }
}

/// [`key_text`] with options.
fn text_of<'a>(key: &'a Value, options: &ToJson) -> Result<Cow<'a, str>, Reason> {
    match untagged(key, options)? {
        Value::Keyword(keyword) if options.names => Ok(keyword.name().into()),
        Value::Symbol(symbol) if options.names => Ok(symbol.name().into()),
        key => key.key_text().ok_or_else(|| Reason::NoJsonKey { key: key.type_name() }),
    }
}

/// Checks that all keys have distinct texts. The error has the index of the entry.
fn check_keys(map: &Map, options: &ToJson) -> Result<(), (Reason, usize)> {
    if has_distinct_texts(map, options) {
        return Ok(());
    }
    let mut texts = HashSet::with_capacity(map.len());
    for (at, key) in map.keys().enumerate() {
        let text = text_of(key, options).map_err(|reason| (reason, at))?;
        if texts.contains(&text) {
            return Err((Reason::SameJsonKey { key: quoted(&text) }, at));
        }
        texts.insert(text);
    }
    Ok(())
}

/// Whether all keys have one type whose distinct values have distinct texts. Most maps have such keys.
fn has_distinct_texts(map: &Map, options: &ToJson) -> bool {
    let Some(first) = map.keys().next() else { return true };
    map.keys().all(|key| {
        discriminant(key) == discriminant(first)
            && match key {
                Value::Keyword(keyword) => !options.names || keyword.namespace().is_none(),
                Value::Symbol(symbol) => !options.names || symbol.namespace().is_none(),
                Value::String(_)
                | Value::Integer(_)
                | Value::Bool(_)
                | Value::Char(_)
                | Value::Inst(_)
                | Value::Uuid(_) => true,
                _ => false,
            }
    })
}

fn write_float(float: f64, out: &mut String) -> Result<(), Reason> {
    if float.is_finite() {
        out.push_str(zmij::Buffer::new().format_finite(float));
        return Ok(());
    }
    Err(Reason::NoJson { what: Value::Float(float).to_string().into() })
}
