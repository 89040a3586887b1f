//! SDKs as clients of the `trunkline` binary and of the example `conformance_server`, with all protocol versions and
//! transports.

mod client;
mod restart;
mod script;
mod session;

use std::sync::Mutex;
use std::sync::PoisonError;

use anyhow::{Result, anyhow};

use self::client::{CLIENTS, Language};
use self::script::Scripts;
pub(crate) use self::script::{PYTHON, TYPESCRIPT};
use self::session::{Programs, Session};
use crate::sample_db;
use crate::workspace::Workspace;

/// Sessions spend half of their time waiting.
const WORKERS: usize = 4;

/// The SDKs for Python and TypeScript.
pub(crate) fn run(workspace: &Workspace) -> Result<()> {
    let scripts = Scripts::provide(workspace)?;
    run_sessions(workspace, &scripts, |language| !matches!(language, Language::Rust))
}

/// The SDK for Rust, which takes longer to compile than all sessions.
pub(crate) fn run_rmcp(workspace: &Workspace) -> Result<()> {
    let scripts = Scripts::provide(workspace)?;
    scripts.build_programs(workspace)?;
    run_sessions(workspace, &scripts, |language| matches!(language, Language::Rust))
}

fn run_sessions(
    workspace: &Workspace,
    scripts: &Scripts,
    includes: fn(&Language) -> bool,
) -> Result<()> {
    let programs = Programs {
        workspace,
        scripts,
        sample: sample_db::cached(workspace)?,
        trunkline: workspace.build("trunkline")?,
        features: workspace.build("conformance_server")?,
        folder: workspace.fresh_folder("target/sdk")?,
    };
    let clients = CLIENTS.iter().filter(|client| includes(&client.language));
    let sessions = clients.flat_map(|client| {
        client.sessions().map(move |(suite, version, transport)| Session {
            client,
            suite,
            version,
            transport,
        })
    });
    let queue = Mutex::new(sessions);
    let next = || queue.lock().unwrap_or_else(PoisonError::into_inner).next();
    let work = || {
        let mut runs = 0;
        while let Some(session) = next() {
            session.run(&programs)?;
            runs += 1;
        }
        Ok(runs)
    };
    let runs: Result<usize> = std::thread::scope(|scope| {
        let workers = [(); WORKERS].map(|()| scope.spawn(work));
        let results = workers
            .map(|worker| worker.join().unwrap_or_else(|_| Err(anyhow!("a session panicked"))));
        results.into_iter().sum()
    });
    println!("{} sessions", runs?);
    Ok(())
}
