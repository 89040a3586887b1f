//! Groups of processes that Linux counts: the one bound of their number that holds for root.

use std::fs;
use std::io;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;

use rustix::process::{Pid, Signal, kill_process};
use tokio::time::{Instant, sleep};

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
    /// The cgroup of this process, if it counts processes and others may be made in it.
    pub(super) fn find() -> Option<Self> {
        let own = fs::read_to_string("/proc/self/cgroup").ok()?;
        own.lines().filter_map(place).find_map(|path| {
            let parent = Self { path };
            // Of version 2 alone; that of version 1 has no such file, and needs no enabling.
            drop(fs::write(parent.path.join("cgroup.subtree_control"), "+pids"));
            let probe = parent.child(1).ok()?;
            drop(probe);
            Some(parent)
        })
    }

    /// A new one, of at most this many processes and threads.
    pub(super) fn child(&self, processes: u64) -> io::Result<Cgroup> {
        static COUNT: AtomicU64 = AtomicU64::new(0);
        let number = COUNT.fetch_add(1, Ordering::Relaxed);
        let name = format!("trunkline-tool-{}-{number}", std::process::id());
        let path = self.path.join(name);
        fs::create_dir(&path)?;
        let cgroup = Cgroup { path };
        fs::write(cgroup.path.join("pids.max"), processes.to_string())?;
        Ok(cgroup)
    }
}

/// The folder of a line of `/proc/self/cgroup`, if processes can be counted there: `8:pids:/` in version 1,
/// `0::/` in version 2.
fn place(line: &str) -> Option<PathBuf> {
    let mut parts = line.splitn(3, ':');
    let (_, controllers, path) = (parts.next()?, parts.next()?, parts.next()?);
    let root = Path::new("/sys/fs/cgroup");
    let root = match controllers {
        "" => root.to_owned(),
        "pids" => root.join("pids"),
        _ => return None,
    };
    Some(root.join(path.trim_start_matches('/')))
}

impl Cgroup {
    pub(super) fn path(&self) -> &Path {
        &self.path
    }

    /// Kills what is in it, and removes it; within this time.
    pub(super) async fn end(self, limit: Duration) {
        let deadline = Instant::now() + limit;
        let mut pause = Duration::from_millis(1);
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
