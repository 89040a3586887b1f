//! `--tools`: a folder of manifests, whose commands are tools.

use std::ffi::OsString;
use std::path::PathBuf;
use std::process::ExitCode;
use std::time::Duration;

use anyhow::Context;
use clap::{Args, Subcommand};
use trunkline::{DynamicOperations, Rpc};
use trunkline_tools::{Launcher, ToolConfig, ToolFolder};

use crate::terminal::output;

#[derive(Args)]
pub(crate) struct Folder {
    /// A folder of command tools: each TOML file in it declares one, which is a method `tool.NAME` and a
    /// tool NAME for language models. The folder is watched: files may come, change and go.
    #[arg(long = "tools", value_name = "DIR", env = "TRUNKLINE_TOOLS")]
    path: Option<PathBuf>,
}

/// The launcher of command tools, which this program starts itself.
#[derive(Subcommand)]
pub(crate) enum Launch {
    /// Runs a command under limits.
    Run {
        #[arg(required = true, trailing_var_arg = true, allow_hyphen_values = true)]
        arguments: Vec<OsString>,
    },
}

/// The prefix of the methods of command tools.
pub(crate) const NAMESPACE: &str = "tool";

/// What commands call this program.
const NAME: &str = "trunkline";

/// How long processes of tools may take to end when nobody waits for them any more.
const ENDING: Duration = Duration::from_secs(2);

/// Where command tools will be in a service.
pub(crate) struct Place<'a> {
    folder: &'a PathBuf,
    pub(crate) operations: DynamicOperations,
}

impl Folder {
    pub(crate) fn place(&self) -> Option<Place<'_>> {
        let folder = self.path.as_ref()?;
        Some(Place { folder, operations: DynamicOperations::new() })
    }
}

impl Place<'_> {
    /// Puts the tools of the folder into their place in the service, and follows what changes.
    pub(crate) fn fill(&self, rpc: &Rpc) -> anyhow::Result<ToolFolder> {
        hide_environment();
        keep_what_is_open();
        let program = own_program()?;
        let arguments = ["tool", "run"].map(Into::into).to_vec();
        let operations = rpc.operations();
        let taken = operations.iter().filter_map(|one| one.description().tool.clone());
        let mut settings = ToolConfig { taken: taken.collect(), ..ToolConfig::default() };
        // Some tools are this program, wherever it is.
        settings.programs.insert(NAME.to_owned(), program.clone());
        settings.launcher = Some(Launcher { program, arguments });
        let folder = ToolFolder::open(self.folder, settings)?;
        self.operations.replace(trunkline_tools::operations(&folder))?;
        let place = self.operations.clone();
        folder.on_change(move |folder, _| {
            if let Err(error) = place.replace(trunkline_tools::operations(folder)) {
                tracing::error!(%error, "the tools cannot be offered; those of before stay");
            }
        });
        let watching = folder.watch().context("cannot watch the folder of tools")?;
        tracing::info!(tools = folder.tools().len(), ?watching, "command tools");
        Ok(folder)
    }
}

/// This program, even if its file was moved or replaced.
fn own_program() -> anyhow::Result<PathBuf> {
    let own = PathBuf::from("/proc/self/exe");
    if own.exists() {
        return Ok(own);
    }
    std::env::current_exe().context("cannot find the path of this program")
}

/// Keeps the environment and the memory of this process from other processes of its user, as tools are: there
/// may be keys in it. The price is that there are no core dumps, and that debuggers need root.
fn hide_environment() {
    #[cfg(target_os = "linux")]
    {
        use rustix::process::{DumpableBehavior, set_dumpable_behavior};
        if let Err(error) = set_dumpable_behavior(DumpableBehavior::NotDumpable) {
            tracing::warn!(%error, "tools can read the environment of this process");
        }
    }
}

/// Keeps what whoever started this process had open from those that it starts. What it opens itself is its own
/// anyway.
fn keep_what_is_open() {
    const BEHIND_STDERR: i32 = 3;
    close_fds::set_fds_cloexec_threadsafe(BEHIND_STDERR, &[]);
}

/// Waits until the processes of tools have ended, but not for long.
pub(crate) async fn end(folder: &ToolFolder) {
    if tokio::time::timeout(ENDING, folder.idle()).await.is_err() {
        tracing::warn!("commands of tools still run");
    }
}

/// Runs a command as its launcher, and ends as it does.
pub(crate) fn run(Launch::Run { arguments }: Launch) -> ExitCode {
    /// The exit code of shells for a command that cannot be executed.
    const CANNOT_EXECUTE: u8 = 126;
    trunkline_tools::launch(arguments).unwrap_or_else(|error| {
        output::error(&error.into());
        ExitCode::from(CANNOT_EXECUTE)
    })
}
