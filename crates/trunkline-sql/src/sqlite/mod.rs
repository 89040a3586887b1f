//! SQLite: the file, its connections, the threads that they live on, and the calls that run there.

mod collect;
mod database;
mod error;
mod execute;
mod file;
mod row_limit;
mod schema;
mod security;
mod session;
mod settings;
mod value;
mod workers;

pub use database::Database;
pub use file::create_empty;
pub use settings::Settings;
