//! Tables of text, aligned and fitted to the width of a terminal.
//!
//! comfy-table and tabled wrap cells and lay out whole tables; here a row is one line, and pages share their layout.

use std::borrow::Cow;

use anstyle::Style;

use super::text;

const GAP: &str = "  ";

/// A longer cell overflows its column, so that it does not pad all others.
const MAX_PADDED: usize = 200;

/// The columns that a cut cell keeps.
const MIN_WIDTH: usize = 6;

const HEADER: Style = Style::new().bold();
const NULL: Style = Style::new().dimmed();

#[derive(Debug, Default)]
pub(crate) struct Table {
    header: Vec<String>,
    rows: Vec<Vec<Cell>>,
}

/// A text without control characters.
#[derive(Debug, Clone, Default)]
pub(super) struct Cell {
    pub(super) text: String,
    pub(super) alignment: Alignment,
    pub(super) is_null: bool,
}

/// The alignment of a value in its column.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub(super) enum Alignment {
    Left,
    /// Numbers, if the column has nothing else.
    Right,
    /// The alignment of the other cells.
    #[default]
    Any,
}

/// The widths of columns, for rows that are printed one page after another.
#[derive(Debug)]
pub(super) struct Layout {
    widths: Vec<usize>,
    is_right: Vec<bool>,
    /// The width of the terminal; `None` where nothing is cut.
    terminal: Option<usize>,
    has_colours: bool,
}

impl Table {
    /// A table of texts, which may come from a server.
    pub(crate) fn from_texts<const N: usize>(
        header: [&str; N],
        rows: impl IntoIterator<Item = [String; N]>,
    ) -> Self {
        let cell = |text: String| Cell {
            text: text::line(&text).into_owned(),
            alignment: Alignment::Left,
            is_null: false,
        };
        let rows = rows.into_iter().map(|row| row.map(cell).into());
        Self { header: header.map(str::to_owned).into(), rows: rows.collect() }
    }

    /// The lines of the table, cut to the width of the terminal.
    pub(super) fn lay_out(&self, terminal: Option<usize>, has_colours: bool) -> String {
        let layout = Layout::new(&self.header, &self.rows, terminal, has_colours);
        layout.header(&self.header) + &layout.rows(&self.rows)
    }
}

/// A cell of any text.
pub(super) fn text_cell(text: &str) -> Cell {
    let is_number = text.parse::<f64>().is_ok();
    let alignment = if is_number { Alignment::Right } else { Alignment::Left };
    Cell { text: text::line(text).into_owned(), alignment, is_null: false }
}

impl Layout {
    pub(super) fn new(
        header: &[String],
        rows: &[Vec<Cell>],
        terminal: Option<usize>,
        has_colours: bool,
    ) -> Self {
        let column = |(index, name): (usize, &String)| {
            let cells = || rows.iter().filter_map(|row| row.get(index));
            let widest = cells().map(|cell| text::width(&cell.text)).max().unwrap_or_default();
            let width = widest.min(MAX_PADDED).max(text::width(name)).max(1);
            let has = |alignment| cells().any(|cell| cell.alignment == alignment);
            (width, has(Alignment::Right) && !has(Alignment::Left))
        };
        let (mut widths, is_right): (Vec<usize>, Vec<bool>) =
            header.iter().enumerate().map(column).unzip();
        if let Some(terminal) = terminal {
            widths.truncate(fitting(&widths, terminal));
            shrink(&mut widths, terminal);
        }
        Self { widths, is_right, terminal, has_colours }
    }

    /// The number of columns that fit the terminal.
    pub(super) fn columns(&self) -> usize {
        self.widths.len()
    }

    /// The names of the columns, and a line below them.
    pub(super) fn header(&self, names: &[String]) -> String {
        let name = |name: &String| Cell { text: name.clone(), ..Cell::default() };
        let names: Vec<Cell> = names.iter().map(name).collect();
        let rule = |width: &usize| Cell { text: "-".repeat(*width), ..Cell::default() };
        let rule: Vec<Cell> = self.widths.iter().map(rule).collect();
        let names = self.line(&names);
        let names = if self.has_colours { format!("{HEADER}{names}{HEADER:#}") } else { names };
        format!("{names}\n{}\n", self.line(&rule))
    }

    pub(super) fn rows(&self, rows: &[Vec<Cell>]) -> String {
        rows.iter().map(|row| self.line(row) + "\n").collect()
    }

    /// Rows with as many lines as their longest cells need.
    pub(super) fn wrapped_rows(&self, rows: &[Vec<Cell>]) -> String {
        let lines = |row: &Vec<Cell>| {
            let cells: Vec<_> = row
                .iter()
                .zip(&self.widths)
                .map(|(cell, width)| textwrap::wrap(&cell.text, *width))
                .collect();
            let height = cells.iter().map(Vec::len).max().unwrap_or_default();
            let line = |index: usize| {
                let part = |(cell, lines): (&Cell, &Vec<Cow<'_, str>>)| {
                    let text = lines.get(index).map_or("", |line| line).to_owned();
                    Cell { text, ..cell.clone() }
                };
                let parts: Vec<Cell> = row.iter().zip(&cells).map(part).collect();
                self.line(&parts) + "\n"
            };
            (0..height).map(line).collect::<String>()
        };
        rows.iter().map(lines).collect()
    }

