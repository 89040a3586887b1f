//! Manifests: the files that declare tools.

mod document;
mod error;
mod file;
mod program;
#[cfg(test)]
mod tests;
mod tool_manifest;

pub use error::ManifestError;
pub use tool_manifest::ToolManifest;

pub(crate) use file::bytes;
