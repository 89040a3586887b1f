//! Compares the `trunkline` binary with Google's MCP Toolbox, both with default settings: one SQLite file, and one client
//! with sequential requests.

mod case;
mod database;
mod goals;
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
use self::side::{SIDES, Side};
use super::process::{LOAD_CORE, Process, pinned};
use super::server::free_address;
use crate::workspace::{self, Workspace};

pub(super) use self::goals::verdicts;
pub(super) use self::program::Sizes;
pub(super) use self::report::Report;

/// The measurements of one side in a round.
pub(super) struct Measurements {
    side: Side,
    samples: Vec<Sample>,
    start: Duration,
    idle_bytes: u64,
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

const MEGABYTE: f64 = 1e6;

const DEADLINE: Duration = Duration::from_secs(20);

/// Polling interval of a starting server.
const TICK: Duration = Duration::from_micros(200);

impl Setup {
    pub(super) fn provide(workspace: &Workspace, binaries: &Path) -> Result<Self> {
        Ok(Self {
            programs: Programs::provide(workspace)?,
            client: binaries.join("sql_client"),
            log: workspace.path("target/bench/server.log"),
        })
    }

    pub(super) fn sizes(&self, workspace: &Workspace) -> Result<Sizes> {
        self.programs.sizes(workspace)
    }

    /// Measures both sides in sequence.
    pub(super) fn round(&self, seconds: u32) -> Result<Vec<Measurements>> {
        let measure = |side: Side| self.measure(side, seconds).with_context(|| side.about());
        SIDES.into_iter().map(measure).collect()
    }

    fn measure(&self, side: Side, seconds: u32) -> Result<Measurements> {
        let address = free_address()?;
        let mut command = self.programs.http(side, &address, &self.log)?;
        let begun = Instant::now();
        let server = Process::start(&mut command)?;
        wait_for(&address)?;
        let start = begun.elapsed();
        // Includes memory that is allocated by the first calls.
        self.over_http(side, Case::FiveRowsHttp, &address, 0)?;
        let idle_bytes = server.resident_bytes()?;
        let mut samples = Vec::new();
        for case in CASES {
            let sample = if case.is_stdio() {
                self.over_stdio(side, case, seconds).map(|asked| asked.sample(case, None))
            } else {
                let before = server.cpu_time()?;
                let asked = self.over_http(side, case, &address, seconds);
                let cpu = server.cpu_time()? - before;
                asked.map(|asked| asked.sample(case, Some(cpu)))
            };
            samples.push(sample.with_context(|| case.about())?);
        }
        Ok(Measurements { side, samples, start, idle_bytes })
    }

    fn over_http(&self, side: Side, case: Case, address: &str, seconds: u32) -> Result<Asked> {
        ask(self.client(side, case, seconds).args(["http", address]))
    }

    /// The server is a child of the client, on a separate core.
    fn over_stdio(&self, side: Side, case: Case, seconds: u32) -> Result<Asked> {
        let server = self.programs.stdio(side);
        let mut client = self.client(side, case, seconds);
        client.arg("stdio").arg(server.get_program()).args(server.get_args());
        client.envs(server.get_envs().filter_map(|(name, value)| Some((name, value?))));
        ask(&mut client)
    }

    fn client(&self, side: Side, case: Case, seconds: u32) -> Command {
        let mut client = pinned(LOAD_CORE, &self.client);
        client
            .arg(case.request(side).to_string())
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

    fn start_millis(&self) -> f64 {
        self.start.as_secs_f64() * 1e3
    }

    fn idle_megabytes(&self) -> f64 {
        self.idle_bytes as f64 / MEGABYTE
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
