//! Limits of requests, memory, open files and file sizes.

use std::fs::read_to_string;
use std::io;
use std::path::Path;

use anyhow::ensure;
use clap::Args;
use clap::builder::RangedU64ValueParser;
use rustix::process::{Resource, Rlimit, getrlimit, setrlimit};
use tokio::signal::unix::{SignalKind, signal};
use trunkline::limits::MemoryBudget;

use crate::config::bytes;

/// The flags of limits of requests.
#[derive(Args)]
#[command(next_help_heading = "Limits")]
pub(super) struct RequestLimits {
    /// Maximum calls per second of each caller [default: no limit]
    ///
    /// A caller is a token or an address. More calls are refused with 429; bursts may have twice as many. Each call
    /// counts, also as a tool, in a batch, of an unknown method or tool, or if access rules refuse it; lists of tools and
    /// invalid tokens do not.
    #[arg(
        long,
        value_name = "CALLS",
        env = "TRUNKLINE_RATE_LIMIT",
        value_parser = RangedU64ValueParser::<u32>::new().range(1..=1_000_000)
    )]
    pub(super) rate_limit: Option<u32>,
    /// Maximum size of a request body in bytes
    #[arg(
        long,
        value_name = "BYTES",
        default_value_t = 1 << 20,
        env = "TRUNKLINE_MAX_BODY",
        value_parser = bytes::<usize>(64..=1 << 30)
    )]
    pub(super) max_body: usize,
}

impl RequestLimits {
    /// Checks that two of the largest requests fit into the memory for requests.
    pub(super) fn check(&self, memory: &MemoryBudget) -> anyhow::Result<()> {
        let (max_body, limit) = (self.max_body, memory.limit());
        ensure!(
            max_body <= limit / 2,
            "--max-body is {max_body}, more than half of --max-memory, which is {limit}: lower it, or raise --max-memory"
        );
        Ok(())
    }

    /// The limits, for the console.
    pub(super) fn described(&self, memory: &MemoryBudget) -> [(String, String); 3] {
        let calls = self.rate_limit;
        let rate = calls.map_or_else(|| "none".to_owned(), |calls| format!("{calls} calls/s"));
        let limits = [
            ("Calls per user", rate),
            ("Request body", format!("{} KiB", self.max_body >> 10)),
            ("Memory of requests", format!("{} MiB", memory.limit() >> 20)),
        ];
        limits.map(|(name, value)| (name.to_owned(), value))
    }
}

/// The flag of the memory for requests and replies.
#[derive(Args)]
#[command(next_help_heading = "Limits")]
pub(crate) struct Memory {
    /// Memory for requests and replies in bytes [default: 1/8 of RAM]
    ///
    /// For all clients together; at least 32 MiB. Requests beyond it are refused with 503. The default is an eighth of
    /// the memory of the machine or cgroup, from 64 MiB to 1 GiB.
    #[arg(
        long = "max-memory",
        value_name = "BYTES",
        env = "TRUNKLINE_MAX_MEMORY",
        value_parser = bytes::<usize>(32 << 20..)
    )]
    max_memory: Option<usize>,
}

impl Memory {
    /// The budget for all services of the process.
    pub(crate) fn budget(&self) -> MemoryBudget {
        MemoryBudget::new(self.max_memory.unwrap_or_else(default_memory))
    }
}

/// Raises the limit of open files, which is usually 1,024: each connection needs a file descriptor. If the limit cannot
/// be raised, connections wait to be accepted.
pub(crate) fn raise_open_files() {
    let most = getrlimit(Resource::Nofile).maximum;
    if let Err(error) = setrlimit(Resource::Nofile, Rlimit { current: most, maximum: most }) {
        tracing::debug!(%error, "cannot raise the limit of open files");
    }
}

/// Makes a write beyond the maximum file size (`ulimit -f`) fail like one to a full disk: by default, SIGXFSZ ends the
/// process. Requires a runtime, which handles the signal.
pub(crate) fn outlive_file_size() -> io::Result<()> {
    /// The same number on Linux, macOS and the BSDs.
    const SIGXFSZ: i32 = 25;
    // The handler stays when this is dropped.
    signal(SignalKind::from_raw(SIGXFSZ)).map(drop)
}

