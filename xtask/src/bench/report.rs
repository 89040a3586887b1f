//! Figures of the rounds of a benchmark, and goals for their ratios.

use std::fmt;

use anyhow::{Context, Result};
use serde::Serialize;

/// One figure of a round.
#[derive(Debug)]
pub(super) struct Figure {
    /// What all rows of a table do, such as a request.
    table: String,
    /// A server or a library.
    row: String,
    name: String,
    value: f64,
}

/// A comparison of two rows in the same round, or a figure of one row.
pub(super) struct Ratio {
    pub(super) table: String,
    pub(super) figure: &'static str,
    pub(super) of: &'static str,
    /// Empty if the figure itself is compared with the goal.
    pub(super) over: &'static str,
    pub(super) goal: Option<Goal>,
}

#[derive(Clone, Copy, Debug, PartialEq, Serialize)]
#[serde(rename_all = "snake_case")]
pub(super) enum Goal {
    AtMost(f64),
    AtLeast(f64),
}

/// The distributions of all figures by table, row and name, and those of ratios, with whether the goal is reached.
#[derive(Serialize)]
pub(super) struct Report {
    rounds: u32,
    seconds: u32,
    figures: Vec<(String, String, String, Spread)>,
    ratios: Vec<(String, Spread, Option<Goal>, Option<bool>)>,
}

/// The distribution of a figure in the rounds.
#[derive(Clone, Copy, Debug, PartialEq, Serialize)]
struct Spread {
    min: f64,
    median: f64,
    max: f64,
}

impl Figure {
    pub(super) fn new(table: &str, row: &str, name: &str, value: f64) -> Self {
        Self { table: table.to_owned(), row: row.to_owned(), name: name.to_owned(), value }
    }

    /// Parses the output of a program of `bench/`: lines of a table, a row, a name and a value, separated by tabs.
    pub(super) fn parse_all(printed: &str) -> Result<Vec<Self>> {
        let figure = |line: &str| match line.split('\t').collect::<Vec<_>>()[..] {
            [table, row, name, value] => Some(Self::new(table, row, name, value.parse().ok()?)),
            _ => None,
        };
        printed
            .lines()
            .map(figure)
            .collect::<Option<_>>()
            .with_context(|| format!("got {printed:?}"))
    }

    pub(super) fn table(&self) -> &str {
        &self.table
    }

    pub(super) fn find(round: &[Self], table: &str, row: &str, name: &str) -> Option<f64> {
        let is_it =
            |figure: &&Self| figure.table == table && figure.row == row && figure.name == name;
        round.iter().find(is_it).map(|figure| figure.value)
    }
}

impl Ratio {
    pub(super) fn new(
        (table, figure): (&str, &'static str),
        of: &'static str,
        over: &'static str,
        goal: Option<Goal>,
    ) -> Self {
        Self { table: table.to_owned(), figure, of, over, goal }
    }

    fn in_round(&self, round: &[Figure]) -> Option<f64> {
        let of_row = |row| Figure::find(round, &self.table, row, self.figure);
        let over = if self.over.is_empty() { 1.0 } else { of_row(self.over)? };
        Some(of_row(self.of)? / over)
    }
}

impl Report {
    pub(super) fn new(rounds: u32, seconds: u32) -> Self {
        Self { rounds, seconds, figures: Vec::new(), ratios: Vec::new() }
    }

    /// Adds the rounds of a part. All have the same figures.
    pub(super) fn add(&mut self, rounds: &[Vec<Figure>], ratios: &[Ratio]) {
        for Figure { table, row, name, .. } in rounds.first().into_iter().flatten() {
            let values = rounds.iter().filter_map(|round| Figure::find(round, table, row, name));
            let add = |spread| (table.clone(), row.clone(), name.clone(), spread);
            self.figures.extend(Spread::of(values).map(add));
        }
        for ratio in ratios {
            let Ratio { table, figure, of, over, goal } = ratio;
            let over = if over.is_empty() { String::new() } else { format!(" / {over}") };
            let add = |spread: Spread| {
                let is_reached = goal.map(|goal| goal.is_reached_by(spread.median));
                (format!("{table}, {figure}, {of}{over}"), spread, *goal, is_reached)
            };
            let values = rounds.iter().filter_map(|round| ratio.in_round(round));
            self.ratios.extend(Spread::of(values).map(add));
        }
    }
}

impl Goal {
    fn is_reached_by(self, figure: f64) -> bool {
        match self {
            Self::AtMost(most) => figure <= most,
            Self::AtLeast(least) => figure >= least,
        }
    }
}

impl Spread {
    /// `None` without values.
    fn of(values: impl Iterator<Item = f64>) -> Option<Self> {
        let mut sorted: Vec<f64> = values.collect();
        sorted.sort_by(f64::total_cmp);
        let middle = sorted.len() / 2;
        let upper = *sorted.get(middle)?;
        let median =
            if sorted.len() % 2 == 1 { upper } else { f64::midpoint(sorted[middle - 1], upper) };
        Some(Self { min: sorted[0], median, max: sorted[sorted.len() - 1] })
    }
}

impl fmt::Display for Spread {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { min, median, max } = self;
        let decimals =
            if *median >= 1_000.0 { 0 } else { 3 - median.abs().log10().clamp(0.0, 2.0) as usize };
        f.pad(&format!("{min:.decimals$} / {median:.decimals$} / {max:.decimals$}"))
    }
}

