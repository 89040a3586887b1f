//! Where a command's program is.

use std::path::{Component, Path, PathBuf};

use rustix::fs::{Access, access};

use crate::config::ToolConfig;

/// The absolute path of a program that this process may execute, or what is wrong with its name.
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
                format!("a program of this folder is written with a slash: \"./{name}\"")
            } else {
                format!("there is no program {name} in PATH: install it, or write where it is")
            }
        });
    }
    if relative.components().any(|part| part == Component::ParentDir) {
        let reason =
            "a relative program stays in the folder of its manifest: write an absolute path";
        return Err(reason.to_owned());
    }
    // Without the `.` of `./`.
    executable(folder.join(relative).components().collect(), name)
}

/// A program, or what is wrong with it, by the name that it has in its manifest.
fn executable(program: PathBuf, name: &str) -> Result<PathBuf, String> {
    match program.metadata() {
        Ok(found) if !found.is_file() => Err(format!("{name} is not a file")),
        Ok(_) if access(&program, Access::EXEC_OK).is_err() => {
            Err(format!("{name} may not be executed by this user: chmod +x {name}"))
        }
        Ok(_) => Ok(program),
        Err(error) => Err(format!("there is no program {name}: {error}")),
    }
}
