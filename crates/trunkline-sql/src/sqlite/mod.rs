//! SQLite: the file, its connections, their threads, and the calls that run on them.

mod backend;
mod backup;
mod collect;
mod config;
mod draft;
mod error;
mod execute;
mod file;
mod file_check;
mod functions;
mod listeners;
mod open_error;
mod program;
mod raw_sql;
mod row_limit;
mod schema;
mod security;
mod session;
mod tokens;
mod value;
mod workers;

pub use backend::Sqlite;
pub use backup::{BackupError, BackupSummary, backup};
pub use config::SqliteConfig;
pub use draft::draft_of;
pub use file::create_empty;
pub use open_error::OpenError;
