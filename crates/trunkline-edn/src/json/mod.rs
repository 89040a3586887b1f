//! JSON both ways.

use crate::error::{Error, Reason};
use crate::value::Value;

/// The text that a key of a map has in JSON.
pub(crate) fn key_text(key: &Value) -> Result<String, Error> {
    match key {
        Value::String(text) => Ok(text.clone()),
        Value::Keyword(keyword) => Ok(keyword.as_str().to_owned()),
        Value::Symbol(symbol) => Ok(symbol.as_str().to_owned()),
        Value::Integer(integer) => Ok(integer.to_string()),
        Value::Bool(bool) => Ok(bool.to_string()),
        Value::Char(c) => Ok(c.to_string()),
        Value::Inst(inst) => Ok(inst.to_string()),
        Value::Uuid(uuid) => Ok(uuid.to_string()),
        key => Err(Error::from(Reason::NoJsonKey { key: key.type_name() })),
    }
}
