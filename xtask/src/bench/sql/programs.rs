//! The compared servers of a database, with their command lines, and the database in both engines: 100,000 rows.

use std::fs::File;
use std::io::{BufRead, BufReader};
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};

use anyhow::{Context, Result, ensure};

use crate::bench::server::{self, SERVER_CORE, pinned};
use crate::peers::{self, Node};
use crate::sqlite;
use crate::workspace::{self, Workspace};

pub(super) const OURS: &str = "trunkline";
/// A hand-written server with two queries.
pub(super) const BARE: &str = "axum and the driver";
pub(super) const TOOLBOX: &str = "MCP Toolbox";
const DBHUB: &str = "DBHub";
pub(super) const SIDES: [&str; 4] = [OURS, BARE, TOOLBOX, DBHUB];

pub(super) const SQLITE: &str = "SQLite";
const POSTGRES: &str = "PostgreSQL";
pub(super) const ENGINES: [&str; 2] = [SQLITE, POSTGRES];

pub(super) const ROWS: u32 = 100_000;
pub(super) const SENSORS: u32 = ROWS / 5;
/// Text that every row contains once.
pub(super) const ROW_TEXT: &str = "station-";

const CREATE: &str = "CREATE TABLE readings (id bigint PRIMARY KEY, sensor bigint NOT NULL, \
    taken text NOT NULL, value double precision NOT NULL, station text NOT NULL);";
/// In SQLite, only an `INTEGER PRIMARY KEY` is the key of the rows themselves.
const CREATE_SQLITE: &str = "CREATE TABLE readings (id INTEGER PRIMARY KEY, sensor INTEGER NOT NULL, \
    taken TEXT NOT NULL, value REAL NOT NULL, station TEXT NOT NULL);";
/// The distance between rows of a sensor is a prime, so that all sensors have the same number of rows.
const INSERT: &str = "
WITH RECURSIVE n(i) AS (SELECT 0 UNION ALL SELECT i + 1 FROM n WHERE i < 99999)
INSERT INTO readings SELECT i + 1, i * 7919 % 20000, '2026-01-01T00:' || (10 + i / 50 % 50) || ':' || (10 + i % 50) || 'Z',
    (i * 7907 % 1048573) / 1000.0, 'station-' || (100 + i * 31 % 900) FROM n;
CREATE INDEX readings_by_sensor ON readings (sensor);";
/// The role of clients of PostgreSQL.
const ROLE: &str = "app";

/// The JSON pointer to the rows in a reply. A second pointer applies to the JSON text at the first one.
pub(super) fn rows_at(side: &str) -> &'static str {
    match side {
        // One content block per row.
        TOOLBOX => "/result/content",
        DBHUB => "/result/content/0/text /data/statements/0/rows",
        _ => "/result/structuredContent/rows",
    }
}

/// The rows of a sensor, and the rows from a key.
pub(super) fn statements(engine: &str) -> [String; 2] {
    let key = if engine == SQLITE { "?" } else { "$1" };
    [
        format!("SELECT * FROM readings WHERE sensor = {key}"),
        format!("SELECT * FROM readings WHERE id >= {key} ORDER BY id LIMIT 1000"),
    ]
}

pub(super) struct Programs {
    ours: PathBuf,
    bare: PathBuf,
    toolbox: PathBuf,
    node: Node,
    root: PathBuf,
    sqlite: PathBuf,
    /// A database in a private server: `postgresql://ROLE@HOST:PORT/DATABASE`.
    postgres: String,
    /// The program `postgres` of `bench/`, which stops the server when its stdin ends.
    _postgres: Child,
}

impl Programs {
    pub(super) fn provide(workspace: &Workspace) -> Result<Self> {
        let binaries = server::all_contenders(workspace)?;
        let sources = Path::new("bench/toolbox");
        let toolbox = peers::install_packages(workspace, "toolbox", sources, &[])?;
        let toolbox = toolbox.join("node_modules/@toolbox-sdk/server-linux-x64/bin/toolbox");
        ensure!(toolbox.is_file(), "Toolbox is published for x86-64 only");
        let node = Node::with(workspace, "dbhub", "bench/dbhub")?;

        let folder = workspace.fresh_folder("target/bench/database")?;
        let sqlite = folder.join("readings.db");
        sqlite::write(&sqlite, &format!("{CREATE_SQLITE}{INSERT}"), &[])?;
        let script = folder.join("postgres.sql");
        std::fs::write(&script, format!("{CREATE}{INSERT}\nVACUUM ANALYZE readings;"))?;
        let mut command = Command::new(binaries.join("postgres"));
        command.arg(ROLE).arg(&script).stdin(Stdio::piped()).stdout(Stdio::piped());
        let mut child = command.spawn().context("cannot start the program `postgres` of bench/")?;
        let mut postgres = String::new();
        let stdout = child.stdout.take().context("stdout is piped")?;
        BufReader::new(stdout).read_line(&mut postgres)?;
        Ok(Self {
            ours: server::ours(workspace, &["--package=trunkline-cli"])?.join("trunkline"),
            bare: binaries.join("sql_bare"),
            toolbox,
            node,
            root: workspace.path(""),
            sqlite,
            postgres: postgres.trim().to_owned(),
            _postgres: child,
        })
    }

