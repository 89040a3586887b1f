use std::borrow::Cow;

use rusqlite::ToSql;
use rusqlite::types::{Null, ToSqlOutput, ValueRef};

/// A parameter of a statement, or a column of a row.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Value<'v> {
    /// A missing value.
    Null,
    /// A signed integer.
    Integer(i64),
    /// An unsigned integer. As a parameter, it is limited to the range of signed ones.
    Unsigned(u64),
    /// A boolean. SQLite stores it as an integer.
    Boolean(bool),
    /// Text.
    Text(Cow<'v, str>),
}

impl From<i64> for Value<'_> {
    fn from(value: i64) -> Self {
        Self::Integer(value)
    }
}

impl From<u64> for Value<'_> {
    fn from(value: u64) -> Self {
        Self::Unsigned(value)
    }
}

impl From<bool> for Value<'_> {
    fn from(value: bool) -> Self {
        Self::Boolean(value)
    }
}

impl<'v> From<&'v str> for Value<'v> {
    fn from(value: &'v str) -> Self {
        Self::Text(Cow::Borrowed(value))
    }
}

impl<'v> From<&'v String> for Value<'v> {
    fn from(value: &'v String) -> Self {
        Self::from(value.as_str())
    }
}

impl<'v, T: Into<Value<'v>>> From<Option<T>> for Value<'v> {
    fn from(value: Option<T>) -> Self {
        value.map_or(Self::Null, Into::into)
    }
}

impl ToSql for Value<'_> {
    fn to_sql(&self) -> rusqlite::Result<ToSqlOutput<'_>> {
        match self {
            Self::Null => Null.to_sql(),
            Self::Integer(value) => Ok((*value).into()),
            Self::Unsigned(value) => value.to_sql(),
            Self::Boolean(value) => Ok((*value).into()),
            Self::Text(value) => Ok(ToSqlOutput::Borrowed(ValueRef::Text(value.as_bytes()))),
        }
    }
}

/// A Rust type that columns are read as.
pub trait Column: Sized {
    /// The name of the type in messages.
    const NAME: &'static str;

    /// Converts a value, unless it has another type.
    fn from_value(value: Value<'_>) -> Option<Self>;
}

impl Column for i64 {
    const NAME: &'static str = "an integer";

    fn from_value(value: Value<'_>) -> Option<Self> {
        match value {
            Value::Integer(value) => Some(value),
            _ => None,
        }
    }
}

impl Column for u64 {
    const NAME: &'static str = "an unsigned integer";

    fn from_value(value: Value<'_>) -> Option<Self> {
        i64::from_value(value)?.try_into().ok()
    }
}

impl Column for bool {
    const NAME: &'static str = "a boolean";

    fn from_value(value: Value<'_>) -> Option<Self> {
        match value {
            Value::Boolean(value) => Some(value),
            Value::Integer(value) => Some(value != 0),
            _ => None,
        }
    }
}

impl Column for String {
    const NAME: &'static str = "text";

    fn from_value(value: Value<'_>) -> Option<Self> {
        match value {
            Value::Text(text) => Some(text.into_owned()),
            _ => None,
        }
    }
}

impl<T: Column> Column for Option<T> {
    const NAME: &'static str = T::NAME;

    fn from_value(value: Value<'_>) -> Option<Self> {
        match value {
            Value::Null => Some(None),
            value => T::from_value(value).map(Some),
        }
    }
}
