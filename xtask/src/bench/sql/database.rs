//! The database of both sides: 100,000 deterministic rows.

use std::path::{Path, PathBuf};

use anyhow::Result;
use serde_json::{Value, json};

use crate::peers;
use crate::sqlite::{self, Insert};
use crate::workspace::Workspace;

pub(super) const ROWS: u32 = 100_000;
pub(super) const SENSORS: u32 = ROWS / 5;

/// Text that every row contains once.
pub(super) const ROW_TEXT: &str = "station-";

const SCHEMA: &str = "
CREATE TABLE readings (
    id INTEGER PRIMARY KEY,
    sensor INTEGER NOT NULL,
    taken TEXT NOT NULL,
    value REAL NOT NULL,
    station TEXT NOT NULL
);
CREATE INDEX readings_by_sensor ON readings (sensor);";

/// The distance between rows of a sensor. A prime, so that all sensors have the same number of rows.
const STRIDE: u32 = 7919;
const SEED: u64 = 0x7472_756e_6b6c_696e;

/// Writes the database once, and returns its path.
pub(super) fn provide(workspace: &Workspace) -> Result<PathBuf> {
    let folder = workspace.path("target/bench/database");
    let file = folder.join("readings.db");
    peers::create_once(&folder, include_str!("database.rs"), || write(&file))?;
    Ok(file)
}

fn write(file: &Path) -> Result<()> {
    let statement = "INSERT INTO readings VALUES (?, ?, ?, ?, ?)".to_owned();
    sqlite::write(file, SCHEMA, &[Insert { statement, rows: rows().collect() }])
}

/// The values of all rows, in the order of the columns.
pub(super) fn rows() -> impl Iterator<Item = Vec<Value>> {
    let mut random = SEED;
    (0..ROWS).map(move |row| {
        random = next(random);
        // Three decimals, like a sensor.
        let value = (random >> 44) as f64 / 1000.0;
        let (hour, minute, second) = (row / 3600 % 24, row / 60 % 60, row % 60);
        vec![
            json!(row + 1),
            json!(row * STRIDE % SENSORS),
            json!(format!("2026-01-01T{hour:02}:{minute:02}:{second:02}Z")),
            json!(value),
            json!(format!("{ROW_TEXT}{:03}", random >> 32 & 0x3ff)),
        ]
    })
}

/// A linear congruential generator with Knuth's constants, of which only the upper bits are used.
fn next(random: u64) -> u64 {
    random.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_sensor_has_five_rows() {
        let mut counts = vec![0; SENSORS as usize];
        for row in rows() {
            assert!(row[4].as_str().unwrap().starts_with(ROW_TEXT), "{row:?}");
            counts[row[1].as_u64().unwrap() as usize] += 1;
        }
        assert!(counts.iter().all(|count| *count == 5));
    }
}
