//! The launcher: a process that lowers its own limits, which the program that it runs inherits.

mod error;
mod protocol;
mod supervisor;

use std::ffi::OsString;
use std::fs;
use std::path::Path;
use std::process::{Command, ExitCode, ExitStatus};

use rustix::process::{Resource, Rlimit, getrlimit, setrlimit};

pub use error::LaunchError;
pub(crate) use protocol::{Report, arguments};

use protocol::Request;
use supervisor::Supervisor;

/// Runs a program under limits, and ends with its exit code or signal. This implements a
/// [`Launcher`](crate::Launcher), which documents the arguments.
///
/// Lowers the limits of this process, waits for a line on stdin and controls the process until the program has ended:
/// call it from `main`, with no other thread.
///
/// # Errors
/// If the program was not run. The service is notified on stdin.
pub fn launch(arguments: impl IntoIterator<Item = OsString>) -> Result<ExitCode, LaunchError> {
    match Request::parse(arguments).and_then(run) {
        Ok(status) => Ok(supervisor::exit_like(status)),
        Err(error) => {
            supervisor::report(&Report::not_started(&error));
            Err(error)
        }
    }
}

fn run(request: Request) -> Result<ExitStatus, LaunchError> {
    let mut command = Command::new(&request.program);
    command.args(&request.arguments);
    // Its threads count as processes: they are started before processes are limited.
    let supervisor = Supervisor::start()?;
    if let Some(cgroup) = &request.cgroup {
        enter(cgroup)?;
    }
    let processes = request.processes.map(|more| more.saturating_add(processes_of_user()));
    // A core dump could be large, and would be written to the folder of the tool.
    lower(Resource::Core, Some(0))?;
    lower_cpu_time(request.cpu_seconds)?;
    lower(Resource::Fsize, request.file_bytes)?;
    lower(Resource::Nofile, request.open_files)?;
    lower(Resource::Nproc, processes)?;
    // Last: this may be less than this process uses.
    lower(Resource::As, request.memory_bytes)?;
    supervisor.run(&mut command)
}

fn enter(cgroup: &Path) -> Result<(), LaunchError> {
    // 0 is the process that writes it.
    fs::write(cgroup.join("cgroup.procs"), "0")
        .map_err(|source| LaunchError::Cgroup { path: cgroup.to_owned(), source })
}

fn lower(resource: Resource, limit: Option<u64>) -> Result<(), LaunchError> {
    limit.map_or(Ok(()), |limit| set(resource, limit, limit))
}

/// The signal that can be handled comes a second before the one that cannot.
fn lower_cpu_time(seconds: Option<u64>) -> Result<(), LaunchError> {
    seconds.map_or(Ok(()), |seconds| set(Resource::Cpu, seconds, seconds.saturating_add(1)))
}

/// Never raises a limit: only root may do that.
fn set(resource: Resource, soft: u64, hard: u64) -> Result<(), LaunchError> {
    let most = getrlimit(resource).maximum.unwrap_or(u64::MAX);
    let limit = Rlimit { current: Some(soft.min(most)), maximum: Some(hard.min(most)) };
    setrlimit(resource, limit)
        .map_err(|error| LaunchError::Limit { resource: name(resource), source: error.into() })
}

/// The name of a resource in the manual of `setrlimit`.
fn name(resource: Resource) -> &'static str {
    match resource {
        Resource::Core => "RLIMIT_CORE",
        Resource::Cpu => "RLIMIT_CPU",
        Resource::Fsize => "RLIMIT_FSIZE",
        Resource::Nofile => "RLIMIT_NOFILE",
        Resource::Nproc => "RLIMIT_NPROC",
        Resource::As => "RLIMIT_AS",
        _ => "a resource",
    }
}

/// The number of processes and threads of the user of this process, as `RLIMIT_NPROC` counts them; 0 where
/// there is no `/proc`.
fn processes_of_user() -> u64 {
    let Some(own) = Status::read("self") else { return 0 };
    let processes = fs::read_dir("/proc").into_iter().flatten().flatten();
    let names = processes.filter_map(|entry| entry.file_name().into_string().ok());
    let processes = names.filter(|name| name.bytes().all(|byte| byte.is_ascii_digit()));
    let all = processes.filter_map(|name| Status::read(&name));
    all.filter(|process| process.uid == own.uid).map(|process| process.threads).sum()
}

/// The part of `/proc/*/status` that counts. The folder itself belongs to root for processes that are not dumpable.
struct Status {
    uid: u32,
    threads: u64,
}

impl Status {
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
