//! Resolution of the program of a command.

use std::path::{Component, Path, PathBuf};

use rustix::fs::{Access, access};

use crate::config::ToolConfig;

/// Returns the absolute path of an executable program, or the reason for rejecting its name.
pub(crate) fn find(name: &str, folder: &Path, config: &ToolConfig) -> Result<PathBuf, String> {
    let relative = Path::new(name);
    if relative.is_absolute() {
        return executable(relative.to_owned(), name);
    }
    if !name.contains('/') {
        if let Some(program) = config.programs.get(name) {
            return executable(program.clone(), name);
        }
        let mut places = std::env::split_paths(&config.path).filter(|place| place.is_absolute());
        return places.find_map(|place| executable(place.join(name), name).ok()).ok_or_else(|| {
            if folder.join(name).is_file() {
                format!("program `{name}` not found in PATH; did you mean `./{name}`?")
            } else {
                format!("program `{name}` not found in PATH; install it, or write its path")
            }
        });
    }
    if relative.components().any(|part| part == Component::ParentDir) {
        let reason =
            "a relative path must not leave the folder of the manifest; write an absolute path";
        return Err(reason.to_owned());
    }
    // Without the `.` of `./`.
    executable(folder.join(relative).components().collect(), name)
}

/// Checks that a program is an executable file. The error has its name in the manifest.
fn executable(program: PathBuf, name: &str) -> Result<PathBuf, String> {
    match program.metadata() {
        Ok(found) if !found.is_file() => Err(format!("`{name}` is not a file")),
        Ok(_) if access(&program, Access::EXEC_OK).is_err() => {
            Err(format!("`{name}` is not executable; run `chmod +x {name}`"))
        }
        Ok(_) => Ok(program),
        Err(error) => Err(format!("program `{name}` not found: {error}")),
    }
}
