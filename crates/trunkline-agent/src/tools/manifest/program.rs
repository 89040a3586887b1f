//! Where a command's program is.

use std::ffi::OsStr;
use std::os::unix::fs::PermissionsExt;
use std::path::{Component, Path, PathBuf};

/// The absolute path of a program that can be executed, or what is wrong with its name.
pub(super) fn find(name: &str, folder: &Path, path: &OsStr) -> Result<PathBuf, String> {
    let relative = Path::new(name);
    if relative.is_absolute() {
        return executable(relative.to_owned());
    }
    if !name.contains('/') {
        let mut places = std::env::split_paths(path).filter(|place| place.is_absolute());
        return places.find_map(|place| executable(place.join(name)).ok()).ok_or_else(|| {
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
    executable(folder.join(relative).components().collect())
}

fn executable(program: PathBuf) -> Result<PathBuf, String> {
    match program.metadata() {
        Ok(found) if !found.is_file() => Err(format!("{} is not a file", program.display())),
        Ok(found) if found.permissions().mode() & 0o111 == 0 => {
            let program = program.display();
            Err(format!("{program} is not executable: chmod +x {program}"))
        }
        Ok(_) => Ok(program),
        Err(error) => Err(format!("there is no program {}: {error}", program.display())),
    }
}