/// Restarts the program with allocator settings that return memory after a peak: by default, glibc keeps freed blocks
/// of up to 32 MiB. It reads the settings from the environment before `main`. If one of them is set, nothing is
/// changed.
#[cfg(all(target_os = "linux", target_env = "gnu"))]
pub(crate) fn return_freed_memory() {
    use std::os::unix::process::CommandExt;

    /// The size in bytes from which freed blocks, and free memory at the end of the heap, are returned.
    const THRESHOLD: &str = "131072";
    const SETTINGS: [&str; 2] = ["MALLOC_MMAP_THRESHOLD_", "MALLOC_TRIM_THRESHOLD_"];
    if SETTINGS.iter().any(|setting| std::env::var_os(setting).is_some()) {
        return;
    }
    // With `/proc/self/exe`, the process would be named `exe`.
    let mut arguments = std::env::args_os();
    let (Some(name), Ok(program)) = (arguments.next(), std::env::current_exe()) else {
        return;
    };
    let mut command = std::process::Command::new(program);
    let command = command.arg0(name).args(arguments);
    let error = command.envs(SETTINGS.map(|setting| (setting, THRESHOLD))).exec();
    // The process continues and keeps more memory.
    tracing::debug!(%error, "failed to change the settings of the allocator");
}

/// Other allocators need no settings.
#[cfg(not(all(target_os = "linux", target_env = "gnu")))]
pub(crate) fn return_freed_memory() {}

/// The default of `--max-memory`: an eighth of the memory of the machine or the cgroup, whichever is less, from 64
/// MiB to 1 GiB; 256 MiB if neither is known.
pub(crate) fn default_memory() -> usize {
    let known = [machine_memory(), cgroup_memory()];
    let memory = known.into_iter().flatten().min().unwrap_or(2 << 30);
    usize::try_from(memory / 8).unwrap_or(usize::MAX).clamp(64 << 20, 1 << 30)
}

/// The memory of the machine in bytes (proc(5)).
fn machine_memory() -> Option<u64> {
    let text = read_to_string("/proc/meminfo").ok()?;
    let line = text.lines().find_map(|line| line.strip_prefix("MemTotal:"))?;
    let kib: u64 = line.trim().strip_suffix("kB")?.trim_end().parse().ok()?;
    kib.checked_mul(1024)
}

/// The lowest `memory.max` of the cgroup of this process and its ancestors (cgroup v2).
fn cgroup_memory() -> Option<u64> {
    let groups = read_to_string("/proc/self/cgroup").ok()?;
    let group = groups.lines().find_map(|line| line.strip_prefix("0::/"))?;
    lowest_limit(Path::new("/sys/fs/cgroup"), group)
}

fn lowest_limit(root: &Path, group: &str) -> Option<u64> {
    let group = root.join(group);
    let groups = group.ancestors().take_while(|group| group.starts_with(root));
    // The root has no such file; without a limit, it contains `max`.
    let limit = |group: &Path| read_to_string(group.join("memory.max")).ok()?.trim().parse().ok();
    groups.filter_map(limit).min()
}

#[cfg(test)]
mod tests {
    use std::fs;

    use super::{default_memory, lowest_limit};

    #[test]
    fn limits_of_cgroups() {
        let root = tempfile::tempdir().unwrap();
        let write = |group: &str, limit: &str| {
            let group = root.path().join(group);
            fs::create_dir_all(&group).unwrap();
            fs::write(group.join("memory.max"), limit).unwrap();
        };
        write("system.slice/unit.service", "268435456\n");
        write("system.slice", "1073741824\n");
        write("user.slice/session", "max\n");
        #[track_caller]
        fn check(root: &std::path::Path, group: &str, expected: Option<u64>) {
            assert_eq!(lowest_limit(root, group), expected, "{group}");
        }
        check(root.path(), "system.slice/unit.service", Some(256 << 20));
        check(root.path(), "system.slice/other.service", Some(1 << 30));
        check(root.path(), "user.slice/session", None);
        check(root.path(), "", None);
    }

    #[test]
    fn the_default_is_bounded() {
        assert!((64 << 20..=1 << 30).contains(&default_memory()));
    }
}
