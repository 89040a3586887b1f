use std::fs::{DirBuilder, OpenOptions};
use std::io;
use std::path::Path;

use rusqlite::{Connection, OpenFlags};

use super::error::OpenError;
use super::settings::Settings;
use super::statements;

const NAME: &str = "agent.sqlite";

/// `tlag`: what tells the file from those of other programs.
const APPLICATION: i64 = 0x746c_6167;

/// Of the schema below.
const VERSION: u32 = 1;

const SCHEMA: &str = "
    CREATE TABLE conversation (
        id TEXT PRIMARY KEY,
        caller TEXT NOT NULL,
        title TEXT NOT NULL,
        created_ms INTEGER NOT NULL,
        updated_ms INTEGER NOT NULL,
        pending TEXT,
        pending_until_ms INTEGER
    ) STRICT;
    CREATE INDEX conversation_of_caller ON conversation (caller, updated_ms);
    CREATE INDEX conversation_of_time ON conversation (updated_ms);
    CREATE TABLE turn (
        conversation TEXT NOT NULL REFERENCES conversation ON DELETE CASCADE,
        number INTEGER NOT NULL,
        messages TEXT NOT NULL,
        count INTEGER NOT NULL,
        bytes INTEGER NOT NULL,
        PRIMARY KEY (conversation, number)
    ) STRICT;
";

/// Opens the file, which is made if it is missing, and forgets what is too old.
pub(super) fn open(directory: &Path, settings: &Settings) -> Result<Connection, OpenError> {
    let made = |path: &Path| {
        let path = path.to_owned();
        move |source| OpenError::Make { path, source }
    };
    make_directory(directory).map_err(made(directory))?;
    let path = directory.join(NAME);
    make_file(&path).map_err(made(&path))?;
    let failed = |source| OpenError::Sqlite { path: path.clone(), source };
    let mut connection = connect(&path, settings).map_err(failed)?;
    match marks(&connection).map_err(failed)? {
        (APPLICATION, found) if found > VERSION => return Err(OpenError::Newer { path, found }),
        (APPLICATION, _) => {}
        (0, 0) if is_empty(&connection).map_err(failed)? => {
            create(&mut connection).map_err(failed)?;
        }
        _ => return Err(OpenError::NotOurs { path }),
    }
    if statements::forget_old(&connection, settings).map_err(failed)? {
        statements::vacuum(&connection).map_err(failed)?;
    }
    Ok(connection)
}

fn connect(path: &Path, settings: &Settings) -> rusqlite::Result<Connection> {
    let flags = OpenFlags::SQLITE_OPEN_READ_WRITE | OpenFlags::SQLITE_OPEN_NO_MUTEX;
    let connection = Connection::open_with_flags(path, flags)?;
    connection.busy_timeout(settings.timeout / 2)?;
    connection.pragma_update(None, "foreign_keys", true)?;
    // A turn that was answered is there after a loss of power, too.
    connection.pragma_update(None, "synchronous", "FULL")?;
    // What was deleted is nowhere in the file.
    connection.pragma_update(None, "secure_delete", true)?;
    Ok(connection)
}

fn create(connection: &mut Connection) -> rusqlite::Result<()> {
    // The file can give back what it does not need. It has to be said before anything is in it.
    connection.pragma_update(None, "auto_vacuum", "incremental")?;
    connection.pragma_update(None, "journal_mode", "wal")?;
    let transaction = connection.transaction()?;
    transaction.execute_batch(SCHEMA)?;
    transaction.pragma_update(None, "application_id", APPLICATION)?;
    transaction.pragma_update(None, "user_version", VERSION)?;
    transaction.commit()
}

fn marks(connection: &Connection) -> rusqlite::Result<(i64, u32)> {
    let pragma = |name: &str| connection.pragma_query_value(None, name, |row| row.get::<_, i64>(0));
    let version = u32::try_from(pragma("user_version")?).unwrap_or(u32::MAX);
    Ok((pragma("application_id")?, version))
}

fn is_empty(connection: &Connection) -> rusqlite::Result<bool> {
    connection.query_row("SELECT NOT EXISTS (SELECT 1 FROM sqlite_schema)", [], |row| row.get(0))
}

fn make_directory(path: &Path) -> io::Result<()> {
    let mut builder = DirBuilder::new();
    builder.recursive(true);
    #[cfg(unix)]
    std::os::unix::fs::DirBuilderExt::mode(&mut builder, 0o700);
    builder.create(path)
}

/// SQLite would make the file, but for everyone; its log takes over the permissions of the file.
fn make_file(path: &Path) -> io::Result<()> {
    let mut options = OpenOptions::new();
    options.write(true).create(true).truncate(false);
    #[cfg(unix)]
    std::os::unix::fs::OpenOptionsExt::mode(&mut options, 0o600);
    options.open(path).map(drop)
}
