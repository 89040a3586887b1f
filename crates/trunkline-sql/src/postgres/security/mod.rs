//! The statements, functions and system tables that callers may use.

mod functions;
mod secrets;
mod statement;
mod tokens;

pub(super) use functions::{called_names, is_forbidden};
pub(super) use statement::{Access, check, explain_length};
pub(super) use tokens::{Token, has_foreign_parameters, name_at, names, spans};
