//! SQLite: the file, its connections, the threads that they live on, and the calls that run there.

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
