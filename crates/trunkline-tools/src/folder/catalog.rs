//! The contents of a folder.

use std::collections::BTreeMap;
use std::ffi::OsString;
use std::path::Path;
use std::sync::Arc;

use super::file::{ExternalFile, File, names};
use super::report::{FolderError, RejectedManifest, ReloadReport};
use crate::config::ToolConfig;
use crate::manifest::ToolManifest;
use crate::run::Tool;

/// The contents of a folder when it was read.
#[derive(Debug, Default)]
pub(crate) struct Catalog {
    files: BTreeMap<OsString, File>,
    /// The tools by name.
    tools: BTreeMap<String, Arc<Tool>>,
    pub(super) rejected: Vec<RejectedManifest>,
    /// Whether the result may change although no manifest does.
    pub(super) needs_recheck: bool,
    /// The manifests and programs that are links or in another folder.
    external_files: Vec<ExternalFile>,
}

impl Catalog {
    /// Reads a folder. Reuses the tools of unchanged files from `before`.
    pub(super) fn read(
        path: &Path,
        config: &ToolConfig,
        before: &Self,
    ) -> Result<Self, FolderError> {
        let (names, more) = names(path, config.max_tools)
            .map_err(|source| FolderError { path: path.to_owned(), source })?;
        let mut catalog = Self::default();
        for name in names {
            // First, so that changes while the file is read are detected.
            catalog.external_files.extend(ExternalFile::of(path.join(&name), path));
            let file = File::read(path, &name, config, before.files.get(&name));
            let program = file.tool.iter().map(|tool| tool.manifest.program.clone());
            catalog
                .external_files
                .extend(program.filter_map(|program| ExternalFile::of(program, path)));
            catalog.needs_recheck |= file.needs_recheck;
            catalog.files.insert(name, file);
        }
        catalog.assign_names(config, before);
        if let Some(file) = more {
            let most = config.max_tools;
            let reason = format!(
                "the folder exceeds {most} manifests: this file and the following are ignored"
            );
            catalog.rejected.push(RejectedManifest { file, reason });
        }
        for new in catalog.rejected.iter().filter(|one| !before.rejected.contains(one)) {
            tracing::warn!(file = new.file, reason = new.reason, "a manifest is rejected");
        }
        Ok(catalog)
    }

    /// Assigns each name to one file: the previous owner, or else the first file with it.
    fn assign_names(&mut self, config: &ToolConfig, before: &Self) {
        let mut owners: BTreeMap<&str, &OsString> = BTreeMap::new();
        let tools =
            || self.files.iter().filter_map(|(file, read)| Some((file, read.tool.as_ref().ok()?)));
        let kept = tools().filter(|(file, tool)| before.declares(file, &tool.manifest.name));
        for (file, tool) in kept.chain(tools()) {
            owners.entry(&tool.manifest.name).or_insert(file);
        }
        for (file, read) in &self.files {
            let shown = file.to_string_lossy().into_owned();
            let named = read.tool.as_ref().map_err(Clone::clone).and_then(|tool| {
                let name = &tool.manifest.name;
                let owner = owners.get(&**name).filter(|owner| **owner != file);
                if config.reserved_names.contains(name) {
                    Err(format!("duplicate name: the service already has a tool `{name}`"))
                } else if let Some(owner) = owner {
                    let owner = owner.to_string_lossy();
                    Err(format!("duplicate name: {owner} already has a tool `{name}`"))
                } else {
                    Ok(tool)
                }
            });
            match named {
                Ok(tool) => {
                    self.tools.insert(tool.manifest.name.clone(), Arc::clone(tool));
                }
                Err(reason) => self.rejected.push(RejectedManifest { file: shown, reason }),
            }
        }
    }

    /// Whether the tool with this name was declared by this file.
    fn declares(&self, file: &OsString, name: &str) -> bool {
        let of_file = self.files.get(file).and_then(|file| file.tool.as_ref().ok());
        let of_name = self.tools.get(name);
        of_file.zip(of_name).is_some_and(|(one, other)| Arc::ptr_eq(one, other))
    }

    pub(crate) fn tools(&self) -> impl Iterator<Item = &Arc<Tool>> {
        self.tools.values()
    }

    pub(super) fn manifests(&self) -> Vec<Arc<ToolManifest>> {
        self.tools().map(|tool| Arc::clone(&tool.manifest)).collect()
    }

    /// Whether a change of this path may change the tools.
    pub(super) fn may_affect(&self, path: &Path) -> bool {
        self.needs_recheck
            || path.extension().is_some_and(|extension| extension == "toml")
            || self.tools().any(|tool| tool.manifest.program == path)
            // A link may lead to a manifest.
            || (!self.external_files.is_empty() && path.is_symlink())
    }

    /// Whether a file outside the folder has changed.
    pub(super) fn has_external_changes(&self) -> bool {
        self.external_files.iter().any(ExternalFile::has_changed)
    }

    /// The differences from an earlier read.
    pub(super) fn since(&self, before: &Self) -> ReloadReport {
        let mut added = Vec::new();
        let mut changed = Vec::new();
        for (name, tool) in &self.tools {
            match before.tools.get(name) {
                None => added.push(name.clone()),
                Some(old) if old.manifest != tool.manifest => changed.push(name.clone()),
                Some(_) => {}
            }
        }
        let is_removed = |name: &&String| !self.tools.contains_key(*name);
        let removed = before.tools.keys().filter(is_removed).cloned().collect();
        let rejected = self.rejected.clone();
        ReloadReport { added, changed, removed, tools: self.manifests(), rejected, failure: None }
    }
}
