//! `trunkline tool run`: lowers its own limits, which are then those of the program that it runs.

use std::ffi::OsString;
use std::fs;
use std::io;
use std::path::PathBuf;
use std::process::{Command, ExitCode, ExitStatus};

use anyhow::{Context, Result};
use rlimit::{INFINITY, Resource};

use super::supervisor::{self, Supervisor};
use crate::output;

/// What shells answer for a command that is there and cannot be executed.
const CANNOT_EXECUTE: u8 = 126;

#[derive(clap::Args)]
pub(crate) struct Arguments {
    /// CPU time in seconds.
    #[arg(long, value_name = "SECONDS")]
    cpu_seconds: Option<u64>,
    /// Address space.
    #[arg(long, value_name = "BYTES")]
    memory_bytes: Option<u64>,
    /// The size of each file that is written.
    #[arg(long, value_name = "BYTES")]
    file_bytes: Option<u64>,
    /// Open files.
    #[arg(long, value_name = "FILES")]
    open_files: Option<u64>,
    /// Processes and threads, besides those that the user runs already. Does not hold for root.
    #[arg(long, value_name = "PROCESSES")]
    processes: Option<u64>,
    /// A cgroup to enter.
    #[arg(long, value_name = "DIRECTORY")]
    cgroup: Option<PathBuf>,
    /// The program, and its arguments.
    #[arg(last = true, required = true, value_name = "COMMAND")]
    command: Vec<OsString>,
}

/// Ends as the program does.
pub(crate) fn run(arguments: &Arguments) -> ExitCode {
    match run_limited(arguments) {
        Ok(status) => supervisor::end_like(status),
        Err(error) => {
            supervisor::tell_unstarted(&error);
            output::error(&error);
            ExitCode::from(CANNOT_EXECUTE)
        }
    }
}

fn run_limited(arguments: &Arguments) -> Result<ExitStatus> {
    let (program, rest) = arguments.command.split_first().context("there is no command")?;
    let mut command = Command::new(program);
    command.args(rest);
    // Its threads count as processes, and are there before these are limited.
    let supervisor = Supervisor::start()?;
    if let Some(cgroup) = &arguments.cgroup {
        // 0 is whoever writes it.
        fs::write(cgroup.join("cgroup.procs"), "0")
            .with_context(|| format!("cannot enter the cgroup {}", cgroup.display()))?;
    }
    let processes = arguments.processes.map(|more| more.saturating_add(processes_of_user()));
    // One that is large would be written to the folder of the tool.
    lower(Resource::CORE, Some(0))?;
    lower_time(arguments.cpu_seconds)?;
    lower(Resource::FSIZE, arguments.file_bytes)?;
    lower(Resource::NOFILE, arguments.open_files)?;
    lower(Resource::NPROC, processes)?;
    // Last: this may be less than what this process has.
    lower(Resource::AS, arguments.memory_bytes)?;
    supervisor.run(&mut command).with_context(|| format!("cannot execute {}", program.display()))
}

fn lower(resource: Resource, limit: Option<u64>) -> Result<()> {
    let Some(limit) = limit else { return Ok(()) };
    set(resource, limit, limit).with_context(|| format!("cannot limit {}", resource.as_name()))
}

/// The signal that can be handled comes a second before the one that cannot.
fn lower_time(seconds: Option<u64>) -> Result<()> {
    let Some(seconds) = seconds else { return Ok(()) };
    set(Resource::CPU, seconds, seconds.saturating_add(1)).context("cannot limit the CPU time")
}

/// Never more than there is: only root may have more.
fn set(resource: Resource, soft: u64, hard: u64) -> io::Result<()> {
    let (_, most) = resource.get().unwrap_or((INFINITY, INFINITY));
    resource.set(soft.min(most), hard.min(most))
}

/// How many processes and threads the user of this process runs, as `RLIMIT_NPROC` counts them; 0 where
/// the system does not tell.
fn processes_of_user() -> u64 {
    let Some(own) = Owned::read("self") else { return 0 };
    let processes = fs::read_dir("/proc").into_iter().flatten().flatten();
    let names = processes.filter_map(|entry| entry.file_name().into_string().ok());
    let processes = names.filter(|name| name.bytes().all(|byte| byte.is_ascii_digit()));
    let all = processes.filter_map(|name| Owned::read(&name));
    all.filter(|process| process.uid == own.uid).map(|process| process.threads).sum()
}

/// What `/proc/*/status` says. The folder itself is root's for processes that hide from others.
struct Owned {
    uid: u32,
    threads: u64,
}

impl Owned {
    fn read(process: &str) -> Option<Self> {
        let status = fs::read(format!("/proc/{process}/status")).ok()?;
        let status = String::from_utf8_lossy(&status);
        let value = |key: &str| {
            let line = status.lines().find_map(|line| line.strip_prefix(key));
            line?.split_whitespace().next()
        };
        Some(Self { uid: value("Uid:")?.parse().ok()?, threads: value("Threads:")?.parse().ok()? })
    }
}
