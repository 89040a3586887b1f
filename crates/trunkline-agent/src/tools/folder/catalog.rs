use std::collections::{BTreeMap, BTreeSet};
use std::error::Error;
use std::ffi::OsString;
use std::io;
use std::path::Path;
use std::sync::Arc;

use trunkline::layers::validation::Validator;

use super::{FolderError, Rejected, Reloaded};
use crate::tools::manifest::ToolManifest;
use crate::tools::run::Tool;
use crate::tools::settings::ToolSettings;

/// What a folder held when it was read.
#[derive(Debug)]
pub(in crate::tools) struct Catalog {
    /// By name.
    tools: BTreeMap<String, Arc<Tool>>,
    pub(super) rejected: Vec<Rejected>,
}

impl Catalog {
    pub(super) fn read(path: &Path, settings: &ToolSettings) -> Result<Self, FolderError> {
        let (files, more) = files(path, settings.max_tools)
            .map_err(|source| FolderError { path: path.to_owned(), source })?;
        let mut catalog = Self { tools: BTreeMap::new(), rejected: Vec::new() };
        // Which file a tool is of.
        let mut names = BTreeMap::new();
        for file in files {
            let shown = file.to_string_lossy().into_owned();
            let read = tool(&path.join(&file), settings).and_then(|tool| {
                let name = &tool.manifest.name;
                if settings.taken.contains(name) {
                    Err(format!("name: the service has a tool {name} already: take another name"))
                } else if let Some(other) = names.get(name) {
                    Err(format!("name: {other} has a tool {name} already: take another name"))
                } else {
                    Ok(tool)
                }
            });
            match read {
                Ok(tool) => {
                    names.insert(tool.manifest.name.clone(), shown);
                    catalog.tools.insert(tool.manifest.name.clone(), Arc::new(tool));
                }
                Err(reason) => {
                    tracing::warn!(file = shown, reason, "a manifest is rejected");
                    catalog.rejected.push(Rejected { file: shown, reason });
                }
            }
        }
        if let Some(file) = more {
            let most = settings.max_tools;
            let reason =
                format!("there are more than {most} manifests: this one, and what follows");
            tracing::warn!(file, reason, "manifests are not read");
            catalog.rejected.push(Rejected { file, reason });
        }
        Ok(catalog)
    }

    pub(in crate::tools) fn tools(&self) -> impl Iterator<Item = &Arc<Tool>> {
        self.tools.values()
    }

    pub(super) fn manifests(&self) -> Vec<Arc<ToolManifest>> {
        self.tools().map(|tool| Arc::clone(&tool.manifest)).collect()
    }

    /// What is different from what there was.
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
        Reloaded { added, changed, removed, tools: self.manifests(), rejected }
    }
}

/// The names of the first manifests, and the one after them.
fn files(path: &Path, most: usize) -> io::Result<(BTreeSet<OsString>, Option<String>)> {
    let mut files = BTreeSet::new();
    let mut more: Option<OsString> = None;
    for entry in path.read_dir()? {
        let name = entry?.file_name();
        // Editors write hidden files beside the one that is edited.
        let is_hidden = name.as_encoded_bytes().starts_with(b".");
        if is_hidden || Path::new(&name).extension().is_none_or(|extension| extension != "toml") {
            continue;
        }
        files.insert(name);
        if files.len() > most
            && let Some(last) = files.pop_last()
        {
            more = Some(more.map_or(last.clone(), |one| one.min(last)));
        }
    }
    Ok((files, more.map(|name| name.to_string_lossy().into_owned())))
}

/// The tool of a file, or why it is none.
fn tool(file: &Path, settings: &ToolSettings) -> Result<Tool, String> {
    let manifest = ToolManifest::read(file, settings.max_manifest_bytes, &settings.path)
        .map_err(|error| with_source(&error))?;
    let output = manifest.output.as_ref().map(Validator::new).transpose();
    let output = output.map_err(|error| error.to_string())?;
    Ok(Tool { manifest: Arc::new(manifest), output })
}

fn with_source(error: &dyn Error) -> String {
    match error.source() {
        Some(source) => format!("{error}: {source}"),
        None => error.to_string(),
    }
}
