//! Tools that are commands: a folder of manifests, each of which becomes an operation.
//!
//! A manifest is a TOML file; [`ToolManifest`] tells what stands in it. A [`ToolFolder`] holds those of a
//! folder, reads them again when they change, and runs their commands under limits; [`operations`] makes
//! a router of them.
//!
//! A command gets its arguments as one JSON object on a line of stdin, without needless escapes and with whole
//! numbers as digits, and writes one JSON value to stdout.
//! It runs in the folder of its manifest and in a process group of its own, without a shell, and its
//! environment is `PATH` and what its manifest lists. An exit code other than 0 is a failure, whose error
//! carries the end of what stood on stderr.

mod folder;
mod json_text;
mod management;
mod manifest;
mod operations;
mod run;
mod settings;

pub use folder::{FolderError, Rejected, Reloaded, ToolFolder, Watching};
pub use management::management;
pub use manifest::{ManifestError, ToolManifest};
pub use operations::operations;
pub use run::{ProcessBound, RunError};
pub use settings::{Launcher, ProcessLimits, ToolSettings};

pub(crate) use management::{LIST_TOOLS, RELOAD_TOOLS};
