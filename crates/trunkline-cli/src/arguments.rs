//! The command line: flags, then the environment, then the configuration file, then defaults.

use std::path::Path;

use clap::error::ErrorKind;
use clap::parser::ValueSource;
use clap::{ArgMatches, CommandFactory, FromArgMatches, Parser, Subcommand};

use crate::commands::{
    self, call, chat, database, edn, execute, health, logout, monitor, openrpc, prompts, records,
    resources, tools,
};
use crate::config::{Config, ConfigArgs, ConfigError, DatabaseArg, without_empty_variables};
use crate::server::{command_tools, serve, stdio};
use crate::shell;
use crate::telemetry::TelemetryArgs;
use crate::terminal::{Sensitive, line, output, similar};

/// Serve a SQLite database over JSON-RPC 2.0 and the Model Context Protocol (MCP)
///
/// `trunkline FILE.db` serves that file, read-only, at http://127.0.0.1:8080; it is short for `trunkline serve
/// FILE.db`. The other subcommands are clients and tools. Most flags of the server also have an environment variable,
/// and some a key in trunkline.toml. The command line takes precedence over the environment, and the environment over
/// the file. An empty or blank variable counts as not set. Sizes and times may have a unit, such as 64KiB, 10MB, 30s or 5min.
#[derive(Parser)]
#[command(
    name = "trunkline",
    version,
    args_conflicts_with_subcommands = true,
    after_help = AFTER_HELP,
    after_long_help = AFTER_LONG_HELP
)]
struct Line {
    #[command(subcommand)]
    command: Option<Command>,
    #[command(flatten)]
    serve: serve::Serve,
}

const AFTER_HELP: &str = "--help shows more details, and the environment variables.";
const AFTER_LONG_HELP: &str =
    "Logs go to stderr; RUST_LOG filters them, for example RUST_LOG=warn.";

#[derive(Subcommand)]
pub(crate) enum Command {
    /// Serve a database over HTTP (the default)
    #[command(after_help = AFTER_HELP, after_long_help = AFTER_LONG_HELP)]
    Serve(Box<serve::Serve>),
    /// Serve a database to an MCP client on stdin and stdout
    ///
    /// For MCP clients that start their servers. Records are served only with --records or --expose.
    #[command(after_help = AFTER_HELP, after_long_help = AFTER_LONG_HELP)]
    Mcp(Box<stdio::Stdio>),
    /// Check, show or create the configuration file
    #[command(subcommand)]
    Config(commands::config::ConfigCommand),
    /// Check whether a server could start and work
    ///
    /// Takes the flags and the configuration file of `trunkline serve`, and checks what they refer to: databases and
    /// their privileges, saved queries, the address, tokens, certificates, directories, upstreams and the model, and
    /// the clock and the file limit of this machine. Nothing is changed. Upstreams that are commands are started and
    /// ended; the model answers one short message.
    ///
    /// Exit code: 0 if no check failed, 1 otherwise.
    #[command(after_help = AFTER_HELP, after_long_help = AFTER_LONG_HELP)]
    Doctor(Box<serve::Serve>),
    Health(health::Arguments),
    /// Call a method of a JSON-RPC 2.0 server
    Call(call::Arguments),
    /// List the tools of an MCP server, or call one
    Tools(tools::Arguments),
    /// List the prompts of an MCP server, or get one
    Prompts(prompts::Arguments),
    /// Send a native command to a server
    Execute(execute::Arguments),
    /// List the resources of an MCP server, or read one
    Resources(resources::Arguments),
    /// Show the record types of a file or a server
    #[command(subcommand)]
    Records(records::RecordsCommand),
    /// Remove the stored OAuth tokens of an MCP server
    Logout(logout::Arguments),
    /// Print the OpenRPC document of a JSON-RPC 2.0 server
    Openrpc(openrpc::Arguments),
    /// Show the calls of a server as they happen
    Monitor(monitor::Arguments),
    /// Chat with the agent of a server
    Chat(chat::Arguments),
    /// Convert documents between EDN and JSON, from stdin to stdout
    Edn(edn::Arguments),
    /// Write all rows of a table or a query as CSV, NDJSON or JSON
    ///
    /// Reads the database without a server. Memory is independent of the number of rows.
    Export(database::ExportArguments),
    /// Insert the records of a CSV, NDJSON or JSON file into a table
    ///
    /// Changes the database without a server, in transactions of up to 1,000 records. Records that violate a
    /// constraint, or have values of other types than their columns, are written to FILE.rejects, with their lines and
    /// the reasons. To continue an interrupted import, repeat the command: its state is in FILE.import, and its
    /// position in the table trunkline_import of the database.
    ///
    /// Exit code: 0 if all records were inserted, 3 if some were rejected, 1 if the import failed.
    Import(database::ImportArguments),
    /// Copy a SQLite database while it is used
    ///
    /// Other processes can read and write the database meanwhile. The copy has its content at one time, and is checked
    /// with PRAGMA integrity_check.
    Backup(database::BackupArguments),
    /// Print the completions for a shell
    Completions(shell::Completions),
    /// Write man pages to a directory
    #[command(hide = true)]
    Man(shell::Man),
    /// Run the commands of tools
    #[command(subcommand, hide = true)]
    Tool(command_tools::Launch),
}