    /// The size of a program in MB: of ours without symbols, of DBHub with its packages and Node.js. `None` for the
    /// hand-written server.
    pub(super) fn megabytes(&self, side: &str) -> Result<Option<f64>> {
        let stripped = self.sqlite.with_file_name("trunkline.stripped");
        let files = match side {
            OURS => {
                workspace::output(Command::new("strip").arg("-o").args([&stripped, &self.ours]))
                    .context("strip is missing or failed (Debian package binutils)")?;
                vec![&stripped]
            }
            TOOLBOX => vec![&self.toolbox],
            DBHUB => vec![&self.node.folder, &self.node.binary],
            _ => return Ok(None),
        };
        let mut du = Command::new("du");
        let printed = workspace::output(du.args(["-s", "--bytes", "--total"]).args(files))?;
        let total = printed.lines().last().and_then(|line| line.split_whitespace().next());
        Ok(Some(total.context("du printed nothing")?.parse::<f64>()? / 1e6))
    }

    /// A server of HTTP on this address, whose output goes to a log, or of stdio.
    pub(super) fn command(
        &self,
        side: &str,
        engine: &str,
        address: Option<&str>,
    ) -> Result<Command> {
        let is_sqlite = engine == SQLITE;
        let location =
            if is_sqlite { self.sqlite.display().to_string() } else { self.postgres.clone() };
        let [rows_of_sensor, rows_from] = statements(engine);
        let mut command = pinned(
            SERVER_CORE,
            match side {
                OURS => &self.ours,
                BARE => &self.bare,
                TOOLBOX => &self.toolbox,
                _ => &self.node.binary,
            },
        );
        let (host, port) = address.and_then(|it| it.rsplit_once(':')).unwrap_or_default();
        match (side, address) {
            (OURS, Some(address)) => command.args(["serve", "--listen", address]),
            (OURS, None) => command.arg("mcp"),
            (BARE, Some(address)) => command.args(["--listen", address]),
            (BARE, None) => anyhow::bail!("the hand-written server has no stdio"),
            (TOOLBOX, Some(_)) => command.args(["--address", host, "--port", port]),
            (TOOLBOX, None) => command.arg("--stdio"),
            (_, http) => {
                command.arg(self.node.folder.join("node_modules/@bytebase/dbhub/dist/index.js"));
                match http {
                    Some(_) => {
                        command.args(["--transport", "http", "--host", host, "--port", port])
                    }
                    None => command.args(["--transport", "stdio"]),
                }
            }
        };
        match side {
            // The structured result, which the client reads, in addition to the text.
            OURS => command.args(["--output-schemas", "--db", &location]),
            BARE => {
                command.args(["--database", &location, "--rows-of-sensor", &rows_of_sensor]);
                command.args(["--rows-from", &rows_from])
            }
            TOOLBOX => {
                let config = if is_sqlite { "sqlite.yaml" } else { "postgres.yaml" };
                command.args(["--disable-reload", "--disable-version-check", "--config"]);
                command.arg(self.root.join("bench/toolbox").join(config))
            }
            _ => command.arg("--config").arg(self.root.join("bench/dbhub/dbhub.toml")),
        };
        let place = self.postgres.rsplit_once(':').and_then(|(_, rest)| rest.split_once('/'));
        let (port, database) = place.with_context(|| format!("`{}` has no port", self.postgres))?;
        let location = match (side, engine) {
            (DBHUB, SQLITE) => format!("sqlite://{location}"),
            (DBHUB, _) => format!("{location}?sslmode=disable"),
            (_, POSTGRES) => database.to_owned(),
            _ => location,
        };
        // Of the configurations in `bench/toolbox` and `bench/dbhub`.
        command.env("BENCH_ROWS_OF_SENSOR", rows_of_sensor).env("BENCH_ROWS_FROM", rows_from);
        command.env("BENCH_DATABASE", location).env("BENCH_PORT", port).env("BENCH_ROLE", ROLE);
        if address.is_some() {
            let log = self.sqlite.with_file_name("server.log");
            command.env("TRUNKLINE_DATA_DIR", log.with_extension("data"));
            let log = File::create(log)?;
            command.stdout(log.try_clone()?).stderr(log);
        }
        Ok(command)
    }
}
