//! Names and texts of the schema. SQLite keeps them as bytes, which need not be valid UTF-8.

use rusqlite::Row;

/// Reads a name. The inner error is a name that is not valid UTF-8, with U+FFFD in place of what is not: no
/// request can hold such a name, and no statement that has it can be compiled here.
pub(crate) fn read(row: &Row<'_>, index: usize) -> rusqlite::Result<Result<String, String>> {
    let bytes = row.get_ref(index)?.as_bytes()?;
    Ok(match str::from_utf8(bytes) {
        Ok(name) => Ok(name.to_owned()),
        Err(_) => Err(String::from_utf8_lossy(bytes).into_owned()),
    })
}

/// Reads a text that is only shown, with U+FFFD in place of what is not valid UTF-8.
pub(crate) fn text(row: &Row<'_>, index: usize) -> rusqlite::Result<Option<String>> {
    let bytes = row.get_ref(index)?.as_bytes_or_null()?;
    Ok(bytes.map(|bytes| String::from_utf8_lossy(bytes).into_owned()))
}

/// Reads a text that is only shown and that SQLite always gives.
pub(crate) fn some_text(row: &Row<'_>, index: usize) -> rusqlite::Result<String> {
    Ok(text(row, index)?.unwrap_or_default())
}
