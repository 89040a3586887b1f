//! The contents of a folder.

use std::collections::BTreeMap;
use std::ffi::OsString;
use std::path::Path;
use std::sync::Arc;

use super::file::{Elsewhere, File, names};
use super::reloaded::{FolderError, Rejected, Reloaded};
use crate::config::ToolConfig;
use crate::manifest::ToolManifest;
use crate::run::Tool;

/// The contents of a folder when it was read.
#[derive(Debug, Default)]
pub(crate) struct Catalog {
    files: BTreeMap<OsString, File>,
    /// By name.
    tools: BTreeMap<String, Arc<Tool>>,
    pub(super) rejected: Vec<Rejected>,
    /// Whether another reading may give another result, though no manifest has changed.
    pub(super) is_unsettled: bool,
    /// The manifests and programs that are links or in other folders.
    elsewhere: Vec<Elsewhere>,
}

impl Catalog {
    /// Reads a folder. Tools of files that have not changed are taken from `before`.
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
            catalog.elsewhere.extend(Elsewhere::of(path.join(&name), path));
            let file = File::read(path, &name, config, before.files.get(&name));
            let program = file.tool.iter().map(|tool| tool.manifest.program.clone());
            catalog.elsewhere.extend(program.filter_map(|program| Elsewhere::of(program, path)));
            catalog.is_unsettled |= file.is_unsettled;
            catalog.files.insert(name, file);
        }
        catalog.name_tools(config, before);
        if let Some(file) = more {
            let most = config.max_tools;
            let reason =
                format!("there are more than {most} manifests: this one, and what follows");
            catalog.rejected.push(Rejected { file, reason });
        }
        for new in catalog.rejected.iter().filter(|one| !before.rejected.contains(one)) {
            tracing::warn!(file = new.file, reason = new.reason, "a manifest is rejected");
        }
        Ok(catalog)
    }

    /// Assigns each name to one file: to the one that had it before, or else to the first.
    fn name_tools(&mut self, config: &ToolConfig, before: &Self) {
        let mut owners: BTreeMap<&str, &OsString> = BTreeMap::new();
        let tools =
            || self.files.iter().filter_map(|(file, read)| Some((file, read.tool.as_ref().ok()?)));
        let kept = tools().filter(|(file, tool)| before.has(file, &tool.manifest.name));
        for (file, tool) in kept.chain(tools()) {
            owners.entry(&tool.manifest.name).or_insert(file);
        }
        for (file, read) in &self.files {
            let shown = file.to_string_lossy().into_owned();
            let named = read.tool.as_ref().map_err(Clone::clone).and_then(|tool| {
                let name = &tool.manifest.name;
                let owner = owners.get(&**name).filter(|owner| **owner != file);
                if config.taken.contains(name) {
                    Err(format!("name: the service has a tool {name} already: take another name"))
                } else if let Some(owner) = owner {
                    let owner = owner.to_string_lossy();
                    Err(format!("name: {owner} has a tool {name} already: take another name"))
                } else {
                    Ok(tool)
                }
            });
            match named {
                Ok(tool) => {
                    self.tools.insert(tool.manifest.name.clone(), Arc::clone(tool));
                }
                Err(reason) => self.rejected.push(Rejected { file: shown, reason }),
            }
        }
    }

    /// Whether the tool of this name was the one of this file.
    fn has(&self, file: &OsString, name: &str) -> bool {
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
    pub(super) fn concerns(&self, path: &Path) -> bool {
        self.is_unsettled
            || path.extension().is_some_and(|extension| extension == "toml")
            || self.tools().any(|tool| tool.manifest.program == path)
            // It may lead to a manifest.
            || (!self.elsewhere.is_empty() && path.is_symlink())
    }

    /// Whether a file outside the folder has changed.
    pub(super) fn has_changed_elsewhere(&self) -> bool {
        self.elsewhere.iter().any(Elsewhere::has_changed)
    }

    /// The differences from an earlier reading.
    pub(super) fn since(&self, before: &Self) -> Reloaded {
        let mut added = Vec::new();
        let mut changed = Vec::new();
        for (name, tool) in &self.tools {
            match before.tools.get(name) {
                None => added.push(name.clone()),
                Some(old) if old.manifest != tool.manifest => changed.push(name.clone()),
                Some(_) => {}
            }
        }
        let is_gone = |name: &&String| !self.tools.contains_key(*name);
        let removed = before.tools.keys().filter(is_gone).cloned().collect();
        let rejected = self.rejected.clone();
        Reloaded { added, changed, removed, tools: self.manifests(), rejected, failure: None }
    }
}
