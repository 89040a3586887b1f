//! The PostgreSQL engine: sessions, which run statements on a connection, and the server, which creates the tables.

mod error;
mod server;
mod session;
mod settings;
mod text;

pub(crate) use server::Server;
pub(crate) use session::Session;
pub(crate) use text::column;