    fn line(&self, row: &[Cell]) -> String {
        let mut line = String::new();
        for (index, (cell, width)) in row.iter().zip(&self.widths).enumerate() {
            let is_cut = self.terminal.is_some();
            let text: Cow<'_, str> =
                if is_cut { text::cut(&cell.text, *width) } else { (&*cell.text).into() };
            let blanks = " ".repeat(width.saturating_sub(text::width(&text)));
            let text = if cell.is_null && self.has_colours {
                format!("{NULL}{text}{NULL:#}").into()
            } else {
                text
            };
            if index > 0 {
                line += GAP;
            }
            line =
                if self.is_right[index] { line + &blanks + &text } else { line + &text + &blanks };
        }
        line.truncate(line.trim_end().len());
        line
    }
}

/// The number of columns that fit a terminal when all are as narrow as they may be; at least one.
fn fitting(widths: &[usize], terminal: usize) -> usize {
    let mut used = 0;
    let fits = |width: &&usize| {
        let gap = if used == 0 { 0 } else { GAP.len() };
        used += gap + (**width).min(MIN_WIDTH);
        used <= terminal
    };
    widths.iter().take_while(fits).count().max(1)
}

/// Narrows the widest columns until all fit the terminal.
fn shrink(widths: &mut [usize], terminal: usize) {
    let gaps = GAP.len() * widths.len().saturating_sub(1);
    let available = terminal.saturating_sub(gaps);
    let fits =
        |limit: usize| widths.iter().map(|width| *width.min(&limit)).sum::<usize>() <= available;
    // The largest limit at which all fit, by bisection: a hostile name may be a million columns wide.
    let (mut limit, mut over) = (1, widths.iter().max().map_or(1, |width| width + 1));
    while limit + 1 < over {
        let middle = limit.midpoint(over);
        if fits(middle) {
            limit = middle;
        } else {
            over = middle;
        }
    }
    // The remainder goes to the first of the narrowed columns.
    let total: usize = widths.iter().map(|width| *width.min(&limit)).sum();
    let mut spare = available.saturating_sub(total);
    for width in widths.iter_mut() {
        let more = spare.min(width.saturating_sub(limit));
        *width = (*width).min(limit + more);
        spare -= more;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn table(rows: &[&[&str]]) -> Table {
        let cell = |text: &&str| Cell { is_null: *text == "NULL", ..text_cell(text) };
        Table {
            header: rows[0].iter().map(|name| (*name).to_owned()).collect(),
            rows: rows[1..].iter().map(|row| row.iter().map(cell).collect()).collect(),
        }
    }

    #[track_caller]
    fn check(rows: &[&[&str]], terminal: Option<usize>, expected: &[&str]) {
        let found = table(rows).lay_out(terminal, false);
        assert_eq!(found.lines().collect::<Vec<_>>(), expected);
        if let Some(columns) = terminal {
            assert!(found.lines().all(|line| text::width(line) <= columns), "{found}");
        }
    }

    #[test]
    fn aligns_and_fits_columns() {
        let rows: &[&[&str]] = &[&["id", "name"], &["1", "AFRICA"], &["20", "世界"]];
        let expected = ["id  name", "--  ------", " 1  AFRICA", "20  世界"];
        check(rows, None, &expected);
        check(rows, Some(80), &expected);
        check(&[&["a"]], None, &["a", "-"]);
        let wide: &[&[&str]] = &[&["id", "世界の名前", "b"], &["1", "ab", "c"]];
        check(wide, None, &["id  世界の名前  b", "--  ----------  -", " 1  ab          c"]);
        let long: &[&[&str]] = &[&["a", "b"], &["abcdefghijkl", "x"], &["1", "yyyyyyyyyyyy"]];
        check(long, Some(15), &["a        b", "-------  ------", "abcdef…  x", "1        yyyyy…"]);
        // Columns that do not fit are left out.
        check(long, Some(13), &["a", "------------", "abcdefghijkl", "1"]);
        check(long, Some(5), &["a", "-----", "abcd…", "1"]);
    }

    #[test]
    fn a_long_cell_does_not_pad_others() {
        let long = "x".repeat(5_000);
        let found = table(&[&["a", "b"], &[&long, "z"], &["y", "z"]]).lay_out(None, false);
        let widths: Vec<usize> = found.lines().map(str::len).collect();
        assert_eq!(widths, [203, 203, 5_003, 203]);
        assert!(found.contains(&long), "cut without a terminal");
    }

    #[test]
    fn colours_the_header_and_nulls() {
        let found = table(&[&["a"], &["NULL"], &["b"]]).lay_out(None, true);
        assert_eq!(found, "\u{1b}[1ma\u{1b}[0m\n----\n\u{1b}[2mNULL\u{1b}[0m\nb\n");
    }
}
