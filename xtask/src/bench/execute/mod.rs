//! Measures records of `trunkline-records`: reads and writes over HTTP, natively and by JSON-RPC, and durable imports per
//! second.

mod case;
mod goals;
mod place;
mod report;

use std::path::PathBuf;
use std::process::Command;

use anyhow::{Context, Result, ensure};
use serde::Deserialize;

use self::case::{CASES, Case, execute};
use self::place::{Place, Places};
use super::build;
use super::load::{self, Post};
use super::process::{SERVER_CORE, pinned};
use super::server::Server;
use crate::workspace::{self, Workspace};

pub(super) use self::goals::verdicts;
pub(super) use self::report::Report;

/// The measurements of a round.
pub(super) struct Measurements {
    samples: Vec<Sample>,
    /// Without a server.
    in_process_per_second: f64,
}

struct Sample {
    case: Case,
    cpu_micros_per_request: f64,
    requests_per_second: f64,
}

/// The environment of a round.
pub(super) struct Setup<'w> {
    workspace: &'w Workspace,
    /// Examples of `trunkline-records`.
    server: PathBuf,
    import: PathBuf,
    places: Places,
}

/// The record that is read and updated. Its id is also in `bench/load`.
const RECORD: &str =
    r#"{"command":"create","resource":"todo","id":"bench","payload":{"title":"Make tea"}}"#;

/// Seconds of warm-up.
const WARM_UP: u32 = 1;

/// Number of imported records, and of concurrent tasks.
const IMPORTED: usize = 20_000;
const IMPORTING: usize = 64;

impl Measurements {
    fn sample(&self, case: Case) -> Option<&Sample> {
        self.samples.iter().find(|sample| sample.case == case)
    }
}

impl<'w> Setup<'w> {
    pub(super) fn provide(workspace: &'w Workspace) -> Result<Self> {
        let chosen = ["--package=trunkline-records", "--example=todo", "--example=import"];
        let examples = build::ours(workspace, &chosen)?.join("examples");
        let places = Places::provide(workspace)?;
        let [server, import] = ["todo", "import"].map(|name| examples.join(name));
        Ok(Self { workspace, server, import, places })
    }

    /// Measures each place in sequence, with separate servers and files.
    pub(super) fn round(&self, seconds: u32) -> Result<Measurements> {
        let mut samples = Vec::new();
        for place in [Place::Memory, Place::Disk] {
            samples.extend(self.measure(place, seconds).with_context(|| place.about())?);
        }
        Ok(Measurements { samples, in_process_per_second: self.import()? })
    }

    fn measure(&self, place: Place, seconds: u32) -> Result<Vec<Sample>> {
        let server = Server::of(
            pinned(SERVER_CORE, &self.server).arg(self.places.fresh(place)?).arg("127.0.0.1:0"),
        )?;
        execute(&server, RECORD)?;
        let mut samples = Vec::new();
        let cases = CASES.iter().filter(|case| case.place == place);
        for (number, &case) in cases.enumerate() {
            if number == 0 {
                self.post(&server, case, WARM_UP)?;
            }
            let sample = self.sample(&server, case, seconds);
            samples.push(sample.with_context(|| case.to_string())?);
        }
        Ok(samples)
    }

    fn sample(&self, server: &Server, case: Case, seconds: u32) -> Result<Sample> {
        let effects = case.effects(server)?;
        let before = server.cpu_time()?;
        let load = self.post(server, case, seconds)?;
        let cpu = server.cpu_time()? - before;
        let done = case.effects(server)? - effects;
        // The last requests, whose replies wrk did not wait for, may have had effects as well.
        let range = case.range_of_effects(load.requests);
        ensure!(range.contains(&done), "{} requests had {done} effects", load.requests);
        let requests = load.requests as f64;
        Ok(Sample {
            case,
            cpu_micros_per_request: cpu.as_secs_f64() * 1e6 / requests,
            requests_per_second: requests * 1e6 / load.micros as f64,
        })
    }

    fn post(&self, server: &Server, case: Case, seconds: u32) -> Result<load::Load> {
        let url = format!("http://{}/execute", server.address);
        let (body_file, connections) = (&case.body_file(), case.connections);
        load::post(self.workspace, &Post { url, body_file, headers: &[], connections, seconds })
    }

    /// Durable imports per second without a server, on all cores.
    fn import(&self) -> Result<f64> {
        #[derive(Deserialize)]
        struct Imported {
            records: f64,
            micros: f64,
        }
        let printed = workspace::output(
            Command::new(&self.import)
                .arg(self.places.fresh(Place::Disk)?)
                .args([IMPORTED, IMPORTING].map(|number| number.to_string())),
        )?;
        let Imported { records, micros } = serde_json::from_str(&printed)
            .with_context(|| format!("the import printed {printed:?}"))?;
        Ok(records * 1e6 / micros)
    }
}
