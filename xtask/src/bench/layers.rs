//! The cost of each optional layer for a call in process.

use std::fmt;
use std::path::Path;

use anyhow::{Result, ensure};
use serde::{Deserialize, Serialize};

use super::process::{SERVER_CORE, pinned};
use super::spread::Spread;
use super::turns;

/// A row of a round. The first row of a group is the baseline of the others.
#[derive(Deserialize)]
pub(super) struct Row {
    group: String,
    what: String,
    nanos: f64,
    allocations: f64,
}

pub(super) fn measure(binaries: &Path, rounds: usize) -> Result<Vec<Vec<Row>>> {
    let program = &mut pinned(SERVER_CORE, binaries.join("layers"));
    let rounds: Vec<Vec<Row>> = turns::rounds(program, rounds)?;
    let is_like_first = |rows: &Vec<Row>| names(rows).eq(names(&rounds[0]));
    ensure!(rounds.iter().all(is_like_first), "the rounds of `layers` have different rows");
    Ok(rounds)
}

fn names(rows: &[Row]) -> impl Iterator<Item = (&str, &str)> {
    rows.iter().map(|row| (&*row.group, &*row.what))
}

#[derive(Serialize)]
pub(super) struct Report(Vec<Measurements>);

#[derive(Serialize)]
struct Measurements {
    group: String,
    what: String,
    nanos_per_call: Spread,
    /// The difference to the first row of the group in the same round. Can be negative because of noise.
    added_nanos: Option<Spread>,
    allocations_per_call: Spread,
}

impl Report {
    /// # Panics
    /// If `rounds` is empty, or the rounds have different rows.
    pub(super) fn of(rounds: &[Vec<Row>]) -> Self {
        let measured = |(index, row): (usize, &Row)| {
            let first = rounds[0].iter().position(|other| other.group == row.group);
            let added = first.filter(|&first| first != index).map(|first| {
                Spread::of(rounds.iter().map(|rows| rows[index].nanos - rows[first].nanos))
            });
            Measurements {
                group: row.group.clone(),
                what: row.what.clone(),
                nanos_per_call: Spread::of(rounds.iter().map(|rows| rows[index].nanos)),
                added_nanos: added,
                allocations_per_call: Spread::of(rounds.iter().map(|rows| rows[index].allocations)),
            }
        };
        Self(rounds[0].iter().enumerate().map(measured).collect())
    }
}

impl fmt::Display for Report {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let mut shown = None;
        for row in &self.0 {
            if shown.replace(&row.group) != Some(&row.group) {
                writeln!(
                    f,
                    "\n{:<44} {:>24} {:>24} {:>12}",
                    row.group, "ns", "added ns", "allocations"
                )?;
            }
            let added = row.added_nanos.map_or("-".to_owned(), |added| added.show(0));
            writeln!(
                f,
                "  {:<42} {:>24} {added:>24} {:>12.1}",
                row.what,
                row.nanos_per_call.show(0),
                row.allocations_per_call.median
            )?;
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn rows(nanos: [f64; 4]) -> Vec<Row> {
        let names = [("a", "none"), ("a", "trace"), ("b", "all"), ("b", "history")];
        let row = |((group, what), nanos): ((&str, &str), f64)| Row {
            group: group.to_owned(),
            what: what.to_owned(),
            nanos,
            allocations: 3.0,
        };
        names.into_iter().zip(nanos).map(row).collect()
    }

    #[test]
    fn costs_are_relative_to_the_first_row() {
        let Report(measured) = Report::of(&[
            rows([100.0, 110.0, 200.0, 900.0]),
            rows([150.0, 155.0, 300.0, 1_100.0]),
            rows([100.0, 120.0, 250.0, 950.0]),
        ]);
        let rows: Vec<(&str, f64, Option<f64>)> = measured
            .iter()
            .map(|row| {
                (&*row.what, row.nanos_per_call.median, row.added_nanos.map(|added| added.median))
            })
            .collect();
        assert_eq!(
            rows,
            [
                ("none", 100.0, None),
                ("trace", 120.0, Some(10.0)),
                ("all", 250.0, None),
                ("history", 950.0, Some(700.0)),
            ]
        );
    }
}