impl Command {
    /// Sets the files of secrets, which are read again.
    fn set_secret_files(&mut self, config: &Config) {
        match self {
            Self::Serve(arguments) | Self::Doctor(arguments) => arguments.set_secret_files(config),
            Self::Mcp(arguments) => arguments.set_secret_files(config),
            _ => {}
        }
    }

    /// The flags of logs and of the export of traces and metrics, of commands that serve.
    pub(crate) fn telemetry(&self) -> Option<&TelemetryArgs> {
        match self {
            Self::Serve(arguments) => Some(&arguments.telemetry),
            Self::Mcp(arguments) => Some(&arguments.telemetry),
            _ => None,
        }
    }
}

/// The definition of the command line.
pub(crate) fn command() -> clap::Command {
    Line::command().mut_subcommand("config", |config| {
        ["check", "show"].into_iter().fold(config, |config, name| {
            config.mut_subcommand(name, |command| command.mut_arg("file", without_file))
        })
    })
}

/// Refuses a positional argument, which would be a database.
fn without_file(argument: clap::Arg) -> clap::Arg {
    const REFUSED: Sensitive<DatabaseArg> =
        Sensitive(|_| Err("the configuration file is given as --config FILE".to_owned()));
    argument.hide(true).value_parser(REFUSED)
}

/// Parses the command line and the configuration file. Ends the process (exit code 2) if one of them is invalid.
pub(crate) fn parse() -> (Command, Config) {
    let mut command = without_empty_variables(command());
    if std::env::args_os().any(|argument| argument == "-h") {
        command = without_variables(command);
    }
    let (matches, config) = matches(&mut command).unwrap_or_else(|error| {
        output::failure(&format!("trunkline: {error}\n"));
        std::process::exit(2)
    });
    let line = Line::from_arg_matches(&matches).and_then(|line| {
        check(&matches, &line)?;
        Ok(line)
    });
    let line = line.unwrap_or_else(|error| error.format(&mut command).exit());
    let mut command = line.command.unwrap_or(Command::Serve(Box::new(line.serve)));
    command.set_secret_files(&config);
    (command, config)
}

/// Parses a command line, without a configuration file.
///
/// # Errors
/// When it is invalid, or asks for help.
#[cfg(test)]
pub(crate) fn check_line(words: &[String]) -> Result<(), clap::Error> {
    let matches = command().try_get_matches_from(words)?;
    check(&matches, &Line::from_arg_matches(&matches)?)
}

/// Parses the command line of a server again, with the current configuration file.
///
/// # Errors
/// When the file is invalid.
pub(crate) fn reread() -> anyhow::Result<(Box<serve::Serve>, Config)> {
    let definition = without_empty_variables(command());
    let matches = definition.clone().try_get_matches()?;
    let arguments = served(&definition, &matches).map(|(_, arguments)| arguments);
    let path = arguments.and_then(ConfigArgs::path);
    let mut config = Config::read(path, &definition)?;
    let command = config.with_defaults(definition);
    let matches = command.clone().try_get_matches()?;
    resolve(&mut config, &command, &matches);
    let line = Line::from_arg_matches(&matches)?;
    let mut serve = match line.command {
        Some(Command::Serve(serve)) => serve,
        _ => Box::new(line.serve),
    };
    serve.set_secret_files(&config);
    Ok((serve, config))
}

