//! Values of a file as defaults of flags, and the origin of each setting.

use std::fmt;
use std::ops::Range;
use std::path::{Path, PathBuf};

use clap::error::{ContextKind, ContextValue};
use clap::parser::ValueSource;
use clap::{Arg, ArgMatches, Command};
use indexmap::IndexMap;
use toml::Spanned;
use toml::de::{DeTable, DeValue};

use super::document;
use super::folder::Folder;
use super::problem::{Position, Problems};
use super::secret::{Secret, SecretFile};
use super::settings::{self, FromValue, Kind, SETTINGS, Setting, keys_of};

/// The values of a key that has a flag.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct FlagValue {
    /// The path of the key, such as `server.listen`.
    key: &'static str,
    /// The id of the flag's argument.
    id: &'static str,
    values: Vec<String>,
    /// The file of the value, if it is a secret.
    secret: Option<SecretFile>,
    position: Position,
}

/// The source of a setting's value.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum Origin {
    /// A flag on the command line, such as `--listen`.
    Flag(String),
    /// An environment variable.
    Variable(String),
    /// A place in the configuration file.
    File(PathBuf, Position),
    /// The default of the flag.
    Default,
}

/// A setting with its value.
#[derive(Debug)]
pub(crate) struct EffectiveSetting {
    pub(crate) setting: &'static Setting,
    /// The value as texts of the command line. Empty if it is not set.
    pub(crate) values: Vec<String>,
    pub(crate) origin: Origin,
}

/// Takes the sections of settings out of a document, and returns their values.
pub(super) fn take(
    document: &mut DeTable<'_>,
    folder: &Folder,
    problems: &mut Problems<'_>,
) -> Vec<FlagValue> {
    let mut values = Vec::new();
    for section in settings::sections() {
        if let Some((key, value)) = document.remove_entry(section) {
            let mut reader = Reader { folder, problems, values: &mut values };
            reader.entry(section.to_owned(), &key.span(), value);
        }
    }
    values
}

struct Reader<'r, 't> {
    folder: &'r Folder,
    problems: &'r mut Problems<'t>,
    values: &'r mut Vec<FlagValue>,
}

impl Reader<'_, '_> {
    /// Reads the entry at a path: a setting, or a table of settings.
    fn entry(&mut self, path: String, key: &Range<usize>, value: Spanned<DeValue<'_>>) {
        if let Some(setting) = SETTINGS.iter().find(|setting| setting.key == path) {
            let span = value.span();
            let secret = Secret::deserialize_value(value.clone());
            let secret = secret.ok().and_then(|secret| secret.file(self.folder));
            match setting.kind.texts(value, self.folder) {
                Ok(texts) => {
                    let position = self.problems.position(span.start);
                    self.values.push(FlagValue {
                        key: setting.key,
                        id: setting.id,
                        values: texts,
                        secret,
                        position,
                    });
                }
                Err(invalid) => {
                    let span = invalid.span.unwrap_or(span);
                    self.problems.add(&span, document::invalid(&path, &invalid.message));
                }
            }
            return;
        }
        let keys = keys_of(&path);
        if keys.is_empty() {
            let (parent, name) = path.rsplit_once('.').unwrap_or(("", &path));
            self.problems.add(key, document::unknown(&path, name, &keys_of(parent)));
            return;
        }
        let span = value.span();
        match value.into_inner() {
            DeValue::Table(table) => {
                for (key, value) in table {
                    self.entry(format!("{path}.{}", key.get_ref()), &key.span(), value);
                }
            }
            other => {
                let error =
                    IndexMap::<String, ()>::deserialize_value(Spanned::new(span.clone(), other));
                let message = error.err().map(|error| error.message().to_owned());
                self.problems.add(&span, document::invalid(&path, &message.unwrap_or_default()));
            }
        }
    }
}

impl FlagValue {
    #[cfg(test)]
    pub(super) fn values(&self) -> &[String] {
        &self.values
    }

    /// The names of the tokens, if this is `access.tokens`.
    pub(super) fn token_names(&self) -> impl Iterator<Item = &str> {
        let values = self.values.iter().filter(|_| self.key == "access.tokens");
        values.filter_map(|value| value.split('=').next())
    }

    /// The file of the value, if it is a secret, and the key is this one.
    pub(super) fn secret_file(&self, key: &str) -> Option<&SecretFile> {
        self.secret.as_ref().filter(|_| self.key == key)
    }

    /// Whether it is a value of the flag with this id.
    pub(super) fn is_of(&self, id: &str) -> bool {
        self.id == id
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

/// The values of all settings of a command, after the flags, the environment and the file at `path`, which has the
/// values `flags`.
pub(super) fn effective(
    path: &Path,
    flags: &[FlagValue],
    command: &Command,
    matches: &ArgMatches,
) -> Vec<EffectiveSetting> {
    let setting = |setting: &'static Setting| {
        let argument = setting.flag(command)?;
        let variable = argument.get_env().unwrap_or_default().to_string_lossy();
        let in_file = flags.iter().find(|flag| flag.key == setting.key);
        let opposite = format!("no_{}", setting.id);
        let is_negated = matches.try_contains_id(&opposite).unwrap_or_default()
            && matches.value_source(&opposite) == Some(ValueSource::CommandLine);
        if is_negated {
            let origin = Origin::Flag(format!("--no-{}", setting.id));
            return Some(EffectiveSetting { setting, values: vec!["false".to_owned()], origin });
        }
        let origin = match matches.value_source(setting.id) {
            Some(ValueSource::CommandLine) => {
                Origin::Flag(format!("--{}", argument.get_long().unwrap_or(setting.id)))
            }
            Some(ValueSource::EnvVariable) => Origin::Variable(variable.into_owned()),
            _ => {
                in_file.map_or(Origin::Default, |flag| Origin::File(path.to_owned(), flag.position))
            }
        };
        let values = match setting.kind {
            // The text may be `1` or `yes`.
            Kind::Boolean | Kind::Negated => {
                let value = matches.try_get_one::<bool>(setting.id).ok().flatten();
                value.map(ToString::to_string).into_iter().collect()
            }
            _ => {
                let values = matches.get_raw(setting.id).into_iter().flatten();
                values.map(|value| value.to_string_lossy().into_owned()).collect()
            }
        };
        Some(EffectiveSetting { setting, values, origin })
    };
    SETTINGS.iter().filter_map(setting).collect()
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
            Self::Default => f.write_str("default"),
        }
    }
}
