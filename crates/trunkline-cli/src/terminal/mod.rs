//! Input and output of commands: params, results, failures and logs.

mod document;
mod failure;
mod form;
pub(crate) mod output;
mod rowset;
mod table;
mod text;
mod words;

pub(crate) use document::indented;
pub(crate) use failure::{Failure, finish, wait_for};
pub(crate) use form::Form;
pub(crate) use table::Table;
pub(crate) use text::{cut, line, lines};
pub(crate) use words::{Words, document};
