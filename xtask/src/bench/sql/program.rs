//! The programs of all sides, and their command lines.

use std::fs::File;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use anyhow::{Context, Result};

use super::case::statements;
use super::postgres::{self, Postgres};
use super::side::{Engine, Side};
use super::{database, dbhub, toolbox};
use crate::bench::build;
use crate::bench::process::{SERVER_CORE, pinned};
use crate::peers::Node;
use crate::workspace::{self, Workspace};

pub(super) struct Programs {
    ours: PathBuf,
    bare: PathBuf,
    toolbox: PathBuf,
    dbhub: Node,
    /// The root of the workspace.
    root: PathBuf,
    sqlite: PathBuf,
    postgres: Postgres,
}

/// Size in bytes; ours without symbols.
pub(crate) struct Sizes {
    ours: u64,
    toolbox: u64,
    dbhub: u64,
}

impl Sizes {
    #[cfg(test)]
    pub(super) fn of_ours(ours: u64) -> Self {
        Self { ours, toolbox: 0, dbhub: 0 }
    }

    /// `None` for the hand-written server.
    pub(super) fn megabytes(&self, side: Side) -> Option<f64> {
        let bytes = match side {
            Side::Ours => self.ours,
            Side::Bare => return None,
            Side::Toolbox => self.toolbox,
            Side::Dbhub => self.dbhub,
        };
        Some(bytes as f64 / 1e6)
    }
}

impl Programs {
    pub(super) fn provide(workspace: &Workspace, binaries: &Path) -> Result<Self> {
        let sqlite = database::provide(workspace)?;
        Ok(Self {
            ours: build::ours(workspace, &["--package=trunkline-cli"])?.join("trunkline"),
            bare: binaries.join("sql_bare"),
            toolbox: toolbox::provide(workspace)?,
            dbhub: dbhub::provide(workspace)?,
            root: workspace.path(""),
            postgres: postgres::provide(workspace, binaries)?,
            sqlite,
        })
    }

    pub(super) fn sizes(&self, workspace: &Workspace) -> Result<Sizes> {
        let stripped = workspace.path("target/bench/trunkline.stripped");
        workspace::output(workspace.command("strip").arg("-o").args([&stripped, &self.ours]))
            .context("strip is missing or failed (Debian package binutils)")?;
        Ok(Sizes {
            ours: stripped.metadata()?.len(),
            toolbox: self.toolbox.metadata()?.len(),
            dbhub: dbhub::size(workspace, &self.dbhub)?,
        })
    }

    /// A server on this address, with its output in the log.
    pub(super) fn http(
        &self,
        side: Side,
        engine: Engine,
        address: &str,
        log: &Path,
    ) -> Result<Command> {
        let (host, port) = address.rsplit_once(':').context("an address has a port")?;
        let mut command = self.command(side, engine)?;
        match side {
            // The structured result, which the client reads, in addition to the text.
            Side::Ours => command.args(["serve", "--listen", address, "--output-schemas", "--db"]),
            Side::Bare => command.args(["--listen", address, "--database"]),
            Side::Toolbox => command.args(["--address", host, "--port", port]),
            Side::Dbhub => command.args(["--transport", "http", "--host", host, "--port", port]),
        };
        match side {
            Side::Ours => _ = command.arg(self.location(engine)),
            Side::Bare => {
                let [rows_of_sensor, rows_from] = statements(engine);
                command.arg(self.location(engine));
                command.args(["--rows-of-sensor", rows_of_sensor, "--rows-from", rows_from]);
            }
            Side::Toolbox | Side::Dbhub => {}
        }
        let data = log.with_extension("data");
        let log = File::create(log).with_context(|| format!("cannot create {}", log.display()))?;
        command.env("TRUNKLINE_DATA_DIR", data);
        command.stdin(Stdio::null()).stdout(log.try_clone()?).stderr(log);
        Ok(command)
    }

    /// A server on stdin and stdout.
    pub(super) fn stdio(&self, side: Side, engine: Engine) -> Result<Command> {
        let mut command = self.command(side, engine)?;
        match side {
            Side::Ours => {
                command.args(["mcp", "--output-schemas", "--db"]).arg(self.location(engine))
            }
            Side::Bare => anyhow::bail!("the hand-written server has no stdio"),
            Side::Toolbox => command.arg("--stdio"),
            Side::Dbhub => command.args(["--transport", "stdio"]),
        };
        Ok(command)
    }

    /// The program with its configuration.
    fn command(&self, side: Side, engine: Engine) -> Result<Command> {
        let [rows_of_sensor, rows_from] = statements(engine);
        let mut command = match side {
            Side::Ours => pinned(SERVER_CORE, &self.ours),
            Side::Bare => pinned(SERVER_CORE, &self.bare),
            Side::Toolbox => {
                let mut command = pinned(SERVER_CORE, &self.toolbox);
                // Stdin and stdout without work for calls.
                command.args(["--disable-reload", "--disable-version-check", "--config"]);
                command.arg(self.root.join(toolbox::config(engine)));
                command
            }
            Side::Dbhub => {
                let mut command = dbhub::command(&self.dbhub);
                command.arg("--config").arg(self.root.join(dbhub::CONFIG));
                command
            }
        };
        if matches!(side, Side::Toolbox | Side::Dbhub) {
            let Postgres { url, port, database, .. } = &self.postgres;
            let location = match (side, engine) {
                (Side::Dbhub, Engine::Sqlite) => dbhub::sqlite_url(&self.sqlite),
                (Side::Dbhub, Engine::Postgres) => format!("{url}?sslmode=disable"),
                (_, Engine::Sqlite) => self.sqlite.display().to_string(),
                (_, Engine::Postgres) => database.clone(),
            };
            command
                .env("BENCH_ROWS_OF_SENSOR", rows_of_sensor)
                .env("BENCH_ROWS_FROM", rows_from)
                .env("BENCH_DATABASE", location)
                .env("BENCH_PORT", port)
                .env("BENCH_ROLE", postgres::ROLE);
        }
        Ok(command)
    }

    fn location(&self, engine: Engine) -> PathBuf {
        match engine {
            Engine::Sqlite => self.sqlite.clone(),
            Engine::Postgres => PathBuf::from(&self.postgres.url),
        }
    }
}
