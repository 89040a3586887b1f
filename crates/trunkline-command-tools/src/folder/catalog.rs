//! The contents of a folder.

use std::collections::BTreeMap;
use std::ffi::OsString;
use std::io;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use super::file::{File, Snapshot, names};
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
    /// The manifests and programs, before they were read.
    snapshot: Snapshot,
    /// Whether another read may give another result although the snapshot is the same.
    needs_recheck: bool,
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
        // First, so that changes while the files are read are detected.
        let manifests = Snapshot::of(names.iter().map(|name| path.join(name)));
        for name in names {
            let file = File::read(path, &name, config, before.files.get(&name));
            catalog.needs_recheck |= file.needs_recheck;
            catalog.files.insert(name, file);
        }
        catalog.snapshot = manifests.and(Snapshot::of(catalog.programs()));
        catalog.needs_recheck |= catalog.snapshot.is_provisional();
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

    /// The programs of all valid manifests.
    fn programs(&self) -> impl Iterator<Item = PathBuf> {
        let tools = self.files.values().filter_map(|file| file.tool.as_ref().ok());
        tools.map(|tool| tool.manifest.program.clone())
    }

    /// The current versions of the manifests in the folder and of the programs of this catalog.
    pub(super) fn current(&self, path: &Path, config: &ToolConfig) -> io::Result<Snapshot> {
        let (names, _) = names(path, config.max_tools)?;
        Ok(Snapshot::of(names.iter().map(|name| path.join(name)).chain(self.programs())))
    }

    /// Whether the folder may have other tools than this catalog.
    pub(super) fn is_outdated(&self, path: &Path, config: &ToolConfig) -> bool {
        self.needs_recheck
            || self.current(path, config).map_or(true, |current| current != self.snapshot)
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
