//! Command-line tools as operations, declared by the manifests in a folder.
//!
//! A manifest is a TOML file; [`ToolManifest`] documents its keys. A [`ToolFolder`] loads the tools of a folder,
//! reloads them when they change, and runs their commands under limits; [`operations`] makes them a router.
//!
//! A command reads its arguments from stdin as a JSON object on one line, without unnecessary escapes and with
//! integers as digits, and writes one JSON value to stdout. It runs in the folder of its manifest, in a separate
//! process group and without a shell. Its environment is `PATH` and the variables that the manifest lists. An exit
//! code other than 0 is a failure, and the error contains the end of stderr.
//!
//! Limits of CPU time, memory, files and processes require a [`Launcher`]: a program that calls [`launch`].

#![forbid(unsafe_code)]
#![cfg(unix)]

mod config;
mod descendants;
mod folder;
mod json_text;
mod launcher;
mod manifest;
mod operations;
mod routes;
mod run;
mod supervise;

pub use config::{Launcher, ProcessLimits, ToolConfig};
pub use descendants::{adopt_orphans, wait_for_child};
pub use folder::{FolderError, RejectedManifest, ReloadReport, ToolFolder};
pub use launcher::{LaunchError, launch};
pub use manifest::{ManifestError, ToolManifest};
pub use operations::{RELOAD_PERMISSION, management, operations};
pub use routes::routes;
pub use run::{ProcessBound, RunError};
pub use supervise::{SuperviseError, exit_code, supervise};

/// The examples of the README are compiled and run with those of this documentation.
#[cfg(doctest)]
#[doc = include_str!("../README.md")]
struct Readme;
