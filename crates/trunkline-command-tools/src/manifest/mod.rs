//! Manifests: the files that declare tools.

mod document;
mod file;
mod program;
#[cfg(test)]
mod tests;
mod tool_manifest;

pub use file::ManifestError;
pub use tool_manifest::ToolManifest;

pub(crate) use file::read_bytes;
