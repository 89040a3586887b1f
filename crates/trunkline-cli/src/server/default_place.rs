//! The place of files that no setting names: the working directory, or the state directory of the user.
//!
//! Desktop applications start MCP servers in `/`, which the user cannot write to.

use std::env;
use std::fs;
use std::os::unix::fs::DirBuilderExt;
use std::path::{Path, PathBuf};

/// The path of a file or directory with this name: in the working directory if that has it or can be written, or else in
/// `trunkline` in the user's state directory, as the XDG Base Directory Specification defines it. A relative path if
/// that directory is unknown.
pub(super) fn default_place(name: &str) -> PathBuf {
    // Permissions are not enough: a file system may be read-only.
    let is_usable = Path::new(name).exists() || tempfile::tempfile_in(".").is_ok();
    let directory = if is_usable { None } else { state_directory() };
    directory.map_or_else(|| name.into(), |directory| directory.join(name))
}

/// Creates the directory of a default place, readable only by the user. Does nothing for other paths.
pub(super) fn create_parent(path: &Path) {
    if let Some(directory) = path.parent()
        && state_directory().is_some_and(|known| known == directory)
    {
        // The error of the file in it has the reason.
        let _ = fs::DirBuilder::new().recursive(true).mode(0o700).create(directory);
    }
}

/// The remedy if a default place cannot be written.
pub(super) fn remedy() -> &'static str {
    match state_directory() {
        Some(_) => "",
        None => {
            ", or set HOME or XDG_STATE_HOME, whose `trunkline` is used if the working directory cannot be written"
        }
    }
}

fn state_directory() -> Option<PathBuf> {
    let state = env::var_os("XDG_STATE_HOME").map(PathBuf::from).filter(|path| path.is_absolute());
    let state = state.or_else(|| env::home_dir().map(|home| home.join(".local/state")));
    Some(state?.join("trunkline")).filter(|path| path.is_absolute())
}
