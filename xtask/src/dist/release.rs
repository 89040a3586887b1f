//! The values of a release, the templates that they are written to, and the tools of packages.

use std::collections::BTreeMap;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::time::{Duration, Instant};

use anyhow::{Context, Result, bail, ensure};

use crate::metadata::Metadata;
use crate::peers::{self, Python};
use crate::workspace::{Workspace, command};

/// The folder of the templates, and that of the lock files of tools.
const TEMPLATES: &str = "packaging";
const TOOLS: &str = "packaging/tools";

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

/// The values of a release, and the folder that its files are written to.
pub(crate) struct Release<'w> {
    pub(super) workspace: &'w Workspace,
    pub(super) folder: PathBuf,
    values: BTreeMap<&'static str, String>,
}

/// The times of an installation.
pub(super) struct Installed {
    pub(super) install: Duration,
    /// From the start of the program to its first answer.
    pub(super) first_answer: Duration,
}

impl<'w> Release<'w> {
    /// A release in an empty folder.
    pub(super) fn new(workspace: &'w Workspace, folder: &str) -> Result<Self> {
        let metadata = Metadata::load(workspace)?;
        let program = metadata.members().find(|member| member.name == "trunkline-cli");
        let program = program.context("the workspace has no package trunkline-cli")?;
        let dist = |key: &str| {
            let value = metadata.metadata["dist"][key].as_str().map(str::to_owned);
            value.with_context(|| format!("no {key} in [workspace.metadata.dist] of Cargo.toml"))
        };
        let repository = dist("repository")?;
        let mut values: BTreeMap<_, _> =
            PLATFORM.into_iter().map(|(name, value)| (name, value.to_owned())).collect();
        values.extend([
            ("version", program.version.clone()),
            ("description", program.others["description"].as_str().unwrap_or_default().to_owned()),
            ("mcp_name", mcp_name(&repository)?),
            // The names that cargo-binstall has.
            ("repo", repository.clone()),
            ("bin", "trunkline".to_owned()),
            ("binary-ext", String::new()),
            ("repository", repository),
            ("maintainer", dist("maintainer")?),
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

    /// The URL of a file of the release.
    pub(super) fn url(&self, file: &str) -> String {
        format!("{}/releases/download/v{}/{file}", self.get("repository"), self.get("version"))
    }

    /// An empty folder for the content of a package, outside the folder of files.
    pub(super) fn staging(&self, name: &str) -> Result<PathBuf> {
        self.workspace.fresh_folder(self.folder.with_extension("staging").join(name))
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
        let text = self.workspace.read(&Path::new(TEMPLATES).join(name))?;
        self.render(&text).with_context(|| format!("invalid template {name}"))
    }

    /// Writes a template to a file. Creates its folder, and keeps the mode of the template.
    pub(super) fn write(&self, template: &str, to: &Path) -> Result<()> {
        copy(&self.workspace.path(TEMPLATES).join(template), to)?;
        Ok(fs::write(to, self.template(template)?)?)
    }

    /// Copies both licences to a folder.
    pub(super) fn copy_licences(&self, folder: &Path) -> Result<()> {
        ["LICENSE-APACHE", "LICENSE-MIT"]
            .into_iter()
            .try_for_each(|name| copy(&self.workspace.path(name), &folder.join(name)))
    }

    /// The modes of a package, whatever the umask is.
    pub(super) fn set_modes(&self, folder: &Path) -> Result<()> {
        crate::workspace::run(&mut command!(
            self.workspace,
            "chmod",
            "-R",
            "u+rwX,go+rX,go-w",
            folder
        ))
    }

    /// The tools of Python at pinned versions.
    pub(super) fn python(&self) -> Result<Python> {
        let lock = Path::new(TOOLS).join("requirements.txt");
        Python::with(self.workspace, "packaging-python", Some(&lock))
    }

    /// The command that checks, packs and unpacks MCP bundles.
    pub(super) fn mcpb(&self) -> Result<Command> {
        let tools =
            peers::install_packages(self.workspace, "packaging-node", Path::new(TOOLS), &[])?;
        Ok(self.workspace.command(tools.join("node_modules/.bin/mcpb")))
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
    write(to, "")?;
    fs::copy(from, to)
        .with_context(|| format!("cannot copy {} to {}", from.display(), to.display()))?;
    Ok(())
}

/// Writes a file. Creates the folder.
pub(super) fn write(file: &Path, text: &str) -> Result<()> {
    fs::create_dir_all(file.parent().context("a file has a folder")?)?;
    fs::write(file, text).with_context(|| format!("cannot write {}", file.display()))
}

pub(super) fn file_name(file: &Path) -> Result<String> {
    Ok(file.file_name().context("the path has no file name")?.to_string_lossy().into_owned())
}

pub(super) fn timed<T>(run: impl FnOnce() -> Result<T>) -> Result<(T, Duration)> {
    let start = Instant::now();
    Ok((run()?, start.elapsed()))
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
