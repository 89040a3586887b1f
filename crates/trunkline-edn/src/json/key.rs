//! Keys of maps as keys of objects.

use std::borrow::Cow;
use std::collections::HashSet;
use std::mem::discriminant;

use super::options::ToJson;
use crate::error::{Error, Reason, shown};
use crate::value::{Map, Tagged, Value};

/// The text that a key of a map has in JSON.
///
/// # Errors
/// [`Reason::NoJsonKey`], [`Reason::UnknownTag`].
pub fn key_text(key: &Value) -> Result<String, Error> {
    text_of(key, &ToJson::default()).map(Cow::into_owned).map_err(Error::from)
}

/// The same under other options.
pub(super) fn text_of<'a>(key: &'a Value, options: &ToJson) -> Result<Cow<'a, str>, Reason> {
    let mut key = key;
    while let Value::Tagged(tagged) = key {
        if !options.unwrap_tags {
            return Err(unknown_tag(tagged));
        }
        key = tagged.value();
    }
    match key {
        Value::Keyword(keyword) if options.names => Ok(keyword.name().into()),
        Value::Symbol(symbol) if options.names => Ok(symbol.name().into()),
        key => key.key_text().ok_or_else(|| Reason::NoJsonKey { key: key.type_name() }),
    }
}

/// The error for a tag without an equivalent in JSON.
pub(super) fn unknown_tag(tagged: &Tagged) -> Reason {
    Reason::UnknownTag { tag: shown(tagged.tag().as_str()) }
}

/// Whether all keys have texts, of which no two are the same; else why not, and in which entry.
pub(super) fn check(map: &Map, options: &ToJson) -> Result<(), (Reason, usize)> {
    if are_distinct(map, options) {
        return Ok(());
    }
    let mut texts = HashSet::with_capacity(map.len());
    for (at, key) in map.keys().enumerate() {
        let text = text_of(key, options).map_err(|reason| (reason, at))?;
        if texts.contains(&text) {
            return Err((Reason::SameJsonKey { key: shown(&text) }, at));
        }
        texts.insert(text);
    }
    Ok(())
}

/// Whether the texts are known to be distinct, as the keys are. Of most maps they are: all keys are of
/// one sort.
fn are_distinct(map: &Map, options: &ToJson) -> bool {
    let Some(first) = map.keys().next() else { return true };
    let is_alike = |key: &Value| {
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
    };
    map.keys().all(is_alike)
}
