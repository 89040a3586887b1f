use std::borrow::Cow;
use std::sync::Arc;

use rusqlite::types::ValueRef;

use crate::error::StoreError;
#[cfg(feature = "postgres")]
use crate::postgres;
use crate::value::{Column, Value};

/// A row of a result.
#[derive(Debug)]
pub struct Row<'r>(Columns<'r>);

#[derive(Debug)]
enum Columns<'r> {
    Sqlite(&'r rusqlite::Row<'r>),
    #[cfg(feature = "postgres")]
    Postgres(&'r tokio_postgres::Row),
}

impl<'r> Row<'r> {
    pub(crate) fn sqlite(row: &'r rusqlite::Row<'r>) -> Self {
        Self(Columns::Sqlite(row))
    }

    #[cfg(feature = "postgres")]
    pub(crate) fn postgres(row: &'r tokio_postgres::Row) -> Self {
        Self(Columns::Postgres(row))
    }

    /// The value of a column, counted from 0.
    ///
    /// # Errors
    /// If the column does not exist, or its value has another type.
    pub fn get<T: Column>(&self, index: usize) -> Result<T, StoreError> {
        let mismatch = || StoreError::Failed(Arc::new(TypeMismatch { index, expected: T::NAME }));
        T::from_value(self.value(index)?).ok_or_else(mismatch)
    }

    /// The text of a column, without a copy if possible.
    ///
    /// # Errors
    /// As of [`get`](Self::get).
    pub fn text(&self, index: usize) -> Result<Cow<'_, str>, StoreError> {
        match self.value(index)? {
            Value::Text(text) => Ok(text),
            _ => Err(StoreError::Failed(Arc::new(TypeMismatch { index, expected: String::NAME }))),
        }
    }

    fn value(&self, index: usize) -> Result<Value<'_>, StoreError> {
        match &self.0 {
            Columns::Sqlite(row) => Ok(match row.get_ref(index)? {
                ValueRef::Null => Value::Null,
                ValueRef::Integer(value) => Value::Integer(value),
                value => Value::Text(value.as_str().map_err(rusqlite::Error::from)?.into()),
            }),
            #[cfg(feature = "postgres")]
            Columns::Postgres(row) => postgres::column(row, index),
        }
    }
}

#[derive(Debug, thiserror::Error)]
#[error("column {index} is not {expected}")]
struct TypeMismatch {
    index: usize,
    expected: &'static str,
}
