//! The resources that are served in addition to the database: their types, directory, and tools.

use std::collections::HashMap;
use std::path::{Path, PathBuf};

use anyhow::{Context, bail};
use clap::Args;
use trunkline_resources::{OpenError, ResourceType, ResourceTypes, Resources, ResourcesConfig};

use super::access::entries;
use super::command_tools;

/// The resources beside the database, and which of them are tools.
#[derive(Args)]
pub(crate) struct Arguments {
    /// The types of resources, as TOML. Without it there is one, todo; `trunkline resources` shows it.
    #[arg(long, value_name = "FILE", env = "TRUNKLINE_RESOURCES")]
    resources: Option<PathBuf>,
    /// The directory that holds their records; it is made if it is missing.
    #[arg(long, value_name = "DIR", default_value = ".trunkline", env = "TRUNKLINE_DATA_DIR")]
    data_dir: PathBuf,
    /// A type of resources whose commands are tools of MCP, too, like `todo_create`; `*` is all.
    /// Repeats, or several with commas between them.
    #[arg(long, value_name = "NAME", env = "TRUNKLINE_EXPOSE", value_delimiter = ',')]
    expose: Vec<String>,
}

impl Arguments {
    /// Whether somebody wants resources, who may do without them.
    pub(crate) fn are_given(&self) -> bool {
        self.resources.is_some() || entries(&self.expose).next().is_some()
    }
}

/// What the names of other methods begin with. What `--require` says of them is not meant for resources.
const TAKEN: [(&str, &str); 3] = [
    ("db", "the database's"),
    (command_tools::NAMESPACE, "the command tools'"),
    ("agent", "the agent's"),
];

/// Resources whose records were not opened yet.
pub(crate) struct Declared {
    types: ResourceTypes,
    directory: PathBuf,
    exposed: Vec<String>,
}

/// Resources that can be served.
#[derive(Clone)]
pub(crate) struct Opened {
    pub(crate) resources: Resources,
    pub(crate) directory: PathBuf,
    /// The types that are tools, too.
    pub(crate) exposed: Vec<String>,
}

/// Reads what is to be served, and makes nothing.
pub(crate) fn declared(arguments: &Arguments) -> anyhow::Result<Declared> {
    let types = types(arguments.resources.as_deref())?;
    let exposed = exposed(&types, &arguments.expose)?;
    Ok(Declared { types, directory: arguments.data_dir.clone(), exposed })
}

/// The types of a file, or those that there are without one.
pub(crate) fn types(file: Option<&Path>) -> anyhow::Result<ResourceTypes> {
    let Some(file) = file else { return Ok(ResourceTypes::default()) };
    let types = ResourceTypes::read(file)?;
    for kind in types.iter() {
        let namespace = kind.name().split('.').next();
        let taken = TAKEN.iter().find(|(taken, _)| namespace == Some(taken));
        if let Some((taken, whose)) = taken {
            let (file, name) = (file.display(), kind.name());
            bail!(
                "{file}: the resource {name:?} has the name of {whose} methods, {taken}.*: give it another name"
            );
        }
    }
    Ok(types)
}

fn exposed(types: &ResourceTypes, wanted: &[String]) -> anyhow::Result<Vec<String>> {
    let names = || types.iter().map(ResourceType::name);
    let wanted: Vec<&str> = entries(wanted).collect();
    if let Some(slip) = wanted.iter().find(|name| **name != "*" && types.get(name).is_none()) {
        let known: Vec<_> = names().collect();
        bail!("--expose {slip}: there is no such resource; there are: {}", known.join(", "));
    }
    let is_wanted = |name: &&str| wanted.contains(&"*") || wanted.contains(name);
    let exposed = || names().filter(is_wanted);
    if let Some(alike) = alike(exposed()) {
        bail!(alike);
    }
    Ok(exposed().map(str::to_owned).collect())
}

/// What is wrong with exposing all of these types, if two would have tools of the same names.
pub(crate) fn alike<'n>(mut names: impl Iterator<Item = &'n str>) -> Option<String> {
    let mut tools = HashMap::new();
    names.find_map(|name| {
        let tool = name.replace('.', "_");
        let said = format!(
            "{name:?} cannot both be tools: both would be called {tool}_create, and so on; give one \
             another name, or expose only one"
        );
        tools.insert(tool, name).map(|other| format!("the resources {other:?} and {said}"))
    })
}

impl Declared {
    /// Makes the directory, and opens what is in it. With a disk on which that fails, they are served as unavailable.
    pub(crate) fn open(self) -> anyhow::Result<Opened> {
        let Self { types, directory, exposed } = self;
        let config = ResourcesConfig::default();
        let opened = Resources::open(&directory, types.clone(), config.clone());
        let resources = or_unavailable("records", &directory, opened, |reason| {
            Resources::unavailable(types, config, reason)
        })?;
        Ok(Opened { resources, directory, exposed })
    }
}

/// The component that was opened in the data directory; if the disk has prevented that, the `unavailable` one.
pub(super) fn or_unavailable<T>(
    component: &str,
    directory: &Path,
    opened: Result<T, OpenError>,
    unavailable: impl FnOnce(String) -> T,
) -> anyhow::Result<T> {
    let directory = directory.display();
    opened.or_else(|error| match error.disk_reason() {
        Some(reason) => {
            tracing::error!(%error, reason, %directory, "{component} are unavailable; free the disk or give another directory with --data-dir, and restart");
            Ok(unavailable(reason))
        }
        None => Err(error).with_context(|| format!("{component} cannot be kept in {directory}; give another directory with --data-dir")),
    })
}
