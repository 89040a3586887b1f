//! Values of a file as defaults of flags, and the origin of each setting.

use std::fmt;
use std::path::{Path, PathBuf};

use clap::error::{ContextKind, ContextValue};
use clap::parser::ValueSource;
use clap::{Arg, ArgMatches, Command};

use super::problem::{Position, Problems};

/// The values of a key that has a flag.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct FlagValue {
    /// The path of the key, such as `server.listen`.
    key: &'static str,
    /// The id of the flag's argument.
    id: &'static str,
    values: Vec<String>,
    position: Position,
}

/// The source of a setting.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum Origin {
    /// A flag on the command line, such as `--listen`.
    Flag(String),
    /// An environment variable.
    Variable(String),
    /// A place in the configuration file.
    File(PathBuf, Position),
}

/// The origins of the settings that the file sets, by the paths of their keys.
#[derive(Debug, Default, PartialEq, Eq)]
pub(super) struct Origins(Vec<(&'static str, Origin)>);

impl FlagValue {
    pub(super) fn new(
        key: &'static str,
        id: &'static str,
        position: Position,
        values: Vec<String>,
    ) -> Self {
        Self { key, id, values, position }
    }

    /// Checks the values with the parser of the flag.
    pub(super) fn check(&self, command: &Command, problems: &mut Problems<'_>) {
        let Some(flag) = self.find(command) else { return };
        let flag = Arg::new(self.id).long("value").value_parser(flag.get_value_parser().clone());
        let command = Command::new("").no_binary_name(true).arg(flag);
        for value in &self.values {
            if let Err(error) = command.clone().try_get_matches_from([format!("--value={value}")]) {
                let message = format!("invalid value `{value}` of `{}`", self.key);
                problems.add_at(self.position, message + &reason(&error));
            }
        }
    }

    fn find<'c>(&self, command: &'c Command) -> Option<&'c Arg> {
        command.get_arguments().find(|argument| argument.get_id() == self.id)
    }

    /// Makes the values the default of the flag, if the command has it.
    fn apply(&self, command: Command) -> Command {
        if self.find(&command).is_none() {
            return command;
        }
        command.mut_arg(self.id, |flag| flag.default_values(self.values.clone()))
    }
}

/// The command with the values as defaults of its flags, also those of its subcommands.
pub(super) fn with_defaults(command: Command, flags: &[FlagValue]) -> Command {
    let command = flags.iter().fold(command, |command, flag| flag.apply(command));
    command.mut_subcommands(|command| with_defaults(command, flags))
}

impl Origins {
    /// The origins of values in the file at `path`, some of which flags or variables may override.
    pub(super) fn new(
        path: &Path,
        flags: &[FlagValue],
        command: &Command,
        matches: &ArgMatches,
    ) -> Self {
        let origin = |flag: &FlagValue| {
            let argument = flag.find(command)?;
            let variable = argument.get_env().unwrap_or_default().to_string_lossy();
            Some(match matches.value_source(flag.id)? {
                ValueSource::CommandLine => {
                    Origin::Flag(format!("--{}", argument.get_long().unwrap_or(flag.id)))
                }
                ValueSource::EnvVariable => Origin::Variable(variable.into_owned()),
                _ => Origin::File(path.to_owned(), flag.position),
            })
        };
        let origins = flags.iter().filter_map(|flag| Some((flag.key, origin(flag)?)));
        Self(origins.collect())
    }

    pub(super) fn log(&self) {
        for (setting, origin) in &self.0 {
            tracing::debug!(setting, %origin, "configuration");
        }
    }
}

/// The reason of clap's error, without its usage message.
fn reason(error: &clap::Error) -> String {
    let source = std::error::Error::source(error).map(ToString::to_string);
    let values = match error.get(ContextKind::ValidValue) {
        Some(ContextValue::Strings(values)) => Some(format!("use one of {}", values.join(", "))),
        _ => None,
    };
    source.or(values).map_or_else(String::new, |reason| format!(": {reason}"))
}

impl fmt::Display for Origin {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Flag(name) | Self::Variable(name) => f.write_str(name),
            Self::File(path, position) => write!(f, "{}:{position}", path.display()),
        }
    }
}
