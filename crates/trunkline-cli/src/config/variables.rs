//! Environment variables with an empty value, which count as not set.
//!
//! `${NAME:-}` of a compose file, and templates of other deployments, pass a missing setting as an empty variable. An empty
//! value on the command line is still a value of its flag.

use std::env;
use std::ffi::OsStr;

use clap::parser::ValueSource;
use clap::{Arg, ArgMatches, Command};

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
        Some(name) if is_empty(name) => argument.env(None::<&'static str>),
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
        let protects = PROTECTIONS.iter().any(|known| name == *known);
        (protects && is_empty(name) && !is_set(argument)).then(|| {
            let (name, flag) = (name.to_string_lossy(), argument.get_long().unwrap_or_default());
            format!("{name} is empty and counts as not set: --{flag} does not apply")
        })
    };
    definition.get_arguments().filter_map(warning).collect()
}

fn is_empty(name: &OsStr) -> bool {
    env::var_os(name).is_some_and(|value| value.is_empty())
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
