//! The database of both sides: 100,000 deterministic rows.

use std::path::{Path, PathBuf};

use anyhow::{Context, Result};
use rusqlite::{Connection, params};

use crate::peers;
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
    let mut connection =
        Connection::open(file).with_context(|| format!("cannot create {}", file.display()))?;
    let transaction = connection.transaction()?;
    transaction.execute_batch(SCHEMA)?;
    let mut insert = transaction.prepare("INSERT INTO readings VALUES (?, ?, ?, ?, ?)")?;
    let mut random = SEED;
    for row in 0..ROWS {
        random = next(random);
        // Three decimals, like a sensor.
        let value = (random >> 44) as f64 / 1000.0;
        let (hour, minute, second) = (row / 3600 % 24, row / 60 % 60, row % 60);
        insert.execute(params![
            row + 1,
            row * STRIDE % SENSORS,
            format!("2026-01-01T{hour:02}:{minute:02}:{second:02}Z"),
            value,
            format!("{ROW_TEXT}{:03}", random >> 32 & 0x3ff),
        ])?;
    }
    drop(insert);
    transaction.commit()?;
    Ok(())
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
        let folder = std::env::temp_dir().join(format!("xtask-readings-{}", std::process::id()));
        std::fs::create_dir_all(&folder).unwrap();
        let file = folder.join("readings.db");
        write(&file).unwrap();
        let connection = Connection::open(&file).unwrap();
        let counts = connection.query_row(
            "SELECT count(*), min(rows), max(rows) FROM \
             (SELECT count(*) AS rows FROM readings WHERE station LIKE 'station-%' GROUP BY sensor)",
            [],
            |row| Ok((row.get(0)?, row.get(1)?, row.get(2)?)),
        );
        assert_eq!(counts.unwrap(), (SENSORS, 5, 5));
        std::fs::remove_dir_all(&folder).unwrap();
    }
}
