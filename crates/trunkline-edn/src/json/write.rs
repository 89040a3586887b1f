//! From values to JSON.

use super::options::ToJson;
use super::{key, number, text};
use crate::error::{Error, Reason, shown};
use crate::location::{Leg, Path, Step};
use crate::value::Value;

/// A value as JSON, on one line.
///
/// # Errors
/// [`Reason::NoJson`], [`Reason::UnknownTag`], [`Reason::NoJsonKey`] or [`Reason::SameJsonKey`], with
/// the path to what has no JSON; of keys, to their map.
pub fn to_string(value: &Value) -> Result<String, Error> {
    to_string_with(value, &ToJson::default())
}

/// The same with options.
///
/// # Errors
/// Those of [`to_string`].
pub fn to_string_with(value: &Value, options: &ToJson) -> Result<String, Error> {
    let mut out = String::new();
    write(value, options, &mut out)?;
    Ok(out)
}

/// Appends a value as JSON; nothing, if there is an error.
///
/// # Errors
/// Those of [`to_string`].
pub fn write(value: &Value, options: &ToJson, out: &mut String) -> Result<(), Error> {
    let before = out.len();
    let mut writer = Writer { options, open: Vec::new() };
    writer.write(value, out).map_err(|fault| {
        out.truncate(before);
        writer.error(fault)
    })
}

struct Writer<'a> {
    options: &'a ToJson,
    /// The collections that have begun, from the outermost.
    open: Vec<Parts<'a>>,
}

/// The parts of a collection, and how many of them have begun.
enum Parts<'a> {
    Array { values: &'a [Value], begun: usize },
    Object { entries: &'a [(Value, Value)], begun: usize },
}

impl<'a> Writer<'a> {
    fn write(&mut self, value: &'a Value, out: &mut String) -> Result<(), Fault> {
        self.begin(value, out)?;
        while let Some(parts) = self.open.last_mut() {
            let value = match parts {
                Parts::Array { values, begun } => {
                    let Some(value) = values.get(*begun) else {
                        out.push(']');
                        self.open.pop();
                        continue;
                    };
                    if *begun > 0 {
                        out.push(',');
                    }
                    *begun += 1;
                    value
                }
                Parts::Object { entries, begun } => {
                    let Some((key, value)) = entries.get(*begun) else {
                        out.push('}');
                        self.open.pop();
                        continue;
                    };
                    out.push(if *begun > 0 { ',' } else { '{' });
                    text::write(&key::text_of(key, self.options)?, out);
                    out.push(':');
                    *begun += 1;
                    value
                }
            };
            self.begin(value, out)?;
        }
        Ok(())
    }

    /// Writes a value without parts, or begins one with parts.
    fn begin(&mut self, value: &'a Value, out: &mut String) -> Result<(), Fault> {
        let mut value = value;
        while let Value::Tagged(tagged) = value {
            if !self.options.unwrap_tags {
                return Err(key::unknown_tag(tagged).into());
            }
            value = tagged.value();
        }
        let values = match value {
            Value::List(list) => &**list,
            Value::Vector(vector) => &**vector,
            Value::Set(set) => set.iter().as_slice(),
            Value::Map(map) => {
                // Before its entries, whose errors have longer paths.
                key::check(map, self.options)
                    .map_err(|(reason, at)| Fault { reason, key: Some(at) })?;
                if map.is_empty() {
                    out.push_str("{}");
                } else {
                    self.open.push(Parts::Object { entries: map.entries(), begun: 0 });
                }
                return Ok(());
            }
            value => return Ok(self.scalar(value, out)?),
        };
        out.push('[');
        self.open.push(Parts::Array { values, begun: 0 });
        Ok(())
    }

    fn scalar(&self, value: &Value, out: &mut String) -> Result<(), Reason> {
        match value {
            Value::Nil => out.push_str("null"),
            Value::Bool(bool) => out.push_str(if *bool { "true" } else { "false" }),
            Value::Integer(integer) => integer.write_to(out),
            Value::Float(float) => number::write_float(*float, out)?,
            Value::Decimal(decimal) => decimal.write_to(out),
            Value::Ratio(ratio) => number::write_float(ratio.to_f64(), out)
                .map_err(|_| Reason::NoJson { what: shown(&ratio.to_string()) })?,
            Value::String(string) => text::write(string, out),
            // The rest is written as the text that it has as a key.
            value => text::write(&key::text_of(value, self.options)?, out),
        }
        Ok(())
    }

    /// With the path to what was begun last, and the way there in a text.
    fn error(&self, fault: Fault) -> Error {
        let step = |parts: &Parts<'_>| match parts {
            Parts::Array { begun, .. } => {
                let at = begun.checked_sub(1)?;
                Some((Step::Index(at), Leg::Part(at)))
            }
            Parts::Object { entries, begun } => {
                let at = begun.checked_sub(1)?;
                Some((entries[at].0.key_step(), Leg::value(at)))
            }
        };
        let (path, legs): (Vec<Step>, Vec<Leg>) = self.open.iter().filter_map(step).unzip();
        let error = Error::from(fault.reason).in_path(Path::from_iter(path));
        let key = fault.key.map(Leg::key);
        key.into_iter().chain(legs.into_iter().rev()).fold(error, Error::at_part)
    }
}

/// What is wrong with what was begun last, or with a key of it.
struct Fault {
    reason: Reason,
    /// Of which entry.
    key: Option<usize>,
}

impl From<Reason> for Fault {
    fn from(reason: Reason) -> Self {
        Self { reason, key: None }
    }
}
