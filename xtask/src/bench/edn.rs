//! Compares reading and writing EDN with other libraries, and with the same data as JSON.

use std::fmt;
use std::path::Path;

use anyhow::{Result, ensure};
use serde::{Deserialize, Serialize};

use super::process::{SERVER_CORE, pinned};
use super::spread::Spread;
use super::turns;

/// One task of one library in one round.
#[derive(Deserialize)]
pub(super) struct Row {
    pub(super) task: String,
    pub(super) of: String,
    /// Length of the text in bytes.
    pub(super) bytes: u64,
    pub(super) millis: f64,
}

pub(super) fn measure(binaries: &Path, rounds: usize) -> Result<Vec<Vec<Row>>> {
    let rounds: Vec<Vec<Row>> =
        turns::rounds(&mut pinned(SERVER_CORE, binaries.join("edn")), rounds)?;
    let is_like_first = |rows: &Vec<Row>| names(rows).eq(names(&rounds[0]));
    ensure!(rounds.iter().all(is_like_first), "the rounds of `edn` have different rows");
    Ok(rounds)
}

fn names(rows: &[Row]) -> impl Iterator<Item = (&str, &str)> {
    rows.iter().map(|row| (&*row.task, &*row.of))
}

#[derive(Serialize)]
pub(super) struct Report(Vec<Measurements>);

#[derive(Serialize)]
struct Measurements {
    task: String,
    of: String,
    millis: Spread,
    megabytes_per_second: Spread,
}

impl Report {
    /// # Panics
    /// If `rounds` is empty, or the rounds have different rows.
    pub(super) fn of(rounds: &[Vec<Row>]) -> Self {
        let measured = |(index, row): (usize, &Row)| {
            let rate = |rows: &Vec<Row>| row.bytes as f64 / 1e3 / rows[index].millis;
            Measurements {
                task: row.task.clone(),
                of: row.of.clone(),
                millis: Spread::of(rounds.iter().map(|rows| rows[index].millis)),
                megabytes_per_second: Spread::of(rounds.iter().map(rate)),
            }
        };
        Self(rounds[0].iter().enumerate().map(measured).collect())
    }
}

impl fmt::Display for Report {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let mut shown = None;
        for row in &self.0 {
            if shown.replace(&row.task) != Some(&row.task) {
                let task = format!("EDN, {}", row.task);
                writeln!(f, "\n{task:<36} {:>26} {:>12}", "ms", "MB/s")?;
            }
            writeln!(
                f,
                "  {:<34} {:>26} {:>12.0}",
                row.of,
                row.millis.show(1),
                row.megabytes_per_second.median
            )?;
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn rows(millis: [f64; 3]) -> Vec<Row> {
        let names = [("read", "ours"), ("read", "theirs"), ("write", "ours")];
        let row = |((task, of), millis): ((&str, &str), f64)| Row {
            task: task.to_owned(),
            of: of.to_owned(),
            bytes: 10_000_000,
            millis,
        };
        names.into_iter().zip(millis).map(row).collect()
    }

    #[test]
    fn each_task_has_a_row_per_library() {
        let Report(measured) =
            Report::of(&[rows([40.0, 90.0, 20.0]), rows([50.0, 100.0, 25.0]), rows([80.0; 3])]);
        let rows: Vec<(&str, &str, f64, f64)> = measured
            .iter()
            .map(|row| (&*row.task, &*row.of, row.millis.median, row.megabytes_per_second.median))
            .collect();
        assert_eq!(
            rows,
            [
                ("read", "ours", 50.0, 200.0),
                ("read", "theirs", 90.0, 1e4 / 90.0),
                ("write", "ours", 25.0, 400.0),
            ]
        );
    }
}
