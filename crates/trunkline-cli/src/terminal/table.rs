//! Rows and columns, aligned.

use std::borrow::Cow;

use super::text;

const GAP: &str = "  ";

/// A cell that is longer stands out of its column, so that one does not pad all the others.
const WIDEST_PADDED: usize = 200;

/// A column that is cut keeps as much.
const NARROWEST: usize = 4;

#[derive(Debug, Default)]
pub(crate) struct Table {
    pub(super) header: Vec<String>,
    /// As many cells each as the header has. They hold no control characters.
    pub(super) rows: Vec<Vec<Cell>>,
}

#[derive(Debug, Clone)]
pub(super) struct Cell {
    pub(super) text: String,
    pub(super) side: Side,
}

/// Where a cell stands in its column.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Side {
    Left,
    /// Numbers, if the column has nothing else.
    Right,
    /// With the other ones.
    Either,
}

impl Table {
    /// A table of texts, whoever they come from.
    pub(crate) fn of_texts<const N: usize>(
        header: [&str; N],
        rows: impl IntoIterator<Item = [String; N]>,
    ) -> Self {
        let cell = |text: String| Cell { text: text::line(&text).into_owned(), side: Side::Left };
        let rows = rows.into_iter().map(|row| row.map(cell).into());
        Self { header: header.map(str::to_owned).into(), rows: rows.collect() }
    }

    /// The lines of the table, cut to a terminal's columns, if it is for one.
    pub(super) fn lay_out(&self, terminal: Option<usize>) -> String {
        let columns = self.columns();
        let mut widths: Vec<usize> = columns.iter().map(|(width, _)| *width).collect();
        if let Some(terminal) = terminal {
            shrink(&mut widths, terminal);
        }
        let rule = |width: &usize| Cell { text: "-".repeat(*width), side: Side::Either };
        let rule: Vec<Cell> = widths.iter().map(rule).collect();
        let header = self.header.iter().map(|name| Cell { text: name.clone(), side: Side::Either });
        let header: Vec<Cell> = header.collect();
        let mut out = String::new();
        for row in [&header, &rule].into_iter().chain(&self.rows) {
            let line = self.line(row, &widths, &columns, terminal.is_some());
            let line = line.trim_end();
            out += &terminal.map_or(Cow::Borrowed(line), |columns| text::cut(line, columns));
            out.push('\n');
        }
        out
    }

    /// The width of each column, and whether it holds numbers, which stand at the right.
    fn columns(&self) -> Vec<(usize, bool)> {
        let column = |(index, name): (usize, &String)| {
            let cells = || self.rows.iter().filter_map(|row| row.get(index));
            let widest = cells().map(|cell| text::width(&cell.text)).max().unwrap_or_default();
            let width = widest.min(WIDEST_PADDED).max(text::width(name)).max(1);
            let has = |side| cells().any(|cell| cell.side == side);
            (width, has(Side::Right) && !has(Side::Left))
        };
        self.header.iter().enumerate().map(column).collect()
    }

    fn line(
        &self,
        row: &[Cell],
        widths: &[usize],
        columns: &[(usize, bool)],
        is_cut: bool,
    ) -> String {
        let mut line = String::new();
        for (index, (cell, width)) in row.iter().zip(widths).enumerate() {
            let text = if is_cut { text::cut(&cell.text, *width) } else { (&*cell.text).into() };
            let blanks = " ".repeat(width.saturating_sub(text::width(&text)));
            let is_right = columns[index].1;
            let (before, after) =
                if is_right { (blanks, String::new()) } else { (String::new(), blanks) };
            if index > 0 {
                line += GAP;
            }
            line = line + &before + &text + &after;
        }
        line
    }
}

/// Takes from the widest columns what is too much for a terminal.
fn shrink(widths: &mut [usize], terminal: usize) {
    let gaps = GAP.len() * widths.len().saturating_sub(1);
    let room = terminal.saturating_sub(gaps);
    let fits = |limit: usize| widths.iter().map(|width| *width.min(&limit)).sum::<usize>() <= room;
    // The widest limit under which all fit, by halves: a hostile name may be a million wide.
    let (mut limit, mut over) = (NARROWEST, widths.iter().max().map_or(NARROWEST, |w| w + 1));
    while limit + 1 < over {
        let middle = limit.midpoint(over);
        if fits(middle) {
            limit = middle;
        } else {
            over = middle;
        }
    }
    // What is left over goes to the first of those that were cut.
    let total: usize = widths.iter().map(|width| *width.min(&limit)).sum();
    let mut spare = room.saturating_sub(total);
    for width in widths.iter_mut() {
        let more = spare.min(width.saturating_sub(limit));
        *width = (*width).min(limit + more);
        spare -= more;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[track_caller]
    fn check(rows: &[&[&str]], terminal: Option<usize>, expected: &[&str]) {
        let cell = |text: &&str| Cell {
            text: (*text).to_owned(),
            side: if text.parse::<f64>().is_ok() { Side::Right } else { Side::Left },
        };
        let table = Table {
            header: rows[0].iter().map(|name| (*name).to_owned()).collect(),
            rows: rows[1..].iter().map(|row| row.iter().map(cell).collect()).collect(),
        };
        let found = table.lay_out(terminal);
        assert_eq!(found.lines().collect::<Vec<_>>(), expected);
        if let Some(columns) = terminal {
            assert!(found.lines().all(|line| text::width(line) <= columns), "{found}");
        }
    }

    #[test]
    fn layout() {
        let rows: &[&[&str]] = &[&["id", "name"], &["1", "AFRICA"], &["20", "世界"]];
        let expected = ["id  name", "--  ------", " 1  AFRICA", "20  世界"];
        check(rows, None, &expected);
        check(rows, Some(80), &expected);
        check(&[&["a"]], None, &["a", "-"]);
        let wide: &[&[&str]] = &[&["id", "世界の名前", "b"], &["1", "ab", "c"]];
        check(wide, None, &["id  世界の名前  b", "--  ----------  -", " 1  ab          c"]);
        let long: &[&[&str]] = &[&["a", "b"], &["abcdefghijkl", "x"], &["1", "yyyyyyyyyyyy"]];
        check(long, Some(15), &["a        b", "-------  ------", "abcdef…  x", "1        yyyyy…"]);
        // Nothing fits: lines are cut.
        check(long, Some(6), &["a    …", "---- …", "abc… …", "1    …"]);
    }

    #[test]
    fn a_long_cell_pads_no_other_one() {
        let long = "x".repeat(5_000);
        let rows: &[&[&str]] = &[&["a", "b"], &[&long, "1"], &["y", "2"]];
        let cell = |text: &&str| Cell { text: (*text).to_owned(), side: Side::Either };
        let table = Table {
            header: vec!["a".to_owned(), "b".to_owned()],
            rows: rows[1..].iter().map(|row| row.iter().map(cell).collect()).collect(),
        };
        let found = table.lay_out(None);
        let widths: Vec<usize> = found.lines().map(str::len).collect();
        assert_eq!(widths, [203, 203, 5_003, 203]);
        assert!(found.contains(&long), "cut without a terminal");
    }
}
