//! `trunkline tool run`: lowers its own limits, which stay those of the program it becomes.

use std::ffi::OsString;
use std::fs;
use std::io;
use std::os::unix::fs::MetadataExt;
use std::os::unix::process::CommandExt;
use std::path::PathBuf;
use std::process::{Command, ExitCode};

use anyhow::{Context, Result, anyhow};
use rlimit::{INFINITY, Resource};

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

/// Returns only if there is an error.
pub(crate) fn run(arguments: &Arguments) -> ExitCode {
    let Err(error) = become_limited(arguments);
    output::error(&error);
    ExitCode::from(CANNOT_EXECUTE)
}

fn become_limited(arguments: &Arguments) -> Result<std::convert::Infallible> {
    let (program, rest) = arguments.command.split_first().context("there is no command")?;
    let mut command = Command::new(program);
    command.args(rest);
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
    let error = command.exec();
    Err(anyhow!(error).context(format!("cannot execute {}", program.display())))
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
    let Ok(own) = fs::metadata("/proc/self") else { return 0 };
    let processes = fs::read_dir("/proc").into_iter().flatten().flatten();
    let threads = |process: fs::DirEntry| {
        let is_process = process.file_name().as_encoded_bytes().iter().all(u8::is_ascii_digit);
        let is_own = is_process && process.metadata().is_ok_and(|one| one.uid() == own.uid());
        if is_own {
            fs::read_dir(process.path().join("task")).map_or(0, Iterator::count)
        } else {
            0
        }
    };
    processes.map(threads).sum::<usize>().try_into().unwrap_or(u64::MAX)
}
