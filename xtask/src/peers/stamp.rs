//! Folders that are created once for a pinned source.

use std::fs::File;
use std::hash::{DefaultHasher, Hash, Hasher};
use std::path::{Path, PathBuf};

use anyhow::{Context, Result};

use crate::tools::cargo_home;

const STAMP: &str = "made-from.txt";

/// The folder for this source, which all checkouts share. It is created once; other processes wait for it.
pub(super) fn provide(
    name: &str,
    source: &str,
    create: impl FnOnce(&Path) -> Result<()>,
) -> Result<PathBuf> {
    let mut hasher = DefaultHasher::new();
    source.hash(&mut hasher);
    let peers = cargo_home()?.join("trunkline-peers");
    std::fs::create_dir_all(&peers)
        .with_context(|| format!("cannot create {}", peers.display()))?;
    let folder = peers.join(format!("{name}-{:016x}", hasher.finish()));
    let lock = File::create(folder.with_extension("lock"))?;
    lock.lock()?;
    create_once(&folder, source, || create(&folder))?;
    Ok(folder)
}

/// Creates the folder unless it was created from the same source. The stamp is written last, so that an interrupted
/// creation is repeated.
pub(crate) fn create_once(
    folder: &Path,
    source: &str,
    create: impl FnOnce() -> Result<()>,
) -> Result<()> {
    let stamp = folder.join(STAMP);
    if std::fs::read_to_string(&stamp).is_ok_and(|known| known == source) {
        return Ok(());
    }
    if folder.exists() {
        std::fs::remove_dir_all(folder)
            .with_context(|| format!("cannot remove {}", folder.display()))?;
    }
    std::fs::create_dir_all(folder)
        .with_context(|| format!("cannot create {}", folder.display()))?;
    create()?;
    std::fs::write(&stamp, source).with_context(|| format!("cannot write {}", stamp.display()))
}

#[cfg(test)]
mod tests {
    use anyhow::bail;

    use super::*;

    #[test]
    fn folders_are_recreated_when_the_source_changes() {
        let folder = std::env::temp_dir().join(format!("xtask-stamp-{}", std::process::id()));
        let mut created = Vec::new();
        for (round, source) in ["a", "a", "b", "a"].into_iter().enumerate() {
            create_once(&folder, source, || {
                created.push(round);
                Ok(())
            })
            .unwrap();
        }
        assert_eq!(created, [0, 2, 3]);

        create_once(&folder, "c", || bail!("no network")).unwrap_err();
        create_once(&folder, "c", || {
            created.push(5);
            Ok(())
        })
        .unwrap();
        assert_eq!(created, [0, 2, 3, 5]);
        std::fs::remove_dir_all(&folder).unwrap();
    }
}
