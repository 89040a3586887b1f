//! Conversion between Rust types and EDN.

mod deserialize;
mod deserializer;
mod error;
mod handoff;
mod serialize;
mod serializer;

use serde::de::{DeserializeOwned, IntoDeserializer as _};
use serde::{Deserialize, Serialize};

use crate::error::Error;
use crate::text;
use crate::value::Value;
use serializer::Serializer;

/// Serializes a value as EDN, on one line. [`to_value`] has the mapping.
///
/// ```
/// #[derive(serde::Serialize)]
/// #[serde(rename_all = "kebab-case")]
/// struct Config { is_open: bool, tags: Vec<trunkline_edn::Keyword> }
///
/// let config = Config { is_open: true, tags: vec!["blue".parse()?] };
/// assert_eq!(trunkline_edn::to_string(&config)?, "{:is-open true, :tags [:blue]}");
/// # Ok::<(), trunkline_edn::Error>(())
/// ```
///
/// # Errors
/// A map has a duplicate key, collections nest deeper than 128, or the type itself fails.
pub fn to_string<T: Serialize + ?Sized>(value: &T) -> Result<String, Error> {
    to_value(value).map(|value| value.to_string())
}

/// Serializes a value as EDN, indented.
///
/// # Errors
/// As [`to_string`].
pub fn to_string_pretty<T: Serialize + ?Sized>(value: &T) -> Result<String, Error> {
    to_value(value).map(|value| format!("{value:#}"))
}

/// Converts a value to EDN.
///
/// | Rust | EDN written | EDN read |
/// |---|---|---|
/// | struct | map with keyword keys | map with keyword, symbol or string keys; list or vector, by position |
/// | map | map; keys that are strings become keywords | map |
/// | `Vec`, tuple, bytes | vector | list, vector, set |
/// | `Option` | the value or `nil` | the same |
/// | `()` | `nil` | `nil` |
/// | enum without data | keyword, `:Red` | keyword, symbol, string |
/// | enum with data | map of one entry, `{:Circle 1.5}` | the same |
/// | integer | integer | integer in range; as a key, its text too |
/// | float | float, `##Inf`, `##NaN` | float, integer, decimal, ratio |
/// | `String` | string | string, keyword, symbol, character, inst, uuid: its text |
/// | `char` | character | character, string of one |
/// | IP and socket address | its text | string, keyword, symbol |
///
/// Each type is read as the same value again, also as a key, except that `Some(())` and
/// `Some(None)` are `nil`, which is read as `None`, and that the text of a `SocketAddrV6` has no flow label.
/// Keys that become equal, such as `None` and `Some(())`, are an error.
///
/// A name becomes a keyword if [`Keyword::plain`](crate::Keyword::plain) accepts it, else a string.
/// `#[serde(rename_all = "kebab-case")]` and `#[serde(rename = "ns/name")]` apply.
///
/// [`Value`] and its parts keep their types: a field of type [`Keyword`](crate::Keyword) is a keyword, one of type
/// [`Inst`](crate::Inst) an inst, and one of type `Value` any form, of the depth that the reader accepts. In formats
/// other than EDN, keywords, symbols, insts and UUIDs are text, as are decimals, ratios, and integers over 128 bits;
/// lists and sets are sequences; `##NaN` and the infinities depend on the format (`null` in JSON). Tagged values,
/// floats as keys, two keys with the same text, and a depth over 128 are errors there.
///
/// The same applies where serde buffers values (`flatten`, `untagged` and internally tagged enums). Types of this
/// crate keep their values: a `Keyword` field is a keyword, and a `Decimal` field the same number. A buffered `Value`
/// has strings for keywords and for integers over 64 bits, and floats for decimals and ratios, or strings where a
/// float would lose digits. A buffered `f64` field rejects a decimal with more digits than a float.
///
/// # Errors
/// As [`to_string`].
pub fn to_value<T: Serialize + ?Sized>(value: &T) -> Result<Value, Error> {
    value.serialize(Serializer::new())
}

/// Reads a value from a text of one form. [`to_value`] has the mapping.
///
/// ```
/// #[derive(serde::Deserialize)]
/// struct Point { x: f64, y: f64 }
///
/// let point: Point = trunkline_edn::from_str("{:x 1/2, :y 2}")?;
/// assert_eq!((point.x, point.y), (0.5, 2.0));
///
/// let error = trunkline_edn::from_str::<Point>("{:x 1,\n :y nil}").err().unwrap();
/// assert_eq!(error.to_string(), "line 2, column 5, in /y: expected f64, found nil");
/// # Ok::<(), trunkline_edn::Error>(())
/// ```
///
/// # Errors
/// The text is not one form within the default [`Limits`](crate::Limits), does not match the type, or nests
/// collections deeper than 128 in a type other than [`Value`].
pub fn from_str<T: DeserializeOwned>(text: &str) -> Result<T, Error> {
    let value = text::read(text)?;
    from_ref(&value).map_err(|error| error.located_in(text))
}

/// Reads a value from EDN.
///
/// # Errors
/// The value does not match the type, or nests collections deeper than 128 in a type other than [`Value`].
pub fn from_value<T: DeserializeOwned>(value: Value) -> Result<T, Error> {
    from_ref(&value)
}

/// Reads a value from EDN by reference: types with a lifetime can borrow the text of strings, keywords and symbols.
///
/// ```
/// # use trunkline_edn::{Value, from_ref};
/// let value: Value = "{:status :ok}".parse()?;
/// let map: std::collections::BTreeMap<&str, &str> = from_ref(&value)?;
/// assert_eq!(map["status"], "ok");
/// # Ok::<(), trunkline_edn::Error>(())
/// ```
///
/// # Errors
/// As [`from_value`].
pub fn from_ref<'de, T: Deserialize<'de>>(value: &'de Value) -> Result<T, Error> {
    T::deserialize(value.into_deserializer())
}
