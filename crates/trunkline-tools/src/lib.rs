//! Command-line tools as operations: a folder of manifests, each of which declares one.
//!
//! A manifest is a TOML file; [`ToolManifest`] documents its keys. A [`ToolFolder`] holds the tools of a
//! folder, reads them again when they change, and runs their commands under limits; [`operations`] makes
//! a router of them.
//!
//! A command gets its arguments as one JSON object on a line of stdin, without needless escapes and with whole
//! numbers as digits, and writes one JSON value to stdout.
//! It runs in the folder of its manifest, in a separate process group and without a shell, and its
//! environment is `PATH` and the variables that its manifest lists. An exit code other than 0 is a failure, whose
//! error has the end of stderr.
//!
//! Limits of CPU time, memory, files and processes need a [`Launcher`]: a program that calls [`launch`].

#![forbid(unsafe_code)]
#![cfg(unix)]

mod config;
mod folder;
mod json_text;
mod launcher;
mod manifest;
mod operations;
mod routes;
mod run;

pub use config::{Launcher, ProcessLimits, ToolConfig};
pub use folder::{FolderError, Rejected, Reloaded, ToolFolder, Watching};
pub use launcher::{LaunchError, launch};
pub use manifest::{ManifestError, ToolManifest};
pub use operations::{management, operations};
pub use routes::routes;
pub use run::{ProcessBound, RunError};

/// The examples of the README are compiled and run with those of this documentation.
#[cfg(doctest)]
#[doc = include_str!("../README.md")]
struct Readme;
