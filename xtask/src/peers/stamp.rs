//! A folder that is made once from what it is pinned to.

use std::path::Path;

use anyhow::{Context, Result};

const STAMP: &str = "made-from.txt";

/// Makes the folder unless it was made from the very same text. The stamp is written last, so a
/// folder whose making was interrupted is made again.
pub(crate) fn once(
    folder: &Path,
    made_from: &str,
    make: impl FnOnce() -> Result<()>,
) -> Result<()> {
    let stamp = folder.join(STAMP);
    if std::fs::read_to_string(&stamp).is_ok_and(|known| known == made_from) {
        return Ok(());
    }
    if folder.exists() {
        std::fs::remove_dir_all(folder)
            .with_context(|| format!("cannot remove {}", folder.display()))?;
    }
    std::fs::create_dir_all(folder)
        .with_context(|| format!("cannot create {}", folder.display()))?;
    make()?;
    std::fs::write(&stamp, made_from).with_context(|| format!("cannot write {}", stamp.display()))
}

#[cfg(test)]
mod tests {
    use anyhow::bail;

    use super::*;

    #[test]
    fn a_folder_is_made_again_only_when_its_pin_changed() {
        let folder = std::env::temp_dir().join(format!("xtask-stamp-{}", std::process::id()));
        let mut made = Vec::new();
        for (round, made_from) in ["a", "a", "b", "a"].into_iter().enumerate() {
            once(&folder, made_from, || {
                made.push(round);
                Ok(())
            })
            .unwrap();
        }
        assert_eq!(made, [0, 2, 3]);

        once(&folder, "c", || bail!("no network")).unwrap_err();
        once(&folder, "c", || {
            made.push(5);
            Ok(())
        })
        .unwrap();
        assert_eq!(made, [0, 2, 3, 5]);
        std::fs::remove_dir_all(&folder).unwrap();
    }
}
