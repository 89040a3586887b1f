//! The processes that this process has started, directly and indirectly.

use std::collections::HashMap;
use std::fs;
use std::io;
use std::process;
use std::thread;
use std::time::{Duration, Instant};

use rustix::process::{Pid, Signal, WaitOptions, kill_process, wait};

/// The maximum wait for killed processes to disappear.
const KILL_TIMEOUT: Duration = Duration::from_secs(4);

/// Makes this process the parent of orphaned descendants, so that [`end_descendants`] finds them. Does nothing on
/// systems other than Linux.
///
/// # Errors
/// When the system refuses it.
pub fn adopt_orphans() -> io::Result<()> {
    #[cfg(target_os = "linux")]
    rustix::process::set_child_subreaper(Some(rustix::process::getpid()))?;
    Ok(())
}

/// Kills all descendants of this process, in any process group, until none are left. Blocks. Takes the status of all
/// children, so call it in a process that has no further use for them.
pub fn end_descendants() {
    let until = Instant::now() + KILL_TIMEOUT;
    while has_children() && Instant::now() < until {
        for (process, parent) in descendants() {
            // Its parent may have taken its status. An orphan has another parent, and is found again.
            kill_if(process, || parent_of(process) == Some(parent));
        }
        thread::sleep(Duration::from_millis(1));
    }
}

/// Whether there are children. Takes the status of those that have ended.
fn has_children() -> bool {
    loop {
        match wait(WaitOptions::NOHANG) {
            Ok(Some(_)) | Err(rustix::io::Errno::INTR) => {}
            Ok(None) => return true,
            Err(_) => return false,
        }
    }
}

/// Kills a process that is not a child of this one, so that its id may belong to another process by now. The condition
/// is checked while a descriptor of the process is open: if it holds, the descriptor is of the process that it holds
/// for, or of one that has ended.
pub fn kill_if(process: u32, condition: impl Fn() -> bool) {
    let Some(process) = i32::try_from(process).ok().and_then(Pid::from_raw) else { return };
    #[cfg(target_os = "linux")]
    {
        use rustix::io::Errno;
        use rustix::process::{PidfdFlags, pidfd_open, pidfd_send_signal};
        match pidfd_open(process, PidfdFlags::empty()) {
            Ok(opened) => {
                if condition() {
                    let _ = pidfd_send_signal(opened, Signal::KILL);
                }
                return;
            }
            // It has ended.
            Err(Errno::SRCH) => return,
            // Before Linux 5.3, or without a free descriptor.
            Err(_) => {}
        }
    }
    if condition() {
        let _ = kill_process(process, Signal::KILL);
    }
}

/// All direct and indirect children of this process, with their parents.
fn descendants() -> Vec<(u32, u32)> {
    let mut children: HashMap<u32, Vec<u32>> = HashMap::new();
    for entry in fs::read_dir("/proc").into_iter().flatten().flatten() {
        let number = entry.file_name().to_str().and_then(|name| name.parse().ok());
        if let Some(number) = number
            && let Some(parent) = parent_of(number)
        {
            children.entry(parent).or_default().push(number);
        }
    }
    let mut found = Vec::new();
    let mut parents = vec![process::id()];
    while let Some(parent) = parents.pop() {
        for child in children.remove(&parent).unwrap_or_default() {
            found.push((child, parent));
            parents.push(child);
        }
    }
    found
}

/// Parses `/proc/*/stat`: `12 (name, which may have spaces) S 11 …`.
fn parent_of(process: u32) -> Option<u32> {
    let stat = fs::read(format!("/proc/{process}/stat")).ok()?;
    let stat = String::from_utf8_lossy(&stat);
    stat.rsplit_once(')')?.1.split_whitespace().nth(1)?.parse().ok()
}

#[cfg(all(test, target_os = "linux"))]
mod tests {
    use std::os::unix::process::ExitStatusExt;
    use std::process::{Command, Stdio};

    use super::*;

    /// A process whose id was that of a descendant is not signalled.
    #[test]
    fn only_children_of_the_parent_are_killed() {
        for (parent, expected) in [(1, None), (process::id(), Some(9))] {
            let mut child = Command::new("cat").stdin(Stdio::piped()).spawn().unwrap();
            kill_if(child.id(), || parent_of(child.id()) == Some(parent));
            // Without a signal, it ends with its stdin.
            drop(child.stdin.take());
            assert_eq!(child.wait().unwrap().signal(), expected);
        }
    }
}
