use std::collections::BTreeMap;
use std::fs;
use std::path::{Path, PathBuf};
use std::sync::LazyLock;

use rusqlite::Connection;
use tempfile::TempDir;
use trunkline_sql::sample::{self, Scale};

/// Generated once.
static TPCH: LazyLock<Vec<u8>> = LazyLock::new(|| {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("tpch.db");
    sample::write(&path, Scale::TINY).unwrap();
    fs::read(path).unwrap()
});

/// A directory with the tables of TPC-H in `tpch.db`: the same rows each time.
pub(crate) fn tpch() -> (TempDir, PathBuf) {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("tpch.db");
    fs::write(&path, &*TPCH).unwrap();
    (folder, path)
}

/// A directory with a database of this content in `a.db`.
pub(crate) fn with_content(sql: &str) -> (TempDir, PathBuf) {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("a.db");
    let connection = Connection::open(&path).unwrap();
    // Each statement is a transaction, which would wait for the disk.
    connection.pragma_update(None, "synchronous", "OFF").unwrap();
    connection.execute_batch(sql).unwrap();
    (folder, path)
}

/// The files of a directory and their content, by name. A directory in it is an empty entry `logs/`.
pub(crate) fn files(folder: &Path) -> BTreeMap<String, Vec<u8>> {
    let entries = fs::read_dir(folder).unwrap().map(Result::unwrap);
    entries
        .map(|entry| {
            let name = entry.file_name().into_string().unwrap();
            match entry.file_type().unwrap().is_dir() {
                true => (name + "/", Vec::new()),
                false => (name, fs::read(entry.path()).unwrap()),
            }
        })
        .collect()
}
