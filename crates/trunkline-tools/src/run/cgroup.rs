//! Groups of processes that Linux counts: the one bound of their number that holds for root.

use std::fs;
use std::io;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;

use rustix::process::{Pid, Signal, kill_process};
use tokio::time::{Instant, sleep};

/// How long the start may take to end what is left of servers that were killed.
const SWEEPING: Duration = Duration::from_secs(2);
/// How long it takes a process to go, as a rule.
const FIRST_PAUSE: Duration = Duration::from_millis(1);
/// What the names of cgroups begin with, before the number of the process that made them.
const NAME: &str = "trunkline-tool-";
/// How many cgroups may be in the way of a new one.
const LEFT: u32 = 64;
/// The processes and threads that a launcher needs for itself.
const OF_LAUNCHER: u64 = 3;

/// Where cgroups may be made.
#[derive(Debug)]
pub(super) struct Parent {
    path: PathBuf,
}

/// A cgroup of one run.
#[derive(Debug)]
pub(super) struct Cgroup {
    path: PathBuf,
}

impl Parent {
    /// The first place in which cgroups can be made, that count processes and can be entered.
    pub(super) fn find() -> Option<Self> {
        let own = fs::read_to_string("/proc/self/cgroup").ok()?;
        let parent =
            own.lines().flat_map(places).map(|path| Self { path }).find(Self::can_be_used)?;
        parent.sweep();
        Some(parent)
    }

    /// Ends what a process has left that was killed, all of it within [`SWEEPING`].
    fn sweep(&self) {
        let end = Instant::now() + SWEEPING;
        for entry in fs::read_dir(&self.path).into_iter().flatten().flatten() {
            let maker = entry.file_name().to_str().and_then(maker);
            if maker.is_some_and(|maker| !runs(maker)) {
                let left = Cgroup { path: entry.path() };
                // What was killed takes a moment to go, and keeps its cgroup until then.
                while left.kill() && Instant::now() < end {
                    std::thread::sleep(FIRST_PAUSE);
                }
            }
        }
    }

    fn can_be_used(&self) -> bool {
        self.enable();
        let Ok(probe) = self.child(1) else { return false };
        // It ends when its stdin does.
        let mut cat = Command::new("cat");
        cat.stdin(Stdio::piped()).stdout(Stdio::null()).stderr(Stdio::null());
        let Ok(mut cat) = cat.spawn() else { return false };
        let entered = fs::write(probe.path.join("cgroup.procs"), cat.id().to_string());
        drop(cat.stdin.take());
        cat.wait().is_ok() && entered.is_ok()
    }

    /// Has the cgroups in it count processes. In version 1 all do.
    ///
    /// In version 2, one that has processes itself would become a threaded one by that, and its children
    /// could not be entered; except for the root, which alone is of no type.
    fn enable(&self) {
        let is_root = !self.path.join("cgroup.type").exists();
        let is_empty =
            fs::read_to_string(self.path.join("cgroup.procs")).is_ok_and(|it| it.is_empty());
        let controllers = self.path.join("cgroup.subtree_control");
        if controllers.exists() && (is_root || is_empty) {
            // Where that is not allowed, no probe can be made.
            let _ = fs::write(controllers, "+pids");
        }
    }

    /// A new one, of at most this many processes and threads besides those of a launcher.
    pub(super) fn child(&self, processes: u64) -> io::Result<Cgroup> {
        static COUNT: AtomicU64 = AtomicU64::new(0);
        let create = || {
            let number = COUNT.fetch_add(1, Ordering::Relaxed);
            let path = self.path.join(format!("{NAME}{}-{number}", std::process::id()));
            fs::create_dir(&path).map(|()| path)
        };
        let mut created = create();
        // One may be left of a process that had the number of this one.
        for _ in 0..LEFT {
            if created.as_ref().is_err_and(|error| error.kind() == io::ErrorKind::AlreadyExists) {
                created = create();
            }
        }
        let cgroup = Cgroup { path: created? };
        let most = processes.saturating_add(OF_LAUNCHER);
        fs::write(cgroup.path.join("pids.max"), most.to_string())?;
        Ok(cgroup)
    }
}

