//! The differences between the engines in SQL and in values.

use std::borrow::Cow;
use std::error::Error;
use std::sync::Arc;

use bytes::BytesMut;
use tokio_postgres::Row;
use tokio_postgres::types::{IsNull, ToSql, Type, to_sql_checked};

use crate::error::StoreError;
use crate::value::Value;

/// Converts the placeholders of SQLite, `?1`, to those of PostgreSQL. Statements contain no other question marks.
pub(super) fn statement(sql: &str) -> String {
    sql.replace('?', "$")
}

/// PostgreSQL cannot store the character U+0000 in text. U+0001 begins an escape sequence, so that texts keep their
/// order.
fn escape(text: &str) -> Cow<'_, str> {
    if !text.contains(['\0', '\u{1}']) {
        return Cow::Borrowed(text);
    }
    let mut escaped = String::with_capacity(text.len() + 2);
    for character in text.chars() {
        match character {
            '\0' => escaped.push_str("\u{1}\u{1}"),
            '\u{1}' => escaped.push_str("\u{1}\u{2}"),
            other => escaped.push(other),
        }
    }
    Cow::Owned(escaped)
}

fn unescape(text: &str) -> Cow<'_, str> {
    if text.contains('\u{1}') {
        text.replace("\u{1}\u{1}", "\0").replace("\u{1}\u{2}", "\u{1}").into()
    } else {
        Cow::Borrowed(text)
    }
}

/// The type of a parameter. That of a missing value is inferred by the server.
pub(super) fn type_of(value: &Value<'_>) -> Type {
    match value {
        Value::Null => Type::UNKNOWN,
        Value::Integer(_) | Value::Unsigned(_) => Type::INT8,
        Value::Boolean(_) => Type::BOOL,
        Value::Text(_) => Type::TEXT,
    }
}

impl ToSql for Value<'_> {
    fn to_sql(
        &self,
        kind: &Type,
        out: &mut BytesMut,
    ) -> Result<IsNull, Box<dyn Error + Sync + Send>> {
        match self {
            Self::Null => Ok(IsNull::Yes),
            Self::Integer(value) => value.to_sql(kind, out),
            Self::Unsigned(value) => i64::try_from(*value)?.to_sql(kind, out),
            Self::Boolean(value) => value.to_sql(kind, out),
            Self::Text(value) => escape(value).as_ref().to_sql(kind, out),
        }
    }

    fn accepts(_: &Type) -> bool {
        true
    }

    to_sql_checked!();
}

/// The value of a column.
pub(crate) fn column(row: &Row, index: usize) -> Result<Value<'_>, StoreError> {
    let failed = |error: tokio_postgres::Error| StoreError::Failed(Arc::new(error));
    let kind = row.columns().get(index).map(|column| column.type_().clone());
    let value = match kind {
        Some(Type::INT8) => row.try_get::<_, Option<i64>>(index).map_err(failed)?.into(),
        Some(Type::INT4) => {
            row.try_get::<_, Option<i32>>(index).map_err(failed)?.map(i64::from).into()
        }
        Some(Type::BOOL) => row.try_get::<_, Option<bool>>(index).map_err(failed)?.into(),
        _ => match row.try_get::<_, Option<&str>>(index).map_err(failed)? {
            Some(text) => Value::Text(unescape(text)),
            None => Value::Null,
        },
    };
    Ok(value)
}

#[cfg(test)]
mod tests {
    use super::{escape, unescape};

    #[test]
    fn escaped_texts_keep_their_order() {
        let texts = [
            "",
            "\0",
            "\0\0",
            "\0\u{1}",
            "\0\u{2}",
            "\0a",
            "\u{1}",
            "\u{1}\0",
            "\u{1}\u{1}",
            "\u{2}",
            "a",
        ];
        let escaped: Vec<_> = texts.map(escape).into();
        assert!(escaped.is_sorted());
        for (text, escaped) in texts.into_iter().zip(&escaped) {
            assert!(!escaped.contains('\0'));
            assert_eq!(unescape(escaped), text, "{escaped:?}");
        }
    }
}
