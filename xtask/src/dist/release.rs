//! The values of a release, and the templates that they are written to.

use std::collections::BTreeMap;
use std::fs;
use std::path::{Path, PathBuf};

use anyhow::{Context, Result, bail, ensure};
use serde::Deserialize;

use crate::metadata::Metadata;
use crate::workspace::Workspace;

/// The folder of the templates.
const TEMPLATES: &str = "packaging";

/// The platform that packages are built for. Rust's standard library of another one is required to build for it.
pub(super) const TARGET: &str = "x86_64-unknown-linux-gnu";

/// Names of the platform in the formats.
const PLATFORM: [(&str, &str); 6] = [
    ("target", TARGET),
    ("npm_platform", "@trunkline/linux-x64-gnu"),
    ("npm_os", "linux"),
    ("npm_cpu", "x64"),
    ("deb_architecture", "amd64"),
    ("mcpb_platform", "linux"),
];

/// `[workspace.metadata.dist]` of the manifest.
#[derive(Deserialize)]
struct Publisher {
    repository: String,
    maintainer: String,
}

#[derive(Deserialize)]
struct WorkspaceMetadata {
    dist: Publisher,
}

/// The values of a release, and the folder that its files are written to.
pub(crate) struct Release<'w> {
    pub(super) workspace: &'w Workspace,
    pub(super) folder: PathBuf,
    values: BTreeMap<&'static str, String>,
}

impl<'w> Release<'w> {
    /// A release in an empty folder.
    pub(super) fn new(workspace: &'w Workspace, folder: &str) -> Result<Self> {
        let metadata = Metadata::load(workspace)?;
        let program = metadata.members().find(|member| member.name == "trunkline-cli");
        let program = program.context("the workspace has no package trunkline-cli")?;
        let WorkspaceMetadata { dist } = serde_json::from_value(metadata.metadata.clone())
            .context("Cargo.toml has no valid [workspace.metadata.dist]")?;
        let description = program.others["description"].as_str().map(str::to_owned);
        let mcp_name = mcp_name(&dist.repository)?;
        let mut values: BTreeMap<_, _> =
            PLATFORM.into_iter().map(|(name, value)| (name, value.to_owned())).collect();
        values.extend([
            ("version", program.version.clone()),
            ("description", description.context("trunkline-cli has no description")?),
            ("mcp_name", mcp_name),
            // The names that cargo-binstall has.
            ("repo", dist.repository.clone()),
            ("bin", "trunkline".to_owned()),
            ("binary-ext", String::new()),
            ("repository", dist.repository),
            ("maintainer", dist.maintainer),
        ]);
        Ok(Self { workspace, folder: workspace.fresh_folder(folder)?, values })
    }

    /// A value of the release.
    ///
    /// # Panics
    ///
    /// Unless it is known: one of those above, or set before.
    pub(super) fn get(&self, name: &str) -> &str {
        self.values.get(name).expect("the value is known")
    }

    pub(super) fn set(&mut self, name: &'static str, value: String) {
        self.values.insert(name, value);
    }

    /// A file of the release.
    pub(super) fn file(&self, name: &str) -> PathBuf {
        self.folder.join(name)
    }

    /// An empty folder for the content of a package, outside the folder of files.
    pub(super) fn staging(&self, name: &str) -> Result<PathBuf> {
        let output = self.folder.file_name().context("the folder has a name")?.to_string_lossy();
        self.workspace
            .fresh_folder(Path::new("target").join(format!("{output}-staging")).join(name))
    }

    /// Replaces `{{name}}` in text by the values.
    pub(super) fn render(&self, text: &str) -> Result<String> {
        let mut rendered = String::with_capacity(text.len());
        let mut rest = text;
        while let Some((before, after)) = rest.split_once("{{") {
            let (name, after) = after.split_once("}}").context("`{{` without `}}`")?;
            let Some(value) = self.values.get(name) else { bail!("unknown value `{name}`") };
            rendered += before;
            rendered += value;
            rest = after;
        }
        Ok(rendered + rest)
    }

    /// The rendered text of a template.
    pub(super) fn template(&self, name: &str) -> Result<String> {
        let path = Path::new(TEMPLATES).join(name);
        let text = self.workspace.read(&path)?;
        self.render(&text).with_context(|| format!("invalid template {}", path.display()))
    }

    /// Writes a template to a file. Creates its folder, and keeps the mode of the template.
    pub(super) fn write(&self, template: &str, to: &Path) -> Result<()> {
        let text = self.template(template)?;
        create_parent(to)?;
        let source = self.workspace.path(TEMPLATES).join(template);
        fs::write(to, text)
            .and_then(|()| fs::set_permissions(to, fs::metadata(&source)?.permissions()))
            .with_context(|| format!("cannot write {}", to.display()))
    }

    /// Copies both licences to a folder.
    pub(super) fn copy_licences(&self, folder: &Path) -> Result<()> {
        for name in ["LICENSE-APACHE", "LICENSE-MIT"] {
            copy(&self.workspace.path(name), &folder.join(name))?;
        }
        Ok(())
    }
}

/// The name in the registry of MCP servers, which belongs to the owner of the repository.
fn mcp_name(repository: &str) -> Result<String> {
    let path = repository.strip_prefix("https://github.com/");
    let path = path.with_context(|| format!("{repository} is not a repository of GitHub"))?;
    let (owner, name) = path.split_once('/').context("the repository has no owner")?;
    ensure!(!owner.is_empty() && !name.is_empty() && !name.contains('/'), "invalid {repository}");
    Ok(format!("io.github.{owner}/{name}"))
}

/// Copies a file and its mode. Creates the folder.
pub(super) fn copy(from: &Path, to: &Path) -> Result<()> {
    create_parent(to)?;
    fs::copy(from, to)
        .with_context(|| format!("cannot copy {} to {}", from.display(), to.display()))?;
    Ok(())
}

fn create_parent(file: &Path) -> Result<()> {
    let parent = file.parent().context("a file has a folder")?;
    fs::create_dir_all(parent).with_context(|| format!("cannot create {}", parent.display()))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[track_caller]
    fn check_name(repository: &str, expected: Option<&str>) {
        assert_eq!(mcp_name(repository).ok().as_deref(), expected, "{repository}");
    }

    #[test]
    fn names_of_the_mcp_registry() {
        check_name("https://github.com/owner/name", Some("io.github.owner/name"));
        check_name("https://github.com/owner", None);
        check_name("https://github.com/owner/name/issues", None);
        check_name("https://git.example/owner/name", None);
    }

    #[track_caller]
    fn check_text(text: &str, expected: Result<&str, &str>) {
        let workspace = Workspace::find().unwrap();
        let values = BTreeMap::from([("version", "1.2.3".to_owned())]);
        let release = Release { workspace: &workspace, folder: PathBuf::new(), values };
        let rendered = release.render(text).map_err(|error| error.to_string());
        assert_eq!(rendered.as_deref().map_err(String::as_str), expected, "{text}");
    }

    #[test]
    fn templates() {
        check_text("${x} {{version}}-{{version}}.", Ok("${x} 1.2.3-1.2.3."));
        check_text("{{versoin}}", Err("unknown value `versoin`"));
        check_text("{{version", Err("`{{` without `}}`"));
    }
}
