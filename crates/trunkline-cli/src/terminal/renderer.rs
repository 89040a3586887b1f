//! The text of results.

use std::io::{IsTerminal, stderr, stdout};

use anstyle::{AnsiColor, Style};
use clap::ValueEnum;

use super::table::Table;
use super::{document, output, text};

const KEY: Style = AnsiColor::Cyan.on_default();

/// The format of a result.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub(crate) enum Format {
    /// Aligned columns; on a terminal, cells are cut to its width
    Table,
    /// One line per column
    Vertical,
    /// Comma-separated values with a header line
    Csv,
    /// The result as one line of JSON
    Json,
    /// One JSON object per row
    Ndjson,
}

/// Renders results for stdout and errors for stderr.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Renderer {
    /// `None` for a table, a text or an indented document, whichever the result is.
    pub(super) format: Option<Format>,
    /// The width of the terminal; `None` if stdout is not a terminal.
    pub(super) terminal: Option<usize>,
    /// Whether stdout shows colours.
    pub(super) has_colours: bool,
    pub(super) is_stderr_terminal: bool,
}

impl Renderer {
    /// A renderer for the streams of the process. `--json` is short for the format JSON.
    pub(crate) fn for_streams(is_json: bool, format: Option<Format>) -> Self {
        /// The width of a terminal that does not report its own.
        const DEFAULT_WIDTH: usize = 80;
        let width = || {
            let size = terminal_size::terminal_size_of(stdout());
            size.filter(|(terminal_size::Width(columns), _)| *columns > 0)
                .map_or(DEFAULT_WIDTH, |(terminal_size::Width(columns), _)| usize::from(columns))
        };
        Self {
            format: if is_json { Some(Format::Json) } else { format },
            terminal: stdout().is_terminal().then(width),
            has_colours: output::has_colours(&stdout()),
            is_stderr_terminal: stderr().is_terminal(),
        }
    }

    pub(crate) fn format(self) -> Option<Format> {
        self.format
    }

    /// Whether programs read the output, errors included.
    pub(crate) fn is_json(self) -> bool {
        matches!(self.format, Some(Format::Json | Format::Ndjson))
    }

    /// The width of the terminal; `None` if stdout is not a terminal.
    pub(crate) fn columns(self) -> Option<usize> {
        self.terminal
    }

    /// One line, cut to the width of the terminal.
    pub(crate) fn cut(self, line: &str) -> String {
        match self.terminal {
            Some(columns) => text::cut(line, columns).into_owned() + "\n",
            None => format!("{line}\n"),
        }
    }

    /// A text in this style, if stdout shows colours.
    pub(crate) fn paint(self, style: Style, text: &str) -> String {
        if self.has_colours { format!("{style}{text}{style:#}") } else { text.to_owned() }
    }

    /// A table, cut to the width of the terminal.
    pub(crate) fn table(self, table: &Table) -> String {
        table.lay_out(self.terminal, self.has_colours)
    }

    /// One line of JSON.
    pub(crate) fn json(self, json: &str) -> String {
        json_line(json, self.terminal.is_some())
    }

    /// One line of JSON for stderr.
    pub(crate) fn json_error(self, json: &str) -> String {
        json_line(json, self.is_stderr_terminal)
    }

    /// Indented JSON.
    pub(crate) fn document(self, json: &str) -> String {
        document::indented_with(json, self.has_colours.then_some(KEY)) + "\n"
    }
}

fn json_line(json: &str, is_terminal: bool) -> String {
    match is_terminal {
        true => document::for_terminal(json) + "\n",
        false => document::one_line(json).into_owned() + "\n",
    }
}
