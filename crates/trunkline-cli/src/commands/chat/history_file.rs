//! Where the lines of earlier chats are kept.

use std::env;
use std::fs::DirBuilder;
use std::io;
use std::path::{Path, PathBuf};

/// `trunkline/chat_history` in the user's state directory, as the XDG Base Directory Specification has it;
/// none if nothing tells where that is.
pub(super) fn path() -> Option<PathBuf> {
    let set = |name: &str| env::var_os(name).map(PathBuf::from);
    let state = set("XDG_STATE_HOME").filter(|path| path.is_absolute());
    let state = state.or_else(|| set("HOME").map(|home| home.join(".local/state")));
    let path = state?.join("trunkline/chat_history");
    path.is_absolute().then_some(path)
}

/// Makes the directory of the file, which only its owner looks into.
pub(super) fn make_directory(path: &Path) -> io::Result<()> {
    let mut builder = DirBuilder::new();
    builder.recursive(true);
    #[cfg(unix)]
    std::os::unix::fs::DirBuilderExt::mode(&mut builder, 0o700);
    path.parent().map_or(Ok(()), |directory| builder.create(directory))
}
