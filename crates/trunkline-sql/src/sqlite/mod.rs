//! SQLite: the file, its connections, their threads, and the calls that run on them.

mod collect;
mod config;
mod database;
mod error;
mod execute;
mod file;
mod row_limit;
mod schema;
mod security;
mod session;
mod value;
mod workers;

pub use config::SqliteConfig;
pub use database::Database;
pub use file::create_empty;