impl fmt::Display for Goal {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::AtMost(most) => write!(f, "<= {most}"),
            Self::AtLeast(least) => write!(f, ">= {least}"),
        }
    }
}

impl fmt::Display for Report {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        writeln!(f, "{} rounds of {} s each; min / median / max", self.rounds, self.seconds)?;
        let mut shown = "";
        for (table, row, figure, spread) in &self.figures {
            if shown != table {
                writeln!(f, "\n{table}")?;
                shown = table;
            }
            writeln!(f, "  {row:<44} {figure:<24} {spread:>36}")?;
        }
        writeln!(f)?;
        for (what, spread, goal, is_reached) in &self.ratios {
            let goal = goal.map_or(String::new(), |goal| goal.to_string());
            let verdict = is_reached.map_or("", |is| if is { "reached" } else { "missed" });
            writeln!(f, "{what:<70} {spread:>30} {goal:>10} {verdict}")?;
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[track_caller]
    fn check_spread(values: &[f64], expected: Option<(f64, f64, f64)>) {
        let expected = expected.map(|(min, median, max)| Spread { min, median, max });
        assert_eq!(Spread::of(values.iter().copied()), expected, "{values:?}");
    }

    #[test]
    fn the_median_is_the_middle() {
        check_spread(&[2.0], Some((2.0, 2.0, 2.0)));
        check_spread(&[9.0, 1.0, 2.0], Some((1.0, 2.0, 9.0)));
        check_spread(&[4.0, 1.0, 9.0, 2.0], Some((1.0, 3.0, 9.0)));
        check_spread(&[], None);
    }

    #[test]
    fn goals_are_for_the_median_of_the_ratios_of_the_same_round() {
        let round = |ours: f64, theirs: f64| {
            vec![
                Figure::new("call", "ours", "us", ours),
                Figure::new("call", "theirs", "us", theirs),
            ]
        };
        let rounds = [round(10.0, 20.0), round(60.0, 100.0), round(5.0, 1.0)];
        let mut report = Report::new(3, 1);
        let row = |of, over, goal| Ratio::new(("call", "us"), of, over, Some(goal));
        let ratios = [
            row("ours", "theirs", Goal::AtMost(0.6)),
            row("ours", "theirs", Goal::AtLeast(0.61)),
            row("ours", "", Goal::AtMost(10.0)),
            row("absent", "theirs", Goal::AtMost(1.0)),
        ];
        report.add(&rounds, &ratios);
        let found: Vec<_> = report
            .ratios
            .iter()
            .map(|(what, spread, _, is_reached)| (&**what, spread.median, *is_reached))
            .collect();
        let what = "call, us, ours / theirs";
        let expected = [
            (what, 0.6, Some(true)),
            (what, 0.6, Some(false)),
            ("call, us, ours", 10.0, Some(true)),
        ];
        assert_eq!(found, expected);
        assert_eq!(report.figures.len(), 2);
        let printed = report.to_string();
        assert!(printed.contains("5.00 / 10.00 / 60.00"), "{printed}");
    }

    #[test]
    fn programs_print_tabs() {
        let figures = Figure::parse_all("a\tb\tc\t1.5\n").unwrap();
        assert_eq!(Figure::find(&figures, "a", "b", "c"), Some(1.5));
        Figure::parse_all("a\tb\t1.5\n").unwrap_err();
        Figure::parse_all("a\tb\tc\tx\n").unwrap_err();
    }
}
