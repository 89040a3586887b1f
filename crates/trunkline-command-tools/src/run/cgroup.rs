//! Cgroups, which limit the number of processes also for root.

use std::fs::{self, OpenOptions};
use std::io::{self, Write};
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;

use tokio::time::{Instant, sleep};

use crate::descendants::kill_if;

/// The maximum time at start to end the processes left by killed servers.
const SWEEP_TIMEOUT: Duration = Duration::from_secs(2);
/// The usual time until a killed process disappears.
const FIRST_PAUSE: Duration = Duration::from_millis(1);
/// The prefix of the names of cgroups. The id of the process that created the cgroup follows.
const NAME_PREFIX: &str = "trunkline-tool-";
/// The maximum number of existing names to skip for a new cgroup.
const MAX_EXISTING: u32 = 64;
/// The number of processes and threads of a launcher itself.
const LAUNCHER_PROCESSES: u64 = 3;

/// The directory in which cgroups are created.
#[derive(Debug)]
pub(super) struct CgroupParent {
    path: PathBuf,
}

/// The cgroup of one run.
#[derive(Debug)]
pub(super) struct Cgroup {
    path: PathBuf,
}

impl CgroupParent {
    /// Finds the first directory in which cgroups can be created that limit processes and can be entered.
    pub(super) fn find() -> Option<Self> {
        let own = fs::read_to_string("/proc/self/cgroup").ok()?;
        let parent =
            own.lines().flat_map(candidates).map(|path| Self { path }).find(Self::is_usable)?;
        parent.sweep();
        Some(parent)
    }

    /// Ends the processes left by killed servers, within [`SWEEP_TIMEOUT`] in total.
    fn sweep(&self) {
        let end = Instant::now() + SWEEP_TIMEOUT;
        for entry in fs::read_dir(&self.path).into_iter().flatten().flatten() {
            let creator = entry.file_name().to_str().and_then(creator);
            if creator.is_some_and(|creator| !is_running(creator)) {
                let cgroup = Cgroup { path: entry.path() };
                // A killed process keeps its cgroup until it has disappeared.
                while cgroup.kill() && Instant::now() < end {
                    std::thread::sleep(FIRST_PAUSE);
                }
            }
        }
    }

    fn is_usable(&self) -> bool {
        self.enable();
        let Ok(probe) = self.create(1) else { return false };
        // It ends with its stdin.
        let mut cat = Command::new("cat");
        cat.stdin(Stdio::piped()).stdout(Stdio::null()).stderr(Stdio::null());
        let Ok(mut cat) = cat.spawn() else { return false };
        let entered = fs::write(probe.path.join("cgroup.procs"), cat.id().to_string());
        drop(cat.stdin.take());
        cat.wait().is_ok() && entered.is_ok()
    }

    /// Enables the limit of processes in child cgroups. In version 1 it is always enabled.
    ///
    /// In version 2, this makes a cgroup with processes a threaded one, whose children cannot be entered. The root,
    /// which has no type, is an exception.
    fn enable(&self) {
        let is_root = !self.path.join("cgroup.type").exists();
        let is_empty =
            fs::read_to_string(self.path.join("cgroup.procs")).is_ok_and(|it| it.is_empty());
        let controllers = self.path.join("cgroup.subtree_control");
        if controllers.exists() && (is_root || is_empty) {
            // If this fails, the probe fails, too.
            let _ = fs::write(controllers, "+pids");
        }
    }

    /// Creates a cgroup for at most `processes` processes and threads, in addition to those of a launcher.
    pub(super) fn create(&self, processes: u64) -> io::Result<Cgroup> {
        static COUNT: AtomicU64 = AtomicU64::new(0);
        let create_dir = || {
            let number = COUNT.fetch_add(1, Ordering::Relaxed);
            let path = self.path.join(format!("{NAME_PREFIX}{}-{number}", std::process::id()));
            fs::create_dir(&path).map(|()| path)
        };
        let mut created = create_dir();
        // An earlier process with the id of this one may have left some.
        for _ in 0..MAX_EXISTING {
            if created.as_ref().is_err_and(|error| error.kind() == io::ErrorKind::AlreadyExists) {
                created = create_dir();
            }
        }
        let cgroup = Cgroup { path: created? };
        let max = processes.saturating_add(LAUNCHER_PROCESSES);
        fs::write(cgroup.path.join("pids.max"), max.to_string())?;
        Ok(cgroup)
    }
}

/// The id of the process that created the cgroup with this name.
fn creator(name: &str) -> Option<u32> {
    name.strip_prefix(NAME_PREFIX)?.split_once('-')?.0.parse().ok()
}

/// Whether a process is running. A zombie has no command line.
fn is_running(process: u32) -> bool {
    fs::read(format!("/proc/{process}/cmdline")).is_ok_and(|line| !line.is_empty())
}

