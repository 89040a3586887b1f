//! Rust types to EDN and back.

mod deserialize;
mod deserializer;
mod error;
mod handoff;
mod number;
mod serialize;
mod serializer;

use serde::de::{DeserializeOwned, IntoDeserializer as _};
use serde::{Deserialize, Serialize};

use crate::error::Error;
use crate::text;
use crate::value::Value;
use serializer::Serializer;

/// A value as EDN, on one line. [`to_value`] tells what becomes what.
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
/// When a map has a key twice, or the type itself fails.
pub fn to_string<T: Serialize + ?Sized>(value: &T) -> Result<String, Error> {
    to_value(value).map(|value| value.to_string())
}

/// A value as EDN, indented.
///
/// # Errors
/// As [`to_string`].
pub fn to_string_pretty<T: Serialize + ?Sized>(value: &T) -> Result<String, Error> {
    to_value(value).map(|value| format!("{value:#}"))
}

/// The EDN that a value is.
///
/// | Rust | EDN that is written | EDN that is read |
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
/// Each type is read as the same value again, also where it is a key, except that `Some(())` and
/// `Some(None)` are `nil`, which is read as `None`, and that the text of a `SocketAddrV6` has no flow label.
/// Keys that become equal, as `None` and `Some(())` do, are an error.
///
/// A name becomes a keyword if [`Keyword::plain`](crate::Keyword::plain) has one for it, else a string.
/// So `#[serde(rename_all = "kebab-case")]` and `#[serde(rename = "ns/name")]` give the keywords that
/// one expects.
///
/// [`Value`] and what it is made of keep what they are: a field of type [`Keyword`](crate::Keyword) is
/// written as a keyword and one of type [`Inst`](crate::Inst) as an inst, and a `Value` reads whatever
/// there is. In other formats than EDN they are what they look like: keywords, symbols, insts and UUIDs
/// are text, and so are decimals, ratios, and integers that 128 bits do not hold; lists and sets are
/// sequences; `##NaN` and the infinities are what the format makes of them, which in JSON is `null`. A
/// tagged value is an error, and so are a key that is a float, two keys with the same text, and over 128
/// collections in each other.
///
/// Where serde keeps values for later (`flatten`, `untagged` and internally tagged enums), it knows no
/// more than that either. A field of a type of ours still is what stood there: a `Keyword` one, and a
/// `Decimal` the same number. A `Value` there has strings for keywords and for integers over 64 bits, and
/// floats for decimals and ratios, or strings where a float would lose digits. So a field of type `f64`
/// there refuses a decimal that has more digits than a float.
///
/// # Errors
/// As [`to_string`].
pub fn to_value<T: Serialize + ?Sized>(value: &T) -> Result<Value, Error> {
    value.serialize(Serializer::new())
}

/// Reads a value from the only form of a text. [`to_value`] tells what is read as what.
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
/// When the text is not one form within the default [`Limits`](crate::Limits), or not what the type
/// wants, or nests deeper than 128 collections where the type is no [`Value`].
pub fn from_str<T: DeserializeOwned>(text: &str) -> Result<T, Error> {
    let value = text::read(text)?;
    from_ref(&value).map_err(|error| error.located_in(text))
}

/// Reads a value from EDN.
///
/// # Errors
/// When it is not what the type wants, or nests deeper than 128 collections where the type is no
/// [`Value`].
pub fn from_value<T: DeserializeOwned>(value: Value) -> Result<T, Error> {
    from_ref(&value)
}

/// Reads a value from EDN that stays: what has a lifetime can borrow the text of strings, keywords and
/// symbols.
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