/// Parses the arguments, with the values of the configuration file as defaults.
fn matches(command: &mut clap::Command) -> Result<(ArgMatches, Config), ConfigError> {
    let definition = command.clone();
    let matches = command.get_matches_mut();
    let Some((_, arguments)) = served(&definition, &matches) else {
        return Ok((matches, Config::default()));
    };
    let mut config = Config::read(ConfigArgs::path(arguments), &definition)?;
    *command = config.with_defaults(definition);
    let matches = command.get_matches_mut();
    resolve(&mut config, command, &matches);
    Ok((matches, config))
}

/// Sets the values of the settings, if the command is one of a server.
fn resolve(config: &mut Config, program: &clap::Command, matches: &ArgMatches) {
    let all = command();
    if let Some((command, arguments)) = served(program, matches)
        && let Some((definition, _)) = served(&all, matches)
    {
        config.resolve(definition, command, arguments);
    }
}

/// The command and the arguments of the server, if the command line has them.
fn served<'l>(
    command: &'l clap::Command,
    matches: &'l ArgMatches,
) -> Option<(&'l clap::Command, &'l ArgMatches)> {
    match matches.subcommand() {
        None => Some((command, matches)),
        Some((name @ ("serve" | "mcp" | "doctor" | "health" | "check" | "show"), matches)) => {
            Some((command.find_subcommand(name)?, matches))
        }
        Some(("config", matches)) => {
            matches.subcommand()?;
            served(command.find_subcommand("config")?, matches)
        }
        Some(_) => None,
    }
}

/// Flags on one line each: the short help omits their environment variables.
fn without_variables(command: clap::Command) -> clap::Command {
    command.mut_args(|argument| argument.hide_env(true)).mut_subcommands(without_variables)
}

/// Checks that clap cannot make: a flag conflicts with another flag, but not with the other's variable.
fn check(matches: &ArgMatches, line: &Line) -> Result<(), clap::Error> {
    let command = command();
    let is_given = |id: &str| {
        served(&command, matches).is_some_and(|(_, served)| {
            served.try_contains_id(id).is_ok()
                && served.value_source(id) == Some(ValueSource::CommandLine)
        })
    };
    for (one, other) in [("file", "db"), ("port", "listen")] {
        if is_given(one) && is_given(other) {
            let one = if one == "file" { "[FILE]" } else { "--port <PORT>" };
            let message = format!("the argument '{one}' cannot be used with '--{other}'");
            return Err(clap::Error::raw(ErrorKind::ArgumentConflict, message));
        }
    }
    match line.serve.file() {
        Some(file) if line.command.is_none() => check_file(file),
        _ => Ok(()),
    }
}

/// Checks that the first argument is a path, and not a misspelled subcommand.
fn check_file(file: &Path) -> Result<(), clap::Error> {
    let is_path = file.exists() || file.extension().is_some() || file.components().count() > 1;
    if is_path {
        return Ok(());
    }
    let name = file.to_string_lossy();
    let name = &*line(&name);
    let command = command();
    if command.find_subcommand(name).is_some() {
        let message = format!("'{name}' must be before its options: trunkline {name} [OPTIONS]");
        return Err(clap::Error::raw(ErrorKind::InvalidSubcommand, message));
    }
    let known = command.get_subcommands().filter(|command| !command.is_hide_set());
    let tip = similar(name, known.map(clap::Command::get_name))
        .first()
        .map(|similar| format!("\n\n  tip: a similar subcommand exists: '{similar}'"));
    let message = format!(
        "'{name}' is neither a subcommand nor a file; write ./{name} for a file of that name{}",
        tip.unwrap_or_default()
    );
    Err(clap::Error::raw(ErrorKind::InvalidSubcommand, message))
}