/// The directories to try for a line of `/proc/self/cgroup`: `8:pids:/` in version 1, `0::/` in version 2. In version
/// 2, a delegated systemd unit keeps the service itself in a child cgroup of the unit.
fn candidates(line: &str) -> Vec<PathBuf> {
    let mut parts = line.splitn(3, ':').skip(1);
    let (Some(controllers), Some(path)) = (parts.next(), parts.next()) else { return Vec::new() };
    let path = Path::new(path.trim_start_matches('/'));
    let root = Path::new("/sys/fs/cgroup");
    match controllers {
        "pids" => vec![root.join("pids").join(path)],
        "" => {
            let is_unit = |unit: &&Path| {
                unit.extension().is_some_and(|kind| kind == "service" || kind == "scope")
            };
            let unit = path.parent().filter(is_unit);
            unit.into_iter().chain([path]).map(|path| root.join(path)).collect()
        }
        _ => Vec::new(),
    }
}

impl Cgroup {
    pub(super) fn path(&self) -> &Path {
        &self.path
    }

    /// Kills the processes in it, and removes it, within `limit`.
    pub(super) async fn end(self, limit: Duration) {
        let deadline = Instant::now() + limit;
        let mut pause = FIRST_PAUSE;
        while self.kill() && Instant::now() < deadline {
            sleep(pause).await;
            pause = (2 * pause).min(Duration::from_millis(50));
        }
    }

    /// Kills all processes in it. Returns whether there were any.
    fn kill(&self) -> bool {
        let Ok(members) = self.members() else { return false };
        // All at once, in version 2 since Linux 5.14.
        let kill = OpenOptions::new().write(true).open(self.path.join("cgroup.kill"));
        if kill.and_then(|mut file| file.write_all(b"1")).is_err() {
            for member in &members {
                let is_member = || self.members().is_ok_and(|members| members.contains(member));
                kill_if(*member, is_member);
            }
        }
        !members.is_empty()
    }

    fn members(&self) -> io::Result<Vec<u32>> {
        let text = fs::read_to_string(self.path.join("cgroup.procs"))?;
        Ok(text.lines().filter_map(|line| line.parse().ok()).collect())
    }
}

impl Drop for Cgroup {
    fn drop(&mut self) {
        self.kill();
        if let Err(error) = fs::remove_dir(&self.path) {
            tracing::warn!(%error, path = %self.path.display(), "failed to remove a cgroup");
        }
    }
}

#[cfg(test)]
mod tests {
    use std::process::Command;

    use super::{CgroupParent, NAME_PREFIX, candidates, creator, is_running};

    #[track_caller]
    fn check(line: &str, expected: &[&str]) {
        let found: Vec<_> =
            candidates(line).iter().map(|path| path.display().to_string()).collect();
        assert_eq!(found, expected, "{line}");
    }

    #[test]
    #[cfg(target_os = "linux")]
    fn finds_cgroups_of_ended_processes() {
        assert_eq!(creator("trunkline-tool-12-3"), Some(12));
        assert_eq!(
            ["trunkline-tool-x-3", "trunkline-tool-12", "user.slice"].map(creator),
            [None; 3]
        );
        assert!(is_running(std::process::id()));
        let mut ended = Command::new("true").spawn().unwrap();
        let since = std::time::Instant::now();
        while is_running(ended.id()) {
            assert!(since.elapsed().as_secs() < 20, "the process becomes a zombie");
            std::thread::yield_now();
        }
        assert!(ended.wait().unwrap().success());
    }

    /// Passes without a check where no cgroups can be created.
    #[test]
    #[cfg(target_os = "linux")]
    fn sweep_ends_processes() {
        let Some(parent) = CgroupParent::find() else { return };
        let mut ended = Command::new("true").spawn().unwrap();
        ended.wait().unwrap();
        let left = parent.path.join(format!("{NAME_PREFIX}{}-0", ended.id()));
        std::fs::create_dir(&left).unwrap();
        let mut members: Vec<_> =
            (0..20).map(|_| Command::new("sleep").arg("1000").spawn().unwrap()).collect();
        for member in &members {
            std::fs::write(left.join("cgroup.procs"), member.id().to_string()).unwrap();
        }
        // They exist until they are waited for.
        let reaped = std::thread::spawn(move || {
            members.iter_mut().all(|member| !member.wait().unwrap().success())
        });
        parent.sweep();
        assert!(!left.exists());
        assert!(reaped.join().unwrap());
    }

    #[test]
    fn finds_candidate_directories() {
        check("8:pids:/", &["/sys/fs/cgroup/pids/"]);
        check("8:pids:/docker/a1", &["/sys/fs/cgroup/pids/docker/a1"]);
        check("1:cpu:/", &[]);
        check("0::/", &["/sys/fs/cgroup/"]);
        check("0::/system.slice/x.service", &["/sys/fs/cgroup/system.slice/x.service"]);
        check(
            "0::/system.slice/x.service/main",
            &[
                "/sys/fs/cgroup/system.slice/x.service",
                "/sys/fs/cgroup/system.slice/x.service/main",
            ],
        );
        check("", &[]);
    }
}
