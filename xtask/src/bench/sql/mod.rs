//! Compares the `trunkline` binary with Google's MCP Toolbox and DBHub, all with default settings, and with a hand-written
//! server: the same rows in SQLite and PostgreSQL, and one client with sequential requests.

mod case;
mod database;
mod dbhub;
mod goals;
mod health;
mod postgres;
mod program;
mod report;
mod side;
mod toolbox;

use std::net::TcpStream;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::time::{Duration, Instant};

use anyhow::{Context, Result, bail};
use serde::Deserialize;

use self::case::{CASES, Case};
use self::database::ROW_TEXT;
use self::program::Programs;
use self::side::{ENGINES, Engine, SIDES, Side};
use super::process::{LOAD_CORE, Process, pinned};
use super::server::free_address;
use crate::workspace::{self, Workspace};

pub(super) use self::goals::verdicts;
pub(super) use self::program::Sizes;
pub(super) use self::report::Report;

/// The measurements of one side and database in a round.
pub(super) struct Measurements {
    side: Side,
    engine: Engine,
    samples: Vec<Sample>,
    start: Duration,
    idle_bytes: u64,
    /// The 99th percentile of `GET /health` during endless queries. Measured for ours only.
    health: Option<Duration>,
}

struct Sample {
    case: Case,
    calls_per_second: f64,
    /// The CPU time of the server. Not measured over stdio, where the server is a child of the client.
    cpu_micros_per_call: Option<f64>,
}

/// The environment of a round.
pub(super) struct Setup {
    programs: Programs,
    client: PathBuf,
    log: PathBuf,
}

/// The output of the client.
#[derive(Deserialize)]
struct Asked {
    calls: u64,
    micros: u64,
}

const DEADLINE: Duration = Duration::from_secs(20);

/// Polling interval of a starting server.
const TICK: Duration = Duration::from_micros(200);

impl Setup {
    pub(super) fn provide(workspace: &Workspace, binaries: &Path) -> Result<Self> {
        Ok(Self {
            programs: Programs::provide(workspace, binaries)?,
            client: binaries.join("sql_client"),
            log: workspace.path("target/bench/server.log"),
        })
    }

    pub(super) fn sizes(&self, workspace: &Workspace) -> Result<Sizes> {
        self.programs.sizes(workspace)
    }

    /// Measures all sides in sequence.
    pub(super) fn round(&self, seconds: u32) -> Result<Vec<Measurements>> {
        let pairs = ENGINES.into_iter().flat_map(|engine| SIDES.map(|side| (side, engine)));
        pairs
            .map(|(side, engine)| {
                let what = || format!("{} with {}", side.about(), engine.about());
                self.measure(side, engine, seconds).with_context(what)
            })
            .collect()
    }

    fn measure(&self, side: Side, engine: Engine, seconds: u32) -> Result<Measurements> {
        let address = free_address()?;
        let mut command = self.programs.http(side, engine, &address, &self.log)?;
        let begun = Instant::now();
        let server = Process::start(&mut command)?;
        wait_for(&address)?;
        let start = begun.elapsed();
        // Includes memory that is allocated by the first calls.
        let ask_over_http =
            |case, seconds| ask(self.client(side, engine, case, seconds).args(["http", &address]));
        ask_over_http(Case::FiveRowsHttp, 0)?;
        let idle_bytes = server.resident_bytes()?;
        let mut samples = Vec::new();
        for case in CASES {
            let sample = if !case.is_stdio() {
                let before = server.cpu_time()?;
                let asked = ask_over_http(case, seconds);
                let cpu = server.cpu_time()? - before;
                asked.map(|asked| asked.sample(case, Some(cpu)))
            } else if side.has_stdio() {
                let asked = self.over_stdio(side, engine, case, seconds);
                asked.map(|asked| asked.sample(case, None))
            } else {
                continue;
            };
            samples.push(sample.with_context(|| case.about())?);
        }
        drop(server);
        let health = (side == Side::Ours).then(|| self.health(engine, seconds)).transpose()?;
        Ok(Measurements { side, engine, samples, start, idle_bytes, health })
    }

    fn health(&self, engine: Engine, seconds: u32) -> Result<Duration> {
        let address = free_address()?;
        let mut command = self.programs.http(Side::Ours, engine, &address, &self.log)?;
        let timeout = health::QUERY_TIMEOUT.as_millis().to_string();
        let _server = Process::start(command.args(["--query-timeout-ms", &timeout]))?;
        wait_for(&address)?;
        health::p99(&address, engine, seconds.max(3)).context("/health during endless queries")
    }

    /// The server is a child of the client, on a separate core.
    fn over_stdio(&self, side: Side, engine: Engine, case: Case, seconds: u32) -> Result<Asked> {
        let server = self.programs.stdio(side, engine)?;
        let mut client = self.client(side, engine, case, seconds);
        client.arg("stdio").arg(server.get_program()).args(server.get_args());
        client.envs(server.get_envs().filter_map(|(name, value)| Some((name, value?))));
        ask(&mut client)
    }

    fn client(&self, side: Side, engine: Engine, case: Case, seconds: u32) -> Command {
        let mut client = pinned(LOAD_CORE, &self.client);
        client
            .arg(case.request(side, engine).to_string())
            .args(["--keys", &case.keys().to_string()])
            .args(["--rows", &case.rows().to_string()])
            .args(["--rows-at", side.rows_at()])
            .args(["--row-text", ROW_TEXT])
            .args(["--seconds", &seconds.to_string()]);
        client
    }
}

impl Measurements {
    fn sample(&self, case: Case) -> Option<&Sample> {
        self.samples.iter().find(|sample| sample.case == case)
    }

    fn is(&self, side: Side, engine: Engine) -> bool {
        self.side == side && self.engine == engine
    }

    fn start_millis(&self) -> f64 {
        self.start.as_secs_f64() * 1e3
    }

    fn health_millis(&self) -> Option<f64> {
        self.health.map(|time| time.as_secs_f64() * 1e3)
    }

    fn idle_megabytes(&self) -> f64 {
        self.idle_bytes as f64 / 1e6
    }
}

impl Asked {
    fn sample(&self, case: Case, cpu: Option<Duration>) -> Sample {
        let calls = self.calls as f64;
        Sample {
            case,
            calls_per_second: calls * 1e6 / self.micros as f64,
            cpu_micros_per_call: cpu.map(|cpu| cpu.as_secs_f64() * 1e6 / calls),
        }
    }
}

fn ask(client: &mut Command) -> Result<Asked> {
    let printed = workspace::output(client)?;
    serde_json::from_str(&printed).with_context(|| format!("the client printed {printed:?}"))
}

fn wait_for(address: &str) -> Result<()> {
    let begun = Instant::now();
    while TcpStream::connect(address).is_err() {
        if begun.elapsed() > DEADLINE {
            bail!("the server does not accept connections at {address}");
        }
        std::thread::sleep(TICK);
    }
    Ok(())
}
