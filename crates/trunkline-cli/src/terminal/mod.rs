//! Input and output of commands: params, results, errors and logs.

mod description;
mod document;
mod failure;
mod keyboard;
mod markdown;
pub(crate) mod output;
mod pages;
mod params;
mod progress_bar;
mod renderer;
mod rowset;
mod sensitive;
mod similar;
mod status_line;
mod table;
mod text;

pub(crate) use document::indented;
pub(crate) use failure::{Failure, finish, refuses_certificate, wait_for};
pub(crate) use keyboard::Keyboard;
pub(crate) use markdown::MarkdownStream;
pub(crate) use pages::{print_all, print_pages};
pub(crate) use params::{Params, document};
pub(crate) use progress_bar::progress_bar;
pub(crate) use renderer::{Format, Renderer};
pub(crate) use sensitive::Sensitive;
pub(crate) use similar::similar;
pub(crate) use status_line::StatusLine;
pub(crate) use table::Table;
pub(crate) use text::{cut, line, lines, names_password, redacted, width};
