//! Environment variables without a value, which count as not set: empty ones, and those of blanks only. Blanks in a
//! variable that protects the server are an error, since they are not what a template makes of a missing setting.
//!
//! `${NAME:-}` of a compose file, and templates of other deployments, pass a missing setting as an empty variable. An empty
//! value on the command line is still a value of its flag.

use std::env;
use std::ffi::{OsStr, OsString};
use std::os::unix::process::CommandExt;
use std::process;

use clap::parser::ValueSource;
use clap::{Arg, ArgMatches, Command};

/// The variables of others that this program and its libraries read.
const OTHERS: [&str; 10] = [
    "CREDENTIALS_DIRECTORY",
    "HOME",
    "NOTIFY_SOCKET",
    "NO_COLOR",
    "SSL_CERT_DIR",
    "SSL_CERT_FILE",
    "TERM",
    "TMPDIR",
    "TRUNKLINE_URL",
    "USER",
];

/// The beginnings of the names of others that this program and its libraries read.
const OTHER_PREFIXES: [&str; 5] = ["CLICOLOR", "OTEL_", "PG", "RUST_", "XDG_"];

/// The variables that protect the server or its data. If one of them is empty, the log warns.
const PROTECTIONS: &[&str] = &[
    "TRUNKLINE_AGENT_ALLOW",
    "TRUNKLINE_AGENT_DENY",
    "TRUNKLINE_ALLOW_TABLE",
    "TRUNKLINE_AUDIENCE",
    "TRUNKLINE_AUDIT_LOG",
    "TRUNKLINE_AUTHORIZATION_SERVER",
    "TRUNKLINE_BEARER",
    "TRUNKLINE_CONFIRM_DESTRUCTIVE",
    "TRUNKLINE_DENY_TABLE",
    "TRUNKLINE_HISTORY_REDACT",
    "TRUNKLINE_ISSUER",
    "TRUNKLINE_JWKS",
    "TRUNKLINE_MASK",
    "TRUNKLINE_RATE_LIMIT",
    "TRUNKLINE_READ_SCOPE",
    "TRUNKLINE_REQUIRE",
    "TRUNKLINE_TLS_CERT",
    "TRUNKLINE_TLS_KEY",
    "TRUNKLINE_WRITE_SCOPE",
];

/// The command and its subcommands without the variables that are empty.
pub(crate) fn without_empty_variables(command: Command) -> Command {
    let command = command.mut_args(|argument| match argument.get_env() {
        Some(name) if counts_as_unset(name) => argument.env(None::<&'static str>),
        _ => argument,
    });
    command.mut_subcommands(without_empty_variables)
}

/// A warning for each empty variable that would protect the server. `definition` has the variables of all flags, and
/// `is_in_file` is whether the configuration file has a value of a flag.
pub(super) fn warnings(
    definition: &Command,
    matches: &ArgMatches,
    is_in_file: impl Fn(&str) -> bool,
) -> Vec<String> {
    let is_set = |argument: &Arg| {
        let id = argument.get_id().as_str();
        let source = matches.try_contains_id(id).ok().and_then(|_| matches.value_source(id));
        source == Some(ValueSource::CommandLine) || is_in_file(id)
    };
    let warning = |argument: &Arg| {
        let name = argument.get_env()?;
        (protects(name) && counts_as_unset(name) && !is_set(argument)).then(|| {
            let (name, flag) = (name.to_string_lossy(), argument.get_long().unwrap_or_default());
            format!("{name} is empty and counts as not set: --{flag} does not apply")
        })
    };
    definition.get_arguments().filter_map(warning).collect()
}

/// Starts this program again without the variables of others that have no value: its libraries would treat them as
/// values, such as `SSL_CERT_FILE` for a file without certificates. Those of flags stay, for the warnings.
pub(crate) fn remove_blank_variables(definition: impl FnOnce() -> Command) {
    let is_other = |name: &OsStr| {
        let text = name.to_string_lossy();
        OTHERS.contains(&&*text) || OTHER_PREFIXES.iter().any(|prefix| text.starts_with(prefix))
    };
    let blank = env::vars_os().filter(|(name, value)| is_blank_value(value) && is_other(name));
    let mut blank: Vec<OsString> = blank.map(|(name, _)| name).collect();
    if !blank.is_empty() {
        let definition = definition();
        blank.retain(|name| !is_of_flag(&definition, name));
    }
    let mut arguments = env::args_os();
    // With `/proc/self/exe`, the process would be named `exe`.
    let (false, Some(name), Ok(program)) = (blank.is_empty(), arguments.next(), env::current_exe())
    else {
        return;
    };
    let mut command = process::Command::new(program);
    command.arg0(name).args(arguments);
    for name in blank {
        command.env_remove(name);
    }
    // If it fails, the process continues with the variables.
    let _ = command.exec();
}

fn is_of_flag(command: &Command, name: &OsStr) -> bool {
    command.get_arguments().any(|argument| argument.get_env() == Some(name))
        || command.get_subcommands().any(|command| is_of_flag(command, name))
}

fn protects(name: &OsStr) -> bool {
    PROTECTIONS.iter().any(|known| name == *known)
}

/// Whether the variable of a flag has no value.
fn counts_as_unset(name: &OsStr) -> bool {
    env::var_os(name)
        .is_some_and(|value| value.is_empty() || !protects(name) && is_blank_value(&value))
}

fn is_blank_value(value: &OsStr) -> bool {
    value.as_encoded_bytes().iter().all(u8::is_ascii_whitespace)
}

#[cfg(test)]
mod tests {
    use super::PROTECTIONS;

    #[test]
    fn protections_are_variables_of_the_server() {
        let command = crate::arguments::command();
        let serve = command.find_subcommand("serve").unwrap();
        for name in PROTECTIONS {
            let is_known = serve.get_arguments().any(|arg| arg.get_env() == Some(name.as_ref()));
            assert!(is_known, "{name}");
        }
    }
}
