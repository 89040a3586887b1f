//! Building of statements: SQL text with the values of its parameters. Names are looked up in the schema and quoted;
//! values are always bound.

pub(crate) mod change;
pub(crate) mod create_table;
mod dialect;
pub(crate) mod document;
mod filter;
pub(crate) mod identifier;
pub(crate) mod import;
mod order;
pub(crate) mod raw;
pub(crate) mod select;
