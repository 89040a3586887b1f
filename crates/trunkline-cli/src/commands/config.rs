//! `trunkline config`.

use std::fs::OpenOptions;
use std::io::{ErrorKind, Write};
use std::path::{Path, PathBuf};

use anyhow::{Context, bail};
use clap::{Args, Subcommand};

use crate::config::{Config, ConfigError, TEMPLATE, schema, with_keys};
use crate::server::serve::Serve;
use crate::terminal::{line, lines, output, redacted};

/// Check, show or create the configuration file
#[derive(Subcommand)]
pub(crate) enum ConfigCommand {
    /// Check the configuration file, and report its mistakes
    ///
    /// Also checks the flags and variables that are set. Exit code: 0 if all are valid, 2 otherwise. `trunkline doctor`
    /// checks what they refer to: databases, upstreams, certificates, keys and the model. Patterns of operations are
    /// checked when a server starts.
    Check(Served),
    /// Print the effective settings, with the origin of each
    ///
    /// The output is a configuration file. With the flags of `trunkline serve`, it shows what a server with these flags
    /// would use. Secrets are redacted.
    Show(Served),
    /// Print the JSON Schema of the configuration file, for editors
    Schema,
    /// Write a configuration file to start with
    Init(Init),
}

/// The flags of `serve`, which decide what is effective.
#[derive(Args)]
pub(crate) struct Served {
    #[command(flatten)]
    serve: Box<Serve>,
}

#[derive(Args)]
pub(crate) struct Init {
    /// File to create
    #[arg(value_name = "FILE", default_value = "trunkline.toml")]
    path: PathBuf,
}

/// Runs the command. `config` has the values of the file and of the flags of `program`.
pub(crate) fn run(
    command: &ConfigCommand,
    config: &Config,
    program: &clap::Command,
) -> anyhow::Result<()> {
    match command {
        ConfigCommand::Check(Served { serve }) => {
            serve.check_names(config)?;
            let Some(path) = config.path() else {
                bail!(
                    "trunkline.toml does not exist; `trunkline config init` creates it, --config names another file"
                );
            };
            let mistakes = serve.mistakes();
            if !mistakes.is_empty() {
                let mistakes =
                    mistakes.iter().map(|error| with_keys(&format!("{error:#}"), program));
                let mistakes = mistakes.map(|text| line(&redacted(&text)).into_owned()).collect();
                let path = path.to_owned();
                return Err(ConfigError::Settings { path, mistakes }.into());
            }
            for warning in config.warnings() {
                output::message(&format!("trunkline: warning: {}\n", line(warning)));
            }
            output::data(&format!("{}: valid\n", line(&path.to_string_lossy())))?;
        }
        ConfigCommand::Show(_) => output::data(&lines(&config.show()))?,
        ConfigCommand::Schema => {
            let schema = schema(program);
            output::data(&format!("{schema:#}\n"))?;
        }
        ConfigCommand::Init(init) => {
            create(&init.path)?;
            output::data(&format!("created {}\n", line(&init.path.to_string_lossy())))?;
        }
    }
    Ok(())
}

/// Creates the file, unless it exists.
fn create(path: &Path) -> anyhow::Result<()> {
    let shown = path.display();
    let mut file = match OpenOptions::new().write(true).create_new(true).open(path) {
        Ok(file) => file,
        Err(error) if error.kind() == ErrorKind::AlreadyExists => {
            bail!("{shown} exists already; give another name, or remove it first")
        }
        Err(error) => return Err(error).with_context(|| format!("cannot create {shown}")),
    };
    file.write_all(TEMPLATE.as_bytes()).with_context(|| format!("cannot write {shown}"))
}
