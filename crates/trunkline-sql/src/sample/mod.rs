//! A sample database for demonstrations: the tables of TPC-H, which model a wholesaler with parts, suppliers,
//! customers and orders.

mod rows;

use std::fs;
use std::io;
use std::path::Path;

use rusqlite::{Connection, OpenFlags};

use crate::sqlite::draft_of;

/// The size of a sample, as a fraction of TPC-H's scale factor 1, which has 8.6 million rows.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Scale(f64);

impl Scale {
    /// 86,800 rows, 15 MB.
    pub const SMALL: Self = Self(0.01);
    /// 8,595 rows, 1.5 MB.
    pub const TINY: Self = Self(0.001);
}

/// The reason why a sample was not written. The file at the path is unchanged.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum SampleError {
    /// The file has content.
    #[error("the file is not empty")]
    NotEmpty,
    /// The file cannot be created, written or renamed.
    #[error("cannot write the sample database")]
    Io(#[from] io::Error),
    /// SQLite cannot write the file.
    #[error("cannot write the sample database")]
    Sqlite(#[from] rusqlite::Error),
}

/// Writes the sample to `path`, which must not exist or be an empty file or an empty database. Blocks for some tenths
/// of a second for [`Scale::SMALL`].
///
/// The database is written under a temporary name in the same directory and renamed when it is complete and on disk,
/// so an interrupted call leaves at most a `NAME.*.part` file. A process that has the empty file open keeps
/// reading that file.
///
/// # Errors
///
/// [`SampleError::NotEmpty`] if the file has content, or the error of the failed step.
pub fn write(path: impl AsRef<Path>, scale: Scale) -> Result<(), SampleError> {
    let path = path.as_ref();
    let exists = fs::exists(path)?;
    if exists && !is_empty(path)? {
        return Err(SampleError::NotEmpty);
    }
    let draft = draft_of(path)?;
    fill(draft.path(), scale)?;
    draft.as_file().sync_all()?;
    if exists {
        draft.persist(path).map_err(|error| error.error)?;
        return Ok(());
    }
    match draft.persist_noclobber(path) {
        Ok(_) => Ok(()),
        Err(error) if error.error.kind() == io::ErrorKind::AlreadyExists => {
            Err(SampleError::NotEmpty)
        }
        Err(error) => Err(error.error.into()),
    }
}

/// Whether a file has no bytes, or is a database without tables and views. A file that SQLite cannot read has content.
fn is_empty(path: &Path) -> io::Result<bool> {
    if fs::metadata(path)?.len() == 0 {
        return Ok(true);
    }
    let count = Connection::open_with_flags(path, OpenFlags::SQLITE_OPEN_READ_ONLY).and_then(
        |connection| {
            connection
                .query_row("SELECT count(*) FROM sqlite_schema", [], |row| row.get::<_, i64>(0))
        },
    );
    Ok(matches!(count, Ok(0)))
}

fn fill(path: &Path, scale: Scale) -> rusqlite::Result<()> {
    let mut connection = Connection::open_with_flags(
        path,
        OpenFlags::SQLITE_OPEN_READ_WRITE | OpenFlags::SQLITE_OPEN_NO_MUTEX,
    )?;
    // A failed draft is deleted, so no journal is necessary.
    connection.pragma_update_and_check(None, "journal_mode", "OFF", |_| Ok(()))?;
    connection.pragma_update(None, "synchronous", "OFF")?;
    connection.pragma_update(None, "foreign_keys", false)?;
    let transaction = connection.transaction()?;
    transaction.execute_batch(include_str!("schema.sql"))?;
    rows::insert(&transaction, scale.0)?;
    transaction.execute_batch(include_str!("indexes.sql"))?;
    transaction.commit()?;
    connection.close().map_err(|(_, error)| error)
}