/// The process that has made the cgroup of this name.
fn maker(name: &str) -> Option<u32> {
    name.strip_prefix(NAME)?.split_once('-')?.0.parse().ok()
}

/// Whether there is a process of this number. One that nobody has waited for has no command line any more.
fn runs(process: u32) -> bool {
    fs::read(format!("/proc/{process}/cmdline")).is_ok_and(|line| !line.is_empty())
}

/// The folders to try of a line of `/proc/self/cgroup`, if processes can be counted there: `8:pids:/` in
/// version 1, `0::/` in version 2. There, a unit of systemd that was delegated to the service keeps the
/// service itself in a cgroup beside those that it makes.
fn places(line: &str) -> Vec<PathBuf> {
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

    /// Kills what is in it, and removes it; within this time.
    pub(super) async fn end(self, limit: Duration) {
        let deadline = Instant::now() + limit;
        let mut pause = FIRST_PAUSE;
        while self.kill() && Instant::now() < deadline {
            sleep(pause).await;
            pause = (2 * pause).min(Duration::from_millis(50));
        }
    }

    /// Kills all processes that are in it. Whether there were any.
    fn kill(&self) -> bool {
        let Ok(members) = fs::read_to_string(self.path.join("cgroup.procs")) else { return false };
        for member in members.lines().filter_map(|line| Pid::from_raw(line.parse().ok()?)) {
            let _ = kill_process(member, Signal::KILL);
        }
        !members.is_empty()
    }
}

impl Drop for Cgroup {
    fn drop(&mut self) {
        self.kill();
        if let Err(error) = fs::remove_dir(&self.path) {
            tracing::warn!(%error, path = %self.path.display(), "a cgroup is left");
        }
    }
}

#[cfg(test)]
mod tests {
    use super::{NAME, Parent, maker, places, runs};

    #[track_caller]
    fn check(line: &str, expected: &[&str]) {
        let found: Vec<_> = places(line).iter().map(|path| path.display().to_string()).collect();
        assert_eq!(found, expected, "{line}");
    }

    #[test]
    #[cfg(target_os = "linux")]
    fn whose_cgroups_are_left() {
        assert_eq!(maker("trunkline-tool-12-3"), Some(12));
        assert_eq!(["trunkline-tool-x-3", "trunkline-tool-12", "user.slice"].map(maker), [None; 3]);
        assert!(runs(std::process::id()));
        let mut ended = std::process::Command::new("true").spawn().unwrap();
        let since = std::time::Instant::now();
        while runs(ended.id()) {
            assert!(since.elapsed().as_secs() < 20, "it is a zombie soon");
            std::thread::yield_now();
        }
        assert!(ended.wait().unwrap().success());
    }

    /// Where no cgroups can be made, none are left.
    #[test]
    #[cfg(target_os = "linux")]
    fn what_is_left_with_processes_in_it_is_ended() {
        let Some(parent) = Parent::find() else { return };
        let mut ended = std::process::Command::new("true").spawn().unwrap();
        ended.wait().unwrap();
        let left = parent.path.join(format!("{NAME}{}-0", ended.id()));
        std::fs::create_dir(&left).unwrap();
        let mut members: Vec<_> = (0..20)
            .map(|_| std::process::Command::new("sleep").arg("1000").spawn().unwrap())
            .collect();
        for member in &members {
            std::fs::write(left.join("cgroup.procs"), member.id().to_string()).unwrap();
        }
        // As long as nobody has waited for them, they are there.
        let reaped = std::thread::spawn(move || {
            members.iter_mut().all(|member| !member.wait().unwrap().success())
        });
        parent.sweep();
        assert!(!left.exists());
        assert!(reaped.join().unwrap());
    }

    #[test]
    fn where_processes_can_be_counted() {
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
