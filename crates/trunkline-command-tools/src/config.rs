//! Configuration.

use std::collections::{BTreeMap, BTreeSet};
use std::ffi::OsString;
use std::path::PathBuf;
use std::time::Duration;

/// Configuration of a folder of tools.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ToolConfig {
    /// Maximum manifests in a folder. Default: 256.
    pub max_tools: usize,
    /// Maximum size of a manifest in bytes. Default: 64 KiB.
    pub max_manifest_bytes: usize,
    /// Names that other tools of the service use; a manifest with one of them is rejected. Default: none.
    pub reserved_names: BTreeSet<String>,
    /// The `PATH` of tools, in which programs without a slash are looked up. Default: that of this
    /// process, or `/usr/local/bin:/usr/bin:/bin`.
    pub path: OsString,
    /// Programs by name that take precedence over those in [`path`](Self::path). Default: none.
    pub programs: BTreeMap<String, PathBuf>,
    /// Maximum concurrent runs of tools, without the processes that tools start. Further calls wait. Default: 16.
    pub concurrency: usize,
    /// Maximum wait of a call before its process is started; after that, the error is "busy". The timeout of a tool
    /// begins with its process. Default: 10 s.
    pub max_wait: Duration,
    /// Time between SIGTERM and SIGKILL. Default: 500 ms.
    pub grace: Duration,
    /// Time without changes before a watched folder is reloaded. Default: 100 ms.
    pub debounce: Duration,
    /// Interval in which a watched folder is checked for changes. Default: 1 s.
    pub poll_interval: Duration,
    /// The program that sets the limits of processes. Default: none; processes run without limits.
    pub launcher: Option<Launcher>,
    /// The limits that the launcher sets.
    pub limits: ProcessLimits,
}

/// A program that lowers its own limits and then runs another program under them. It is implemented by
/// [`launch`](crate::launch), which `trunkline tool run` calls.
///
/// It is started with [`arguments`](Self::arguments), then `--cpu-seconds N --memory-bytes N
/// --file-bytes N --open-files N --processes N`, optionally `--cgroup DIRECTORY` (it writes `0` to the
/// `cgroup.procs` in it), `--`, and the program to run with its arguments.
///
/// Its stdin is a socket. The first line is the stdin of the program; each other line sends the program SIGTERM.
/// When the socket is closed, for example because the service has ended, or when the program ends, the launcher kills
/// the program and everything that it has started. It ends with the exit code or the signal of the program. Before
/// that it may write a line to the socket: `signal N` if it cannot end with that signal itself, `unstarted REASON` if
/// the program was not started.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Launcher {
    /// The program: an absolute path.
    pub program: PathBuf,
    /// Its first arguments.
    pub arguments: Vec<OsString>,
}

/// The limits of a process of a tool. They apply to each process that it starts separately, except
/// [`processes`](Self::processes), which counts all of them.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct ProcessLimits {
    /// Seconds of CPU time (`RLIMIT_CPU`). Default: 60.
    pub cpu_seconds: u64,
    /// Bytes of address space (`RLIMIT_AS`). Default: 4 GiB, since some runtimes reserve much more than they use.
    pub memory_bytes: u64,
    /// Bytes of each file that it writes (`RLIMIT_FSIZE`). Default: 64 MiB.
    pub file_bytes: u64,
    /// Open files (`RLIMIT_NOFILE`). Default: 256.
    pub open_files: u64,
    /// Processes and threads, in addition to those that its user already runs. Default: 64.
    ///
    /// `RLIMIT_NPROC` has no effect for root. There, a cgroup limits the processes, if the service can create one
    /// ([`ProcessBound`](crate::ProcessBound)).
    pub processes: u64,
}

impl Default for ToolConfig {
    fn default() -> Self {
        let path = std::env::var_os("PATH").filter(|path| !path.is_empty());
        Self {
            max_tools: 256,
            max_manifest_bytes: 64 << 10,
            reserved_names: BTreeSet::new(),
            path: path.unwrap_or_else(|| "/usr/local/bin:/usr/bin:/bin".into()),
            programs: BTreeMap::new(),
            concurrency: 16,
            max_wait: Duration::from_secs(10),
            grace: Duration::from_millis(500),
            debounce: Duration::from_millis(100),
            poll_interval: Duration::from_secs(1),
            launcher: None,
            limits: ProcessLimits::default(),
        }
    }
}

impl Default for ProcessLimits {
    fn default() -> Self {
        Self {
            cpu_seconds: 60,
            memory_bytes: 4 << 30,
            file_bytes: 64 << 20,
            open_files: 256,
            processes: 64,
        }
    }
}
