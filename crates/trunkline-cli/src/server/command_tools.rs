//! `--command-tools`: a folder of manifests that declare commands as tools.

use std::ffi::OsString;
use std::path::PathBuf;
use std::process::{Command, ExitCode};
use std::time::Duration;

use anyhow::Context;
use clap::builder::{BoolishValueParser, RangedU64ValueParser};
use clap::{Args, Subcommand};
use trunkline::{DynamicOperations, Rpc};
use trunkline_command_tools::{Launcher, ToolConfig, ToolFolder, supervise};
use trunkline_gateway::Supervisor;

use super::init;
use super::own_process::{hide_environment, own_program};
use crate::terminal::output;

/// The flag of command tools.
#[derive(Args)]
#[command(next_help_heading = "Tools")]
pub(crate) struct CommandToolArgs {
    /// Folder of command tools
    ///
    /// Each TOML file in it declares one: a method `tool.NAME`, and a tool NAME for language models. The folder is
    /// watched: tools are added, changed and removed with their files.
    #[arg(long = "command-tools", value_name = "DIR", env = "TRUNKLINE_COMMAND_TOOLS")]
    path: Option<PathBuf>,
    /// List the output schemas of tools in MCP
    ///
    /// They more than double the tokens of `tools/list`. With them, results have text and structured content.
    #[arg(long, env = "TRUNKLINE_OUTPUT_SCHEMAS", value_parser = BoolishValueParser::new())]
    pub(crate) output_schemas: bool,
    /// Maximum length of names in lists of MCP
    ///
    /// The names of tools and prompts, in characters. Clients add a prefix such as `mcp__trunkline__`, and accept at most
    /// 64 characters in total. A longer name is listed in a short form with a digest; calls by the full name work, too.
    /// Rules, logs and metrics have the full names.
    #[arg(
        long,
        value_name = "CHARS",
        default_value_t = 40,
        env = "TRUNKLINE_MAX_TOOL_NAME",
        value_parser = RangedU64ValueParser::<usize>::new().range(16..=128)
    )]
    pub(crate) max_tool_name: usize,
    /// Require a confirmation of destructive calls
    ///
    /// MCP clients that support elicitation ask their user. Other calls fail with -32013 and a confirmation code; the
    /// same call with the code as `trunkline_confirm` runs.
    #[arg(long, env = "TRUNKLINE_CONFIRM_DESTRUCTIVE", value_parser = BoolishValueParser::new())]
    pub(crate) confirm_destructive: bool,
    /// Return a confirmation code when a client cancels the question
    ///
    /// With `--confirm-destructive`. Some MCP clients cancel the question without showing it. With the code, the model
    /// that has made the call can confirm it, even if the user has closed the question.
    #[arg(long, env = "TRUNKLINE_CONFIRM_AFTER_CANCEL", value_parser = BoolishValueParser::new())]
    pub(crate) confirm_after_cancel: bool,
}

/// The launchers of command tools and upstream servers, which this program starts itself.
#[derive(Subcommand)]
pub(crate) enum Launch {
    /// Run a command under limits
    Run {
        #[arg(required = true, trailing_var_arg = true, allow_hyphen_values = true)]
        arguments: Vec<OsString>,
    },
    /// Run a command as the first process of a container does
    Init {
        #[arg(required = true, trailing_var_arg = true, allow_hyphen_values = true)]
        arguments: Vec<OsString>,
    },
    /// Run a command until stdin is closed
    Supervise {
        #[arg(required = true, trailing_var_arg = true, allow_hyphen_values = true)]
        arguments: Vec<OsString>,
    },
}

/// The prefix of the methods of command tools.
pub(crate) const NAMESPACE: &str = "tool";

/// The name of this program in manifests.
const NAME: &str = "trunkline";

/// The maximum wait for the processes of tools at the end.
const END_TIMEOUT: Duration = Duration::from_secs(2);

/// The command tools of a service: the folder, and the operations that are loaded from it.
pub(crate) struct CommandTools<'a> {
    folder: &'a PathBuf,
    pub(crate) operations: DynamicOperations,
}

impl CommandToolArgs {
    /// The command tools, which are not yet loaded; none without the flag.
    pub(crate) fn command_tools(&self) -> Option<CommandTools<'_>> {
        let folder = self.path.as_ref()?;
        Some(CommandTools { folder, operations: DynamicOperations::new() })
    }
}

impl CommandTools<'_> {
    /// Loads the tools of the folder, and watches it for changes.
    pub(crate) fn load(&self, rpc: &Rpc) -> anyhow::Result<ToolFolder> {
        protect_from_children();
        let program = own_program()?;
        let arguments = ["tool", "run"].map(Into::into).to_vec();
        let operations = rpc.operations();
        let reserved_names = operations.iter().filter_map(|one| one.description().tool.clone());
        let mut settings =
            ToolConfig { reserved_names: reserved_names.collect(), ..ToolConfig::default() };
        // Tools can run this program, wherever it is installed.
        settings.programs.insert(NAME.to_owned(), program.clone());
        settings.launcher = Some(Launcher { program, arguments });
        let folder = ToolFolder::open(self.folder, settings)?;
        self.operations.replace(trunkline_command_tools::operations(&folder))?;
        let loaded = self.operations.clone();
        folder.on_change(move |folder, _| {
            if let Err(error) = loaded.replace(trunkline_command_tools::operations(folder)) {
                tracing::error!(%error, "tool refresh failed; keeping the previous tools");
            }
        });
        folder.watch().context("cannot watch the folder of --command-tools")?;
        tracing::info!(tools = folder.tools().len(), "command tools");
        Ok(folder)
    }
}

/// The supervisor of MCP servers that are started as commands.
pub(crate) fn supervisor() -> anyhow::Result<Supervisor> {
    let arguments = ["tool", "supervise", "--"].map(Into::into).to_vec();
    Ok(Supervisor { program: own_program()?, arguments })
}

/// Hides what child processes must not read or use.
pub(super) fn protect_from_children() {
    hide_environment();
    close_inherited_files();
}

/// Makes child processes not inherit the files that this process inherited. Files that it opens itself are never
/// inherited.
fn close_inherited_files() {
    const FIRST_AFTER_STDERR: i32 = 3;
    close_fds::set_fds_cloexec_threadsafe(FIRST_AFTER_STDERR, &[]);
}

/// Waits for the end of the processes of tools, for a short time.
pub(crate) async fn end(folder: &ToolFolder) {
    if tokio::time::timeout(END_TIMEOUT, folder.idle()).await.is_err() {
        tracing::warn!("some command tools are still running");
    }
}

/// Runs a command, and returns its exit code.
pub(crate) fn run(launch: Launch) -> ExitCode {
    /// The exit code of shells for a command that cannot be executed.
    const CANNOT_EXECUTE: u8 = 126;
    let ended = match launch {
        Launch::Run { arguments } => {
            trunkline_command_tools::launch(arguments).map_err(anyhow::Error::from)
        }
        Launch::Init { arguments } => {
            let (program, rest) = arguments.split_first().expect("an argument is required");
            init::run(Command::new(program).args(rest)).map_err(anyhow::Error::from)
        }
        Launch::Supervise { arguments } => supervise(arguments).map_err(anyhow::Error::from),
    };
    ended.unwrap_or_else(|error| {
        output::error(&error);
        ExitCode::from(CANNOT_EXECUTE)
    })
}
